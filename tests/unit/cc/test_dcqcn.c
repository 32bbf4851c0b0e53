/* SPDX-License-Identifier: BSD-3-Clause */
/* DCQCN against a trace computed by hand, with numbers that come out even, and what network cards add. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cc.h"

#define US      1000u
#define MBPS    1000000ull
#define LINK    (64000 * MBPS)
#define START   (5000 * (uint64_t)US)
#define PACKET  4096u

/* g = 1/4, alpha falls every 10 us, cuts at most every 20 us, timer 100 us, byte counter 100,000 bytes, F = 2. */
static const struct cc_dcqcn_params even = {
	.g_1024 = 256, .alpha_period_ns = 10 * US, .initial_alpha_1024 = 1024, .cut_period_ns = 20 * US,
	.clamp_target = true, .increase_timer_ns = 100 * US, .increase_bytes = 100000, .fast_steps = 2,
	.add_bps = 1000 * MBPS, .hyper_bps = 2000 * MBPS, .notice_gap_ns = 20 * US,
};

static const struct cc_config config = {
	.kind = CC_DCQCN, .packet_bytes = PACKET, .base_rtt_ns = 10 * US, .rate_bps = LINK, .dcqcn = &even};

enum event { CNP, SENT, TIMER };

/* Target, rate in Mb/s, alpha in millionths after the event. */
static const struct {
	uint32_t at_us;
	enum event event;
	uint32_t bytes;
	double target, rate, alpha;
} trace[] = {
	/* First: alpha = 1, target = 64,000, rate = 64,000 (1 - 1/2); alpha = 3/4 * 1 + 1/4 = 1. */
	{0, CNP, 0, 64000, 32000, 1},
	/* Within 20 us of the last cut: only alpha = 3/4 * 1 + 1/4 = 1, and its period starts over. */
	{5, CNP, 0, 64000, 32000, 1},
	/* Periods end at 15 and 25: alpha = 9/16. target = 32,000, rate = 32,000 (1 - 9/32) = 23,000;
	 * alpha = 3/4 * 9/16 + 1/4 = 43/64. */
	{25, CNP, 0, 32000, 23000, 0.671875},
	/* One period more: alpha = 129/256. */
	{35, TIMER, 0, 32000, 23000, 0.50390625},
	/* 99,000 bytes do not end the counter. */
	{40, SENT, 99000, 32000, 23000, 0.50390625},
	/* Timer, no time before: half way, (23,000 + 32,000) / 2. alpha at 25 + 10 * 10 us: 43/64 * (3/4)^10. */
	{125, TIMER, 0, 32000, 27500, 0.671875 * 0.0563135147},
	/* Byte counter: one of either before, below F = 2: half way again. */
	{126, SENT, 1000, 32000, 29750, 0.671875 * 0.0563135147},
	/* Timer, once before, as the counter: half way. */
	{225, TIMER, 0, 32000, 30875, 0},
	/* Byte counter, timer twice, counter once before: target += 1,000; (30,875 + 33,000) / 2. */
	{230, SENT, 100000, 33000, 31937.5, 0},
	/* Timer, both twice before: i = 1, target += 2,000. */
	{325, TIMER, 0, 35000, 33468.75, 0},
	/* Byte counter, timer 3 times, counter twice before: i = 1. */
	{330, SENT, 100000, 37000, 35234.375, 0},
	/* Timer, both 3 times before: i = 2, target += 4,000. */
	{425, TIMER, 0, 41000, 38117.1875, 0},
	/* Timer 4 times, counter 3 times before: i = 2. */
	{525, TIMER, 0, 45000, 41558.59375, 0},
	/* Alpha is next to nothing by now, 43/64 * (3/4)^50: so is the cut, but all starts over; alpha = 1/4. */
	{530, CNP, 0, 41558.59375, 41558.59375, 0.25},
	/* Timer starts over at the cut: it ends at 630, half way to a target that is as good as reached. */
	{629, TIMER, 0, 41558.59375, 41558.59375, 0},
	/* alpha = 1/4 * (3/4)^11 at the CNP, 0.0105588; rate = 41,558.59 (1 - 0.0052794) = 41,339.19. */
	{640, CNP, 0, 41558.59375, 41339.19, 0.75 * 0.0105588 + 0.25},
};

static void near(double is, double must, double off)
{
	if (is < must - off || is > must + off)
		fail_msg("%f is not within %f of %f", is, off, must);
}

/* looks: cc_timer() is called every so many ns in between; 0: never. */
static void run_trace(uint32_t looks_ns)
{
	struct cc cc;
	uint64_t now_ns = START;

	cc_init(&cc, &config);
	assert_true(cc_rate_bps(&cc) == CC_UNLIMITED);
	for (uint32_t i = 0; i < sizeof(trace) / sizeof(trace[0]); i++) {
		uint64_t at_ns = START + trace[i].at_us * US;

		for (; looks_ns != 0 && now_ns < at_ns; now_ns += looks_ns)
			cc_timer(&cc, now_ns);
		now_ns = at_ns;
		if (trace[i].event == CNP)
			cc_cnp(&cc, now_ns);
		else if (trace[i].event == SENT)
			cc_sent(&cc, trace[i].bytes, now_ns);
		else
			cc_timer(&cc, now_ns);
		near((double)cc_rate_bps(&cc) / MBPS, trace[i].rate, 0.02);
		near((double)cc.dcqcn.target_bps / MBPS, trace[i].target, 0.02);
		if (trace[i].alpha != 0)
			near((double)cc.dcqcn.alpha / (1 << 30), trace[i].alpha, 0.000001);
	}
}

static void the_trace_by_hand(void **state)
{
	(void)state;
	run_trace(0);
}

static void looking_in_between_changes_nothing(void **state)
{
	(void)state;
	run_trace(250);
	run_trace(7 * US);
}

/* ConnectX: g = 5/1024 every us, alpha starts at 1023/1024, at most half is cut. */
static void the_defaults_by_hand(void **state)
{
	const struct cc_config vendor = {
		.kind = CC_DCQCN, .packet_bytes = PACKET, .base_rtt_ns = 10 * US, .rate_bps = 100000 * MBPS};
	struct cc cc;

	(void)state;
	cc_init(&cc, &vendor);
	/* 100,000 (1 - 1023/2048); alpha = 1023/1024 * 1019/1024 + 5/1024 = 0.999028 */
	cc_cnp(&cc, START);
	assert_int_equal(cc_rate_bps(&cc), 50048828125);
	/* alpha * (1019/1024)^4 = 0.979658. Neither timer nor counter has raised the rate, so the target stays. */
	cc_cnp(&cc, START + 4 * US);
	near((double)cc_rate_bps(&cc) / MBPS, 50048.828 * (1 - 0.979658 / 2), 0.1);
	near((double)cc.dcqcn.target_bps / MBPS, 100000, 0.001);
	/* F = 1: the first step goes half way, 32,767 bytes later. */
	cc_sent(&cc, 32767, START + 5 * US);
	near((double)cc_rate_bps(&cc) / MBPS, (50048.828 * (1 - 0.979658 / 2) + 100000) / 2, 0.1);
	/* The counter has raised the rate: now the target is what was reached. */
	cc_cnp(&cc, START + 8 * US);
	near((double)cc.dcqcn.target_bps / MBPS, (50048.828 * (1 - 0.979658 / 2) + 100000) / 2, 0.1);
}

static void presets_are_the_published_ones(void **state)
{
	(void)state;
	assert_int_equal(cc_dcqcn_vendor.g_1024, 5);
	assert_int_equal(cc_dcqcn_vendor.alpha_period_ns, 1 * US);
	assert_int_equal(cc_dcqcn_vendor.cut_period_ns, 4 * US);
	assert_int_equal(cc_dcqcn_vendor.increase_timer_ns, 300 * US);
	assert_int_equal(cc_dcqcn_vendor.increase_bytes, 32767);
	assert_int_equal(cc_dcqcn_vendor.fast_steps, 1);
	assert_int_equal(cc_dcqcn_paper.g_1024, 4); /* 1/256 */
	assert_int_equal(cc_dcqcn_paper.alpha_period_ns, 50 * US);
	assert_int_equal(cc_dcqcn_paper.increase_timer_ns, 55 * US);
	assert_int_equal(cc_dcqcn_paper.increase_bytes, 10000000);
	assert_int_equal(cc_dcqcn_paper.fast_steps, 5);
	assert_int_equal(cc_dcqcn_simulator.cut_period_ns, 0);
	assert_int_equal(cc_dcqcn_simulator.increase_bytes, 300000000);
}

/* 5 Mb/s for 25 Gb/s are 12.8 for 64. */
static void additions_of_the_paper_are_in_proportion(void **state)
{
	struct cc_dcqcn_params paper = cc_dcqcn_paper;
	struct cc_config of_paper = config;
	struct cc cc;

	(void)state;
	paper.fast_steps = 0;
	of_paper.dcqcn = &paper;
	cc_init(&cc, &of_paper);
	cc_cnp(&cc, START);
	cc_cnp(&cc, START + 50 * US);
	near((double)cc.dcqcn.target_bps / MBPS, 32000, 0.001);
	/* F = 0: hyper at once, i = 1: 50 * 64/25 */
	cc_timer(&cc, START + 105 * US);
	near((double)cc.dcqcn.target_bps / MBPS, 32128, 0.001);
}

/* One hundredth of a second is 100 timers: each adds 1,000 after the first two until the link's rate is reached. */
static void without_notifications_it_comes_back(void **state)
{
	struct cc cc;

	(void)state;
	cc_init(&cc, &config);
	cc_cnp(&cc, START);
	cc_cnp(&cc, START + 20 * US);
	assert_true(cc_next_ns(&cc) == START + 120 * US);
	cc_timer(&cc, START + 10000 * US);
	assert_true(cc_rate_bps(&cc) == CC_UNLIMITED);
	assert_true(cc_next_ns(&cc) == UINT64_MAX);
	/* And down from there again, though alpha has faded: the first raises it to 1/4 only. */
	cc_cnp(&cc, START + 10000 * US);
	cc_cnp(&cc, START + 10020 * US);
	near((double)cc_rate_bps(&cc) / MBPS, 64000 * (1 - 0.25 * 0.5625 / 2), 0.1);
}

/* Of 3,000 timers all but F = 2 add 1 Mb/s, and each goes half way: the rate is 1 Mb/s behind the target. */
static void long_silence_is_a_line(void **state)
{
	struct cc_dcqcn_params slow = even;
	struct cc_config slowly = config;
	struct cc cc;

	(void)state;
	slow.add_bps = 1 * MBPS;
	slowly.dcqcn = &slow;
	cc_init(&cc, &slowly);
	cc_cnp(&cc, START);
	cc_cnp(&cc, START + 20 * US); /* alpha = 3/4 * 3/4, target = 32,000 */
	cc_timer(&cc, START + 20 * US + 300000 * US);
	near((double)cc.dcqcn.target_bps / MBPS, 32000 + 2998, 0.001);
	near((double)cc_rate_bps(&cc) / MBPS, 32000 + 2997, 0.001);
}

/* What is added for a fast link is all of a slow one. */
static void an_addition_is_the_links_rate_at_most(void **state)
{
	struct cc_dcqcn_params fast = even;
	struct cc_config slow_link = config;
	struct cc cc;

	(void)state;
	fast.fast_steps = 0;
	slow_link.dcqcn = &fast;
	slow_link.rate_bps = 100 * MBPS;
	assert_int_equal(cc_config_check(&slow_link), 0);
	cc_init(&cc, &slow_link);
	cc_cnp(&cc, START);
	cc_cnp(&cc, START + 20 * US); /* alpha = 3/4 * 3/4: (1 - 9/32) of 50 */
	near((double)cc_rate_bps(&cc) / MBPS, 35.9375, 0.001);
	cc_timer(&cc, START + 120 * US);
	near((double)cc.dcqcn.target_bps / MBPS, 100, 0);
	near((double)cc_rate_bps(&cc) / MBPS, (35.9375 + 100) / 2, 0.001);
}

static void the_rate_has_a_floor(void **state)
{
	struct cc_config floor = config;
	struct cc cc;

	(void)state;
	floor.min_rate_bps = 100 * MBPS;
	cc_init(&cc, &floor);
	for (uint32_t i = 0; i < 100; i++)
		cc_cnp(&cc, START + i * 20 * US);
	assert_int_equal(cc_rate_bps(&cc), 100 * MBPS);
}

static void the_first_notification_may_set_the_rate(void **state)
{
	struct cc_dcqcn_params first = even;
	struct cc_config of_first = config;
	struct cc cc;

	(void)state;
	first.first_bps = 10000 * MBPS;
	of_first.dcqcn = &first;
	cc_init(&cc, &of_first);
	cc_cnp(&cc, START);
	assert_int_equal(cc_rate_bps(&cc), 5000 * MBPS);
}

/* As a notification point, which sends at most one CNP in its gap. */
static void a_mark_is_a_notification_once_in_a_gap(void **state)
{
	const struct cc_ack marked = {.now_ns = START, .rtt_ns = 20 * US, .bytes = PACKET, .marked = true};
	struct cc_ack later = marked, clean = marked;
	struct cc cc;

	(void)state;
	cc_init(&cc, &config);
	clean.marked = false;
	cc_acked(&cc, &clean);
	assert_true(cc_rate_bps(&cc) == CC_UNLIMITED);
	cc_acked(&cc, &marked);
	assert_int_equal(cc_rate_bps(&cc), 32000 * MBPS);
	later.now_ns += 19 * US;
	cc_acked(&cc, &later);
	assert_int_equal(cc_rate_bps(&cc), 32000 * MBPS);
	later.now_ns += 1 * US;
	cc_acked(&cc, &later);
	assert_true(cc_rate_bps(&cc) < 32000 * MBPS);
}

static void a_loss_is_one_where_cards_do_so(void **state)
{
	struct cc_dcqcn_params restarts = even;
	struct cc_config of_restarts = config;
	struct cc cc;

	(void)state;
	cc_init(&cc, &config);
	cc_lost(&cc, PACKET, true, START);
	assert_true(cc_rate_bps(&cc) == CC_UNLIMITED);
	restarts.cut_on_loss = true;
	of_restarts.dcqcn = &restarts;
	cc_init(&cc, &of_restarts);
	cc_lost(&cc, PACKET, false, START);
	assert_true(cc_rate_bps(&cc) == CC_UNLIMITED);
	cc_lost(&cc, PACKET, true, START);
	cc_lost(&cc, PACKET, true, START + 1);
	assert_int_equal(cc_rate_bps(&cc), 32000 * MBPS);
}

static void there_is_no_window(void **state)
{
	struct cc cc;

	(void)state;
	cc_init(&cc, &config);
	for (uint32_t i = 0; i < 100; i++)
		cc_cnp(&cc, START + i * 20 * US);
	assert_int_equal(cc_window_bytes(&cc), UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_trace_by_hand),
		cmocka_unit_test(looking_in_between_changes_nothing),
		cmocka_unit_test(the_defaults_by_hand),
		cmocka_unit_test(presets_are_the_published_ones),
		cmocka_unit_test(additions_of_the_paper_are_in_proportion),
		cmocka_unit_test(without_notifications_it_comes_back),
		cmocka_unit_test(long_silence_is_a_line),
		cmocka_unit_test(an_addition_is_the_links_rate_at_most),
		cmocka_unit_test(the_rate_has_a_floor),
		cmocka_unit_test(the_first_notification_may_set_the_rate),
		cmocka_unit_test(a_mark_is_a_notification_once_in_a_gap),
		cmocka_unit_test(a_loss_is_one_where_cards_do_so),
		cmocka_unit_test(there_is_no_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
