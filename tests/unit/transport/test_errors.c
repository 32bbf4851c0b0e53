/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client does wrong or loses: statuses of bad work requests (IBTA vol. 1, 11.6.2), flushing (10.3.1),
 * full completion queues, regions that go. */
#include <errno.h>

#include "harness.h"

#define P 0x300000u

static struct hx_world *make(bool copied)
{
	struct hx_options o = {.psn = P, .mtu = 256, .copied = copied};

	return hx_new(&o);
}

static struct hx_qp *requester(struct hx_world *w)
{
	return &w->side[0].qps[0];
}

static struct tp_send_wqe wqe_of(const struct hx_world *w, uint8_t opcode)
{
	return (struct tp_send_wqe){.opcode = opcode, .remote_addr = HX_IOVA, .rkey = w->side[1].key};
}

static uint32_t region(struct hx_world *w, uint32_t access, uint32_t pd, bool direct)
{
	struct hx_side *s = &w->side[0];
	struct tp_mr_attr attr = {.pd = pd, .access = access, .iova = HX_IOVA, .addr = (uintptr_t)s->mem, .bytes = 4096,
		.as = s, .direct = direct ? s->mem : NULL};
	uint32_t key;

	assert_int_equal(tp_mr_create(s->tp, &attr, &key), 0);
	return key;
}

/* The bad request stands behind a good one and before another: the good one succeeds, the other is flushed. */
static void expect_local(struct hx_world *w, uint64_t before, uint64_t bad, enum tp_wc_status status)
{
	uint64_t after = hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);

	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, before, TP_WC_SUCCESS);
	hx_expect(&w->side[0].send_cq, bad, status);
	hx_expect(&w->side[0].send_cq, after, TP_WC_WR_FLUSH_ERR);
	hx_expect_none(w);
	assert_int_equal(hx_state(requester(w)), TP_QPS_ERR);
	assert_int_equal(requester(w)->sq_retired, 3);
	hx_free(w);
}

static void one_sge(struct tp_send_wqe wqe, struct hx_world *w, struct tp_sge sge, enum tp_wc_status status)
{
	uint64_t before = hx_op(w, TP_WR_WRITE, 0, 0, 2000, 0);

	expect_local(w, before, hx_post_raw(requester(w), &wqe, &sge, 1), status);
}

/* ---- local protection ---- */

static void test_bad_local_memory(void **state)
{
	static const uint8_t opcodes[] = {TP_WR_SEND, TP_WR_WRITE, TP_WR_READ, TP_WR_FETCH_ADD, TP_WR_CMP_SWAP};

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct hx_world *w = make(false);

		one_sge(wqe_of(w, opcodes[i]), w, (struct tp_sge){HX_IOVA, 8, 0x77}, TP_WC_LOC_PROT_ERR);
		w = make(false);
		one_sge(wqe_of(w, opcodes[i]), w, (struct tp_sge){HX_IOVA - 1, 8, w->side[0].key}, TP_WC_LOC_PROT_ERR);
		w = make(false);
		one_sge(wqe_of(w, opcodes[i]), w, (struct tp_sge){HX_IOVA + HX_MEM_BYTES - 7, 8, w->side[0].key},
			TP_WC_LOC_PROT_ERR);
		w = make(false);
		one_sge(wqe_of(w, opcodes[i]), w, (struct tp_sge){0xfffffffffffffffc, 8, w->side[0].key},
			TP_WC_LOC_PROT_ERR);
		w = make(false);
		one_sge(wqe_of(w, opcodes[i]), w,
			(struct tp_sge){HX_IOVA, 8, region(w, TP_ACCESS_LOCAL_WRITE, HX_PD + 1, true)},
			TP_WC_LOC_PROT_ERR);
	}
}

/* Answers are written to local memory, so the region must allow that; what is sent is only read. */
static void test_local_write_right(void **state)
{
	struct hx_world *w = make(false);

	(void)state;
	one_sge(wqe_of(w, TP_WR_READ), w, (struct tp_sge){HX_IOVA, 8, region(w, 0, HX_PD, true)}, TP_WC_LOC_PROT_ERR);
	w = make(false);
	hx_post_raw(requester(w), &(struct tp_send_wqe){.opcode = TP_WR_WRITE, .remote_addr = HX_IOVA,
		.rkey = w->side[1].key}, &(struct tp_sge){HX_IOVA, 8, region(w, 0, HX_PD, true)}, 1);
	hx_run(w, HX_S);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
	hx_free(w);
}

/* An empty entry names no memory. */
static void test_empty_entries(void **state)
{
	struct hx_world *w = make(false);
	struct tp_sge sge[3] = {{0, 0, 0}, {HX_IOVA, 300, w->side[0].key}, {1, 0, 0xffffffff}};
	struct tp_send_wqe wqe = wqe_of(w, TP_WR_WRITE);

	(void)state;
	hx_fill(w->side[0].mem, 300, 3);
	hx_post_raw(requester(w), &wqe, sge, 3);
	hx_run(w, HX_S);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
	assert_memory_equal(w->side[0].mem, w->side[1].mem, 300);
	hx_free(w);
}

static void test_region_gone_while_sending(void **state)
{
	struct hx_world *w = make(false);
	struct tp_sge sge = {HX_IOVA, 4096, region(w, TP_ACCESS_LOCAL_WRITE, HX_PD, true)};
	struct tp_send_wqe wqe = wqe_of(w, TP_WR_WRITE);
	uint64_t id = hx_post_raw(requester(w), &wqe, &sge, 1);

	(void)state;
	tp_tx(w->side[0].tp, 4, w->now_ns);
	assert_int_equal(tp_mr_destroy(w->side[0].tp, sge.lkey), 0);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_LOC_PROT_ERR);
	hx_free(w);
}

static void test_region_gone_while_reading(void **state)
{
	struct hx_world *w = make(false);
	struct tp_sge sge = {HX_IOVA, 4096, region(w, TP_ACCESS_LOCAL_WRITE, HX_PD, true)};
	struct tp_send_wqe wqe = wqe_of(w, TP_WR_READ);
	uint64_t id = hx_post_raw(requester(w), &wqe, &sge, 1);

	(void)state;
	tp_tx(w->side[0].tp, 4, w->now_ns);
	assert_int_equal(tp_mr_destroy(w->side[0].tp, sge.lkey), 0);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_LOC_PROT_ERR);
	hx_free(w);
}

/* The same when the copy itself fails: the process has gone, or unmapped the pages. */
static void test_copy_fails(void **state)
{
	static const uint8_t opcodes[] = {TP_WR_WRITE, TP_WR_READ, TP_WR_FETCH_ADD};

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct hx_world *w = make(true);
		struct tp_send_wqe wqe = wqe_of(w, opcodes[i]);
		uint64_t id = hx_post(requester(w), &wqe, &(struct hx_piece){64, 800}, 1);

		w->side[0].fail_read = w->side[0].fail_write = true;
		hx_run(w, HX_S);
		hx_expect(&w->side[0].send_cq, id, TP_WC_LOC_PROT_ERR);
		hx_expect_none(w);
		hx_free(w);
	}
}

/* A mapping that failed: what is asked of its owner fails as a copy by system call would, at either end. */
static void test_mapping_fails(void **state)
{
	static const struct {
		uint8_t opcode;
		enum tp_wc_status local, remote;
	} ops[] = {
		{TP_WR_WRITE, TP_WC_LOC_PROT_ERR, TP_WC_REM_OP_ERR},
		{TP_WR_READ, TP_WC_LOC_PROT_ERR, TP_WC_REM_OP_ERR},
		{TP_WR_FETCH_ADD, TP_WC_LOC_PROT_ERR, TP_WC_REM_OP_ERR},
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(ops) / sizeof(ops[0]); i++) {
		struct hx_world *w = make(false);
		struct hx_side *s = &w->side[i & 1];
		struct tp_send_wqe wqe = wqe_of(w, ops[i / 2].opcode);
		struct tp_sge sge = {HX_IOVA, 8, w->side[0].key};
		uint32_t fault = 0, key;
		struct tp_mr_attr attr = {.pd = HX_PD,
			.access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ |
				TP_ACCESS_REMOTE_ATOMIC,
			.iova = HX_IOVA, .addr = (uintptr_t)s->mem, .bytes = 4096, .as = s, .direct = s->mem,
			.fault = &fault};
		uint64_t id;

		assert_int_equal(tp_mr_create(s->tp, &attr, &key), 0);
		if ((i & 1) == 0)
			sge.lkey = key;
		else
			wqe.rkey = key;
		id = hx_post_raw(requester(w), &wqe, &sge, 1);
		hx_run(w, HX_S);
		hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
		fault = 1;
		id = hx_post_raw(requester(w), &wqe, &sge, 1);
		hx_run(w, HX_S);
		hx_expect(&w->side[0].send_cq, id, (i & 1) == 0 ? ops[i / 2].local : ops[i / 2].remote);
		hx_expect_none(w);
		hx_free(w);
	}
}

/* One queue pair's failed write is not another's. */
static void test_copy_fails_for_one_only(void **state)
{
	struct hx_options o = {.mtu = 256, .copied = true, .n_qps = 2};
	struct hx_world *w = hx_new(&o);
	struct tp_mr_attr attr = {.pd = HX_PD, .access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE,
		.iova = HX_IOVA,
		.addr = (uintptr_t)w->side[1].mem, .bytes = 4096, .as = &w->side[1], .direct = w->side[1].mem};
	struct tp_send_wqe wqe = wqe_of(w, TP_WR_WRITE);
	struct hx_piece piece = {0, 64};
	uint64_t id;

	(void)state;
	hx_post(&w->side[0].qps[0], &wqe, &piece, 1);
	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &wqe.rkey), 0);
	wqe.wr_id = 99;
	id = hx_post(&w->side[0].qps[1], &wqe, &piece, 1);
	w->side[1].fail_write = true;
	hx_run(w, HX_S);
	assert_int_equal(w->side[0].send_cq.n, 2);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(w->side[0].send_cq.cqe[i].status,
			w->side[0].send_cq.cqe[i].wr_id == id ? TP_WC_SUCCESS : TP_WC_REM_OP_ERR);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_ERR);
	assert_int_equal(hx_state(&w->side[1].qps[1]), TP_QPS_RTS);
	hx_free(w);
}

/* ---- malformed work requests ---- */

static void test_bad_operations(void **state)
{
	static const uint8_t opcodes[] = {TP_WR_LOCAL_INV, 10, 11, 200, 255};

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct hx_world *w = make(false);

		one_sge(wqe_of(w, opcodes[i]), w, (struct tp_sge){HX_IOVA, 8, w->side[0].key}, TP_WC_LOC_QP_OP_ERR);
	}
}

static void test_bad_inline(void **state)
{
	static const uint8_t opcodes[] = {TP_WR_READ, TP_WR_FETCH_ADD, TP_WR_CMP_SWAP};

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct hx_world *w = make(false);
		struct tp_send_wqe wqe = wqe_of(w, opcodes[i]);
		uint64_t before = hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);

		expect_local(w, before, hx_post_inline(requester(w), &wqe, "12345678", 8), TP_WC_LOC_QP_OP_ERR);
	}
}

static void test_inline_too_long(void **state)
{
	static const uint8_t data[TP_MAX_INLINE_BYTES];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct hx_world *w = make(false);
		struct tp_send_wqe wqe = wqe_of(w, TP_WR_WRITE);
		uint64_t before = hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);

		expect_local(w, before, hx_post_inline(requester(w), &wqe, data, i == 0 ? 257 : 0xffffffff),
			TP_WC_LOC_LEN_ERR);
	}
}

static void test_too_many_entries(void **state)
{
	struct hx_world *w = make(false);
	struct tp_send_wqe wqe = wqe_of(w, TP_WR_WRITE);
	uint64_t before = hx_op(w, TP_WR_WRITE, 0, 0, 8, 0), bad = hx_post(requester(w), &wqe, NULL, 0);

	(void)state;
	((struct tp_send_wqe *)(void *)requester(w)->sq[1])->num_sge = TP_MAX_SGE + 1;
	expect_local(w, before, bad, TP_WC_LOC_QP_OP_ERR);
}

/* 16 entries of 2^32 - 1 bytes: the sum must not wrap. */
static void test_too_long(void **state)
{
	struct hx_world *w = make(false);
	struct tp_send_wqe wqe = wqe_of(w, TP_WR_WRITE);
	uint64_t before = hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	struct tp_sge sge[TP_MAX_SGE];

	(void)state;
	for (uint32_t i = 0; i < TP_MAX_SGE; i++)
		sge[i] = (struct tp_sge){HX_IOVA, 0xffffffff, w->side[0].key};
	sge[1].bytes = 17;
	expect_local(w, before, hx_post_raw(requester(w), &wqe, sge, TP_MAX_SGE), TP_WC_LOC_LEN_ERR);
}

static void test_atomic_result_too_small(void **state)
{
	struct hx_world *w = make(false);

	(void)state;
	one_sge(wqe_of(w, TP_WR_FETCH_ADD), w, (struct tp_sge){HX_IOVA, 7, w->side[0].key}, TP_WC_LOC_LEN_ERR);
}

static void test_reads_without_resources(void **state)
{
	struct hx_options o = {.psn = P, .mtu = 256, .rd_atomic = HX_ZERO};
	struct hx_world *w = hx_new(&o);

	(void)state;
	one_sge(wqe_of(w, TP_WR_READ), w, (struct tp_sge){HX_IOVA, 8, w->side[0].key}, TP_WC_LOC_QP_OP_ERR);
}

static void test_malformed_slot(void **state)
{
	struct hx_world *w = make(false);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);

	(void)state;
	requester(w)->fetch_error = -EINVAL;
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_LOC_QP_OP_ERR);
	hx_free(w);
}

/* Nothing of a bad request goes out. */
static void test_bad_request_is_not_sent(void **state)
{
	struct hx_world *w = make(false);
	struct tp_send_wqe wqe = wqe_of(w, TP_WR_SEND);

	(void)state;
	hx_post_raw(requester(w), &wqe, &(struct tp_sge){0, 8, 0}, 1);
	hx_run(w, HX_S);
	assert_int_equal(w->n_log, 0);
	hx_free(w);
}

/* ---- errors of the peer, as both sides see them ---- */

static void test_both_sides(void **state)
{
	struct hx_world *w = make(false);
	struct tp_send_wqe wqe = wqe_of(w, TP_WR_WRITE);
	uint64_t recv_id = hx_recv(&w->side[1].qps[0], NULL, 0), id;

	(void)state;
	wqe.rkey ^= 0x100;
	id = hx_post(requester(w), &wqe, &(struct hx_piece){0, 3000}, 1);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_REM_ACCESS_ERR);
	hx_expect(&w->side[1].recv_cq, recv_id, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(w->side[1].qps[0].events[TP_EVENT_QP_ACCESS_ERR], 1);
	hx_expect_none(w);
	hx_free(w);
}

static void test_peer_receive_too_small(void **state)
{
	struct hx_world *w = make(false);
	struct hx_piece piece = {0, 299};
	uint64_t recv_id = hx_recv(&w->side[1].qps[0], &piece, 1), id = hx_op(w, TP_WR_SEND, 0, 0, 300, 0);

	(void)state;
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_REM_INV_REQ_ERR);
	hx_expect(&w->side[1].recv_cq, recv_id, TP_WC_LOC_LEN_ERR);
	hx_free(w);
}

/* ---- flushing ---- */

static void test_flush_all(void **state)
{
	struct hx_world *w = make(false);
	struct hx_piece piece = {0, 64};
	uint64_t sends[200], recvs[200];

	(void)state;
	w->cut = true;
	for (uint32_t i = 0; i < 200; i++) {
		sends[i] = hx_op(w, i % 2 == 0 ? TP_WR_WRITE : TP_WR_READ, 0, 0, 8, 0);
		recvs[i] = hx_recv(requester(w), &piece, 1);
		if (i == 100)
			tp_tx(w->side[0].tp, 1000, w->now_ns);
	}
	assert_int_equal(hx_to_state(w, requester(w), TP_QPS_ERR), 0);
	hx_run(w, HX_S);
	for (uint32_t i = 0; i < 200; i++) {
		hx_expect(&w->side[0].send_cq, sends[i], TP_WC_WR_FLUSH_ERR);
		hx_expect(&w->side[0].recv_cq, recvs[i], TP_WC_WR_FLUSH_ERR);
	}
	hx_expect_none(w);
	assert_int_equal(requester(w)->sq_retired, 200);
	assert_false(tp_has_work(w->side[0].tp));
	hx_free(w);
}

/* Unsignalled requests tell of their failure too, and what is posted later is flushed as well. */
static void test_flush_later_and_unsignalled(void **state)
{
	struct hx_options o = {.psn = P, .sig_none = true};
	struct hx_world *w = hx_new(&o);
	uint64_t id, recv_id;

	(void)state;
	assert_int_equal(hx_to_state(w, requester(w), TP_QPS_ERR), 0);
	hx_run(w, HX_MS);
	hx_expect_none(w);
	id = hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	recv_id = hx_recv(requester(w), NULL, 0);
	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_WR_FLUSH_ERR);
	hx_expect(&w->side[0].recv_cq, recv_id, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(w->n_log, 0);
	hx_free(w);
}

/* The receive of a message that was arriving when its queue pair was moved to error. */
static void test_flush_receive_in_progress(void **state)
{
	struct hx_world *w = make(false);
	static const uint8_t data[256];
	struct hx_piece piece = {0, 600};
	uint64_t first = hx_recv(&w->side[1].qps[0], &piece, 1), second = hx_recv(&w->side[1].qps[0], &piece, 1);

	(void)state;
	hx_inject(w, 1, (struct wire_pkt){.opcode = WIRE_RC_SEND_FIRST, .psn = P}, data, 256);
	assert_int_equal(hx_to_state(w, &w->side[1].qps[0], TP_QPS_ERR), 0);
	hx_run(w, HX_MS);
	hx_expect(&w->side[1].recv_cq, first, TP_WC_WR_FLUSH_ERR);
	hx_expect(&w->side[1].recv_cq, second, TP_WC_WR_FLUSH_ERR);
	hx_expect_none(w);
	hx_free(w);
}

/* In the error state nothing is sent and nothing taken. */
static void test_error_is_silent(void **state)
{
	struct hx_world *w = make(false);

	(void)state;
	assert_int_equal(hx_to_state(w, &w->side[1].qps[0], TP_QPS_ERR), 0);
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, HX_S);
	assert_int_equal(w->side[1].emitted, 0);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_RETRY_EXC_ERR);
	hx_free(w);
}

/* ---- completion queues that are full ---- */

static void test_send_cq_full(void **state)
{
	struct hx_world *w = make(false);

	(void)state;
	w->side[0].send_cq.limit = 2;
	for (uint32_t i = 0; i < 5; i++)
		hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, HX_S);
	assert_int_equal(w->side[0].send_cq.n, 2);
	assert_int_equal(hx_state(requester(w)), TP_QPS_ERR);
	assert_int_equal(requester(w)->events[TP_EVENT_QP_FATAL], 1);
	hx_free(w);
}

static void test_recv_cq_full(void **state)
{
	struct hx_world *w = make(false);
	struct hx_piece piece = {0, 64};

	(void)state;
	w->side[1].recv_cq.limit = 1;
	for (uint32_t i = 0; i < 3; i++) {
		hx_recv(&w->side[1].qps[0], &piece, 1);
		hx_op(w, TP_WR_SEND, 0, 0, 8, 0);
	}
	hx_run(w, HX_S);
	assert_int_equal(w->side[1].recv_cq.n, 1);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_ERR);
	assert_int_equal(w->side[1].qps[0].events[TP_EVENT_QP_FATAL], 1);
	hx_free(w);
}

/* ---- destroying with everything in flight ---- */

static void test_destroy_in_flight(void **state)
{
	struct hx_world *w = make(true);
	struct hx_qp *q = requester(w);

	(void)state;
	hx_op(w, TP_WR_READ, 0, 0, 9000, 0);
	hx_op(w, TP_WR_WRITE, 0, 0, 9000, 0);
	hx_run(w, 25000);
	tp_qp_kick(w->side[0].tp, q->qp);
	tp_qp_destroy(w->side[0].tp, q->qp);
	assert_null(tp_qp_find(w->side[0].tp, q->qpn));
	hx_run(w, HX_S);
	assert_false(tp_has_work(w->side[0].tp));
	assert_true(tp_next_ns(w->side[0].tp) == UINT64_MAX);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_local_memory),
		cmocka_unit_test(test_local_write_right),
		cmocka_unit_test(test_empty_entries),
		cmocka_unit_test(test_region_gone_while_sending),
		cmocka_unit_test(test_region_gone_while_reading),
		cmocka_unit_test(test_copy_fails),
		cmocka_unit_test(test_mapping_fails),
		cmocka_unit_test(test_copy_fails_for_one_only),
		cmocka_unit_test(test_bad_operations),
		cmocka_unit_test(test_bad_inline),
		cmocka_unit_test(test_inline_too_long),
		cmocka_unit_test(test_too_many_entries),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_atomic_result_too_small),
		cmocka_unit_test(test_reads_without_resources),
		cmocka_unit_test(test_malformed_slot),
		cmocka_unit_test(test_bad_request_is_not_sent),
		cmocka_unit_test(test_both_sides),
		cmocka_unit_test(test_peer_receive_too_small),
		cmocka_unit_test(test_flush_all),
		cmocka_unit_test(test_flush_later_and_unsignalled),
		cmocka_unit_test(test_flush_receive_in_progress),
		cmocka_unit_test(test_error_is_silent),
		cmocka_unit_test(test_send_cq_full),
		cmocka_unit_test(test_recv_cq_full),
		cmocka_unit_test(test_destroy_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
