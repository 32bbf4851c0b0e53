/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenario files: what is read, and what is said of those that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim_scenario.h"

static struct sim_scenario scenario;
static char told[4096];

/* Loads a text as a file; what was said is in `told`, with FILE for its name. */
static unsigned load(const char *text)
{
	char path[] = "/tmp/sim-scenario-XXXXXX", *err_text = NULL, *at;
	int fd = mkstemp(path);
	size_t n;
	FILE *err = open_memstream(&err_text, &n);
	unsigned errors;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	errors = sim_scenario_load(path, &scenario, err);
	fclose(err);
	snprintf(told, sizeof(told), "%s", err_text);
	while ((at = strstr(told, path)) != NULL) {
		memcpy(at, "FILE", 4);
		memmove(at + 4, at + strlen(path), strlen(at + strlen(path)) + 1);
	}
	free(err_text);
	unlink(path);
	return errors;
}

static void test_defaults(void **state)
{
	(void)state;
	assert_int_equal(load("workloads = ( { pattern = \"permutation\"; } );"), 0);
	assert_int_equal(scenario.fabric.leaves, 8);
	assert_int_equal(scenario.fabric.convergence_us, 1000000);
	assert_int_equal(scenario.transport.service, TP_QPT_RC);
	assert_true(scenario.transport.ecn);
	assert_true(scenario.transport.selective);
	assert_int_equal(scenario.transport.scheduler, PATH_SCHED_ADAPTIVE);
	assert_int_equal(scenario.transport.n_evs, 64);
	assert_true(scenario.transport.controlled);
	assert_int_equal(scenario.n_workloads, 1);
	assert_int_equal(scenario.workloads[0].pattern, SIM_PERMUTATION);
	assert_int_equal(scenario.workloads[0].op, SIM_WRITE);
	assert_int_equal(scenario.workloads[0].bytes, 2097152);
	assert_int_equal(scenario.n_seeds, 1);
}

static void test_all_of_it(void **state)
{
	(void)state;
	assert_int_equal(
		load("fabric = { pods = 2; leaves = 3; spines = 2; cores_per_spine = 1; hosts_per_leaf = 2; };\n"
		     "transport = { service = \"UC\"; mtu = 1024; };\n"
		     "workloads = ( { pattern = \"poisson\"; sizes = \"fbhdp\"; op = \"send\"; },\n"
		     "              { pattern = \"ring\"; placement = \"strided\"; } );\n"
		     "faults = ( { leaf = 5; spine = 1; cut = true; at_us = 5; until_us = 9; },\n"
		     "           { host = 10; count = 2; lose_ppm = 3; } );\n"
		     "seed = 9; seeds = 3;"),
		0);
	assert_int_equal(scenario.transport.service, TP_QPT_UC);
	assert_false(scenario.transport.selective);
	assert_int_equal(scenario.transport.scheduler, PATH_SCHED_ECMP);
	assert_string_equal(scenario.workloads[0].sizes_name, "fbhdp");
	assert_non_null(scenario.workloads[0].sizes);
	assert_int_equal(scenario.workloads[1].placement, SIM_STRIDED);
	assert_int_equal(scenario.n_faults, 2);
	assert_int_equal(scenario.faults[0].place.host, FK_ANY);
	assert_int_equal(scenario.faults[1].place.count, 2);
}

static void test_errors(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{"fabric = { };", "FILE:1: key 'workloads' is missing"},
		{"workloads = ( { pattern = \"permutation\";\n bites = 5; } );",
			"FILE:2: workloads[0]: unknown key 'bites', did you mean 'bytes'?"},
		{"\n\nworkloads = ( { pattern = \"star\"; } );",
			"FILE:3: pattern: \"star\" is wrong, must be permutation, incast, all-to-all, ring, poisson or "
			"moe"},
		{"fabric = {\n leaves = 0; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE:2: fabric.leaves: 0 is out of range, must be 1 to 1048576"},
		{"transport = { scheduler = \"best\"; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE: transport.scheduler: \"best\" is wrong, must be adaptive, ecmp, round_robin, flowlet, plb, reps, "
			"bitmap, mixed or weighted"},
		{"transport = { recovery = \"none\"; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE: transport.recovery: \"none\" is wrong, must be go-back-n or selective"},
		{"transport = { recovery = \"go-back-n\"; scheduler = \"reps\"; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE: transport.scheduler: \"reps\" needs RC with selective repeat"},
		{"transport = { service = \"UC\"; scheduler = \"adaptive\"; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE: transport.scheduler: \"adaptive\" needs RC with selective repeat"},
		{"transport = { service = \"UD\"; recovery = \"selective\"; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE: transport.recovery: only RC sends again what is lost"},
		{"transport = { recovery = \"go-back-n\"; congestion = \"nscc\"; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE: transport.congestion: \"nscc\" needs RC with selective repeat"},
		{"transport = { congestion = \"cubic\"; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE: transport.congestion: \"cubic\" is wrong, must be window, none, dcqcn, timely, swift, "
			"theta-powertcp, nscc, predictive or learned"},
		{"transport = { congestion = \"swift\"; };\nswift = { scale_min = 5; scale_max = 5; };\n"
		 "workloads = ( { pattern = \"ring\"; } );",
			"FILE: transport.congestion: the numbers of \"swift\" do not fit"},
		{"transport = { congestion = \"learned\"; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE: learned.model: is missing, must be the file of a model"},
		{"transport = { congestion = \"learned\"; };\nlearned = { model = \"/nonexistent/x.model\"; };\n"
		 "workloads = ( { pattern = \"ring\"; } );",
			"/nonexistent/x.model: cannot read: No such file or directory"},
		{"transport = { congestion = \"learned\"; };\nlearned = { model = \"nothing-of-this-name\"; };\n"
		 "workloads = ( { pattern = \"ring\"; } );",
			"/tmp/nothing-of-this-name: cannot read: No such file or directory"},
		{"dcqcn = { preset = \"mine\"; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE: dcqcn.preset: \"mine\" is wrong, must be vendor, paper or simulator"},
		{"transport = { evs = 65; };\nworkloads = ( { pattern = \"ring\"; } );", "evs"},
		{"transport = { service = \"UD\"; };\nworkloads = ( { pattern = \"permutation\"; op = \"read\"; } );",
			"FILE:2: op: only RC can read"},
		{"workloads = ( { pattern = \"incast\"; senders = 128; } );",
			"FILE:1: senders: there are 128 hosts, so at most 127 can send to one"},
		{"workloads = ( { pattern = \"ring\"; } );\nfaults = ( { cut = true; } );",
			"FILE:2: needs a host, leaf, spine or link"},
		{"workloads = ( { pattern = \"ring\"; } );\nfaults = ( { spine = 15; count = 2; } );",
			"FILE:2: spine: there are 16, so 15 with count 2 is too high"},
		{"workloads = ( { pattern = \"ring\"; } );\nfaults = ( { host = 1; at_us = 5; until_us = 5; } );",
			"FILE:2: until_us: is not after at_us"},
		{"fabric = { pods = 2; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE: fabric.cores_per_spine: several pods need cores"},
		{"workloads = ( { pattern = \"ring\"; bytes = 4294967296L; } );", "FILE:1: message_bytes: is needed"},
		{"workloads = ( {", "FILE:1: syntax error"},
		{"workloads = ( { pattern = \"ring\"; } );\nfaults = ( { host = 1; link = 2; cut = true; } );",
			"FILE:2: one place at a time"},
		{"fabric = { pfc_priorities = 8; pfc_xoff_bytes = 0; pfc_xon_bytes = 0; };\nworkloads = ( { pattern = \"ring\"; } );",
			"FILE: fabric.pfc_xoff_bytes: must be above 0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_not_equal(load(wrong[i].text), 0);
		if (strstr(told, wrong[i].says) == NULL)
			fail_msg("wanted \"%s\", told \"%s\"", wrong[i].says, told);
	}
}

/* What cannot be carried out is told before, with what is too much: nothing is cut off or wraps around in silence. */
static void test_sizes(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{"fabric = { leaves = 1; spines = 0; hosts_per_leaf = 1; };\nworkloads = ( { pattern = \"permutation\"; } );",
			"FILE: fabric: has 1 hosts, must be 2 to 65536"},
		{"fabric = { hosts_per_leaf = 8193; };\nworkloads = ( { pattern = \"permutation\"; } );",
			"FILE: fabric: has 65544 hosts, must be 2 to 65536"},
		{"fabric = { leaves = 1048576; hosts_per_leaf = 1048576; };\nworkloads = ( { pattern = \"permutation\"; } );",
			"FILE: fabric: is too large, with 1099511627776 hosts, 16777216 links of leaves to spines"},
		{"fabric = { host_ns = 125000001; leaf_ns = 0; };\nworkloads = ( { pattern = \"permutation\"; } );",
			"FILE: fabric: a round trip takes 500000004 ns, must be 500000000 at most"},
		{"workloads = ( { pattern = \"all-to-all\"; group_size = 129; } );",
			"FILE:1: group_size: 129 is wrong, must be 0 or 2 to 128"},
		{"workloads = ( { pattern = \"ring\"; group_size = 1; } );", "FILE:1: group_size: 1 is wrong"},
		/* 2^32 messages would be counted as none */
		{"workloads = ( { pattern = \"permutation\"; bytes = 4294967296L; message_bytes = 1; } );",
			"FILE:1: message_bytes: a flow of 4294967296 bytes in messages of 1 has too many, must be 4294967294 at "
			"most"},
		{"transport = { service = \"UD\"; mtu = 256; };\n"
		 "workloads = ( { pattern = \"permutation\"; bytes = 1099511627776L; } );",
			"FILE:2: bytes: a flow of 1099511627776 bytes in messages of 256 has too many"},
		{"workloads = ( { pattern = \"moe\"; tokens = 1048576; token_bytes = 2049; } );",
			"FILE:1: message_bytes: is needed, a message has at most 2147483648 bytes and a flow may have 2148532224"},
		{"workloads = ( { pattern = \"poisson\"; bytes = 1; duration_us = 1000000000L; } );",
			"FILE:1: workloads[0]: has about 800000000000000 flows, must be 16777216 at most"},
		{"workloads = ( { pattern = \"ring\"; steps = 131073; } );",
			"FILE:1: workloads[0]: has about 16777344 flows"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_not_equal(load(wrong[i].text), 0);
		if (strstr(told, wrong[i].says) == NULL)
			fail_msg("wanted \"%s\", told \"%s\"", wrong[i].says, told);
	}
	/* An entry of another type is one mistake. */
	assert_int_equal(load("workloads = ( 3 );"), 1);
	assert_int_equal(load("fabric = { hosts_per_leaf = 8192; };\nworkloads = ( { pattern = \"permutation\"; } );"), 0);
	assert_int_equal(load("workloads = ( { pattern = \"permutation\"; bytes = 4294967294L; message_bytes = 1; } );"), 0);
	assert_int_equal(load("workloads = ( { pattern = \"ring\"; steps = 131072; } );"), 0);
}

/* Loads a scenario with such a model in a file of its own; what was said is in `told`, with MODEL for its name. */
static unsigned load_model(const char *model)
{
	char path[] = "/tmp/sim-model-XXXXXX", text[256], *at;
	int fd = mkstemp(path);
	unsigned errors;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, model, strlen(model)), strlen(model));
	close(fd);
	snprintf(text, sizeof(text),
		"transport = { congestion = \"learned\"; };\nlearned = { model = \"%s\"; };\nworkloads = ( { pattern = \"ring\"; } );",
		strrchr(path, '/') + 1);
	errors = load(text);
	unlink(path);
	while ((at = strstr(told, path)) != NULL) {
		memcpy(at, "MODEL", 5);
		memmove(at + 5, at + strlen(path), strlen(at + strlen(path)) + 1);
	}
	return errors;
}

/* It lies beside the scenario. */
static void test_model(void **state)
{
	(void)state;
	assert_int_equal(load_model("roced-cc-model 1\nfirst_packets 7\nshare_percent 90\ntrees 1\ntree 1\n"
				    "split delay 9\nleaf 8\nleaf -7\nend\n"), 0);
	assert_int_equal(scenario.transport.congestion, CC_LEARNED);
	assert_int_equal(scenario.congestion.model.first_packets, 7);
	assert_int_equal(scenario.congestion.model.trees[0].leaf[1], -7);
	assert_int_equal(load_model("roced-cc-model 1\nfirst_packets no\n"), 1);
	assert_string_equal(told, "MODEL:2: \"no\" is wrong, must be a whole number from 0 to 65536\n");
	/* What is not used is not read. */
	assert_int_equal(load("learned = { model = \"/nonexistent\"; };\nworkloads = ( { pattern = \"ring\"; } );"), 0);
}

static void test_no_file(void **state)
{
	char *text = NULL;
	size_t n;
	FILE *err = open_memstream(&text, &n);

	(void)state;
	assert_int_equal(sim_scenario_load("/nonexistent/x.conf", &scenario, err), 1);
	fclose(err);
	assert_string_equal(text, "/nonexistent/x.conf: cannot read: No such file or directory\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_of_it),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests_name("sim-scenario", tests, NULL, NULL);
}
