/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor's checks of interfaces, MTUs, routes, neighbours and GIDs: by facts that trip each, and facts that do not.
 */
#include "doctor_kit.h"

static void test_link(void **state)
{
	(void)state;
	well(PLAIN);
	assert_quiet(doctor_check_link);
	facts.ifaces[0].carrier = 0;
	assert_finds(doctor_check_link, DOCTOR_PROBLEM, "p0", "no carrier");
	facts.ifaces[0].up = 0;
	assert_finds(doctor_check_link, DOCTOR_PROBLEM, "p0", "is down");
	facts.ifaces[0].there = false;
	assert_finds(doctor_check_link, DOCTOR_PROBLEM, "p0", "no network interface \"eth1\"");
	/* a port without an interface of the kernel */
	facts.ifaces[0].wanted = false;
	assert_quiet(doctor_check_link);
	facts.n_ports = 1;
	snprintf(facts.ports[0].name, sizeof(facts.ports[0].name), "p0");
	assert_finds(doctor_check_link, DOCTOR_PROBLEM, "p0", "the daemon says");
	facts.ports[0].up = true;
	assert_quiet(doctor_check_link);
}

static void test_mtu_of_interfaces(void **state)
{
	(void)state;
	well(PLAIN);
	assert_quiet(doctor_check_mtu);
	facts.ifaces[0].mtu = 4200;
	assert_quiet(doctor_check_mtu);
	facts.ifaces[0].mtu = 4199;
	assert_finds(doctor_check_mtu, DOCTOR_PROBLEM, "p0", "has 4199");
	facts.ifaces[0].mtu = -1; /* not known */
	assert_quiet(doctor_check_mtu);
	facts.ifaces[0].peer_there = true;
	facts.ifaces[0].peer_mtu = 1500;
	assert_finds(doctor_check_mtu, DOCTOR_PROBLEM, "p0", "the other end");
	facts.ifaces[0].peer_mtu = 4200;
	assert_quiet(doctor_check_mtu);
}

/* 1500 holds 1024 and headers; what the file asks for itself is as it is meant. */
static void test_mtu_of_devices(void **state)
{
	(void)state;
	well(ONE_WORKER "ports = ( { name = \"p0\"; device = \"net_tap0\"; } ); devices = ( { name = \"r0\"; port = "
			"\"p0\"; } );");
	assert_finds(doctor_check_mtu, DOCTOR_NOTE, "r0", "its path MTU is 1024");
	well(ONE_WORKER "ports = ( { name = \"p0\"; device = \"net_tap0\"; } ); devices = ( { name = \"r0\"; port = "
			"\"p0\"; mtu = 1024; } );");
	assert_quiet(doctor_check_mtu);
}

static void test_mtu_of_paths(void **state)
{
	struct doctor_host *h;

	(void)state;
	well(PLAIN);
	h = host("10.0.0.2");
	assert_quiet(doctor_check_mtu);
	h->tried = true;
	h->short_sent = 1;
	h->long_sent = 3;
	h->long_bytes = 4160;
	/* nothing is answered: not a matter of length */
	assert_quiet(doctor_check_mtu);
	h->short_answered = 1;
	assert_finds(doctor_check_mtu, DOCTOR_PROBLEM, "10.0.0.2", "4160 bytes are not");
	h->long_answered = 1;
	assert_quiet(doctor_check_mtu);
}

static void test_route(void **state)
{
	(void)state;
	well(PLAIN);
	host("10.0.0.200");
	host("fe80::1");
	assert_quiet(doctor_check_route);
	host("10.0.1.1");
	assert_finds(doctor_check_route, DOCTOR_PROBLEM, "10.0.1.1", "router for IPv4");
	/* a router of the other family is none */
	well(ONE_WORKER ONE_PORT
		"devices = ( { name = \"r0\"; port = \"p0\"; addresses = [ \"10.0.0.1/24\", \"fd00::1/64\" ];"
		" gateway6 = \"fd00::2\"; } );");
	host("10.0.1.1");
	host("2001:db8::1");
	assert_finds(doctor_check_route, DOCTOR_PROBLEM, "10.0.1.1", "router for IPv4");
	assert_int_equal(report.n, 1);
	well(ONE_WORKER ONE_PORT "devices = ( { name = \"r0\"; port = \"p0\"; addresses = [ \"10.0.0.1/24\" ]; "
				 "gateway4 = \"10.0.0.254\"; } );");
	host("10.0.1.1");
	assert_quiet(doctor_check_route);
}

/* Networks that the file names: those that hold one of ours are reached, and so are those in one of ours. */
static void test_route_to_networks(void **state)
{
	(void)state;
	well(PLAIN "multipath = { peers = [ \"10.0.0.0/8\", \"10.0.0.128/25\" ]; };");
	assert_quiet(doctor_check_route);
	well(PLAIN "multipath = { peers = [ \"10.0.0.0/8\", \"10.1.0.0/16\" ]; };");
	assert_finds(doctor_check_route, DOCTOR_PROBLEM, "10.1.0.0", "multipath.peers");
	assert_int_equal(report.n, 1);
	well(PLAIN "multipath = { peers = [ \"fd00::/64\" ]; };");
	assert_finds(doctor_check_route, DOCTOR_PROBLEM, "fd00::", "router for IPv6");
}

static void test_neighbour_that_was_tried(void **state)
{
	struct doctor_host *h;

	(void)state;
	well(PLAIN);
	h = host("10.0.0.2");
	assert_quiet(doctor_check_neighbour);
	*h = (struct doctor_host){.addr = h->addr,
		.address = "10.0.0.2",
		.next_hop = "10.0.0.2",
		.port = "p0",
		.tried = true,
		.complete = true,
		.neighbour = "silent"};
	assert_finds(doctor_check_neighbour, DOCTOR_PROBLEM, "10.0.0.2", "nobody answers");
	snprintf(h->neighbour, sizeof(h->neighbour), "asking");
	assert_finds(doctor_check_neighbour, DOCTOR_WARNING, "10.0.0.2", "not answered yet");
	snprintf(h->neighbour, sizeof(h->neighbour), "known");
	h->short_sent = h->long_sent = 3;
	assert_finds(doctor_check_neighbour, DOCTOR_WARNING, "10.0.0.2", "none of 6 echo requests");
	h->short_answered = 1;
	assert_quiet(doctor_check_neighbour);
	h->no_echo = true;
	h->short_sent = h->long_sent = h->short_answered = 0;
	assert_finds(doctor_check_neighbour, DOCTOR_NOTE, "10.0.0.2", "shared with the kernel");
}

static void test_neighbour_that_is_used(void **state)
{
	(void)state;
	well(PLAIN);
	facts.n_neighbours = 1;
	facts.neighbours[0] =
		(struct doctor_neighbour){.port = "p0", .address = "10.0.0.9", .state = "reachable", .users = 3};
	assert_quiet(doctor_check_neighbour);
	snprintf(facts.neighbours[0].state, sizeof(facts.neighbours[0].state), "down");
	assert_finds(doctor_check_neighbour, DOCTOR_PROBLEM, "10.0.0.9", "3 use this neighbour");
	facts.neighbours[0].users = 0;
	assert_quiet(doctor_check_neighbour);
}

static void test_gid(void **state)
{
	(void)state;
	well(PLAIN);
	host("10.0.0.2");
	host("fe80::2");
	assert_quiet(doctor_check_gid);
	host("fd00::2");
	assert_finds(doctor_check_gid, DOCTOR_PROBLEM, "fd00::2", "IPv6");
	snprintf(facts.ifaces[0].rdma, sizeof(facts.ifaces[0].rdma), "rxe0");
	assert_finds(doctor_check_gid, DOCTOR_WARNING, "p0", "rxe0");
	well(ONE_WORKER ONE_PORT "devices = ( { name = \"r0\"; port = \"p0\"; } );");
	assert_finds(doctor_check_gid, DOCTOR_WARNING, "r0", "link-local");
}

static void test_offload(void **state)
{
	(void)state;
	well(PLAIN);
	facts.ifaces[0].tso = facts.ifaces[0].gso = facts.ifaces[0].gro = 1;
	assert_quiet(doctor_check_offload);
	facts.ifaces[0].tx_checksum = 1;
	assert_finds(doctor_check_offload, DOCTOR_WARNING, "p0", "transmit checksums");
	assert_finds(doctor_check_offload, DOCTOR_NOTE, "p0", "tso");
	/* hardware does that itself */
	snprintf(facts.ifaces[0].driver, sizeof(facts.ifaces[0].driver), "ice");
	assert_quiet(doctor_check_offload);
	facts.ifaces[0].lro = 1;
	assert_finds(doctor_check_offload, DOCTOR_WARNING, "p0", "large receive offload");
	well(PLAIN);
	facts.ifaces[0].peer_there = true;
	assert_quiet(doctor_check_offload);
	facts.ifaces[0].peer_tx_checksum = 1;
	assert_finds(doctor_check_offload, DOCTOR_WARNING, "p0", "the other end");
	facts.ifaces[0].there = facts.ifaces[0].peer_there = false;
	assert_quiet(doctor_check_offload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_mtu_of_interfaces),
		cmocka_unit_test(test_mtu_of_devices),
		cmocka_unit_test(test_mtu_of_paths),
		cmocka_unit_test(test_route),
		cmocka_unit_test(test_route_to_networks),
		cmocka_unit_test(test_neighbour_that_was_tried),
		cmocka_unit_test(test_neighbour_that_is_used),
		cmocka_unit_test(test_gid),
		cmocka_unit_test(test_offload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
