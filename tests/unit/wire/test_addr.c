/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks and hosts of IP addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "wire_addr.h"

static struct wire_addr addr_of(const char *text)
{
	struct wire_addr addr = {.b = {[10] = 0xff, [11] = 0xff}};

	if (inet_pton(AF_INET, text, &addr.b[12]) != 1)
		assert_int_equal(inet_pton(AF_INET6, text, addr.b), 1);
	return addr;
}

static void test_versions(void **state)
{
	const struct wire_addr v4 = addr_of("10.0.0.1"), v6 = addr_of("fd00::1"), any = addr_of("::");

	(void)state;
	assert_true(wire_addr_is_v4(&v4));
	assert_false(wire_addr_is_v4(&v6));
	assert_false(wire_addr_is_v4(&any));
	assert_int_equal(wire_addr_prefix(&v4, 24), 120);
	assert_int_equal(wire_addr_prefix(&v6, 64), 64);
}

static const struct {
	const char *a, *b;
	uint32_t len;
	bool same_network, same_host;
} rows[] = {
	{"10.77.0.1", "10.77.0.9", 24, true, false},
	{"10.77.0.1", "10.78.0.1", 24, false, true},
	{"10.77.0.1", "10.77.1.1", 23, true, false},
	{"10.77.0.1", "10.77.2.1", 23, false, true},
	{"10.77.0.1", "10.77.0.1", 32, true, true},
	{"10.77.0.1", "10.77.0.2", 32, false, true},
	{"10.77.0.1", "10.77.0.2", 31, false, false},
	{"10.77.0.2", "10.77.0.3", 31, true, false},
	{"10.77.0.1", "192.168.3.4", 0, true, false},
	{"10.77.0.1", "fd00::1", 8, false, false},
	{"fd00::1", "fd00::1:0:0:1", 64, true, false},
	{"fd00:0:0:1::5", "fd00:0:0:2::5", 64, false, true},
	{"fd00:0:0:1::5", "fd00:0:0:3::5", 62, true, false},
	{"fd00::1", "2001:db8::ff", 0, true, false},
	{"fd00::1", "fd00::1", 128, true, true},
	{"fd00::1", "fd00::2", 128, false, true},
};

static void test_networks_and_hosts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct wire_addr a = addr_of(rows[i].a), b = addr_of(rows[i].b);
		uint32_t bits = wire_addr_prefix(&a, rows[i].len);

		assert_int_equal(wire_addr_same_network(&a, &b, bits), rows[i].same_network);
		assert_int_equal(wire_addr_same_host(&a, &b, bits), rows[i].same_host);
	}
}

static void test_move(void **state)
{
	const struct wire_addr host = addr_of("10.77.5.9"), network = addr_of("172.16.8.0");
	struct wire_addr moved = wire_addr_move(&host, &network, wire_addr_prefix(&host, 22)), want;

	(void)state;
	want = addr_of("172.16.9.9");
	assert_memory_equal(&moved, &want, sizeof(want));
	moved = wire_addr_move(&host, &network, WIRE_ADDR_BITS);
	assert_memory_equal(&moved, &network, sizeof(want));
	moved = wire_addr_move(&host, &network, 0);
	assert_memory_equal(&moved, &host, sizeof(want));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_networks_and_hosts),
		cmocka_unit_test(test_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
