/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder alone, fed with crafted requests. Where Soft-RoCE answers alike a test names the probe; P is
 * the expected PSN.
 */
#ifndef RESPONDER_KIT_H
#define RESPONDER_KIT_H

#include "harness.h"

#define P 0x100000u

static const uint8_t bytes[8192];

static inline struct hx_world *alone(uint32_t mtu)
{
	struct hx_options o = {.mtu = mtu, .psn = P, .min_rnr_timer = 12};
	struct hx_world *w = hx_new(&o);

	w->cut = true;
	hx_fill(w->side[1].mem, HX_MEM_BYTES, 3);
	return w;
}

static inline struct hx_qp *responder(struct hx_world *w)
{
	return &w->side[1].qps[0];
}

static inline uint64_t post_recv(struct hx_world *w, uint32_t n_bytes)
{
	struct hx_piece piece = {0, n_bytes};

	return hx_recv(responder(w), &piece, 1);
}

static inline struct wire_pkt request(const struct hx_world *w, uint8_t opcode, uint32_t psn)
{
	struct wire_pkt pkt = {.opcode = opcode, .psn = psn, .ack_req = 1, .va = HX_IOVA + 4096,
		.rkey = w->side[1].key};

	return pkt;
}

static inline void send(struct hx_world *w, uint8_t opcode, uint32_t psn, uint32_t n)
{
	hx_inject(w, 1, request(w, opcode, psn), bytes, n);
}

static inline void write(struct hx_world *w, uint8_t opcode, uint32_t psn, uint32_t total, uint32_t n)
{
	struct wire_pkt pkt = request(w, opcode, psn);

	pkt.dma_bytes = total;
	hx_inject(w, 1, pkt, bytes, n);
}

static inline void read(struct hx_world *w, uint32_t psn, uint64_t va, uint32_t n)
{
	struct wire_pkt pkt = request(w, WIRE_RC_READ_REQUEST, psn);

	pkt.va = va;
	pkt.dma_bytes = n;
	hx_inject(w, 1, pkt, NULL, 0);
	hx_run(w, HX_MS);
}

static inline void expect_aeth(struct hx_world *w, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
	const struct wire_pkt *pkt = hx_last(w, 1);

	assert_int_equal(pkt->opcode, WIRE_RC_ACK);
	assert_int_equal(pkt->psn, psn);
	assert_int_equal(pkt->syndrome, syndrome);
	assert_int_equal(pkt->msn, msn);
}

/* One packet made the responder end the connection: NAK at P, error state, receives flushed behind `first`. */
static inline void expect_fatal(struct hx_world *w, uint8_t syndrome, uint32_t psn, enum tp_wc_status first)
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

static inline uint64_t dropped(const struct hx_world *w, enum base_drop reason)
{
	return tp_counters(w->side[1].tp)->drops[reason];
}

static inline void one_remote(struct hx_world *w, uint8_t opcode, uint32_t rkey, uint64_t va, uint32_t n)
{
	struct wire_pkt pkt = request(w, opcode, P);

	pkt.rkey = rkey;
	pkt.va = va;
	pkt.dma_bytes = n;
	hx_inject(w, 1, pkt, bytes, opcode == WIRE_RC_WRITE_ONLY ? n : 0);
	hx_run(w, HX_MS);
}

#endif
