/* SPDX-License-Identifier: BSD-3-Clause */
/* TIMELY, algorithm 1 of the paper, by hand: 10 Gb/s, the paper's constants, an update each acknowledgement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cc.h"

#define US     1000u
#define MBPS   1000000ull
#define LINK   (10000 * MBPS)
#define PACKET 4096u

static const struct cc_timely_params each = {
	.ewma_permil = 875, .beta_permil = 800, .low_ns = 50 * US, .high_ns = 500 * US, .min_rtt_ns = 20 * US,
	.add_bps = 10 * MBPS, .hyper_after = 5};

static const struct cc_config config = {
	.kind = CC_TIMELY, .packet_bytes = PACKET, .base_rtt_ns = 20 * US, .rate_bps = LINK, .timely = &each};

static void ack(struct cc *cc, uint32_t rtt_us)
{
	cc_acked(cc, &(struct cc_ack){.now_ns = 1000, .rtt_ns = rtt_us * US, .bytes = PACKET});
}

static void near(double is, double must, double off)
{
	if (is < must - off || is > must + off)
		fail_msg("%f is not within %f of %f", is, off, must);
}

static void the_trace_by_hand(void **state)
{
	static const struct {
		uint32_t rtt_us;
		double rate; /* Mb/s after it */
	} trace[] = {
		/* Above 500: 10,000 (1 - 0.8 (1 - 500/1000)). */
		{1000, 6000},
		/* The difference is -900, smoothed -787.5: the gradient is not above 0, + 10. */
		{100, 6010},
		/* No difference; smoothed 0.125 * -787.5 = -98.4, -12.3, -1.54, all below 0. */
		{100, 6020},
		{100, 6030},
		{100, 6040},
		/* The fifth time in a row, smoothed -0.192: + 5 * 10. */
		{100, 6090},
		/* 20 more, smoothed 0.125 * -0.192 + 0.875 * 20 = 17.476, by 20 us 0.8738: 6,090 (1 - 0.8 * 0.8738). */
		{120, 6090 * (1 - 0.8 * 0.8738)},
		/* Below 50: + 10, whatever the gradient. */
		{40, 6090 * (1 - 0.8 * 0.8738) + 10},
		/* 60 more, smoothed 0.125 (0.125 * 17.476 + 0.875 * -80) + 0.875 * 60 = 44.02, by 20 us 2.2: more than all. */
		{100, 1},
	};
	struct cc cc;

	(void)state;
	cc_init(&cc, &config);
	assert_true(cc_rate_bps(&cc) == CC_UNLIMITED);
	for (uint32_t i = 0; i < sizeof(trace) / sizeof(trace[0]); i++) {
		ack(&cc, trace[i].rtt_us);
		near((double)cc_rate_bps(&cc) / MBPS, trace[i].rate, 0.2);
	}
}

static void one_update_a_segment(void **state)
{
	const struct cc_config by_segment = {
		.kind = CC_TIMELY, .packet_bytes = PACKET, .base_rtt_ns = 20 * US, .rate_bps = LINK};
	struct cc cc;

	(void)state;
	cc_init(&cc, &by_segment);
	for (uint32_t i = 0; i < 3; i++)
		ack(&cc, 1000);
	assert_true(cc_rate_bps(&cc) == CC_UNLIMITED);
	ack(&cc, 1000);
	near((double)cc_rate_bps(&cc) / MBPS, 6000, 0.2);
}

/* As in the trace, a gradient of 0.8738 and one of more than 1: but half is left. */
static void no_decrease_takes_more_than_half(void **state)
{
	struct cc_timely_params halves = each;
	struct cc_config of_halves = config;
	struct cc cc;

	(void)state;
	halves.least_permil = cc_timely_default.least_permil;
	of_halves.timely = &halves;
	cc_init(&cc, &of_halves);
	ack(&cc, 100);
	ack(&cc, 120);
	near((double)cc_rate_bps(&cc) / MBPS, 5000, 0.2);
	ack(&cc, 200);
	near((double)cc_rate_bps(&cc) / MBPS, 2500, 0.2);
}

static void silence_halves_it(void **state)
{
	struct cc cc;

	(void)state;
	cc_init(&cc, &config);
	cc_silent(&cc, 1000);
	assert_int_equal(cc_rate_bps(&cc), 5000 * MBPS);
	assert_int_equal(cc_window_bytes(&cc), UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_trace_by_hand),
		cmocka_unit_test(one_update_a_segment),
		cmocka_unit_test(no_decrease_takes_more_than_half),
		cmocka_unit_test(silence_halves_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
