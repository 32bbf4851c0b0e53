/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of the fault tests notice what they are for: each is shown a breach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim_check.h"
#include "sim_internal.h"

#define MAX_BYTES 9000u
#define LATE_NS   200000000ull

static struct sim_check check;

static struct sim_net *start(void)
{
	const struct sim_qp_config qp = {.type = TP_QPT_RC, .mtu = 1024, .sq_depth = 8, .timeout = 8, .retry_cnt = 7,
		.rnr_retry = 7, .min_rnr_timer = 1, .rd_atomic = 4};
	struct sim_config config = {.seed = 2, .l3_version = 4, .checked = true, .max_qps = 4};
	struct sim_net *net;

	fabric_config_default(&config.fabric);
	config.fabric.leaves = 1;
	config.fabric.hosts_per_leaf = 2;
	config.mem_bytes = sim_check_mem_bytes(MAX_BYTES);
	assert_int_equal(sim_net_create(&config, &net), 0);
	assert_int_equal(sim_check_create(net, 1, &check), 0);
	assert_int_equal(sim_check_pair(&check, 0, 0, 1, &qp, SIM_CHECK_OPS, MAX_BYTES), 0);
	return net;
}

static void stop(struct sim_net *net)
{
	sim_net_destroy(net);
	sim_check_destroy(&check);
}

static void expect(bool good, const char *says)
{
	assert_int_equal(sim_check_run(&check, LATE_NS), good);
	if (strstr(check.breach, says) == NULL)
		fail_msg("wanted \"%s\", told \"%s\"", says, check.breach);
}

static void test_all_well(void **state)
{
	struct sim_net *net = start();

	(void)state;
	assert_int_equal(sim_check_start(&check, 100000), 0);
	expect(true, "");
	assert_true(check.n_arrived > 10);
	assert_int_equal(check.n_lost, 0);
	stop(net);
}

/* The source changes while it is read: somebody gets other bytes than are there in the end. */
static void on_spoil(void *env, void *arg, uint64_t now_ps)
{
	(void)env;
	(void)now_ps;
	memset(arg, 0xff, 2 * MAX_BYTES);
}

static void test_wrong_byte(void **state)
{
	struct sim_net *net = start();

	(void)state;
	assert_int_equal(fabric_at(net->fabric, 4000, on_spoil, net->hosts[0].mem), 0);
	assert_int_equal(sim_check_start(&check, 100000), 0);
	expect(false, "byte");
	stop(net);
}

static void test_stuck(void **state)
{
	struct sim_net *net = start();

	(void)state;
	/* The rest of the receives comes after the end of time, and RNR NAKs are answered for ever. */
	assert_int_equal(sim_check_start(&check, 10 * LATE_NS), 0);
	expect(false, "stuck");
	stop(net);
}

static void test_failed_too_soon(void **state)
{
	struct fabric_fault cut = {.cut = true};
	struct sim_net *net = start();

	(void)state;
	assert_int_equal(sim_check_start(&check, 100000), 0);
	assert_int_equal(fabric_set_fault(net->fabric, 0, &cut, 0), 0);
	expect(false, "retries used up though the path was there");
	stop(net);
}

static void test_failure_allowed(void **state)
{
	struct fabric_fault cut = {.cut = true};
	struct sim_net *net = start();

	(void)state;
	check.pairs[0].min_fail_ns = 7 * (4096ull << 8);
	assert_int_equal(sim_check_start(&check, 100000), 0);
	assert_int_equal(fabric_set_fault(net->fabric, 0, &cut, 0), 0);
	expect(true, "");
	assert_int_equal(check.n_failed, 2);
	stop(net);
}

static void test_leak(void **state)
{
	struct sim_net *net = start();
	struct rte_mbuf *m = sim_buffer_take(&net->hosts[0]);

	(void)state;
	assert_int_equal(sim_check_start(&check, 100000), 0);
	expect(false, "1 packets are left over");
	sim_buffer_give(net, m);
	stop(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_well),
		cmocka_unit_test(test_wrong_byte),
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_failed_too_soon),
		cmocka_unit_test(test_failure_allowed),
		cmocka_unit_test(test_leak),
	};

	return cmocka_run_group_tests_name("sim-check", tests, NULL, NULL);
}
