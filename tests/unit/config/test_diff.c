/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two configurations compared: what differs of each kind of key, whether it may change while the daemon runs, and that devices and
 * ports keep their places whatever their order in the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_diff.h"

#define WORKERS "workers = ( { lcore = 1; } );\n"
#define PORTS   "ports = ( { name = \"p0\"; device = \"net_tap0\"; }, { name = \"p1\"; device = \"net_tap1\"; } );\n"
#define D0      "{ name = \"d0\"; port = \"p0\"; addresses = [ \"10.0.0.1\" ]; }"
#define D1      "{ name = \"d1\"; port = \"p1\"; addresses = [ \"10.0.1.1\" ]; }"
#define D2      "{ name = \"d2\"; port = \"p0\"; addresses = [ \"10.0.2.1\" ]; }"
#define BASE    WORKERS PORTS "devices = ( " D0 ", " D1 " );\n"

static struct config *load(const char *text)
{
	char path[] = "/tmp/roced-diff-XXXXXX";
	struct config *config = malloc(sizeof(*config));
	int fd = mkstemp(path);

	assert_true(fd >= 0 && config != NULL);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	assert_int_equal(config_load(path, config, stderr), 0);
	unlink(path);
	return config;
}

/* One difference, as people are told of it, without its place. */
struct expected {
	const char *text;
	enum config_when when;
};

static void expect(const char *from, const char *to, const struct expected *expected, uint32_t n)
{
	struct config *running = load(from), *config = load(to);
	struct config_changes changes;

	assert_int_equal(config_align(config, running), 0);
	assert_int_equal(config_compare(running, config, &changes), 0);
	for (uint32_t i = 0; i < n && i < changes.n; i++) {
		char *text = NULL;
		size_t bytes;
		FILE *out = open_memstream(&text, &bytes);

		changes.change[i].at.file = NULL;
		config_change_print(&changes.change[i], out);
		fclose(out);
		assert_string_equal(text, expected[i].text);
		assert_int_equal(changes.change[i].when, expected[i].when);
		free(text);
	}
	assert_int_equal(changes.n, n);
	config_changes_free(&changes);
	free(running);
	free(config);
}

#define EXPECT(from, to, ...) \
	do { \
		const struct expected list_[] = {__VA_ARGS__}; \
		expect(from, to, list_, sizeof(list_) / sizeof(list_[0])); \
	} while (0)

#define LIVE    CONFIG_WHEN_LIVE
#define RESTART CONFIG_WHEN_RESTART
#define UNUSED  CONFIG_WHEN_UNUSED

static void test_same(void **state)
{
	(void)state;
	expect(BASE, BASE, NULL, 0);
	/* what a file says and what is the default */
	expect(BASE, BASE "multipath = { evs = 64; };\nlimits = { max_qps = 1024; };\n", NULL, 0);
	/* the order of ports and devices is nobody's business */
	expect(BASE,
		WORKERS "ports = ( { name = \"p1\"; device = \"net_tap1\"; }, { name = \"p0\"; device = \"net_tap0\"; } );\n"
			"devices = ( " D1 ", " D0 " );\n",
		NULL, 0);
}

/* Each type of value, in a key that has it. */
static void test_values(void **state)
{
	(void)state;
	EXPECT(BASE, BASE "limits = { max_qps = 7; shm_bytes = 2097152L; };\n", {"limits.max_qps: 1024 becomes 7", LIVE},
		{"limits.shm_bytes: 1073741824 becomes 2097152", LIVE});
	EXPECT(BASE, BASE "multipath = { negotiate = false; scheduler = \"reps\"; };\n", {"multipath.negotiate: true becomes false", LIVE},
		{"multipath.scheduler: \"adaptive\" becomes \"reps\"", LIVE});
	EXPECT(BASE, BASE "congestion = { controller = \"swift\"; rate_mbps = 1000; };\n", {"congestion.rate_mbps: 0 becomes 1000", LIVE},
		{"congestion.controller: \"window\" becomes \"swift\"", LIVE});
	EXPECT(BASE, BASE "eal = { args = [ \"-m\", \"512\" ]; };\n", {"eal.args: [ ] becomes [ \"-m\", \"512\" ]", RESTART});
	EXPECT(BASE, BASE "control = { mode = \"0600\"; group = \"0\"; socket = \"/x\"; };\n",
		{"control.socket: \"/run/roced/roced.sock\" becomes \"/x\"", RESTART}, {"control.group: \"\" becomes \"0\"", LIVE},
		{"control.mode: \"0660\" becomes \"0600\"", LIVE});
	EXPECT(BASE,
		"workers = ( { lcore = 1; cpus = \"0-1\"; idle_sleep_us = 5; } );\n" PORTS "devices = ( " D0 ", " D1 " );\n",
		{"workers[1].cpus: \"\" becomes \"0-1\"", RESTART}, {"workers[1].idle_sleep_us: 200 becomes 5", LIVE});
	EXPECT(BASE,
		WORKERS PORTS "devices = ( { name = \"d0\"; port = \"p0\"; addresses = [ \"10.0.0.1\" ]; gateway4 = \"10.0.0.9\";\n"
			      "mac = \"02:00:00:00:00:05\"; mtu = 512; }, " D1 " );\n",
		{"devices[\"d0\"].gateway4: \"\" becomes \"10.0.0.9\"", LIVE}, {"devices[\"d0\"].mtu: 0 becomes 512", LIVE},
		{"devices[\"d0\"].mac: \"\" becomes \"02:00:00:00:00:05\"", UNUSED});
}

static void test_devices(void **state)
{
	(void)state;
	EXPECT(BASE, WORKERS PORTS "devices = ( " D0 ", " D1 ", " D2 " );\n", {"devices[\"d2\"]: added", LIVE});
	EXPECT(BASE, WORKERS PORTS "devices = ( " D1 " );\n", {"devices[\"d0\"]: removed", UNUSED});
	EXPECT(BASE, WORKERS PORTS "devices = ( " D2 ", " D1 " );\n", {"devices[\"d0\"]: removed", UNUSED}, {"devices[\"d2\"]: added", LIVE});
	EXPECT(BASE, WORKERS PORTS "devices = ( { name = \"d0\"; port = \"p1\"; addresses = [ \"10.0.0.1\" ]; }, " D1 " );\n",
		{"devices[\"d0\"].port: \"p0\" becomes \"p1\"", UNUSED});
	/* behind those that are there, GIDs get new numbers only */
	EXPECT(BASE,
		WORKERS PORTS "devices = ( { name = \"d0\"; port = \"p0\"; addresses = [ \"10.0.0.1\", \"fd00::1\" ]; }, " D1 " );\n",
		{"devices[\"d0\"].addresses: [ \"10.0.0.1/24\" ] becomes [ \"10.0.0.1/24\", \"fd00::1/64\" ]", LIVE});
	EXPECT(BASE,
		WORKERS PORTS "devices = ( { name = \"d0\"; port = \"p0\"; addresses = [ \"fd00::1\", \"10.0.0.1\" ]; }, " D1 " );\n",
		{"devices[\"d0\"].addresses: [ \"10.0.0.1/24\" ] becomes [ \"fd00::1/64\", \"10.0.0.1/24\" ]", UNUSED});
}

static void test_lists(void **state)
{
	static const char peers[] = BASE "multipath = { peers = ( \"10.0.0.0/24\", { network = \"10.0.1.0/24\"; evs = 8; } ); };\n";

	(void)state;
	EXPECT(BASE, peers, {"multipath.peers[\"10.0.0.0/24\"]: added", LIVE}, {"multipath.peers[\"10.0.1.0/24\"]: added", LIVE});
	EXPECT(peers, BASE "multipath = { peers = ( { network = \"10.0.1.0/24\"; evs = 16; } ); };\n",
		{"multipath.peers[\"10.0.0.0/24\"]: removed", LIVE}, {"multipath.peers[\"10.0.1.0/24\"].evs: 8 becomes 16", LIVE});
	/* the longest prefix counts, wherever it is */
	expect(peers, BASE "multipath = { peers = ( { network = \"10.0.1.0/24\"; evs = 8; }, \"10.0.0.0/24\" ); };\n", NULL, 0);
	EXPECT(BASE,
		WORKERS "ports = ( { name = \"p0\"; device = \"net_tap0\"; }, { name = \"p1\"; device = \"net_tap1\"; },\n"
			"{ name = \"p2\"; device = \"net_tap2\"; } );\ndevices = ( " D0 ", " D1 " );\n",
		{"workers[1].rx[\"p2\"]: added", RESTART}, {"ports[\"p2\"]: added", RESTART});
}

/* A place that a device leaves stays free, and the next new one takes one that nobody had. */
static void test_places(void **state)
{
	struct config *running = load(BASE), *next = load(WORKERS PORTS "devices = ( " D2 ", " D1 " );\n");

	(void)state;
	assert_int_equal(config_align(next, running), 0);
	assert_int_equal(next->n_devices, 3);
	assert_string_equal(next->devices[0].name, "");
	assert_string_equal(next->devices[1].name, "d1");
	assert_int_equal(next->devices[1].port_index, 1);
	assert_string_equal(next->devices[2].name, "d2");
	/* and one behind another: the place that was left is nobody's by now */
	config_copy(running, next);
	free(next);
	next = load(WORKERS PORTS "devices = ( " D0 ", " D2 " );\n");
	assert_int_equal(config_align(next, running), 0);
	assert_string_equal(next->devices[0].name, "d0");
	assert_string_equal(next->devices[1].name, "");
	assert_string_equal(next->devices[2].name, "d2");
	free(next);
	free(running);
}

/* Elements say where they were read from; a copy has the names of files itself. */
static void test_copy(void **state)
{
	struct config *config = load(BASE), *copy = malloc(sizeof(*copy));

	(void)state;
	assert_non_null(copy);
	config_copy(copy, config);
	assert_ptr_equal(copy->devices[1].at.file, copy->files[0]);
	assert_ptr_equal(copy->workers[0].rx[0].at.file, copy->files[0]);
	assert_string_equal(copy->files[0], config->files[0]);
	free(config);
	free(copy);
}

/* docs/configuration.md has the table as it is printed. */
static void test_docs(void **state)
{
	FILE *docs = fopen(getenv("ROCED_DOCS"), "re"), *out;
	char *table = NULL, line[2048];
	size_t bytes;
	char *at;

	(void)state;
	assert_non_null(docs);
	out = open_memstream(&table, &bytes);
	config_print_help(out, true);
	fclose(out);
	at = table;
	while (fgets(line, sizeof(line), docs) != NULL && strncmp(line, "| key | type |", 14) != 0)
		;
	do {
		size_t n = strcspn(at, "\n") + 1;
		char want[2048];

		snprintf(want, sizeof(want), "%.*s", (int)n, at);
		assert_string_equal(line, want);
		at += n;
	} while (*at != '\0' && fgets(line, sizeof(line), docs) != NULL);
	assert_int_equal(*at, '\0');
	fclose(docs);
	free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same), cmocka_unit_test(test_values), cmocka_unit_test(test_devices), cmocka_unit_test(test_lists),
		cmocka_unit_test(test_places), cmocka_unit_test(test_copy), cmocka_unit_test(test_docs)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
