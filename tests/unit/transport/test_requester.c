/* SPDX-License-Identifier: BSD-3-Clause */
/* What the requester puts on the wire and what it holds back: windows, AckReq, READ and atomic limits, fence,
 * draining, and completion of its work requests by crafted answers. P is the first PSN. */
#include <errno.h>

#include "harness.h"

#define P 0x200000u

static const uint8_t bytes[4096];

static struct hx_world *alone(const struct hx_options *options)
{
	struct hx_options o = *options;
	struct hx_world *w;

	o.psn = P;
	o.mtu = 256;
	o.timeout = o.timeout != 0 ? o.timeout : HX_ZERO;   /* no timer unless asked for */
	w = hx_new(&o);
	w->cut = true;
	return w;
}

static struct hx_world *plain(void)
{
	struct hx_options o = {0};

	return alone(&o);
}

static void answer(struct hx_world *w, uint8_t opcode, uint32_t psn, uint8_t syndrome, uint32_t n)
{
	hx_inject(w, 0, (struct wire_pkt){.opcode = opcode, .psn = psn, .syndrome = syndrome, .msn = 1,
		.atomic_orig = 77}, bytes, n);
	hx_run(w, HX_MS);
}

static void ack(struct hx_world *w, uint32_t psn)
{
	answer(w, WIRE_RC_ACK, psn, 0x1f, 0);
}

static uint32_t emitted(const struct hx_world *w)
{
	return w->n_log;
}

static struct hx_cq *completions(struct hx_world *w)
{
	return &w->side[0].send_cq;
}

static enum tp_qp_state state_of(struct hx_world *w)
{
	return hx_state(&w->side[0].qps[0]);
}

/* ---- windows ---- */

static void test_window(void **state)
{
	struct hx_options o = {.window = 8};
	struct hx_world *w = alone(&o);

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, 20 * 256, 0);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 8);
	/* AckReq every half window, so that it cannot fill up unasked. */
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(w->log[i].pkt.ack_req, i == 3 || i == 7);
	ack(w, P + 3);
	assert_int_equal(emitted(w), 12);
	ack(w, P + 11);
	ack(w, P + 19);
	assert_int_equal(emitted(w), 20);
	assert_int_equal(w->log[19].pkt.ack_req, 1);
	assert_int_equal(hx_poll(completions(w))->status, TP_WC_SUCCESS);
	hx_free(w);
}

static void test_window_of_one(void **state)
{
	struct hx_options o = {.window = 1};
	struct hx_world *w = alone(&o);

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, 600, 0);
	for (uint32_t i = 0; i < 3; i++) {
		hx_run(w, HX_MS);
		assert_int_equal(emitted(w), i + 1);
		assert_int_equal(hx_last(w, 0)->ack_req, 1);
		ack(w, P + i);
	}
	hx_expect(completions(w), 0x5e4d0000u, TP_WC_SUCCESS);
	hx_free(w);
}

/* The window starts small, doubles with what is acknowledged, and is halved by a loss (RFC 5681). */
static void test_window_adapts(void **state)
{
	struct hx_world *w = plain();
	uint32_t before;

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, 1000 * 256, 0);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 32);
	ack(w, P + 31);
	assert_int_equal(emitted(w), 32 + 64);
	ack(w, P + 95);
	assert_int_equal(emitted(w), 96 + 128);
	ack(w, P + 223);
	assert_int_equal(emitted(w), 224 + 128);
	before = emitted(w);
	answer(w, WIRE_RC_ACK, P + 224, 0x60, 0);
	assert_int_equal(emitted(w), before + 64);
	before = emitted(w);
	ack(w, P + 287);
	assert_int_equal(emitted(w), before + 65);
	hx_free(w);
}

/* A long READ is asked for in requests of 32 answers, as many as the peer's depth and the window allow. */
static void test_read_in_pieces(void **state)
{
	struct hx_world *w = plain();

	(void)state;
	hx_op(w, TP_WR_READ, 0, 0, 70 * 256, 0);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 1);
	for (uint32_t i = 0; i < 32; i++)
		answer(w,
			i == 0 ? WIRE_RC_READ_RESP_FIRST : i == 31 ? WIRE_RC_READ_RESP_LAST : WIRE_RC_READ_RESP_MIDDLE,
			P + i, 0x1f, 256);
	assert_int_equal(emitted(w), 3);
	assert_int_equal(w->log[1].pkt.psn, P + 32);
	assert_int_equal(w->log[1].pkt.va - w->log[0].pkt.va, 32 * 256);
	assert_int_equal(w->log[1].pkt.dma_bytes, 32 * 256);
	assert_int_equal(w->log[2].pkt.dma_bytes, 6 * 256);
	assert_int_equal(completions(w)->n, 0);
	hx_free(w);
}

/* Every 32 packets, and every half window while that is smaller. */
static void test_ack_req_every_32(void **state)
{
	struct hx_world *w = plain();

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, 100 * 256, 0);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 32);
	ack(w, P + 31);
	assert_int_equal(emitted(w), 96);
	ack(w, P + 95);
	assert_int_equal(emitted(w), 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(w->log[i].pkt.ack_req, i == 15 || i % 32 == 31 || i == 99);
	hx_free(w);
}

/* Client memory is read for 32 packets at a time, however many system calls that saves. */
static void test_reads_of_client_memory(void **state)
{
	struct hx_options o = {.copied = true};
	struct hx_world *w = alone(&o);

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, 64 * 256, 0);
	tp_tx(w->side[0].tp, 128, w->now_ns);
	assert_int_equal(emitted(w), 32);
	assert_true(w->side[0].mem_reads <= 2);
	ack(w, P + 31);
	assert_int_equal(emitted(w), 64);
	assert_true(w->side[0].mem_reads <= 4);
	hx_free(w);
}

/* A READ of 2^31 bytes takes half the PSN space. It is asked for in pieces, and what follows waits (9.7.2). */
static void test_longest_read(void **state)
{
	struct hx_world *w = plain();
	struct tp_mr_attr attr = {.pd = HX_PD, .access = TP_ACCESS_LOCAL_WRITE, .iova = 0, .addr = 4096,
		.bytes = 1ull << 40,
		.as = &w->side[0]};
	struct tp_send_wqe wqe = {.opcode = TP_WR_READ, .remote_addr = 1, .rkey = 5};
	struct tp_sge sge = {.addr = 64, .bytes = 1u << 31};

	(void)state;
	assert_int_equal(tp_mr_create(w->side[0].tp, &attr, &sge.lkey), 0);
	hx_post_raw(&w->side[0].qps[0], &wqe, &sge, 1);
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 1);
	assert_int_equal(hx_last(w, 0)->va, 1);
	assert_int_equal(hx_last(w, 0)->dma_bytes, 32 * 256);
	hx_free(w);
}

/* The longest message begins like any other; one byte more is refused here (11.6.2). */
static void test_longest_write(void **state)
{
	struct hx_options o = {.copied = true};
	struct hx_world *w = alone(&o);
	/* Only the beginning is ever read, so only that has memory behind it. */
	struct tp_mr_attr attr = {.pd = HX_PD, .iova = HX_IOVA, .addr = (uintptr_t)w->side[0].mem, .bytes = 1u << 31,
		.as = &w->side[0]};
	struct tp_sge sge[2] = {{.addr = HX_IOVA, .bytes = 1u << 31}, {.addr = HX_IOVA, .bytes = 1}};
	struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE, .remote_addr = 1, .rkey = 5};

	(void)state;
	assert_int_equal(tp_mr_create(w->side[0].tp, &attr, &sge[0].lkey), 0);
	sge[1].lkey = sge[0].lkey;
	hx_post_raw(&w->side[0].qps[0], &wqe, sge, 1);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 32);
	assert_int_equal(w->log[0].pkt.dma_bytes, 1u << 31);
	assert_int_equal(w->log[31].pkt.opcode, WIRE_RC_WRITE_MIDDLE);
	hx_free(w);
	w = alone(&o);
	assert_int_equal(tp_mr_create(w->side[0].tp, &attr, &sge[0].lkey), 0);
	sge[1].lkey = sge[0].lkey;
	hx_post_raw(&w->side[0].qps[0], &wqe, sge, 2);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 0);
	assert_int_equal(hx_poll(completions(w))->status, TP_WC_LOC_LEN_ERR);
	hx_free(w);
}

/* ---- READ and atomic limits, fence ---- */

static void test_read_limit(void **state)
{
	struct hx_options o = {.rd_atomic = 2};
	struct hx_world *w = alone(&o);

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		hx_op(w, i == 1 ? TP_WR_FETCH_ADD : TP_WR_READ, 0, 1024 * i, 8, 0);
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 2);
	answer(w, WIRE_RC_READ_RESP_ONLY, P, 0x1f, 8);
	/* Order is kept: the WRITE stood behind the third READ, not behind the limit. */
	assert_int_equal(emitted(w), 4);
	assert_int_equal(w->log[2].pkt.opcode, WIRE_RC_READ_REQUEST);
	hx_free(w);
}

/* Fault case 19. */
static void test_fence(void **state)
{
	struct hx_world *w = plain();

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_op(w, TP_WR_SEND, TP_SEND_FENCE, 0, 8, 0);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 2);
	hx_op(w, TP_WR_READ, 0, 0, 8, 0);
	hx_op(w, TP_WR_FETCH_ADD, 0, 64, 8, 0);
	hx_op(w, TP_WR_SEND, TP_SEND_FENCE, 0, 8, 0);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 4);
	answer(w, WIRE_RC_READ_RESP_ONLY, P + 2, 0x1f, 8);
	assert_int_equal(emitted(w), 4);
	answer(w, WIRE_RC_ATOMIC_ACK, P + 3, 0x1f, 0);
	assert_int_equal(emitted(w), 5);
	hx_free(w);
}

/* ---- packets ---- */

static void test_inline(void **state)
{
	struct hx_options o = {0};
	struct hx_world *w = hx_new(&o);
	struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE, .remote_addr = HX_IOVA, .rkey = w->side[1].key};
	uint8_t data[TP_MAX_INLINE_BYTES];
	uint64_t id;

	(void)state;
	hx_fill(data, sizeof(data), 9);
	id = hx_post_inline(&w->side[0].qps[0], &wqe, data, sizeof(data));
	hx_run(w, HX_MS);
	hx_expect(completions(w), id, TP_WC_SUCCESS);
	assert_memory_equal(w->side[1].mem, data, sizeof(data));
	id = hx_post_inline(&w->side[0].qps[0], &wqe, data, 0);
	hx_run(w, HX_MS);
	hx_expect(completions(w), id, TP_WC_SUCCESS);
	hx_free(w);
}

static void test_header_fields(void **state)
{
	struct hx_world *w = plain();
	const struct wire_pkt *pkt;

	(void)state;
	hx_op(w, TP_WR_SEND_IMM, TP_SEND_SOLICITED, 0, 300, 0);
	hx_op(w, TP_WR_WRITE_IMM, TP_SEND_SOLICITED, 0, 8, 32);
	hx_op(w, TP_WR_WRITE, TP_SEND_SOLICITED, 0, 8, 32);
	hx_op(w, TP_WR_SEND_INV, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	assert_int_equal(w->log[0].pkt.solicited, 0);
	pkt = &w->log[1].pkt;
	assert_int_equal(pkt->opcode, WIRE_RC_SEND_LAST_IMM);
	assert_int_equal(pkt->solicited, 1);
	assert_int_equal(pkt->imm, 0x01020304);
	assert_int_equal(pkt->pkey, 0xffff);
	assert_int_equal(pkt->migreq, 0);
	assert_int_equal(pkt->udp_sport, 0xc123);
	pkt = &w->log[2].pkt;
	assert_int_equal(pkt->opcode, WIRE_RC_WRITE_ONLY_IMM);
	assert_int_equal(pkt->solicited, 1);
	assert_true(pkt->va == HX_IOVA + 32);
	assert_int_equal(w->log[3].pkt.solicited, 0);
	assert_int_equal(w->log[4].pkt.opcode, WIRE_RC_SEND_ONLY_INV);
	assert_int_equal(w->log[4].pkt.rkey, 0x01020304);
	hx_free(w);
}

static void test_unsignalled(void **state)
{
	struct hx_options o = {.sig_none = true};
	struct hx_world *w = alone(&o);
	uint64_t id;

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	id = hx_op(w, TP_WR_WRITE, TP_SEND_SIGNALED, 0, 8, 0);
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	ack(w, P + 2);
	assert_int_equal(w->side[0].qps[0].sq_retired, 3);
	hx_expect(completions(w), id, TP_WC_SUCCESS);
	hx_expect_none(w);
	hx_free(w);
}

static void test_empty_pool(void **state)
{
	struct hx_options o = {.copied = true};
	struct hx_world *w = hx_new(&o);
	uint64_t id;

	(void)state;
	hx_fill(w->side[0].mem, 5000, 2);
	w->side[0].empty_pools = 3;
	w->side[1].empty_pools = 3;
	hx_op(w, TP_WR_WRITE, 0, 0, 5000, 0);
	id = hx_op(w, TP_WR_READ, 0, 8192, 5000, 0);
	hx_run(w, HX_S);
	assert_int_equal(hx_poll(completions(w))->status, TP_WC_SUCCESS);
	hx_expect(completions(w), id, TP_WC_SUCCESS);
	assert_memory_equal(w->side[0].mem, w->side[0].mem + 8192, 5000);
	hx_free(w);
}

/* ---- SQD ---- */

static void to_sqd(struct hx_world *w)
{
	struct tp_qp_attr attr = {.state = TP_QPS_SQD, .en_sqd_async_notify = 1};

	assert_int_equal(tp_qp_modify(w->side[0].tp, w->side[0].qps[0].qp, &attr,
		TP_QP_STATE | TP_QP_EN_SQD_ASYNC_NOTIFY, w->now_ns), 0);
}

static bool draining(struct hx_world *w)
{
	struct tp_qp_attr attr;

	tp_qp_query(w->side[0].qps[0].qp, &attr);
	return attr.sq_draining;
}

static void test_drain(void **state)
{
	struct hx_options o = {.window = 4};
	struct hx_world *w = alone(&o);
	const uint32_t *events = w->side[0].qps[0].events;

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, 6 * 256, 0);
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	to_sqd(w);
	assert_true(draining(w));
	assert_int_equal(events[TP_EVENT_SQ_DRAINED], 0);
	/* What was begun is finished, even if all that went out is acknowledged; what was not begun stays. */
	ack(w, P + 3);
	assert_int_equal(emitted(w), 6);
	assert_true(draining(w));
	assert_int_equal(events[TP_EVENT_SQ_DRAINED], 0);
	ack(w, P + 5);
	assert_false(draining(w));
	assert_int_equal(events[TP_EVENT_SQ_DRAINED], 1);
	assert_int_equal(emitted(w), 6);
	assert_int_equal(hx_to_state(w, &w->side[0].qps[0], TP_QPS_RTS), 0);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 7);
	hx_free(w);
}

static void test_drain_idle(void **state)
{
	struct hx_world *w = plain();

	(void)state;
	to_sqd(w);
	assert_false(draining(w));
	assert_int_equal(w->side[0].qps[0].events[TP_EVENT_SQ_DRAINED], 1);
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	assert_int_equal(emitted(w), 0);
	hx_free(w);
}

/* Loss while draining: what is on its way is sent again. */
static void test_drain_with_loss(void **state)
{
	struct hx_options o = {.timeout = 5};
	struct hx_world *w = alone(&o);

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	tp_tx(w->side[0].tp, 8, w->now_ns);
	to_sqd(w);
	w->cut = false;
	hx_run(w, HX_S);
	assert_int_equal(hx_poll(completions(w))->status, TP_WC_SUCCESS);
	assert_int_equal(w->side[0].qps[0].events[TP_EVENT_SQ_DRAINED], 1);
	hx_free(w);
}

/* ---- acknowledgements (9.7.5) ---- */

static void test_coalesced_ack(void **state)
{
	struct hx_world *w = plain();

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		hx_op(w, TP_WR_WRITE, 0, 0, 300, 0);
	hx_run(w, HX_MS);
	ack(w, P + 6);      /* in the middle of the fourth */
	assert_int_equal(completions(w)->n, 3);
	ack(w, P + 9);
	assert_int_equal(completions(w)->n, 5);
	hx_free(w);
}

/* Fault case 26: what is outside of the window says nothing. */
static void test_ack_outside(void **state)
{
	struct hx_world *w = plain();

	(void)state;
	ack(w, P);
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	ack(w, P - 1);
	ack(w, P + 1);
	ack(w, 0xffffff);
	answer(w, WIRE_RC_ACK, P + 1, 0x62, 0);
	answer(w, WIRE_RC_READ_RESP_ONLY, P - 1, 0x1f, 8);
	assert_int_equal(completions(w)->n, 0);
	assert_int_equal(tp_counters(w->side[0].tp)->drops[BASE_DROP_ACK_WINDOW], 6);
	ack(w, P);
	assert_int_equal(completions(w)->n, 1);
	hx_free(w);
}

static void one_nak(uint8_t syndrome, enum tp_wc_status status)
{
	struct hx_world *w = plain();
	uint64_t ids[3];

	for (uint32_t i = 0; i < 3; i++)
		ids[i] = hx_op(w, TP_WR_WRITE, 0, 0, 300, 0);
	hx_run(w, HX_MS);
	/* A NAK acknowledges what is before it; the request it names fails, the rest is flushed. */
	answer(w, WIRE_RC_ACK, P + 3, syndrome, 0);
	hx_expect(completions(w), ids[0], TP_WC_SUCCESS);
	hx_expect(completions(w), ids[1], status);
	hx_expect(completions(w), ids[2], TP_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(w), TP_QPS_ERR);
	hx_expect_none(w);
	hx_free(w);
}

static void test_fatal_naks(void **state)
{
	(void)state;
	one_nak(0x61, TP_WC_REM_INV_REQ_ERR);
	one_nak(0x62, TP_WC_REM_ACCESS_ERR);
	one_nak(0x63, TP_WC_REM_OP_ERR);
	one_nak(0x64, TP_WC_BAD_RESP_ERR);
	one_nak(0x7f, TP_WC_BAD_RESP_ERR);
}

static void test_reserved_syndromes(void **state)
{
	struct hx_world *w = plain();

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, 8, 0);
	hx_run(w, HX_MS);
	answer(w, WIRE_RC_ACK, P, 0x80, 0);
	answer(w, WIRE_RC_ACK, P, 0x40, 0);
	answer(w, WIRE_RC_ACK, P, 0xe2, 0);
	assert_int_equal(completions(w)->n, 0);
	/* Credits are not counted: any value in an ACK is one. */
	answer(w, WIRE_RC_ACK, P, 0x00, 0);
	assert_int_equal(completions(w)->n, 1);
	hx_free(w);
}

/* Fault case 10: a NAK inside a READ's answer. */
static void test_nak_within_read(void **state)
{
	struct hx_world *w = plain();
	uint64_t id = hx_op(w, TP_WR_READ, 0, 0, 1000, 0);

	(void)state;
	hx_run(w, HX_MS);
	answer(w, WIRE_RC_READ_RESP_FIRST, P, 0x1f, 256);
	answer(w, WIRE_RC_ACK, P + 1, 0x62, 0);
	hx_expect(completions(w), id, TP_WC_REM_ACCESS_ERR);
	hx_free(w);
}

/* ---- answers that may not be (BAD_RESP_ERR) ---- */

struct bad_answer {
	enum tp_wr_opcode wr;
	uint32_t wr_bytes;
	uint8_t opcode;
	uint8_t syndrome;
	uint32_t n;
};

static void test_bad_answers(void **state)
{
	static const struct bad_answer cases[] = {
		{TP_WR_WRITE, 8, WIRE_RC_READ_RESP_ONLY, 0x1f, 8},
		{TP_WR_SEND, 8, WIRE_RC_ATOMIC_ACK, 0x1f, 0},
		{TP_WR_READ, 8, WIRE_RC_ATOMIC_ACK, 0x1f, 0},
		{TP_WR_FETCH_ADD, 8, WIRE_RC_READ_RESP_ONLY, 0x1f, 8},
		{TP_WR_FETCH_ADD, 8, WIRE_RC_ATOMIC_ACK, 0x1f, 8},
		{TP_WR_FETCH_ADD, 8, WIRE_RC_ATOMIC_ACK, 0x62, 0},
		{TP_WR_READ, 8, WIRE_RC_READ_RESP_ONLY, 0x1f, 7},
		{TP_WR_READ, 8, WIRE_RC_READ_RESP_ONLY, 0x1f, 9},
		{TP_WR_READ, 8, WIRE_RC_READ_RESP_ONLY, 0x62, 8},
		{TP_WR_READ, 8, WIRE_RC_READ_RESP_ONLY, 0x9f, 8},
		{TP_WR_READ, 8, WIRE_RC_READ_RESP_FIRST, 0x1f, 8},
		{TP_WR_READ, 8, WIRE_RC_READ_RESP_LAST, 0x1f, 8},
		{TP_WR_READ, 600, WIRE_RC_READ_RESP_MIDDLE, 0x1f, 256},
		{TP_WR_READ, 600, WIRE_RC_READ_RESP_ONLY, 0x1f, 256},
		{TP_WR_READ, 600, WIRE_RC_READ_RESP_FIRST, 0x1f, 252},
		{TP_WR_READ, 600, WIRE_RC_READ_RESP_FIRST, 0x1f, 260},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hx_world *w = plain();
		uint64_t id = hx_op(w, cases[i].wr, 0, 0, cases[i].wr_bytes, 0);

		hx_run(w, HX_MS);
		answer(w, cases[i].opcode, P, cases[i].syndrome, cases[i].n);
		hx_expect(completions(w), id, TP_WC_BAD_RESP_ERR);
		hx_expect_none(w);
		assert_int_equal(state_of(w), TP_QPS_ERR);
		hx_free(w);
	}
}

static void test_bad_read_sequence(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t n;
	} cases[] = {
		{WIRE_RC_READ_RESP_FIRST, 256}, {WIRE_RC_READ_RESP_ONLY, 256}, {WIRE_RC_READ_RESP_LAST, 256},
		{WIRE_RC_READ_RESP_MIDDLE, 255},
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct hx_world *w = plain();
		uint64_t id = hx_op(w, TP_WR_READ, 0, 0, 1000, 0);

		hx_run(w, HX_MS);
		answer(w, WIRE_RC_READ_RESP_FIRST, P, 0x1f, 256);
		answer(w, cases[i].opcode, P + 1, 0x1f, cases[i].n);
		hx_expect(completions(w), id, TP_WC_BAD_RESP_ERR);
		hx_free(w);
	}
}

/* An answer acknowledges the requests before it (9.7.5.1.2). */
static void test_answer_acknowledges(void **state)
{
	struct hx_world *w = plain();

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, 300, 0);
	hx_op(w, TP_WR_SEND, 0, 0, 8, 0);
	hx_op(w, TP_WR_READ, 0, 0, 300, 0);
	hx_run(w, HX_MS);
	answer(w, WIRE_RC_READ_RESP_FIRST, P + 3, 0x1f, 256);
	assert_int_equal(completions(w)->n, 2);
	answer(w, WIRE_RC_READ_RESP_LAST, P + 4, 0x1f, 44);
	assert_int_equal(completions(w)->n, 3);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_window_of_one),
		cmocka_unit_test(test_window_adapts),
		cmocka_unit_test(test_read_in_pieces),
		cmocka_unit_test(test_ack_req_every_32),
		cmocka_unit_test(test_reads_of_client_memory),
		cmocka_unit_test(test_longest_read),
		cmocka_unit_test(test_longest_write),
		cmocka_unit_test(test_read_limit),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_header_fields),
		cmocka_unit_test(test_unsignalled),
		cmocka_unit_test(test_empty_pool),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_drain_idle),
		cmocka_unit_test(test_drain_with_loss),
		cmocka_unit_test(test_coalesced_ack),
		cmocka_unit_test(test_ack_outside),
		cmocka_unit_test(test_fatal_naks),
		cmocka_unit_test(test_reserved_syndromes),
		cmocka_unit_test(test_nak_within_read),
		cmocka_unit_test(test_bad_answers),
		cmocka_unit_test(test_bad_read_sequence),
		cmocka_unit_test(test_answer_acknowledges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
