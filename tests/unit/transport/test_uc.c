/* SPDX-License-Identifier: BSD-3-Clause */
/* Unreliable connections: IBTA vol. 1, 9.8.2, alone against crafted packets and over a clean wire. */
#include <errno.h>

#include "harness.h"

#define P  0xfffffeu
#define UC(op) (0x20 | WIRE_RC_##op)

static uint8_t data[8192];

static struct hx_world *new_world(bool copied)
{
	struct hx_options o = {.type = TP_QPT_UC, .mtu = 1024, .psn = P, .copied = copied};
	struct hx_world *w = hx_new(&o);

	hx_fill(data, sizeof(data), 9);
	hx_fill(w->side[0].mem, HX_MEM_BYTES, 5);
	memset(w->side[1].mem, 0x5a, HX_MEM_BYTES);
	return w;
}

static struct hx_qp *responder(struct hx_world *w)
{
	return &w->side[1].qps[0];
}

static uint64_t post_recv(struct hx_world *w, uint32_t off, uint32_t bytes)
{
	struct hx_piece piece = {off, bytes};

	return hx_recv(responder(w), &piece, 1);
}

static uint64_t dropped(const struct hx_world *w, enum base_drop reason)
{
	return tp_counters(w->side[1].tp)->drops[reason];
}

static uint64_t cut(const struct hx_world *w)
{
	return tp_counters(w->side[1].tp)->cut_messages;
}

static struct wire_pkt request(const struct hx_world *w, uint8_t opcode, uint32_t psn)
{
	struct wire_pkt pkt = {.opcode = opcode, .psn = psn & 0xffffff, .va = HX_IOVA + 65536,
		.rkey = w->side[1].key, .imm = psn};

	return pkt;
}

/* n bytes of data from off on, at P + ahead. */
static void send(struct hx_world *w, uint8_t opcode, uint32_t ahead, uint32_t off, uint32_t n)
{
	hx_inject(w, 1, request(w, opcode, P + ahead), data + off, n);
}

static void write(struct hx_world *w, uint8_t opcode, uint32_t ahead, uint32_t total, uint32_t n)
{
	struct wire_pkt pkt = request(w, opcode, P + ahead);

	pkt.dma_bytes = total;
	hx_inject(w, 1, pkt, data, n);
}

static void expect_message(struct hx_world *w, uint64_t recv, uint32_t off, const uint8_t *from, uint32_t n)
{
	const struct tp_cqe *cqe = hx_poll(&w->side[1].recv_cq);

	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->wr_id, recv);
	assert_int_equal(cqe->bytes, n);
	assert_memory_equal(w->side[1].mem + off, from, n);
}

/* Nothing was said, and the queue pair still takes a message. */
static void expect_alive(struct hx_world *w)
{
	hx_expect_none(w);
	assert_int_equal(hx_state(responder(w)), TP_QPS_RTS);
	post_recv(w, 0, 4096);
	send(w, UC(SEND_ONLY), 1000, 0, 100);
	assert_int_equal(hx_poll(&w->side[1].recv_cq)->bytes, 100);
	assert_int_equal(w->side[1].emitted, 0);
	hx_free(w);
}

/* ---- over a wire without faults ---- */

static const uint32_t lengths[] = {0, 1, 3, 1023, 1024, 1025, 2048, 5000, 50000};
#define N_LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static void one_send(struct hx_world *w, enum tp_wr_opcode op, uint32_t bytes)
{
	uint64_t recv = post_recv(w, 100000, 60000), id = hx_op(w, op, TP_SEND_SOLICITED, 77, bytes, 0);
	const struct tp_cqe *cqe;

	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	cqe = &w->side[1].recv_cq.cqe[w->side[1].recv_cq.polled];
	assert_int_equal(cqe->flags, op == TP_WR_SEND_IMM ? TP_WC_WITH_IMM : 0);
	assert_int_equal(cqe->src_qpn, w->side[0].qps[0].qpn);
	assert_true(cqe->solicited);
	expect_message(w, recv, 100000, w->side[0].mem + 77, bytes);
}

static void one_write(struct hx_world *w, enum tp_wr_opcode op, uint32_t bytes)
{
	uint64_t recv = op == TP_WR_WRITE_IMM ? post_recv(w, 0, 0) : 0, id = hx_op(w, op, 0, 77, bytes, 200000);
	const struct tp_cqe *cqe;

	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_memory_equal(w->side[1].mem + 200000, w->side[0].mem + 77, bytes);
	memset(w->side[1].mem + 200000, 0x5a, bytes);
	if (op == TP_WR_WRITE)
		return;
	cqe = hx_poll(&w->side[1].recv_cq);
	assert_int_equal(cqe->wr_id, recv);
	assert_int_equal(cqe->opcode, TP_WC_OP_RECV_WRITE_IMM);
	assert_int_equal(cqe->bytes, bytes);
	assert_int_equal(cqe->imm, 0x01020304);
}

static void test_operations(void **state)
{
	(void)state;
	for (int copied = 0; copied < 2; copied++) {
		struct hx_world *w = new_world(copied != 0);

		for (size_t i = 0; i < N_LENGTHS; i++) {
			one_send(w, TP_WR_SEND, lengths[i]);
			one_send(w, TP_WR_SEND_IMM, lengths[i]);
			one_write(w, TP_WR_WRITE, lengths[i]);
			one_write(w, TP_WR_WRITE_IMM, lengths[i]);
		}
		hx_expect_none(w);
		/* Nobody asks for an ACK, and nobody sends one. */
		for (uint32_t i = 0; i < w->n_log; i++) {
			assert_int_equal(w->log[i].pkt.opcode >> 5, WIRE_SERVICE_UC);
			assert_int_equal(w->log[i].pkt.ack_req, 0);
			assert_int_equal(w->log[i].pkt.psn, (P + i) & 0xffffff);
		}
		assert_int_equal(w->side[1].emitted, 0);
		assert_int_equal(cut(w), 0);
		assert_true(tp_next_ns(w->side[0].tp) == UINT64_MAX);
		hx_free(w);
	}
}

/* 9.8.2.1: a work request is complete when its last packet is out, whatever becomes of that. */
static void test_complete_when_sent(void **state)
{
	struct hx_world *w = new_world(false);
	uint64_t id[3];

	(void)state;
	w->cut = true;
	id[0] = hx_op(w, TP_WR_WRITE, 0, 0, 700 * 1024, 0);
	id[1] = hx_op(w, TP_WR_SEND, 0, 0, 0, 0);
	id[2] = hx_op(w, TP_WR_SEND, TP_SEND_FENCE, 0, 10, 0);
	hx_run(w, HX_S);
	for (int i = 0; i < 3; i++)
		hx_expect(&w->side[0].send_cq, id[i], TP_WC_SUCCESS);
	assert_int_equal(w->side[0].emitted, 702);
	hx_free(w);
}

/* A long message does not keep other queue pairs from sending. */
static void test_turns(void **state)
{
	struct hx_options o = {.type = TP_QPT_UC, .n_qps = 2};
	struct hx_world *w = hx_new(&o);
	struct tp_send_wqe wqe = {.opcode = TP_WR_SEND};
	struct hx_piece piece = {0, 900 * 1024};

	(void)state;
	w->cut = true;
	hx_post(&w->side[0].qps[0], &wqe, &piece, 1);
	piece.bytes = 10;
	hx_post(&w->side[0].qps[1], &wqe, &piece, 1);
	assert_int_equal(tp_tx(w->side[0].tp, 64, w->now_ns), 64);
	assert_int_equal(w->side[0].send_cq.n, 1);
	assert_int_equal(w->side[0].send_cq.cqe[0].qpn, w->side[0].qps[1].qpn);
	hx_free(w);
}

static void test_drain(void **state)
{
	struct hx_world *w = new_world(false);
	struct hx_qp *q = &w->side[0].qps[0];
	struct tp_qp_attr attr = {.state = TP_QPS_SQD, .en_sqd_async_notify = 1};
	uint64_t id[2];

	(void)state;
	w->cut = true;
	id[0] = hx_op(w, TP_WR_SEND, 0, 0, 100 * 1024, 0);
	id[1] = hx_op(w, TP_WR_SEND, 0, 0, 10, 0);
	tp_tx(w->side[0].tp, 20, w->now_ns);
	assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &attr, TP_QP_STATE | TP_QP_EN_SQD_ASYNC_NOTIFY, w->now_ns),
		0);
	assert_int_equal(q->events[TP_EVENT_SQ_DRAINED], 0);
	/* What has begun is sent to its end, what has not waits. */
	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id[0], TP_WC_SUCCESS);
	hx_expect_none(w);
	assert_int_equal(q->events[TP_EVENT_SQ_DRAINED], 1);
	assert_int_equal(hx_to_state(w, q, TP_QPS_RTS), 0);
	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id[1], TP_WC_SUCCESS);
	hx_free(w);
}

/* ---- order (9.8.2.2) ---- */

static void test_any_start(void **state)
{
	struct hx_world *w = new_world(false);
	uint64_t recv[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		recv[i] = post_recv(w, 4096u * (uint32_t)i, 4096);
	/* Ahead, behind, and the same once more: each starts a message. */
	send(w, UC(SEND_ONLY), 500, 0, 10);
	expect_message(w, recv[0], 0, data, 10);
	send(w, UC(SEND_FIRST), 3, 0, 1024);
	send(w, UC(SEND_LAST), 4, 1024, 5);
	expect_message(w, recv[1], 4096, data, 1029);
	send(w, UC(SEND_ONLY_IMM), 3, 7, 20);
	expect_message(w, recv[2], 8192, data + 7, 20);
	assert_int_equal(cut(w), 0);
	expect_alive(w);
}

/* The receive work request of a message of which a packet is missing takes the next message. */
static void test_gap(void **state)
{
	struct hx_world *w = new_world(false);
	uint64_t recv = post_recv(w, 0, 8192);

	(void)state;
	send(w, UC(SEND_FIRST), 0, 0, 1024);
	send(w, UC(SEND_MIDDLE), 2, 0, 1024);
	send(w, UC(SEND_MIDDLE), 3, 0, 1024);
	send(w, UC(SEND_LAST), 4, 0, 8);
	assert_int_equal(cut(w), 1);
	assert_int_equal(dropped(w, BASE_DROP_OUT_OF_ORDER), 3);
	assert_int_equal(w->side[1].recv_cq.n, 0);
	send(w, UC(SEND_FIRST), 5, 100, 1024);
	send(w, UC(SEND_MIDDLE), 6, 1124, 1024);
	send(w, UC(SEND_LAST), 7, 2148, 1);
	expect_message(w, recv, 0, data + 100, 2049);
	expect_alive(w);
}

static void test_last_lost(void **state)
{
	struct hx_world *w = new_world(true);
	uint64_t recv = post_recv(w, 0, 8192);

	(void)state;
	hx_hold(w);
	send(w, UC(SEND_FIRST), 0, 0, 1024);
	send(w, UC(SEND_MIDDLE), 1, 1024, 1024);
	/* The LAST at 2 is lost; the packet behind the gap starts a message and counts. */
	send(w, UC(SEND_FIRST), 3, 50, 1024);
	send(w, UC(SEND_LAST), 4, 1074, 100);
	hx_release(w, 1);
	assert_int_equal(cut(w), 1);
	assert_int_equal(dropped(w, BASE_DROP_OUT_OF_ORDER), 0);
	expect_message(w, recv, 0, data + 50, 1124);
	expect_alive(w);
}

static void test_first_lost(void **state)
{
	struct hx_world *w = new_world(false);

	(void)state;
	post_recv(w, 0, 8192);
	send(w, UC(SEND_MIDDLE), 0, 0, 1024);
	send(w, UC(SEND_LAST), 1, 0, 8);
	write(w, UC(WRITE_MIDDLE), 2, 0, 1024);
	write(w, UC(WRITE_LAST_IMM), 3, 0, 8);
	assert_int_equal(dropped(w, BASE_DROP_OUT_OF_ORDER), 4);
	assert_int_equal(cut(w), 0);
	assert_int_equal(w->side[1].mem[65536], 0x5a);
	expect_alive(w);
}

static void test_repeated_packet(void **state)
{
	struct hx_world *w = new_world(false);

	(void)state;
	post_recv(w, 0, 8192);
	send(w, UC(SEND_FIRST), 0, 0, 1024);
	send(w, UC(SEND_MIDDLE), 1, 0, 1024);
	send(w, UC(SEND_MIDDLE), 1, 0, 1024);
	send(w, UC(SEND_LAST), 2, 0, 8);
	assert_int_equal(cut(w), 1);
	expect_alive(w);
}

/* The rest of a SEND does not go on as a WRITE, nor the other way round. */
static void test_mixed_kinds(void **state)
{
	struct hx_world *w = new_world(false);

	(void)state;
	post_recv(w, 0, 8192);
	send(w, UC(SEND_FIRST), 0, 0, 1024);
	write(w, UC(WRITE_LAST), 1, 8, 8);
	write(w, UC(WRITE_FIRST), 2, 2000, 1024);
	send(w, UC(SEND_LAST), 3, 0, 8);
	write(w, UC(WRITE_LAST), 4, 0, 976);
	assert_int_equal(cut(w), 2);
	assert_int_equal(dropped(w, BASE_DROP_OUT_OF_ORDER), 3);
	expect_alive(w);
}

static void test_write_with_gap(void **state)
{
	struct hx_world *w = new_world(false);
	uint8_t *at = w->side[1].mem + 65536;

	(void)state;
	post_recv(w, 0, 4096);
	write(w, UC(WRITE_FIRST), 0, 1976, 1024);
	write(w, UC(WRITE_LAST_IMM), 2, 0, 952);
	assert_int_equal(cut(w), 1);
	/* What came before the gap has been written, the rest not; no completion tells of it. */
	assert_memory_equal(at, data, 1024);
	assert_int_equal(at[1024], 0x5a);
	assert_int_equal(w->side[1].recv_cq.n, 0);
	write(w, UC(WRITE_ONLY), 3, 100, 100);
	assert_memory_equal(at, data, 100);
	expect_alive(w);
}

/* ---- requests that are refused: dropped without a word, and the rest of the message with them ---- */

static void test_no_receive(void **state)
{
	struct hx_world *w = new_world(false);

	(void)state;
	send(w, UC(SEND_FIRST), 0, 0, 1024);
	assert_int_equal(dropped(w, BASE_DROP_NO_RECV), 1);
	post_recv(w, 0, 8192);
	send(w, UC(SEND_LAST), 1, 0, 8);
	assert_int_equal(dropped(w, BASE_DROP_OUT_OF_ORDER), 1);
	responder(w)->rq_fetch = responder(w)->rq_prod;
	write(w, UC(WRITE_ONLY_IMM), 2, 100, 100);
	assert_int_equal(dropped(w, BASE_DROP_NO_RECV), 2);
	expect_alive(w);
}

static void test_too_long(void **state)
{
	struct hx_world *w = new_world(false);
	uint64_t recv = post_recv(w, 0, 2000);

	(void)state;
	send(w, UC(SEND_FIRST), 0, 0, 1024);
	send(w, UC(SEND_MIDDLE), 1, 0, 1024);
	assert_int_equal(dropped(w, BASE_DROP_INVALID_REQUEST), 1);
	send(w, UC(SEND_LAST), 2, 0, 1);
	assert_int_equal(dropped(w, BASE_DROP_OUT_OF_ORDER), 1);
	assert_int_equal(cut(w), 1);
	assert_int_equal(w->side[1].mem[2000], 0x5a);
	send(w, UC(SEND_ONLY), 3, 0, 1000);
	expect_message(w, recv, 0, data, 1000);
	expect_alive(w);
}

static void test_lengths(void **state)
{
	struct hx_world *w = new_world(false);

	(void)state;
	post_recv(w, 0, 8192);
	send(w, UC(SEND_ONLY), 0, 0, 1025);
	send(w, UC(SEND_FIRST), 1, 0, 1023);
	send(w, UC(SEND_FIRST), 2, 0, 1028);
	write(w, UC(WRITE_ONLY), 3, 101, 100);
	write(w, UC(WRITE_FIRST), 4, 1024, 1024);
	write(w, UC(WRITE_FIRST), 5, (1u << 31) + 1, 1024);
	assert_int_equal(dropped(w, BASE_DROP_INVALID_REQUEST), 6);
	send(w, UC(SEND_FIRST), 6, 0, 1024);
	send(w, UC(SEND_LAST), 7, 0, 0);
	assert_int_equal(dropped(w, BASE_DROP_INVALID_REQUEST), 7);
	assert_int_equal(w->side[1].mem[65536], 0x5a);
	expect_alive(w);
}

static void test_rights(void **state)
{
	struct hx_world *w = new_world(false);
	struct tp_qp_attr attr = {0};
	struct wire_pkt pkt = request(w, UC(WRITE_FIRST), P);

	(void)state;
	pkt.rkey++;
	pkt.dma_bytes = 1025;
	hx_inject(w, 1, pkt, data, 1024);
	send(w, UC(WRITE_LAST), 1, 0, 1);
	pkt = request(w, UC(WRITE_ONLY), P + 2);
	pkt.va = HX_IOVA + HX_MEM_BYTES - 99;
	pkt.dma_bytes = 100;
	hx_inject(w, 1, pkt, data, 100);
	assert_int_equal(dropped(w, BASE_DROP_REMOTE_ACCESS), 2);
	assert_int_equal(dropped(w, BASE_DROP_OUT_OF_ORDER), 1);
	assert_int_equal(tp_qp_modify(w->side[1].tp, responder(w)->qp, &attr, TP_QP_ACCESS_FLAGS, w->now_ns), 0);
	write(w, UC(WRITE_ONLY), 3, 100, 100);
	assert_int_equal(dropped(w, BASE_DROP_INVALID_REQUEST), 1);
	assert_int_equal(w->side[1].mem[65536], 0x5a);
	expect_alive(w);
}

static void test_strangers(void **state)
{
	struct hx_world *w = new_world(false);
	struct wire_pkt pkt = request(w, WIRE_UD_SEND_ONLY, P);
	struct wire_l2l3 net = {.src = {{[10] = 0xff, 0xff, 8, 8, 8, 8}}, .dst = {{[10] = 0xff, 0xff, 192, 0, 2, 2}}};

	(void)state;
	post_recv(w, 0, 8192);
	hx_inject(w, 1, pkt, data, 8);
	pkt.opcode = WIRE_RC_SEND_ONLY;
	hx_inject(w, 1, pkt, data, 8);
	pkt.opcode = WIRE_RC_ACK;
	hx_inject(w, 1, pkt, NULL, 0);
	pkt.opcode = WIRE_RC_READ_REQUEST;
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(dropped(w, BASE_DROP_QP_TYPE), 4);
	pkt = request(w, UC(SEND_ONLY), P);
	pkt.l3_version = 4;
	pkt.pkey = 0xffff;
	pkt.dqpn = responder(w)->qpn;
	hx_inject_raw(w, 1, pkt, &net, data, 8);
	assert_int_equal(dropped(w, BASE_DROP_QP_ADDRESS), 1);
	expect_alive(w);
}

/* ---- local faults ---- */

static void expect_dead(struct hx_world *w, uint64_t recv, enum tp_wc_status status)
{
	hx_hold(w);
	send(w, UC(SEND_FIRST), 0, 0, 1024);
	send(w, UC(SEND_LAST), 1, 0, 8);
	hx_release(w, 1);
	hx_run(w, HX_MS);
	hx_expect(&w->side[1].recv_cq, recv, status);
	hx_expect_none(w);
	assert_int_equal(hx_state(responder(w)), TP_QPS_ERR);
	assert_int_equal(responder(w)->events[TP_EVENT_QP_FATAL], 1);
	assert_int_equal(w->side[1].emitted, 0);
	hx_free(w);
}

static void test_local_faults(void **state)
{
	struct hx_world *w = new_world(true);
	struct tp_sge sge = {HX_IOVA, 4096, w->side[1].key + 1};

	(void)state;
	expect_dead(w, hx_recv_raw(responder(w), &sge, 1), TP_WC_LOC_PROT_ERR);
	w = new_world(true);
	w->side[1].fail_write = true;
	expect_dead(w, post_recv(w, 0, 4096), TP_WC_LOC_PROT_ERR);
	w = new_world(true);
	responder(w)->fetch_error = -EINVAL;
	expect_dead(w, post_recv(w, 0, 4096), TP_WC_LOC_QP_OP_ERR);
}

/* Memory that went away under a WRITE, found only at the end of the burst. */
static void test_write_fault(void **state)
{
	struct hx_world *w = new_world(true);

	(void)state;
	w->side[1].fail_write = true;
	write(w, UC(WRITE_ONLY), 0, 100, 100);
	assert_int_equal(hx_state(responder(w)), TP_QPS_ERR);
	assert_int_equal(responder(w)->events[TP_EVENT_QP_FATAL], 1);
	hx_free(w);
}

static void test_refused_work(void **state)
{
	static const enum tp_wr_opcode refused[] = {TP_WR_READ, TP_WR_CMP_SWAP, TP_WR_FETCH_ADD, TP_WR_SEND_INV};
	struct hx_world *w = new_world(false);
	struct hx_qp *q = &w->side[0].qps[0];

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		uint64_t id = hx_op(w, refused[i], 0, 0, 8, 0);

		hx_run(w, HX_MS);
		hx_expect(&w->side[0].send_cq, id, TP_WC_LOC_QP_OP_ERR);
		assert_int_equal(hx_state(q), TP_QPS_SQE);
		assert_int_equal(hx_to_state(w, q, TP_QPS_RTS), 0);
	}
	one_send(w, TP_WR_SEND, 3000);
	hx_free(w);
}

/* Memory that cannot be read any more half way through a message: the receiver gives that message up, and after
 * the way out of SQE the next one is whole. */
static void half_sent(struct hx_world *w, bool draining)
{
	struct hx_qp *q = &w->side[0].qps[0];
	uint64_t id[2];

	post_recv(w, 100000, 60000);
	id[0] = hx_op(w, TP_WR_SEND, 0, 0, 50000, 0);
	id[1] = hx_op(w, TP_WR_SEND, 0, 0, 50000, 0);
	tp_tx(w->side[0].tp, 10, w->now_ns);
	assert_int_not_equal(w->side[0].emitted, 0);
	w->side[0].fail_read = true;
	if (draining)
		assert_int_equal(hx_to_state(w, q, TP_QPS_SQD), 0);
	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id[0], TP_WC_LOC_PROT_ERR);
	hx_expect(&w->side[0].send_cq, id[1], TP_WC_WR_FLUSH_ERR);
	hx_expect_none(w);
	assert_int_equal(hx_state(q), TP_QPS_SQE);
	w->side[0].fail_read = false;
	assert_int_equal(hx_to_state(w, q, TP_QPS_RTS), 0);
	id[0] = hx_op(w, TP_WR_SEND, 0, 300, 50000, 0);
	hx_run(w, HX_MS);
	hx_expect(&w->side[0].send_cq, id[0], TP_WC_SUCCESS);
	expect_message(w, w->side[1].recv_cq.cqe[0].wr_id, 100000, w->side[0].mem + 300, 50000);
	hx_expect_none(w);
	assert_int_equal(cut(w), 1);
	hx_free(w);
}

static void test_half_sent(void **state)
{
	(void)state;
	half_sent(new_world(true), false);
	half_sent(new_world(true), true);
}

static void test_communication_established(void **state)
{
	struct hx_options o = {.type = TP_QPT_UC, .stay_in_reset = true, .psn = P};
	struct hx_world *w = hx_new(&o);

	(void)state;
	assert_int_equal(hx_to_state(w, responder(w), TP_QPS_INIT), 0);
	assert_int_equal(hx_to_state(w, responder(w), TP_QPS_RTR), 0);
	post_recv(w, 0, 100);
	send(w, UC(SEND_ONLY), 0, 0, 10);
	send(w, UC(SEND_ONLY), 0, 0, 10);
	assert_int_equal(responder(w)->events[TP_EVENT_COMM_EST], 1);
	assert_int_equal(w->side[1].recv_cq.n, 1);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_complete_when_sent),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_any_start),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_last_lost),
		cmocka_unit_test(test_first_lost),
		cmocka_unit_test(test_repeated_packet),
		cmocka_unit_test(test_mixed_kinds),
		cmocka_unit_test(test_write_with_gap),
		cmocka_unit_test(test_no_receive),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_local_faults),
		cmocka_unit_test(test_write_fault),
		cmocka_unit_test(test_refused_work),
		cmocka_unit_test(test_half_sent),
		cmocka_unit_test(test_communication_established),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
