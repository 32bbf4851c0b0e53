/* SPDX-License-Identifier: BSD-3-Clause */
/* When a flow may send, and what a histogram of times tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rg_hist.h"
#include "rg_pace.h"
#include "rg_random.h"

#define US 1000000ull /* in picoseconds */

/* Sends what is due every step_ps until end_ps. */
static uint64_t run(struct rg_pace *pace, uint64_t step_ps, uint64_t end_ps, uint32_t bytes)
{
	uint64_t n = 0;

	for (uint64_t now_ps = 0; now_ps < end_ps; now_ps += step_ps) {
		for (; rg_pace_due(pace, now_ps); n++)
			rg_pace_sent(pace, bytes);
	}
	return n;
}

static void test_rates(void **state)
{
	struct rg_pace pace;

	(void)state;
	/* 1000 Mb/s of 1000-byte frames, 1024 on the wire: 8.192 us each */
	rg_pace_init(&pace, 1000, 0, 1, 0, 1000 * US);
	assert_in_range(run(&pace, US, 1000000 * US, 1000), 122070, 122072);
	assert_int_equal(pace.late_ps, 0);
	rg_pace_init(&pace, 0, 5000, 1, 0, 1000 * US);
	assert_in_range(run(&pace, 3 * US, 1000000 * US, 64), 4999, 5001);
	/* the mean does not depend on the burst */
	rg_pace_init(&pace, 0, 5000, 50, 0, 1000 * US);
	assert_in_range(run(&pace, 3 * US, 1000000 * US, 64), 5000, 5050);
}

static void test_bursts(void **state)
{
	struct rg_pace pace;

	(void)state;
	rg_pace_init(&pace, 0, 1000, 4, 7 * US, 1000 * US);
	assert_false(rg_pace_due(&pace, 6 * US));
	for (int i = 0; i < 4; i++) {
		assert_true(rg_pace_due(&pace, 7 * US));
		rg_pace_sent(&pace, 100);
	}
	assert_false(rg_pace_due(&pace, 4006 * US));
	assert_true(rg_pace_due(&pace, 4007 * US));
}

/* Who could not send for a second sends a millisecond's worth at once, and no more. */
static void test_late(void **state)
{
	struct rg_pace pace;
	uint64_t n = 0;

	(void)state;
	rg_pace_init(&pace, 0, 100000, 1, 0, 1000 * US);
	for (; rg_pace_due(&pace, 1000000 * US); n++)
		rg_pace_sent(&pace, 100);
	assert_int_equal(n, 101);
	assert_int_equal(pace.late_ps, 999000 * US);
}

static void test_unbounded(void **state)
{
	struct rg_pace pace;

	(void)state;
	rg_pace_init(&pace, 0, 0, 1, 0, 1000 * US);
	for (int i = 0; i < 1000; i++) {
		assert_true(rg_pace_due(&pace, 0));
		rg_pace_sent(&pace, 100);
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* At most a 32nd below the value at that place of the sorted list. */
static void test_percentiles(void **state)
{
	static const uint32_t places[] = {0, 1000, 500000, 900000, 990000, 999000, 999999};
	static struct rg_hist hist;
	static uint64_t values[10000];
	uint64_t random = 1;

	(void)state;
	memset(&hist, 0, sizeof(hist));
	assert_int_equal(rg_hist_at(&hist, 500000), 0);
	for (uint32_t i = 0; i < 10000; i++) {
		values[i] = (uint64_t)rg_draw(&random, 1000000) << rg_draw(&random, 20);
		rg_hist_add(&hist, values[i]);
	}
	qsort(values, 10000, sizeof(values[0]), by_size);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t want = values[places[i] / 100], got = rg_hist_at(&hist, places[i]);

		assert_true(got <= want && want - got <= want / 32);
	}
	assert_int_equal(hist.min, values[0]);
	assert_int_equal(hist.max, values[9999]);
	assert_int_equal(rg_hist_at(&hist, 1000000), values[9999]);
	rg_hist_add(&hist, UINT64_MAX);
	assert_int_equal(hist.max, UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_unbounded),
		cmocka_unit_test(test_percentiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
