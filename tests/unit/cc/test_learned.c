/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees made by hand, and what a window does by them: 100 Gb/s, 12 us, so that the bandwidth-delay product is 150,000
 * bytes, the target 12 us, the largest window two products, and decisions are 3 us apart.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cc.h"

#define PACKET  4000u
#define BASE_NS 12000u
#define STEP_NS 3000u
#define BDP     150000u
#define QUARTER (BDP / 4)

/*
 *              delay <= T                       senders <= 4
 *        yes /            \ no                  yes /  \ no
 *   marked <= 1/2       delay <= 2 T             +24   -24
 *     /      \            /      \
 *  +100     -50        -100     -300
 */
static const struct cc_model by_hand = {
	.first_packets = 4, .share_percent = 150, .n_trees = 2,
	.trees = {
		{.depth = 2, .split = {CC_SPLIT(CC_F_DELAY, 1024), CC_SPLIT(CC_F_MARKED, 512), CC_SPLIT(CC_F_DELAY, 2048)},
			.leaf = {100, -50, -100, -300}},
		{.depth = 1, .split = {CC_SPLIT(CC_F_SENDERS, 4)}, .leaf = {24, -24}},
	},
};

struct world {
	struct cc_config config;
	struct cc cc;
	uint64_t now_ns;
};

/* A packet is acknowledged at once, and from then on decisions are made. */
static void begin(struct world *w, const struct cc_model *model, uint32_t window_bytes)
{
	w->config = (struct cc_config){
		.kind = CC_LEARNED, .packet_bytes = PACKET, .base_rtt_ns = BASE_NS, .rate_bps = 100000000000u, .model = model};
	assert_int_equal(cc_config_check(&w->config), 0);
	w->now_ns = 1000000;
	cc_init(&w->cc, &w->config);
	w->cc.base_ns = BASE_NS;
	w->cc.base_until_ns = UINT64_MAX;
	cc_acked(&w->cc, &(struct cc_ack){.now_ns = w->now_ns, .rtt_ns = BASE_NS, .bytes = PACKET});
	w->cc.window_bytes = window_bytes;
}

static void ack_after(struct world *w, uint64_t after_ns, uint32_t delay_ns, bool marked, uint8_t senders)
{
	w->now_ns += after_ns;
	cc_acked(&w->cc, &(struct cc_ack){
		.now_ns = w->now_ns, .rtt_ns = BASE_NS + delay_ns, .bytes = PACKET, .marked = marked, .senders = senders});
}

static void ack(struct world *w, uint32_t delay_ns, bool marked, uint8_t senders)
{
	ack_after(w, STEP_NS, delay_ns, marked, senders);
}

/* ---- trees ---- */

static void trees_end_in_the_leaves_that_the_features_lead_to(void **state)
{
	static const struct {
		int32_t delay, marked, senders, sum;
	} table[] = {
		{0, 0, 0, 124}, {1024, 512, 4, 124}, {1024, 513, 4, -26}, {1025, 0, 4, -76}, {2048, 1024, 5, -124},
		{2049, 0, 5, -324}, {CC_MODEL_MAX, 0, 255, -324}, {-CC_MODEL_MAX, -1, -1, 124},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const int32_t features[CC_FEATURES] = {[CC_F_DELAY] = table[i].delay, [CC_F_MARKED] = table[i].marked,
			[CC_F_SENDERS] = table[i].senders};

		assert_int_equal(cc_model_sum(&by_hand, features), table[i].sum);
	}
}

/* Every leaf of the deepest tree is reached by the number of its place, bit by bit. */
static void the_deepest_tree_has_sixteen_leaves(void **state)
{
	static const enum cc_feature bits[] = {CC_F_DELAY, CC_F_LATEST, CC_F_TREND, CC_F_MARKED};
	struct cc_model model = {.first_packets = 4, .share_percent = 150, .n_trees = 1, .trees = {{.depth = 4}}};

	(void)state;
	for (uint32_t i = 0; i < CC_MODEL_SPLITS; i++)
		model.trees[0].split[i] = CC_SPLIT(bits[i == 0 ? 0 : i < 3 ? 1 : i < 7 ? 2 : 3], 0);
	for (uint32_t i = 0; i < CC_MODEL_LEAVES; i++)
		model.trees[0].leaf[i] = (int16_t)i;
	assert_int_equal(cc_model_check(&model), 0);
	for (int32_t i = 0; i < (int32_t)CC_MODEL_LEAVES; i++) {
		const int32_t features[CC_FEATURES] = {[CC_F_DELAY] = i >> 3 & 1, [CC_F_LATEST] = i >> 2 & 1,
			[CC_F_TREND] = i >> 1 & 1, [CC_F_MARKED] = i & 1};

		assert_int_equal(cc_model_sum(&model, features), i);
	}
}

/* ---- decisions ---- */

static void a_window_by_hand(void **state)
{
	/* The median of the delays that came: 0, 0; 0, 0, 20; ... the lower one while their number is even. */
	static const struct {
		uint32_t delay_ns;
		uint8_t senders;
		uint32_t window;
	} trace[] = {
		{0, 0, 114800},        /* 102,400 * (1 + 124/1024) */
		{20000, 0, 128701},    /* median 0: 114,800 + 13,901.6 */
		{20000, 0, 144285},    /* median 0, the lower: + 15,584.9 */
		{20000, 0, 133577},    /* median 20 us, above 12 and below 24: 24 - 100 = -76: - 10,708.7 */
		{20000, 5, 45000},     /* -124, but five share 225,000 bytes */
		{30000, 5, 39551},     /* median still 20 us: - 5,449.2 */
		{30000, 4, 36616},     /* -76: - 2,935.4 */
		{30000, 4, 33899},     /* median 20 us of nine: - 2,717.6 */
		{30000, 4, 31384},     /* 0, 20 x 4, 30 x 4: median 20: - 2,515.9 */
		{30000, 4, 22926},     /* 20 x 4, 30 x 5: median 30 us: 24 - 300: - 8,458.97 */
	};
	struct world w;

	(void)state;
	begin(&w, &by_hand, 102400);
	for (uint32_t i = 0; i < sizeof(trace) / sizeof(trace[0]); i++) {
		ack(&w, trace[i].delay_ns, false, trace[i].senders);
		if (cc_window_bytes(&w.cc) != trace[i].window)
			fail_msg("step %u: %u bytes, must be %u", i, cc_window_bytes(&w.cc), trace[i].window);
	}
}

static void decisions_are_a_quarter_of_a_round_trip_apart(void **state)
{
	struct world w;

	(void)state;
	begin(&w, &by_hand, 102400);
	ack_after(&w, STEP_NS - 1, 0, false, 0);
	assert_int_equal(cc_window_bytes(&w.cc), 102400);
	ack_after(&w, 1, 0, false, 0);
	assert_int_equal(cc_window_bytes(&w.cc), 114800);
	ack_after(&w, 0, 0, false, 0);
	assert_int_equal(cc_window_bytes(&w.cc), 114800);
	/* One however long it took. */
	ack_after(&w, 100 * STEP_NS, 0, false, 0);
	assert_int_equal(cc_window_bytes(&w.cc), 114800 + 13901);
}

/* EWMA 1/16: 1 - (15/16)^n is above a half from the eleventh mark in a row on. */
static void marks_are_averaged(void **state)
{
	struct world w;

	(void)state;
	begin(&w, &by_hand, 20000);
	for (uint32_t i = 1; i <= 12; i++) {
		w.cc.window_bytes = 20480;
		ack(&w, 0, true, 0);
		assert_int_equal(cc_window_bytes(&w.cc), i < 11 ? 20480 + 2480 : 20480 - 520);
	}
}

static void a_decision_changes_a_half_at_most(void **state)
{
	struct cc_model model = by_hand;
	struct world w;

	(void)state;
	model.trees[0] = (struct cc_model_tree){.depth = 1, .split = {CC_SPLIT(CC_F_DELAY, 0)}, .leaf = {1024, 1024}};
	begin(&w, &model, 50000);
	ack(&w, 0, false, 0);
	assert_int_equal(cc_window_bytes(&w.cc), 75000);
	model.trees[0] = (struct cc_model_tree){.depth = 1, .split = {CC_SPLIT(CC_F_DELAY, 0)}, .leaf = {-1024, -1024}};
	ack(&w, 0, false, 0);
	assert_int_equal(cc_window_bytes(&w.cc), 37500);
}

/* ---- features ---- */

/* Whether a feature is just so much: above one less, and not above itself. */
static void feature_is(struct cc_model *model, enum cc_feature feature, int32_t value, void (*tell)(struct world *w))
{
	struct world w;

	for (int32_t below = 0; below < 2; below++) {
		*model = (struct cc_model){.share_percent = 1000, .n_trees = 1, .trees = {
			{.depth = 1, .split = {CC_SPLIT(feature, value - below)}, .leaf = {0, 512}}}};
		begin(&w, model, QUARTER);
		tell(&w);
		if (cc_window_bytes(&w.cc) != (below ? QUARTER + QUARTER / 2 : QUARTER))
			fail_msg("%s is %s %d", cc_feature_name(feature), below ? "not" : "above", value);
	}
}

/* Nothing is decided until the last. */
static void tell_all(struct world *w)
{
	ack_after(w, 1000, 1200, true, 0);
	ack_after(w, 1000, 2400, false, 0);
	cc_lost(&w->cc, 1500, true, w->now_ns);
	w->cc.window_bytes = QUARTER;
	ack_after(w, 3000, 6000, false, 3);
}

static void tell_a_fall(struct world *w)
{
	for (uint32_t i = 0; i < CC_LOOK_AHEAD; i++)
		w->cc.learned.past_ns[i] = 3000;
	ack(w, 0, false, 0);
}

static void features_are_what_they_are_said_to_be(void **state)
{
	struct cc_model model;

	(void)state;
	/* 0, 1.2, 2.4 and 6 us, of 12: the lower median */
	feature_is(&model, CC_F_DELAY, 102, tell_all);
	feature_is(&model, CC_F_LATEST, 511, tell_all);   /* 6/12, cut */
	feature_is(&model, CC_F_TREND, 102, tell_all);    /* it was 0 */
	feature_is(&model, CC_F_TREND, -255, tell_a_fall); /* from 3/12, cut */
	feature_is(&model, CC_F_MARKED, 56, tell_all);    /* 1/16 * (15/16)^2 */
	feature_is(&model, CC_F_LOST, 40, tell_all);      /* 1,500 of 37,500, cut */
	feature_is(&model, CC_F_RATE, 196, tell_all);     /* 12,000 bytes in 5 us, of 62,500 */
	feature_is(&model, CC_F_WINDOW, 255, tell_all);
	feature_is(&model, CC_F_ALL, 765, tell_all);      /* three of them */
	feature_is(&model, CC_F_SENDERS, 3, tell_all);
}

/* ---- what no model changes ---- */

static void the_first_acknowledgement_opens_the_window(void **state)
{
	struct cc_model model = by_hand;
	struct cc_config config = {
		.kind = CC_LEARNED, .packet_bytes = PACKET, .base_rtt_ns = BASE_NS, .rate_bps = 100000000000u, .model = &model};
	struct cc cc;

	(void)state;
	cc_init(&cc, &config);
	assert_int_equal(cc_window_bytes(&cc), 4 * PACKET);
	cc_acked(&cc, &(struct cc_ack){.now_ns = 1000, .rtt_ns = BASE_NS, .bytes = PACKET});
	assert_int_equal(cc_window_bytes(&cc), 2 * BDP);
	model.first_packets = 0;
	cc_init(&cc, &config);
	assert_int_equal(cc_window_bytes(&cc), 2 * BDP);
}

static void senders_share_what_the_model_allows(void **state)
{
	struct cc_model model = by_hand;
	struct world w;

	(void)state;
	begin(&w, &model, 2 * BDP);
	ack_after(&w, 1, 0, false, 1);
	assert_int_equal(cc_window_bytes(&w.cc), 2 * BDP);
	ack_after(&w, 1, 0, false, 9);
	assert_int_equal(cc_window_bytes(&w.cc), 25000);
	/* Less than a packet for each, 225,000 / 200 = 1,125 bytes in 12 us: the pace tells. */
	ack_after(&w, 1, 0, false, 200);
	assert_int_equal(cc_window_bytes(&w.cc), PACKET);
	assert_int_equal(cc_rate_bps(&w.cc), 750000000);
	ack_after(&w, 1, 0, false, 0);
	assert_true(cc_rate_bps(&w.cc) == CC_UNLIMITED);
	model.share_percent = 80;
	begin(&w, &model, 2 * BDP);
	ack_after(&w, 1, 0, false, 4);
	assert_int_equal(cc_window_bytes(&w.cc), 30000);
}

static void losses_and_silence_take_of_the_window(void **state)
{
	struct world w;

	(void)state;
	begin(&w, &by_hand, 100000);
	cc_lost(&w.cc, PACKET, false, w.now_ns);
	assert_int_equal(cc_window_bytes(&w.cc), 100000);
	cc_lost(&w.cc, PACKET, true, w.now_ns);
	assert_int_equal(cc_window_bytes(&w.cc), 96000);
	cc_silent(&w.cc, w.now_ns);
	assert_int_equal(cc_window_bytes(&w.cc), 4 * PACKET);
	/* What was sent again tells no round trip, but it opens the window as far as is known. */
	w.now_ns += STEP_NS;
	cc_acked(&w.cc, &(struct cc_ack){.now_ns = w.now_ns, .bytes = PACKET});
	assert_int_equal(cc_window_bytes(&w.cc), 16000 + 1937);
}

static void a_model_is_needed_and_checked(void **state)
{
	struct cc_model model = by_hand;
	struct cc_config config = {.kind = CC_LEARNED, .packet_bytes = PACKET, .base_rtt_ns = BASE_NS, .rate_bps = 1000000000};

	(void)state;
	assert_int_equal(cc_config_check(&config), -EINVAL);
	config.model = &model;
	assert_int_equal(cc_config_check(&config), 0);
	model.trees[0].depth = 5;
	assert_int_equal(cc_config_check(&config), -EINVAL);
	model = by_hand;
	model.trees[1].split[0] = CC_SPLIT(CC_FEATURES, 0);
	assert_int_equal(cc_config_check(&config), -EINVAL);
	model = by_hand;
	model.trees[0].split[2] = CC_SPLIT(CC_F_RATE, CC_MODEL_MAX + 1);
	assert_int_equal(cc_config_check(&config), -EINVAL);
	model = by_hand;
	model.trees[0].leaf[3] = -1025;
	assert_int_equal(cc_config_check(&config), -EINVAL);
	model = by_hand;
	model.n_trees = 21;
	assert_int_equal(cc_config_check(&config), -EINVAL);
	model = by_hand;
	model.share_percent = 0;
	assert_int_equal(cc_config_check(&config), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_end_in_the_leaves_that_the_features_lead_to),
		cmocka_unit_test(the_deepest_tree_has_sixteen_leaves),
		cmocka_unit_test(a_window_by_hand),
		cmocka_unit_test(decisions_are_a_quarter_of_a_round_trip_apart),
		cmocka_unit_test(marks_are_averaged),
		cmocka_unit_test(a_decision_changes_a_half_at_most),
		cmocka_unit_test(features_are_what_they_are_said_to_be),
		cmocka_unit_test(the_first_acknowledgement_opens_the_window),
		cmocka_unit_test(senders_share_what_the_model_allows),
		cmocka_unit_test(losses_and_silence_take_of_the_window),
		cmocka_unit_test(a_model_is_needed_and_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
