/* SPDX-License-Identifier: BSD-3-Clause */
/* roce-fabric's configuration: the examples are right, and what is wrong is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rf_config.h"

#define PORT(host) "{ name = \"p" #host "\"; device = \"net_ring" #host "\"; host = " #host "; }"

static struct rf_config config;
static char told[4096];

static unsigned load(const char *text)
{
	char path[] = "/tmp/rf-config-XXXXXX";
	int fd = mkstemp(path);
	FILE *err = fmemopen(told, sizeof(told), "w");
	unsigned errors;

	assert_true(fd >= 0);
	assert_non_null(err);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	errors = rf_config_load(path, &config, err);
	fclose(err);
	unlink(path);
	return errors;
}

static void test_example(void **state)
{
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/fabric/four-paths.conf", getenv("ROCED_CONFIG_DIR"));
	assert_int_equal(rf_config_load(path, &config, stderr), 0);
	assert_int_equal(config.n_ports, 2);
	assert_int_equal(config.ports[1].host, 1);
	assert_int_equal(config.ports[1].port.n_rx_queues, 1);
	assert_int_equal(config.fabric.spines, 4);
	assert_int_equal(config.control.mode, 0660);
}

static void test_wrong(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{"fabric = { leaves = 2; };", "key 'ports' is missing"},
		{"ports = ( " PORT(0) ", { name = \"b\"; device = \"net_ring1\"; host = 0; } );",
			"ports[1].host: 0 is ports[0] too"},
		{"ports = ( " PORT(128) " );", "ports[0].host: the fabric has 128, from 0 on, so there is no 128"},
		{"ports = ( " PORT(0) ", { name = \"p0\"; device = \"net_ring0\"; host = 1; } );",
			"ports[1].name: \"p0\" is used by ports[0] too"},
		{"ports = ( { name = \"a\"; device = \"net_tup0\"; host = 0; } );", "is no PCI address"},
		{"ports = ( " PORT(0) " ); fabric = { leaves = 100; spines = 100; };", "at most 4096 may be"},
		{"ports = ( " PORT(0) " ); fabric = { spines = 0; };", "several leaves need spines"},
		{"ports = ( " PORT(0) " ); faults = ( { spine = 16; cut = true; } );", "spine: there are 16"},
		{"ports = ( " PORT(0) " ); impairments = ( { opcode = \"send\"; } );", "impairments[0]: key 'action' is missing"},
		{"ports = ( " PORT(0) " ); impairments = ( { action = \"drop\"; opcode = \"sent\"; } );",
			"impairments[0]: opcode: sent is wrong, must be opcodes like SEND_LAST or classes"},
		{"ports = ( " PORT(0) " ); impairments = ( { action = \"drop\"; from = 128; } );",
			"impairments[0]: from: the fabric has 128 hosts, from 0 on, so there is no 128"},
		{"ports = ( " PORT(0) " ); impairments = ( { action = \"drop\"; name = \"a\"; }, "
			"{ action = \"mark\"; name = \"a\"; } );",
			"impairments[1].name: a is the name of impairments[0] too"},
		{"ports = ( " PORT(0) " ); impairments = ( { action = \"drop\"; pns = 3; } );", "did you mean 'psn'?"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_not_equal(load(wrong[i].text), 0);
		if (strstr(told, wrong[i].says) == NULL)
			fail_msg("wanted \"%s\", told \"%s\"", wrong[i].says, told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests_name("roce-fabric-config", tests, NULL, NULL);
}
