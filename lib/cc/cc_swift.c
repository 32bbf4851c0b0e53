/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Swift, algorithm 1 and section 3.5 of the paper.
 *
 *   target = base + range (1/sqrt(w) - 1/sqrt(max)) / (1/sqrt(min) - 1/sqrt(max)), the second part within [0, range]
 *   round trip below target   w += ai / w a packet; below one packet w += ai
 *   else, once a round trip   w *= max(1 - beta (rtt - target) / rtt, 1 - max_mdf)
 *   loss, once a round trip   w *= 1 - max_mdf
 *   silence                   the same; too many in a row: the least window
 *
 * Below one packet it is the pace that counts: w a round trip. What the paper measures of hosts apart is not known
 * here: the round trip is all of it, and hops are part of the base target.
 */
#include <errno.h>
#include <stddef.h>

#include "cc_internal.h"

#define FRACTION   16u
#define RANGE_RTTS 4u
#define LONG_AGO_NS ((uint64_t)1 << 62)
#define MOVED_PART 16u  /* the target follows when the window has moved by such a part of it */

const struct cc_swift_params cc_swift_default = {
	.scale_min_milli = 100, .scale_max_milli = 100000, .add_permil = 1000, .beta_permil = 800, .most_permil = 500,
	.min_milli = 1, .reset_after = 5,
};

static const struct cc_swift_params *params(const struct cc *cc)
{
	return cc->config->swift != NULL ? cc->config->swift : &cc_swift_default;
}

static int check(const struct cc_config *config)
{
	const struct cc_swift_params *p = config->swift;

	if (p == NULL)
		return 0;
	if (p->scale_min_milli == 0 || p->scale_min_milli >= p->scale_max_milli || p->add_permil > 10000)
		return -EINVAL;
	if (p->beta_permil > 1000 || p->most_permil > 1000 || p->min_milli == 0 || p->min_milli > 1000)
		return -EINVAL;
	if (p->base_target_ns > CC_NS_PER_S || p->scale_ns > CC_NS_PER_S)
		return -EINVAL;
	return 0;
}

/* ---- target ---- */

static uint64_t root(uint64_t value)
{
	uint64_t result = 0;

	for (uint64_t bit = (uint64_t)1 << 62; bit != 0; bit >>= 2) {
		if (value >= result + bit) {
			value -= result + bit;
			result = (result >> 1) + bit;
		} else {
			result >>= 1;
		}
	}
	return result;
}

/* 2^31 / sqrt(milli) */
static uint64_t inverse_root(uint64_t milli)
{
	return root(((uint64_t)1 << 62) / milli);
}

static uint32_t scale_ns(const struct cc *cc)
{
	const struct cc_swift_params *p = params(cc);
	uint64_t range_ns = p->scale_ns != 0 ? p->scale_ns : (uint64_t)cc->config->base_rtt_ns * RANGE_RTTS;
	uint64_t milli = (cc->swift.window16 * 125 >> (FRACTION - 3)) / cc->config->packet_bytes;
	uint64_t most = inverse_root(p->scale_min_milli), least = inverse_root(p->scale_max_milli), at;

	if (range_ns > UINT32_MAX)
		range_ns = UINT32_MAX;
	if (milli <= p->scale_min_milli)
		return (uint32_t)range_ns;
	at = inverse_root(milli);
	return at <= least ? 0 : (uint32_t)(range_ns * (at - least) / (most - least));
}

static uint64_t target_ns(struct cc *cc)
{
	const struct cc_swift_params *p = params(cc);
	struct cc_swift *s = &cc->swift;
	uint32_t bytes = (uint32_t)(s->window16 >> FRACTION), part = s->scaled_bytes / MOVED_PART;
	uint64_t base_ns = p->base_target_ns;

	if (s->scaled_bytes == 0 || bytes > (uint64_t)s->scaled_bytes + part || bytes < s->scaled_bytes - part) {
		s->scale_ns = scale_ns(cc);
		s->scaled_bytes = bytes != 0 ? bytes : 1;
	}
	if (base_ns == 0)
		base_ns = (uint64_t)cc->config->base_rtt_ns + cc->target_ns;
	return base_ns + s->scale_ns;
}

/* ---- window ---- */

static void set(struct cc *cc, uint64_t window16)
{
	uint64_t packet16 = (uint64_t)cc->config->packet_bytes << FRACTION;
	uint64_t least16 = packet16 * params(cc)->min_milli / 1000, most16 = (uint64_t)cc->max_window_bytes << FRACTION;
	struct cc_swift *s = &cc->swift;

	s->window16 = window16 < least16 ? least16 : window16 > most16 ? most16 : window16;
	cc_set_window(cc, s->window16 >> FRACTION);
	if (s->window16 < packet16 && s->rtt_ns != 0)
		cc_set_rate(cc, cc_bps(s->window16, s->rtt_ns) >> FRACTION);
	else
		cc->rate_bps = CC_UNLIMITED;
}

static void init(struct cc *cc, uint64_t bdp_bytes)
{
	(void)bdp_bytes;
	cc->swift.cut_ns = 0 - LONG_AGO_NS;
	set(cc, (uint64_t)cc->max_window_bytes << FRACTION);
}

static bool may_cut(const struct cc *cc, uint64_t now_ns)
{
	return now_ns - cc->swift.cut_ns >= cc->swift.rtt_ns;
}

/* Takes a part16 of 2^16 off. */
static void cut(struct cc *cc, uint64_t part16, uint64_t now_ns)
{
	uint64_t window16 = cc->swift.window16, most16 = ((uint64_t)params(cc)->most_permil << 16) / 1000;

	if (part16 > most16)
		part16 = most16;
	set(cc, window16 - cc_mul_shift(window16, part16, 16));
	cc->swift.cut_ns = now_ns;
}

static void grow(struct cc *cc, uint32_t bytes)
{
	struct cc_swift *s = &cc->swift;
	uint64_t packet = cc->config->packet_bytes, window = s->window16 >> FRACTION;
	uint32_t add = params(cc)->add_permil;

	/* Of packets: ai / w, with 2^24 for one; ai when w is below one. */
	uint64_t each24 = (packet * add << 24) / 1000 / (window > packet ? window : packet);

	set(cc, s->window16 + (each24 * bytes >> (24 - FRACTION)));
}

static void acked(struct cc *cc, const struct cc_ack *ack)
{
	uint64_t target;

	cc->swift.silences = 0;
	if (ack->rtt_ns == 0)
		return;
	cc->swift.rtt_ns = ack->rtt_ns;
	target = target_ns(cc);
	if (ack->rtt_ns < target)
		grow(cc, ack->bytes);
	else if (may_cut(cc, ack->now_ns))
		cut(cc, cc_permil(((ack->rtt_ns - target) << 16) / ack->rtt_ns, params(cc)->beta_permil), ack->now_ns);
}

static void lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns)
{
	(void)bytes;
	if (queued && may_cut(cc, now_ns))
		cut(cc, UINT64_MAX, now_ns);
}

static void silent(struct cc *cc, uint64_t now_ns)
{
	struct cc_swift *s = &cc->swift;

	if (s->silences < UINT8_MAX)
		s->silences++;
	if (s->silences >= params(cc)->reset_after)
		set(cc, 0);
	else if (may_cut(cc, now_ns))
		cut(cc, UINT64_MAX, now_ns);
}

const struct cc_ops cc_swift_ops = {
	.name = "swift",
	.check = check,
	.init = init,
	.acked = acked,
	.lost = lost,
	.silent = silent,
};
