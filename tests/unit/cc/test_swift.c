/* SPDX-License-Identifier: BSD-3-Clause */
/* Swift, algorithm 1 and section 3.5 of the paper, by hand: target 100 us, and up to 400 more for small windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cc.h"

#define US     1000u
#define PACKET 4000u
#define BASE   50u  /* us */
#define START  1000000u

static const struct cc_swift_params params = {
	.base_target_ns = 100 * US, .scale_ns = 400 * US, .scale_min_milli = 100, .scale_max_milli = 100000,
	.add_permil = 1000, .beta_permil = 800, .most_permil = 500, .min_milli = 1, .reset_after = 5};

static const struct cc_config config = {
	.kind = CC_SWIFT, .packet_bytes = PACKET, .base_rtt_ns = BASE * US, .rate_bps = 100000000000u, .swift = &params};

/* Starts with a window of so many thousandths of a packet. */
static void begin(struct cc *cc, uint64_t milli)
{
	cc_init(cc, &config);
	cc->swift.window16 = (milli * PACKET << 16) / 1000;
	cc->window_bytes = (uint32_t)(cc->swift.window16 >> 16);
}

static void ack(struct cc *cc, uint64_t now_ns, uint32_t rtt_ns)
{
	cc_acked(cc, &(struct cc_ack){.now_ns = now_ns, .rtt_ns = rtt_ns, .bytes = PACKET});
}

static double packets(const struct cc *cc)
{
	return (double)cc->swift.window16 / 65536 / PACKET;
}

static void near(double is, double must, double off)
{
	if (is < must - off || is > must + off)
		fail_msg("%f is not within %f of %f", is, off, must);
}

/* cwnd += ai / cwnd for each packet: 10 + 1/10 + 1/10.1 */
static void below_the_target_it_adds_a_packet_a_round_trip(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 10000);
	ack(&cc, START, 90 * US);
	near(packets(&cc), 10.1, 0.0005);
	ack(&cc, START, 90 * US);
	near(packets(&cc), 10.1990, 0.0005);
	assert_in_range(cc_window_bytes(&cc), 40794, 40796);
	assert_true(cc_rate_bps(&cc) == CC_UNLIMITED);
}

/* With a window of 100 packets the target is 100 us: cwnd *= 1 - 0.8 (125 - 100) / 125, once a round trip. */
static void above_the_target_it_is_cut_once_a_round_trip(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 100000);
	ack(&cc, START, 125 * US);
	near(packets(&cc), 84, 0.01);
	ack(&cc, START + 124 * US, 125 * US);
	near(packets(&cc), 84, 0.01);
	/* Of 84 packets the target is 100 + 400 (1/sqrt(84) - 1/10) / (1/sqrt(0.1) - 1/10) = 101.19. */
	ack(&cc, START + 125 * US, 125 * US);
	near(packets(&cc), 84 * (1 - 0.8 * (125 - 101.19) / 125), 0.02);
}

static void no_cut_takes_more_than_half(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 100000);
	ack(&cc, START, 10000 * US);
	near(packets(&cc), 50, 0.01);
}

/* The target of one packet is 100 + 400 (1 - 1/10) / (1/sqrt(0.1) - 1/10) = 217.56 us; of 0.1 and less 500 us. */
static void small_windows_may_have_longer_queues(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 1000);
	ack(&cc, START, 217500);
	near(packets(&cc), 2, 0.001);
	begin(&cc, 1000);
	ack(&cc, START, 217600);
	near(packets(&cc), 1, 0.001);
	begin(&cc, 100);
	ack(&cc, START, 499 * US);
	near(packets(&cc), 1.1, 0.001);
	begin(&cc, 10);
	ack(&cc, START, 501 * US);
	near(packets(&cc), 0.01 * (1 - 0.8 * 1 / 501), 0.0001);
}

/* Half a packet, twice as long as it should be: 0.5 (1 - 0.8/2) = 0.3; 0.3 of 4,000 bytes in 543.32 us. */
static void below_one_packet_it_paces(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 500);
	/* 100 + 400 (sqrt(2) - 0.1) / 3.06228 = 271.66 us */
	ack(&cc, START, 543320);
	near(packets(&cc), 0.3, 0.0005);
	assert_int_equal(cc_window_bytes(&cc), PACKET);
	near((double)cc_rate_bps(&cc), 0.3 * PACKET * 8 / 543320e-9, 20000);
	/* Below one it adds ai for each packet: and needs no pace any more. */
	ack(&cc, START, 90 * US);
	near(packets(&cc), 1.3, 0.0005);
	assert_true(cc_rate_bps(&cc) == CC_UNLIMITED);
}

static void a_loss_with_a_queue_halves_once_a_round_trip(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 100000);
	cc.swift.rtt_ns = 90 * US;
	cc_lost(&cc, PACKET, false, START);
	near(packets(&cc), 100, 0.001);
	cc_lost(&cc, PACKET, true, START);
	cc_lost(&cc, PACKET, true, START + 1);
	near(packets(&cc), 50, 0.001);
}

static void five_silences_leave_the_least(void **state)
{
	struct cc cc;

	(void)state;
	begin(&cc, 100000);
	cc.swift.rtt_ns = 100 * US;
	for (uint32_t i = 0; i < 4; i++)
		cc_silent(&cc, START + i * 1000 * US);
	near(packets(&cc), 6.25, 0.001);
	/* Something has come: they are not in a row. */
	ack(&cc, START + 4000 * US, 0);
	cc_silent(&cc, START + 5000 * US);
	near(packets(&cc), 3.125, 0.001);
	for (uint32_t i = 0; i < 4; i++)
		cc_silent(&cc, START + 6000 * US);
	near(packets(&cc), 0.001, 0.00001);
	assert_int_equal(cc_window_bytes(&cc), PACKET);
	/* 4 bytes in 100 us: below the least rate there is. */
	assert_int_equal(cc_rate_bps(&cc), 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(below_the_target_it_adds_a_packet_a_round_trip),
		cmocka_unit_test(above_the_target_it_is_cut_once_a_round_trip),
		cmocka_unit_test(no_cut_takes_more_than_half),
		cmocka_unit_test(small_windows_may_have_longer_queues),
		cmocka_unit_test(below_one_packet_it_paces),
		cmocka_unit_test(a_loss_with_a_queue_halves_once_a_round_trip),
		cmocka_unit_test(five_silences_leave_the_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
