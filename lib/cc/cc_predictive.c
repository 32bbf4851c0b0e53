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

#include "cc_internal.h"

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

/* ---- median ---- */

static inline uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t max(uint32_t a, uint32_t b)
{
	return a < b ? b : a;
}

static inline uint32_t middle(uint32_t a, uint32_t b, uint32_t c)
{
	return max(min(a, b), min(max(a, b), c));
}

/* Sorts the three that the place at is one of. */
static void sort_three(struct cc_predict *p, uint32_t at)
{
	uint32_t three = at / 3;
	uint32_t a = p->delay_ns[3 * three], b = p->delay_ns[3 * three + 1], c = p->delay_ns[3 * three + 2];

	p->least_ns[three] = min(min(a, b), c);
	p->middle_ns[three] = middle(a, b, c);
	p->most_ns[three] = max(max(a, b), c);
}

/* Of three threes: the median of all is the median of the largest least, the median middle and the least largest. */
static uint32_t median_of_nine(const struct cc_predict *p)
{
	return middle(max(max(p->least_ns[0], p->least_ns[1]), p->least_ns[2]),
		middle(p->middle_ns[0], p->middle_ns[1], p->middle_ns[2]),
		min(min(p->most_ns[0], p->most_ns[1]), p->most_ns[2]));
}

/* The lower median of the first few. */
static uint32_t median_of(const uint32_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t below = 0;

		for (uint32_t k = 0; k < n; k++)
			below += v[k] < v[i] || (v[k] == v[i] && k < i);
		if (below == (n - 1) / 2)
			return v[i];
	}
	return 0;
}

static uint32_t take_delay(struct cc_predict *p, uint32_t delay_ns)
{
	uint32_t at = p->at_delay;

	p->delay_ns[at] = delay_ns;
	sort_three(p, at);
	p->at_delay = (uint8_t)(at + 1 < CC_MEDIAN_OF ? at + 1 : 0);
	if (p->n_delays == CC_MEDIAN_OF)
		return median_of_nine(p);
	p->n_delays++;
	return median_of(p->delay_ns, p->n_delays);
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

/* ---- incast ---- */

/* Below one packet the window cannot go: the pace does. */
static void take_senders(struct cc *cc, uint8_t senders)
{
	struct cc_predict *p = &cc->predict;
	uint32_t part;

	if (senders == p->senders)
		return;
	/* One and a half products for all: what is above that is for one alone. */
	part = senders < 2 ? cc->max_window_bytes : cc->max_window_bytes / 4 * 3 / senders;
	p->senders = senders;
	p->cap_bytes = part;
	if (part < cc->config->packet_bytes)
		cc_set_rate(cc, cc_bps(part, cc->config->base_rtt_ns));
	else
		cc->rate_bps = CC_UNLIMITED;
}

static void cap(struct cc *cc)
{
	if (cc->window_bytes > cc->predict.cap_bytes)
		cc_set_window(cc, cc->predict.cap_bytes);
}

/* ---- all of it ---- */

static void init(struct cc *cc, uint64_t bdp_bytes)
{
	cc_nscc_init(cc, bdp_bytes);
	cc->predict.cap_bytes = cc->max_window_bytes;
	cc->predict.opening = params(cc)->first_packets != 0;
	if (cc->predict.opening)
		cc_set_window(cc, (uint64_t)params(cc)->first_packets * cc->config->packet_bytes);
}

static void react(struct cc *cc, const struct cc_ack *ack, uint32_t median_ns)
{
	bool predicts = params(cc)->prediction;
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
	uint32_t delay_ns = cc_delay_ns(cc, ack);

	cc_nscc_count(cc, ack->bytes);
	if (params(cc)->incast_cap)
		take_senders(cc, ack->senders);
	if (cc->predict.opening) {
		cc->predict.opening = false;
		cc_set_window(cc, cc->max_window_bytes);
	}
	if (ack->rtt_ns == 0) {
		cc_nscc_unknown(cc, ack);
	} else {
		if (params(cc)->median)
			delay_ns = take_delay(&cc->predict, delay_ns);
		cc_nscc_delay(cc, delay_ns, ack->now_ns);
		react(cc, ack, delay_ns);
		cc_nscc_settle(cc, ack->now_ns);
		cc_nscc_adapt(cc, ack->now_ns);
		cc_nscc_even_out(cc, ack->now_ns);
	}
	cap(cc);
}

const struct cc_ops cc_predictive_ops = {
	.name = "predictive",
	.init = init,
	.acked = acked,
	.lost = cc_nscc_lost,
	.silent = cc_nscc_silent,
};
