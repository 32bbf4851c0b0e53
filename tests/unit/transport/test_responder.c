/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder alone, fed with crafted requests: order, lengths, rights, resources. Where Soft-RoCE answers
 * alike the probe is named in the comment; P is the expected PSN.
 */
#include <errno.h>

#include "harness.h"

#define P 0x100000u

static const uint8_t bytes[8192];

static struct hx_world *alone(uint32_t mtu)
{
	struct hx_options o = {.mtu = mtu, .psn = P, .min_rnr_timer = 12};
	struct hx_world *w = hx_new(&o);

	w->cut = true;
	hx_fill(w->side[1].mem, HX_MEM_BYTES, 3);
	return w;
}

static struct hx_qp *responder(struct hx_world *w)
{
	return &w->side[1].qps[0];
}

static uint64_t post_recv(struct hx_world *w, uint32_t n_bytes)
{
	struct hx_piece piece = {0, n_bytes};

	return hx_recv(responder(w), &piece, 1);
}

static struct wire_pkt request(const struct hx_world *w, uint8_t opcode, uint32_t psn)
{
	struct wire_pkt pkt = {.opcode = opcode, .psn = psn, .ack_req = 1, .va = HX_IOVA + 4096, .rkey = w->side[1].key};

	return pkt;
}

static void send(struct hx_world *w, uint8_t opcode, uint32_t psn, uint32_t n)
{
	hx_inject(w, 1, request(w, opcode, psn), bytes, n);
}

static void write(struct hx_world *w, uint8_t opcode, uint32_t psn, uint32_t total, uint32_t n)
{
	struct wire_pkt pkt = request(w, opcode, psn);

	pkt.dma_bytes = total;
	hx_inject(w, 1, pkt, bytes, n);
}

static void read(struct hx_world *w, uint32_t psn, uint64_t va, uint32_t n)
{
	struct wire_pkt pkt = request(w, WIRE_RC_READ_REQUEST, psn);

	pkt.va = va;
	pkt.dma_bytes = n;
	hx_inject(w, 1, pkt, NULL, 0);
	hx_run(w, HX_MS);
}

static void expect_aeth(struct hx_world *w, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
	const struct wire_pkt *pkt = hx_last(w, 1);

	assert_int_equal(pkt->opcode, WIRE_RC_ACK);
	assert_int_equal(pkt->psn, psn);
	assert_int_equal(pkt->syndrome, syndrome);
	assert_int_equal(pkt->msn, msn);
}

/* One packet made the responder end the connection: NAK at P, error state, receives flushed behind `first`. */
static void expect_fatal(struct hx_world *w, uint8_t syndrome, uint32_t psn, enum tp_wc_status first)
{
	struct hx_cq *cq = &w->side[1].recv_cq;

	hx_run(w, HX_MS);
	assert_int_equal(hx_last(w, 1)->psn, psn);
	assert_int_equal(hx_last(w, 1)->syndrome, syndrome);
	assert_int_equal(hx_state(responder(w)), TP_QPS_ERR);
	if (cq->n == 0)
		return;
	assert_int_equal(cq->cqe[0].status, first);
	for (uint32_t i = 1; i < cq->n; i++)
		assert_int_equal(cq->cqe[i].status, TP_WC_WR_FLUSH_ERR);
}

static uint64_t dropped(const struct hx_world *w, enum base_drop reason)
{
	return tp_counters(w->side[1].tp)->drops[reason];
}

/* ---- 9.7.4.1: order ---- */

static void test_ahead_is_naked_once(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		post_recv(w, 512);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 64);
	expect_aeth(w, P, 0x60, 0);
	send(w, WIRE_RC_SEND_ONLY, P + 2, 64);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 64);
	assert_int_equal(w->n_log, 1);
	assert_int_equal(dropped(w, BASE_DROP_OUT_OF_ORDER), 3);
	/* Probe "PSN gap then right PSN". */
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	expect_aeth(w, P, 0x1f, 1);
	send(w, WIRE_RC_SEND_ONLY, P + 2, 64);
	expect_aeth(w, P + 1, 0x60, 1);
	assert_int_equal(w->n_log, 3);
	hx_free(w);
}

/* Reordering within a burst is settled before anything is said about it. */
static void test_reordered_burst(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		post_recv(w, 512);
	hx_hold(w);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 64);
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 64);
	hx_release(w, 1);
	assert_int_equal(w->n_log, 1);
	expect_aeth(w, P + 1, 0x1f, 2);
	hx_free(w);
}

/* One ACK for a whole burst, however many asked for one. */
static void test_burst_is_acked_once(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	hx_hold(w);
	for (uint32_t i = 0; i < 20; i++)
		write(w, WIRE_RC_WRITE_ONLY, P + i, 8, 8);
	hx_release(w, 1);
	assert_int_equal(w->n_log, 1);
	expect_aeth(w, P + 19, 0x1f, 20);
	hx_free(w);
}

static void test_half_window(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	/* The farthest PSN ahead, and the farthest behind: probe "PSN + 0x800000". */
	send(w, WIRE_RC_SEND_ONLY, (P + 0x7fffff) & 0xffffff, 64);
	expect_aeth(w, P, 0x60, 0);
	send(w, WIRE_RC_SEND_ONLY, (P + 0x800000) & 0xffffff, 64);
	expect_aeth(w, P - 1, 0x1f, 0);
	hx_free(w);
}

static void test_duplicate_send(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		post_recv(w, 512);
	for (uint32_t i = 0; i < 3; i++)
		send(w, WIRE_RC_SEND_ONLY, P + i, 64);
	expect_aeth(w, P + 2, 0x1f, 3);
	/* Probe "three SENDs, dup of the first": acknowledged with the latest. */
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	expect_aeth(w, P + 2, 0x1f, 3);
	assert_int_equal(w->n_log, 4);
	assert_int_equal(w->side[1].recv_cq.n, 3);
	assert_int_equal(tp_counters(w->side[1].tp)->duplicates, 1);
	hx_free(w);
}

static void test_duplicate_within_message(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	/* Probe "WRITE FIRST then dup FIRST". */
	write(w, WIRE_RC_WRITE_FIRST, P, 300, 256);
	write(w, WIRE_RC_WRITE_FIRST, P, 300, 256);
	expect_aeth(w, P, 0x1f, 0);
	write(w, WIRE_RC_WRITE_LAST, P + 1, 300, 44);
	expect_aeth(w, P + 1, 0x1f, 1);
	hx_free(w);
}

static void test_coalesced_ack(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_WRITE_ONLY, P);

	(void)state;
	pkt.ack_req = 0;
	pkt.dma_bytes = 8;
	for (; pkt.psn < P + 31; pkt.psn++)
		hx_inject(w, 1, pkt, bytes, 8);
	assert_int_equal(w->n_log, 0);
	/* Nobody has to ask for more than a burst without word. */
	hx_inject(w, 1, pkt, bytes, 8);
	expect_aeth(w, P + 31, 0x1f, 32);
	hx_free(w);
}

/* ---- 9.7.5.1.1: duplicates of READ and atomic ---- */

static void test_duplicate_read(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	/* Probe "READ 600B then dup of the tail". */
	read(w, P, HX_IOVA + 4096, 600);
	assert_int_equal(w->n_log, 3);
	read(w, P + 1, HX_IOVA + 4096 + 256, 600 - 256);
	assert_int_equal(w->n_log, 5);
	assert_int_equal(w->log[3].pkt.opcode, WIRE_RC_READ_RESP_FIRST);
	assert_int_equal(w->log[3].pkt.psn, P + 1);
	assert_int_equal(w->log[4].pkt.opcode, WIRE_RC_READ_RESP_LAST);
	assert_int_equal(w->log[4].pkt.payload_bytes, 88);
	/* Probe "dup READ with other va"; fault case 9: one that wraps. */
	read(w, P, HX_IOVA, 600);
	read(w, P, 0xfffffffffffffc00u, 600);
	read(w, P + 1, HX_IOVA + 4096 + 256, 600);
	assert_int_equal(w->n_log, 5);
	assert_int_equal(dropped(w, BASE_DROP_DUPLICATE), 3);
	hx_free(w);
}

static void test_empty_read_twice(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = {.opcode = WIRE_RC_READ_REQUEST, .psn = P, .ack_req = 1};

	(void)state;
	/* Fault case 15: neither key nor address count. */
	for (uint32_t i = 0; i < 2; i++) {
		hx_inject(w, 1, pkt, NULL, 0);
		hx_run(w, HX_MS);
		assert_int_equal(w->n_log, i + 1);
		assert_int_equal(hx_last(w, 1)->opcode, WIRE_RC_READ_RESP_ONLY);
		assert_int_equal(hx_last(w, 1)->payload_bytes, 0);
	}
	hx_free(w);
}

static void test_duplicate_atomic(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_FETCH_ADD, P);
	uint64_t before, after;

	(void)state;
	post_recv(w, 64);
	memcpy(&before, w->side[1].mem + 4096, 8);
	pkt.swap_add = 1;
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(hx_last(w, 1)->opcode, WIRE_RC_ATOMIC_ACK);
	assert_int_equal(hx_last(w, 1)->msn, 1);
	/* Probe "FETCH_ADD then SEND then dup atomic": the saved result, and no second addition. */
	send(w, WIRE_RC_SEND_ONLY, P + 1, 8);
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(hx_last(w, 1)->opcode, WIRE_RC_ATOMIC_ACK);
	assert_int_equal(hx_last(w, 1)->psn, P);
	assert_int_equal(hx_last(w, 1)->msn, 2);
	assert_true(hx_last(w, 1)->atomic_orig == before);
	memcpy(&after, w->side[1].mem + 4096, 8);
	assert_true(after == before + 1);
	hx_free(w);
}

static void test_forgotten_atomic(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_FETCH_ADD, P);

	(void)state;
	/* Four are kept; the fifth pushes out the first. */
	for (; pkt.psn < P + 5; pkt.psn++)
		hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(w->n_log, 5);
	pkt.psn = P;
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(w->n_log, 5);
	assert_int_equal(dropped(w, BASE_DROP_DUPLICATE), 1);
	hx_free(w);
}

/* ---- 9.7.4.1.2: sequence of opcodes ---- */

static void test_sequence(void **state)
{
	static const struct {
		uint8_t first, then;
	} bad[] = {
		{0xff, WIRE_RC_SEND_MIDDLE}, {0xff, WIRE_RC_SEND_LAST}, {0xff, WIRE_RC_WRITE_MIDDLE},
		{0xff, WIRE_RC_WRITE_LAST}, {0xff, WIRE_RC_WRITE_LAST_IMM}, {0xff, WIRE_RC_SEND_LAST_INV},
		{WIRE_RC_SEND_FIRST, WIRE_RC_SEND_FIRST}, {WIRE_RC_SEND_FIRST, WIRE_RC_SEND_ONLY},
		{WIRE_RC_SEND_FIRST, WIRE_RC_WRITE_MIDDLE}, {WIRE_RC_SEND_FIRST, WIRE_RC_WRITE_LAST},
		{WIRE_RC_SEND_FIRST, WIRE_RC_READ_REQUEST}, {WIRE_RC_SEND_FIRST, WIRE_RC_FETCH_ADD},
		{WIRE_RC_WRITE_FIRST, WIRE_RC_SEND_LAST}, {WIRE_RC_WRITE_FIRST, WIRE_RC_WRITE_ONLY},
		{WIRE_RC_WRITE_FIRST, WIRE_RC_COMPARE_SWAP}, {0xff, WIRE_RC_FLUSH}, {0xff, WIRE_RC_ATOMIC_WRITE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hx_world *w = alone(256);
		uint32_t psn = P;

		post_recv(w, 4096);
		post_recv(w, 4096);
		if (bad[i].first != 0xff)
			write(w, bad[i].first, psn++, 1000, 256);
		write(w, bad[i].then, psn, 256, wire_op_is(wire_opinfo(bad[i].then), WIRE_OP_PAYLOAD) ? 256 : 0);
		expect_fatal(w, 0x61, psn,
			bad[i].first == WIRE_RC_SEND_FIRST ? TP_WC_REM_INV_REQ_ERR : TP_WC_WR_FLUSH_ERR);
		assert_int_equal(w->side[1].recv_cq.n, 2);
		assert_int_equal(responder(w)->events[TP_EVENT_QP_REQ_ERR], 1);
		hx_free(w);
	}
}

/* ---- 9.7.4.1.6: lengths (fault cases 5 and 6) ---- */

struct length_case {
	uint8_t opcode;
	uint32_t n;
	bool good;
};

static void one_length(uint8_t first, const struct length_case *c)
{
	struct hx_world *w = alone(256);
	uint32_t psn = P;

	post_recv(w, 4096);
	if (first != 0)
		send(w, first == 0xff ? WIRE_RC_SEND_FIRST : first, psn++, 256);
	send(w, c->opcode, psn, c->n);
	if (c->good)
		expect_aeth(w, psn, 0x1f, wire_op_is(wire_opinfo(c->opcode), WIRE_OP_END));
	else
		expect_fatal(w, 0x61, psn, TP_WC_REM_INV_REQ_ERR);
	hx_free(w);
}

static void test_send_lengths(void **state)
{
	static const struct length_case starts[] = {
		{WIRE_RC_SEND_ONLY, 0, true}, {WIRE_RC_SEND_ONLY, 1, true}, {WIRE_RC_SEND_ONLY, 256, true},
		{WIRE_RC_SEND_ONLY, 257, false}, {WIRE_RC_SEND_ONLY, 260, false}, {WIRE_RC_SEND_FIRST, 256, true},
		{WIRE_RC_SEND_FIRST, 255, false}, {WIRE_RC_SEND_FIRST, 0, false}, {WIRE_RC_SEND_FIRST, 260, false},
	};
	static const struct length_case goes_on[] = {
		{WIRE_RC_SEND_MIDDLE, 256, true}, {WIRE_RC_SEND_MIDDLE, 252, false}, {WIRE_RC_SEND_MIDDLE, 257, false},
		{WIRE_RC_SEND_LAST, 1, true}, {WIRE_RC_SEND_LAST, 256, true}, {WIRE_RC_SEND_LAST, 0, false},
		{WIRE_RC_SEND_LAST, 257, false}, {WIRE_RC_SEND_LAST_IMM, 0, false}, {WIRE_RC_SEND_LAST_IMM, 3, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		one_length(0, &starts[i]);
	for (size_t i = 0; i < sizeof(goes_on) / sizeof(goes_on[0]); i++)
		one_length(0xff, &goes_on[i]);
}

static void test_write_lengths(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t total, n;
		bool good;
	} cases[] = {
		{WIRE_RC_WRITE_ONLY, 8, 8, true}, {WIRE_RC_WRITE_ONLY, 16, 8, false}, {WIRE_RC_WRITE_ONLY, 4, 8, false},
		{WIRE_RC_WRITE_ONLY, 0, 0, true}, {WIRE_RC_WRITE_ONLY, 300, 300, false},
		{WIRE_RC_WRITE_FIRST, 257, 256, true}, {WIRE_RC_WRITE_FIRST, 256, 256, false},
		{WIRE_RC_WRITE_FIRST, 1000, 255, false}, {WIRE_RC_WRITE_FIRST, (1u << 31) + 1, 256, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hx_world *w = alone(256);

		write(w, cases[i].opcode, P, cases[i].total, cases[i].n);
		if (cases[i].good)
			assert_int_equal(hx_last(w, 1)->syndrome, 0x1f);
		else
			expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
		hx_free(w);
	}
}

/* Message against its RETH: probe "WRITE LAST shorter than RETH total", and too long in the middle. */
static void test_write_total(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t total, n;
	} cases[] = {
		{WIRE_RC_WRITE_LAST, 300, 40}, {WIRE_RC_WRITE_LAST, 300, 48}, {WIRE_RC_WRITE_LAST, 600, 256},
		{WIRE_RC_WRITE_MIDDLE, 512, 256}, {WIRE_RC_WRITE_MIDDLE, 300, 256}, {WIRE_RC_WRITE_LAST_IMM, 300, 43},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hx_world *w = alone(256);

		post_recv(w, 0);
		write(w, WIRE_RC_WRITE_FIRST, P, cases[i].total, 256);
		write(w, cases[i].opcode, P + 1, 0, cases[i].n);
		expect_fatal(w, 0x61, P + 1,
			cases[i].opcode == WIRE_RC_WRITE_LAST_IMM ? TP_WC_REM_INV_REQ_ERR : TP_WC_WR_FLUSH_ERR);
		hx_free(w);
	}
}

static void test_pad_count(void **state)
{
	(void)state;
	for (uint8_t pad = 0; pad < 4; pad++) {
		struct hx_world *w = alone(256);
		struct wire_pkt pkt = request(w, WIRE_RC_SEND_ONLY, P);
		struct tp_qp_attr peer;

		hx_attr(w, 0, 0, &peer);
		post_recv(w, 64);
		pkt.l3_version = 4;
		pkt.pkey = 0xffff;
		pkt.ttl = 1;
		pkt.dqpn = responder(w)->qpn;
		pkt.pad = pad;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 5);
		if (pad == 3)
			expect_aeth(w, P, 0x1f, 1);
		else
			expect_fatal(w, 0x61, P, TP_WC_REM_INV_REQ_ERR);
		hx_free(w);
	}
}

static void test_read_too_long(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	read(w, P, HX_IOVA, (1u << 31) + 1);
	expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

/* ---- 9.7.4.1.3 and 9.7.4.1.5: rights of queue pair and region ---- */

static void allow(struct hx_world *w, uint32_t access)
{
	struct tp_qp_attr attr = {.access = access};

	assert_int_equal(tp_qp_modify(w->side[1].tp, responder(w)->qp, &attr, TP_QP_ACCESS_FLAGS, w->now_ns), 0);
}

static void one_remote(struct hx_world *w, uint8_t opcode, uint32_t rkey, uint64_t va, uint32_t n)
{
	struct wire_pkt pkt = request(w, opcode, P);

	pkt.rkey = rkey;
	pkt.va = va;
	pkt.dma_bytes = n;
	hx_inject(w, 1, pkt, bytes, opcode == WIRE_RC_WRITE_ONLY ? n : 0);
	hx_run(w, HX_MS);
}

static const struct {
	uint8_t opcode;
	uint32_t access;
} remote_ops[] = {
	{WIRE_RC_WRITE_ONLY, TP_ACCESS_REMOTE_WRITE},
	{WIRE_RC_READ_REQUEST, TP_ACCESS_REMOTE_READ},
	{WIRE_RC_COMPARE_SWAP, TP_ACCESS_REMOTE_ATOMIC},
	{WIRE_RC_FETCH_ADD, TP_ACCESS_REMOTE_ATOMIC},
};

static void test_queue_pair_rights(void **state)
{
	const uint32_t all = TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct hx_world *w = alone(256);

		allow(w, all & ~remote_ops[i].access);
		one_remote(w, remote_ops[i].opcode, w->side[1].key, HX_IOVA, 8);
		expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
		hx_free(w);
		w = alone(256);
		allow(w, remote_ops[i].access);
		one_remote(w, remote_ops[i].opcode, w->side[1].key, HX_IOVA, 8);
		assert_int_equal(hx_last(w, 1)->syndrome, 0x1f);
		hx_free(w);
	}
}

static uint32_t region(struct hx_world *w, uint32_t access, uint32_t pd)
{
	struct tp_mr_attr attr = {.pd = pd, .access = access, .iova = HX_IOVA, .addr = (uintptr_t)w->side[1].mem,
		.bytes = 4096, .direct = w->side[1].mem};
	uint32_t key;

	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &key), 0);
	return key;
}

static void expect_access_nak(struct hx_world *w)
{
	expect_fatal(w, 0x62, P, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(responder(w)->events[TP_EVENT_QP_ACCESS_ERR], 1);
	hx_free(w);
}

static void test_region_rights(void **state)
{
	const uint32_t all = TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint8_t op = remote_ops[i].opcode;
		struct hx_world *w = alone(256);

		one_remote(w, op, region(w, TP_ACCESS_LOCAL_WRITE | (all & ~remote_ops[i].access), HX_PD), HX_IOVA, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, region(w, TP_ACCESS_LOCAL_WRITE | all, HX_PD + 1), HX_IOVA, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, region(w, TP_ACCESS_LOCAL_WRITE | remote_ops[i].access, HX_PD), HX_IOVA + 4096 - 8, 8);
		assert_int_equal(hx_last(w, 1)->syndrome, 0x1f);
		hx_free(w);
	}
}

static void test_bad_keys_and_ranges(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint8_t op = remote_ops[i].opcode;
		struct hx_world *w = alone(256);
		uint32_t stale;

		one_remote(w, op, w->side[1].key + 1, HX_IOVA, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, 0, HX_IOVA, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, 0xffffffff, HX_IOVA, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, w->side[1].key, HX_IOVA - 8, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, w->side[1].key, HX_IOVA + HX_MEM_BYTES, 8);
		expect_access_nak(w);
		/* Probe "WRITE va+len wraps 2^64". */
		w = alone(256);
		one_remote(w, op, w->side[1].key, 0xfffffffffffffff8u, 8);
		expect_access_nak(w);
		w = alone(256);
		stale = region(w, TP_ACCESS_LOCAL_WRITE | remote_ops[i].access, HX_PD);
		assert_int_equal(tp_mr_destroy(w->side[1].tp, stale), 0);
		one_remote(w, op, stale, HX_IOVA, 8);
		expect_access_nak(w);
	}
}

/* Range end: one byte too far for WRITE and READ; the first packet of a long WRITE is judged by the whole. */
static void test_range_end(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_WRITE_FIRST, P);

	(void)state;
	one_remote(w, WIRE_RC_READ_REQUEST, w->side[1].key, HX_IOVA + HX_MEM_BYTES - 8, 9);
	expect_access_nak(w);
	w = alone(256);
	pkt.va = HX_IOVA + HX_MEM_BYTES - 512;
	pkt.rkey = w->side[1].key;
	pkt.dma_bytes = 513;
	hx_inject(w, 1, pkt, bytes, 256);
	expect_access_nak(w);
}

static void test_unaligned_atomic(void **state)
{
	(void)state;
	for (uint32_t off = 1; off < 8; off++) {
		struct hx_world *w = alone(256);

		one_remote(w, WIRE_RC_FETCH_ADD, w->side[1].key, HX_IOVA + off, 8);
		expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
		hx_free(w);
	}
}

/* ---- 9.7.5.2.8: resources ---- */

static void test_rnr(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	/* Probes "5 SENDs, 4 recv WQEs (RNR)" and what follows while the requester must wait. */
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	expect_aeth(w, P, 0x2c, 0);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 64);
	assert_int_equal(w->n_log, 1);
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	expect_aeth(w, P, 0x2c, 0);
	assert_int_equal(w->n_log, 2);
	post_recv(w, 64);
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	expect_aeth(w, P, 0x1f, 1);
	assert_int_equal(tp_counters(w->side[1].tp)->rnr_naks_sent, 2);
	hx_free(w);
}

/* WRITE with immediate takes its receive at the end only, and goes on there after an RNR NAK. */
static void test_rnr_at_last_packet(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	write(w, WIRE_RC_WRITE_FIRST, P, 300, 256);
	expect_aeth(w, P, 0x1f, 0);
	write(w, WIRE_RC_WRITE_LAST_IMM, P + 1, 0, 44);
	expect_aeth(w, P + 1, 0x2c, 0);
	post_recv(w, 0);
	write(w, WIRE_RC_WRITE_LAST_IMM, P + 1, 0, 44);
	expect_aeth(w, P + 1, 0x1f, 1);
	assert_int_equal(hx_poll(&w->side[1].recv_cq)->bytes, 300);
	hx_free(w);
}

/* Fault case 12: a bad WRITE is refused whether or not receives are posted. */
static void test_bad_write_without_receive(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	one_remote(w, WIRE_RC_WRITE_ONLY, 1, HX_IOVA, 8);
	expect_access_nak(w);
}

static void test_too_many_reads(void **state)
{
	struct hx_options o = {.mtu = 256, .psn = P, .dest_rd_atomic = 2};
	struct hx_world *w = hx_new(&o);
	struct wire_pkt pkt = request(w, WIRE_RC_READ_REQUEST, P);

	(void)state;
	w->cut = true;
	pkt.dma_bytes = 512;
	for (; pkt.psn < P + 6; pkt.psn += 2)
		hx_inject(w, 1, pkt, NULL, 0);
	/* The two answers leave first, then the refusal of the third. */
	hx_run(w, HX_MS);
	assert_int_equal(w->n_log, 5);
	expect_fatal(w, 0x61, P + 4, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

static void test_no_read_resources(void **state)
{
	struct hx_options o = {.mtu = 256, .psn = P, .dest_rd_atomic = HX_ZERO};
	struct hx_world *w = hx_new(&o);

	(void)state;
	w->cut = true;
	read(w, P, HX_IOVA, 8);
	expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

/* ---- receive work requests ---- */

static void test_receive_too_small(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	post_recv(w, 300);
	post_recv(w, 300);
	send(w, WIRE_RC_SEND_FIRST, P, 256);
	send(w, WIRE_RC_SEND_LAST, P + 1, 45);
	/* IBTA vol. 1, 9.9.3: invalid request to the peer, local length error here. */
	expect_fatal(w, 0x61, P + 1, TP_WC_LOC_LEN_ERR);
	assert_int_equal(w->side[1].recv_cq.n, 2);
	hx_free(w);
}

static void test_receive_memory(void **state)
{
	struct tp_sge sge = {.addr = HX_IOVA, .bytes = 64};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct hx_world *w = alone(256);

		sge.lkey = i == 0 ? 0x1234 : region(w, i == 1 ? TP_ACCESS_REMOTE_READ : TP_ACCESS_LOCAL_WRITE, HX_PD + 9);
		hx_recv_raw(responder(w), &sge, 1);
		send(w, WIRE_RC_SEND_ONLY, P, 8);
		expect_fatal(w, 0x63, P, TP_WC_LOC_PROT_ERR);
		hx_free(w);
	}
}

static void test_malformed_receive(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	responder(w)->fetch_error = -EINVAL;
	post_recv(w, 64);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	expect_fatal(w, 0x63, P, TP_WC_LOC_QP_OP_ERR);
	assert_int_equal(w->side[1].recv_cq.n, 1);
	hx_free(w);
	w = alone(256);
	hx_recv_raw(responder(w), NULL, 0);
	((struct tp_recv_wqe *)(void *)responder(w)->rq[0])->num_sge = 0xffffffff;
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	expect_fatal(w, 0x63, P, TP_WC_LOC_QP_OP_ERR);
	hx_free(w);
}

/* LOC_ACCESS_ERR is the receive's status when the region of a WRITE with immediate fails. */
static void test_write_imm_access(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_WRITE_ONLY_IMM, P);

	(void)state;
	post_recv(w, 0);
	pkt.rkey = 1;
	pkt.dma_bytes = 8;
	hx_inject(w, 1, pkt, bytes, 8);
	expect_fatal(w, 0x62, P, TP_WC_LOC_ACCESS_ERR);
	hx_free(w);
}

/* ---- regions that go, memory that fails ---- */

static void test_region_gone_within_write(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	write(w, WIRE_RC_WRITE_FIRST, P, 600, 256);
	assert_int_equal(tp_mr_destroy(w->side[1].tp, w->side[1].key), 0);
	write(w, WIRE_RC_WRITE_MIDDLE, P + 1, 0, 256);
	expect_fatal(w, 0x62, P + 1, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

/* Fault case 11: never stale data. */
static void test_region_gone_within_read(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_READ_REQUEST, P);

	(void)state;
	pkt.dma_bytes = 2048;
	hx_inject(w, 1, pkt, NULL, 0);
	tp_tx(w->side[1].tp, 3, w->now_ns);
	assert_int_equal(w->n_log, 3);
	assert_int_equal(tp_mr_destroy(w->side[1].tp, w->side[1].key), 0);
	expect_fatal(w, 0x62, P + 3, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(w->n_log, 4);
	hx_free(w);
}

static struct hx_world *copied_alone(void)
{
	struct hx_options o = {.mtu = 256, .psn = P, .copied = true};
	struct hx_world *w = hx_new(&o);

	w->cut = true;
	return w;
}

static void test_memory_fails(void **state)
{
	struct hx_world *w = copied_alone();

	(void)state;
	w->side[1].fail_read = true;
	read(w, P, HX_IOVA, 1000);
	expect_fatal(w, 0x63, P, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(w->n_log, 1);
	hx_free(w);
	w = copied_alone();
	w->side[1].fail_write = true;
	write(w, WIRE_RC_WRITE_ONLY, P, 8, 8);
	expect_fatal(w, 0x63, P, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(w->n_log, 1);
	hx_free(w);
	w = copied_alone();
	w->side[1].fail_write = true;
	post_recv(w, 64);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	expect_fatal(w, 0x63, P, TP_WC_LOC_PROT_ERR);
	hx_free(w);
	w = copied_alone();
	w->side[1].fail_write = true;
	one_remote(w, WIRE_RC_FETCH_ADD, w->side[1].key, HX_IOVA, 8);
	expect_fatal(w, 0x63, P, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

/* ---- SEND with invalidate ---- */

static uint32_t invalidatable(struct hx_world *w)
{
	struct tp_mr_attr attr = {.pd = HX_PD, .access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE, .iova = HX_IOVA,
		.addr = (uintptr_t)w->side[1].mem, .bytes = 4096, .direct = w->side[1].mem, .invalidatable = true};
	uint32_t key;

	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &key), 0);
	return key;
}

static void send_inv(struct hx_world *w, uint32_t psn, uint32_t key)
{
	struct wire_pkt pkt = request(w, WIRE_RC_SEND_ONLY_INV, psn);

	pkt.rkey = key;
	hx_inject(w, 1, pkt, bytes, 8);
}

static void test_invalidate(void **state)
{
	struct hx_world *w = alone(256);
	uint32_t key = invalidatable(w);
	const struct tp_cqe *cqe;

	(void)state;
	post_recv(w, 64);
	send_inv(w, P, key);
	expect_aeth(w, P, 0x1f, 1);
	cqe = hx_poll(&w->side[1].recv_cq);
	assert_int_equal(cqe->flags, TP_WC_WITH_INV);
	assert_int_equal(cqe->imm, key);
	/* The key is dead for the peer now. */
	hx_inject(w, 1, (struct wire_pkt){.opcode = WIRE_RC_WRITE_ONLY, .psn = P + 1, .va = HX_IOVA, .rkey = key,
		.dma_bytes = 8}, bytes, 8);
	expect_fatal(w, 0x62, P + 1, TP_WC_SUCCESS);
	hx_free(w);
}

/* Probe "SEND_ONLY_INV bad rkey": a plain ACK, then REM_INV_REQ_ERR here. Regions of ibv_reg_mr do not end so. */
static void test_bad_invalidate(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hx_world *w = alone(256);

		post_recv(w, 64);
		post_recv(w, 64);
		send_inv(w, P, i == 0 ? 0x12345678 : w->side[1].key);
		expect_fatal(w, 0x1f, P, TP_WC_REM_INV_REQ_ERR);
		assert_int_equal(hx_last(w, 1)->msn, 0);
		hx_free(w);
	}
}

/* ---- order of answers ---- */

/* An ACK or NAK tells of everything before it, so it waits for the READ's answer. */
static void test_ack_waits_for_read(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_READ_REQUEST, P);

	(void)state;
	pkt.dma_bytes = 1024;
	hx_inject(w, 1, pkt, NULL, 0);
	write(w, WIRE_RC_WRITE_ONLY, P + 4, 8, 8);
	one_remote(w, WIRE_RC_WRITE_ONLY, 1, HX_IOVA, 8);
	assert_int_equal(w->n_log, 5);
	assert_int_equal(w->log[3].pkt.opcode, WIRE_RC_READ_RESP_LAST);
	expect_aeth(w, P + 4, 0x1f, 2);
	hx_free(w);
}

static void test_read_answer_layout(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	read(w, P, HX_IOVA + 1, 600);
	assert_int_equal(w->log[0].pkt.opcode, WIRE_RC_READ_RESP_FIRST);
	assert_int_equal(w->log[0].pkt.msn, 1);
	assert_int_equal(w->log[1].pkt.opcode, WIRE_RC_READ_RESP_MIDDLE);
	assert_int_equal(w->log[1].pkt.hdrs, 0);
	assert_int_equal(w->log[2].pkt.opcode, WIRE_RC_READ_RESP_LAST);
	assert_int_equal(w->log[2].pkt.psn, P + 2);
	assert_int_equal(w->log[2].pkt.payload_bytes, 88);
	hx_free(w);
}

/* ---- 9.6.1: who may talk to the queue pair ---- */

static void test_strangers(void **state)
{
	static const uint16_t keys[] = {0xffff, 0x7fff, 0xfffe, 0x0000, 0x8000};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct hx_world *w = alone(256);
		struct wire_pkt pkt = request(w, WIRE_RC_SEND_ONLY, P);
		struct tp_qp_attr peer;

		hx_attr(w, 0, 0, &peer);
		post_recv(w, 64);
		pkt.l3_version = 4;
		pkt.ttl = 9;
		pkt.pkey = keys[i];
		pkt.dqpn = responder(w)->qpn;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 8);
		assert_int_equal(w->n_log, i < 2 ? 1 : 0);
		assert_int_equal(dropped(w, BASE_DROP_PKEY), i < 2 ? 0 : 1);
		pkt.pkey = 0xffff;
		pkt.dqpn++;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 8);
		assert_int_equal(dropped(w, BASE_DROP_QPN), 1);
		pkt.dqpn--;
		peer.av.net.src.b[15]++;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 8);
		assert_int_equal(dropped(w, BASE_DROP_QP_ADDRESS), 1);
		pkt.opcode = WIRE_UD_SEND_ONLY;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 8);
		assert_int_equal(dropped(w, BASE_DROP_QP_TYPE), 1);
		pkt.opcode = WIRE_CNP;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 16);
		assert_int_equal(dropped(w, BASE_DROP_UNSUPPORTED), 1);
		hx_free(w);
	}
}

static void test_states(void **state)
{
	struct hx_options o = {.mtu = 256, .psn = P, .stay_in_reset = true};
	struct hx_world *w = hx_new(&o);

	(void)state;
	w->cut = true;
	post_recv(w, 64);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	assert_int_equal(hx_to_state(w, responder(w), TP_QPS_INIT), 0);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	assert_int_equal(dropped(w, BASE_DROP_QP_STATE), 2);
	assert_int_equal(hx_to_state(w, responder(w), TP_QPS_RTR), 0);
	/* In RTR requests are served, responses are not; the first one establishes the connection. */
	hx_inject(w, 1, (struct wire_pkt){.opcode = WIRE_RC_ACK, .psn = P, .syndrome = 0x1f}, NULL, 0);
	assert_int_equal(dropped(w, BASE_DROP_QP_STATE), 3);
	assert_int_equal(responder(w)->events[TP_EVENT_COMM_EST], 0);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	expect_aeth(w, P, 0x1f, 1);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	assert_int_equal(responder(w)->events[TP_EVENT_COMM_EST], 1);
	assert_int_equal(hx_to_state(w, responder(w), TP_QPS_ERR), 0);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 8);
	assert_int_equal(dropped(w, BASE_DROP_QP_STATE), 4);
	hx_free(w);
}

static void test_solicited(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_SEND_ONLY_IMM, P);

	(void)state;
	post_recv(w, 64);
	post_recv(w, 64);
	pkt.solicited = 1;
	pkt.imm = 0xdeadbeef;
	hx_inject(w, 1, pkt, bytes, 8);
	pkt.psn++;
	pkt.solicited = 0;
	hx_inject(w, 1, pkt, bytes, 8);
	assert_int_equal(w->side[1].recv_cq.cqe[0].solicited, 1);
	assert_int_equal(w->side[1].recv_cq.cqe[0].imm, 0xdeadbeef);
	assert_int_equal(w->side[1].recv_cq.cqe[0].src_qpn, w->side[0].qps[0].qpn);
	assert_int_equal(w->side[1].recv_cq.cqe[1].solicited, 0);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ahead_is_naked_once),
		cmocka_unit_test(test_reordered_burst),
		cmocka_unit_test(test_burst_is_acked_once),
		cmocka_unit_test(test_half_window),
		cmocka_unit_test(test_duplicate_send),
		cmocka_unit_test(test_duplicate_within_message),
		cmocka_unit_test(test_coalesced_ack),
		cmocka_unit_test(test_duplicate_read),
		cmocka_unit_test(test_empty_read_twice),
		cmocka_unit_test(test_duplicate_atomic),
		cmocka_unit_test(test_forgotten_atomic),
		cmocka_unit_test(test_sequence),
		cmocka_unit_test(test_send_lengths),
		cmocka_unit_test(test_write_lengths),
		cmocka_unit_test(test_write_total),
		cmocka_unit_test(test_pad_count),
		cmocka_unit_test(test_read_too_long),
		cmocka_unit_test(test_queue_pair_rights),
		cmocka_unit_test(test_region_rights),
		cmocka_unit_test(test_bad_keys_and_ranges),
		cmocka_unit_test(test_range_end),
		cmocka_unit_test(test_unaligned_atomic),
		cmocka_unit_test(test_rnr),
		cmocka_unit_test(test_rnr_at_last_packet),
		cmocka_unit_test(test_bad_write_without_receive),
		cmocka_unit_test(test_too_many_reads),
		cmocka_unit_test(test_no_read_resources),
		cmocka_unit_test(test_receive_too_small),
		cmocka_unit_test(test_receive_memory),
		cmocka_unit_test(test_malformed_receive),
		cmocka_unit_test(test_write_imm_access),
		cmocka_unit_test(test_region_gone_within_write),
		cmocka_unit_test(test_region_gone_within_read),
		cmocka_unit_test(test_memory_fails),
		cmocka_unit_test(test_invalidate),
		cmocka_unit_test(test_bad_invalidate),
		cmocka_unit_test(test_ack_waits_for_read),
		cmocka_unit_test(test_read_answer_layout),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_solicited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
