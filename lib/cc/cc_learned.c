/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A window by an ensemble of small trees, in the manner of RL-CC (Fuhrer et al., 2023), which distilled what a network
 * had learned into trees that a card can evaluate. Four times a round trip what is known becomes a few features, the
 * trees are asked, and the window changes by the part that they say, a half at most.
 *
 * What does not depend on the model: a window has its bounds, a loss with a queue takes the packet off it, silence
 * leaves a few packets, and the senders that the receiver counts share what the model allows all of them. So the worst
 * of models can be slow, or leave a queue as long as the share, but no more.
 */
#include <errno.h>
#include <stddef.h>

#include "cc_internal.h"
#include "cc_median.h"

#define PART_SHIFT   32u
#define MARKED_SHIFT 16u
#define MARKED_EWMA  4u
#define LINE_SHIFT   16u
#define MOST         (CC_MODEL_ONE / 2) /* of the window in one decision */

static int check(const struct cc_config *config)
{
	return config->model != NULL ? cc_model_check(config->model) : -EINVAL;
}

/* What makes parts of 1024 of what is divided by value. */
static uint64_t reciprocal(uint64_t value)
{
	return ((uint64_t)CC_MODEL_ONE << PART_SHIFT) / (value != 0 ? value : 1);
}

static void init(struct cc *cc, uint64_t bdp_bytes)
{
	struct cc_learned *l = &cc->learned;
	const struct cc_model *model = cc->config->model;
	uint64_t share = bdp_bytes * model->share_percent / 100;

	cc_two_products(cc, bdp_bytes);
	cc_incast_init(cc, &l->incast, model->first_packets);
	l->share_bytes = share < cc->max_window_bytes ? (uint32_t)share : cc->max_window_bytes;
	l->by_target = reciprocal(cc->target_ns);
	l->by_bdp = reciprocal(bdp_bytes);
	l->line_ns = ((uint64_t)8 * CC_NS_PER_S * CC_MODEL_ONE << LINE_SHIFT) / cc->config->rate_bps;
}

static int32_t bounded(uint64_t value)
{
	return value < CC_MODEL_MAX ? (int32_t)value : CC_MODEL_MAX;
}

static int32_t part(uint64_t value, uint64_t by)
{
	return bounded(cc_mul_shift(value, by, PART_SHIFT));
}

/* elapsed_ns: since the last decision, not 0. */
static void look(const struct cc *cc, uint64_t elapsed_ns, int32_t features[CC_FEATURES])
{
	const struct cc_learned *l = &cc->learned;
	uint32_t median_ns = l->median_ns, past_ns = l->past_ns[l->at_past];
	uint64_t window = (uint64_t)part(cc->window_bytes, l->by_bdp);

	features[CC_F_DELAY] = part(median_ns, l->by_target);
	features[CC_F_LATEST] = part(l->latest_ns, l->by_target);
	features[CC_F_TREND] = median_ns >= past_ns ? part(median_ns - past_ns, l->by_target)
						    : -part(past_ns - median_ns, l->by_target);
	features[CC_F_MARKED] = (int32_t)(l->marked16 * CC_MODEL_ONE >> MARKED_SHIFT);
	features[CC_F_LOST] = l->lost_bytes == 0 ? 0 : bounded(l->lost_bytes * CC_MODEL_ONE / cc->window_bytes);
	features[CC_F_RATE] = bounded(cc_mul_shift(l->acked_bytes, l->line_ns, LINE_SHIFT) / elapsed_ns);
	features[CC_F_WINDOW] = (int32_t)window;
	features[CC_F_ALL] = bounded(window * (l->incast.senders > 1 ? l->incast.senders : 1));
	features[CC_F_SENDERS] = l->incast.senders;
}

static void decide(struct cc *cc, uint64_t now_ns)
{
	struct cc_learned *l = &cc->learned;
	int32_t features[CC_FEATURES], step;

	look(cc, now_ns - l->decided_ns, features);
	step = cc_model_sum(cc->config->model, features);
	step = step > MOST ? MOST : step < -MOST ? -MOST : step;
	cc_set_window(cc, (uint64_t)(cc->window_bytes + (int64_t)cc->window_bytes * step / CC_MODEL_ONE));
}

static void count(struct cc_learned *l, const struct cc_ack *ack)
{
	uint32_t mark = ack->marked ? 1u << MARKED_SHIFT >> MARKED_EWMA : 0;

	l->acked_bytes += ack->bytes;
	l->marked16 = l->marked16 - (l->marked16 >> MARKED_EWMA) + mark;
}

/* Whether it is time for a decision. The first comes an interval after the first acknowledgement. */
static bool due(const struct cc *cc, uint64_t now_ns)
{
	const struct cc_learned *l = &cc->learned;

	return l->decided_ns != 0 && now_ns > l->decided_ns &&
		now_ns - l->decided_ns >= cc->config->base_rtt_ns / CC_LOOK_AHEAD;
}

static void begin(struct cc_learned *l)
{
	for (uint32_t i = 0; i < CC_LOOK_AHEAD; i++)
		l->past_ns[i] = l->median_ns;
}

static void acked(struct cc *cc, const struct cc_ack *ack)
{
	struct cc_learned *l = &cc->learned;

	count(l, ack);
	if (ack->senders != l->incast.senders)
		cc_incast_share(cc, &l->incast, ack->senders, l->share_bytes);
	cc_incast_open(cc, &l->incast, 0, ack->now_ns);
	if (ack->rtt_ns != 0) {
		l->latest_ns = cc_delay_ns(cc, ack);
		l->median_ns = cc_median_take(&l->median, l->latest_ns);
	}
	if (l->decided_ns == 0 || due(cc, ack->now_ns)) {
		if (l->decided_ns == 0)
			begin(l);
		else
			decide(cc, ack->now_ns);
		l->past_ns[l->at_past] = l->median_ns;
		l->at_past = (uint8_t)((l->at_past + 1) % CC_LOOK_AHEAD);
		l->decided_ns = ack->now_ns;
		l->acked_bytes = 0;
		l->lost_bytes = 0;
	}
	cc_incast_cap(cc, &l->incast);
}

static void lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns)
{
	if (queued)
		cc->learned.lost_bytes += bytes;
	cc_window_lost(cc, bytes, queued, now_ns);
}

const struct cc_ops cc_learned_ops = {
	.name = "learned",
	.check = check,
	.init = init,
	.acked = acked,
	.lost = lost,
	.silent = cc_window_silent,
};
