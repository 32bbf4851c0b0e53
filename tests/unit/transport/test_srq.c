/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues: IBTA vol. 1, 10.2.9, and the events of 11.6.3. */
#include <errno.h>

#include "harness.h"

#define GRH 40

static const enum tp_qp_type types[] = {TP_QPT_RC, TP_QPT_UC, TP_QPT_UD};
#define N_TYPES 3

static struct hx_world *new_world(enum tp_qp_type type, uint32_t n_qps)
{
	struct hx_options o = {.type = type, .srq = true, .n_qps = n_qps, .copied = true};
	struct hx_world *w = hx_new(&o);

	hx_fill(w->side[0].mem, HX_MEM_BYTES, 5);
	return w;
}

static uint64_t post_recv(struct hx_world *w, uint32_t off, uint32_t bytes)
{
	struct hx_piece piece = {off, bytes};

	return hx_srq_recv(&w->side[1], &piece, 1);
}

static void post_send(struct hx_world *w, uint32_t qp, uint32_t off, uint32_t bytes)
{
	struct tp_send_wqe wqe = {.opcode = TP_WR_SEND};
	struct hx_piece piece = {off, bytes};

	if (w->o.type == TP_QPT_UD) {
		wqe.ud.ah = w->side[0].ah;
		wqe.ud.qpn = w->side[1].qps[qp].qpn;
		wqe.ud.qkey = HX_QKEY;
	}
	hx_post(&w->side[0].qps[qp], &wqe, &piece, 1);
}

/* Messages to several queue pairs use the work requests in the order in which they begin. */
static void messages(enum tp_qp_type type)
{
	struct hx_world *w = new_world(type, 3);
	uint32_t extra = type == TP_QPT_UD ? GRH : 0;
	uint64_t id[9];

	for (uint32_t i = 0; i < 9; i++)
		id[i] = post_recv(w, i * 4096, 2000);
	for (uint32_t i = 0; i < 9; i++) {
		uint32_t bytes = type == TP_QPT_UD ? 900 + i : 1100 + i;
		const struct tp_cqe *cqe;

		post_send(w, i % 3, i * 100, bytes);
		hx_run(w, HX_MS);
		cqe = hx_poll(&w->side[1].recv_cq);
		assert_int_equal(cqe->status, TP_WC_SUCCESS);
		assert_int_equal(cqe->wr_id, id[i]);
		assert_int_equal(cqe->qpn, w->side[1].qps[i % 3].qpn);
		assert_int_equal(cqe->bytes, bytes + extra);
		assert_memory_equal(w->side[1].mem + i * 4096 + extra, w->side[0].mem + i * 100, bytes);
	}
	assert_int_equal(w->side[1].srq.limit_events, 0);
	hx_free(w);
}

static void test_messages(void **state)
{
	(void)state;
	for (int t = 0; t < N_TYPES; t++)
		messages(types[t]);
}

/* Messages of two queue pairs that arrive interleaved have one work request each. */
static void test_interleaved(void **state)
{
	struct hx_world *w = new_world(TP_QPT_RC, 2);
	const struct tp_cqe *cqe;

	(void)state;
	post_recv(w, 0, 100000);
	post_recv(w, 100000, 100000);
	post_send(w, 0, 0, 90000);
	post_send(w, 1, 500, 90000);
	hx_run(w, HX_S);
	for (int i = 0; i < 2; i++) {
		cqe = hx_poll(&w->side[1].recv_cq);
		assert_int_equal(cqe->bytes, 90000);
		assert_memory_equal(w->side[1].mem + (cqe->wr_id & 1) * 100000,
			w->side[0].mem + (cqe->qpn == w->side[1].qps[1].qpn ? 500 : 0), 90000);
	}
	hx_free(w);
}

/* RC waits for a work request by RNR NAK; the others drop. */
static void test_empty(void **state)
{
	(void)state;
	for (int t = 0; t < N_TYPES; t++) {
		struct hx_world *w = new_world(types[t], 1);

		post_send(w, 0, 0, 100);
		hx_run(w, HX_MS);
		assert_int_equal(w->side[1].recv_cq.n, 0);
		post_recv(w, 0, 2000);
		hx_run(w, HX_S);
		assert_int_equal(w->side[1].recv_cq.n, types[t] == TP_QPT_RC ? 1 : 0);
		assert_true(tp_counters(w->side[1].tp)->drops[BASE_DROP_NO_RECV] != 0);
		hx_free(w);
	}
}

/* L_Keys belong to the domain of the shared queue, not of the queue pair. */
static void test_protection_domain(void **state)
{
	struct hx_world *w = new_world(TP_QPT_RC, 1);
	struct tp_sge sge = {HX_IOVA, 2000, w->side[1].key};
	uint64_t id = hx_srq_recv_raw(&w->side[1], &sge, 1);

	(void)state;
	post_send(w, 0, 0, 100);
	hx_run(w, HX_S);
	hx_expect(&w->side[1].recv_cq, id, TP_WC_LOC_PROT_ERR);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_ERR);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_REM_OP_ERR);
	hx_free(w);
}

static void test_malformed(void **state)
{
	(void)state;
	for (int t = 0; t < N_TYPES; t++) {
		struct hx_world *w = new_world(types[t], 1);
		struct tp_sge sge[5] = {{HX_IOVA, 2000, w->side[1].srq_key}};
		/* More entries than the shared queue has; the queue pair itself could have more. */
		uint64_t id = hx_srq_recv_raw(&w->side[1], sge, 5);

		post_send(w, 0, 0, 100);
		hx_run(w, HX_S);
		hx_expect(&w->side[1].recv_cq, id, TP_WC_LOC_QP_OP_ERR);
		assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_ERR);
		hx_free(w);
	}
}

/* ---- limit ---- */

static void test_limit(void **state)
{
	struct hx_world *w = new_world(TP_QPT_UC, 1);
	struct hx_srq *srq = &w->side[1].srq;
	struct tp *tp = w->side[1].tp;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		post_recv(w, 0, 2000);
	assert_int_equal(tp_srq_set_limit(tp, srq->srq, HX_RING + 1), -EINVAL);
	assert_int_equal(tp_srq_set_limit(tp, srq->srq, 4), 0);
	assert_int_equal(tp_srq_limit(srq->srq), 4);
	for (uint32_t i = 0; i < 2; i++)
		post_send(w, 0, 0, 10);
	hx_run(w, HX_MS);
	assert_int_equal(srq->limit_events, 0);   /* 4 are left */
	post_send(w, 0, 0, 10);
	hx_run(w, HX_MS);
	assert_int_equal(srq->limit_events, 1);
	assert_int_equal(tp_srq_limit(srq->srq), 0);
	/* Once only, until it is armed anew. */
	post_send(w, 0, 0, 10);
	hx_run(w, HX_MS);
	assert_int_equal(srq->limit_events, 1);
	/* There are fewer already: at once. */
	assert_int_equal(tp_srq_set_limit(tp, srq->srq, 3), 0);
	assert_int_equal(srq->limit_events, 2);
	assert_int_equal(tp_srq_limit(srq->srq), 0);
	assert_int_equal(tp_srq_set_limit(tp, srq->srq, 2), 0);
	assert_int_equal(srq->limit_events, 2);
	assert_int_equal(tp_srq_set_limit(tp, srq->srq, 0), 0);
	post_send(w, 0, 0, 10);
	hx_run(w, HX_MS);
	assert_int_equal(srq->limit_events, 2);
	hx_free(w);
}

/* ---- error state ---- */

/* What is posted to the shared queue stays for the other queue pairs; the event tells that no more is taken. */
static void test_error_leaves_queue(void **state)
{
	(void)state;
	for (int t = 0; t < N_TYPES; t++) {
		struct hx_world *w = new_world(types[t], 2);
		struct hx_qp *q = &w->side[1].qps[0];
		uint64_t id = post_recv(w, 0, 2000);

		assert_int_equal(hx_to_state(w, q, TP_QPS_ERR), 0);
		assert_int_equal(hx_to_state(w, q, TP_QPS_ERR), 0);
		hx_run(w, HX_MS);
		hx_expect_none(w);
		assert_int_equal(q->events[TP_EVENT_LAST_WQE], 1);
		assert_int_equal(w->side[1].qps[1].events[TP_EVENT_LAST_WQE], 0);
		post_send(w, 1, 0, 100);
		hx_run(w, HX_MS);
		hx_expect(&w->side[1].recv_cq, id, TP_WC_SUCCESS);
		hx_free(w);
	}
}

/* A work request in use is flushed, and only then the event comes. */
static void test_error_in_message(void **state)
{
	struct hx_world *w = new_world(TP_QPT_UC, 1);
	struct hx_qp *q = &w->side[1].qps[0];
	uint64_t id = post_recv(w, 0, 8000);
	struct wire_pkt pkt = {.opcode = WIRE_UC_SEND_FIRST};
	static const uint8_t data[1024];

	(void)state;
	hx_inject(w, 1, pkt, data, 1024);
	w->side[1].recv_cq.limit = 1;
	assert_int_equal(hx_to_state(w, q, TP_QPS_ERR), 0);
	hx_expect(&w->side[1].recv_cq, id, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(q->events[TP_EVENT_LAST_WQE], 1);
	hx_free(w);
}

static void test_no_event_without(void **state)
{
	struct hx_options o = {0};
	struct hx_world *w = hx_new(&o);

	(void)state;
	assert_int_equal(hx_to_state(w, &w->side[1].qps[0], TP_QPS_ERR), 0);
	assert_int_equal(w->side[1].qps[0].events[TP_EVENT_LAST_WQE], 0);
	hx_free(w);
}

/* 9.9.3, class E: the work request of an unreliable message that is given up completes with an error, so that no
 * idle queue pair keeps it from the others; the queue pair goes on. */
static void test_cut_message(void **state)
{
	struct hx_world *w = new_world(TP_QPT_UC, 2);
	struct wire_pkt pkt = {.opcode = WIRE_UC_SEND_FIRST};
	static uint8_t data[1024];
	uint64_t id[2] = {post_recv(w, 0, 8000), post_recv(w, 8000, 8000)};
	struct hx_cq *cq = &w->side[1].recv_cq;

	(void)state;
	memset(data, 0x77, sizeof(data));
	hx_hold(w);
	hx_inject(w, 1, pkt, data, 1024);
	pkt.psn = 5;
	pkt.opcode = WIRE_UC_SEND_FIRST + (WIRE_RC_SEND_ONLY - WIRE_RC_SEND_FIRST);
	hx_inject(w, 1, pkt, data, 12);
	hx_release(w, 1);
	hx_expect(cq, id[0], TP_WC_REM_INV_REQ_ERR);
	hx_expect(cq, id[1], TP_WC_SUCCESS);
	assert_int_equal(w->side[1].mem[1023], 0x77);
	assert_int_equal(tp_counters(w->side[1].tp)->cut_messages, 1);
	assert_int_equal(w->side[1].qps[0].events[TP_EVENT_LAST_WQE], 0);
	/* Refused at its first packet. */
	id[0] = post_recv(w, 0, 8000);
	pkt.opcode = WIRE_UC_SEND_FIRST;
	hx_inject(w, 1, pkt, data, 1000);
	hx_expect(cq, id[0], TP_WC_REM_INV_REQ_ERR);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_RTS);
	hx_free(w);
}

/* That completion finds no room: the queue pair ends, and the packet that told of the gap is not taken. */
static void test_cut_message_without_room(void **state)
{
	struct hx_world *w = new_world(TP_QPT_UC, 1);
	struct wire_pkt pkt = {.opcode = WIRE_UC_SEND_FIRST};
	static const uint8_t data[1024];

	(void)state;
	post_recv(w, 0, 8000);
	post_recv(w, 0, 8000);
	w->side[1].recv_cq.limit = 0;
	hx_inject(w, 1, pkt, data, 1024);
	hx_inject(w, 1, pkt, data, 1024);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_ERR);
	assert_int_equal(w->side[1].srq.fetch, 1);
	assert_int_equal(w->side[1].qps[0].events[TP_EVENT_LAST_WQE], 1);
	hx_free(w);
}

/* ---- life ---- */

static void test_life(void **state)
{
	struct hx_world *w = new_world(TP_QPT_RC, 1);
	struct tp *tp = w->side[1].tp;
	struct tp_srq_init init = {.pd = HX_PD, .depth = 16, .max_sge = TP_MAX_SGE};
	struct tp_qp_init qp_init = {.type = TP_QPT_RC, .pd = HX_PD};
	struct tp_srq *srq;
	struct tp_qp *qp[2];
	uint32_t qpn;

	(void)state;
	assert_int_equal(tp_srq_create(tp, &init, &srq), 0);
	qp_init.srq = srq;
	for (int i = 0; i < 2; i++)
		assert_int_equal(tp_qp_create(tp, &qp_init, &qp[i], &qpn), 0);
	assert_int_equal(tp_srq_destroy(tp, srq), -EBUSY);
	tp_qp_destroy(tp, qp[0]);
	assert_int_equal(tp_srq_destroy(tp, srq), -EBUSY);
	tp_qp_destroy(tp, qp[1]);
	assert_int_equal(tp_srq_destroy(tp, srq), 0);
	init.max_sge = TP_MAX_SGE + 1;
	assert_int_equal(tp_srq_create(tp, &init, &srq), -EINVAL);
	init.max_sge = 0;
	init.depth = 0;
	assert_int_equal(tp_srq_create(tp, &init, &srq), -EINVAL);
	init.depth = (1u << 20) + 1;
	assert_int_equal(tp_srq_create(tp, &init, &srq), -EINVAL);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_interleaved),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_protection_domain),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_error_leaves_queue),
		cmocka_unit_test(test_error_in_message),
		cmocka_unit_test(test_no_event_without),
		cmocka_unit_test(test_cut_message),
		cmocka_unit_test(test_cut_message_without_room),
		cmocka_unit_test(test_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
