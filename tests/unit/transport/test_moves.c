/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that have not agreed to anything: a flow keeps to one path, in order, and leaves it by a timeout of its queue
 * pair. And a queue pair that sprays towards a peer which takes packets in order only goes back to what that peer can.
 */
#include "sr_kit.h"

#define BYTES (40 * MTU)

static struct hx_world *make_plain(bool move, hx_script script)
{
	struct hx_options o = {.move = move, .timeout = 8, .n_paths = 4, .path_ns = {0, 2 * US, 5 * US, 40 * US}};

	return make_with(o, script);
}

static uint32_t path_of_last(const struct hx_world *w, int from)
{
	return hx_path(w, hx_last(w, from)->udp_sport);
}

/* Ports that side has sent from. */
static uint32_t ports_of(const struct hx_world *w, int side)
{
	uint16_t seen[64];
	uint32_t n = 0, i, k;

	for (i = 0; i < w->n_log; i++) {
		if (w->log[i].from != side)
			continue;
		for (k = 0; k < n && seen[k] != w->log[i].pkt.udp_sport; k++)
			;
		if (k == n && n < 64)
			seen[n++] = w->log[i].pkt.udp_sport;
	}
	return n;
}

/* Requests in order of their PSNs, but for going back. */
static void assert_in_order(const struct hx_world *w)
{
	uint32_t next = PSN & BASE_PSN_MASK;

	for (uint32_t i = 0; i < w->n_log; i++) {
		if (w->log[i].from != 0)
			continue;
		assert_true(base_psn_diff(w->log[i].pkt.psn, next) <= 0);
		if (w->log[i].pkt.psn == next)
			next = base_psn_add(next, 1);
	}
}

static void write_once(struct hx_world *w)
{
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);

	pass_time(w, 2 * HX_S);
	expect_written(w, id, BYTES);
}

static void test_leaves_dead_path(void **state)
{
	struct hx_world *w = make_plain(true, NULL);
	uint32_t path;

	(void)state;
	write_once(w);
	assert_int_equal(ports_of(w, 0), 1);
	assert_int_equal(counters(w, 0)->moves, 0);
	path = path_of_last(w, 0);
	w->cut_paths = 1u << path;
	write_once(w);
	assert_int_not_equal(path_of_last(w, 0), path);
	assert_true(counters(w, 0)->moves >= 1);
	assert_int_equal(counters(w, 1)->reordered, 0);
	assert_in_order(w);
	/* and stays where it is */
	path = path_of_last(w, 0);
	write_once(w);
	assert_int_equal(path_of_last(w, 0), path);
	hx_free(w);
}

static void test_stays_without(void **state)
{
	struct hx_world *w = make_plain(false, NULL);
	uint64_t id;

	(void)state;
	write_once(w);
	w->cut_paths = 1u << path_of_last(w, 0);
	id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	pass_time(w, 2 * HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_RETRY_EXC_ERR);
	assert_int_equal(ports_of(w, 0), 1);
	assert_int_equal(counters(w, 0)->moves, 0);
	hx_free(w);
}

static uint16_t dead_port;

static enum hx_fate lose_port_of_answers(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)n;
	return from == 1 && pkt->udp_sport == dead_port ? HX_LOSE : HX_PASS;
}

/* Only the way back is cut: who asks again from another port is answered from another one. */
static void test_answers_follow(void **state)
{
	static const enum tp_wr_opcode ops[] = {TP_WR_WRITE, TP_WR_READ, TP_WR_FETCH_ADD};

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct hx_world *w = make_plain(true, lose_port_of_answers);
		uint64_t id;

		dead_port = 0;
		write_once(w);
		dead_port = hx_last(w, 1)->udp_sport;
		id = hx_op(w, ops[i], 0, 0, ops[i] == TP_WR_FETCH_ADD ? 8 : BYTES, DST);
		pass_time(w, 2 * HX_S);
		hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
		assert_true(counters(w, 1)->moves >= 1);
		assert_int_not_equal(hx_last(w, 1)->udp_sport, dead_port);
		hx_free(w);
	}
}

static enum hx_fate lose_some(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)pkt;
	return from == 0 && n % 7 == 3 ? HX_LOSE : HX_PASS;
}

/* A loss that the peer tells of is no reason to go elsewhere. */
static void test_stays_on_naks(void **state)
{
	struct hx_world *w = make_plain(true, lose_some);

	(void)state;
	for (int i = 0; i < 10; i++)
		write_once(w);
	assert_true(counters(w, 0)->seq_naks_received > 0);
	assert_true(ports_of(w, 0) <= 1 + counters(w, 0)->ack_timeouts);
	assert_int_equal(counters(w, 0)->moves, counters(w, 0)->ack_timeouts);
	assert_int_equal(ports_of(w, 1), 1 + counters(w, 1)->moves);
	hx_free(w);
}

/* A new connection of the same queue pair begins where its address says. */
static void test_reset_goes_home(void **state)
{
	struct hx_world *w = make_plain(true, NULL);
	uint16_t home;

	(void)state;
	write_once(w);
	home = hx_last(w, 0)->udp_sport;
	w->cut_paths = 1u << path_of_last(w, 0);
	write_once(w);
	assert_int_not_equal(hx_last(w, 0)->udp_sport, home);
	w->cut_paths = 0;
	for (int side = 0; side < 2; side++)
		assert_int_equal(hx_to_state(w, &w->side[side].qps[0], TP_QPS_RESET), 0);
	hx_connect(w, 0);
	write_once(w);
	assert_int_equal(hx_last(w, 0)->udp_sport, home);
	hx_free(w);
}

/* ---- a peer that has not agreed ---- */

static void test_falls_back(void **state)
{
	struct hx_world *w = make(NULL);

	(void)state;
	tp_qp_plain(w->side[1].tp, w->side[1].qps[0].qp);
	for (int i = 0; i < 5; i++)
		write_once(w);
	assert_true(counters(w, 0)->unagreed > 0);
	assert_true(counters(w, 0)->seq_naks_received > 0);
	assert_int_equal(hx_count(w, 1, WIRE_RC_SACK), 0);
	/* from then on it is an ordinary one, both ways */
	w->n_log = 0;
	write_once(w);
	assert_int_equal(ports_of(w, 0), 1);
	assert_int_equal(counters(w, 0)->unagreed, 1);
	hx_free(w);
}

/* What comes of it at the other end is counted and dropped. */
static void test_sack_unasked(void **state)
{
	struct hx_world *w = make(NULL);
	uint64_t id, drops = counters(w, 0)->drops[BASE_DROP_UNSUPPORTED];

	(void)state;
	tp_qp_plain(w->side[0].tp, w->side[0].qps[0].qp);
	id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	pass_time(w, 60 * HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_RETRY_EXC_ERR);
	assert_true(counters(w, 0)->unagreed > 0);
	assert_int_equal(counters(w, 0)->drops[BASE_DROP_UNSUPPORTED] - drops, counters(w, 0)->unagreed);
	hx_free(w);
}

/* Both ends give it up with messages on their way. */
static void test_plain_under_way(void **state)
{
	struct hx_world *w = make(NULL);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);

	(void)state;
	hx_run(w, 12 * US);
	for (int side = 0; side < 2; side++)
		tp_qp_plain(w->side[side].tp, w->side[side].qps[0].qp);
	pass_time(w, 10 * HX_S);
	expect_written(w, id, BYTES);
	write_once(w);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaves_dead_path),
		cmocka_unit_test(test_stays_without),
		cmocka_unit_test(test_answers_follow),
		cmocka_unit_test(test_stays_on_naks),
		cmocka_unit_test(test_reset_goes_home),
		cmocka_unit_test(test_falls_back),
		cmocka_unit_test(test_sack_unasked),
		cmocka_unit_test(test_plain_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
