/* SPDX-License-Identifier: BSD-3-Clause */
/* roce-gen's configuration: the examples are right, and what is wrong is told with its line. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rg_try.h"

#define PORTS "ports = ( { name = \"a\"; device = \"net_ring0\"; } );\n"
#define FLOW(keys) "role = \"tx\";\n" PORTS "flows = (\n{ name = \"f\"; dmac = \"02:00:00:00:00:02\"; " keys " } );"

static struct rg_config config;

/* Paths of the examples are those of the top folder. */
static void test_examples(void **state)
{
	char dir_path[512], path[1024];
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir;

	(void)state;
	snprintf(dir_path, sizeof(dir_path), "%s/gen", getenv("ROCED_CONFIG_DIR"));
	assert_int_equal(chdir(getenv("ROCED_CONFIG_DIR")), 0);
	assert_int_equal(chdir(".."), 0);
	dir = opendir(dir_path);
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (strstr(entry->d_name, ".conf") == NULL)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir_path, entry->d_name);
		assert_int_equal(rg_config_load(path, NULL, &config, stderr), 0);
		n++;
	}
	closedir(dir);
	assert_true(n >= 5);
}

static void test_wrong(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{PORTS, "key 'role' is missing"},
		{"role = \"sink\"; " PORTS, ":1: role: \"sink\" is wrong, must be tx|rx|both"},
		{"role = \"\"; " PORTS, "role: \"\" is wrong"},
		{"role = \"tx\"; " PORTS, "flows: none is there"},
		{FLOW(""), ":4: flows[0]: needs src and dst"},
		{FLOW("src = \"10.0.0.1\"; dst = \"fd00::1\";"), "must be of one IP version"},
		{FLOW(RG_V4 "\nopcodes = [ \"RC_SEND_ONYL\" ];"), ":4: flows[0].opcodes[0]: \"RC_SEND_ONYL\" is none"},
		{FLOW(RG_V4 "\nsizes = (\n{ bytes = 9; to = 8; } );"),
			":6: flows[0].sizes[0]: to 8 is less than bytes 9"},
		{FLOW(RG_V4 "opcodes = [ \"UD_SEND_ONLY\" ]; sizes = ( { bytes = 1025; } );"),
			"does not fit the mtu of 1024"},
		{FLOW(RG_V4 "mtu = 4096; sizes = ( { bytes = 4096; } );"), "port \"a\" has an mtu of 1500"},
		{FLOW(RG_V4 "mtu = 1000;"), "is no RDMA MTU"},
		{FLOW(RG_V4 "qps = 3; first_qpn = 16777214;"), "more than there are QPNs"},
		{FLOW(RG_V4 "sport_first = 65000; sport_count = 1000;"), "more than there are"},
		{FLOW(RG_V4 "sport_policy = \"hash\";"),
			":4: flows[0].sport_policy: \"hash\" is wrong, must be fixed|qp|spray"},
		{FLOW(RG_V4 "pcp = 3;"), "needs a vlan"},
		{FLOW(RG_V4 "rate_mbps = 1; rate_pps = 1;"), "give one of rate_mbps and rate_pps"},
		{FLOW(RG_V4 "rate_mpbs = 1;"), "did you mean 'rate_mbps'?"},
		{FLOW(RG_V4 "faults = (\n\n{ kind = \"ce\"; } );"),
			":6: flows[0].faults[0]: give one of every and ppm"},
		{FLOW(RG_V4 "faults = ( { kind = \"cee\"; every = 1; } );"), "must be bad_icrc|ce|"},
		{FLOW(RG_V4 "faults = ( { kind = \"loss\"; every = 1; } );"), "all packets lost is no flow"},
		{FLOW(RG_V4 "faults = ( { kind = \"bad_opcode\"; every = 1; amount = 4; } );"),
			"4 is no undefined opcode"},
		{FLOW(RG_V4 "faults = ( { kind = \"pfc\"; every = 1; } );"), "would pause nothing"},
		{FLOW("opcodes = [ \"PFC\" ];"), "would pause nothing"},
		{FLOW(RG_V4 "port = \"b\";"), "there is no port \"b\""},
		{FLOW("pcap = \"/nowhere.pcap\";"), "cannot be read"},
		{FLOW("pcap = \"/dev/null\"; opcodes = [ \"PFC\" ];"), "has neither opcodes nor sizes"},
		{FLOW("pcap = \"/dev/null\"; faults = ( { kind = \"ce\"; every = 2; } );"),
			"only loss, repeat and truncate"},
		{"role = \"tx\"; " PORTS "flows = ( { name = \"f\"; " RG_V4 " } );", "dmac: is missing"},
		{"role = \"rx\"; " PORTS "flows = ( { name = \"f\"; " RG_V4 " }, { name = \"f\"; src = \"10.0.0.1\"; "
			"dst = \"10.0.0.3\"; } );", "flows[1].name: \"f\" is used by flows[0] too"},
		{"role = \"rx\"; " PORTS "flows = ( { name = \"f\"; qps = 4; " RG_V4 " }, { name = \"g\"; src = \"10.0.0.0/24\"; "
			"dst = \"10.0.0.2\"; first_qpn = 20; } );", "flows[0] sends to the same queue pairs"},
		{"role = \"rx\"; ports = ( { name = \"a\"; device = \"net_tup0\"; } );", "is no PCI address"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_not_equal(rg_try(wrong[i].text, NULL, &config), 0);
		if (strstr(rg_told, wrong[i].says) == NULL)
			fail_msg("wanted \"%s\", told \"%s\"", wrong[i].says, rg_told);
	}
}

/* The same file is for the sender and for the sink. */
static void test_role(void **state)
{
	const char *file = FLOW(RG_V4);

	(void)state;
	assert_int_equal(rg_try(file, NULL, &config), 0);
	assert_int_equal(config.role, RG_TX);
	assert_int_equal(rg_try(file, "rx", &config), 0);
	assert_int_equal(config.role, RG_RX);
	assert_int_not_equal(rg_try(file, "neither", &config), 0);
}

static void test_defaults(void **state)
{
	const struct rg_flow_config *flow = rg_try_flow(RG_V4, &config);

	(void)state;
	assert_int_equal(flow->ops[0].only, WIRE_RC_WRITE_ONLY);
	assert_int_equal(flow->ops[0].middle, WIRE_RC_WRITE_MIDDLE);
	assert_int_equal(flow->sizes[0].bytes, 1024);
	assert_int_equal(flow->sport_policy, RG_SPORT_QP);
	assert_int_equal(flow->port_index, 0);
	assert_int_equal(config.streams, 4096);
}

/* Every defined opcode can be sent. */
static void test_opcodes(void **state)
{
	struct rg_op op;

	(void)state;
	for (unsigned code = 0; code <= UINT8_MAX; code++) {
		if (wire_opinfo((uint8_t)code)->name == NULL)
			continue;
		assert_int_equal(rg_op_find(wire_opinfo((uint8_t)code)->name, &op), 0);
		assert_int_equal(op.only, code);
		assert_int_equal(op.kind, RG_OP_PACKET);
	}
	assert_int_not_equal(rg_op_find("", &op), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_role),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_opcodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
