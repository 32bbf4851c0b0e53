/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network that reorders what was sent in order. A queue pair that is told to expect that keeps packets till
 * their turn: no NAK, nothing sent again. What is missing for too long is lost, as without.
 */
#include "harness.h"

#define MTU        256u
#define BYTES      (64 * MTU)
#define REORDER_NS (100 * 1000u)
#define DST        (HX_MEM_BYTES / 2)

/* A third of all packets comes up to 50 us late. */
static enum hx_fate shuffle(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)from;
	(void)n;
	(void)pkt;
	return hx_random(w, 3) == 0 ? HX_DELAY : HX_PASS;
}

/* The fifth packet of side 0 is lost, the first time. */
static enum hx_fate lose_fifth(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)pkt;
	return from == 0 && n == 4 ? HX_LOSE : HX_PASS;
}

static enum hx_fate lose_fifth_answer(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)pkt;
	return from == 1 && n == 4 ? HX_LOSE : HX_PASS;
}

static struct hx_world *make(enum tp_qp_type type, uint32_t reorder, hx_script script)
{
	struct hx_options o = {.type = type, .mtu = MTU, .psn = 0xfffff0, .reorder = reorder, .reorder_ns = REORDER_NS,
		.timeout = 14};
	struct hx_world *w = hx_new(&o);

	w->rng = 0x9e3779b97f4a7c15u;
	w->script = script;
	hx_fill(w->side[0].mem, DST, 1);
	hx_fill(w->side[1].mem, DST, 2);
	return w;
}

static const struct tp_counters *counters(const struct hx_world *w, int side)
{
	return tp_counters(w->side[side].tp);
}

static void expect_nothing_again(const struct hx_world *w)
{
	for (int side = 0; side < 2; side++) {
		assert_int_equal(counters(w, side)->retransmits, 0);
		assert_int_equal(counters(w, side)->seq_naks_sent, 0);
		assert_int_equal(counters(w, side)->ack_timeouts, 0);
	}
}

static void run_all_kinds(struct hx_world *w)
{
	const struct hx_piece to = {DST + 2 * BYTES, BYTES};
	uint64_t recv = hx_recv(&w->side[1].qps[0], &to, 1), ids[5];

	ids[0] = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	ids[1] = hx_op(w, TP_WR_READ, 0, DST, BYTES, 0);
	ids[2] = hx_op(w, TP_WR_FETCH_ADD, 0, DST + BYTES, 8, DST + 3 * BYTES);
	ids[3] = hx_op(w, TP_WR_SEND, 0, 0, BYTES, 0);
	ids[4] = hx_op(w, TP_WR_WRITE, 0, 0, 1, DST + 3 * BYTES);
	hx_run(w, 100 * HX_MS);
	for (int i = 0; i < 5; i++)
		hx_expect(&w->side[0].send_cq, ids[i], TP_WC_SUCCESS);
	hx_expect(&w->side[1].recv_cq, recv, TP_WC_SUCCESS);
	assert_memory_equal(w->side[1].mem + DST, w->side[0].mem, BYTES);
	assert_memory_equal(w->side[0].mem + DST, w->side[1].mem, BYTES);
	assert_memory_equal(w->side[1].mem + DST + 2 * BYTES, w->side[0].mem, BYTES);
}

static void test_no_nak_storm(void **state)
{
	struct hx_world *w = make(TP_QPT_RC, 256, shuffle);

	(void)state;
	run_all_kinds(w);
	expect_nothing_again(w);
	assert_true(counters(w, 0)->reordered > 10);
	assert_true(counters(w, 1)->reordered > 10);
	hx_free(w);
}

/* Without it the same wire makes the sender go back again and again. */
static void test_off(void **state)
{
	struct hx_world *w = make(TP_QPT_RC, 0, shuffle);

	(void)state;
	run_all_kinds(w);
	assert_true(counters(w, 1)->seq_naks_sent > 3);
	assert_true(counters(w, 0)->retransmits > 30);
	assert_int_equal(counters(w, 1)->reordered, 0);
	hx_free(w);
}

/* A real loss: one NAK, when the time is over, for the packet that is missing. */
static void test_loss(void **state)
{
	struct hx_world *w = make(TP_QPT_RC, 256, lose_fifth);
	uint64_t sent_ns, id = hx_op(w, TP_WR_WRITE, 0, 0, 16 * MTU, DST);
	const struct wire_pkt *nak = NULL;

	(void)state;
	hx_run(w, 100 * HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_memory_equal(w->side[1].mem + DST, w->side[0].mem, 16 * MTU);
	assert_int_equal(counters(w, 1)->seq_naks_sent, 1);
	sent_ns = w->log[4].at_ns;
	for (uint32_t i = 0; i < w->n_log && nak == NULL; i++) {
		if (w->log[i].from == 1 && w->log[i].pkt.syndrome == 0x60) {
			nak = &w->log[i].pkt;
			assert_in_range(w->log[i].at_ns - sent_ns, REORDER_NS, REORDER_NS + 30000);
		}
	}
	assert_non_null(nak);
	assert_int_equal(nak->psn, (0xfffff0 + 4) & 0xffffff);
	hx_free(w);
}

static void test_lost_answer(void **state)
{
	struct hx_world *w = make(TP_QPT_RC, 256, lose_fifth_answer);
	uint64_t id = hx_op(w, TP_WR_READ, 0, DST, 16 * MTU, 0);

	(void)state;
	hx_run(w, 100 * HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_memory_equal(w->side[0].mem + DST, w->side[1].mem, 16 * MTU);
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	assert_int_equal(hx_count(w, 0, WIRE_RC_READ_REQUEST), 2);
	hx_free(w);
}

/* Further ahead than there is room is not a matter of order. */
static void test_too_far(void **state)
{
	struct hx_world *w = make(TP_QPT_RC, 7, NULL);
	struct wire_pkt pkt = {.opcode = WIRE_RC_SEND_ONLY, .psn = (0xfffff0 + 7) & 0xffffff};

	(void)state;
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(counters(w, 1)->reordered, 1);
	assert_int_equal(counters(w, 1)->seq_naks_sent, 0);
	pkt.psn = (pkt.psn + 1) & 0xffffff;
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(counters(w, 1)->seq_naks_sent, 1);
	hx_free(w);
}

/* The same packet twice is kept once; and nothing is left when the queue pair ends, by error or otherwise. */
static void test_repeated_and_ended(void **state)
{
	struct wire_pkt pkt = {.opcode = WIRE_RC_SEND_ONLY, .psn = (0xfffff0 + 3) & 0xffffff};
	struct hx_world *w = make(TP_QPT_RC, 31, NULL);

	(void)state;
	hx_inject(w, 1, pkt, "abc", 3);
	hx_inject(w, 1, pkt, "abc", 3);
	assert_int_equal(counters(w, 1)->reordered, 1);
	assert_int_equal(counters(w, 1)->duplicates, 1);
	assert_int_equal(w->frames_out, 1);
	assert_int_equal(hx_to_state(w, &w->side[1].qps[0], TP_QPS_ERR), 0);
	assert_int_equal(w->frames_out, 0);
	for (int side = 0; side < 2; side++)
		assert_int_equal(hx_to_state(w, &w->side[side].qps[0], TP_QPS_RESET), 0);
	hx_connect(w, 0);
	pkt.psn = (0xfffff0 + 1) & 0xffffff;
	hx_inject(w, 1, pkt, "abc", 3);
	assert_int_equal(w->frames_out, 1);
	hx_free(w);
}

/* A READ request takes the PSNs of its answers; what was kept at those was never of this connection. */
static void test_stale_within_a_read(void **state)
{
	struct wire_pkt stale = {.opcode = WIRE_RC_SEND_ONLY, .psn = (0xfffff0 + 2) & 0xffffff};
	struct hx_world *w = make(TP_QPT_RC, 31, NULL);
	struct wire_pkt read = {.opcode = WIRE_RC_READ_REQUEST, .psn = 0xfffff0, .va = HX_IOVA, .dma_bytes = 4 * MTU,
		.rkey = w->side[1].key};

	(void)state;
	w->cut = true;
	hx_inject(w, 1, stale, "abc", 3);
	assert_int_equal(w->frames_out, 1);
	hx_inject(w, 1, read, NULL, 0);
	assert_int_equal(w->frames_out, 0);
	hx_run(w, HX_MS);
	assert_int_equal(counters(w, 1)->seq_naks_sent, 0);
	hx_free(w);
}

static void uc_messages(struct hx_world *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct hx_piece to = {DST + i * 4 * MTU, 4 * MTU};

		hx_recv(&w->side[1].qps[0], &to, 1);
		hx_op(w, TP_WR_SEND, 0, 0, 4 * MTU, 0);
	}
	hx_run(w, 100 * HX_MS);
}

static void test_uc(void **state)
{
	struct hx_world *w = make(TP_QPT_UC, 256, shuffle);

	(void)state;
	uc_messages(w, 20);
	assert_int_equal(w->side[1].recv_cq.n, 20);
	assert_int_equal(counters(w, 1)->cut_messages, 0);
	hx_free(w);
}

/* The message with the lost packet is cut, those after it come when the time is over. */
static void test_uc_loss(void **state)
{
	struct hx_world *w = make(TP_QPT_UC, 256, lose_fifth);

	(void)state;
	uc_messages(w, 6);
	assert_int_equal(w->side[1].recv_cq.n, 5);
	assert_int_equal(counters(w, 1)->reordered, 19);
	hx_free(w);
}

/* Requests of queue pair i of side 0 that come without the first one; how many are kept. */
static uint64_t send_ahead(struct hx_world *w, uint32_t i, uint32_t n)
{
	uint64_t before = counters(w, 1)->reordered;

	for (uint32_t k = 1; k <= n; k++) {
		struct wire_pkt pkt = {.opcode = WIRE_RC_WRITE_ONLY, .psn = k, .dqpn = w->side[1].qps[i].qpn,
			.va = HX_IOVA, .rkey = w->side[1].key};

		hx_inject(w, 1, pkt, NULL, 0);
	}
	return counters(w, 1)->reordered - before;
}

/* When half of the room is taken, a queue pair whose hole is never filled gets a sixteenth of it and leaves the rest. */
static void test_room_is_shared(void **state)
{
	struct hx_options o = {.mtu = MTU, .reorder = 1023, .reorder_ns = HX_S, .held = 256, .n_qps = 4};
	struct hx_world *w = hx_new(&o);

	(void)state;
	assert_int_equal(send_ahead(w, 0, 300), 128);
	assert_int_equal(send_ahead(w, 1, 300), 16);
	assert_int_equal(send_ahead(w, 2, 300), 16);
	assert_int_equal(send_ahead(w, 3, 10), 10);
	hx_free(w);
	/* so little is not worth shares */
	o.held = 255;
	w = hx_new(&o);
	assert_int_equal(send_ahead(w, 0, 300), 255);
	assert_int_equal(send_ahead(w, 1, 300), 0);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_nak_storm),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_lost_answer),
		cmocka_unit_test(test_too_far),
		cmocka_unit_test(test_repeated_and_ended),
		cmocka_unit_test(test_stale_within_a_read),
		cmocka_unit_test(test_uc),
		cmocka_unit_test(test_uc_loss),
		cmocka_unit_test(test_room_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
