/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow sizes: points of a cumulative distribution, straight lines between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim_sizes.h"

#define SHARE(percent) ((uint32_t)((percent) * 42949673ull)) /* of 2^32, rounded up */

static void test_tables(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sim_n_sizes; i++) {
		const struct sim_sizes *s = &sim_sizes[i];

		assert_int_equal(s->points[0].per_10000, 0);
		assert_int_equal(s->points[s->n_points - 1].per_10000, 10000);
		for (uint32_t k = 1; k < s->n_points; k++) {
			assert_true(s->points[k].bytes > s->points[k - 1].bytes);
			assert_true(s->points[k].per_10000 > s->points[k - 1].per_10000);
		}
		assert_ptr_equal(sim_sizes_find(s->name), s);
	}
	assert_null(sim_sizes_find("nothing"));
}

static void test_between_points(void **state)
{
	const struct sim_sizes *s = sim_sizes_find("websearch");

	(void)state;
	assert_int_equal(sim_sizes_at(s, 0), 1);
	assert_in_range(sim_sizes_at(s, SHARE(15)), 9999, 10001);
	assert_in_range(sim_sizes_at(s, SHARE(65)), 599000, 601000);  /* half way from 200 kB to 1 MB */
	assert_in_range(sim_sizes_at(s, UINT32_MAX), 29999000, 30000000);
}

/* The mean of what is drawn evenly is the mean that loads are made from. */
static void test_mean(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sim_n_sizes; i++) {
		const uint32_t n = 100000;
		uint64_t sum = 0, mean = sim_sizes_mean(&sim_sizes[i]);

		for (uint32_t k = 0; k < n; k++)
			sum += sim_sizes_at(&sim_sizes[i], (uint32_t)(((uint64_t)k << 32) / n));
		assert_in_range(sum / n, mean * 99 / 100, mean * 101 / 100 + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_between_points),
		cmocka_unit_test(test_mean),
	};

	return cmocka_run_group_tests_name("sim-sizes", tests, NULL, NULL);
}
