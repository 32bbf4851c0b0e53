/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NSCC with four additions, each with a switch of its own.
 *
 *   first window a few packets until the first acknowledgement tells of other senders: before anything is known, full
 *                windows of many senders are lost whatever follows
 *   median       packets go by many paths, and the latest delay is that of one: m is the median of the last nine
 *   prediction   d^, the delay one round trip later, by Holt's two exponential averages (level and trend)
 *   incast cap   the receiver counts its senders: each takes its part of the window
 *
 * With m for the delay the quadrants are
 *
 *   not marked, m below the target, d^ not   hold: it will be there
 *   not marked, m and d^ below               grow as NSCC does
 *   not marked, m above                      grow as NSCC does
 *   marked, d^ below                         keep
 *   marked, d^ above                         shrink by the greater of the average and d^
 *
 * A prediction is used only while it is better than none: while those of one round trip ago were nearer to what came
 * than the median of one round trip ago. Else d^ is m.
 */
#include <stddef.h>

#include "cc_median.h"
#include "cc_nscc.h"

#define FRACTION     8
#define LEVEL_SHIFT  2   /* alpha 1/4 */
#define TREND_SHIFT  5   /* beta 1/32 */
#define ERROR_SHIFT  5
#define STALE_STEPS  16u /* without a delay for so long it starts over */

const struct cc_predictive_params cc_predictive_default = {
	.median = true, .prediction = true, .incast_cap = true, .first_packets = 4};

static const struct cc_predictive_params *params(const struct cc *cc)
{
	return cc->config->predictive != NULL ? cc->config->predictive : &cc_predictive_default;
}

/* ---- prediction ---- */

static void learn_error(uint64_t *error_ns8, uint32_t said_ns, uint32_t came_ns)
{
	uint64_t off = (uint64_t)(said_ns > came_ns ? said_ns - came_ns : came_ns - said_ns) << FRACTION;

	*error_ns8 = *error_ns8 - (*error_ns8 >> ERROR_SHIFT) + (off >> ERROR_SHIFT);
}

/* Within half the level and two targets above it. */
static uint32_t forecast_ns(const struct cc_predict *p, uint32_t target_ns)
{
	int64_t low8 = p->level_ns8 / 2, high8 = p->level_ns8 + ((int64_t)target_ns * 2 * (1 << FRACTION));
	int64_t said8 = p->level_ns8 + CC_LOOK_AHEAD * p->trend_ns8;

	said8 = said8 < low8 ? low8 : said8 > high8 ? high8 : said8;
	return (uint32_t)(said8 >> FRACTION > UINT32_MAX ? UINT32_MAX : said8 >> FRACTION);
}

static void start_over(struct cc_predict *p, uint32_t median_ns)
{
	p->level_ns8 = (int64_t)median_ns * (1 << FRACTION);
	p->trend_ns8 = 0;
	p->steps = 0;
	p->at_step = 0;
}

static void step(struct cc *cc, uint32_t median_ns, uint64_t now_ns)
{
	struct cc_predict *p = &cc->predict;
	uint64_t every_ns = cc->config->base_rtt_ns / CC_LOOK_AHEAD;
	int64_t expected8, off8;

	if (p->step_ns != 0 && now_ns - p->step_ns < every_ns)
		return;
	if (p->step_ns == 0 || now_ns - p->step_ns > every_ns * STALE_STEPS)
		start_over(p, median_ns);
	p->step_ns = now_ns;
	if (p->steps == CC_LOOK_AHEAD) {
		learn_error(&p->error_ns8, p->said_ns[p->at_step], median_ns);
		learn_error(&p->naive_ns8, p->past_ns[p->at_step], median_ns);
	} else {
		p->steps++;
	}
	expected8 = p->level_ns8 + p->trend_ns8;
	off8 = (int64_t)median_ns * (1 << FRACTION) - expected8;
	p->level_ns8 = expected8 + off8 / (1 << LEVEL_SHIFT);
	if (p->level_ns8 < 0)
		p->level_ns8 = 0;
	p->trend_ns8 += off8 / (1 << TREND_SHIFT);
	p->predicted_ns = forecast_ns(p, cc->target_ns);
	p->said_ns[p->at_step] = p->predicted_ns;
	p->past_ns[p->at_step] = median_ns;
	p->at_step = (uint8_t)((p->at_step + 1) % CC_LOOK_AHEAD);
}

/* Whether predictions have been better than none. */
static bool trusted(const struct cc_predict *p)
{
	return p->steps == CC_LOOK_AHEAD && p->error_ns8 < p->naive_ns8;
}

/* ---- all of it ---- */

/* One and a half products for all: what is above that is for one alone. */
static inline void take_senders(struct cc *cc, uint8_t senders)
{
	if (senders != cc->predict.incast.senders)
		cc_incast_share(cc, &cc->predict.incast, senders, cc->max_window_bytes / 4 * 3);
}

static void init(struct cc *cc, uint64_t bdp_bytes)
{
	cc_nscc_init(cc, bdp_bytes);
	cc_incast_init(cc, &cc->predict.incast, params(cc)->first_packets);
}

static inline void react(struct cc *cc, const struct cc_ack *ack, uint32_t median_ns, bool predicts)
{
	uint32_t target_ns = cc->target_ns, later_ns = median_ns;
	uint64_t about_ns = cc_nscc_average_ns(cc);

	if (predicts) {
		step(cc, median_ns, ack->now_ns);
		if (trusted(&cc->predict))
			later_ns = cc->predict.predicted_ns;
		if (about_ns < later_ns)
			about_ns = later_ns;
	}
	if (ack->marked) {
		if (later_ns >= target_ns)
			cc_nscc_shrink(cc, about_ns, ack->now_ns);
		return;
	}
	if (median_ns >= target_ns)
		cc_nscc_grow_above(cc, ack->bytes);
	else if (later_ns < target_ns)
		cc_nscc_grow_below(cc, ack->bytes, median_ns);
}

static void acked(struct cc *cc, const struct cc_ack *ack)
{
	const struct cc_predictive_params *has = params(cc);
	uint32_t delay_ns = cc_delay_ns(cc, ack);

	cc_nscc_count(cc, ack->bytes);
	if (has->incast_cap)
		take_senders(cc, ack->senders);
	cc_incast_open(cc, &cc->predict.incast, has->second_packets, ack->now_ns);
	if (ack->rtt_ns == 0) {
		cc_nscc_unknown(cc, ack);
	} else {
		if (has->median)
			delay_ns = cc_median_take(&cc->predict.median, delay_ns);
		cc_nscc_delay(cc, delay_ns, ack->now_ns);
		react(cc, ack, delay_ns, has->prediction);
		cc_nscc_settle(cc, ack->now_ns);
		cc_nscc_adapt(cc, ack->now_ns);
		cc_nscc_even_out(cc, ack->now_ns);
	}
	cc_incast_cap(cc, &cc->predict.incast);
}

const struct cc_ops cc_predictive_ops = {
	.name = "predictive",
	.init = init,
	.acked = acked,
	.lost = cc_nscc_lost,
	.silent = cc_nscc_silent,
};
