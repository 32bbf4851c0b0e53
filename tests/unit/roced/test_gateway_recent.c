/* SPDX-License-Identifier: BSD-3-Clause */
/* What a gateway's worker has just looked up: never longer than it may, and never of another host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "gateway_recent.h"

#define NOW 5000000000u

static struct gateway_recent recent;
static struct gateway_hosts *hosts;

static struct gateway_host host_at(uint8_t number, uint8_t port)
{
	return (struct gateway_host){
		.addr = {.b = {[10] = 0xff, 0xff, 10, 1, 0, number}}, .mac = {2, 0, 0, 0, 0, number}, .port = port};
}

static int begin(void **state)
{
	(void)state;
	memset(&recent, 0, sizeof(recent));
	hosts = gateway_hosts_new(7);
	return hosts == NULL;
}

static int end(void **state)
{
	(void)state;
	gateway_hosts_free(hosts);
	return 0;
}

static void learnt_is_for_all(void **state)
{
	struct gateway_host a = host_at(1, 3), found;

	(void)state;
	assert_false(gateway_recent_find(&recent, hosts, &a.addr, NOW, &found));
	gateway_recent_learn(&recent, hosts, &a, NOW);
	assert_true(gateway_hosts_find(hosts, &a.addr, &found));
	assert_true(gateway_recent_find(&recent, hosts, &a.addr, NOW, &found));
	assert_int_equal(found.port, 3);
}

static void a_host_that_moves_is_learnt_at_once(void **state)
{
	struct gateway_host a = host_at(1, 3), b = host_at(1, 4), found;

	(void)state;
	gateway_recent_learn(&recent, hosts, &a, NOW);
	gateway_recent_learn(&recent, hosts, &b, NOW + 1);
	assert_true(gateway_hosts_find(hosts, &a.addr, &found));
	assert_int_equal(found.port, 4);
	gateway_recent_learn(&recent, hosts, &a, NOW + 2);
	assert_true(gateway_hosts_find(hosts, &a.addr, &found));
	assert_int_equal(found.port, 3);
}

/* Another worker may have seen it somewhere else. */
static void a_place_is_believed_for_a_millisecond(void **state)
{
	struct gateway_host a = host_at(1, 3), b = host_at(1, 4), found;

	(void)state;
	gateway_hosts_learn(hosts, &a, NOW);
	assert_true(gateway_recent_find(&recent, hosts, &a.addr, NOW, &found));
	gateway_hosts_learn(hosts, &b, NOW);
	assert_true(gateway_recent_find(&recent, hosts, &a.addr, NOW + GATEWAY_RECENT_NS, &found));
	assert_int_equal(found.port, 4);
	gateway_recent_learn(&recent, hosts, &a, NOW);
	gateway_hosts_learn(hosts, &b, NOW);
	gateway_recent_learn(&recent, hosts, &a, NOW + GATEWAY_RECENT_NS);
	assert_true(gateway_hosts_find(hosts, &a.addr, &found));
	assert_int_equal(found.port, 3);
}

/* Far more hosts than places: each is itself. */
static void hosts_that_share_a_place_are_told_apart(void **state)
{
	struct gateway_host found;

	(void)state;
	for (uint32_t n = 0; n < 256; n++) {
		struct gateway_host h = host_at((uint8_t)n, (uint8_t)(n % 8));

		gateway_recent_learn(&recent, hosts, &h, NOW);
		gateway_recent_way(&recent, &h.addr)->known = true;
		gateway_recent_way(&recent, &h.addr)->remote = (uint8_t)n;
		assert_int_equal(gateway_recent_way(&recent, &h.addr)->remote, n);
	}
	for (uint32_t n = 0; n < 256; n++) {
		struct gateway_host h = host_at((uint8_t)n, 0);
		const struct gateway_recent_way *way;

		assert_true(gateway_recent_find(&recent, hosts, &h.addr, NOW, &found));
		assert_int_equal(found.mac[5], n);
		assert_int_equal(found.port, n % 8);
		way = gateway_recent_way(&recent, &h.addr);
		assert_true(!way->known || way->remote == n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(learnt_is_for_all, begin, end),
		cmocka_unit_test_setup_teardown(a_host_that_moves_is_learnt_at_once, begin, end),
		cmocka_unit_test_setup_teardown(a_place_is_believed_for_a_millisecond, begin, end),
		cmocka_unit_test_setup_teardown(hosts_that_share_a_place_are_told_apart, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
