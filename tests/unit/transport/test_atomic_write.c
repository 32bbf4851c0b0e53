/* SPDX-License-Identifier: BSD-3-Clause */
/* ATOMIC WRITE (IBTA vol. 1, annex A19): eight bytes, stored in one piece, answered by an empty READ response. */
#include "base_psn.h"
#include "responder_kit.h"

#define AT 64u

static const uint64_t value = 0x1122334455667788ull;

static uint64_t at(const struct hx_world *w, int side, uint32_t off)
{
	uint64_t v;

	memcpy(&v, w->side[side].mem + off, sizeof(v));
	return v;
}

static struct tp_send_wqe to(const struct hx_world *w, uint32_t off)
{
	struct tp_send_wqe wqe = {.opcode = TP_WR_ATOMIC_WRITE, .rkey = w->side[1].key, .remote_addr = HX_IOVA + off};

	return wqe;
}

/* ---- both ends ---- */

static void one_each_way(bool copied)
{
	struct hx_options o = {.copied = copied};
	struct hx_world *w = hx_new(&o);
	struct tp_send_wqe wqe = to(w, AT);
	struct hx_piece piece = {128, 8};
	const struct tp_cqe *cqe;
	uint64_t id;

	memcpy(w->side[0].mem + 128, &value, sizeof(value));
	memset(w->side[1].mem, 0xaa, 128);
	id = hx_post(&w->side[0].qps[0], &wqe, &piece, 1);
	hx_run(w, HX_S);
	cqe = hx_poll(&w->side[0].send_cq);
	assert_int_equal(cqe->wr_id, id);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->opcode, TP_WC_OP_ATOMIC_WRITE);
	assert_int_equal(cqe->bytes, 8);
	assert_true(at(w, 1, AT) == value);
	assert_int_equal(w->side[1].mem[AT - 1], 0xaa);
	assert_int_equal(w->side[1].mem[AT + 8], 0xaa);
	assert_int_equal(hx_count(w, 0, WIRE_RC_ATOMIC_WRITE), 1);
	assert_int_equal(hx_count(w, 1, WIRE_RC_READ_RESP_ONLY), 1);
	assert_int_equal(hx_last(w, 1)->payload_bytes, 0);
	assert_int_equal(hx_last(w, 1)->msn, 1);

	wqe = to(w, AT + 8);
	id = hx_post_inline(&w->side[0].qps[0], &wqe, &value, 8);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_true(at(w, 1, AT + 8) == value);
	hx_expect_none(w);
	hx_free(w);
}

static void test_stores(void **state)
{
	(void)state;
	one_each_way(false);
	one_each_way(true);
}

/* Eight bytes, neither more nor less. */
static void test_length_is_eight(void **state)
{
	static const uint32_t bad[] = {0, 4, 7, 9, 16};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hx_options o = {0};
		struct hx_world *w = hx_new(&o);
		struct tp_send_wqe wqe = to(w, AT);
		struct hx_piece piece = {0, bad[i]};
		uint64_t id = hx_post(&w->side[0].qps[0], &wqe, &piece, 1);

		hx_run(w, HX_S);
		hx_expect(&w->side[0].send_cq, id, TP_WC_LOC_LEN_ERR);
		assert_int_equal(hx_count(w, 0, WIRE_RC_ATOMIC_WRITE), 0);
		hx_free(w);
	}
}

/* Its source is read only, unlike the place of an atomic's answer. */
static void test_source_need_not_be_writable(void **state)
{
	struct hx_options o = {0};
	struct hx_world *w = hx_new(&o);
	struct tp_mr_attr attr = {.pd = HX_PD, .iova = HX_IOVA, .addr = (uintptr_t)w->side[0].mem, .bytes = 64,
		.direct = w->side[0].mem};
	struct tp_send_wqe wqe = to(w, AT);
	struct tp_sge sge = {.addr = HX_IOVA, .bytes = 8};
	uint64_t id;

	(void)state;
	assert_int_equal(tp_mr_create(w->side[0].tp, &attr, &sge.lkey), 0);
	id = hx_post_raw(&w->side[0].qps[0], &wqe, &sge, 1);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	sge.lkey ^= 1;
	id = hx_post_raw(&w->side[0].qps[0], &wqe, &sge, 1);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_LOC_PROT_ERR);
	hx_free(w);
}

/* It takes one of the READ and atomic resources of the responder: 9.7.5.2.8 holds for it too. */
static void test_takes_resources(void **state)
{
	struct hx_options o = {.rd_atomic = 2, .dest_rd_atomic = 2};
	struct hx_world *w = hx_new(&o);
	struct tp_send_wqe wqe = to(w, AT);

	(void)state;
	w->cut = true;
	for (uint32_t i = 0; i < 5; i++)
		hx_post_inline(&w->side[0].qps[0], &wqe, &value, 8);
	tp_tx(w->side[0].tp, 64, w->now_ns);
	assert_int_equal(hx_count(w, 0, WIRE_RC_ATOMIC_WRITE), 2);
	hx_free(w);

	o.rd_atomic = HX_ZERO;
	w = hx_new(&o);
	hx_post_inline(&w->side[0].qps[0], &wqe, &value, 8);
	hx_run(w, HX_S);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_LOC_QP_OP_ERR);
	hx_free(w);
}

/* A fence waits for it, as for every request that needs an answer of its own. */
static void test_fence_waits(void **state)
{
	struct hx_options o = {0};
	struct hx_world *w = hx_new(&o);
	struct tp_send_wqe wqe = to(w, AT);

	(void)state;
	w->cut = true;
	hx_post_inline(&w->side[0].qps[0], &wqe, &value, 8);
	hx_op(w, TP_WR_WRITE, TP_SEND_FENCE, 0, 16, 256);
	tp_tx(w->side[0].tp, 64, w->now_ns);
	assert_int_equal(hx_count(w, 0, WIRE_RC_ATOMIC_WRITE), 1);
	assert_int_equal(hx_count(w, 0, WIRE_RC_WRITE_ONLY), 0);
	hx_free(w);
}

/* Over a bad wire each is carried out once and in order: the last value stays, and nothing comes back. */
static void test_lossy(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct hx_options o = {.seed = seed, .lose = 50, .repeat = 50, .delay = 50, .damage = 20,
			.psn = 0xfffff0, .copied = seed % 2 == 0, .retry_cnt = 7};
		struct hx_world *w = hx_new(&o);
		struct tp_send_wqe wqe = to(w, AT);
		uint64_t v;

		for (v = 1; v <= 60; v++) {
			hx_op(w, v % 3 == 0 ? TP_WR_READ : TP_WR_WRITE, 0, 4096, 3000, 8192);
			hx_post_inline(&w->side[0].qps[0], &wqe, &v, 8);
			if (v % 10 == 0)
				hx_run(w, 2 * HX_S);
		}
		for (uint32_t i = 0; i < 120; i++)
			assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
		assert_true(at(w, 1, AT) == 60);
		hx_free(w);
	}
}

/* ---- the responder ---- */

static void store(struct hx_world *w, uint32_t psn, uint64_t va, uint32_t reth_bytes, uint32_t n)
{
	struct wire_pkt pkt = request(w, WIRE_RC_ATOMIC_WRITE, psn);

	pkt.va = va;
	pkt.dma_bytes = reth_bytes;
	hx_inject(w, 1, pkt, &value, n);
	hx_run(w, HX_MS);
}

static void expect_stored(struct hx_world *w, uint32_t psn, uint32_t msn)
{
	assert_int_equal(hx_last(w, 1)->opcode, WIRE_RC_READ_RESP_ONLY);
	assert_int_equal(hx_last(w, 1)->psn, psn);
	assert_int_equal(hx_last(w, 1)->syndrome, 0x1f);
	assert_int_equal(hx_last(w, 1)->msn, msn);
	assert_int_equal(hx_last(w, 1)->payload_bytes, 0);
}

static void test_bad_requests(void **state)
{
	static const struct {
		uint32_t off, reth_bytes, n;
		uint8_t syndrome;
	} bad[] = {
		{4, 8, 8, 0x61},                  /* not aligned */
		{1, 8, 8, 0x61},
		{0, 4, 8, 0x61},                  /* length in the RETH */
		{0, 16, 8, 0x61},
		{0, 8, 4, 0x61},                  /* payload */
		{0, 8, 0, 0x61},
		{HX_MEM_BYTES, 8, 8, 0x62},       /* outside of the region */
		{0u - 8u, 8, 8, 0x62},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hx_world *w = alone(256);

		store(w, P, HX_IOVA + bad[i].off, bad[i].reth_bytes, bad[i].n);
		expect_fatal(w, bad[i].syndrome, P, TP_WC_WR_FLUSH_ERR);
		assert_int_equal(responder(w)->events[bad[i].syndrome == 0x61 ? TP_EVENT_QP_REQ_ERR
									      : TP_EVENT_QP_ACCESS_ERR], 1);
		hx_free(w);
	}
}

/* The right is that of WRITE: of the queue pair and of the region. */
static void test_needs_remote_write(void **state)
{
	struct tp_mr_attr attr = {.pd = HX_PD, .iova = 0, .bytes = 64,
		.access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_ATOMIC | TP_ACCESS_REMOTE_READ};
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_ATOMIC_WRITE, P);
	struct tp_qp_attr qp_attr = {.access = TP_ACCESS_REMOTE_ATOMIC | TP_ACCESS_REMOTE_READ};

	(void)state;
	attr.addr = (uintptr_t)w->side[1].mem;
	attr.direct = w->side[1].mem;
	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &pkt.rkey), 0);
	pkt.va = 0;
	pkt.dma_bytes = 8;
	hx_inject(w, 1, pkt, &value, 8);
	expect_fatal(w, 0x62, P, TP_WC_WR_FLUSH_ERR);
	hx_free(w);

	w = alone(256);
	assert_int_equal(tp_qp_modify(w->side[1].tp, responder(w)->qp, &qp_attr, TP_QP_ACCESS_FLAGS, w->now_ns), 0);
	store(w, P, HX_IOVA, 8, 8);
	expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

/* 9.7.5.1.1: a duplicate is answered again and not carried out again. */
static void test_duplicate(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	store(w, P, HX_IOVA + AT, 8, 8);
	expect_stored(w, P, 1);
	assert_true(at(w, 1, AT) == value);
	memset(w->side[1].mem + AT, 0, 8);
	store(w, P, HX_IOVA + AT, 8, 8);
	expect_stored(w, P, 1);
	assert_int_equal(hx_count(w, 1, WIRE_RC_READ_RESP_ONLY), 2);
	assert_true(at(w, 1, AT) == 0);
	/* What is no copy of it is nobody's duplicate. */
	store(w, P, HX_IOVA + AT + 8, 8, 8);
	assert_int_equal(hx_count(w, 1, WIRE_RC_READ_RESP_ONLY), 2);
	assert_int_equal(dropped(w, BASE_DROP_DUPLICATE), 1);
	store(w, base_psn_add(P, 1), HX_IOVA + AT, 8, 8);
	expect_stored(w, base_psn_add(P, 1), 2);
	hx_free(w);
}

/* No resources were agreed on, so none may be asked for. */
static void test_no_resources(void **state)
{
	struct hx_options o = {.mtu = 256, .psn = P, .dest_rd_atomic = HX_ZERO};
	struct hx_world *w = hx_new(&o);

	(void)state;
	w->cut = true;
	store(w, P, HX_IOVA, 8, 8);
	expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

/* What cannot be stored is the responder's fault: remote operational error. */
static void test_memory_is_gone(void **state)
{
	struct hx_options o = {.mtu = 256, .psn = P, .copied = true};
	struct hx_world *w = hx_new(&o);

	(void)state;
	w->cut = true;
	w->side[1].fail_write = true;
	store(w, P, HX_IOVA, 8, 8);
	expect_fatal(w, 0x63, P, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(responder(w)->events[TP_EVENT_QP_FATAL], 1);
	hx_free(w);
}

/* What was written before it is in memory before it: the flag that a reader waits for comes last. */
static void test_comes_after_writes(void **state)
{
	struct hx_options o = {.mtu = 256, .psn = P, .copied = true};
	struct hx_world *w = hx_new(&o);
	struct wire_pkt pkt = request(w, WIRE_RC_ATOMIC_WRITE, base_psn_add(P, 1));

	(void)state;
	w->cut = true;
	hx_hold(w);
	write(w, WIRE_RC_WRITE_ONLY, P, 200, 200);
	pkt.va = HX_IOVA + AT;
	pkt.dma_bytes = 8;
	hx_inject(w, 1, pkt, &value, 8);
	hx_release(w, 1);
	assert_int_equal(w->side[1].mem_writes, 2);
	assert_memory_equal(w->side[1].mem + 4096, bytes, 200);
	assert_true(at(w, 1, AT) == value);
	assert_int_equal(hx_count(w, 1, WIRE_RC_READ_RESP_ONLY), 1);
	hx_free(w);
}

/* The answer to it is an empty READ response, and no other. */
static void test_bad_answers(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t n;
	} bad[] = {{WIRE_RC_READ_RESP_ONLY, 8}, {WIRE_RC_READ_RESP_FIRST, 0}, {WIRE_RC_ATOMIC_ACK, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hx_options o = {.psn = P};
		struct hx_world *w = hx_new(&o);
		struct tp_send_wqe wqe = to(w, AT);
		struct wire_pkt pkt = {.opcode = bad[i].opcode, .psn = P, .syndrome = 0x1f};

		w->cut = true;
		hx_post_inline(&w->side[0].qps[0], &wqe, &value, 8);
		tp_tx(w->side[0].tp, 8, w->now_ns);
		hx_inject(w, 0, pkt, &value, bad[i].n);
		assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_BAD_RESP_ERR);
		hx_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stores),
		cmocka_unit_test(test_length_is_eight),
		cmocka_unit_test(test_source_need_not_be_writable),
		cmocka_unit_test(test_takes_resources),
		cmocka_unit_test(test_fence_waits),
		cmocka_unit_test(test_lossy),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_needs_remote_write),
		cmocka_unit_test(test_duplicate),
		cmocka_unit_test(test_no_resources),
		cmocka_unit_test(test_memory_is_gone),
		cmocka_unit_test(test_comes_after_writes),
		cmocka_unit_test(test_bad_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
