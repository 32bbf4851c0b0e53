/* SPDX-License-Identifier: BSD-3-Clause */
/* RFC 3168: a router marks packets of ECN-capable transports CE; RFC 1624: the IPv4 checksum follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "wire_ecn.h"

/* An IPv4 header with DSCP 46, ECT(0) and an option, checksum right. */
static const uint8_t ip4[24] = {0x46, 0xba, 0x00, 0x54, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0, 0, 10, 77, 0, 1, 10, 77,
	0, 2, 1, 1, 1, 0};

static uint16_t sum_of(const uint8_t *ip, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* A header whose identification is id and whose checksum is wrong by `wrong`. */
static void make(uint8_t ip[24], uint16_t id, uint8_t ecn, uint16_t wrong)
{
	uint16_t csum;

	memcpy(ip, ip4, sizeof(ip4));
	ip[1] = (uint8_t)((ip[1] & ~WIRE_ECN_MASK) | ecn);
	ip[4] = (uint8_t)(id >> 8);
	ip[5] = (uint8_t)id;
	csum = (uint16_t)(~sum_of(ip, 24) + wrong);
	ip[10] = (uint8_t)(csum >> 8);
	ip[11] = (uint8_t)csum;
}

static void test_ip4(void **state)
{
	uint8_t ip[24];

	(void)state;
	for (uint32_t id = 0; id <= UINT16_MAX; id++) {
		for (uint8_t ecn = 1; ecn < 4; ecn++) {
			make(ip, (uint16_t)id, ecn, 0);
			assert_int_equal(sum_of(ip, 24), 0xffff);
			wire_set_ce(ip, 4);
			assert_int_equal(wire_traffic_class(ip, 4), 46 << 2 | 3);
			assert_int_equal(sum_of(ip, 24), 0xffff);
		}
	}
}

/* Any field may become any other one. */
static void test_any_to_any(void **state)
{
	uint8_t ip[24], ip6[40] = {0x6b, 0x80};

	(void)state;
	for (uint8_t n = 0; n < 16; n++) {
		uint8_t from = n >> 2, to = n & 3;

		make(ip, 0x1234, from, 0);
		wire_set_ecn(ip, 4, to);
		assert_int_equal(wire_traffic_class(ip, 4), 46 << 2 | to);
		assert_int_equal(sum_of(ip, 24), 0xffff);
		ip6[1] = (uint8_t)(0x8f | from << 4);
		wire_set_ecn(ip6, 6, to);
		assert_int_equal(wire_traffic_class(ip6, 6), 46 << 2 | to);
		assert_int_equal(ip6[1] & 0x0f, 0x0f);
	}
}

/* Marking does not repair what a link has damaged. */
static void test_wrong_stays_wrong(void **state)
{
	uint8_t ip[24];

	(void)state;
	make(ip, 7, 2, 0x100);
	wire_set_ce(ip, 4);
	assert_int_not_equal(sum_of(ip, 24), 0xffff);
}

static void test_ip6(void **state)
{
	uint8_t ip[40] = {0x6b, 0xa1, 0x23, 0x45}, want[40] = {0x6b, 0xb1, 0x23, 0x45};

	(void)state;
	assert_int_equal(wire_traffic_class(ip, 6), 0xba);
	wire_set_ce(ip, 6);
	assert_memory_equal(ip, want, sizeof(ip));
	assert_int_equal(wire_traffic_class(ip, 6), 0xbb);
}

static void test_ect(void **state)
{
	(void)state;
	assert_false(wire_is_ect(46 << 2));
	for (uint8_t ecn = 1; ecn < 4; ecn++)
		assert_true(wire_is_ect(ecn));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ip4),
		cmocka_unit_test(test_any_to_any),
		cmocka_unit_test(test_wrong_stays_wrong),
		cmocka_unit_test(test_ip6),
		cmocka_unit_test(test_ect),
	};

	return cmocka_run_group_tests_name("wire-ecn", tests, NULL, NULL);
}
