/* SPDX-License-Identifier: BSD-3-Clause */
/* By which address and way a host is tried, and with how long packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reach.h"
#include "wire_addr.h"

/* A daemon with two ports of link addresses ...:10 and ...:11. */
static struct roced *daemon_with(const char *text)
{
	static const char head[] = "workers = ( { lcore = 1; } );\n"
				   "ports = ( { name = \"p\"; device = \"net_memif0,bsize=8192\"; mtu = 4200; }, { "
				   "name = \"q\"; device = \"net_tap0\"; mtu = 1500; } );\n";
	struct roced *roced = calloc(1, sizeof(*roced));
	char path[] = "/tmp/roced-reach-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0 && roced != NULL);
	assert_int_equal(write(fd, head, strlen(head)), (ssize_t)strlen(head));
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	assert_int_equal(config_load(path, &roced->config, stderr), 0);
	unlink(path);
	roced->n_ports = 2;
	for (uint32_t p = 0; p < 2; p++) {
		const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(0x10 + p)};

		roced->ports[p].config = &roced->config.ports[p];
		roced->ports[p].index = p;
		memcpy(roced->ports[p].mac, mac, sizeof(mac));
	}
	devices_init(roced, NULL);
	return roced;
}

struct want {
	const char *dst;
	enum reach_route route;
	const char *local, *hop; /* no matter without a route */
	uint32_t port;
};

static void check_ways(const char *text, const struct want *wants, size_t n)
{
	struct roced *roced = daemon_with(text);
	char got[WIRE_ADDR_TEXT_BYTES];

	for (size_t i = 0; i < n; i++) {
		struct wire_addr dst;
		struct reach reach;

		assert_true(wire_addr_read(wants[i].dst, &dst));
		reach_find_way(roced, &dst, &reach);
		if (reach.route != wants[i].route)
			print_error("%s\n", wants[i].dst);
		assert_int_equal(reach.route, wants[i].route);
		if (reach.route == REACH_NO_ROUTE)
			continue;
		assert_string_equal(wire_addr_print(&reach.local, got), wants[i].local);
		assert_string_equal(wire_addr_print(&reach.next_hop, got), wants[i].hop);
		assert_int_equal(reach.port, wants[i].port);
	}
	free(roced);
}

static void test_ways(void **state)
{
	static const struct want wants[] = {
		{"10.0.0.9", REACH_ON_LINK, "10.0.0.1", "10.0.0.9", 0},
		{"10.1.0.9", REACH_ON_LINK, "10.1.0.1", "10.1.0.9",
			1}, /* of the second device, though the first has a router */
		{"192.0.2.1", REACH_BY_ROUTER, "10.0.0.1", "10.0.0.254", 0},
		{"10.0.0.1", REACH_OURS, "10.0.0.1", "10.0.0.1", 0},
		{"fd00::9", REACH_ON_LINK, "fd00::1", "fd00::9", 0},
		{"2001:db8::1", REACH_NO_ROUTE, NULL, NULL, 0},
		{"fe80::9", REACH_ON_LINK, "fe80::ff:fe00:10", "fe80::9", 0},
	};

	(void)state;
	check_ways("devices = ( { name = \"a\"; port = \"p\"; addresses = [ \"10.0.0.1/24\", \"fd00::1/64\" ]; "
		   "gateway4 = \"10.0.0.254\"; },\n"
		   "{ name = \"b\"; port = \"q\"; addresses = [ \"10.1.0.1/24\" ]; } );\n",
		wants, sizeof(wants) / sizeof(wants[0]));
}

/* By the plane whose network it is in. */
static void test_planes(void **state)
{
	static const struct want wants[] = {{"10.1.0.9", REACH_ON_LINK, "10.1.0.1", "10.1.0.9", 0},
		{"10.0.0.9", REACH_ON_LINK, "10.0.0.1", "10.0.0.9", 1}};

	(void)state;
	check_ways("devices = ( { name = \"a\"; port = \"q\"; addresses = [ \"10.0.0.1/24\" ];\n"
		   "planes = ( { port = \"p\"; addresses = [ \"10.1.0.1/24\" ]; } ); } );\n",
		wants, 2);
}

/* The largest packet with a whole payload: RETH and immediate data, IBTA vol. 1, 9.2 and 9.3. */
static void test_lengths(void **state)
{
	struct roced *roced = daemon_with("devices = ( { name = \"a\"; port = \"p\"; }, { name = \"b\"; port = \"q\"; "
					  "}, { name = \"c\"; port = \"p\"; mtu = 1024; } );\n");

	(void)state;
	assert_int_equal(reach_long_bytes(roced, 0, &roced->ports[0], true), 4096 + 20 + 8 + 12 + 16 + 4 + 4);
	assert_int_equal(reach_long_bytes(roced, 0, &roced->ports[0], false), 4096 + 40 + 8 + 12 + 16 + 4 + 4);
	assert_int_equal(reach_long_bytes(roced, 1, &roced->ports[1], true), 1024 + 64);
	assert_int_equal(reach_long_bytes(roced, 2, &roced->ports[0], true), 1024 + 64);
	/* never more than the port's own */
	roced->config.ports[0].mtu = 4150;
	assert_int_equal(reach_long_bytes(roced, 0, &roced->ports[0], true), 4150);
	free(roced);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_planes),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
