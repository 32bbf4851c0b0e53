/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which addresses a port has, which of them a packet means, and where a packet goes next. From the configuration
 * to the tables, without any port.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link_route.h"
#include "roced.h"

static struct wire_addr addr(const char *text)
{
	struct wire_addr a = {0};

	if (inet_pton(AF_INET6, text, a.b) == 1)
		return a;
	memset(&a, 0, sizeof(a));
	a.b[10] = a.b[11] = 0xff;
	assert_int_equal(inet_pton(AF_INET, text, &a.b[12]), 1);
	return a;
}

/* A daemon with one port of link address 02:00:00:00:00:10 and the devices given. */
static struct roced *daemon_with(const char *devices)
{
	static const char head[] = "workers = ( { lcore = 1; } );\n"
				   "ports = ( { name = \"p\"; device = \"net_tap0\"; } );\n";
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x10};
	struct roced *roced = calloc(1, sizeof(*roced));
	char path[] = "/tmp/roced-addresses-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0 && roced != NULL);
	assert_int_equal(write(fd, head, strlen(head)), (ssize_t)strlen(head));
	assert_int_equal(write(fd, devices, strlen(devices)), (ssize_t)strlen(devices));
	close(fd);
	assert_int_equal(config_load(path, &roced->config, stderr), 0);
	unlink(path);
	roced->n_ports = 1;
	roced->ports[0].config = &roced->config.ports[0];
	memcpy(roced->ports[0].mac, mac, sizeof(mac));
	devices_init(roced, NULL);
	return roced;
}

/* RFC 4291, appendix A: the link-local address is made from the link address, and is GID 0. */
static void test_link_local(void **state)
{
	struct roced *roced = daemon_with("devices = ( { name = \"a\"; port = \"p\"; addresses = [ \"10.0.0.1\" ]; },\n"
					  "{ name = \"b\"; port = \"p\"; },\n"
					  "{ name = \"c\"; port = \"p\"; mac = \"02:11:22:33:44:55\"; } );\n");
	struct wire_addr want = addr("fe80::ff:fe00:10");

	(void)state;
	assert_memory_equal(roced->devices[0].gids[0].addr.b, want.b, 16);
	assert_int_equal(roced->devices[0].gids[0].prefix_len, 64);
	assert_int_equal(roced->devices[0].n_gids, 2);
	/* a second device on the same link address must not have the same GID */
	assert_int_equal(roced->devices[1].n_gids, 1);
	assert_memory_not_equal(roced->devices[1].gids[0].addr.b, want.b, 16);
	want = addr("fe80::11:22ff:fe33:4455");
	assert_memory_equal(roced->devices[2].gids[0].addr.b, want.b, 16);
	free(roced);
}

/* A configured link-local address equal to the made one is one GID, not two. */
static void test_link_local_configured(void **state)
{
	struct roced *roced = daemon_with("devices = ( { name = \"a\"; port = \"p\"; "
					  "addresses = [ \"fe80::ff:fe00:10\", \"fd00::1\" ]; } );\n");

	(void)state;
	assert_int_equal(roced->devices[0].n_gids, 2);
	assert_int_equal(roced->ports[0].n_addrs, 2);
	free(roced);
}

/* Addresses belong to a VLAN; a priority tag (VLAN 0) is none (IEEE 802.1Q, 9.6). */
static void test_find_addr(void **state)
{
	struct roced *roced = daemon_with(
		"devices = ( { name = \"a\"; port = \"p\"; addresses = [ \"10.0.0.1\" ]; },\n"
		"{ name = \"b\"; port = \"p\"; addresses = [ \"10.0.1.1\" ]; vlan = 30; priority = 5; } );\n");
	const struct port *port = &roced->ports[0];
	struct wire_addr a = addr("10.0.0.1"), b = addr("10.0.1.1"), other = addr("10.0.0.2");

	(void)state;
	assert_int_equal(port_find_addr(port, &a, false, 0)->device, 0);
	assert_int_equal(port_find_addr(port, &a, true, 0x6000)->device, 0);
	assert_null(port_find_addr(port, &a, true, 30));
	assert_int_equal(port_find_addr(port, &b, true, 30)->device, 1);
	assert_int_equal(port_find_addr(port, &b, true, 0x2000 | 30)->device, 1);
	assert_int_equal(port_find_addr(port, &b, true, 30)->vlan_tci, 0xa000 | 30);
	assert_null(port_find_addr(port, &b, false, 0));
	assert_null(port_find_addr(port, &other, false, 0));
	free(roced);
}

struct hop {
	const char *dst, *hop;     /* hop NULL: no route */
};

static void check_hops(const char *devices, const struct hop *hops, size_t n)
{
	struct roced *roced = daemon_with(devices);

	for (size_t i = 0; i < n; i++) {
		struct wire_addr dst = addr(hops[i].dst), got, want;
		int rc = link_next_hop(roced, &roced->ports[0], 0, &dst, &got);

		if (hops[i].hop == NULL) {
			if (rc != -ENETUNREACH)
				fail_msg("%s: want no route, got %d", hops[i].dst, rc);
			continue;
		}
		want = addr(hops[i].hop);
		if (rc != 0 || memcmp(want.b, got.b, 16) != 0)
			fail_msg("%s: want next hop %s, got status %d or another", hops[i].dst, hops[i].hop, rc);
	}
	free(roced);
}

static void test_next_hop_without_gateway(void **state)
{
	static const struct hop hops[] = {
		{"10.0.0.2", "10.0.0.2"},
		{"10.0.0.1", "10.0.0.1"},         /* ourselves */
		{"10.0.15.255", "10.0.15.255"},   /* the edge of /20 */
		{"10.0.16.0", NULL},
		{"192.168.1.1", NULL},
		{"fd00::2", "fd00::2"},
		{"fd00:0:0:1::2", NULL},
		{"fe80::99", "fe80::99"},         /* always on the link */
		{"ff02::1", "ff02::1"},
		{"224.0.0.5", "224.0.0.5"},
	};

	(void)state;
	check_hops("devices = ( { name = \"a\"; port = \"p\"; addresses = [ \"10.0.0.1/20\", \"fd00::1/64\" ]; } );\n",
		hops, sizeof(hops) / sizeof(hops[0]));
}

static void test_next_hop_with_gateways(void **state)
{
	static const struct hop hops[] = {
		{"10.0.0.2", "10.0.0.2"},
		{"10.0.1.2", "10.0.0.254"},
		{"fd00::2", "fd00::2"},
		{"2001:db8::1", "fe80::1"},
		{"fe80::99", "fe80::99"},
	};

	(void)state;
	check_hops("devices = ( { name = \"a\"; port = \"p\"; addresses = [ \"10.0.0.1/24\", \"fd00::1/64\" ];\n"
		   "gateway4 = \"10.0.0.254\"; gateway6 = \"fe80::1\"; } );\n", hops, sizeof(hops) / sizeof(hops[0]));
}

/* Only an address of the device itself may be a source. */
static void test_source(void **state)
{
	struct roced *roced = daemon_with("devices = ( { name = \"a\"; port = \"p\"; addresses = [ \"10.0.0.1\" ]; },\n"
					  "{ name = \"b\"; port = \"p\"; addresses = [ \"10.0.0.2\" ]; } );\n");
	struct wire_addr a = addr("10.0.0.1"), b = addr("10.0.0.2");

	(void)state;
	assert_non_null(link_source(&roced->ports[0], 0, &a));
	assert_null(link_source(&roced->ports[0], 0, &b));
	assert_non_null(link_source(&roced->ports[0], 1, &b));
	free(roced);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link_local),
		cmocka_unit_test(test_link_local_configured),
		cmocka_unit_test(test_find_addr),
		cmocka_unit_test(test_next_hop_without_gateway),
		cmocka_unit_test(test_next_hop_with_gateways),
		cmocka_unit_test(test_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
