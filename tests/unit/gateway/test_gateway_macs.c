/* SPDX-License-Identifier: BSD-3-Clause */
/* Link addresses are learnt from their frames, move with them, age, and are forgotten when there are too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "gateway_macs.h"

#define MANY 100000u

static struct gateway_macs macs;

static int start(void **state)
{
	(void)state;
	memset(&macs, 0, sizeof(macs));
	macs.seed = 7;
	return 0;
}

static void name(uint8_t mac[GATEWAY_MAC_BYTES], uint32_t i)
{
	memcpy(mac, "\x02\0\0\0\0\0", GATEWAY_MAC_BYTES);
	memcpy(mac + 2, &i, sizeof(i));
}

static void test_learn(void **state)
{
	uint8_t mac[GATEWAY_MAC_BYTES];

	(void)state;
	name(mac, 1);
	assert_int_equal(gateway_macs_find(&macs, mac, 0), GATEWAY_NO_PORT);
	gateway_macs_learn(&macs, mac, 3, 10);
	assert_int_equal(gateway_macs_find(&macs, mac, 20), 3);
	gateway_macs_learn(&macs, mac, 5, 30);
	assert_int_equal(gateway_macs_find(&macs, mac, 40), 5);
}

/* IEEE 802.1Q, 8.8.3: what was not seen for the ageing time is unknown. */
static void test_age(void **state)
{
	uint8_t mac[GATEWAY_MAC_BYTES];

	(void)state;
	name(mac, 1);
	gateway_macs_learn(&macs, mac, 3, 10);
	assert_int_equal(gateway_macs_find(&macs, mac, 10 + GATEWAY_MACS_AGE_NS), 3);
	assert_int_equal(gateway_macs_find(&macs, mac, 11 + GATEWAY_MACS_AGE_NS), GATEWAY_NO_PORT);
	gateway_macs_learn(&macs, mac, 3, 11 + GATEWAY_MACS_AGE_NS);
	assert_int_equal(gateway_macs_find(&macs, mac, 12 + GATEWAY_MACS_AGE_NS), 3);
}

/* A group address as a source is wrong, and as a destination for many. */
static void test_groups(void **state)
{
	static const uint8_t all[GATEWAY_MAC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, none[GATEWAY_MAC_BYTES];

	(void)state;
	gateway_macs_learn(&macs, all, 3, 10);
	gateway_macs_learn(&macs, none, 3, 10);
	assert_int_equal(gateway_macs_find(&macs, all, 10), GATEWAY_NO_PORT);
	assert_int_equal(gateway_macs_find(&macs, none, 10), GATEWAY_NO_PORT);
}

/* One sender of many addresses does not push out who keeps sending. */
static void test_many(void **state)
{
	uint8_t mac[GATEWAY_MAC_BYTES], busy[GATEWAY_MAC_BYTES];
	uint32_t known = 0;

	(void)state;
	name(busy, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		name(mac, i);
		gateway_macs_learn(&macs, busy, 1, 2 * i);
		gateway_macs_learn(&macs, mac, 2, 2 * i + 1);
		assert_int_equal(gateway_macs_find(&macs, busy, 2 * i + 1), 1);
		assert_int_equal(gateway_macs_find(&macs, mac, 2 * i + 1), 2);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		name(mac, i);
		known += gateway_macs_find(&macs, mac, 2 * MANY) != GATEWAY_NO_PORT;
	}
	assert_in_range(known, GATEWAY_MACS_SETS * GATEWAY_MACS_WAYS / 2, GATEWAY_MACS_SETS * GATEWAY_MACS_WAYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_learn, start),
		cmocka_unit_test_setup(test_age, start),
		cmocka_unit_test_setup(test_groups, start),
		cmocka_unit_test_setup(test_many, start),
	};

	return cmocka_run_group_tests_name("roce-fabric-macs", tests, NULL, NULL);
}
