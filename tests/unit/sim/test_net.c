/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts on a fabric: frames as a receiver would have them, congestion marks, damage, pacing, buffers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"
#include "sim_internal.h"

#define MTU      4096u
#define MEM      (1u << 20)
#define N_WRITES 8u
#define BYTES    65536u

static struct sim_qp ends[2];
static uint32_t posted, done, failed;
static uint64_t most_queued;

static int send_fetch(struct sim_qp *qp, struct tp_send_wqe *slot)
{
	struct tp_sge *sge = (struct tp_sge *)(void *)(slot + 1);
	uint64_t queued = fabric_queued_bytes(qp->host->net->fabric, qp->host->id);

	most_queued = queued > most_queued ? queued : most_queued;
	if (qp == &ends[1] || posted == N_WRITES)
		return 0;
	slot->wr_id = posted++;
	slot->opcode = TP_WR_WRITE;
	slot->num_sge = 1;
	slot->remote_addr = SIM_IOVA;
	slot->rkey = qp->peer->key;
	*sge = (struct tp_sge){.addr = SIM_IOVA, .bytes = BYTES, .lkey = qp->host->key};
	return 1;
}

static int recv_fetch(struct sim_qp *qp, struct tp_recv_wqe *slot)
{
	(void)qp;
	(void)slot;
	return 0;
}

static void sent(struct sim_qp *qp, const struct tp_cqe *cqe)
{
	(void)qp;
	done++;
	failed += cqe->status != TP_WC_SUCCESS;
}

static void received(struct sim_qp *qp, const struct tp_cqe *cqe)
{
	(void)qp;
	(void)cqe;
	fail_msg("nobody receives here");
}

static const struct sim_user user = {send_fetch, recv_fetch, sent, received};

static struct sim_net *start(struct sim_config *config)
{
	const struct sim_qp_config qp = {.type = TP_QPT_RC, .mtu = MTU, .sq_depth = 16, .timeout = 8, .retry_cnt = 7,
		.rnr_retry = 7, .min_rnr_timer = 1, .rd_atomic = 4};
	struct sim_net *net;

	posted = done = failed = 0;
	most_queued = 0;
	config->max_qps = 4;
	config->mem_bytes = MEM;
	assert_int_equal(sim_net_create(config, &net), 0);
	assert_int_equal(sim_qp_pair(&net->hosts[0], &net->hosts[3], &qp, ends), 0);
	for (int i = 0; i < 2; i++)
		ends[i].user = &user;
	if (config->checked)
		memset(net->hosts[0].mem, 0x5a, BYTES);
	sim_qp_kick(&ends[0]);
	return net;
}

static void two_leaves(struct sim_config *config)
{
	*config = (struct sim_config){.seed = 5, .l3_version = 4, .ecn = true};
	fabric_config_default(&config->fabric);
	config->fabric.leaves = 2;
	config->fabric.spines = 2;
	config->fabric.hosts_per_leaf = 2;
}

static void finish(struct sim_net *net)
{
	sim_net_run(net, 10000000000, NULL, NULL);
	assert_int_equal(done, N_WRITES);
	assert_int_equal(failed, 0);
	assert_int_equal(net->n_buffers, 0);
	if (net->config.checked)
		assert_memory_equal(net->hosts[3].mem, net->hosts[0].mem, BYTES);
}

static void test_checked(void **state)
{
	struct sim_config config;
	struct sim_net *net;

	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		two_leaves(&config);
		config.checked = true;
		config.l3_version = v6 ? 6 : 4;
		net = start(&config);
		finish(net);
		assert_int_equal(net->bad_frames, 0);
		sim_net_destroy(net);
	}
}

/* Payload elided or real, the same packets arrive at the same times. */
static void test_elided_is_the_same(void **state)
{
	struct sim_config config;
	struct sim_net *net;
	uint64_t digest;

	(void)state;
	two_leaves(&config);
	net = start(&config);
	finish(net);
	digest = net->digest;
	sim_net_destroy(net);
	config.checked = true;
	net = start(&config);
	finish(net);
	assert_true(net->digest == digest);
	sim_net_destroy(net);
}

/* Between the queue and the wire there are two packets at most: one about to go, one behind it. */
static void test_paced_by_the_link(void **state)
{
	struct sim_config config;
	struct sim_net *net;
	struct fabric_port_stats up;

	(void)state;
	two_leaves(&config);
	config.window_pkts = 1024;
	net = start(&config);
	finish(net);
	assert_true(most_queued <= 2 * (MTU + 128));
	assert_int_equal(fabric_link_stats(net->fabric, 0, 0, &up), 0);
	assert_true(up.max_queue_bytes <= 2 * (MTU + 128));
	sim_net_destroy(net);
}

/* Two flows of different hosts into one: queues grow, packets are marked, and still parse with a right checksum. */
static void test_marks(void **state)
{
	struct sim_config config;
	struct fabric_port_stats stats;
	struct sim_net *net;

	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		two_leaves(&config);
		config.checked = true;
		config.l3_version = v6 ? 6 : 4;
		config.fabric.sw.ecn.min_bytes = config.fabric.sw.ecn.max_bytes = 4500;
		config.fabric.leaf_link.rate_mbps = 50000;
		net = start(&config);
		finish(net);
		fabric_stats(net->fabric, &stats);
		assert_true(stats.marked > 10);
		assert_int_equal(net->bad_frames, 0);
		sim_net_destroy(net);
	}
}

/* What a link damages does not get past the checks, and is sent again. */
static void test_damage(void **state)
{
	struct fabric_fault damage = {.corrupt_ppm = 50000};
	struct tp_counters counters;
	struct sim_config config;
	struct sim_net *net;

	(void)state;
	for (int checked = 0; checked < 2; checked++) {
		two_leaves(&config);
		config.checked = checked != 0;
		net = start(&config);
		assert_int_equal(fabric_set_fault(net->fabric, 0, &damage, 0), 0);
		finish(net);
		sim_net_counters(net, &counters);
		assert_true(net->bad_frames > 0);
		assert_true(counters.retransmits > 0);
		sim_net_destroy(net);
	}
}

static void test_few_buffers(void **state)
{
	struct sim_config config;
	struct sim_net *net;

	(void)state;
	two_leaves(&config);
	config.checked = true;
	config.max_buffers = 3;
	config.poll_ns = 2000;
	net = start(&config);
	finish(net);
	sim_net_destroy(net);
}

/* Cut off for good: as many timeouts as there are retries, then the work comes back; nothing is left behind. */
static void test_cut_off(void **state)
{
	struct fabric_fault cut = {.cut = true};
	struct sim_config config;
	struct sim_net *net;

	(void)state;
	two_leaves(&config);
	net = start(&config);
	assert_int_equal(fabric_set_fault(net->fabric, 0, &cut, 0), 0);
	sim_net_run(net, 10000000000, NULL, NULL);
	assert_int_equal(done, N_WRITES);
	assert_int_equal(failed, N_WRITES);
	assert_int_equal(net->n_buffers, 0);
	assert_true(net->now_ns > 8 * (4096ull << 8));
	sim_net_destroy(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checked),
		cmocka_unit_test(test_elided_is_the_same),
		cmocka_unit_test(test_paced_by_the_link),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_few_buffers),
		cmocka_unit_test(test_cut_off),
	};

	return cmocka_run_group_tests_name("sim-net", tests, NULL, NULL);
}
