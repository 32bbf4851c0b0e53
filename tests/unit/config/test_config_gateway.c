/* SPDX-License-Identifier: BSD-3-Clause */
/* The group gateway: what is right is read, with its defaults; what is wrong is said, where and what would be right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "load.h"
#include "wire_tunnel.h"

#define HEAD \
	"workers = ( { lcore = 1; } );\n" \
	"ports = ( { name = \"h\"; device = \"net_tap0\"; }, { name = \"f\"; device = \"net_tap1\"; } );\n" \
	"devices = ( { name = \"d\"; port = \"f\"; addresses = [ \"10.0.0.1/24\" ]; vlan = 7; } );\n"
#define BASE          "device = \"d\"; host_ports = [ \"h\" ];"
#define REMOTE        "{ address = \"10.0.0.2\"; networks = [ \"10.1.0.0/16\" ]; }"
/* A gateway with another key, and one with a far gateway on line 6. */
#define WITH(key)     HEAD "gateway = { " BASE "\n" key " };\n"
#define FAR(remotes)  HEAD "gateway = { " BASE " remotes = (\n\n" remotes " ); };\n"
#define LANES         "gateway.port: one of the 64 ports from "

struct bad {
	const char *text;
	unsigned line; /* 0: what is wrong is not on one */
	const char *want;
};

/* One error each. */
static const struct bad bad_cases[] = {
	{HEAD "gateway = 1;\n", 4, "gateway: must be a group"},
	{WITH("host_port = [ \"h\" ];"), 5, "gateway: unknown key 'host_port', did you mean 'host_ports'?"},
	/* device, host_ports, host_vlans */
	{HEAD "gateway = { device = 1; };\n", 4, "gateway.device: must be a name in quotes"},
	{HEAD "gateway = { device = \"e\"; host_ports = [ \"h\" ]; };\n", 0,
		"gateway.device: there is no device \"e\""},
	{HEAD "gateway = { host_ports = [ \"h\" ]; };\n", 0,
		"gateway.device: missing, name the device whose addresses tunnels have"},
	{HEAD "gateway = { host_vlans = [ 100 ]; };\n", 0,
		"gateway.device: missing, name the device whose addresses tunnels have"},
	{HEAD "gateway = { remotes = ( " REMOTE " ); };\n", 0,
		"gateway.device: missing, name the device whose addresses tunnels have"},
	{HEAD "gateway = { device = \"d\"; };\n", 0,
		"gateway.host_ports: a gateway without hosts does nothing, name their ports, or host_vlans"},
	{HEAD "gateway = { device = \"d\"; host_ports = \"h\"; };\n", 4,
		"gateway.host_ports: must be an array of names"},
	{HEAD "gateway = { device = \"d\"; host_ports = [ \"h h\" ]; };\n", 4,
		"gateway.host_ports[0]: \"h h\" is wrong, must be letters, digits, '-', '_' and '.'"},
	{HEAD "gateway = { device = \"d\"; host_ports = [ \"h\", \"x\" ]; };\n", 0,
		"gateway.host_ports[1]: there is no port \"x\""},
	{HEAD "gateway = { device = \"d\"; host_ports = [ \"h\", \"f\" ]; };\n", 0,
		"gateway.host_ports[1]: \"f\" is the port of devices[0], hosts need one of their own"},
	{WITH("host_vlans = 100;"), 5, "gateway.host_vlans: must be an array of numbers"},
	{WITH("host_vlans = [ \"100\" ];"), 5, "gateway.host_vlans[0]: must be"},
	{WITH("host_vlans = [ 1, 0 ];"), 5, "gateway.host_vlans[1]: 0 is out of range, must be 1 to 4094"},
	{WITH("host_vlans = [ 4095 ];"), 5, "gateway.host_vlans[0]: 4095 is out of range, must be 1 to 4094"},
	{WITH("host_vlans = [ 8, 7 ];"), 0,
		"gateway.host_vlans: 7 is the VLAN of devices[0], hosts need one of their own"},
	/* single keys: type, least and most */
	{WITH("bridge = 1;"), 5, "gateway.bridge: must be true or false"},
	{WITH("cnp_proxy = \"yes\";"), 5, "gateway.cnp_proxy: must be true or false"},
	{WITH("cnp_interval_us = 10000001;"), 5,
		"gateway.cnp_interval_us: 10000001 is out of range, must be 0 to 10000000 us"},
	{WITH("cnp_interval_us = -1;"), 5, "gateway.cnp_interval_us: -1 is out of range"},
	{WITH("port = 0;"), 5, "gateway.port: 0 is out of range, must be 1 to 65472"},
	{WITH("port = 65473;"), 5, "gateway.port: 65473 is out of range, must be 1 to 65472"},
	{WITH("paths = 0;"), 5, "gateway.paths: 0 is out of range, must be 1 to 64 paths"},
	{WITH("paths = 65;"), 5, "gateway.paths: 65 is out of range, must be 1 to 64 paths"},
	{WITH("scheduler = \"best\";"), 5, "gateway.scheduler: \"best\" is wrong, must be"},
	{WITH("base_rtt_us = 0;"), 5, "gateway.base_rtt_us: 0 is out of range, must be 1 to 1000000 us"},
	{WITH("silence_us = 99;"), 5, "gateway.silence_us: 99 is out of range, must be 100 to 10000000 us"},
	{WITH("report_us = 9;"), 5, "gateway.report_us: 9 is out of range, must be 10 to 1000000 us"},
	{WITH("report_packets = 65536;"), 5,
		"gateway.report_packets: 65536 is out of range, must be 1 to 65535 packets"},
	{WITH("max_flows = 15;"), 5, "gateway.max_flows: 15 is out of range, must be 16 to 1048576 flows"},
	{WITH("max_flows_per_host = 0;"), 5,
		"gateway.max_flows_per_host: 0 is out of range, must be 1 to 1048576 flows"},
	{WITH("flow_idle_ms = 3600001;"), 5, "gateway.flow_idle_ms: 3600001 is out of range, must be 1 to 3600000 ms"},
	{WITH("reorder_packets = 0;"), 5, "gateway.reorder_packets: 0 is out of range, must be 1 to 1048576 packets"},
	{WITH("reorder_us = 0;"), 5, "gateway.reorder_us: 0 is out of range, must be 1 to 10000000 us"},
	/* ports of tunnels and those of others */
	{WITH("port = 4791;"), 0, LANES "4791 on is RoCE's, or of the group protection"},
	{WITH("port = 4728;"), 0, LANES "4728 on is RoCE's, or of the group protection"},
	{WITH("port = 1063;"), 0, LANES "1063 on is RoCE's, or of the group protection"},
	{WITH("port = 937;"), 0, LANES "937 on is RoCE's, or of the group protection"},
	/* far gateways */
	{WITH("remotes = " REMOTE ";"), 5, "gateway.remotes: must be a list"},
	{FAR("{ networks = [ \"10.1.0.0/16\" ]; }"), 6, "gateway.remotes[0]: key 'address' is missing"},
	{FAR("{ address = \"10.0.0.2\"; }"), 6, "gateway.remotes[0]: key 'networks' is missing"},
	{FAR("{ address = \"10.0.0.2\"; networks = [ ]; }"), 6,
		"gateway.remotes[0].networks: has 0 entries, must have 1 to 16"},
	{FAR("{ address = \"10.0.0.2\"; networks = [ \"ten\" ]; }"), 6,
		"gateway.remotes[0].networks[0]: \"ten\" is wrong, must be"},
	{FAR("{ address = \"10.0.0.0/24\"; networks = [ \"10.1.0.0/16\" ]; }"), 6,
		"gateway.remotes[0].address: a network, must be the address of one host"},
	{FAR("{ address = \"fd00::2\"; networks = [ \"10.1.0.0/16\" ]; }"), 6,
		"gateway.remotes[0].address: device \"d\" has no address of IPv6 to send from"},
	{FAR(REMOTE ",{ address = \"10.0.0.2\"; networks = [ \"10.2.0.0/16\" ]; }"), 6,
		"gateway.remotes[1].address: is that of remotes[0] too"},
	{FAR(REMOTE ",{ address = \"10.0.0.3\"; networks = [ \"10.2.0.0/16\", \"10.1.0.0/16\" ]; }"), 6,
		"gateway.remotes[1].networks[1]: stands at remotes[0] too"},
	{FAR("{ address = \"10.0.0.2\"; networks = [ \"fd00::/8\", \"fd00::/8\" ]; }"), 6,
		"gateway.remotes[0].networks[1]: stands at remotes[0] too"},
	{FAR("{ address = \"10.0.0.2\"; networks = [ \"0.0.0.0/0\" ]; }"), 6, "must be a prefix length of 1 to 32"},
	{FAR("{ address = \"there\"; networks = [ \"10.1.0.0/16\" ]; }"), 6,
		"gateway.remotes[0].address: \"there\" is wrong, must be"},
	/* networks without a far gateway */
	{WITH("direct = [ \"10.1.0.0/16\", \"fd01::/64\", \"10.1.2.0/24\" ];"), 0,
		"gateway.direct[2]: overlaps with direct[0], give one of the two"},
	{FAR(REMOTE " ); direct = ( \"10.1.7.0/24\""), 0,
		"gateway.direct[0]: overlaps with remotes[0].networks[0], a host is behind a far gateway or not"},
	{FAR(REMOTE " ); direct = ( \"10.0.0.0/8\""), 0, "gateway.direct[0]: overlaps with remotes[0].networks[0]"},
	{WITH("direct = [ \"10.1.0.0/16\" ]; bridge = false;"), 0,
		"gateway.direct: goes over the bridge, so gateway.bridge must be true"},
	{WITH("max_pairs = 0;"), 5, "gateway.max_pairs: 0 is out of range, must be 1 to"},
	{WITH("flowlet_us = 0;"), 5, "gateway.flowlet_us: 0 is out of range, must be"},
	{HEAD "gateway = { direct = [ \"10.1.0.0/16\" ]; };\n", 0, "gateway.device: missing"},
	/* where hosts without a gateway are, nothing can be protected */
	{WITH("direct = [ \"fd01::/64\", \"10.1.0.0/16\" ];") "protection = { psk_file = \"k\";\n"
		"peers = ( { network = \"10.0.0.0/8\"; policy = \"optional\"; },\n"
		"{ network = \"10.1.0.0/16\"; policy = \"required\"; } ); };\n", 8,
		"protection.peers[1].policy: \"required\" for gateway.direct[1], whose hosts have no gateway that could open "
		"what is protected: give 10.1.0.0/16 an entry of its own with policy \"off\", or name its gateway in "
		"gateway.remotes"},
	{WITH("direct = [ \"fd01:2::/64\", \"10.1.0.0/16\" ];") "protection = { psk_file = \"k\"; peers = "
		"( { network = \"fc00::/7\"; policy = \"required\"; devices = [ \"d\" ]; } ); };\n", 6,
		"give fd01:2::/64 an entry"},
};

/* The line of "FILE:LINE: what"; 0: it is "FILE: what". */
static unsigned line_of(const char *said)
{
	unsigned line = 0;

	(void)sscanf(said, "%*[^:]:%u", &line);
	return line;
}

static void test_bad(void **state)
{
	static struct config config;

	(void)state;
	for (size_t i = 0; i < sizeof(bad_cases) / sizeof(bad_cases[0]); i++) {
		const struct bad *bad = &bad_cases[i];
		unsigned n;
		char *out = load(bad->text, &config, &n);

		if (n != 1 || strstr(out, bad->want) == NULL || line_of(out) != bad->line)
			fail_msg("case %zu: %u errors for\n%s\nwanted: line %u: %s\nsaid: %s", i, n, bad->text,
				bad->line, bad->want, out);
		free(out);
	}
}

/* More VLANs than a frame that is for all can be copied to. */
static void test_vlans(void **state)
{
	static struct config config;
	char text[2048], *out;
	unsigned n;
	int used;

	(void)state;
	for (uint32_t most = CONFIG_MAX_HOST_VLANS; most <= CONFIG_MAX_HOST_VLANS + 1; most++) {
		used = snprintf(text, sizeof(text), HEAD "gateway = { device = \"d\"; host_vlans = [ 4094");
		for (uint32_t i = 1; i < most; i++)
			used += snprintf(text + used, sizeof(text) - (size_t)used, ", %u", 100 + i);
		snprintf(text + used, sizeof(text) - (size_t)used, " ]; };\n");
		out = load(text, &config, &n);
		if (most == CONFIG_MAX_HOST_VLANS)
			assert_string_equal(out, "");
		else
			assert_non_null(strstr(out, "gateway.host_vlans: has 65 VLANs, must be 64 at most"));
		free(out);
	}
}

static void test_defaults(void **state)
{
	static struct config config;
	const struct config_gateway *gateway = &config.gateway;
	unsigned n;
	char *out = load(FAR(REMOTE), &config, &n);

	(void)state;
	assert_string_equal(out, "");
	assert_string_equal(gateway->device, "d");
	assert_int_equal(gateway->device_index, 0);
	assert_int_equal(gateway->n_host_ports, 1);
	assert_int_equal(gateway->host_mask, 1);
	for (size_t i = 0; i < CONFIG_VLANS / 64; i++)
		assert_true(gateway->host_vlans[i] == 0);
	assert_true(gateway->bridge);
	assert_int_equal(gateway->port, WIRE_TUNNEL_PORT);
	assert_int_equal(gateway->paths, 32);
	assert_int_equal(gateway->scheduler.kind, PATH_SCHED_WEIGHTED);
	assert_int_equal(gateway->silence_us, 20000);
	assert_int_equal(gateway->report_packets, 64);
	assert_int_equal(gateway->max_flows, 16384);
	assert_int_equal(gateway->reorder_us, 5000);
	assert_false(gateway->cnp_proxy);
	assert_int_equal(gateway->cnp_interval_us, 50);
	assert_int_equal(gateway->n_remotes, 1);
	assert_int_equal(gateway->remotes[0].networks[0].len, 16);
	assert_int_equal(gateway->n_direct, 0);
	assert_int_equal(gateway->max_pairs, 1024);
	free(out);
}

static void test_values(void **state)
{
	static struct config config;
	const struct config_gateway *gateway = &config.gateway;
	unsigned n;
	char *out = load(HEAD
		"gateway = { device = \"d\"; host_vlans = [ 1, 100, 100, 4094 ]; bridge = false; port = 5000; paths = "
		"64;\n"
		"scheduler = \"reps\"; max_flows = 16; reorder_us = 10; cnp_proxy = true; cnp_interval_us = 0;\n"
		"remotes = ( { address = \"10.0.0.2\"; networks = [ \"10.0.0.0/8\", \"fd00::/8\" ]; } ); };\n",
		&config, &n);

	(void)state;
	assert_string_equal(out, "");
	assert_int_equal(gateway->host_mask, 0);
	assert_true(gateway->host_vlans[0] == 2);
	assert_true(gateway->host_vlans[1] == 1ull << 36);
	assert_true(gateway->host_vlans[63] == 1ull << 62);
	assert_false(gateway->bridge);
	assert_int_equal(gateway->port, 5000);
	assert_int_equal(gateway->paths, 64);
	assert_int_equal(gateway->scheduler.kind, PATH_SCHED_REPS);
	assert_int_equal(gateway->max_flows, 16);
	assert_true(gateway->cnp_proxy);
	assert_int_equal(gateway->cnp_interval_us, 0);
	assert_int_equal(gateway->remotes[0].n_networks, 2);
	free(out);
}

static void test_direct(void **state)
{
	static struct config config;
	const struct config_gateway *gateway = &config.gateway;
	unsigned n;
	char *out = load(HEAD
		"gateway = { " BASE " direct = [ \"10.2.0.0/16\", \"fd01::/64\" ]; flowlet_us = 300;\n"
		"remotes = ( " REMOTE " ); };\n", &config, &n);

	(void)state;
	assert_string_equal(out, "");
	assert_int_equal(gateway->n_direct, 2);
	assert_int_equal(gateway->direct[1].len, 64);
	assert_int_equal(gateway->flowlet_us, 300);
	free(out);
}

/* Ports with hosts receive what is for others, and so does the fabric's where it is bridged or has hosts. */
static void test_promiscuous(void **state)
{
	static const struct {
		const char *text;
		bool host, fabric;
	} cases[] = {
		{HEAD, false, false},
		{WITH(""), true, true},
		{WITH("bridge = false;"), true, false},
		{WITH("bridge = false; host_vlans = [ 100 ];"), true, true},
		{HEAD "gateway = { device = \"d\"; bridge = false; host_vlans = [ 100 ]; };\n", false, true},
	};
	static struct config config;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned n;
		char *out = load(cases[i].text, &config, &n);

		assert_string_equal(out, "");
		assert_int_equal(config.ports[0].promiscuous, cases[i].host);
		assert_int_equal(config.ports[1].promiscuous, cases[i].fabric);
		free(out);
	}
}

/* Without the group there is none. */
static void test_none(void **state)
{
	static struct config config;
	unsigned n;
	char *out = load(HEAD, &config, &n);

	(void)state;
	assert_string_equal(out, "");
	assert_string_equal(config.gateway.device, "");
	free(out);
}

/* A policy may be another one for a part of a direct network, or for what it is a part of. */
static void test_protection_in_direct_networks(void **state)
{
	static const int where[] = {-1, -1, -1, 1, -1, 2};
	static struct config config;
	unsigned n;
	char *out = load(WITH("direct = [ \"10.1.0.0/16\", \"10.2.0.0/16\", \"fd01::/64\" ];") "protection = { psk_file = \"k\";"
		"peers = ( { network = \"10.0.0.0/8\"; policy = \"required\"; },"
		"{ network = \"10.1.0.0/16\"; policy = \"off\"; }, { network = \"10.2.0.0/15\"; policy = \"optional\"; },"
		"{ network = \"10.2.3.4/32\"; policy = \"required\"; }, { network = \"10.2.3.5/32\"; policy = \"optional\"; },"
		"{ network = \"fd01::7/128\"; policy = \"required\"; } ); };\n", &config, &n);

	(void)state;
	assert_string_equal(out, "");
	for (uint32_t i = 0; i < sizeof(where) / sizeof(where[0]); i++)
		assert_int_equal(config_required_in_direct(&config, i), where[i]);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_vlans),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_protection_in_direct_networks),
		cmocka_unit_test(test_promiscuous),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
