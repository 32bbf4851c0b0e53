/* SPDX-License-Identifier: BSD-3-Clause */
/* Extended reliable connections: IBTA vol. 1, annex A14. Side 0 has initiators, side 1 targets and XRC SRQs. */
#include <errno.h>

#include "harness.h"

#define OTHER_XRCD 4

static struct hx_world *new_world(uint32_t n_qps)
{
	struct hx_options o = {.type = TP_QPT_XRC_INI, .n_qps = n_qps, .copied = true};
	struct hx_world *w = hx_new(&o);

	hx_fill(w->side[0].mem, HX_MEM_BYTES, 5);
	return w;
}

static uint32_t number(const struct hx_world *w)
{
	return tp_srq_number(w->side[1].srq.srq);
}

static uint64_t post_recv(struct hx_world *w, uint32_t off, uint32_t bytes)
{
	struct hx_piece piece = {off, bytes};

	return hx_srq_recv(&w->side[1], &piece, 1);
}

static uint64_t post_to(struct hx_world *w, uint32_t qp, uint32_t srqn, struct tp_send_wqe wqe, uint32_t bytes)
{
	struct hx_piece piece = {0, bytes};

	wqe.srqn = srqn;
	return hx_post(&w->side[0].qps[qp], &wqe, &piece, 1);
}

static uint64_t post(struct hx_world *w, enum tp_wr_opcode op, uint32_t bytes)
{
	struct tp_send_wqe wqe = {.opcode = (uint8_t)op, .remote_addr = HX_IOVA + 4096, .rkey = w->side[1].srq_key,
		.imm = 0x1234};

	return post_to(w, 0, number(w), wqe, bytes);
}

/* A shared queue of the test's own, beside that of side 1. */
static void add_srq(struct hx_world *w, uint32_t xrcd, struct hx_srq *srq, struct hx_cq *cq)
{
	struct tp_srq_init init = {
		.pd = HX_SRQ_PD, .depth = HX_RING, .max_sge = 4, .xrcd = xrcd, .cq = cq, .cookie = srq};

	*srq = (struct hx_srq){.ring = calloc(HX_RING, HX_SLOT_BYTES)};
	assert_int_equal(tp_srq_create(w->side[1].tp, &init, &srq->srq), 0);
}

/* A message completes on the CQ of the queue that it names, with the target's number and the peer's. */
static void test_send(void **state)
{
	struct hx_world *w = new_world(2);
	const struct tp_cqe *cqe;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t recv = post_recv(w, 8192, 5000);
		struct tp_send_wqe wqe = {.opcode = TP_WR_SEND_IMM, .imm = 7};
		uint64_t sent = post_to(w, i, number(w), wqe, 4500);

		hx_run(w, HX_S);
		cqe = hx_poll(&w->side[1].recv_cq);
		assert_int_equal(cqe->status, TP_WC_SUCCESS);
		assert_int_equal(cqe->wr_id, recv);
		assert_int_equal(cqe->qpn, w->side[1].qps[i].qpn);
		assert_int_equal(cqe->src_qpn, w->side[0].qps[i].qpn);
		assert_int_equal(cqe->bytes, 4500);
		assert_int_equal(cqe->flags, TP_WC_WITH_IMM);
		assert_memory_equal(w->side[1].mem + 8192, w->side[0].mem, 4500);
		hx_expect(&w->side[0].send_cq, sent, TP_WC_SUCCESS);
	}
	hx_free(w);
}

/* All packets of a request carry the number, none of a response does, and all are of the XRC service. */
static void test_packets(void **state)
{
	struct hx_world *w = new_world(1);

	(void)state;
	post_recv(w, 0, 5000);
	post(w, TP_WR_SEND, 4500);
	post(w, TP_WR_READ, 3000);
	hx_run(w, HX_S);
	for (uint32_t i = 0; i < w->n_log; i++) {
		const struct wire_pkt *pkt = &w->log[i].pkt;

		assert_int_equal(wire_opinfo(pkt->opcode)->service, WIRE_SERVICE_XRC);
		assert_int_equal((pkt->hdrs & WIRE_HDR_XRCETH) != 0, w->log[i].from == 0);
		if (w->log[i].from == 0)
			assert_int_equal(pkt->xrceth, number(w));
	}
	hx_free(w);
}

/* A14: the R_Key is of the domain of the shared queue; the target has no protection domain. */
static void test_remote_memory(void **state)
{
	static const enum tp_wr_opcode ops[] = {TP_WR_WRITE, TP_WR_READ, TP_WR_FETCH_ADD, TP_WR_CMP_SWAP};

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct hx_world *w = new_world(1);
		uint32_t bytes = ops[i] == TP_WR_FETCH_ADD || ops[i] == TP_WR_CMP_SWAP ? 8 : 9000;
		struct tp_send_wqe wqe = {.opcode = (uint8_t)ops[i], .remote_addr = HX_IOVA, .rkey = w->side[1].key};
		uint64_t id = post(w, ops[i], bytes);

		hx_run(w, HX_S);
		hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
		if (ops[i] == TP_WR_WRITE || ops[i] == TP_WR_READ)
			assert_memory_equal(w->side[1].mem + 4096, w->side[0].mem, bytes);
		/* Of the domain that RC queue pairs of this side have. */
		id = post_to(w, 0, number(w), wqe, bytes);
		hx_run(w, HX_S);
		hx_expect(&w->side[0].send_cq, id, TP_WC_REM_ACCESS_ERR);
		hx_free(w);
	}
}

/* No such number, or a queue of another domain: NAK invalid RD request, and both ends stop. */
static void test_bad_number(void **state)
{
	static struct hx_cq cq = {.limit = 16};

	(void)state;
	for (int other = 0; other < 2; other++) {
		struct hx_world *w = new_world(1);
		struct hx_srq srq;
		uint64_t id;

		add_srq(w, OTHER_XRCD, &srq, &cq);
		id = post_to(w, 0, other ? tp_srq_number(srq.srq) : 0xabcdef,
			(struct tp_send_wqe){.opcode = TP_WR_SEND}, 10);
		hx_run(w, HX_S);
		assert_int_equal(hx_last(w, 1)->opcode, WIRE_XRC_ACK);
		assert_int_equal(hx_last(w, 1)->syndrome, 0x64);
		hx_expect(&w->side[0].send_cq, id, TP_WC_REM_INV_RD_REQ_ERR);
		assert_int_equal(hx_state(&w->side[0].qps[0]), TP_QPS_ERR);
		assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_ERR);
		assert_int_equal(w->side[1].qps[0].events[TP_EVENT_QP_REQ_ERR], 1);
		assert_int_equal(cq.n, 0);
		free(srq.ring);
		hx_free(w);
	}
}

/* Packets of one message that name two queues: invalid request, and the first one's receive ends with an error. */
static void test_number_changes_within_message(void **state)
{
	struct hx_world *w = new_world(1);
	static struct hx_cq cq = {.limit = 16};
	struct wire_pkt pkt = {.opcode = WIRE_XRC_SEND_FIRST};
	static const uint8_t data[1024];
	struct hx_srq srq;
	uint64_t recv;

	(void)state;
	add_srq(w, HX_XRCD, &srq, &cq);
	recv = post_recv(w, 0, 5000);
	w->cut = true;
	pkt.xrceth = number(w);
	hx_inject(w, 1, pkt, data, 1024);
	pkt.opcode = WIRE_XRC_SEND_FIRST + 2;
	pkt.psn = 1;
	pkt.xrceth = tp_srq_number(srq.srq);
	hx_inject(w, 1, pkt, data, 4);
	hx_run(w, HX_MS);
	assert_int_equal(hx_last(w, 1)->syndrome, 0x61);
	hx_expect(&w->side[1].recv_cq, recv, TP_WC_REM_INV_REQ_ERR);
	free(srq.ring);
	hx_free(w);
}

/* A queue may go at any time; what was on its way to it finds it gone, and nothing more of it is used. */
static void test_srq_goes_within_message(void **state)
{
	struct hx_world *w = new_world(1);
	struct wire_pkt pkt = {.opcode = WIRE_XRC_SEND_FIRST, .xrceth = number(w)};
	static const uint8_t data[1024];

	(void)state;
	post_recv(w, 0, 5000);
	w->cut = true;
	hx_inject(w, 1, pkt, data, 1024);
	assert_int_equal(tp_srq_destroy(w->side[1].tp, w->side[1].srq.srq), 0);
	pkt.opcode = WIRE_XRC_SEND_FIRST + 2;
	pkt.psn = 1;
	hx_inject(w, 1, pkt, data, 4);
	hx_run(w, HX_MS);
	assert_int_equal(hx_last(w, 1)->syndrome, 0x64);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_ERR);
	assert_int_equal(w->side[1].recv_cq.n, 0);
	hx_free(w);
}

/* An empty queue answers RNR NAK, and the message comes when there is a work request. */
static void test_empty(void **state)
{
	struct hx_world *w = new_world(1);
	uint64_t id = post(w, TP_WR_SEND, 100);

	(void)state;
	hx_run(w, HX_MS);
	assert_true(tp_counters(w->side[1].tp)->rnr_naks_sent != 0);
	post_recv(w, 0, 1000);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_int_equal(w->side[1].recv_cq.n, 1);
	hx_free(w);
}

/* Requests to an initiator and responses to a target are dropped, and so is what is of RC. */
static void test_one_half_each(void **state)
{
	struct hx_world *w = new_world(1);
	struct wire_pkt request = {.opcode = WIRE_XRC_SEND_FIRST + 4, .xrceth = number(w)};
	struct wire_pkt response = {.opcode = WIRE_XRC_ACK, .syndrome = 0x1f}, rc = {.opcode = WIRE_RC_SEND_ONLY};

	(void)state;
	post_recv(w, 0, 100);
	hx_inject(w, 0, request, NULL, 0);
	hx_inject(w, 1, response, NULL, 0);
	hx_inject(w, 1, rc, NULL, 0);
	hx_run(w, HX_MS);
	assert_int_equal(tp_counters(w->side[0].tp)->drops[BASE_DROP_QP_TYPE], 1);
	assert_int_equal(tp_counters(w->side[1].tp)->drops[BASE_DROP_QP_TYPE], 2);
	assert_int_equal(w->n_log, 0);
	hx_expect_none(w);
	hx_free(w);
}

/* Nothing is fetched for a target, in no state; an initiator flushes its sends. */
static void test_error_state(void **state)
{
	struct hx_world *w = new_world(1);
	uint64_t id;

	(void)state;
	w->side[1].qps[0].sq_prod = 1;
	w->side[1].qps[0].rq_prod = 1;
	w->side[0].qps[0].rq_prod = 1;
	w->cut = true;
	id = post(w, TP_WR_SEND, 100);
	hx_run(w, HX_MS / 10);
	for (int s = 0; s < 2; s++) {
		tp_qp_kick(w->side[s].tp, w->side[s].qps[0].qp);
		assert_int_equal(hx_to_state(w, &w->side[s].qps[0], TP_QPS_ERR), 0);
	}
	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_WR_FLUSH_ERR);
	hx_expect_none(w);
	assert_int_equal(w->side[1].qps[0].sq_fetch + w->side[1].qps[0].rq_fetch + w->side[0].qps[0].rq_fetch, 0);
	hx_free(w);
}

/* Loss and repetition of packets of either direction change nothing. */
static void test_lossy(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct hx_options o = {.type = TP_QPT_XRC_INI, .seed = seed, .lose = 50, .repeat = 50, .delay = 50};
		struct hx_world *w = hx_new(&o);

		hx_fill(w->side[0].mem, HX_MEM_BYTES, 5);
		for (uint32_t i = 0; i < 20; i++) {
			uint64_t recv = post_recv(w, 65536, 9000);
			uint64_t id[3] = {post(w, TP_WR_SEND, 8000 + i), post(w, TP_WR_READ, 5000),
				post(w, TP_WR_FETCH_ADD, 8)};

			hx_run(w, 10 * HX_S);
			hx_expect(&w->side[1].recv_cq, recv, TP_WC_SUCCESS);
			for (int k = 0; k < 3; k++)
				hx_expect(&w->side[0].send_cq, id[k], TP_WC_SUCCESS);
		}
		hx_free(w);
	}
}

/* Annex A14, the attributes of INIT to RTS: an initiator has no responder's and a target no requester's. */
static void test_attributes(void **state)
{
	static const struct {
		enum tp_qp_state to;
		uint32_t extra[2]; /* what an initiator, a target does not take */
	} steps[] = {
		{TP_QPS_INIT, {TP_QP_QKEY, TP_QP_QKEY}},
		{TP_QPS_RTR, {TP_QP_MIN_RNR_TIMER, TP_QP_QKEY}},
		{TP_QPS_RTS, {TP_QP_MIN_RNR_TIMER, TP_QP_RETRY_CNT}},
	};
	struct hx_options o = {.type = TP_QPT_XRC_INI, .stay_in_reset = true};
	struct hx_world *w = hx_new(&o);

	(void)state;
	for (int s = 0; s < 2; s++) {
		struct hx_qp *q = &w->side[s].qps[0];

		for (size_t i = 0; i < 3; i++) {
			struct tp_qp_attr attr;

			hx_attr(w, s, 0, &attr);
			attr.state = steps[i].to;
			assert_int_equal(
				tp_qp_modify(w->side[s].tp, q->qp, &attr, TP_QP_STATE | steps[i].extra[s], 0), -EINVAL);
			assert_int_equal(hx_to_state(w, q, steps[i].to), 0);
		}
	}
	hx_free(w);
}

/* Numbers are like those of queue pairs, rest as long as possible, and are never 0. */
static void test_numbers(void **state)
{
	struct hx_world *w = new_world(1);
	static struct hx_cq cq = {.limit = 1};
	struct tp_srq_init plain = {.pd = HX_PD, .depth = 1, .max_sge = 1};
	struct hx_srq srq[16];
	struct tp_srq *none;
	uint32_t first, n;

	(void)state;
	add_srq(w, HX_XRCD, &srq[0], &cq);
	first = tp_srq_number(srq[0].srq);
	assert_int_equal(tp_srq_destroy(w->side[1].tp, srq[0].srq), 0);
	free(srq[0].ring);
	/* The harness has 16 queue pairs, and so as many numbers but 0; one is taken. */
	for (n = 0; n < 14; n++) {
		add_srq(w, HX_XRCD, &srq[n], &cq);
		assert_int_not_equal(tp_srq_number(srq[n].srq), 0);
		assert_int_equal(tp_srq_number(srq[n].srq) == first, n == 13);
		free(srq[n].ring);
	}
	plain.xrcd = HX_XRCD;
	assert_int_equal(tp_srq_create(w->side[1].tp, &plain, &none), -ENOMEM);
	plain.xrcd = 0;
	assert_int_equal(tp_srq_create(w->side[1].tp, &plain, &none), 0);
	assert_int_equal(tp_srq_number(none), 0);
	/* Resizing, of any kind: not below the limit that is armed. */
	assert_int_equal(tp_srq_resize(w->side[1].tp, none, 0), -EINVAL);
	assert_int_equal(tp_srq_resize(w->side[1].tp, none, 8), 0);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send),
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_remote_memory),
		cmocka_unit_test(test_bad_number),
		cmocka_unit_test(test_number_changes_within_message),
		cmocka_unit_test(test_srq_goes_within_message),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_one_half_each),
		cmocka_unit_test(test_error_state),
		cmocka_unit_test(test_lossy),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests_name("xrc", tests, NULL, NULL);
}
