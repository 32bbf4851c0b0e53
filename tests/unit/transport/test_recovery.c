/* SPDX-License-Identifier: BSD-3-Clause */
/* Loss and refusal: timers, retry counts, NAK sequence, RNR, implied NAK (IBTA vol. 1, 9.7.5.1, 9.7.5.2, 9.9.2). */
#include "harness.h"

#define P       0xfffffeu        /* so that the PSN wraps within every test */
#define ACK_NS  (4096ull << 8)   /* the harness' timeout code 8 */
#define SLACK   20000ull         /* two wheel slots and the steps of the run */

static uint32_t psn(uint32_t i)
{
	return (P + i) & 0xffffff;
}

static struct hx_world *make(const struct hx_options *options)
{
	struct hx_options o = *options;

	o.psn = P;
	o.mtu = 256;
	return hx_new(&o);
}

static uint64_t gap_ns(const struct hx_world *w, uint32_t i)
{
	return w->log[i].at_ns - w->log[i - 1].at_ns;
}

static void expect_gap(const struct hx_world *w, uint32_t i, uint64_t ns)
{
	assert_true(gap_ns(w, i) >= ns);
	assert_true(gap_ns(w, i) <= ns + SLACK);
}

static const struct tp_counters *counters(const struct hx_world *w, int side)
{
	return tp_counters(w->side[side].tp);
}

/* ---- the ACK timer ---- */

/* retry_cnt n makes n + 1 sends, then RETRY_EXC_ERR. The first two lie 4.096 us * 2^timeout apart, the next twice
 * and all others four times that, which is the most that 9.7.6.1.3 allows. */
static void test_retries_exceeded(void **state)
{
	(void)state;
	for (uint8_t n = 0; n <= 7; n++) {
		struct hx_options o = {.retry_cnt = n != 0 ? n : HX_ZERO};
		struct hx_world *w = make(&o);
		uint64_t id, other;

		w->cut = true;
		id = hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
		other = hx_op(w, TP_WR_READ, 0, 0, 8, 0);
		hx_run(w, 10 * HX_S);
		assert_int_equal(w->n_log, 2 * (n + 1u));
		for (uint32_t i = 2; i < w->n_log; i += 2)
			expect_gap(w, i, ACK_NS << (i / 2 - 1 < 2 ? i / 2 - 1 : 2));
		hx_expect(&w->side[0].send_cq, id, TP_WC_RETRY_EXC_ERR);
		hx_expect(&w->side[0].send_cq, other, TP_WC_WR_FLUSH_ERR);
		assert_int_equal(hx_state(&w->side[0].qps[0]), TP_QPS_ERR);
		assert_int_equal(counters(w, 0)->ack_timeouts, n + 1u);
		hx_free(w);
	}
}

static void test_timeout_codes(void **state)
{
	(void)state;
	/* Longer ones only take longer: the wheel is tested on its own. */
	for (uint8_t code = 1; code < 22; code++) {
		struct hx_options o = {.retry_cnt = 1, .timeout = code};
		struct hx_world *w = make(&o);

		w->cut = true;
		hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
		hx_run(w, 100 * HX_S);
		assert_int_equal(w->n_log, 2);
		expect_gap(w, 1, 4096ull << code);
		hx_free(w);
	}
}

static void test_timeout_zero_waits_for_ever(void **state)
{
	struct hx_options o = {.timeout = HX_ZERO};
	struct hx_world *w = make(&o);

	(void)state;
	w->cut = true;
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, 100000 * HX_S);
	assert_int_equal(w->n_log, 1);
	hx_expect_none(w);
	hx_free(w);
}

/* Fault case 14: nothing is sent again on a wire without loss, and no timer runs on when all is done. */
static void test_quiet_when_idle(void **state)
{
	struct hx_options o = {0};
	struct hx_world *w = make(&o);

	(void)state;
	for (uint32_t i = 0; i < 500; i++) {
		hx_op(w, i % 3 == 0 ? TP_WR_READ : TP_WR_WRITE, 0, 0, 700, 0);
		hx_run(w, HX_MS / 2);
		assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
	}
	assert_int_equal(counters(w, 0)->retransmits, 0);
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	assert_int_equal(counters(w, 1)->duplicates, 0);
	hx_run(w, HX_S);
	assert_true(tp_next_ns(w->side[0].tp) == UINT64_MAX);
	assert_false(tp_has_work(w->side[0].tp));
	hx_free(w);
}

/* Progress gives all retries back. */
static enum hx_fate lose_each_thrice(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)pkt;
	return from == 0 && n % 4 != 3 ? HX_LOSE : HX_PASS;
}

static void test_progress_renews_retries(void **state)
{
	struct hx_options o = {.retry_cnt = 3, .window = 1};
	struct hx_world *w = make(&o);
	uint64_t id;

	(void)state;
	w->script = lose_each_thrice;
	hx_fill(w->side[0].mem, 2000, 4);
	id = hx_op(w, TP_WR_WRITE, 0, 0, 2000, 0);
	hx_run(w, 10 * HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_memory_equal(w->side[0].mem, w->side[1].mem, 2000);
	hx_free(w);
}

/* An answer later than the first timeouts, from a busy peer, still comes before the retries run out. */
static void test_slow_path(void **state)
{
	static const uint8_t opcodes[] = {TP_WR_WRITE, TP_WR_READ};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct hx_options o = {.retry_cnt = 2, .latency_ns = ACK_NS * 5 / 2, .mtu = 256};
		struct hx_world *w = make(&o);
		uint64_t id;

		hx_fill(w->side[0].mem, 50000, 1);
		hx_fill(w->side[1].mem, 50000, 2 - (uint32_t)i);
		id = hx_op(w, opcodes[i], 0, 0, 50000, 0);
		hx_run(w, 10 * HX_S);
		hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
		assert_memory_equal(w->side[0].mem, w->side[1].mem, 50000);
		hx_free(w);
	}
}

/* ---- NAK sequence ---- */

static uint32_t lose_index, lose_from;

static enum hx_fate lose_one(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)pkt;
	return (uint32_t)from == lose_from && n == lose_index ? HX_LOSE : HX_PASS;
}

static void test_one_loss_is_repaired_by_nak(void **state)
{
	(void)state;
	lose_from = 0;
	for (lose_index = 0; lose_index < 9; lose_index++) {
		struct hx_options o = {0};
		struct hx_world *w = make(&o);
		uint64_t id;

		w->script = lose_one;
		hx_fill(w->side[0].mem, 2560, lose_index);
		id = hx_op(w, TP_WR_WRITE, 0, 0, 2560, 0);
		hx_run(w, HX_S);
		hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
		assert_memory_equal(w->side[0].mem, w->side[1].mem, 2560);
		assert_int_equal(counters(w, 1)->seq_naks_sent, 1);
		assert_int_equal(counters(w, 0)->seq_naks_received, 1);
		assert_int_equal(counters(w, 0)->ack_timeouts, 0);
		/* From the lost one on, not from the start (go-back-N). */
		assert_int_equal(w->side[0].emitted, 10 + 10 - lose_index);
		hx_free(w);
	}
}

static void test_lost_ack_costs_a_timeout(void **state)
{
	struct hx_options o = {0};
	struct hx_world *w = make(&o);
	struct hx_piece piece = {0, 64};
	uint64_t id;

	(void)state;
	w->script = lose_one;
	lose_from = 1;
	lose_index = 0;
	hx_recv(&w->side[1].qps[0], &piece, 1);
	id = hx_op(w, TP_WR_SEND, 0, 0, 8, 0);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_int_equal(w->side[1].recv_cq.n, 1);
	assert_int_equal(counters(w, 0)->ack_timeouts, 1);
	assert_int_equal(counters(w, 1)->duplicates, 1);
	hx_free(w);
}

/* ---- READ and atomic answers that are lost ---- */

static void test_lost_read_answer(void **state)
{
	(void)state;
	lose_from = 1;
	for (lose_index = 0; lose_index < 10; lose_index++) {
		struct hx_options o = {0};
		struct hx_world *w = make(&o);
		uint64_t id;

		w->script = lose_one;
		hx_fill(w->side[1].mem, 2500, lose_index);
		id = hx_op(w, TP_WR_READ, 0, 0, 2500, 0);
		hx_run(w, HX_S);
		hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
		assert_memory_equal(w->side[0].mem, w->side[1].mem, 2500);
		/* Asked for again from the first byte that is missing (9.7.5.2.1), at once unless it was the last. */
		assert_int_equal(hx_last(w, 0)->opcode, WIRE_RC_READ_REQUEST);
		assert_int_equal(hx_last(w, 0)->psn, psn(lose_index));
		assert_true(hx_last(w, 0)->va == HX_IOVA + lose_index * 256);
		assert_int_equal(hx_last(w, 0)->dma_bytes, 2500 - lose_index * 256);
		assert_int_equal(counters(w, 0)->ack_timeouts, lose_index == 9 ? 1 : 0);
		hx_free(w);
	}
}

static void test_lost_atomic_answer(void **state)
{
	struct hx_options o = {0};
	struct hx_world *w = make(&o);
	uint64_t value = 40;

	(void)state;
	w->script = lose_one;
	lose_from = 1;
	lose_index = 0;
	memcpy(w->side[1].mem, &value, 8);
	hx_post(&w->side[0].qps[0], &(struct tp_send_wqe){.opcode = TP_WR_FETCH_ADD, .rkey = w->side[1].key,
		.remote_addr = HX_IOVA, .atomic.compare_add = 2}, &(struct hx_piece){64, 8}, 1);
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 64);
	hx_run(w, HX_S);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->opcode, TP_WC_OP_FETCH_ADD);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->opcode, TP_WC_OP_WRITE);
	memcpy(&value, w->side[1].mem, 8);
	assert_int_equal(value, 42);
	memcpy(&value, w->side[0].mem + 64, 8);
	assert_int_equal(value, 40);
	/* The WRITE's ACK told of the loss: no timer was needed. */
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	hx_free(w);
}

/* A READ repeated while its answer is still leaving starts over; nothing comes twice or not at all. */
static void test_read_repeated_while_answered(void **state)
{
	struct hx_options o = {.timeout = HX_ZERO};
	struct hx_world *w = make(&o);
	struct wire_pkt pkt = {.opcode = WIRE_RC_READ_REQUEST, .psn = P, .va = HX_IOVA, .rkey = w->side[1].key,
		.dma_bytes = 1024};

	(void)state;
	w->cut = true;
	hx_inject(w, 1, pkt, NULL, 0);
	tp_tx(w->side[1].tp, 2, w->now_ns);
	pkt.psn = psn(1);
	pkt.va += 256;
	pkt.dma_bytes -= 256;
	hx_inject(w, 1, pkt, NULL, 0);
	hx_run(w, HX_MS);
	assert_int_equal(w->n_log, 5);
	for (uint32_t i = 2; i < 5; i++)
		assert_int_equal(w->log[i].pkt.psn, psn(i - 1));
	assert_int_equal(w->log[4].pkt.opcode, WIRE_RC_READ_RESP_LAST);
	hx_free(w);
}

/* ---- RNR ---- */

/* Table 46 in microseconds. */
static const uint32_t rnr_us[32] = {655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560,
	3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

static uint64_t rnr_gap_ns(const struct hx_world *w)
{
	uint64_t first = 0;

	for (uint32_t i = 0; i < w->n_log; i++) {
		if (w->log[i].from != 0)
			continue;
		if (first != 0)
			return w->log[i].at_ns - first;
		first = w->log[i].at_ns;
	}
	return 0;
}

static void test_rnr_timer_table(void **state)
{
	(void)state;
	for (uint8_t code = 0; code < 32; code++) {
		struct hx_options o = {.rnr_retry = 1, .min_rnr_timer = code != 0 ? code : HX_ZERO};
		struct hx_world *w = make(&o);
		uint64_t id = hx_op(w, TP_WR_SEND, 0, 0, 8, 0);

		hx_run(w, 3 * HX_S);
		hx_expect(&w->side[0].send_cq, id, TP_WC_RNR_RETRY_EXC_ERR);
		assert_int_equal(hx_count(w, 0, WIRE_RC_SEND_ONLY), 2);
		/* The wait begins when the NAK has come, 20 us after the send. */
		assert_true(rnr_gap_ns(w) >= rnr_us[code] * 1000ull + 20000);
		assert_true(rnr_gap_ns(w) <= rnr_us[code] * 1000ull + 20000 + 2 * SLACK);
		assert_int_equal(counters(w, 0)->rnr_naks_received, 2);
		hx_free(w);
	}
}

static void test_rnr_retries(void **state)
{
	(void)state;
	for (uint8_t n = 0; n < 7; n++) {
		struct hx_options o = {.rnr_retry = n != 0 ? n : HX_ZERO};
		struct hx_world *w = make(&o);
		uint64_t id = hx_op(w, TP_WR_SEND, 0, 0, 8, 0);

		hx_run(w, HX_S);
		assert_int_equal(hx_count(w, 0, WIRE_RC_SEND_ONLY), n + 1u);
		hx_expect(&w->side[0].send_cq, id, TP_WC_RNR_RETRY_EXC_ERR);
		hx_free(w);
	}
}

/* Fault case 13: 7 is for ever. */
static void test_rnr_endless(void **state)
{
	struct hx_options o = {.rnr_retry = 7};
	struct hx_world *w = make(&o);
	struct hx_piece piece = {0, 64};
	uint64_t id = hx_op(w, TP_WR_SEND, 0, 0, 8, 0);

	(void)state;
	hx_run(w, HX_S / 10);
	assert_true(hx_count(w, 0, WIRE_RC_SEND_ONLY) > 1000);
	hx_expect_none(w);
	hx_recv(&w->side[1].qps[0], &piece, 1);
	hx_run(w, HX_S / 10);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	hx_free(w);
}

/* Nothing leaves while it waits, not even on the ACK timer's account or a NAK's. */
static void test_rnr_waits_silently(void **state)
{
	struct hx_options o = {.min_rnr_timer = 20};
	struct hx_world *w = make(&o);

	(void)state;
	hx_op(w, TP_WR_SEND, 0, 0, 8, 0);
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, HX_MS / 10);
	assert_int_equal(w->side[0].emitted, 2);
	assert_int_equal(w->side[1].emitted, 1);
	hx_inject(w, 0, (struct wire_pkt){.opcode = WIRE_RC_ACK, .psn = P, .syndrome = 0x60}, NULL, 0);
	hx_inject(w, 0, (struct wire_pkt){.opcode = WIRE_RC_ACK, .psn = P, .syndrome = 0x20}, NULL, 0);
	hx_run(w, 10 * HX_MS);
	assert_int_equal(w->side[0].emitted, 2);
	hx_run(w, HX_MS);
	assert_int_equal(w->side[0].emitted, 4);
	hx_free(w);
}

/*
 * Soft-RoCE NAKs what comes behind a request that it has answered with RNR NAK. When that is slower than the RNR time, it meets a
 * queue pair that sends again already, in each round. The peer answers, so this is a matter of rnr_retry and not of retry_cnt.
 */
static void test_rnr_and_late_nak(void **state)
{
	struct hx_options o = {.rnr_retry = 7, .retry_cnt = 2, .min_rnr_timer = 1, .timeout = HX_ZERO};
	struct hx_world *w = make(&o);

	(void)state;
	w->cut = true;
	hx_op(w, TP_WR_SEND, 0, 0, 700, 0);
	hx_run(w, HX_MS);
	for (int round = 0; round < 20; round++) {
		hx_inject(w, 0, (struct wire_pkt){.opcode = WIRE_RC_ACK, .psn = P, .syndrome = 0x21}, NULL, 0);
		hx_run(w, HX_MS);
		hx_inject(w, 0, (struct wire_pkt){.opcode = WIRE_RC_ACK, .psn = P, .syndrome = 0x60}, NULL, 0);
		hx_run(w, HX_MS);
	}
	hx_expect_none(w);
	assert_int_equal(hx_state(&w->side[0].qps[0]), TP_QPS_RTS);
	/* NAKs alone use up retry_cnt as ever */
	for (int round = 0; round < 3; round++) {
		hx_inject(w, 0, (struct wire_pkt){.opcode = WIRE_RC_ACK, .psn = P, .syndrome = 0x60}, NULL, 0);
		hx_run(w, HX_MS);
	}
	assert_int_equal(hx_state(&w->side[0].qps[0]), TP_QPS_ERR);
	hx_free(w);
}

/* ---- repeated NAKs ---- */

static void test_repeated_nak_costs_one_retry(void **state)
{
	struct hx_options o = {.retry_cnt = 1, .timeout = HX_ZERO};
	struct hx_world *w = make(&o);
	struct wire_pkt nak = {.opcode = WIRE_RC_ACK, .psn = P, .syndrome = 0x60};

	(void)state;
	w->cut = true;
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	for (uint32_t i = 0; i < 5; i++)
		hx_inject(w, 0, nak, NULL, 0);
	hx_run(w, HX_MS);
	assert_int_equal(w->n_log, 2);
	assert_int_equal(hx_state(&w->side[0].qps[0]), TP_QPS_RTS);
	hx_inject(w, 0, nak, NULL, 0);
	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, 0x5e4d0000u, TP_WC_RETRY_EXC_ERR);
	hx_free(w);
}

/* A late answer that comes when its request is about to be sent again is taken, and the rest goes on. */
static void test_late_answer(void **state)
{
	struct hx_options o = {0};
	struct hx_world *w = make(&o);

	(void)state;
	w->cut = true;
	hx_op(w, TP_WR_READ, 0, 0, 8, 0);
	hx_op(w, TP_WR_WRITE, 0, 0, 600, 0);
	hx_run(w, HX_MS / 2);
	tp_advance(w->side[0].tp, w->now_ns += 2 * ACK_NS);
	hx_inject(w, 0, (struct wire_pkt){.opcode = WIRE_RC_READ_RESP_ONLY, .psn = P, .syndrome = 0x1f}, "abcdefgh", 8);
	hx_inject(w, 0, (struct wire_pkt){.opcode = WIRE_RC_ACK, .psn = psn(1), .syndrome = 0x1f}, NULL, 0);
	hx_run(w, HX_MS / 2);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->opcode, TP_WC_OP_READ);
	assert_memory_equal(w->side[0].mem, "abcdefgh", 8);
	assert_int_equal(hx_last(w, 0)->opcode, WIRE_RC_WRITE_LAST);
	assert_int_equal(w->n_log, 4 + 2);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retries_exceeded),
		cmocka_unit_test(test_timeout_codes),
		cmocka_unit_test(test_slow_path),
		cmocka_unit_test(test_timeout_zero_waits_for_ever),
		cmocka_unit_test(test_quiet_when_idle),
		cmocka_unit_test(test_progress_renews_retries),
		cmocka_unit_test(test_one_loss_is_repaired_by_nak),
		cmocka_unit_test(test_lost_ack_costs_a_timeout),
		cmocka_unit_test(test_lost_read_answer),
		cmocka_unit_test(test_lost_atomic_answer),
		cmocka_unit_test(test_read_repeated_while_answered),
		cmocka_unit_test(test_rnr_timer_table),
		cmocka_unit_test(test_rnr_retries),
		cmocka_unit_test(test_rnr_endless),
		cmocka_unit_test(test_rnr_waits_silently),
		cmocka_unit_test(test_rnr_and_late_nak),
		cmocka_unit_test(test_repeated_nak_costs_one_retry),
		cmocka_unit_test(test_late_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
