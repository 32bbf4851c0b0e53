/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Responder, receiving side: a chain of checks in the order of IBTA vol. 1, figure 85 (and of Soft-RoCE), each
 * with one verdict, and one table that says what every verdict means to the peer and to the client.
 */
#include "tp_resp.h"

#include <errno.h>
#include <stdlib.h>

#include "tp_ext.h"
#include "tp_hold.h"

/* What ends the connection (9.9.3 and table 61): NAK to the peer, completion of the receive work request that
 * is in progress, and the event that tells of it. */
static const struct failure {
	uint8_t syndrome;
	uint8_t recv_status;
	uint8_t event;
} failures[] = {
	[TP_V_INV_REQ] = {TP_SYN_NAK_INV_REQ, TP_WC_REM_INV_REQ_ERR, TP_EVENT_QP_REQ_ERR},
	[TP_V_TOO_LONG] = {TP_SYN_NAK_INV_REQ, TP_WC_LOC_LEN_ERR, TP_EVENT_QP_REQ_ERR},
	[TP_V_REM_ACCESS] = {TP_SYN_NAK_REM_ACCESS, TP_WC_LOC_ACCESS_ERR, TP_EVENT_QP_ACCESS_ERR},
	[TP_V_MEM_FAULT] = {TP_SYN_NAK_REM_OP, TP_WC_LOC_PROT_ERR, TP_EVENT_QP_FATAL},
	[TP_V_RECV_MEM] = {TP_SYN_NAK_REM_OP, TP_WC_LOC_PROT_ERR, TP_EVENT_QP_FATAL},
	[TP_V_RECV_BAD] = {TP_SYN_NAK_REM_OP, TP_WC_LOC_QP_OP_ERR, TP_EVENT_QP_FATAL},
	/* Class J fault: the message itself arrived, so the peer gets its ACK; the failure is local. */
	[TP_V_BAD_INVALIDATE] = {TP_SYN_ACK, TP_WC_REM_INV_REQ_ERR, TP_EVENT_QP_ACCESS_ERR},
	[TP_V_BAD_SRQ] = {TP_SYN_NAK_INV_RD_REQ, TP_WC_REM_INV_REQ_ERR, TP_EVENT_QP_REQ_ERR},
};

void tp_resp_reset(struct tp_qp *qp)
{
	struct tp_resp *resp = &qp->resp;
	struct tp_resp fresh = {
		.epsn = qp->attr.rq_psn,
		.recv = resp->recv,
		.recv_slot_bytes = resp->recv_slot_bytes,
		.recv_max_sge = resp->recv_max_sge,
		.recv_pd = resp->recv_pd,
		.pd = qp->init.pd,
		.srq = qp->init.srq,
		.saved = resp->saved,
		.saved_room = resp->saved_room,
	};

	tp_hold_clear(&resp->hold, qp->attr.rq_psn);
	fresh.hold = resp->hold;
	tp_answer_clear(qp);
	if (resp->saved != NULL)
		memset(resp->saved, 0, resp->saved_room * sizeof(*resp->saved));
	*resp = fresh;
	TAILQ_INIT(&resp->answers);
}

/* Soft-RoCE rounds what it may have outstanding up to a power of two, so as many are kept. */
uint32_t tp_resp_depth_of(uint8_t max_dest_rd_atomic)
{
	uint32_t depth = 1;

	if (max_dest_rd_atomic == 0)
		return 0;
	while (depth < max_dest_rd_atomic)
		depth <<= 1;
	return tp_min(depth, TP_MAX_RD_ATOMIC);
}

uint32_t tp_resp_depth(const struct tp_qp *qp)
{
	return tp_resp_depth_of(qp->attr.max_dest_rd_atomic);
}

int tp_resp_make_room(struct tp_qp *qp, uint32_t depth)
{
	struct tp_resp *resp = &qp->resp;
	struct tp_saved_list waiting = TAILQ_HEAD_INITIALIZER(waiting);
	struct tp_saved *more, *saved;

	if (depth <= resp->saved_room)
		return 0;
	more = calloc(depth, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	if (resp->saved_room != 0)
		memcpy(more, resp->saved, resp->saved_room * sizeof(*more));
	/* Answers that wait, some of which may be in the memory of tp_ext.h, stay in their order. */
	while ((saved = TAILQ_FIRST(&resp->answers)) != NULL) {
		TAILQ_REMOVE(&resp->answers, saved, link);
		if (saved >= resp->saved && saved < resp->saved + resp->saved_room)
			saved = &more[saved - resp->saved];
		TAILQ_INSERT_TAIL(&waiting, saved, link);
	}
	TAILQ_CONCAT(&resp->answers, &waiting, link);
	free(resp->saved);
	resp->saved = more;
	resp->saved_room = depth;
	return 0;
}

static void fail(struct tp_qp *qp, enum tp_verdict verdict, uint32_t psn)
{
	const struct failure *failure = &failures[verdict];
	struct tp_resp *resp = &qp->resp;

	resp->failed = true;
	resp->ack_pending = false;
	resp->nak_pending = true;
	resp->nak_syndrome = failure->syndrome;
	resp->nak_psn = psn;
	resp->fail_status = failure->recv_status;
	resp->fail_event = failure->event;
}

void tp_resp_write_failed(struct tp_qp *qp, uint32_t psn)
{
	if (qp->attr.state == TP_QPS_ERR || qp->attr.state == TP_QPS_RESET)
		return;
	if (!qp->type->acknowledged) {
		tp_qp_recv_error(qp, TP_WC_LOC_PROT_ERR);
		return;
	}
	fail(qp, TP_V_MEM_FAULT, psn);
	tp_activate(qp);
}

/* ---- checks ---- */

/* 9.7.4.1: expected, ahead or duplicate. */
static enum tp_verdict check_order(struct tp_request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	int32_t diff = base_psn_diff(r->pkt->psn, resp->epsn);

	if (diff < 0)
		return TP_V_DUPLICATE;
	/* Where reordering is agreed to, the requester finds out by itself what is missing. */
	if (diff > 0)
		return resp->silent || r->qp->ext != NULL ? TP_V_STILL_AHEAD : TP_V_AHEAD;
	resp->silent = false;
	/* A NAK of this burst that is not out yet has become void. */
	resp->nak_pending = false;
	return TP_V_OK;
}

/* 9.7.4.1.2: first, middle, last; and opcodes that are not served. */
static enum tp_verdict check_sequence(struct tp_request *r)
{
	const uint16_t served = WIRE_OP_SEND | WIRE_OP_WRITE | WIRE_OP_READ | WIRE_OP_ATOMIC | WIRE_OP_ATOMIC_WRITE;
	uint8_t msg = wire_op_is(r->info, WIRE_OP_SEND) ? TP_MSG_SEND : TP_MSG_WRITE;

	if (!wire_op_is(r->info, served))
		return TP_V_INV_REQ;
	if (wire_op_is(r->info, WIRE_OP_START))
		return r->qp->resp.msg == TP_MSG_NONE ? TP_V_OK : TP_V_INV_REQ;
	return r->qp->resp.msg == msg ? TP_V_OK : TP_V_INV_REQ;
}

static enum tp_verdict check_srq(struct tp_request *r)
{
	return r->qp->type->xrc ? tp_xrc_check_srq(r) : TP_V_OK;
}

/* A new request for the slot of a replay that still runs shows that the requester has its answer. */
static enum tp_verdict check_saved_room(struct tp_qp *qp)
{
	struct tp_resp *resp = &qp->resp;
	uint32_t depth = tp_resp_depth(qp);
	struct tp_saved *saved;

	if (depth == 0)
		return TP_V_INV_REQ;
	saved = &resp->saved[resp->saved_next % depth];
	if (!saved->queued)
		return TP_V_OK;
	if (!saved->replay)
		return TP_V_INV_REQ;
	tp_answer_cancel(qp, saved);
	return TP_V_OK;
}

/* 9.7.4.1.4 and 9.7.5.2.8: a receive work request, or room for one more READ, atomic or ATOMIC WRITE. */
static enum tp_verdict check_resources(struct tp_request *r)
{
	if (wire_op_is(r->info, WIRE_OP_READ | WIRE_OP_ATOMIC | WIRE_OP_ATOMIC_WRITE))
		return check_saved_room(r->qp);
	return tp_msg_check_receive(r);
}

/* ---- execution ---- */

static enum tp_verdict execute_message(struct tp_request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	enum tp_verdict verdict = tp_msg_execute(r);

	if (verdict == TP_V_OK && (r->pkt->ack_req || ++resp->since_ack >= TP_BURST_PKTS))
		resp->ack_pending = true;
	return verdict;
}

static struct tp_saved *save(struct tp_request *r, enum tp_saved_kind kind, uint32_t bytes, uint32_t n_psn)
{
	struct tp_resp *resp = &r->qp->resp;
	struct tp_saved *saved = &resp->saved[resp->saved_next % tp_resp_depth(r->qp)];

	resp->saved_next = (resp->saved_next + 1) % tp_resp_depth(r->qp);
	resp->msn = base_psn_add(resp->msn, 1);
	saved->kind = (uint8_t)kind;
	saved->psn = r->pkt->psn;
	saved->n_psn = n_psn;
	saved->msn = resp->msn;
	saved->rkey = r->pkt->rkey;
	saved->pd = resp->pd;
	saved->va = r->pkt->va;
	saved->bytes = bytes;
	resp->epsn = base_psn_add(resp->epsn, n_psn);
	resp->peer_port = r->pkt->udp_sport;
	return saved;
}

static void answer_from(struct tp_qp *qp, struct tp_saved *saved, uint32_t skip_psn, uint32_t bytes, bool replay)
{
	saved->a_psn = base_psn_add(saved->psn, skip_psn);
	saved->a_va = saved->va + (uint64_t)skip_psn * qp->mtu;
	saved->a_bytes = bytes;
	saved->a_n = tp_npkts(bytes, qp->mtu);
	saved->a_next = 0;
	tp_answer_queue(qp, saved, replay);
}

static enum tp_verdict execute_read(struct tp_request *r)
{
	uint32_t bytes = r->pkt->dma_bytes;
	struct tp_saved *saved = save(r, TP_SAVED_READ, bytes, tp_npkts(bytes, r->qp->mtu));

	answer_from(r->qp, saved, 0, bytes, false);
	return TP_V_OK;
}

static enum tp_verdict execute_atomic(struct tp_request *r)
{
	const struct wire_pkt *pkt = r->pkt;
	bool swaps = (pkt->opcode & WIRE_OPERATION_MASK) == WIRE_RC_COMPARE_SWAP;
	const uint64_t *compare = swaps ? &pkt->compare : NULL;
	struct tp_saved *saved;
	uint64_t orig;

	if (tp_mem_flush_for(r->qp) != 0)
		return TP_V_DONE;
	if (tp_mem_atomic(r->qp->tp, r->mr, pkt->va, compare, pkt->swap_add, &orig) != 0)
		return TP_V_MEM_FAULT;
	saved = save(r, TP_SAVED_ATOMIC, sizeof(orig), 1);
	saved->orig = orig;
	tp_answer_queue(r->qp, saved, false);
	return TP_V_OK;
}

/* Annex A19: what came before it is in memory first, and its answer tells that it is there too. */
static enum tp_verdict execute_atomic_write(struct tp_request *r)
{
	if (tp_mem_flush_for(r->qp) != 0)
		return TP_V_DONE;
	if (tp_mem_store(r->qp->tp, r->mr, r->pkt->va, r->payload) != 0)
		return TP_V_MEM_FAULT;
	tp_answer_queue(r->qp, save(r, TP_SAVED_ATOMIC_WRITE, TP_ATOMIC_BYTES, 1), false);
	return TP_V_OK;
}

static enum tp_verdict execute(struct tp_request *r)
{
	if (wire_op_is(r->info, WIRE_OP_SEND | WIRE_OP_WRITE))
		return execute_message(r);
	if (wire_op_is(r->info, WIRE_OP_READ))
		return execute_read(r);
	if (wire_op_is(r->info, WIRE_OP_ATOMIC))
		return execute_atomic(r);
	return execute_atomic_write(r);
}

/* ---- duplicates (9.7.5.1.1 to 9.7.5.1.5) ---- */

static bool is_rest_of(const struct tp_qp *qp, const struct tp_saved *saved, const struct wire_pkt *pkt)
{
	uint64_t skip_bytes = (uint64_t)tp_psn_dist(pkt->psn, saved->psn) * qp->mtu;

	if (saved->bytes == 0)
		return pkt->dma_bytes == 0;
	return pkt->rkey == saved->rkey && pkt->va == saved->va + skip_bytes && skip_bytes <= saved->bytes &&
		pkt->dma_bytes <= saved->bytes - skip_bytes && pkt->dma_bytes != 0;
}

static bool is_again(const struct tp_qp *qp, const struct tp_saved *saved, const struct tp_request *r)
{
	if (tp_psn_dist(r->pkt->psn, saved->psn) >= saved->n_psn)
		return false;
	if (saved->kind == TP_SAVED_READ)
		return wire_op_is(r->info, WIRE_OP_READ) && is_rest_of(qp, saved, r->pkt);
	if (saved->rkey != r->pkt->rkey || saved->va != r->pkt->va)
		return false;
	return wire_op_is(r->info, saved->kind == TP_SAVED_ATOMIC ? WIRE_OP_ATOMIC : WIRE_OP_ATOMIC_WRITE);
}

/* Newest first: PSNs come round again. */
static struct tp_saved *find_saved(struct tp_request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	uint32_t depth = tp_resp_depth(r->qp);

	for (uint32_t k = 1; k <= depth; k++) {
		struct tp_saved *saved = &resp->saved[(resp->saved_next + depth - k) % depth];

		if (saved->kind != TP_SAVED_NONE && is_again(r->qp, saved, r))
			return saved;
	}
	return NULL;
}

/* A peer that asks again by another path may not hear us, so answers move too; never from under those on their way. */
static void follow(struct tp_request *r)
{
	struct tp_resp *resp = &r->qp->resp;

	if (!r->qp->tp->config.move_on_timeout || r->qp->ext != NULL || r->pkt->udp_sport == resp->peer_port ||
		!TAILQ_EMPTY(&resp->answers))
		return;
	resp->peer_port = r->pkt->udp_sport;
	resp->moves++;
	TP_COUNT(r->qp, moves);
}

static void handle_duplicate(struct tp_request *r)
{
	struct tp *tp = r->qp->tp;
	struct tp_saved *saved;

	TP_COUNT(r->qp, duplicates);
	follow(r);
	if (wire_op_is(r->info, WIRE_OP_SEND | WIRE_OP_WRITE)) {
		r->qp->resp.ack_pending = true;
		return;
	}
	saved = find_saved(r);
	/* Several parts of it may be missing. */
	if (saved != NULL && saved->kind == TP_SAVED_READ && r->qp->ext != NULL)
		saved = tp_sack_replay(r->qp, saved);
	if (saved == NULL)
		tp_drop(tp, BASE_DROP_DUPLICATE);
	else if (saved->kind != TP_SAVED_READ)
		tp_answer_queue(r->qp, saved, true);
	else
		answer_from(r->qp, saved, tp_psn_dist(r->pkt->psn, saved->psn), r->pkt->dma_bytes, true);
}

/* ---- the chain ---- */

static void nak_once(struct tp_qp *qp, uint8_t syndrome)
{
	qp->resp.silent = true;
	qp->resp.nak_pending = true;
	qp->resp.nak_syndrome = syndrome;
	qp->resp.nak_psn = qp->resp.epsn;
}

void tp_resp_gave_up(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct tp_qp *qp = arg;

	(void)timer;
	(void)now_ns;
	if (!qp->type->acknowledged) {
		tp_uc_gave_up(qp);
		return;
	}
	/* A peer that has gone says nothing. What it sent has the room of others, and if it lives, it sends it again. */
	if (qp->ext != NULL) {
		tp_hold_clear(&qp->resp.hold, qp->resp.epsn);
		return;
	}
	if (qp->resp.silent || qp->resp.failed)
		return;
	nak_once(qp, TP_SYN_NAK_SEQ);
	tp_activate(qp);
}

static void settle(struct tp_request *r, enum tp_verdict verdict)
{
	struct tp_qp *qp = r->qp;

	switch (verdict) {
	case TP_V_OK:
	case TP_V_DONE:
		return;
	case TP_V_DUPLICATE:
		handle_duplicate(r);
		return;
	case TP_V_AHEAD:
		nak_once(qp, TP_SYN_NAK_SEQ);
		tp_drop(qp->tp, BASE_DROP_OUT_OF_ORDER);
		return;
	case TP_V_STILL_AHEAD:
		tp_drop(qp->tp, BASE_DROP_OUT_OF_ORDER);
		return;
	case TP_V_RNR:
		nak_once(qp, (uint8_t)(TP_SYN_RNR | qp->attr.min_rnr_timer));
		tp_drop(qp->tp, BASE_DROP_NO_RECV);
		return;
	default:
		fail(qp, verdict, r->pkt->psn);
	}
}

/* The first verdict that is not TP_V_OK. */
static enum tp_verdict judge(struct tp_request *r)
{
	return check_order(r)
		?: check_sequence(r)
		?: check_srq(r)
		?: tp_msg_check_operation(r)
		?: check_resources(r)
		?: tp_msg_check_length(r)
		?: tp_msg_check_target(r)
		?: execute(r);
}

enum tp_verdict tp_resp_take(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame)
{
	struct tp_request r = {.qp = qp, .pkt = pkt, .payload = frame + pkt->payload_off,
		.info = wire_opinfo(pkt->opcode)};
	enum tp_verdict verdict = judge(&r);

	settle(&r, verdict);
	return verdict;
}

bool tp_resp_takes(const struct tp_qp *qp)
{
	return qp->attr.state != TP_QPS_ERR && qp->attr.state != TP_QPS_RESET && !qp->resp.failed;
}

void tp_resp_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame)
{
	if (qp->resp.failed)
		tp_drop(qp->tp, BASE_DROP_QP_STATE);
	else if (pkt->opcode == WIRE_RC_MERGED)
		tp_merge_rx(qp, pkt, frame);
	else
		(void)tp_resp_take(qp, pkt, frame);
}
