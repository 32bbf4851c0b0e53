/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DCQCN, the reaction point.
 *
 *   notification        target = rate; rate *= 1 - alpha / 2; alpha = (1 - g) alpha + g; both counters from 0
 *   none for a period   alpha *= 1 - g
 *   timer or byte counter ends: neither has F times before   rate = (rate + target) / 2
 *                               one has                      target += AI first
 *                               both have                    target += i HAI first, i from 1
 *
 * Nobody arms timers: each call first makes up for those that have ended since the last one. After long idleness most
 * of that is a power and a straight line, so that it takes no longer.
 */
#include <errno.h>
#include <stddef.h>

#include "cc_internal.h"

#define ALPHA_BITS   30u
#define ALPHA_ONE    (1u << ALPHA_BITS)
#define POWER_BITS   31u
#define STEPS_MOST   64u         /* increases by the timer one by one; what is left is taken as one */
#define STAGES_MOST  1000u       /* that are told apart: a thousand times HAI is more than any link */
#define MAX_STAGE    31u
#define MIN_INCREASE_BYTES 1024u
#define LOST_GAP_NS  1000u

#define MBPS 1000000u
#define US   1000u

const struct cc_dcqcn_params cc_dcqcn_vendor = {
	.g_1024 = 5, .alpha_period_ns = 1 * US, .initial_alpha_1024 = 1023, .cut_period_ns = 4 * US, .least_percent = 50,
	.clamp_after_timer = true, .increase_timer_ns = 300 * US, .increase_bytes = 32767, .fast_steps = 1,
	.add_bps = 5 * MBPS, .hyper_bps = 50 * MBPS, .notice_gap_ns = 4 * US, .cut_on_loss = true,
};

const struct cc_dcqcn_params cc_dcqcn_paper = {
	.g_1024 = 4, .alpha_period_ns = 50 * US, .initial_alpha_1024 = 1024, .cut_period_ns = 50 * US, .clamp_target = true,
	.increase_timer_ns = 55 * US, .increase_bytes = 10000000, .fast_steps = 5,
	.add_bps = 5 * MBPS, .hyper_bps = 50 * MBPS, .per_link_bps = (uint64_t)25000 * MBPS, .notice_gap_ns = 50 * US,
};

const struct cc_dcqcn_params cc_dcqcn_simulator = {
	.g_1024 = 4, .alpha_period_ns = 55 * US, .initial_alpha_1024 = 1024, .clamp_target = true,
	.increase_timer_ns = 60 * US, .increase_bytes = 300000000, .fast_steps = 5,
	.add_bps = 40 * MBPS, .hyper_bps = 200 * MBPS, .notice_gap_ns = 50 * US,
};

static const struct cc_dcqcn_params *params(const struct cc *cc)
{
	return cc->config->dcqcn != NULL ? cc->config->dcqcn : &cc_dcqcn_vendor;
}

static int check(const struct cc_config *config)
{
	const struct cc_dcqcn_params *p = config->dcqcn;

	if (p == NULL)
		return 0;
	if (p->g_1024 == 0 || p->g_1024 > 1024 || p->initial_alpha_1024 > 1024 || p->alpha_period_ns == 0)
		return -EINVAL;
	if (p->least_percent > 100 || p->increase_timer_ns == 0 || p->increase_bytes < MIN_INCREASE_BYTES)
		return -EINVAL;
	return p->fast_steps > MAX_STAGE ? -EINVAL : 0;
}

static void init(struct cc *cc, uint64_t bdp_bytes)
{
	(void)bdp_bytes;
	cc->dcqcn.current_bps = cc->config->rate_bps;
	cc->dcqcn.target_bps = cc->config->rate_bps;
}

static void publish(struct cc *cc)
{
	cc->dcqcn.current_bps = cc_clamp_rate(cc, cc->dcqcn.current_bps);
	cc_set_rate(cc, cc->dcqcn.current_bps);
}

/* ---- alpha ---- */

/* (1 - g)^n */
static uint64_t power(uint32_t g_1024, uint64_t n)
{
	uint64_t base = (uint64_t)(1024 - g_1024) << (POWER_BITS - 10), result = (uint64_t)1 << POWER_BITS;

	for (; n != 0 && base != 0; n >>= 1) {
		if ((n & 1) != 0)
			result = result * base >> POWER_BITS;
		base = base * base >> POWER_BITS;
	}
	return n != 0 ? 0 : result;
}

static void fade(struct cc *cc, uint64_t now_ns)
{
	const struct cc_dcqcn_params *p = params(cc);
	struct cc_dcqcn *d = &cc->dcqcn;
	uint64_t n;

	if (now_ns - d->alpha_ns < p->alpha_period_ns)
		return;
	n = (now_ns - d->alpha_ns) / p->alpha_period_ns;
	d->alpha_ns += n * p->alpha_period_ns;
	if (n == 1)
		d->alpha -= (uint32_t)((uint64_t)d->alpha * p->g_1024 >> 10);
	else
		d->alpha = (uint32_t)(d->alpha * power(p->g_1024, n) >> POWER_BITS);
}

/* ---- increases ---- */

static bool recovered(const struct cc_dcqcn *d, uint64_t link_bps)
{
	return d->current_bps == link_bps && d->target_bps == link_bps;
}

static uint64_t for_link(const struct cc *cc, uint64_t bps)
{
	uint64_t per = params(cc)->per_link_bps, link_bps = cc->config->rate_bps;
	unsigned __int128 scaled = per == 0 ? bps : (unsigned __int128)bps * link_bps / per;

	return scaled > link_bps ? link_bps : (uint64_t)scaled;
}

/* What the next increase adds to the target. */
static uint64_t addition(const struct cc *cc)
{
	const struct cc_dcqcn_params *p = params(cc);
	const struct cc_dcqcn *d = &cc->dcqcn;
	uint32_t least = d->timer_stage < d->byte_stage ? d->timer_stage : d->byte_stage;
	uint32_t most = d->timer_stage < d->byte_stage ? d->byte_stage : d->timer_stage;

	if (most < p->fast_steps)
		return 0;
	if (least < p->fast_steps)
		return for_link(cc, p->add_bps);
	return for_link(cc, p->hyper_bps) * (least - p->fast_steps + 1);
}

static void raise_target(struct cc *cc, uint64_t bps)
{
	struct cc_dcqcn *d = &cc->dcqcn;
	uint64_t room = cc->config->rate_bps - d->target_bps;

	d->target_bps += bps < room ? bps : room;
}

static void increase(struct cc *cc)
{
	struct cc_dcqcn *d = &cc->dcqcn;

	raise_target(cc, addition(cc));
	d->current_bps = (d->current_bps + d->target_bps + 1) / 2;
}

static void next_stage(uint16_t *stage)
{
	if (*stage < STAGES_MOST)
		(*stage)++;
}

/* The line that increases by the timer alone become: each adds the same, the rate is one behind the target. */
static void increase_far(struct cc *cc, uint64_t n)
{
	struct cc_dcqcn *d = &cc->dcqcn;
	uint64_t each = addition(cc), room = cc->config->rate_bps - d->target_bps;

	if (each == 0 || n > room / each) {
		raise_target(cc, each == 0 ? 0 : room);
		d->current_bps = d->target_bps;
		return;
	}
	raise_target(cc, n * each);
	d->current_bps = d->target_bps - each;
}

static void run_timer(struct cc *cc, uint64_t now_ns)
{
	const struct cc_dcqcn_params *p = params(cc);
	struct cc_dcqcn *d = &cc->dcqcn;
	uint64_t n;

	if (now_ns - d->increase_ns < p->increase_timer_ns)
		return;
	n = (now_ns - d->increase_ns) / p->increase_timer_ns;
	d->increase_ns += n * p->increase_timer_ns;
	for (uint64_t i = 0; i < n && !recovered(d, cc->config->rate_bps); i++) {
		if (i == STEPS_MOST) {
			increase_far(cc, n - i);
			break;
		}
		increase(cc);
		next_stage(&d->timer_stage);
	}
	publish(cc);
}

static void timer(struct cc *cc, uint64_t now_ns)
{
	/* A time before the last one is none. */
	if (!cc->dcqcn.begun || now_ns < cc->dcqcn.alpha_ns || now_ns < cc->dcqcn.increase_ns)
		return;
	fade(cc, now_ns);
	run_timer(cc, now_ns);
}

static uint64_t next_ns(const struct cc *cc)
{
	const struct cc_dcqcn *d = &cc->dcqcn;

	if (!d->begun || recovered(d, cc->config->rate_bps))
		return UINT64_MAX;
	return d->increase_ns + params(cc)->increase_timer_ns;
}

static void sent(struct cc *cc, uint32_t bytes, uint64_t now_ns)
{
	uint32_t most = params(cc)->increase_bytes;
	struct cc_dcqcn *d = &cc->dcqcn;

	timer(cc, now_ns);
	if (!d->begun || recovered(d, cc->config->rate_bps))
		return;
	d->bytes += bytes < most ? bytes : most; /* no packet is so long, nor ends the counter twice */
	if (d->bytes < most)
		return;
	d->bytes -= most;
	increase(cc);
	next_stage(&d->byte_stage);
	publish(cc);
}

/* ---- decreases ---- */

static void begin(struct cc *cc, uint64_t now_ns)
{
	const struct cc_dcqcn_params *p = params(cc);
	struct cc_dcqcn *d = &cc->dcqcn;

	d->begun = true;
	d->alpha = p->initial_alpha_1024 << (ALPHA_BITS - 10);
	d->current_bps = cc_clamp_rate(cc, p->first_bps != 0 ? p->first_bps : cc->config->rate_bps);
	d->target_bps = d->current_bps;
	d->alpha_ns = now_ns;
	d->increase_ns = now_ns;
}

static void cut(struct cc *cc, uint64_t now_ns)
{
	const struct cc_dcqcn_params *p = params(cc);
	struct cc_dcqcn *d = &cc->dcqcn;
	uint64_t least = d->current_bps * p->least_percent / 100;

	if (p->clamp_target || d->byte_stage != 0 || (p->clamp_after_timer && d->timer_stage != 0))
		d->target_bps = d->current_bps;
	d->current_bps -= cc_mul_shift(d->current_bps, d->alpha, ALPHA_BITS + 1);
	if (d->current_bps < least)
		d->current_bps = least;
	d->timer_stage = 0;
	d->byte_stage = 0;
	d->bytes = 0;
	d->increase_ns = now_ns;
	d->cut_ns = now_ns;
	publish(cc);
}

static void cnp(struct cc *cc, uint64_t now_ns)
{
	const struct cc_dcqcn_params *p = params(cc);
	struct cc_dcqcn *d = &cc->dcqcn;
	bool first = !d->begun;

	if (first)
		begin(cc, now_ns);
	timer(cc, now_ns);
	if (first || now_ns - d->cut_ns >= p->cut_period_ns)
		cut(cc, now_ns);
	d->alpha = d->alpha - (uint32_t)((uint64_t)d->alpha * p->g_1024 >> 10) + (p->g_1024 << (ALPHA_BITS - 10));
	if (d->alpha > ALPHA_ONE)
		d->alpha = ALPHA_ONE;
	d->alpha_ns = now_ns;
}

static void notice(struct cc *cc, uint32_t gap_ns, uint64_t now_ns)
{
	struct cc_dcqcn *d = &cc->dcqcn;

	if (d->begun && now_ns - d->notice_ns < gap_ns)
		return;
	d->notice_ns = now_ns;
	cnp(cc, now_ns);
}

static void acked(struct cc *cc, const struct cc_ack *ack)
{
	timer(cc, ack->now_ns);
	if (ack->marked)
		notice(cc, params(cc)->notice_gap_ns, ack->now_ns);
}

static void lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns)
{
	const struct cc_dcqcn_params *p = params(cc);

	(void)bytes;
	/* One for each sequence NAK, that is for each hole, but several packets of a burst are one hole. */
	if (p->cut_on_loss && queued)
		notice(cc, p->notice_gap_ns > LOST_GAP_NS ? p->notice_gap_ns : LOST_GAP_NS, now_ns);
}

const struct cc_ops cc_dcqcn_ops = {
	.name = "dcqcn",
	.windowless = true,
	.check = check,
	.init = init,
	.acked = acked,
	.lost = lost,
	.silent = cnp,
	.cnp = cnp,
	.sent = sent,
	.timer = timer,
	.next_ns = next_ns,
};
