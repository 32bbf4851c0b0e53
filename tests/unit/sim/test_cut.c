/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config/sim/path-cut.conf: a spine is cut off, and the switches go on using it. Runs are deterministic, so what happens in
 * a part of one is the difference between two runs of other lengths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim_report.h"

#define CUT_US  200u
#define HEAL_US 700u
#define RTO_US  100u
#define END_US  1000000u

struct at {
	uint64_t lost, sent;        /* packets on cut links; packets of all hosts but acknowledgements */
	uint64_t spine[2];          /* bytes from leaves to spine 0, and to all others */
	struct sim_result result;
};

static void run_until(enum path_sched_kind kind, uint64_t limit_us, struct at *at)
{
	static struct sim_scenario s;
	struct fabric_port_stats stats;
	char path[512];
	struct sim_run run;

	snprintf(path, sizeof(path), "%s/sim/path-cut.conf", getenv("ROCED_CONFIG_DIR"));
	assert_int_equal(sim_scenario_load(path, &s, stderr), 0);
	s.transport.scheduler = kind;
	s.limit_us = limit_us;
	assert_int_equal(sim_run(&run, &s, 1, NULL, NULL), 0);
	assert_int_equal(sim_result_take(&run, &at->result), 0);
	at->lost = at->result.fabric.lost[FABRIC_LOSS_LINK];
	at->sent = at->result.tp.tx_pkts - at->result.tp.sacks_sent;
	at->spine[0] = at->spine[1] = 0;
	for (uint32_t i = 0; i < s.fabric.leaves * s.fabric.spines; i++) {
		uint32_t link = fabric_leaf_link(run.net->fabric, i / s.fabric.spines, i % s.fabric.spines);

		assert_int_equal(fabric_link_stats(run.net->fabric, link, 0, &stats), 0);
		at->spine[i % s.fabric.spines != 0] += stats.tx_bytes;
	}
	sim_result_free(&at->result);
	sim_run_free(&run);
}

static void test_left_and_taken_again(void **state)
{
	struct at cut, left, heal, end;

	(void)state;
	run_until(PATH_SCHED_ADAPTIVE, CUT_US, &cut);
	run_until(PATH_SCHED_ADAPTIVE, CUT_US + RTO_US, &left);
	run_until(PATH_SCHED_ADAPTIVE, HEAL_US, &heal);
	run_until(PATH_SCHED_ADAPTIVE, END_US, &end);
	assert_int_equal(cut.lost, 0);
	assert_true(left.lost > 50);
	/* An eighth of all ways is gone, and within an RTO hardly anything goes there: what does is the first on its EV. */
	assert_true((heal.lost - left.lost) * 100 < heal.sent - left.sent);
	/* Nothing is lost in the end. */
	assert_int_equal(end.result.n_ok, 16);
	assert_int_equal(end.result.tp.ack_timeouts, 0);
	/* And it carries its share of what is left, but for the time until it was probed. */
	assert_true(14 * (end.spine[0] - heal.spine[0]) > end.spine[1] - heal.spine[1]);
}

/* Who stays on one EV until it is dead leaves it just as soon. */
static void test_ecmp_moves(void **state)
{
	struct at left, heal, end;

	(void)state;
	run_until(PATH_SCHED_ECMP, CUT_US + RTO_US, &left);
	run_until(PATH_SCHED_ECMP, HEAL_US, &heal);
	run_until(PATH_SCHED_ECMP, END_US, &end);
	assert_true(left.lost > 50);
	assert_true(heal.lost - left.lost < 5);
	assert_int_equal(end.result.n_ok, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left_and_taken_again),
		cmocka_unit_test(test_ecmp_moves),
	};

	return cmocka_run_group_tests_name("sim-cut", tests, NULL, NULL);
}
