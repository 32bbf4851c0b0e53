/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of scenarios: flows and their ends, bounds, chains, and that the same seed writes the same bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim_report.h"

static struct sim_scenario s;

/* 8 hosts on 2 leaves with 2 spines; one workload to be filled in. */
static struct sim_workload *small(enum sim_pattern pattern, enum sim_op op, uint64_t bytes)
{
	memset(&s, 0, sizeof(s));
	s.fabric.pods = 1;
	s.fabric.leaves = s.fabric.spines = 2;
	s.fabric.hosts_per_leaf = 4;
	s.fabric.buffer_bytes = 32 << 20;
	s.fabric.ecn_min_bytes = 100000;
	s.fabric.ecn_max_bytes = 400000;
	s.fabric.ecn_max_permille = 200;
	s.fabric.host_mbps = s.fabric.leaf_mbps = s.fabric.core_mbps = 100000;
	s.fabric.host_ns = s.fabric.leaf_ns = s.fabric.core_ns = 500;
	s.transport.service = TP_QPT_RC;
	s.transport.mtu = 4096;
	s.transport.window_pkts = 128;
	s.transport.timeout = 8;
	s.transport.retry_cnt = 7;
	s.transport.rd_atomic = 16;
	s.transport.ecn = true;
	s.limit_us = 10000000;
	s.n_workloads = 1;
	s.workloads[0].pattern = pattern;
	s.workloads[0].op = op;
	s.workloads[0].bytes = bytes;
	s.workloads[0].placement = SIM_SHUFFLED;
	s.workloads[0].senders = 3;
	s.workloads[0].tokens = 64;
	s.workloads[0].token_bytes = 1024;
	s.workloads[0].top_k = 2;
	s.workloads[0].load_percent = 40;
	s.workloads[0].duration_us = 200;
	return &s.workloads[0];
}

static void run(struct sim_run *r, uint64_t seed)
{
	assert_int_equal(sim_run(r, &s, seed, NULL, NULL), 0);
}

/* All flows of a run are done, none failed, none faster than alone, and the whole not faster than its bound. */
static void all_done(const struct sim_run *r)
{
	assert_true(r->n_flows > 0);
	assert_int_equal(r->n_done, r->n_flows);
	assert_int_equal(r->n_failed, 0);
	for (uint32_t i = 0; i < r->n_flows; i++)
		assert_true(r->flows[i].end_ns - r->flows[i].start_ns >= r->flows[i].ideal_ns);
	assert_true(r->end_ns >= r->bound_ns);
}

static void test_patterns(void **state)
{
	static const enum sim_op ops[] = {SIM_WRITE, SIM_SEND, SIM_READ};
	static const uint32_t flows[] = {
		[SIM_PERMUTATION] = 8, [SIM_INCAST] = 2 * 3, [SIM_ALL_TO_ALL] = 8 * 7, [SIM_RING] = 8 * 14};

	(void)state;
	for (int pattern = SIM_PERMUTATION; pattern <= SIM_MOE; pattern++) {
		for (int op = 0; op < 3; op++) {
			struct sim_run r;

			if (pattern == SIM_RING && ops[op] == SIM_READ)
				continue;
			small((enum sim_pattern)pattern, ops[op], 100000);
			run(&r, 3);
			all_done(&r);
			if (pattern <= SIM_RING)
				assert_int_equal(r.n_flows, flows[pattern]);
			sim_run_free(&r);
		}
	}
}

/* One flow alone takes what it takes alone: to within the start of the window, when acknowledgements are awaited. */
static void test_alone(void **state)
{
	struct sim_run r;

	(void)state;
	small(SIM_PERMUTATION, SIM_WRITE, 100000)->groups = 1;
	s.fabric.leaves = 1;
	s.fabric.spines = 0;
	s.fabric.hosts_per_leaf = 2;
	run(&r, 1);
	all_done(&r);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t ns = r.flows[i].end_ns - r.flows[i].start_ns;

		assert_in_range(ns, r.flows[i].ideal_ns, r.flows[i].ideal_ns * 102 / 100 + 400);
	}
	sim_run_free(&r);
}

/* Of two leaves, each host sends to all of the other one, too; returns how long it takes with so many spines, in ns. */
static uint64_t all_to_all_ns(uint32_t spines, uint64_t leaf_mbps, uint64_t *bound_ns)
{
	struct sim_run r;
	uint64_t ns;

	small(SIM_ALL_TO_ALL, SIM_WRITE, 400000);
	s.fabric.spines = spines;
	s.fabric.leaf_mbps = leaf_mbps;
	s.transport.selective = true;
	s.transport.scheduler = PATH_SCHED_ADAPTIVE;
	s.transport.n_evs = 64;
	run(&r, 1);
	all_done(&r);
	ns = r.end_ns;
	*bound_ns = r.bound_ns;
	sim_run_free(&r);
	return ns;
}

/* Oversubscription: what a leaf's hosts have for the other leaf is more than its uplinks carry, and those decide. */
static void test_oversubscribed(void **state)
{
	uint64_t full_ns, quarter_ns, slow_ns, full_bound_ns, bound_ns, slow_bound_ns;

	(void)state;
	full_ns = all_to_all_ns(4, 100000, &full_bound_ns);
	quarter_ns = all_to_all_ns(1, 100000, &bound_ns);
	slow_ns = all_to_all_ns(4, 25000, &slow_bound_ns);
	/* 4 hosts with 4 flows of 400,000 bytes each over 100 Gb/s, headers not counted */
	assert_true(bound_ns > 512000);
	assert_in_range(bound_ns, slow_bound_ns - 10000, slow_bound_ns + 10000);
	assert_true(full_bound_ns * 2 < bound_ns);
	assert_in_range(quarter_ns, bound_ns, bound_ns * 13 / 10);
	assert_in_range(slow_ns, slow_bound_ns, slow_bound_ns * 13 / 10);
	assert_true(full_ns < quarter_ns * 2 / 3);
}

static void test_each_sends_and_receives(void **state)
{
	uint32_t sends[8] = {0}, receives[8] = {0};
	struct sim_run r;

	(void)state;
	small(SIM_PERMUTATION, SIM_WRITE, 5000);
	run(&r, 4);
	for (uint32_t i = 0; i < r.n_flows; i++) {
		assert_int_not_equal(r.flows[i].src, r.flows[i].dst);
		sends[r.flows[i].src]++;
		receives[r.flows[i].dst]++;
	}
	for (int h = 0; h < 8; h++) {
		assert_int_equal(sends[h], 1);
		assert_int_equal(receives[h], 1);
	}
	sim_run_free(&r);
}

/* A step begins when the one before it has arrived, not before. */
static void test_ring_is_a_chain(void **state)
{
	struct sim_run r;

	(void)state;
	small(SIM_RING, SIM_SEND, 50000);
	run(&r, 5);
	all_done(&r);
	for (uint32_t i = 0; i < r.n_flows; i++) {
		const struct sim_flow *flow = &r.flows[i];

		if (flow->then == SIM_NONE)
			continue;
		assert_int_equal(r.flows[flow->then].src, flow->dst);
		assert_true(r.flows[flow->then].start_ns >= flow->start_ns + 4000);
	}
	/* 14 steps of 50,000 bytes at 100 Gb/s, one after the other. */
	assert_true(r.bound_ns > 14 * 4000);
	sim_run_free(&r);
}

/* Messages of unreliable services: done when all came; with loss, some flows never are, and the run ends still. */
static void test_unreliable(void **state)
{
	static const enum tp_qp_type types[] = {TP_QPT_UC, TP_QPT_UD};

	(void)state;
	for (int t = 0; t < 2; t++) {
		struct sim_run r;

		small(SIM_PERMUTATION, SIM_SEND, 200000)->message_bytes = 10000;
		s.transport.service = types[t];
		run(&r, 6);
		all_done(&r);
		sim_run_free(&r);
		s.n_faults = 1;
		s.faults[0] = (struct fk_fault){
			.place = {.host = 0, .leaf = FK_ANY, .spine = FK_ANY, .link = FK_ANY, .count = 8}, .lose_ppm = 20000};
		run(&r, 6);
		assert_true(r.n_done < r.n_flows);
		assert_int_equal(r.n_failed, 0);
		sim_run_free(&r);
	}
}

/* Cut off, a flow fails when its retries are used up, and its queue pair's later flows with it. */
static void test_failed(void **state)
{
	struct sim_run r;

	(void)state;
	small(SIM_PERMUTATION, SIM_WRITE, 2000000);
	s.transport.retry_cnt = 2;
	s.n_faults = 1;
	s.faults[0] = (struct fk_fault){.at_us = 20, .cut = true,
		.place = {.host = 3, .leaf = FK_ANY, .spine = FK_ANY, .link = FK_ANY, .count = 1}};
	run(&r, 6);
	assert_int_equal(r.n_done, 8);
	assert_int_equal(r.n_failed, 2);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(r.flows[i].failed, r.flows[i].src == 3 || r.flows[i].dst == 3);
	sim_run_free(&r);
}

/* ---- the same seed, the same bytes ---- */

static char *all_output(uint64_t seed, size_t *n)
{
	struct sim_result result;
	struct sim_run r;
	char *text = NULL;
	FILE *out = open_memstream(&text, n);

	run(&r, seed);
	assert_int_equal(sim_result_take(&r, &result), 0);
	sim_report_text(out, &result);
	sim_report_csv(out, &r, &result);
	sim_report_json(out, "a \"name\"", &result, 1);
	sim_svg(out, "a <name>", &result, 1);
	fclose(out);
	sim_result_free(&result);
	sim_run_free(&r);
	return text;
}

static void test_same_seed_same_bytes(void **state)
{
	size_t n[3];
	char *text[3];

	(void)state;
	small(SIM_POISSON, SIM_WRITE, 60000);
	s.n_faults = 1;
	s.faults[0] = (struct fk_fault){
		.place = {.host = FK_ANY, .leaf = FK_ANY, .spine = 0, .link = FK_ANY, .count = 2},
		.lose_ppm = 5000, .repeat_ppm = 5000, .delay_ppm = 5000, .delay_ns = 9000, .corrupt_ppm = 5000};
	text[0] = all_output(11, &n[0]);
	text[1] = all_output(11, &n[1]);
	text[2] = all_output(12, &n[2]);
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(text[0], text[1], n[0]);
	assert_true(n[0] != n[2] || memcmp(text[0], text[2], n[0]) != 0);
	assert_non_null(strstr(text[0], "digest"));
	for (int i = 0; i < 3; i++)
		free(text[i]);
}

static const struct cc_model some_model = {
	.first_packets = 4, .share_percent = 150, .n_trees = 1,
	.trees = {{.depth = 1, .split = {CC_SPLIT(CC_F_DELAY, 512)}, .leaf = {40, -80}}},
};

/* Under each congestion controller all flows end, in pairs and several to one host. */
static void test_controllers(void **state)
{
	static const enum sim_pattern patterns[] = {SIM_PERMUTATION, SIM_INCAST};

	(void)state;
	for (int kind = 0; kind < CC_KINDS; kind++) {
		for (int p = 0; p < 2; p++) {
			struct sim_run r;

			(void)small(patterns[p], SIM_WRITE, 200000);
			s.transport.selective = s.transport.controlled = true;
			s.transport.n_evs = 16;
			s.transport.congestion = (enum cc_kind)kind;
			s.congestion.dcqcn = cc_dcqcn_vendor;
			s.congestion.timely = cc_timely_default;
			s.congestion.swift = cc_swift_default;
			s.congestion.theta = cc_theta_default;
			s.congestion.predictive = cc_predictive_default;
			s.congestion.model = some_model;
			run(&r, 1);
			all_done(&r);
			sim_run_free(&r);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_oversubscribed),
		cmocka_unit_test(test_each_sends_and_receives),
		cmocka_unit_test(test_ring_is_a_chain),
		cmocka_unit_test(test_unreliable),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_same_seed_same_bytes),
		cmocka_unit_test(test_controllers),
	};

	return cmocka_run_group_tests_name("sim-run", tests, NULL, NULL);
}
