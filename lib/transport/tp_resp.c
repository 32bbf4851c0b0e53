/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Responder, receiving side: a chain of checks in the order of IBTA vol. 1, figure 85 (and of Soft-RoCE), each
 * with one verdict, and one table that says what every verdict means to the peer and to the client.
 */
#include "tp_internal.h"

enum verdict {
	V_OK,
	V_DONE,           /* dealt with already */
	V_DUPLICATE,
	V_AHEAD,          /* first packet ahead of the expected PSN */
	V_STILL_AHEAD,
	V_RNR,
	V_INV_REQ,
	V_TOO_LONG,       /* for the receive work request */
	V_REM_ACCESS,
	V_MEM_FAULT,
	V_RECV_MEM,       /* receive work request names memory that may not be written */
	V_RECV_BAD,       /* receive work request is malformed */
	V_BAD_INVALIDATE,
};

/* What ends the connection (9.9.3 and table 61): NAK to the peer, completion of the receive work request that
 * is in progress, and the event that tells of it. */
static const struct failure {
	uint8_t syndrome;
	uint8_t recv_status;
	uint8_t event;
} failures[] = {
	[V_INV_REQ] = {TP_SYN_NAK_INV_REQ, TP_WC_REM_INV_REQ_ERR, TP_EVENT_QP_REQ_ERR},
	[V_TOO_LONG] = {TP_SYN_NAK_INV_REQ, TP_WC_LOC_LEN_ERR, TP_EVENT_QP_REQ_ERR},
	[V_REM_ACCESS] = {TP_SYN_NAK_REM_ACCESS, TP_WC_LOC_ACCESS_ERR, TP_EVENT_QP_ACCESS_ERR},
	[V_MEM_FAULT] = {TP_SYN_NAK_REM_OP, TP_WC_LOC_PROT_ERR, TP_EVENT_QP_FATAL},
	[V_RECV_MEM] = {TP_SYN_NAK_REM_OP, TP_WC_LOC_PROT_ERR, TP_EVENT_QP_FATAL},
	[V_RECV_BAD] = {TP_SYN_NAK_REM_OP, TP_WC_LOC_QP_OP_ERR, TP_EVENT_QP_FATAL},
	/* Class J fault: the message itself arrived, so the peer gets its ACK; the failure is local. */
	[V_BAD_INVALIDATE] = {TP_SYN_ACK, TP_WC_REM_INV_REQ_ERR, TP_EVENT_QP_ACCESS_ERR},
};

/* One request packet on its way through the chain. */
struct request {
	struct tp_qp *qp;
	const struct wire_pkt *pkt;
	const uint8_t *payload;
	const struct wire_opinfo *info;
	const struct tp_mr *mr;
};

void tp_resp_reset(struct tp_qp *qp)
{
	struct tp_resp *resp = &qp->resp;
	struct tp_resp fresh = {
		.epsn = qp->attr.rq_psn,
		.recv = resp->recv,
		.recv_slot_bytes = resp->recv_slot_bytes,
		.saved = resp->saved,
	};

	tp_answer_clear(qp);
	memset(resp->saved, 0, TP_MAX_RD_ATOMIC * sizeof(*resp->saved));
	*resp = fresh;
	TAILQ_INIT(&resp->answers);
}

/* Soft-RoCE rounds what it may have outstanding up to a power of two, so as many are kept. */
uint32_t tp_resp_depth(const struct tp_qp *qp)
{
	uint32_t depth = 1;

	if (qp->attr.max_dest_rd_atomic == 0)
		return 0;
	while (depth < qp->attr.max_dest_rd_atomic)
		depth <<= 1;
	return tp_min(depth, TP_MAX_RD_ATOMIC);
}

static void fail(struct tp_qp *qp, enum verdict verdict, uint32_t psn)
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
	fail(qp, V_MEM_FAULT, psn);
	tp_activate(qp);
}

/* ---- checks ---- */

/* 9.7.4.1: expected, ahead or duplicate. */
static enum verdict check_order(struct request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	int32_t diff = base_psn_diff(r->pkt->psn, resp->epsn);

	if (diff < 0)
		return V_DUPLICATE;
	if (diff > 0)
		return resp->silent ? V_STILL_AHEAD : V_AHEAD;
	resp->silent = false;
	/* A NAK of this burst that is not out yet has become void. */
	resp->nak_pending = false;
	return V_OK;
}

/* 9.7.4.1.2: first, middle, last; and opcodes that are not served. */
static enum verdict check_sequence(struct request *r)
{
	const uint16_t served = WIRE_OP_SEND | WIRE_OP_WRITE | WIRE_OP_READ | WIRE_OP_ATOMIC;
	uint8_t msg = wire_op_is(r->info, WIRE_OP_SEND) ? TP_MSG_SEND : TP_MSG_WRITE;

	if (!wire_op_is(r->info, served))
		return V_INV_REQ;
	if (wire_op_is(r->info, WIRE_OP_START))
		return r->qp->resp.msg == TP_MSG_NONE ? V_OK : V_INV_REQ;
	return r->qp->resp.msg == msg ? V_OK : V_INV_REQ;
}

/* 9.7.4.1.3: does the queue pair allow the operation. */
static enum verdict check_operation(struct request *r)
{
	static const struct {
		uint16_t op;
		uint32_t access;
	} needs[] = {
		{WIRE_OP_WRITE, TP_ACCESS_REMOTE_WRITE},
		{WIRE_OP_READ, TP_ACCESS_REMOTE_READ},
		{WIRE_OP_ATOMIC, TP_ACCESS_REMOTE_ATOMIC},
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (wire_op_is(r->info, needs[i].op) && (r->qp->attr.access & needs[i].access) == 0)
			return V_INV_REQ;
	}
	return V_OK;
}

/* A new request for the slot of a replay that still runs shows that the requester has its answer. */
static enum verdict check_saved_room(struct tp_qp *qp)
{
	struct tp_resp *resp = &qp->resp;
	uint32_t depth = tp_resp_depth(qp);
	struct tp_saved *saved;

	if (depth == 0)
		return V_INV_REQ;
	saved = &resp->saved[resp->saved_next % depth];
	if (!saved->queued)
		return V_OK;
	if (!saved->replay)
		return V_INV_REQ;
	tp_answer_cancel(qp, saved);
	return V_OK;
}

/* 9.7.4.1.4 and 9.7.5.2.8: a receive work request, or room for one more READ or atomic. */
static enum verdict check_resources(struct request *r)
{
	int rc;

	if (wire_op_is(r->info, WIRE_OP_READ | WIRE_OP_ATOMIC))
		return check_saved_room(r->qp);
	if (!wire_op_is(r->info, WIRE_OP_RECV_START) || r->qp->resp.have_recv)
		return V_OK;
	rc = tp_recv_take(r->qp);
	if (rc <= 0)
		return rc == 0 ? V_RNR : V_RECV_BAD;
	return !wire_op_is(r->info, WIRE_OP_SEND) || tp_recv_writable(r->qp) ? V_OK : V_RECV_MEM;
}

static bool packet_length_ok(const struct request *r)
{
	uint32_t bytes = r->pkt->payload_bytes, mtu = r->qp->mtu;
	bool start = wire_op_is(r->info, WIRE_OP_START), end = wire_op_is(r->info, WIRE_OP_END);

	if (((bytes + r->pkt->pad) & 3) != 0)
		return false;
	if (!wire_op_is(r->info, WIRE_OP_PAYLOAD))
		return bytes == 0;
	if (!end)
		return bytes == mtu;
	return bytes <= mtu && (start || bytes != 0);
}

/* 9.7.4.1.6: payload against the place in the message, pad count and MTU, message against its RETH. */
static enum verdict check_length(struct request *r)
{
	const struct wire_pkt *pkt = r->pkt;
	bool end = wire_op_is(r->info, WIRE_OP_END);
	uint32_t left;

	if (!packet_length_ok(r))
		return V_INV_REQ;
	if ((r->info->hdrs & WIRE_HDR_RETH) != 0 && pkt->dma_bytes > TP_MAX_MSG_BYTES)
		return V_INV_REQ;
	if (!wire_op_is(r->info, WIRE_OP_WRITE))
		return V_OK;
	left = wire_op_is(r->info, WIRE_OP_START) ? pkt->dma_bytes : r->qp->resp.wr_left;
	if (end)
		return left == pkt->payload_bytes ? V_OK : V_INV_REQ;
	return left > pkt->payload_bytes ? V_OK : V_INV_REQ;
}

static enum verdict check_remote(struct request *r, uint32_t access, uint32_t rkey, uint64_t va, uint32_t bytes)
{
	/* 9.7.4.1.5: nothing is accessed, so neither address nor key is looked at. */
	if (bytes == 0)
		return V_OK;
	r->mr = tp_mr_check(r->qp->tp, rkey, r->qp->init.pd, access, va, bytes);
	return r->mr != NULL ? V_OK : V_REM_ACCESS;
}

/* 9.7.4.1.5: R_Key, rights and range; for a WRITE the whole of it at its start and again at every packet. */
static enum verdict check_target(struct request *r)
{
	const struct wire_pkt *pkt = r->pkt;
	const struct tp_resp *resp = &r->qp->resp;

	if (wire_op_is(r->info, WIRE_OP_READ))
		return check_remote(r, TP_ACCESS_REMOTE_READ, pkt->rkey, pkt->va, pkt->dma_bytes);
	if (wire_op_is(r->info, WIRE_OP_ATOMIC)) {
		if (pkt->va % sizeof(uint64_t) != 0)
			return V_INV_REQ;
		return check_remote(r, TP_ACCESS_REMOTE_ATOMIC, pkt->rkey, pkt->va, sizeof(uint64_t));
	}
	if (!wire_op_is(r->info, WIRE_OP_WRITE))
		return V_OK;
	if (wire_op_is(r->info, WIRE_OP_START))
		return check_remote(r, TP_ACCESS_REMOTE_WRITE, pkt->rkey, pkt->va, pkt->dma_bytes);
	return check_remote(r, TP_ACCESS_REMOTE_WRITE, resp->wr_rkey, resp->wr_va, pkt->payload_bytes);
}

/* ---- execution ---- */

static enum verdict place_send(struct request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	uint32_t bytes = r->pkt->payload_bytes;

	if (wire_op_is(r->info, WIRE_OP_START))
		resp->msg_bytes = 0;
	resp->msg = TP_MSG_SEND;
	if ((uint64_t)resp->msg_bytes + bytes > RTE_MIN(resp->recv_capacity, (uint64_t)TP_MAX_MSG_BYTES))
		return V_TOO_LONG;
	if (tp_recv_place(r->qp, resp->msg_bytes, r->payload, bytes) != 0)
		return resp->failed ? V_DONE : V_RECV_MEM;
	resp->msg_bytes += bytes;
	return V_OK;
}

static enum verdict place_write(struct request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	uint32_t bytes = r->pkt->payload_bytes;

	if (wire_op_is(r->info, WIRE_OP_START)) {
		resp->wr_va = r->pkt->va;
		resp->wr_rkey = r->pkt->rkey;
		resp->wr_left = resp->wr_total = r->pkt->dma_bytes;
	}
	resp->msg = TP_MSG_WRITE;
	if (bytes != 0 && tp_mem_put(r->qp, TP_ROLE_RESPONDER, r->mr, resp->wr_va, r->payload, bytes) != 0)
		return V_DONE;
	resp->wr_va += bytes;
	resp->wr_left -= bytes;
	return V_OK;
}

static enum verdict invalidate(struct request *r)
{
	/* What the region got before its end is to arrive. */
	if (tp_mem_flush_for(r->qp) != 0)
		return V_DONE;
	return tp_mr_invalidate(r->qp->tp, r->pkt->rkey, r->qp->init.pd) == 0 ? V_OK : V_BAD_INVALIDATE;
}

static enum verdict end_message(struct request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	enum verdict verdict = V_OK;

	if ((r->pkt->hdrs & WIRE_HDR_IETH) != 0)
		verdict = invalidate(r);
	if (verdict != V_OK)
		return verdict;
	if (wire_op_is(r->info, WIRE_OP_COMPLETES) && tp_mem_flush_for(r->qp) != 0)
		return V_DONE;
	resp->msn = base_psn_add(resp->msn, 1);
	if (wire_op_is(r->info, WIRE_OP_COMPLETES)) {
		uint32_t bytes = resp->msg == TP_MSG_SEND ? resp->msg_bytes : resp->wr_total;

		tp_qp_complete_recv(r->qp, TP_WC_SUCCESS, r->pkt, bytes);
	}
	resp->msg = TP_MSG_NONE;
	return V_OK;
}

static enum verdict execute_message(struct request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	enum verdict verdict = wire_op_is(r->info, WIRE_OP_SEND) ? place_send(r) : place_write(r);

	if (verdict == V_OK && wire_op_is(r->info, WIRE_OP_END))
		verdict = end_message(r);
	if (verdict != V_OK)
		return verdict;
	resp->epsn = base_psn_add(resp->epsn, 1);
	if (r->pkt->ack_req || ++resp->since_ack >= TP_BURST_PKTS)
		resp->ack_pending = true;
	return V_OK;
}

static struct tp_saved *save(struct request *r, enum tp_saved_kind kind, uint32_t bytes, uint32_t n_psn)
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
	saved->va = r->pkt->va;
	saved->bytes = bytes;
	resp->epsn = base_psn_add(resp->epsn, n_psn);
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

static enum verdict execute_read(struct request *r)
{
	uint32_t bytes = r->pkt->dma_bytes;
	struct tp_saved *saved = save(r, TP_SAVED_READ, bytes, tp_npkts(bytes, r->qp->mtu));

	answer_from(r->qp, saved, 0, bytes, false);
	return V_OK;
}

static enum verdict execute_atomic(struct request *r)
{
	const struct wire_pkt *pkt = r->pkt;
	const uint64_t *compare = pkt->opcode == WIRE_RC_COMPARE_SWAP ? &pkt->compare : NULL;
	struct tp_saved *saved;
	uint64_t orig;

	if (tp_mem_flush_for(r->qp) != 0)
		return V_DONE;
	if (tp_mem_atomic(r->qp->tp, r->mr, pkt->va, compare, pkt->swap_add, &orig) != 0)
		return V_MEM_FAULT;
	saved = save(r, TP_SAVED_ATOMIC, sizeof(orig), 1);
	saved->orig = orig;
	tp_answer_queue(r->qp, saved, false);
	return V_OK;
}

static enum verdict execute(struct request *r)
{
	if (wire_op_is(r->info, WIRE_OP_READ))
		return execute_read(r);
	if (wire_op_is(r->info, WIRE_OP_ATOMIC))
		return execute_atomic(r);
	return execute_message(r);
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

static bool is_again(const struct tp_qp *qp, const struct tp_saved *saved, const struct request *r)
{
	if (tp_psn_dist(r->pkt->psn, saved->psn) >= saved->n_psn)
		return false;
	if (saved->kind == TP_SAVED_READ)
		return wire_op_is(r->info, WIRE_OP_READ) && is_rest_of(qp, saved, r->pkt);
	return saved->kind == TP_SAVED_ATOMIC && wire_op_is(r->info, WIRE_OP_ATOMIC) && saved->rkey == r->pkt->rkey &&
		saved->va == r->pkt->va;
}

/* Newest first: PSNs come round again. */
static struct tp_saved *find_saved(struct request *r)
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

static void handle_duplicate(struct request *r)
{
	struct tp *tp = r->qp->tp;
	struct tp_saved *saved;

	tp->counters.duplicates++;
	if (wire_op_is(r->info, WIRE_OP_SEND | WIRE_OP_WRITE)) {
		r->qp->resp.ack_pending = true;
		return;
	}
	saved = find_saved(r);
	if (saved == NULL)
		tp_drop(tp, BASE_DROP_DUPLICATE);
	else if (saved->kind == TP_SAVED_ATOMIC)
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

static void settle(struct request *r, enum verdict verdict)
{
	struct tp_qp *qp = r->qp;

	switch (verdict) {
	case V_OK:
	case V_DONE:
		return;
	case V_DUPLICATE:
		handle_duplicate(r);
		return;
	case V_AHEAD:
		nak_once(qp, TP_SYN_NAK_SEQ);
		tp_drop(qp->tp, BASE_DROP_OUT_OF_ORDER);
		return;
	case V_STILL_AHEAD:
		tp_drop(qp->tp, BASE_DROP_OUT_OF_ORDER);
		return;
	case V_RNR:
		nak_once(qp, (uint8_t)(TP_SYN_RNR | qp->attr.min_rnr_timer));
		tp_drop(qp->tp, BASE_DROP_NO_RECV);
		return;
	default:
		fail(qp, verdict, r->pkt->psn);
	}
}

static enum verdict judge(struct request *r)
{
	static enum verdict (*const chain[])(struct request *) = {
		check_order,
		check_sequence,
		check_operation,
		check_resources,
		check_length,
		check_target,
		execute,
	};

	for (size_t i = 0; i < sizeof(chain) / sizeof(chain[0]); i++) {
		enum verdict verdict = chain[i](r);

		if (verdict != V_OK)
			return verdict;
	}
	return V_OK;
}

void tp_resp_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame)
{
	struct request r = {.qp = qp, .pkt = pkt, .payload = frame + pkt->payload_off,
		.info = wire_opinfo(pkt->opcode)};

	if (qp->resp.failed) {
		tp_drop(qp->tp, BASE_DROP_QP_STATE);
		return;
	}
	if (qp->attr.state == TP_QPS_RTR && !qp->comm_est) {
		qp->comm_est = true;
		tp_qp_event(qp, TP_EVENT_COMM_EST);
	}
	settle(&r, judge(&r));
}
