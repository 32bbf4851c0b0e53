/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where copies of work requests lie: a queue pair has room for four of its own and borrows more, if there is any left. Room for
 * READ answers grows with what a connection agrees to, also while some wait.
 */
#include "harness.h"
#include "tp_internal.h"

#define N       100u
#define REMOTE  0x10000u
#define MTU     1024u
#define ANSWER  (8 * MTU)
#define PENDING (HX_MS / 2) /* less than the ACK timeout */

static void post_writes(struct hx_world *w, uint32_t from, uint32_t n, uint32_t bytes)
{
	for (uint32_t i = from; i < from + n; i++)
		hx_op(w, TP_WR_WRITE, 0, i * bytes, bytes, REMOTE + i * bytes);
}

static void fill(struct hx_world *w, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		w->side[0].mem[i] = (uint8_t)(i * 7 + i / 256);
}

static void expect_all(struct hx_world *w, uint32_t n, uint32_t bytes)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
	hx_expect_none(w);
	assert_memory_equal(w->side[1].mem + REMOTE, w->side[0].mem, n * bytes);
}

static uint32_t under_way(const struct hx_world *w)
{
	return w->side[0].qps[0].sq_fetch - w->side[0].qps[0].sq_retired;
}

static struct tp_slots_pool *pool(struct hx_world *w)
{
	struct tp *tp = w->side[0].tp;

	for (uint32_t i = 0; i < TP_SLOT_SIZES * TP_RING_SIZES; i++) {
		if (tp->slots[i / TP_RING_SIZES][i % TP_RING_SIZES].n != 0)
			return &tp->slots[i / TP_RING_SIZES][i % TP_RING_SIZES];
	}
	fail_msg("no queue pair has brought a ring");
	return NULL;
}

static void test_goes_on_with_its_own_room_when_all_rings_are_lent(void **state)
{
	struct hx_world *w = hx_new(&(struct hx_options){0});
	struct tp_slots *rings = pool(w)->free;

	(void)state;
	fill(w, N * 8);
	pool(w)->free = NULL;
	w->cut = true;
	post_writes(w, 0, N, 8);
	hx_run(w, PENDING);
	assert_int_equal(under_way(w), TP_OWN_SLOTS);
	w->cut = false;
	hx_run(w, HX_S);
	expect_all(w, N, 8);
	pool(w)->free = rings;
	hx_free(w);
}

static void test_borrows_a_ring_and_gives_it_back(void **state)
{
	struct hx_world *w = hx_new(&(struct hx_options){0});
	struct tp_slots *rings = pool(w)->free;

	(void)state;
	fill(w, N * 8);
	w->cut = true;
	post_writes(w, 0, N, 8);
	hx_run(w, PENDING);
	assert_true(under_way(w) > TP_OWN_SLOTS);
	assert_ptr_not_equal(pool(w)->free, rings);
	w->cut = false;
	hx_run(w, HX_S);
	expect_all(w, N, 8);
	assert_ptr_equal(pool(w)->free, rings);
	hx_free(w);
}

/* What is under way when the ring is borrowed is sent again from there. */
static void test_requests_move_to_the_ring(void **state)
{
	struct hx_world *w = hx_new(&(struct hx_options){0});

	(void)state;
	fill(w, N * 8);
	w->cut = true;
	post_writes(w, 0, 3, 8);
	hx_run(w, PENDING / 2);
	assert_int_equal(under_way(w), 3);
	post_writes(w, 3, N - 3, 8);
	hx_run(w, PENDING / 2);
	assert_true(under_way(w) > TP_OWN_SLOTS);
	w->cut = false;
	hx_run(w, HX_S);
	assert_true(tp_counters(w->side[0].tp)->retransmits != 0);
	expect_all(w, N, 8);
	hx_free(w);
}

static void test_a_ring_that_is_lent_comes_back_from_a_queue_pair_in_error(void **state)
{
	struct hx_world *w = hx_new(&(struct hx_options){0});
	struct tp_slots *rings = pool(w)->free;

	(void)state;
	w->cut = true;
	post_writes(w, 0, N, 8);
	hx_run(w, PENDING);
	assert_ptr_not_equal(pool(w)->free, rings);
	assert_int_equal(hx_to_state(w, &w->side[0].qps[0], TP_QPS_ERR), 0);
	hx_run(w, HX_S);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_WR_FLUSH_ERR);
	assert_ptr_equal(pool(w)->free, rings);
	hx_free(w);
}

static void ask(struct hx_world *w, uint32_t psn, uint32_t off)
{
	struct wire_pkt pkt = {.opcode = WIRE_RC_READ_REQUEST, .ack_req = 1, .psn = psn, .va = HX_IOVA + off,
		.rkey = w->side[1].key, .dma_bytes = ANSWER};

	hx_inject(w, 1, pkt, NULL, 0);
}

/* Requests whose answers wait for their turn at sending are answered in their order. */
static void test_room_for_answers_grows_while_some_wait(void **state)
{
	struct hx_world *w = hx_new(&(struct hx_options){.mtu = MTU, .dest_rd_atomic = 2});
	struct tp_resp *resp = &w->side[1].qps[0].qp->resp;
	uint32_t psn = 0;

	(void)state;
	ask(w, 0, 0);
	ask(w, ANSWER / MTU, ANSWER);
	assert_int_equal(resp->saved_room, 2);
	assert_false(TAILQ_EMPTY(&resp->answers));
	assert_int_equal(tp_resp_make_room(w->side[1].qps[0].qp, 32), 0);
	assert_int_equal(resp->saved_room, 32);
	hx_run(w, HX_MS);
	assert_true(TAILQ_EMPTY(&resp->answers));
	for (uint32_t i = 0; i < w->n_log; i++) {
		if (w->log[i].from == 1 && (w->log[i].pkt.hdrs == 0 || w->log[i].pkt.payload_bytes != 0))
			assert_int_equal(w->log[i].pkt.psn, psn++);
	}
	assert_int_equal(psn, 2 * ANSWER / MTU);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goes_on_with_its_own_room_when_all_rings_are_lent),
		cmocka_unit_test(test_borrows_a_ring_and_gives_it_back),
		cmocka_unit_test(test_requests_move_to_the_ring),
		cmocka_unit_test(test_a_ring_that_is_lent_comes_back_from_a_queue_pair_in_error),
		cmocka_unit_test(test_room_for_answers_grows_while_some_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
