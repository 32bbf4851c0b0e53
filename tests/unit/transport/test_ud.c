/* SPDX-License-Identifier: BSD-3-Clause */
/* Unreliable datagrams: IBTA vol. 1, 9.8.3 and 10.2.5, annex A17, and what Soft-RoCE does. */
#include <errno.h>

#include "harness.h"

#define GRH 40
#define PSN 0x654321u

static struct hx_world *new_world(uint32_t mtu, uint8_t l3_version, bool copied)
{
	struct hx_options o = {.type = TP_QPT_UD, .mtu = mtu, .l3_version = l3_version, .copied = copied, .psn = PSN};
	struct hx_world *w = hx_new(&o);

	hx_fill(w->side[0].mem, HX_MEM_BYTES, 5);
	memset(w->side[1].mem, 0x5a, HX_MEM_BYTES);
	return w;
}

static uint64_t post_recv(struct hx_world *w, uint32_t off, uint32_t bytes)
{
	struct hx_piece piece = {off, bytes};

	return hx_recv(&w->side[1].qps[0], &piece, 1);
}

static uint64_t dropped(const struct hx_world *w, int side, enum base_drop reason)
{
	return tp_counters(w->side[side].tp)->drops[reason];
}

static struct tp_send_wqe to_peer(const struct hx_world *w)
{
	struct tp_send_wqe wqe = {.opcode = TP_WR_SEND,
		.ud = {.ah = w->side[0].ah, .qpn = w->side[1].qps[0].qpn, .qkey = HX_QKEY}};

	return wqe;
}

/* A datagram as the peer's queue pair 0 would send it, to be changed and injected. */
static struct wire_pkt datagram(const struct hx_world *w, uint8_t opcode)
{
	struct wire_pkt pkt = {.opcode = opcode, .psn = 77, .qkey = HX_QKEY, .sqpn = w->side[0].qps[0].qpn,
		.imm = 0x0a0b0c0d};

	return pkt;
}

/* ---- data ---- */

static void check_grh(const struct hx_world *w, const uint8_t *grh)
{
	struct tp_qp_attr attr;
	uint8_t zeros[20] = {0};

	hx_attr((struct hx_world *)(uintptr_t)w, 0, 0, &attr);
	if (w->o.l3_version == 6) {
		assert_int_equal(grh[0] >> 4, 6);
		assert_memory_equal(grh + 8, attr.av.net.src.b, 16);
		assert_memory_equal(grh + 24, attr.av.net.dst.b, 16);
		return;
	}
	assert_memory_equal(grh, zeros, 20);
	assert_int_equal(grh[20], 0x45);
	assert_memory_equal(grh + 32, attr.av.net.src.b + 12, 4);
	assert_memory_equal(grh + 36, attr.av.net.dst.b + 12, 4);
}

static void one_datagram(struct hx_world *w, enum tp_wr_opcode op, uint32_t bytes)
{
	uint64_t recv = post_recv(w, 8192, 4096 + GRH), send = hx_op(w, op, TP_SEND_SOLICITED, 0, bytes, 0);
	const struct tp_cqe *cqe;

	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, send, TP_WC_SUCCESS);
	cqe = hx_poll(&w->side[1].recv_cq);
	assert_int_equal(cqe->wr_id, recv);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->opcode, TP_WC_OP_RECV);
	assert_int_equal(cqe->bytes, GRH + bytes);
	assert_int_equal(cqe->src_qpn, w->side[0].qps[0].qpn);
	assert_int_equal(cqe->flags, op == TP_WR_SEND_IMM ? TP_WC_GRH | TP_WC_WITH_IMM : TP_WC_GRH);
	assert_int_equal(cqe->l3, w->o.l3_version == 6 ? TP_WC_L3_IP6 : TP_WC_L3_IP4);
	assert_true(cqe->solicited);
	if (op == TP_WR_SEND_IMM)
		assert_int_equal(cqe->imm, 0x01020304);
	check_grh(w, w->side[1].mem + 8192);
	assert_memory_equal(w->side[1].mem + 8192 + GRH, w->side[0].mem, bytes);
	assert_int_equal(w->side[1].mem[8192 + GRH + bytes], 0x5a);
	memset(w->side[1].mem + 8192, 0x5a, 4096 + GRH);
}

static void test_datagrams(void **state)
{
	static const uint32_t lengths[] = {0, 1, 2, 3, 4, 100, 255, 256};

	(void)state;
	for (uint32_t variant = 0; variant < 4; variant++) {
		uint32_t mtu = (variant & 1) != 0 ? 256 : 4096;
		struct hx_world *w = new_world(mtu, (variant & 2) != 0 ? 6 : 4, (variant & 1) != 0);

		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			one_datagram(w, TP_WR_SEND, lengths[i]);
			one_datagram(w, TP_WR_SEND_IMM, lengths[i]);
		}
		one_datagram(w, TP_WR_SEND, mtu);
		/* One PSN each. */
		assert_int_equal(hx_last(w, 0)->psn, PSN + 2 * sizeof(lengths) / sizeof(lengths[0]));
		assert_int_equal(hx_count(w, 1, WIRE_RC_ACK), 0);
		hx_free(w);
	}
}

static void test_header_fields(void **state)
{
	struct hx_world *w = new_world(1024, 4, false);
	const struct wire_pkt *pkt;

	(void)state;
	hx_op(w, TP_WR_SEND_IMM, 0, 0, 33, 0);
	hx_run(w, HX_MS);
	pkt = hx_last(w, 0);
	assert_int_equal(pkt->opcode, WIRE_UD_SEND_ONLY_IMM);
	assert_int_equal(pkt->dqpn, w->side[1].qps[0].qpn);
	assert_int_equal(pkt->sqpn, w->side[0].qps[0].qpn);
	assert_int_equal(pkt->qkey, HX_QKEY);
	assert_int_equal(pkt->deth_resv, 0);
	assert_int_equal(pkt->pkey, 0xffff);
	assert_int_equal(pkt->pad, 3);
	assert_int_equal(pkt->ack_req, 0);
	assert_int_equal(pkt->solicited, 0);
	hx_free(w);
}

static void test_inline_and_lists(void **state)
{
	struct hx_world *w = new_world(1024, 4, false);
	struct hx_piece to[] = {{100, 13}, {5000, 50}, {9000, 900}}, from[] = {{1, 3}, {700, 400}, {60, 1}};
	struct tp_send_wqe wqe = to_peer(w);
	uint8_t got[GRH + 404], *mem = w->side[1].mem;

	(void)state;
	hx_recv(&w->side[1].qps[0], to, 3);
	hx_post(&w->side[0].qps[0], &wqe, from, 3);
	hx_run(w, HX_MS);
	assert_int_equal(hx_poll(&w->side[1].recv_cq)->bytes, sizeof(got));
	memcpy(got, mem + 100, 13);
	memcpy(got + 13, mem + 5000, 50);
	memcpy(got + 63, mem + 9000, sizeof(got) - 63);
	check_grh(w, got);
	assert_memory_equal(got + GRH, w->side[0].mem + 1, 3);
	assert_memory_equal(got + GRH + 3, w->side[0].mem + 700, 400);
	assert_int_equal(got[GRH + 403], w->side[0].mem[60]);
	post_recv(w, 0, 100);
	hx_post_inline(&w->side[0].qps[0], &wqe, "datagram", 8);
	hx_run(w, HX_MS);
	assert_int_equal(hx_poll(&w->side[1].recv_cq)->bytes, GRH + 8);
	assert_memory_equal(mem + GRH, "datagram", 8);
	hx_free(w);
}

/* C10-93.1.1: longer than the port's MTU: nothing is sent, and that is no error. */
static void test_longer_than_mtu(void **state)
{
	struct hx_world *w = new_world(1024, 4, false);
	uint64_t id;

	(void)state;
	post_recv(w, 0, 8000);
	id = hx_op(w, TP_WR_SEND, 0, 0, 1025, 0);
	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	hx_expect_none(w);
	assert_int_equal(w->side[0].emitted, 0);
	assert_int_equal(dropped(w, 0, BASE_DROP_UD_LENGTH), 1);
	id = hx_op(w, TP_WR_SEND, 0, 0, 1024, 0);
	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_int_equal(hx_poll(&w->side[1].recv_cq)->bytes, 1024 + GRH);
	hx_free(w);
}

/* ---- what a receiver drops without a word ---- */

static void test_q_keys(void **state)
{
	struct hx_world *w = new_world(1024, 4, false);
	struct tp_send_wqe wqe = to_peer(w);
	struct hx_piece piece = {0, 10};

	(void)state;
	post_recv(w, 0, 100);
	wqe.ud.qkey = HX_QKEY + 1;
	hx_post(&w->side[0].qps[0], &wqe, &piece, 1);
	hx_run(w, HX_MS);
	assert_int_equal(dropped(w, 1, BASE_DROP_QKEY), 1);
	assert_int_equal(w->side[1].recv_cq.n, 0);
	/* 10.2.5: the most significant bit asks for the queue pair's own. */
	wqe.ud.qkey = 0xdeadbeef;
	hx_post(&w->side[0].qps[0], &wqe, &piece, 1);
	hx_run(w, HX_MS);
	assert_int_equal(hx_last(w, 0)->qkey, HX_QKEY);
	assert_int_equal(w->side[1].recv_cq.n, 1);
	hx_free(w);
}

static void test_no_receive(void **state)
{
	struct hx_world *w = new_world(1024, 4, false);
	uint64_t id;

	(void)state;
	id = hx_op(w, TP_WR_SEND, 0, 0, 10, 0);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_int_equal(dropped(w, 1, BASE_DROP_NO_RECV), 1);
	assert_int_equal(w->side[1].emitted, 0);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_RTS);
	one_datagram(w, TP_WR_SEND, 20);
	hx_free(w);
}

/* Fault 4 of other stacks: the queue pair went to error. The receive work request waits for the next one. */
static void test_too_long_for_buffer(void **state)
{
	struct hx_world *w = new_world(1024, 4, false);
	uint64_t recv = post_recv(w, 0, GRH + 10);

	(void)state;
	hx_op(w, TP_WR_SEND, 0, 0, 11, 0);
	hx_run(w, HX_MS);
	assert_int_equal(dropped(w, 1, BASE_DROP_UD_LENGTH), 1);
	assert_int_equal(w->side[1].recv_cq.n, 0);
	assert_int_equal(w->side[1].mem[0], 0x5a);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_RTS);
	hx_op(w, TP_WR_SEND, 0, 0, 10, 0);
	hx_run(w, HX_MS);
	hx_expect(&w->side[1].recv_cq, recv, TP_WC_SUCCESS);
	/* Not even room for the GRH. */
	post_recv(w, 0, GRH - 1);
	hx_op(w, TP_WR_SEND, 0, 0, 0, 0);
	hx_run(w, HX_MS);
	assert_int_equal(dropped(w, 1, BASE_DROP_UD_LENGTH), 2);
	hx_free(w);
}

static void test_hostile_datagrams(void **state)
{
	static const uint8_t data[2048];
	struct hx_world *w = new_world(1024, 4, false);
	struct wire_pkt pkt = datagram(w, WIRE_UD_SEND_ONLY);

	(void)state;
	post_recv(w, 0, 8192);
	hx_inject(w, 1, pkt, data, 1025);
	assert_int_equal(dropped(w, 1, BASE_DROP_UD_LENGTH), 1);
	pkt.opcode = WIRE_RC_SEND_ONLY;
	hx_inject(w, 1, pkt, data, 10);
	pkt.opcode = WIRE_UC_SEND_FIRST;
	hx_inject(w, 1, pkt, data, 1024);
	pkt.opcode = WIRE_RC_ACK;
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(dropped(w, 1, BASE_DROP_QP_TYPE), 3);
	pkt = datagram(w, WIRE_CNP);
	hx_inject(w, 1, pkt, data, 16);
	assert_int_equal(dropped(w, 1, BASE_DROP_UNSUPPORTED), 1);
	assert_int_equal(w->side[1].emitted, 0);
	assert_int_equal(w->side[1].recv_cq.n, 0);
	/* From anybody, at any PSN, the same one twice. */
	for (int i = 0; i < 2; i++) {
		struct wire_l2l3 net = {.src = {{[10] = 0xff, 0xff, 8, 8, 8, 8}},
			.dst = {{[10] = 0xff, 0xff, 9, 9, 9, 9}}};

		pkt = datagram(w, WIRE_UD_SEND_ONLY);
		pkt.l3_version = 4;
		pkt.pkey = 0x7fff;
		pkt.sqpn = 0xfffffe;
		pkt.dqpn = w->side[1].qps[0].qpn;
		post_recv(w, 0, 8192);
		hx_inject_raw(w, 1, pkt, &net, data, 4);
		assert_int_equal(hx_poll(&w->side[1].recv_cq)->src_qpn, 0xfffffe);
	}
	hx_free(w);
}

static void test_states(void **state)
{
	struct hx_options o = {.type = TP_QPT_UD, .stay_in_reset = true};
	struct hx_world *w = hx_new(&o);
	struct hx_qp *q = &w->side[1].qps[0];

	(void)state;
	post_recv(w, 0, 100);
	hx_inject(w, 1, datagram(w, WIRE_UD_SEND_ONLY), NULL, 0);
	assert_int_equal(hx_to_state(w, q, TP_QPS_INIT), 0);
	hx_inject(w, 1, datagram(w, WIRE_UD_SEND_ONLY), NULL, 0);
	assert_int_equal(dropped(w, 1, BASE_DROP_QP_STATE), 2);
	assert_int_equal(hx_to_state(w, q, TP_QPS_RTR), 0);
	hx_inject(w, 1, datagram(w, WIRE_UD_SEND_ONLY), NULL, 0);
	assert_int_equal(w->side[1].recv_cq.n, 1);
	assert_int_equal(q->events[TP_EVENT_COMM_EST], 0);
	hx_free(w);
}

/* ---- address handles ---- */

static void test_handles(void **state)
{
	struct hx_world *w = new_world(1024, 4, false);
	struct tp *tp = w->side[0].tp;
	struct tp_qp_attr attr;
	uint32_t ah[8], again, n = 0;

	(void)state;
	hx_attr(w, 0, 0, &attr);
	while (n < 8 && tp_ah_create(tp, HX_PD, &attr.av, &ah[n]) == 0)
		n++;
	assert_int_equal(n, 7);
	assert_int_equal(tp_ah_create(tp, HX_PD, &attr.av, &again), -ENOMEM);
	assert_int_equal(tp_ah_destroy(tp, ah[3]), 0);
	assert_int_equal(tp_ah_destroy(tp, ah[3]), -EINVAL);
	assert_int_equal(tp_ah_create(tp, HX_PD, &attr.av, &again), 0);
	assert_int_not_equal(again, ah[3]);
	assert_int_equal(tp_ah_destroy(tp, 0), -EINVAL);
	assert_int_equal(tp_ah_destroy(tp, 0xffffffff), -EINVAL);
	attr.av.l3_version = 0;
	assert_int_equal(tp_ah_create(tp, HX_PD, &attr.av, &again), -EINVAL);
	hx_free(w);
}

/* The send work request that fails, for each reason; then SQE. */
static void expect_sqe(struct hx_world *w, uint64_t id, enum tp_wc_status status)
{
	struct hx_qp *q = &w->side[0].qps[0];

	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id, status);
	assert_int_equal(hx_state(q), TP_QPS_SQE);
	assert_int_equal(hx_to_state(w, q, TP_QPS_RTS), 0);
}

static void test_bad_handles(void **state)
{
	struct hx_world *w = new_world(1024, 4, false);
	struct hx_qp *q = &w->side[0].qps[0];
	struct tp_send_wqe wqe = to_peer(w);
	struct tp_qp_attr attr;
	uint32_t foreign, gone;

	(void)state;
	hx_attr(w, 0, 0, &attr);
	assert_int_equal(tp_ah_create(w->side[0].tp, HX_PD + 1, &attr.av, &foreign), 0);
	assert_int_equal(tp_ah_create(w->side[0].tp, HX_PD, &attr.av, &gone), 0);
	assert_int_equal(tp_ah_destroy(w->side[0].tp, gone), 0);
	for (int i = 0; i < 4; i++) {
		const uint32_t bad[] = {foreign, gone, 0, 0xffffffff};

		wqe.ud.ah = bad[i];
		expect_sqe(w, hx_post(q, &wqe, NULL, 0), TP_WC_LOC_QP_OP_ERR);
	}
	assert_int_equal(w->side[0].emitted, 0);
	hx_free(w);
}

/* ---- errors of the send queue (10.3.1, SQE) ---- */

static void test_refused_work(void **state)
{
	static const enum tp_wr_opcode refused[] = {TP_WR_WRITE, TP_WR_WRITE_IMM, TP_WR_READ, TP_WR_CMP_SWAP,
		TP_WR_FETCH_ADD, TP_WR_SEND_INV, (enum tp_wr_opcode)200};
	struct hx_world *w = new_world(1024, 4, true);
	struct tp_send_wqe wqe = to_peer(w);
	struct tp_sge bad = {HX_IOVA, 8, w->side[0].key + 1};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		expect_sqe(w, hx_op(w, refused[i], 0, 0, 8, 0), TP_WC_LOC_QP_OP_ERR);
	expect_sqe(w, hx_post_raw(&w->side[0].qps[0], &wqe, &bad, 1), TP_WC_LOC_PROT_ERR);
	w->side[0].fail_read = true;
	expect_sqe(w, hx_op(w, TP_WR_SEND, 0, 0, 8, 0), TP_WC_LOC_PROT_ERR);
	w->side[0].fail_read = false;
	assert_int_equal(w->side[0].emitted, 0);
	one_datagram(w, TP_WR_SEND, 20);
	assert_int_equal(hx_last(w, 0)->psn, PSN);
	hx_free(w);
}

static void test_send_queue_error(void **state)
{
	struct hx_world *w = new_world(1024, 4, false);
	struct hx_qp *q = &w->side[0].qps[0];
	struct tp_send_wqe wqe = to_peer(w);
	struct hx_cq *cq = &w->side[0].send_cq;
	uint64_t good, bad, behind[3], later, received;
	struct hx_piece piece = {4096, 200};

	(void)state;
	received = hx_recv(q, &piece, 1);
	good = hx_op(w, TP_WR_SEND, 0, 0, 8, 0);
	wqe.ud.ah = 1;
	bad = hx_post(q, &wqe, NULL, 0);
	behind[0] = hx_op(w, TP_WR_SEND, 0, 0, 8, 0);
	behind[1] = hx_op(w, TP_WR_SEND, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	hx_expect(cq, good, TP_WC_SUCCESS);
	hx_expect(cq, bad, TP_WC_LOC_QP_OP_ERR);
	hx_expect(cq, behind[0], TP_WC_WR_FLUSH_ERR);
	hx_expect(cq, behind[1], TP_WC_WR_FLUSH_ERR);
	behind[2] = hx_op(w, TP_WR_SEND, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	hx_expect(cq, behind[2], TP_WC_WR_FLUSH_ERR);
	assert_int_equal(hx_state(q), TP_QPS_SQE);
	/* The receive queue goes on. */
	hx_inject(w, 0, datagram(w, WIRE_UD_SEND_ONLY), NULL, 0);
	hx_expect(&w->side[0].recv_cq, received, TP_WC_SUCCESS);
	/* What was posted before the way back is flushed, what comes after is sent. */
	behind[0] = hx_op(w, TP_WR_SEND, 0, 0, 8, 0);
	assert_int_equal(hx_to_state(w, q, TP_QPS_RTS), 0);
	later = hx_op(w, TP_WR_SEND, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	hx_expect(cq, behind[0], TP_WC_WR_FLUSH_ERR);
	hx_expect(cq, later, TP_WC_SUCCESS);
	assert_int_equal(w->side[0].emitted, 2);
	assert_int_equal(hx_last(w, 0)->psn, PSN + 1);
	hx_free(w);
}

/* A full completion queue ends the queue pair, also on the way out of SQE. */
static void test_full_completion_queue(void **state)
{
	struct hx_world *w = new_world(1024, 4, false);
	struct hx_qp *q = &w->side[0].qps[0];
	struct tp_send_wqe wqe = to_peer(w);

	(void)state;
	w->side[0].send_cq.limit = 1;
	wqe.ud.ah = 1;
	hx_post(q, &wqe, NULL, 0);
	hx_run(w, HX_MS);
	assert_int_equal(hx_state(q), TP_QPS_SQE);
	hx_op(w, TP_WR_SEND, 0, 0, 8, 0);
	assert_int_equal(hx_to_state(w, q, TP_QPS_RTS), -EINVAL);
	assert_int_equal(hx_state(q), TP_QPS_ERR);
	assert_int_equal(q->events[TP_EVENT_QP_FATAL], 1);
	hx_free(w);
}

/* ---- errors of the receive queue: they end the queue pair (9.9.3, class A) ---- */

static void expect_dead(struct hx_world *w, uint64_t recv, enum tp_wc_status status)
{
	uint64_t behind = post_recv(w, 0, 100);

	hx_inject(w, 1, datagram(w, WIRE_UD_SEND_ONLY), "abcd", 4);
	hx_run(w, HX_MS);
	hx_expect(&w->side[1].recv_cq, recv, status);
	hx_expect(&w->side[1].recv_cq, behind, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_ERR);
	assert_int_equal(w->side[1].qps[0].events[TP_EVENT_QP_FATAL], 1);
	hx_free(w);
}

static void test_bad_receives(void **state)
{
	struct hx_world *w = new_world(1024, 4, true);
	struct tp_sge sge = {HX_IOVA, 100, w->side[1].key + 1};

	(void)state;
	expect_dead(w, hx_recv_raw(&w->side[1].qps[0], &sge, 1), TP_WC_LOC_PROT_ERR);
	w = new_world(1024, 4, true);
	w->side[1].fail_write = true;
	expect_dead(w, post_recv(w, 0, 100), TP_WC_LOC_PROT_ERR);
	w = new_world(1024, 4, true);
	w->side[1].qps[0].fetch_error = -EINVAL;
	expect_dead(w, post_recv(w, 0, 100), TP_WC_LOC_QP_OP_ERR);
}

static void test_out_of_buffers(void **state)
{
	struct hx_world *w = new_world(1024, 4, false);

	(void)state;
	w->side[0].empty_pools = 3;
	one_datagram(w, TP_WR_SEND, 20);
	assert_int_equal(dropped(w, 0, BASE_DROP_NO_MBUF), 3);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_header_fields),
		cmocka_unit_test(test_inline_and_lists),
		cmocka_unit_test(test_longer_than_mtu),
		cmocka_unit_test(test_q_keys),
		cmocka_unit_test(test_no_receive),
		cmocka_unit_test(test_too_long_for_buffer),
		cmocka_unit_test(test_hostile_datagrams),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_handles),
		cmocka_unit_test(test_bad_handles),
		cmocka_unit_test(test_refused_work),
		cmocka_unit_test(test_send_queue_error),
		cmocka_unit_test(test_full_completion_queue),
		cmocka_unit_test(test_bad_receives),
		cmocka_unit_test(test_out_of_buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
