/* SPDX-License-Identifier: BSD-3-Clause */
/* Theta-PowerTCP, algorithm 2 of the paper, by hand: 100 Gb/s and 10 us, so 125,000 bytes, of which each update adds a tenth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cc.h"

#define US     1000u
#define PACKET 4000u

static const struct cc_config config = {
	.kind = CC_THETA_POWERTCP, .packet_bytes = PACKET, .base_rtt_ns = 10 * US, .rate_bps = 100000000000u};

static void ack(struct cc *cc, uint32_t at_us, uint32_t rtt_us)
{
	cc_acked(cc, &(struct cc_ack){.now_ns = at_us * US, .rtt_ns = rtt_us * US, .bytes = PACKET});
}

static void near(double is, double must, double off)
{
	if (is < must - off || is > must + off)
		fail_msg("%f is not within %f of %f", is, off, must);
}

static void the_trace_by_hand(void **state)
{
	static const struct {
		uint32_t at_us, rtt_us;
		double power, window;
	} trace[] = {
		/* Nothing to compare with: power 1. w = 0.9 (100,000 + 12,500) + 0.1 * 100,000. */
		{100, 10, 1, 111250},
		/* 10 us more in 20 us, and twice the base: (1 + 0.5) 2 = 3, all of it for a base round trip has passed. Sent at
		 * 100: w = 0.9 (111,250 / 3 + 12,500) + 0.1 * 111,250. */
		{120, 20, 3, 55750},
		/* 2 us less in 2 us: power 0, smoothed (3 * 8 + 0 * 2) / 10. Sent at 104, before the last update: no other. */
		{122, 18, 2.4, 55750},
		/* 8 us less in 18 us: 1 - 0.444 = 0.556. Sent at 130: w = 0.9 (55,750 / 0.556 + 12,500) + 0.1 * 55,750. */
		{140, 10, 0.55556, 107140},
		/* 5 us more in 5 us, half as long again: (1 + 1) 1.5 = 3; (0.556 * 5 + 3 * 5) / 10. Sent at 130. */
		{145, 15, 1.77778, 107140},
	};
	struct cc cc;

	(void)state;
	cc_init(&cc, &config);
	cc.window_bytes = 100000;
	for (uint32_t i = 0; i < sizeof(trace) / sizeof(trace[0]); i++) {
		ack(&cc, trace[i].at_us, trace[i].rtt_us);
		near((double)cc.theta.power16 / 65536, trace[i].power, 0.0001);
		near(cc_window_bytes(&cc), trace[i].window, 10);
		/* The pace is a window each 10 us; that of the link is none. */
		if (trace[i].window * 8 / 10e-6 < 100e9)
			near((double)cc_rate_bps(&cc), trace[i].window * 8 / 10e-6, 8e6);
		else
			assert_true(cc_rate_bps(&cc) == CC_UNLIMITED);
	}
}

/* Several acknowledgements at once tell no gradient. */
static void no_time_is_no_gradient(void **state)
{
	struct cc cc;

	(void)state;
	cc_init(&cc, &config);
	ack(&cc, 100, 10);
	ack(&cc, 100, 90);
	assert_int_equal(cc.theta.power16, 1 << 16);
}

static void silence_leaves_four_packets(void **state)
{
	struct cc cc;

	(void)state;
	cc_init(&cc, &config);
	assert_int_equal(cc_window_bytes(&cc), 187500);
	cc_silent(&cc, 1000);
	assert_int_equal(cc_window_bytes(&cc), 4 * PACKET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_trace_by_hand),
		cmocka_unit_test(no_time_is_no_gradient),
		cmocka_unit_test(silence_leaves_four_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
