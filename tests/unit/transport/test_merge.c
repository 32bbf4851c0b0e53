/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short messages of a queue pair go in one packet (docs/wire.md, RC_MERGED) where both ends agree: each has its PSN, its
 * completion and its place in the order as if it had come alone.
 */
#include "sr_kit.h"
#include "wire_merge.h"

#define BYTES 20u

static struct hx_world *merging(struct hx_options o, hx_script script)
{
	o.ext = true;
	if (o.merge.max_bytes == 0)
		o.merge.max_bytes = 100;
	return make_with(o, script);
}

static void post_writes(struct hx_world *w, uint32_t n, uint64_t *id)
{
	for (uint32_t i = 0; i < n; i++)
		id[i] = hx_op(w, TP_WR_WRITE, 0, i * BYTES, BYTES, DST + i * BYTES);
}

static void expect_all(struct hx_world *w, uint32_t n, const uint64_t *id)
{
	for (uint32_t i = 0; i < n; i++)
		hx_expect(&w->side[0].send_cq, id[i], TP_WC_SUCCESS);
	hx_expect_none(w);
}

/* SENDs of four bytes, and receive work requests for them. */
static uint64_t send_short(struct hx_world *w)
{
	const struct tp_send_wqe send = {.opcode = TP_WR_SEND};

	return hx_post(&w->side[0].qps[0], &send, &(struct hx_piece){0, 4}, 1);
}

static void recv_short(struct hx_world *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		hx_recv(&w->side[1].qps[0], &(struct hx_piece){DST, 64}, 1);
}

static uint32_t psn_of(uint32_t i)
{
	return base_psn_add(PSN, i);
}

/* The n-th packet with that opcode that side `from` emitted. */
static const struct wire_pkt *nth(const struct hx_world *w, int from, uint8_t opcode, uint32_t n)
{
	for (uint32_t i = 0; i < w->n_log; i++) {
		if (w->log[i].from == from && w->log[i].pkt.opcode == opcode && n-- == 0)
			return &w->log[i].pkt;
	}
	fail_msg("no packet %u of opcode %#x", n, opcode);
	return NULL;
}

/* A message of 20 bytes takes 4 + 16 + 20 of an MTU of 256: six go together. */
static void test_what_is_posted_goes_together(void **state)
{
	struct hx_world *w = merging((struct hx_options){0}, NULL);
	uint64_t id[14];

	(void)state;
	post_writes(w, 14, id);
	hx_run(w, 50 * HX_MS);
	expect_all(w, 14, id);
	assert_memory_equal(w->side[1].mem + DST, w->side[0].mem, 14 * BYTES);
	assert_int_equal(w->side[0].emitted, 3);
	assert_int_equal(hx_count(w, 0, WIRE_RC_MERGED), 3);
	assert_int_equal(nth(w, 0, WIRE_RC_MERGED, 0)->merged, 6);
	assert_int_equal(nth(w, 0, WIRE_RC_MERGED, 1)->merged, 6);
	assert_int_equal(nth(w, 0, WIRE_RC_MERGED, 1)->psn, psn_of(6));
	assert_int_equal(nth(w, 0, WIRE_RC_MERGED, 2)->merged, 2);
	assert_true(nth(w, 0, WIRE_RC_MERGED, 0)->ack_req);
	assert_int_equal(counters(w, 0)->merged_sent, 3);
	assert_int_equal(counters(w, 0)->merged_messages, 14);
	assert_int_equal(counters(w, 1)->merged_received, 3);
	/* PSN, MSN: of all messages. */
	assert_int_equal(hx_last(w, 1)->psn, psn_of(13));
	assert_int_equal(hx_last(w, 1)->msn, 14);
	hx_free(w);
}

static void test_one_alone_is_plain(void **state)
{
	struct hx_world *w = merging((struct hx_options){.merge = {100, 50000}}, NULL);
	uint64_t id;

	(void)state;
	post_writes(w, 1, &id);
	hx_run(w, 50 * HX_MS);
	expect_all(w, 1, &id);
	assert_int_equal(hx_count(w, 0, WIRE_RC_WRITE_ONLY), 1);
	hx_free(w);
}

/* Each kind keeps what it has: immediate data, SE, key to invalidate; SENDs their receive work requests, in order. */
static void test_kinds(void **state)
{
	struct hx_world *w = merging((struct hx_options){0}, NULL);
	const struct hx_piece piece = {0, BYTES}, into = {DST, 64};
	const struct tp_send_wqe send = {.opcode = TP_WR_SEND}, imm = {.opcode = TP_WR_SEND_IMM, .imm = 0x11223344,
		.flags = TP_SEND_SOLICITED},
		write_imm = {.opcode = TP_WR_WRITE_IMM, .imm = 0x55667788, .rkey = w->side[1].key,
			.remote_addr = HX_IOVA + DST + 100};
	struct hx_qp *q = &w->side[0].qps[0];
	const struct tp_cqe *cqe;
	uint64_t id[4], recv[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		recv[i] = hx_recv(&w->side[1].qps[0], &into, 1);
	id[0] = hx_post(q, &send, &piece, 1);
	id[1] = hx_post(q, &imm, &piece, 1);
	id[2] = hx_post_inline(q, &write_imm, "inline", 6);
	id[3] = hx_post(q, &send, NULL, 0);
	hx_run(w, 50 * HX_MS);
	assert_int_equal(w->side[0].emitted, 1);
	for (int i = 0; i < 4; i++) {
		hx_expect(&w->side[0].send_cq, id[i], TP_WC_SUCCESS);
		cqe = hx_poll(&w->side[1].recv_cq);
		assert_int_equal(cqe->wr_id, recv[i]);
		assert_int_equal(cqe->bytes, i == 2 ? 6 : i == 3 ? 0 : BYTES);
		assert_int_equal(cqe->imm, i == 1 ? 0x11223344 : i == 2 ? 0x55667788 : 0);
		assert_int_equal(cqe->opcode, i == 2 ? TP_WC_OP_RECV_WRITE_IMM : TP_WC_OP_RECV);
	}
	assert_memory_equal(w->side[1].mem + DST + 100, "inline", 6);
	hx_expect_none(w);
	hx_free(w);
}

/* What is long, asks for an answer or has a fence that holds ends a packet; order is kept. */
static void test_what_does_not_go_together(void **state)
{
	struct hx_world *w = merging((struct hx_options){0}, NULL);
	uint64_t id[8];

	(void)state;
	post_writes(w, 2, id);
	id[2] = hx_op(w, TP_WR_WRITE, 0, 0, 101, DST + 200);
	id[3] = hx_op(w, TP_WR_READ, 0, DST + 400, BYTES, 0);
	id[4] = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST + 500);
	id[5] = hx_op(w, TP_WR_WRITE, TP_SEND_FENCE, 0, BYTES, DST + 520);
	id[6] = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST + 540);
	id[7] = hx_op(w, TP_WR_WRITE, 0, 0, 3 * MTU, DST + 600);
	hx_run(w, 50 * HX_MS);
	expect_all(w, 8, id);
	assert_int_equal(nth(w, 0, WIRE_RC_MERGED, 0)->psn, psn_of(0));
	assert_int_equal(nth(w, 0, WIRE_RC_WRITE_ONLY, 0)->psn, psn_of(2));
	/* The fenced one waits for the READ; the one before it does not. */
	assert_int_equal(nth(w, 0, WIRE_RC_WRITE_ONLY, 1)->psn, psn_of(4));
	assert_int_equal(nth(w, 0, WIRE_RC_MERGED, 1)->psn, psn_of(5));
	assert_int_equal(hx_count(w, 0, WIRE_RC_MERGED), 2);
	assert_int_equal(hx_count(w, 0, WIRE_RC_WRITE_FIRST), 1);
	hx_free(w);
}

/* ---- waiting for more ---- */

/* While others are on their way, and for no longer than was said. */
static void test_wait_is_bounded(void **state)
{
	struct hx_world *w = merging((struct hx_options){.latency_ns = 200 * US, .merge = {100, 20 * US}}, NULL);
	uint64_t id[3];

	(void)state;
	post_writes(w, 1, id);
	hx_run(w, 5 * US);
	assert_int_equal(w->side[0].emitted, 1);
	id[1] = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	hx_run(w, 10 * US);
	assert_int_equal(w->side[0].emitted, 1);
	id[2] = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	hx_run(w, 30 * US);
	assert_int_equal(w->side[0].emitted, 2);
	assert_int_equal(hx_last(w, 0)->opcode, WIRE_RC_MERGED);
	hx_run(w, 50 * HX_MS);
	expect_all(w, 3, id);
	hx_free(w);
}

/* It ends when nothing is on its way any more, or the packet is full. */
static void test_wait_ends_early(void **state)
{
	struct hx_world *w = merging((struct hx_options){.latency_ns = 10 * US, .merge = {100, 10 * HX_MS}}, NULL);
	uint64_t id[8];

	(void)state;
	post_writes(w, 1, id);
	hx_run(w, 5 * US);
	id[1] = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	hx_run(w, 1 * HX_MS);
	assert_int_equal(w->side[0].emitted, 2);
	hx_expect(&w->side[0].send_cq, id[0], TP_WC_SUCCESS);
	hx_expect(&w->side[0].send_cq, id[1], TP_WC_SUCCESS);
	post_writes(w, 1, id);
	hx_run(w, 5 * US);
	post_writes(w, 7, id + 1);
	hx_run(w, 5 * US);
	/* Six are full; the last one waits. */
	assert_int_equal(w->side[0].emitted, 4);
	assert_int_equal(hx_last(w, 0)->merged, 6);
	hx_run(w, 1 * HX_MS);
	expect_all(w, 8, id);
	hx_free(w);
}

/* ---- loss ---- */

static enum hx_fate lose_first(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)pkt;
	return from == 0 && n == 0 ? HX_LOSE : HX_PASS;
}

/* It is sent again as it was, and what came before its turn is kept. */
static void test_lost(void **state)
{
	struct hx_world *w = merging((struct hx_options){0}, lose_first);
	uint64_t id[14];

	(void)state;
	post_writes(w, 14, id);
	hx_run(w, 50 * HX_MS);
	expect_all(w, 14, id);
	assert_memory_equal(w->side[1].mem + DST, w->side[0].mem, 14 * BYTES);
	assert_int_equal(counters(w, 0)->retransmits, 1);
	assert_int_equal(nth(w, 0, WIRE_RC_MERGED, 3)->psn, psn_of(0));
	assert_int_equal(nth(w, 0, WIRE_RC_MERGED, 3)->merged, 6);
	assert_int_equal(counters(w, 1)->reordered, 2);
	hx_free(w);
}

/* The third of six finds no receive work request: the first two are complete, the other four come again. */
static void test_rnr_within(void **state)
{
	struct hx_world *w = merging((struct hx_options){.timeout = 18, .min_rnr_timer = 1}, NULL);
	uint64_t id[6];

	(void)state;
	recv_short(w, 2);
	for (int i = 0; i < 6; i++)
		id[i] = send_short(w);
	hx_run(w, 5 * US + 20 * US);
	assert_int_equal(w->side[0].emitted, 1);
	assert_int_equal(counters(w, 0)->rnr_naks_received, 1);
	assert_int_equal(w->side[0].send_cq.n, 2);
	recv_short(w, 4);
	hx_run(w, 1 * HX_MS);
	assert_int_equal(hx_count(w, 0, WIRE_RC_MERGED), 2);
	assert_int_equal(nth(w, 0, WIRE_RC_MERGED, 1)->psn, psn_of(2));
	assert_int_equal(nth(w, 0, WIRE_RC_MERGED, 1)->merged, 4);
	for (int i = 0; i < 6; i++)
		hx_expect(&w->side[0].send_cq, id[i], TP_WC_SUCCESS);
	assert_int_equal(w->side[1].recv_cq.n, 6);
	hx_free(w);
}

static enum hx_fate lose_rnr_nak(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)n;
	return from == 1 && pkt->opcode == WIRE_RC_ACK && hx_count(w, 1, WIRE_RC_ACK) <= 1 ? HX_LOSE : HX_PASS;
}

/* The NAK is lost: the RC_SACK tells that the packet was not taken, and time does the rest. */
static void test_rnr_nak_lost(void **state)
{
	struct hx_world *w = merging((struct hx_options){.timeout = 18, .min_rnr_timer = 1}, lose_rnr_nak);
	uint64_t id[6];

	(void)state;
	for (int i = 0; i < 6; i++)
		id[i] = send_short(w);
	recv_short(w, 3);
	hx_run(w, 30 * US);
	recv_short(w, 3);
	hx_run(w, 20 * HX_MS);
	for (int i = 0; i < 6; i++)
		hx_expect(&w->side[0].send_cq, id[i], TP_WC_SUCCESS);
	assert_int_equal(w->side[1].recv_cq.n, 6);
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	hx_free(w);
}

/* The third has no right there: NAK at its PSN, the two before it are done, those after it flushed. */
static void test_refused_within(void **state)
{
	struct hx_world *w = merging((struct hx_options){0}, NULL);
	uint64_t id[4];

	(void)state;
	post_writes(w, 2, id);
	id[2] = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, HX_MEM_BYTES);
	id[3] = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	hx_run(w, 50 * HX_MS);
	assert_int_equal(w->side[0].emitted, 1);
	hx_expect(&w->side[0].send_cq, id[0], TP_WC_SUCCESS);
	hx_expect(&w->side[0].send_cq, id[1], TP_WC_SUCCESS);
	hx_expect(&w->side[0].send_cq, id[2], TP_WC_REM_ACCESS_ERR);
	hx_expect(&w->side[0].send_cq, id[3], TP_WC_WR_FLUSH_ERR);
	assert_int_equal(hx_last(w, 1)->psn, psn_of(2));
	hx_free(w);
}

/* The memory of the third is gone when it is sent: the two before it go, and it fails in its turn. */
static void test_failed_here(void **state)
{
	struct hx_world *w = merging((struct hx_options){.copied = true}, NULL);
	const struct tp_sge bad = {.addr = HX_IOVA, .bytes = BYTES, .lkey = 0x77};
	const struct tp_send_wqe write = {.opcode = TP_WR_WRITE, .rkey = w->side[1].key, .remote_addr = HX_IOVA + DST};
	uint64_t id[4];

	(void)state;
	post_writes(w, 2, id);
	id[2] = hx_post_raw(&w->side[0].qps[0], &write, &bad, 1);
	id[3] = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	hx_run(w, 50 * HX_MS);
	hx_expect(&w->side[0].send_cq, id[0], TP_WC_SUCCESS);
	hx_expect(&w->side[0].send_cq, id[1], TP_WC_SUCCESS);
	hx_expect(&w->side[0].send_cq, id[2], TP_WC_LOC_PROT_ERR);
	hx_expect(&w->side[0].send_cq, id[3], TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

/* ---- what a peer may send ---- */

static uint32_t writes(const struct hx_world *w, uint8_t *p, uint32_t n, char mark)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct wire_pkt part = {.opcode = WIRE_RC_WRITE_ONLY, .va = HX_IOVA + DST + i, .rkey = w->side[1].key,
			.dma_bytes = 1, .payload_bytes = 1};
		const uint8_t byte = (uint8_t)(mark + (char)i);

		at += wire_merge_put(p + at, &part, &byte);
	}
	return at;
}

/* What was taken already is not taken again, the rest is. */
static void test_partly_known(void **state)
{
	struct hx_world *w = merging((struct hx_options){0}, NULL);
	uint8_t payload[256];
	struct wire_pkt pkt = {.opcode = WIRE_RC_MERGED, .psn = PSN, .merged = 2, .ack_req = 1};

	(void)state;
	hx_inject(w, 1, pkt, payload, writes(w, payload, 2, 'a'));
	assert_memory_equal(w->side[1].mem + DST, "ab", 2);
	pkt.merged = 4;
	hx_inject(w, 1, pkt, payload, writes(w, payload, 4, 'p'));
	assert_memory_equal(w->side[1].mem + DST, "abrs", 4);
	/* Nothing new in it. */
	hx_inject(w, 1, pkt, payload, writes(w, payload, 4, 'w'));
	assert_memory_equal(w->side[1].mem + DST, "abrs", 4);
	assert_int_equal(counters(w, 1)->duplicates, 1);
	assert_int_equal(hx_last(w, 1)->psn, psn_of(3));
	assert_int_equal(hx_last(w, 1)->msn, 4);
	hx_free(w);
}

/* A malformed one is an invalid request, at its PSN and in its turn. */
static void test_malformed(void **state)
{
	struct hx_world *w = merging((struct hx_options){0}, NULL);
	uint8_t payload[256];
	uint32_t bytes = writes(w, payload, 2, 'a');
	struct wire_pkt pkt = {.opcode = WIRE_RC_MERGED, .psn = psn_of(1), .merged = 3, .ack_req = 1};

	(void)state;
	hx_inject(w, 1, pkt, payload, bytes);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_RTS);
	pkt.psn = PSN;
	pkt.merged = 255;
	hx_inject(w, 1, pkt, payload, bytes);
	assert_int_equal(hx_last(w, 1)->syndrome, 0x61);
	assert_int_equal(hx_last(w, 1)->psn, PSN);
	assert_int_equal(w->side[1].qps[0].events[TP_EVENT_QP_REQ_ERR], 1);
	hx_free(w);
}

/* A peer that did not agree to it never sees one, and takes none. */
static void test_not_agreed(void **state)
{
	struct hx_options o = {.ext = true, .merge = {0, 1000}};
	struct hx_world *w = make_with(o, NULL);
	const struct wire_pkt pkt = {.opcode = WIRE_RC_MERGED, .psn = PSN, .merged = 2};
	uint8_t payload[256];
	uint64_t id[3];

	(void)state;
	hx_inject(w, 1, pkt, payload, writes(w, payload, 2, 'a'));
	assert_int_equal(counters(w, 1)->drops[BASE_DROP_UNSUPPORTED], 1);
	assert_int_equal(counters(w, 1)->unagreed, 1);
	post_writes(w, 3, id);
	hx_run(w, 50 * HX_MS);
	expect_all(w, 3, id);
	assert_int_equal(hx_count(w, 0, WIRE_RC_WRITE_ONLY), 3);
	hx_free(w);
}

/* Eight of 200 bytes are more than the path MTU. */
static void test_longer_than_mtu(void **state)
{
	struct hx_world *w = merging((struct hx_options){0}, NULL);
	struct wire_pkt pkt = {.opcode = WIRE_RC_MERGED, .psn = PSN, .merged = 8, .ack_req = 1};
	const struct wire_pkt part = {.opcode = WIRE_RC_WRITE_ONLY, .va = HX_IOVA + DST, .rkey = w->side[1].key,
		.dma_bytes = 200, .payload_bytes = 200};
	uint8_t payload[8 * 220], data[200] = {0};
	uint32_t at = 0;

	(void)state;
	for (int i = 0; i < 8; i++)
		at += wire_merge_put(payload + at, &part, data);
	hx_inject(w, 1, pkt, payload, at);
	assert_int_equal(hx_last(w, 1)->syndrome, 0x61);
	hx_free(w);
}

/* ---- what may happen meanwhile ---- */

/* Who merges nothing takes what is merged. */
static void test_one_end_merges(void **state)
{
	struct hx_world *w = merging((struct hx_options){.stay_in_reset = true}, NULL);
	uint64_t id[14];

	(void)state;
	for (int s = 0; s < 2; s++) {
		struct hx_qp *q = &w->side[s].qps[0];
		struct tp_qp_attr attr;

		assert_int_equal(hx_to_state(w, q, TP_QPS_INIT), 0);
		hx_attr(w, s, 0, &attr);
		attr.state = TP_QPS_RTR;
		attr.merge.max_bytes = s == 0 ? 100 : 0;
		assert_int_equal(tp_qp_modify(w->side[s].tp, q->qp, &attr,
					 TP_QP_STATE | TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN |
						 TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER | TP_QP_EXT,
					 w->now_ns), 0);
		assert_int_equal(hx_to_state(w, q, TP_QPS_RTS), 0);
	}
	post_writes(w, 14, id);
	hx_run(w, 50 * HX_MS);
	expect_all(w, 14, id);
	assert_int_equal(w->side[0].emitted, 3);
	assert_int_equal(counters(w, 1)->unagreed, 0);
	hx_free(w);
}

/* Drained is what was sent; what waits for more waits on, till RTS. */
static void test_drained_while_some_wait(void **state)
{
	struct hx_world *w = merging((struct hx_options){.merge = {100, 5 * HX_MS}, .timeout = 18}, NULL);
	const struct tp_qp_attr attr = {.state = TP_QPS_SQD, .en_sqd_async_notify = 1};
	struct hx_qp *q = &w->side[0].qps[0];
	uint64_t id[3];

	(void)state;
	post_writes(w, 1, id);
	hx_run(w, 5 * US);
	post_writes(w, 2, id + 1);
	hx_run(w, 2 * US);
	assert_int_equal(w->side[0].emitted, 1);
	assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &attr, TP_QP_STATE | TP_QP_EN_SQD_ASYNC_NOTIFY, w->now_ns), 0);
	hx_run(w, 50 * HX_MS);
	assert_int_equal(w->side[0].emitted, 1);
	assert_int_equal(q->events[TP_EVENT_SQ_DRAINED], 1);
	assert_int_equal(hx_to_state(w, q, TP_QPS_RTS), 0);
	hx_run(w, 50 * HX_MS);
	expect_all(w, 3, id);
	hx_free(w);
}

/* The agreement ends while some are on their way and others wait. */
static void test_plain_while_some_wait(void **state)
{
	struct hx_world *w = merging((struct hx_options){.merge = {100, 5 * HX_MS}}, NULL);
	uint64_t id[9];

	(void)state;
	post_writes(w, 7, id);
	hx_run(w, 5 * US);
	post_writes(w, 2, id + 7);
	hx_run(w, 2 * US);
	tp_qp_plain(w->side[0].tp, w->side[0].qps[0].qp);
	tp_qp_plain(w->side[1].tp, w->side[1].qps[0].qp);
	hx_run(w, 5 * HX_S);
	expect_all(w, 9, id);
	hx_free(w);
}

/* That no buffer was there when the time was over is no reason to wait once more. */
static void test_wait_without_buffers(void **state)
{
	struct hx_options o = {.merge = {100, 100 * US}, .latency_ns = 1 * HX_MS, .timeout = 18};
	struct hx_world *w = merging(o, NULL);
	uint64_t id[3], posted_ns;

	(void)state;
	post_writes(w, 1, id);
	hx_run(w, 5 * US);
	post_writes(w, 2, id + 1);
	posted_ns = w->now_ns;
	w->side[0].empty_pools = 3;
	while (w->side[0].emitted < 2 && w->now_ns - posted_ns < 1 * HX_MS)
		pass_time(w, 3 * US);
	assert_in_range(w->now_ns - posted_ns, 100 * US, 150 * US);
	hx_run(w, 50 * HX_MS);
	expect_all(w, 3, id);
	hx_free(w);
}

/* The memory of the third is gone when it is to be sent again: it fails in its turn, without a timeout. */
static void test_gone_when_lost(void **state)
{
	struct hx_world *w = merging((struct hx_options){.timeout = 18}, lose_first);
	const struct tp_mr_attr mr = {.pd = HX_PD, .iova = HX_IOVA, .bytes = HX_MEM_BYTES, .as = &w->side[0],
		.addr = (uintptr_t)w->side[0].mem, .direct = w->side[0].mem};
	const struct tp_send_wqe write = {.opcode = TP_WR_WRITE, .rkey = w->side[1].key, .remote_addr = HX_IOVA + DST};
	struct tp_sge sge = {.addr = HX_IOVA, .bytes = BYTES};
	uint64_t id[4];

	(void)state;
	assert_int_equal(tp_mr_create(w->side[0].tp, &mr, &sge.lkey), 0);
	post_writes(w, 2, id);
	id[2] = hx_post_raw(&w->side[0].qps[0], &write, &sge, 1);
	id[3] = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	hx_run(w, 5 * US);
	assert_int_equal(w->side[0].emitted, 1);
	assert_int_equal(tp_mr_destroy(w->side[0].tp, sge.lkey), 0);
	hx_run(w, 1 * HX_S);
	hx_expect(&w->side[0].send_cq, id[0], TP_WC_SUCCESS);
	hx_expect(&w->side[0].send_cq, id[1], TP_WC_SUCCESS);
	hx_expect(&w->side[0].send_cq, id[2], TP_WC_LOC_PROT_ERR);
	hx_expect(&w->side[0].send_cq, id[3], TP_WC_WR_FLUSH_ERR);
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	hx_free(w);
}

/* The third finds no room in the completion queue: nothing behind it is done. */
static void test_completion_queue_full(void **state)
{
	struct hx_world *w = merging((struct hx_options){0}, NULL);

	(void)state;
	w->side[1].recv_cq.limit = 2;
	recv_short(w, 6);
	for (int i = 0; i < 6; i++)
		send_short(w);
	hx_run(w, 5 * HX_S);
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_ERR);
	assert_int_equal(w->side[1].recv_cq.n, 2);
	assert_int_equal(w->side[0].send_cq.n, 6);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_posted_goes_together),
		cmocka_unit_test(test_one_alone_is_plain),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_what_does_not_go_together),
		cmocka_unit_test(test_wait_is_bounded),
		cmocka_unit_test(test_wait_ends_early),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_rnr_within),
		cmocka_unit_test(test_rnr_nak_lost),
		cmocka_unit_test(test_refused_within),
		cmocka_unit_test(test_failed_here),
		cmocka_unit_test(test_partly_known),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_not_agreed),
		cmocka_unit_test(test_longer_than_mtu),
		cmocka_unit_test(test_one_end_merges),
		cmocka_unit_test(test_drained_while_some_wait),
		cmocka_unit_test(test_plain_while_some_wait),
		cmocka_unit_test(test_wait_without_buffers),
		cmocka_unit_test(test_gone_when_lost),
		cmocka_unit_test(test_completion_queue_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
