/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective repeat: answers that are missing, receivers that are not ready, paths that are cut and come back.
 */
#include "sr_kit.h"
#include "tp_ext.h"

#define BYTES (100 * MTU)

/* ---- answers ---- */

static enum hx_fate lose_answers(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	bool answer = wire_op_is(wire_opinfo(pkt->opcode), WIRE_OP_READ_RESP);
	uint32_t at = (pkt->psn - PSN) & BASE_PSN_MASK;

	(void)w;
	return from == 1 && answer && n < 34 && (at == 5 || at == 9 || at == 10 || at == 20) ? HX_LOSE : HX_PASS;
}

/* Only the holes are asked for, all of them at once. */
static void test_read_holes(void **state)
{
	struct hx_world *w = make(lose_answers);
	uint64_t id = hx_op(w, TP_WR_READ, 0, DST, 32 * MTU, 0);
	uint32_t requests = 0, answers = 0;

	(void)state;
	hx_run(w, 50 * HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_memory_equal(w->side[0].mem + DST, w->side[1].mem, 32 * MTU);
	for (uint32_t i = 0; i < w->n_log; i++) {
		requests += w->log[i].pkt.opcode == WIRE_RC_READ_REQUEST;
		answers += wire_op_is(wire_opinfo(w->log[i].pkt.opcode), WIRE_OP_READ_RESP);
	}
	assert_int_equal(requests, 1 + 3);
	assert_int_equal(answers, 32 + 4);
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	hx_free(w);
}

static void test_reads_reordered(void **state)
{
	struct hx_world *w = make(NULL);
	uint64_t id = hx_op(w, TP_WR_READ, 0, DST, 200 * MTU, 0);

	(void)state;
	hx_run(w, 50 * HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_memory_equal(w->side[0].mem + DST, w->side[1].mem, 200 * MTU);
	assert_int_equal(counters(w, 0)->retransmits, 0);
	assert_int_equal(hx_count(w, 0, WIRE_RC_READ_REQUEST), (200 + 31) / 32);
	hx_free(w);
}

static enum hx_fate lose_first_answers(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	/* What acknowledges the request arrives, its answer does not. */
	return from == 1 && n < 3 && pkt->opcode != WIRE_RC_SACK ? HX_LOSE : HX_PASS;
}

/* An atomic is done once, though its answer is asked for again. */
static void test_atomic_answer_lost(void **state)
{
	struct hx_world *w = make(lose_first_answers);
	uint64_t id = hx_op(w, TP_WR_FETCH_ADD, 0, DST, 8, DST), write;
	uint64_t before, after;

	(void)state;
	write = hx_op(w, TP_WR_WRITE, 0, 0, MTU, DST + 64);
	memcpy(&before, w->side[1].mem + DST, 8);
	hx_run(w, 50 * HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	hx_expect(&w->side[0].send_cq, write, TP_WC_SUCCESS);
	memcpy(&after, w->side[1].mem + DST, 8);
	assert_int_equal(after, before); /* adds 0 */
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	assert_int_equal(hx_count(w, 0, WIRE_RC_FETCH_ADD), 2);
	hx_free(w);
}

/* ---- NAKs as ever ---- */

static void test_rnr(void **state)
{
	struct hx_world *w = make(NULL);
	const struct hx_piece to = {DST, BYTES};
	uint64_t send = hx_op(w, TP_WR_SEND, 0, 0, BYTES, 0), recv;

	(void)state;
	hx_run(w, 100 * US);
	assert_true(counters(w, 0)->rnr_naks_received > 0);
	recv = hx_recv(&w->side[1].qps[0], &to, 1);
	hx_run(w, 50 * HX_MS);
	hx_expect(&w->side[0].send_cq, send, TP_WC_SUCCESS);
	hx_expect(&w->side[1].recv_cq, recv, TP_WC_SUCCESS);
	assert_memory_equal(w->side[1].mem + DST, w->side[0].mem, BYTES);
	/* What came behind it was kept. */
	assert_true(counters(w, 0)->retransmits < 20);
	hx_free(w);
}

static void test_access_error(void **state)
{
	struct hx_world *w = make(NULL);
	uint64_t write = hx_op(w, TP_WR_WRITE, 0, 0, MTU, DST), bad, behind;

	(void)state;
	bad = hx_op(w, TP_WR_WRITE, 0, 0, MTU, HX_MEM_BYTES);
	behind = hx_op(w, TP_WR_WRITE, 0, 0, 20 * MTU, DST);
	hx_run(w, 50 * HX_MS);
	hx_expect(&w->side[0].send_cq, write, TP_WC_SUCCESS);
	hx_expect(&w->side[0].send_cq, bad, TP_WC_REM_ACCESS_ERR);
	hx_expect(&w->side[0].send_cq, behind, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(hx_state(&w->side[0].qps[0]), TP_QPS_ERR);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_ERR);
	assert_int_equal(w->frames_out, 0);
	hx_free(w);
}

/* ---- paths ---- */

/* Nothing comes back: the timeout and the retries of the queue pair bound all of it. */
/* ---- what waits for a packet that does not come ---- */

static enum hx_fate lose_for_long(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)n;
	return from == 0 && pkt->psn == ((PSN + 3) & BASE_PSN_MASK) && w->now_ns < 3 * HX_S ? HX_LOSE : HX_PASS;
}

/* The peer has given up, and never says so: what was kept of its packets is let go. */
static void test_peer_gone(void **state)
{
	struct hx_options o = {.ext = true, .timeout = 8};
	struct hx_world *w = make_with(o, lose_for_long);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, 20 * MTU, DST);

	(void)state;
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_RETRY_EXC_ERR);
	assert_true(w->frames_out > 10);
	hx_run(w, 10 * HX_S);
	assert_int_equal(w->frames_out, 0);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_RTS);
	hx_free(w);
}

/* The same peer, which never gives up: it sends again what it was told of as kept, even without an ACK timer. */
static void test_forgotten_comes_again(void **state)
{
	struct hx_options o = {.ext = true, .timeout = HX_ZERO};
	struct hx_world *w = make_with(o, lose_for_long);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, 20 * MTU, DST);

	(void)state;
	hx_run(w, 10 * HX_S);
	expect_written(w, id, 20 * MTU);
	assert_int_equal(w->frames_out, 0);
	hx_free(w);
}

static void test_all_paths_cut(void **state)
{
	struct hx_options o = {.ext = true, .n_paths = 4, .timeout = 8, .retry_cnt = 3};
	struct hx_world *w = make_with(o, NULL);
	uint64_t from_ns = w->now_ns, id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);

	(void)state;
	w->cut_paths = 15;
	while (w->side[0].send_cq.n == 0 && w->now_ns < from_ns + HX_S)
		pass_time(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_RETRY_EXC_ERR);
	assert_int_equal(counters(w, 0)->ack_timeouts, 4);
	/* 9.7.6.1.3: between the interval and four times that, each time. */
	assert_in_range(w->now_ns - from_ns, 4 * (4096u << 8), 16 * (4096u << 8) + 2 * HX_MS);
	hx_free(w);
}

static uint64_t pump(struct hx_world *w, uint32_t n)
{
	uint64_t from_ns = w->now_ns;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, 400 * MTU, DST);
		uint32_t before = w->side[0].send_cq.n;

		/* Has room for so many only. */
		w->n_log = w->n_log > HX_MAX_LOG / 2 ? 1 : w->n_log;

		memset(w->side[1].mem + DST, 0, 400 * MTU);
		while (w->side[0].send_cq.n == before && w->now_ns < from_ns + HX_S)
			pass_time(w, 10 * US);
		expect_written(w, id, 400 * MTU);
	}
	return w->now_ns - from_ns;
}

/* One of four paths is cut: it is left, all completes, and it is used again when it is back. */
static void test_path_cut(void **state)
{
	struct hx_options o = {.ext = true, .n_paths = 4, .n_evs = 16, .path_ns = {0, US, 2 * US, 3 * US}};
	struct hx_world *w = make_with(o, NULL);
	uint32_t lost, on_path = 0;

	(void)state;
	pump(w, 20);
	assert_int_equal(w->path_lost, 0);
	w->cut_paths = 1u << 2;
	pump(w, 10);
	lost = w->path_lost;
	assert_true(lost > 0);
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	/* From then on only probes go there. */
	pump(w, 50);
	print_message("lost by the cut: %u, by the probes after it: %u\n", lost, w->path_lost - lost);
	assert_true(lost < 128);
	assert_true(w->path_lost - lost < 64);
	assert_true(counters(w, 0)->probes > 0);
	w->cut_paths = 0;
	pump(w, 200);
	w->n_log = 1;
	pump(w, 20);
	for (uint32_t i = 0; i < w->n_log; i++)
		on_path += w->log[i].from == 0 && hx_path(w, w->log[i].pkt.udp_sport) == 2;
	assert_true(on_path > 100);
	hx_free(w);
}

/* The longest time from the first sending of a PSN of side 0 to the latest one. */
static uint64_t longest_wait_ns(const struct hx_world *w)
{
	uint64_t most_ns = 0;

	for (uint32_t i = 0; i < w->n_log; i++) {
		for (uint32_t k = i + 1; w->log[i].from == 0 && k < w->n_log; k++) {
			if (w->log[k].from == 0 && w->log[k].pkt.psn == w->log[i].pkt.psn &&
				w->log[k].pkt.udp_sport != w->log[i].pkt.udp_sport)
				most_ns = RTE_MAX(most_ns, w->log[k].at_ns - w->log[i].at_ns);
		}
	}
	return most_ns;
}

/*
 * A path that is dead before the first packet. The data itself finds it out: each EV that leads there loses what it was
 * given and is dead, and no packet waits longer than the first timeout.
 */
static void test_dead_from_the_start(void **state)
{
	static const enum path_sched_kind kinds[] = {PATH_SCHED_ADAPTIVE, PATH_SCHED_MIXED, PATH_SCHED_REPS,
		PATH_SCHED_BITMAP, PATH_SCHED_ROUND_ROBIN, PATH_SCHED_WEIGHTED};

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct hx_options o = {.ext = true, .n_paths = 4, .n_evs = 16, .sched = kinds[k]};
		struct hx_world *w = make_with(o, NULL);
		uint32_t used = 0, dead = 0;
		struct tp_paths paths;

		w->cut_paths = 1u << 2;
		pump(w, 1);
		assert_true(longest_wait_ns(w) <= HX_MS);
		pump(w, 9);
		assert_int_equal(counters(w, 0)->ack_timeouts, 0);
		assert_int_equal(tp_qp_paths(w->side[0].qps[0].qp, &paths), 0);
		for (uint32_t i = 0; i < paths.n; i++) {
			bool cut = hx_path(w, paths.path[i].udp_sport) == 2;

			used += paths.path[i].sent != 0;
			dead += !paths.path[i].stats.alive;
			if (!cut)
				assert_true(paths.path[i].stats.alive);
			else if (paths.path[i].sent > 1)
				assert_false(paths.path[i].stats.alive);
		}
		print_message("%s: %u of 16 EVs used, %u dead, longest wait %u us\n", paths.scheduler, used, dead,
			(uint32_t)(longest_wait_ns(w) / 1000));
		assert_true(dead > 0);
		hx_free(w);
	}
}

/* As many packets as may be are kept by all: what finds no place is sent again, and nobody is told that it came. */
static void test_no_place(void **state)
{
	struct hx_options o = {.ext = true, .n_paths = 4, .path_ns = {0, 2 * US, 5 * US, 40 * US}, .held = 3};
	struct hx_world *w = make_with(o, NULL);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);

	(void)state;
	hx_run(w, 500 * HX_MS);
	expect_written(w, id, BYTES);
	assert_int_equal(counters(w, 1)->seq_naks_sent, 0);
	hx_free(w);
}

/*
 * A path so full that its round trip is far above the timeout: what was taken as lost too early tells the time all the same, by
 * the EV that it was sent on first, so that the next ones have a timeout that fits. Without that each round sends all again.
 */
static void test_timeout_learns(void **state)
{
	struct hx_options o = {.ext = true, .n_paths = 4, .latency_ns = 4 * HX_MS, .timeout = 20};
	struct hx_world *w = make_with(o, NULL);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	uint32_t before;

	(void)state;
	hx_run(w, 500 * HX_MS);
	expect_written(w, id, BYTES);
	before = (uint32_t)counters(w, 0)->retransmits;
	id = hx_op(w, TP_WR_WRITE, 0, 0, 2 * BYTES, DST);
	hx_run(w, 900 * HX_MS);
	expect_written(w, id, 2 * BYTES);
	assert_int_equal(counters(w, 0)->retransmits, before);
	hx_free(w);
}

/* RFC 5681, 3.1: when nothing at all comes back, little is sent till something does. */
static void test_silence_closes_the_window(void **state)
{
	struct hx_options o = {.ext = true, .n_paths = 4};
	struct hx_world *w = make_with(o, NULL);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, 4 * BYTES, DST);
	uint32_t n;

	(void)state;
	hx_run(w, 60 * US);
	w->cut_paths = 0xf;
	hx_run(w, 2 * HX_MS);
	n = w->n_log;
	hx_run(w, 20 * HX_MS);
	/* a few timeouts, and the probes of dead paths */
	assert_true(w->n_log - n < 60);
	w->cut_paths = 0;
	hx_run(w, 900 * HX_MS);
	expect_written(w, id, 4 * BYTES);
	hx_free(w);
}

/* 9.7.5.2.8: an RNR NAK may ask for a wait that is longer than the ACK timeout; a peer that is gone after it is found out all the
 * same. */
static void test_peer_gone_after_rnr(void **state)
{
	struct hx_options o = {.ext = true, .n_paths = 4, .timeout = 8, .retry_cnt = 2, .min_rnr_timer = HX_ZERO};
	struct hx_world *w = make_with(o, NULL);
	uint64_t id = hx_op(w, TP_WR_SEND, 0, 0, 10 * MTU, 0);

	(void)state;
	hx_run(w, 20 * HX_MS);
	assert_int_equal(counters(w, 0)->rnr_naks_received, 1);
	w->cut_paths = 0xf;
	hx_run(w, 3000 * HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_RETRY_EXC_ERR);
	hx_free(w);
}

static enum hx_fate lose_sacks(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)from;
	(void)n;
	return pkt->opcode == WIRE_RC_SACK ? HX_LOSE : HX_PASS;
}

/* What answers alone have moved on: the last RC_SACK must not seem to be ahead of it when PSNs have wrapped. */
static void test_answers_alone(void **state)
{
	struct hx_world *w = make(lose_sacks);
	uint64_t id = hx_op(w, TP_WR_READ, 0, DST, 20 * MTU, 0);
	const struct tp_qp *qp = w->side[0].qps[0].qp;

	(void)state;
	hx_run(w, 50 * HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_true(base_psn_diff(qp->ext->cum, qp->req.una) >= 0);
	hx_free(w);
}

static uint32_t ecn_capable(const struct hx_world *w, bool of_acks)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_log; i++)
		n += (w->log[i].from == 1) == of_acks && (w->log[i].pkt.tos & 3) == 2;
	return n;
}

/* RFC 3168: only who is told of marks says that its packets may be marked. */
static void test_ecn_capable(void **state)
{
	struct hx_world *w = make(NULL), *plain = make_with((struct hx_options){0}, NULL);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, 20 * MTU, DST);

	(void)state;
	hx_run(w, 50 * HX_MS);
	expect_written(w, id, 20 * MTU);
	assert_int_equal(ecn_capable(w, false), 20);
	id = hx_op(plain, TP_WR_WRITE, 0, 0, 20 * MTU, DST);
	hx_run(plain, 50 * HX_MS);
	expect_written(plain, id, 20 * MTU);
	assert_int_equal(ecn_capable(plain, false) + ecn_capable(plain, true), 0);
	hx_free(plain);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_holes),
		cmocka_unit_test(test_reads_reordered),
		cmocka_unit_test(test_atomic_answer_lost),
		cmocka_unit_test(test_rnr),
		cmocka_unit_test(test_access_error),
		cmocka_unit_test(test_peer_gone),
		cmocka_unit_test(test_forgotten_comes_again),
		cmocka_unit_test(test_timeout_learns),
		cmocka_unit_test(test_peer_gone_after_rnr),
		cmocka_unit_test(test_answers_alone),
		cmocka_unit_test(test_ecn_capable),
		cmocka_unit_test(test_silence_closes_the_window),
		cmocka_unit_test(test_all_paths_cut),
		cmocka_unit_test(test_path_cut),
		cmocka_unit_test(test_dead_from_the_start),
		cmocka_unit_test(test_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
