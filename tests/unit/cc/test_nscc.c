/* SPDX-License-Identifier: BSD-3-Clause */
/* NSCC's quadrants, by hand: 100 Gb/s, 12 us, so that a and b are 1, and the bandwidth-delay product is 150,000 bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cc.h"

#define PACKET   4000u
#define BASE_NS  12000u
#define BDP      150000u
#define MAX      (BDP * 2)

static const struct cc_config config = {
	.kind = CC_NSCC, .packet_bytes = PACKET, .base_rtt_ns = BASE_NS, .rate_bps = 100000000000u};

static void ack(struct cc *cc, uint64_t now_ns, uint32_t rtt_ns, bool marked)
{
	cc_acked(cc, &(struct cc_ack){.now_ns = now_ns, .rtt_ns = rtt_ns, .bytes = PACKET, .marked = marked});
}

/* Starts with a known base round trip and a window of so many bytes. */
static void begin(struct cc *cc, uint32_t window_bytes)
{
	cc_init(cc, &config);
	ack(cc, 1000000, BASE_NS, false);
	cc->window_bytes = window_bytes;
	cc->inc = 0;
	cc->unsettled_bytes = 0;
	cc->settled_ns = 1000000;
}

static void window_starts_at_two_products(void **state)
{
	struct cc cc;

	(void)state;
	cc_init(&cc, &config);
	assert_int_equal(cc_window_bytes(&cc), MAX);
}

/* 0.5 us there and back: 6,250 bytes and 24 packets. */
static void short_links_have_room_for_some_packets(void **state)
{
	struct cc_config near = config;
	struct cc cc;

	(void)state;
	near.base_rtt_ns = 500;
	cc_init(&cc, &near);
	assert_int_equal(cc_window_bytes(&cc), 6250 + 24 * PACKET);
	near.max_window_bytes = 12345;
	cc_init(&cc, &near);
	assert_int_equal(cc_window_bytes(&cc), 12345);
}

static void a_delay_far_above_the_target_takes_what_is_above_three_quarters(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, MAX);
	ack(&cc, 2000000, BASE_NS + 3 * BASE_NS, false);
	assert_int_equal(cc_window_bytes(&cc), MAX);
	ack(&cc, 2000000, BASE_NS + 4 * BASE_NS, false);
	assert_int_equal(cc_window_bytes(&cc), MAX / 4 * 3);
	for (uint32_t i = 0; i < 100; i++)
		ack(&cc, 2000001 + i, BASE_NS, false);
	assert_int_equal(cc_window_bytes(&cc), MAX / 4 * 3);
	/* Forgotten after 20 round trips. */
	for (uint32_t i = 0; i < 1000; i++)
		ack(&cc, 2000001 + 20 * BASE_NS + i, BASE_NS, false);
	assert_int_equal(cc_window_bytes(&cc), MAX);
}

/* Else a window that is filled by what was sent again would stay as it is. */
static void what_tells_no_delay_grows_it_too(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 40000);
	for (uint32_t i = 0; i < 8; i++)
		ack(&cc, 1000001 + i, 0, false);
	assert_true(cc_window_bytes(&cc) > 40000);
	begin(&cc, 40000);
	for (uint32_t i = 0; i < 8; i++)
		ack(&cc, 1000001 + i, 0, true);
	assert_int_equal(cc_window_bytes(&cc), 40000);
}

/* inc += 4 MSS a b/T acked (T - d), so 4 MSS acked / cwnd for d = 0. */
static void an_idle_path_grows_the_window_most(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 40000);
	for (uint32_t i = 0; i < 8; i++)
		ack(&cc, 1000001 + i, BASE_NS, false);
	/* 8 packets: 8 * 4 * 4000 * 4000 / 40000 */
	assert_in_range(cc_window_bytes(&cc), 40000 + 12800 - 16, 40000 + 12800);
}

static void half_the_target_grows_it_half_as_fast(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 40000);
	for (uint32_t i = 0; i < 8; i++)
		ack(&cc, 1000001 + i, BASE_NS + BASE_NS / 2, false);
	assert_in_range(cc_window_bytes(&cc), 40000 + 6400 - 16, 40000 + 6400);
}

/* inc += 5 MSS a acked, where acked counts packets of the window: 5 MSS a round trip */
static void an_unmarked_queue_above_the_target_grows_it_a_little(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 40000);
	for (uint32_t i = 0; i < 8; i++)
		ack(&cc, 1000001 + i, 3 * BASE_NS, false);
	assert_in_range(cc_window_bytes(&cc), 40000 + 16000 - 16, 40000 + 16000);
}

static void a_mark_below_the_target_is_the_schedulers(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 40000);
	for (uint32_t i = 0; i < 100; i++)
		ack(&cc, 1000001 + i, BASE_NS + BASE_NS / 2, true);
	assert_int_equal(cc_window_bytes(&cc), 40000);
}

static void marks_above_the_target_cut_once_a_round_trip(void **state)
{
	struct cc cc;
	uint32_t after;

	(void)state;
	begin(&cc, 100000);
	cc.average_ns16 = (uint64_t)2 * BASE_NS << 16;
	ack(&cc, 1000001 + BASE_NS, 3 * BASE_NS, true);
	/* average 2 T: 1 - 0.8 / 2, and the round trip's own 0.15 MSS */
	after = cc_window_bytes(&cc);
	assert_in_range(after, 60000 + 600 - 16, 60000 + 600 + 16);
	ack(&cc, 1000002 + BASE_NS, 3 * BASE_NS, true);
	assert_int_equal(cc_window_bytes(&cc), after);
}

static void no_cut_takes_more_than_half(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 100000);
	cc.average_ns16 = (uint64_t)100 * BASE_NS << 16;
	ack(&cc, 1000001 + BASE_NS, 101 * BASE_NS, true);
	assert_in_range(cc_window_bytes(&cc), 50000, 50000 + 616);
}

static void next_to_nothing_achieved_is_the_window(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, MAX);
	cc_lost(&cc, PACKET, false, 1000002);
	for (uint32_t i = 0; i < 5; i++)
		ack(&cc, 1000002 + i, 0, false);
	ack(&cc, 1000001 + 2 * BASE_NS, 0, false);
	assert_int_equal(cc_window_bytes(&cc), 6 * PACKET);
}

static void a_loss_without_a_queue_costs_nothing(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 100000);
	cc_lost(&cc, PACKET, false, 1000002);
	assert_int_equal(cc_window_bytes(&cc), 100000);
	cc_lost(&cc, PACKET, true, 1000003);
	assert_int_equal(cc_window_bytes(&cc), 96000);
}

static void one_packet_may_always_be_sent(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, PACKET);
	for (uint32_t i = 0; i < 10; i++)
		cc_lost(&cc, PACKET, true, 1000002);
	assert_int_equal(cc_window_bytes(&cc), PACKET);
}

static void numbers_out_of_range_are_refused(void **state)
{
	struct cc_config bad;

	(void)state;
	assert_int_equal(cc_config_check(&config), 0);
	bad = config;
	bad.rate_bps = 0;
	assert_int_equal(cc_config_check(&bad), -EINVAL);
	bad = config;
	bad.base_rtt_ns = 0;
	assert_int_equal(cc_config_check(&bad), -EINVAL);
	bad = config;
	bad.packet_bytes = 63;
	assert_int_equal(cc_config_check(&bad), -EINVAL);
	bad = config;
	bad.kind = CC_KINDS;
	assert_int_equal(cc_config_check(&bad), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_starts_at_two_products),
		cmocka_unit_test(short_links_have_room_for_some_packets),
		cmocka_unit_test(a_delay_far_above_the_target_takes_what_is_above_three_quarters),
		cmocka_unit_test(what_tells_no_delay_grows_it_too),
		cmocka_unit_test(an_idle_path_grows_the_window_most),
		cmocka_unit_test(half_the_target_grows_it_half_as_fast),
		cmocka_unit_test(an_unmarked_queue_above_the_target_grows_it_a_little),
		cmocka_unit_test(a_mark_below_the_target_is_the_schedulers),
		cmocka_unit_test(marks_above_the_target_cut_once_a_round_trip),
		cmocka_unit_test(no_cut_takes_more_than_half),
		cmocka_unit_test(next_to_nothing_achieved_is_the_window),
		cmocka_unit_test(a_loss_without_a_queue_costs_nothing),
		cmocka_unit_test(one_packet_may_always_be_sent),
		cmocka_unit_test(numbers_out_of_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
