/* SPDX-License-Identifier: BSD-3-Clause */
/* PSN arithmetic (IBTA vol. 1, 9.7.2; RFC 1982) and the names of the drop reasons. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base_drop.h"
#include "base_psn.h"

#define HALF 0x800000u

static void test_psn_add(void **state)
{
	(void)state;
	assert_int_equal(base_psn_add(0, 0), 0);
	assert_int_equal(base_psn_add(0xffffff, 1), 0);
	assert_int_equal(base_psn_add(0xfffffe, 5), 3);
	assert_int_equal(base_psn_add(0, (uint32_t)-1), 0xffffff);
	assert_int_equal(base_psn_add(5, (uint32_t)-10), 0xfffffb);
	assert_int_equal(base_psn_add(0x123456, 0x1000000), 0x123456);
	assert_int_equal(base_psn_add(HALF, HALF), 0);
}

static void test_psn_diff(void **state)
{
	(void)state;
	assert_int_equal(base_psn_diff(7, 7), 0);
	assert_int_equal(base_psn_diff(8, 7), 1);
	assert_int_equal(base_psn_diff(7, 8), -1);
	assert_int_equal(base_psn_diff(0, 0xffffff), 1);
	assert_int_equal(base_psn_diff(0xffffff, 0), -1);
	/* The farthest after and before; exactly half the space away counts as before, from both.
	 */
	assert_int_equal(base_psn_diff(HALF - 1, 0), 0x7fffff);
	assert_int_equal(base_psn_diff(HALF, 0), -0x800000);
	assert_int_equal(base_psn_diff(0, HALF), -0x800000);
	assert_int_equal(base_psn_diff(HALF + 1, 0), -0x7fffff);
	assert_int_equal(base_psn_diff(0xffffff, HALF), 0x7fffff);
	/* Only 24 bits count. */
	assert_int_equal(base_psn_diff(0xff000001u, 0x2u), -1);
}

/* diff undoes add for every base near the wrap and distances over the whole range. */
static void test_psn_inverse(void **state)
{
	int32_t distance;
	uint32_t psn;

	(void)state;
	for (psn = 0xfffff0; psn != 0x10; psn = base_psn_add(psn, 1))
		for (distance = -0x800000; distance < 0x800000; distance += 4093)
			assert_int_equal(base_psn_diff(base_psn_add(psn, (uint32_t)distance), psn),
				distance);
}

/* Names become counters: each is there, one word in small letters, and used once. */
static void test_drop_names(void **state)
{
	int reason;
	int other;

	(void)state;
	for (reason = 0; reason < BASE_DROP_COUNT; reason++) {
		const char *name = base_drop_name((enum base_drop)reason);
		const char *c;

		assert_true(strlen(name) > 0);
		for (c = name; *c; c++)
			assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) ||
				    *c == '_');
		assert_true(strlen(base_drop_help((enum base_drop)reason)) > 0);
		for (other = 0; other < reason; other++)
			assert_string_not_equal(name, base_drop_name((enum base_drop)other));
	}
	assert_string_equal(base_drop_name(BASE_DROP_NONE), "none");
	assert_string_equal(base_drop_name(BASE_DROP_ICRC), "icrc");
	assert_string_equal(base_drop_name(BASE_DROP_UNSUPPORTED), "unsupported");
}

static void test_drop_no_reason(void **state)
{
	(void)state;
	assert_string_equal(base_drop_name(BASE_DROP_COUNT), "?");
	assert_string_equal(base_drop_name((enum base_drop) - 1), "?");
	assert_string_equal(base_drop_name((enum base_drop)1000000), "?");
	assert_non_null(base_drop_help(BASE_DROP_COUNT));
	assert_non_null(base_drop_help((enum base_drop) - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_psn_add),
		cmocka_unit_test(test_psn_diff),
		cmocka_unit_test(test_psn_inverse),
		cmocka_unit_test(test_drop_names),
		cmocka_unit_test(test_drop_no_reason),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
