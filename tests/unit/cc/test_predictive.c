/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is added to NSCC, by hand: 100 Gb/s, 12 us, so that the bandwidth-delay product is 150,000 bytes and the target 12 us.
 * Steps of the prediction are 3 us apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cc.h"

#define PACKET  4000u
#define BASE_NS 12000u
#define STEP_NS 3000u
#define MAX     225000u

static const struct cc_predictive_params only_median = {.median = true}, only_prediction = {.prediction = true},
	only_cap = {.incast_cap = true}, nothing = {0};

static struct cc_config config_of(const struct cc_predictive_params *params)
{
	return (struct cc_config){
		.kind = CC_PREDICTIVE, .packet_bytes = PACKET, .base_rtt_ns = BASE_NS, .rate_bps = 100000000000u,
		.predictive = params};
}

struct world {
	struct cc_config config;
	struct cc cc;
	uint64_t now_ns;
};

/* A round trip of the base is known. */
static void begin(struct world *w, const struct cc_predictive_params *params, uint32_t window_bytes)
{
	w->config = config_of(params);
	w->now_ns = 1000000;
	cc_init(&w->cc, &w->config);
	w->cc.base_ns = BASE_NS;
	w->cc.base_until_ns = UINT64_MAX;
	w->cc.window_bytes = window_bytes;
	w->cc.settled_ns = w->now_ns;
}

/* One step later a packet comes whose delay is so much. */
static void ack(struct world *w, uint32_t delay_ns, bool marked, uint8_t senders)
{
	w->now_ns += STEP_NS;
	cc_acked(&w->cc, &(struct cc_ack){
		.now_ns = w->now_ns, .rtt_ns = BASE_NS + delay_ns, .bytes = PACKET, .marked = marked, .senders = senders});
}

static void near(double is, double must, double off)
{
	if (is < must - off || is > must + off)
		fail_msg("%f is not within %f of %f", is, off, must);
}

static uint64_t draw(uint64_t *state, uint64_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % below;
}

/* ---- the first window ---- */

/* Nothing is known before the first acknowledgement; that one tells how many share what there is. */
static void the_first_acknowledgement_opens_the_window(void **state)
{
	const struct cc_predictive_params few = {.first_packets = 4}, shared = {.first_packets = 4, .incast_cap = true};
	struct world w = {.config = config_of(&few), .now_ns = 1000000};

	(void)state;
	cc_init(&w.cc, &w.config);
	assert_int_equal(cc_window_bytes(&w.cc), 4 * PACKET);
	ack(&w, 0, false, 9);
	assert_int_equal(cc_window_bytes(&w.cc), w.cc.max_window_bytes);
	w.config = config_of(&shared);
	cc_init(&w.cc, &w.config);
	ack(&w, 0, false, 9);
	assert_int_equal(cc_window_bytes(&w.cc), MAX / 9);
	/* More packets than the largest window has are that. */
	w.config = config_of(&(const struct cc_predictive_params){.first_packets = 1000});
	cc_init(&w.cc, &w.config);
	assert_int_equal(cc_window_bytes(&w.cc), w.cc.max_window_bytes);
}

/* Who is told of few because it was first waits a round trip for the others, and takes its part then. */
static void a_second_window_lasts_a_round_trip(void **state)
{
	const struct cc_predictive_params two = {.first_packets = 1, .second_packets = 4, .incast_cap = true};
	struct world w = {.config = config_of(&two), .now_ns = 1000000};

	(void)state;
	cc_init(&w.cc, &w.config);
	assert_int_equal(cc_window_bytes(&w.cc), PACKET);
	ack(&w, 0, true, 1);
	assert_in_range(cc_window_bytes(&w.cc), 4 * PACKET, 5 * PACKET); /* NSCC adds a little */
	for (uint32_t i = 0; i < BASE_NS / STEP_NS - 1; i++)
		ack(&w, 0, true, 9);
	assert_in_range(cc_window_bytes(&w.cc), 4 * PACKET, 5 * PACKET);
	ack(&w, 0, true, 9);
	assert_int_equal(cc_window_bytes(&w.cc), MAX / 9);
}

/* ---- without any of them ---- */

static void with_nothing_added_it_is_nscc(void **state)
{
	struct cc_config plain = config_of(NULL), config = config_of(&nothing);
	uint64_t random = 5, now_ns = 1000000;
	struct cc nscc, ours;

	(void)state;
	plain.kind = CC_NSCC;
	cc_init(&nscc, &plain);
	cc_init(&ours, &config);
	for (uint32_t i = 0; i < 20000; i++) {
		const struct cc_ack one = {
			.now_ns = now_ns += draw(&random, 2000), .rtt_ns = BASE_NS + (uint32_t)draw(&random, 3 * BASE_NS),
			.bytes = PACKET, .marked = draw(&random, 4) == 0, .senders = (uint8_t)draw(&random, 256)};

		cc_acked(&nscc, &one);
		cc_acked(&ours, &one);
		if (i % 97 == 0) {
			cc_lost(&nscc, PACKET, true, now_ns);
			cc_lost(&ours, PACKET, true, now_ns);
		}
		assert_int_equal(cc_window_bytes(&nscc), cc_window_bytes(&ours));
		assert_true(cc_rate_bps(&nscc) == cc_rate_bps(&ours));
	}
}

/* ---- median ---- */

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The lower of the two in the middle while there are fewer than nine. */
static void the_median_is_that_of_the_last_nine(void **state)
{
	const struct cc_predictive_params both = {.median = true, .prediction = true};
	uint32_t last[2000], sorted[CC_MEDIAN_OF];
	uint64_t random = 3;
	struct world w;

	(void)state;
	begin(&w, &both, 40000);
	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t n = i + 1 < CC_MEDIAN_OF ? i + 1 : CC_MEDIAN_OF;

		last[i] = (uint32_t)draw(&random, draw(&random, 2) == 0 ? 5 : 30000);
		ack(&w, last[i], false, 0);
		for (uint32_t k = 0; k < n; k++)
			sorted[k] = last[i - k];
		qsort(sorted, n, sizeof(sorted[0]), compare);
		assert_int_equal(w.cc.predict.past_ns[(w.cc.predict.at_step + CC_LOOK_AHEAD - 1) % CC_LOOK_AHEAD],
			sorted[(n - 1) / 2]);
	}
}

/* NSCC would cut the window for the one packet that came by a slow path. */
static void one_slow_path_is_not_taken_for_all(void **state)
{
	struct world w;
	uint32_t before;

	(void)state;
	begin(&w, &only_median, 100000);
	for (uint32_t i = 0; i < 9; i++)
		ack(&w, 0, false, 0);
	w.cc.average_ns16 = (uint64_t)3 * BASE_NS << 16;
	before = cc_window_bytes(&w.cc);
	ack(&w, 10 * BASE_NS, true, 0);
	assert_true(cc_window_bytes(&w.cc) >= before);
	assert_false(w.cc.trouble);
	/* Five of nine are the most. */
	for (uint32_t i = 0; i < 4; i++)
		ack(&w, 10 * BASE_NS, true, 0);
	assert_true(cc_window_bytes(&w.cc) < before);
}

/* ---- prediction ---- */

/* e = m - (l + b); l += b + e/4; b += e/32; d^ = l + 4 b */
static void holt_by_hand(void **state)
{
	static const struct {
		uint32_t delay_ns;
		double level, trend, forecast;
	} trace[] = {
		{1000, 1000, 0, 1000},
		{2000, 1250, 31.25, 1375},              /* e = 1,000 */
		{3000, 1710.94, 84.96, 2050.78},        /* e = 3,000 - 1,281.25 */
		{4000, 2346.92, 153.84, 2962.28},       /* e = 4,000 - 1,795.90 */
		{5000, 3125.57, 231.94, 4053.34},       /* e = 5,000 - 2,500.76 */
		/* The trend of a jump is cut at two targets above the level. e = 996,642.49 */
		{1000000, 252518.1, 31377.0, 252518.1 + 24000},
		/* e = -283,895; l = 212,921, b = 22,505 */
		{0, 212921.4, 22505.3, 212921.4 + 24000},
	};
	struct world w;

	(void)state;
	begin(&w, &only_prediction, 40000);
	for (uint32_t i = 0; i < sizeof(trace) / sizeof(trace[0]); i++) {
		ack(&w, trace[i].delay_ns, false, 0);
		near((double)w.cc.predict.level_ns8 / 256, trace[i].level, 0.2);
		near((double)w.cc.predict.trend_ns8 / 256, trace[i].trend, 0.2);
		near(w.cc.predict.predicted_ns, trace[i].forecast, 1);
	}
}

/* Not below half the level: a queue does not vanish. */
static void a_fall_is_foreseen_by_half_at_most(void **state)
{
	struct world w;

	(void)state;
	begin(&w, &only_prediction, 40000);
	ack(&w, 10000, false, 0);
	for (uint32_t i = 0; i < 4; i++)
		ack(&w, 0, false, 0);
	/* 7,500, b = -312.5; 5,390.6, -537.1; 3,640.1, -688.8; 2,213.5, -781.0: l + 4 b is below 0. */
	near((double)w.cc.predict.level_ns8 / 256, 2213.5, 0.5);
	near(w.cc.predict.predicted_ns, 2213.5 / 2, 1);
}

/* One delay that is known tells nothing; a queue that grows steadily is foreseen better than "as one round trip ago". */
static bool trusted(const struct world *w)
{
	return w->cc.predict.error_ns8 < w->cc.predict.naive_ns8;
}

/* Up by 100 ns a step, until it is as good as exact. */
static uint32_t ramp(struct world *w, uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++)
		ack(w, 100 * i, false, 0);
	return 100 * (steps - 1);
}

static void a_steady_rise_opens_the_gate(void **state)
{
	struct world w;
	uint32_t last;

	(void)state;
	begin(&w, &only_prediction, 40000);
	assert_false(trusted(&w));
	last = ramp(&w, 118);
	assert_true(trusted(&w));
	near(w.cc.predict.predicted_ns, last + 400, 30);
	/* What is as it was one round trip ago is not foreseen any better. */
	for (uint32_t i = 0; i < 300; i++)
		ack(&w, i % 4 < 2 ? 0 : 11000, false, 0);
	assert_false(trusted(&w));
}

/* m below the target, d^ above. */
static void the_brake_is_early(void **state)
{
	struct world w;

	(void)state;
	begin(&w, &only_prediction, 40000);
	ramp(&w, 118);
	w.cc.window_bytes = 40000;
	w.cc.inc = 0;
	w.cc.unsettled_bytes = 0;
	assert_true(trusted(&w));
	ack(&w, 11800, false, 0);
	assert_true(w.cc.predict.predicted_ns >= BASE_NS);
	assert_int_equal(w.cc.inc, 0);
	/* The same without a prediction grows. */
	begin(&w, &only_median, 40000);
	ack(&w, 11800, false, 0);
	assert_true(w.cc.inc > 0);
}

/* Marked, m still below the target: d^ counts, 12,100 to 12,200 by now: cut by 0.8 (d^ - T) / d^. */
static void a_mark_cuts_by_what_is_to_come(void **state)
{
	uint32_t before, foreseen;
	struct world w;

	(void)state;
	begin(&w, &only_prediction, 40000);
	ramp(&w, 118);
	w.cc.window_bytes = 100000;
	w.cc.inc = 0;
	before = cc_window_bytes(&w.cc);
	w.cc.settled_ns = w.now_ns + STEP_NS;
	ack(&w, 11800, true, 0);
	foreseen = w.cc.predict.predicted_ns;
	assert_in_range(foreseen, 12050, 12250);
	near(cc_window_bytes(&w.cc), before * (1 - 0.8 * (foreseen - 12000.0) / foreseen), 3);
}

/* ---- incast cap ---- */

static void each_sender_has_its_part(void **state)
{
	struct world w;

	(void)state;
	begin(&w, &only_cap, MAX);
	ack(&w, 0, false, 1);
	assert_int_equal(cc_window_bytes(&w.cc), MAX);
	ack(&w, 0, false, 10);
	assert_int_equal(cc_window_bytes(&w.cc), MAX / 10);
	assert_true(cc_rate_bps(&w.cc) == CC_UNLIMITED);
	/* Less than a packet for each, 225,000 / 200 = 1,125 bytes in 12 us: the pace tells. */
	ack(&w, 0, false, 200);
	assert_int_equal(cc_window_bytes(&w.cc), PACKET);
	assert_int_equal(cc_rate_bps(&w.cc), 750000000);
	/* The receiver tells nothing any more. */
	for (uint32_t i = 0; i < 200; i++)
		ack(&w, 0, false, 0);
	assert_true(cc_window_bytes(&w.cc) > MAX / 10);
	assert_true(cc_rate_bps(&w.cc) == CC_UNLIMITED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_acknowledgement_opens_the_window),
		cmocka_unit_test(a_second_window_lasts_a_round_trip),
		cmocka_unit_test(with_nothing_added_it_is_nscc),
		cmocka_unit_test(the_median_is_that_of_the_last_nine),
		cmocka_unit_test(one_slow_path_is_not_taken_for_all),
		cmocka_unit_test(holt_by_hand),
		cmocka_unit_test(a_fall_is_foreseen_by_half_at_most),
		cmocka_unit_test(a_steady_rise_opens_the_gate),
		cmocka_unit_test(the_brake_is_early),
		cmocka_unit_test(a_mark_cuts_by_what_is_to_come),
		cmocka_unit_test(each_sender_has_its_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
