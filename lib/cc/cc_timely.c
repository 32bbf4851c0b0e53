/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TIMELY, algorithm 1 of the paper: the rate goes by how fast the round trip rises, relative to the least one.
 *
 *   round trip below low    rate += delta
 *   above high              rate *= 1 - beta (1 - high / round trip)
 *   gradient not above 0    rate += N delta, N = 5 from the fifth time in a row, else 1
 *   gradient above 0        rate *= 1 - beta gradient
 *
 * The gradient is an EWMA of differences between successive round trips. There is one update a segment. A decrease
 * halves the rate at most, as in the code that the authors published. The paper has no loss; here silence halves the
 * rate.
 */
#include <errno.h>
#include <stddef.h>

#include "cc_internal.h"

#define ONE16       (1 << 16)
#define HYPER_TIMES 5u

const struct cc_timely_params cc_timely_default = {
	.ewma_permil = 875, .beta_permil = 800, .least_permil = 500, .low_ns = 50000, .high_ns = 500000, .min_rtt_ns = 20000,
	.add_bps = 10000000, .hyper_after = 5, .segment_bytes = 16384,
};

static const struct cc_timely_params *params(const struct cc *cc)
{
	return cc->config->timely != NULL ? cc->config->timely : &cc_timely_default;
}

static int check(const struct cc_config *config)
{
	const struct cc_timely_params *p = config->timely;

	if (p == NULL)
		return 0;
	if (p->ewma_permil == 0 || p->ewma_permil > 1000 || p->beta_permil > 1000 || p->high_ns == 0 ||
		p->least_permil > 1000)
		return -EINVAL;
	if (p->low_ns > p->high_ns || p->min_rtt_ns == 0 || p->add_bps > config->rate_bps || p->hyper_after > UINT8_MAX)
		return -EINVAL;
	return 0;
}

static void init(struct cc *cc, uint64_t bdp_bytes)
{
	(void)bdp_bytes;
	cc->timely.current_bps = cc->config->rate_bps;
}

static void set(struct cc *cc, uint64_t bps)
{
	cc->timely.current_bps = cc_clamp_rate(cc, bps);
	cc_set_rate(cc, bps);
}

/* Takes a part16 of 2^16 off. */
static void cut(struct cc *cc, uint64_t part16)
{
	uint64_t bps = cc->timely.current_bps, least = cc_permil(bps, params(cc)->least_permil), left;

	left = part16 >= ONE16 ? 0 : bps - (bps * part16 >> 16);
	set(cc, left > least ? left : least);
}

static void by_gradient(struct cc *cc)
{
	const struct cc_timely_params *p = params(cc);
	struct cc_timely *t = &cc->timely;
	int64_t gradient16 = t->diff_ns16 / (int64_t)p->min_rtt_ns;

	if (gradient16 > 0) {
		t->falling = 0;
		cut(cc, cc_permil((uint64_t)gradient16, p->beta_permil));
		return;
	}
	if (t->falling < UINT8_MAX)
		t->falling++;
	set(cc, t->current_bps + p->add_bps * (t->falling >= p->hyper_after ? HYPER_TIMES : 1));
}

static void update(struct cc *cc, uint32_t rtt_ns)
{
	const struct cc_timely_params *p = params(cc);
	struct cc_timely *t = &cc->timely;
	int64_t diff_ns = (int64_t)rtt_ns - (int64_t)t->prev_ns;

	if (t->prev_ns == 0)
		diff_ns = 0;
	t->prev_ns = rtt_ns;
	t->diff_ns16 += (diff_ns * ONE16 - t->diff_ns16) * (int64_t)p->ewma_permil / 1000;
	if (rtt_ns < p->low_ns) {
		t->falling = 0;
		set(cc, t->current_bps + p->add_bps);
	} else if (rtt_ns > p->high_ns) {
		t->falling = 0;
		cut(cc, cc_permil(((uint64_t)(rtt_ns - p->high_ns) << 16) / rtt_ns, p->beta_permil));
	} else {
		by_gradient(cc);
	}
}

static void acked(struct cc *cc, const struct cc_ack *ack)
{
	struct cc_timely *t = &cc->timely;

	t->bytes = (uint32_t)(cc_add(t->bytes, ack->bytes) > UINT32_MAX ? UINT32_MAX : t->bytes + ack->bytes);
	if (ack->rtt_ns == 0 || t->bytes < params(cc)->segment_bytes)
		return;
	t->bytes = 0;
	update(cc, ack->rtt_ns);
}

static void silent(struct cc *cc, uint64_t now_ns)
{
	(void)now_ns;
	cut(cc, ONE16 / 2);
}

const struct cc_ops cc_timely_ops = {
	.name = "timely",
	.windowless = true,
	.check = check,
	.init = init,
	.acked = acked,
	.silent = silent,
};
