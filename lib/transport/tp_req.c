/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requester, sending side (IBTA vol. 1, 9.7.2 to 9.7.5.1). Work requests are fetched one at a time, get
 * their PSNs at once and are sent in order. Going back (tp_recovery.c) just moves snd and snd_psn; the same
 * code then sends again, a READ from the first byte that is missing.
 */
#include "tp_ext.h"
#include "tp_flow.h"
#include "tp_hold.h"
#include "tp_internal.h"
#include "tp_recovery.h"
#include "tp_slots.h"

/* How a work request becomes packets: opcodes of RC, to which those of other services correspond. */
struct kind {
	uint8_t op[4];           /* by place() of the packet in its message */
	bool known;
	bool answered;           /* takes one of the peer's READ and atomic resources */
	bool may_inline;
	bool tells_solicited;
	bool local;              /* sends nothing and has no PSN */
};

enum { MIDDLE = 0, FIRST = 1, LAST = 2, ONLY = FIRST | LAST };

#define SENDS(l, o, se)                                                                                    \
	{{WIRE_RC_SEND_MIDDLE, WIRE_RC_SEND_FIRST, WIRE_RC_SEND_##l, WIRE_RC_SEND_##o}, true, false, true, se, false}
#define WRITES(l, o, se)                                                                                   \
	{{WIRE_RC_WRITE_MIDDLE, WIRE_RC_WRITE_FIRST, WIRE_RC_WRITE_##l, WIRE_RC_WRITE_##o}, true, false, true, se, \
		false}
#define ANSWERED(op) {{op, op, op, op}, true, true, false, false, false}
/* Answered like a READ, but carries data instead of asking for it. */
#define STORED(op)   {{op, op, op, op}, true, true, true, false, false}
#define LOCAL        {{0, 0, 0, 0}, true, false, false, false, true}
#define KINDS        16u

static const struct kind kinds[KINDS] = {
	[TP_WR_WRITE] = WRITES(LAST, ONLY, false),
	[TP_WR_WRITE_IMM] = WRITES(LAST_IMM, ONLY_IMM, true),
	[TP_WR_SEND] = SENDS(LAST, ONLY, true),
	[TP_WR_SEND_IMM] = SENDS(LAST_IMM, ONLY_IMM, true),
	[TP_WR_SEND_INV] = SENDS(LAST_INV, ONLY_INV, true),
	[TP_WR_READ] = ANSWERED(WIRE_RC_READ_REQUEST),
	[TP_WR_CMP_SWAP] = ANSWERED(WIRE_RC_COMPARE_SWAP),
	[TP_WR_FETCH_ADD] = ANSWERED(WIRE_RC_FETCH_ADD),
	[TP_WR_ATOMIC_WRITE] = STORED(WIRE_RC_ATOMIC_WRITE),
	[TP_WR_LOCAL_INV] = LOCAL,
	[TP_WR_BIND_MW] = LOCAL,
};

/* Of one that check_wqe() has taken. */
static const struct kind *kind_of(const struct tp_send_wqe *wqe)
{
	return &kinds[wqe->opcode % KINDS];
}

static const struct tp_sge *sgl_of(const struct tp_send_wqe *wqe)
{
	return (const struct tp_sge *)(const void *)(wqe + 1);
}

void tp_req_reset(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;
	uint32_t psn = qp->attr.sq_psn;

	tp_slots_give_back(qp);
	req->head = req->snd = req->tail = 0;
	req->una = req->snd_psn = req->snd_max = req->alloc_psn = psn;
	req->since_ackreq = 0;
	req->rd_out = 0;
	req->drain_told = false;
	tp_flow_reset(qp);
	tp_hold_clear(&req->hold, psn);
}

void tp_req_restart(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;

	req->una = req->snd_psn = req->alloc_psn = req->snd_max;
}

static void complete_one(struct tp_qp *qp, enum tp_wc_status status)
{
	struct tp_req *req = &qp->req;
	const struct tp_send_wqe *wqe = tp_req_wqe(qp, req->head);
	const struct tp_swr *swr = tp_req_swr(qp, req->head);
	bool tell = status != TP_WC_SUCCESS || qp->init.sq_sig_all || (wqe->flags & TP_SEND_SIGNALED) != 0;

	if (req->snd == req->head)
		req->snd++;      /* answered late, before it was sent again */
	req->head++;
	/* First the slot, so that who sees the completion may post at once. */
	qp->tp->ops.send_retire(qp->tp->env, qp->init.cookie, 1);
	if (tell)
		tp_qp_complete_send(qp, wqe, swr->bytes, status);
	if (req->head == req->tail && req->lent != NULL)
		tp_slots_give_back(qp);
}

void tp_req_complete_head(struct tp_qp *qp, enum tp_wc_status status)
{
	const struct tp_req *req = &qp->req;

	complete_one(qp, status);
	/* No ACK tells of local work, so what is done already comes with the work before it. */
	while (status == TP_WC_SUCCESS && req->head != req->tail && tp_req_swr(qp, req->head)->done &&
		qp->attr.state != TP_QPS_ERR)
		complete_one(qp, TP_WC_SUCCESS);
}

/* ---- draining (10.3.1, SQD) ---- */

static bool begun(const struct tp_qp *qp)
{
	const struct tp_req *req = &qp->req;

	return req->snd != req->tail && req->snd_psn != tp_req_swr(qp, req->snd)->psn;
}

bool tp_req_drained(const struct tp_qp *qp)
{
	return qp->req.una == qp->req.snd_max && !begun(qp);
}

void tp_req_check_drained(struct tp_qp *qp)
{
	if (qp->attr.state != TP_QPS_SQD || qp->req.drain_told || !tp_req_drained(qp))
		return;
	qp->req.drain_told = true;
	if (qp->attr.en_sqd_async_notify != 0)
		tp_qp_event(qp, TP_EVENT_SQ_DRAINED);
}

/* ---- fetch and check of work requests (10.7.3, 11.6.2) ---- */

static enum tp_wc_status check_sgl(const struct tp_qp *qp, const struct tp_send_wqe *wqe, struct tp_swr *swr)
{
	bool written = swr->answered && wqe->opcode != TP_WR_ATOMIC_WRITE;
	const struct tp_sge *sge = sgl_of(wqe);
	uint64_t bytes = 0;

	if (wqe->num_sge > qp->init.max_send_sge)
		return TP_WC_LOC_QP_OP_ERR;
	for (uint32_t i = 0; i < wqe->num_sge; i++)
		bytes += sge[i].bytes;
	if (bytes > TP_MAX_MSG_BYTES)
		return TP_WC_LOC_LEN_ERR;
	swr->bytes = (uint32_t)bytes;
	if (!tp_mem_sgl_ok(qp->tp, qp->init.pd, sge, wqe->num_sge, written ? TP_ACCESS_LOCAL_WRITE : 0))
		return TP_WC_LOC_PROT_ERR;
	return TP_WC_SUCCESS;
}

static enum tp_wc_status check_body(const struct tp_qp *qp, const struct tp_send_wqe *wqe, struct tp_swr *swr)
{
	if ((wqe->flags & TP_SEND_INLINE) == 0)
		return check_sgl(qp, wqe, swr);
	if (!kind_of(wqe)->may_inline || wqe->num_sge != 0)
		return TP_WC_LOC_QP_OP_ERR;
	if (wqe->inline_bytes > qp->init.max_inline_bytes)
		return TP_WC_LOC_LEN_ERR;
	swr->bytes = wqe->inline_bytes;
	return TP_WC_SUCCESS;
}

static enum tp_wc_status check_wqe(const struct tp_qp *qp, const struct tp_send_wqe *wqe, struct tp_swr *swr)
{
	const struct kind *kind = kind_of(wqe);
	enum tp_wc_status status;

	if (wqe->opcode >= KINDS || !kind->known || (qp->type->wrs & 1u << wqe->opcode) == 0)
		return TP_WC_LOC_QP_OP_ERR;
	if (kind->local)
		return TP_WC_SUCCESS;
	swr->answered = kind->answered;
	/* With no resources for it at the peer it could never be sent. */
	if (kind->answered && qp->attr.max_rd_atomic == 0)
		return TP_WC_LOC_QP_OP_ERR;
	status = check_body(qp, wqe, swr);
	if (status != TP_WC_SUCCESS || !kind->answered || wqe->opcode == TP_WR_READ)
		return status;
	if (swr->bytes < TP_ATOMIC_BYTES || (wqe->opcode == TP_WR_ATOMIC_WRITE && swr->bytes != TP_ATOMIC_BYTES))
		return TP_WC_LOC_LEN_ERR;
	swr->bytes = TP_ATOMIC_BYTES;
	return TP_WC_SUCCESS;
}

static uint32_t n_psn(const struct tp_qp *qp, const struct tp_send_wqe *wqe, const struct tp_swr *swr)
{
	if (swr->err != TP_WC_SUCCESS || !qp->type->connected)
		return 1;
	return kind_of(wqe)->local ? 0 : tp_npkts(swr->bytes, qp->mtu);
}

static __rte_always_inline bool fetch(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;
	struct tp_send_wqe *wqe;
	struct tp_swr *swr;
	int rc;

	if (req->tail - req->head >= req->room && !tp_slots_borrow(qp))
		return false;
	wqe = tp_req_wqe(qp, req->tail);
	swr = tp_req_swr(qp, req->tail);
	memset(wqe, 0, sizeof(*wqe));
	rc = qp->tp->ops.send_fetch(qp->tp->env, qp->init.cookie, wqe, req->slot_bytes);
	if (rc == 0)
		return false;
	*swr = (struct tp_swr){.psn = req->alloc_psn, .asked_psn = req->alloc_psn};
	swr->err = (uint16_t)(rc < 0 ? TP_WC_LOC_QP_OP_ERR : check_wqe(qp, wqe, swr));
	swr->n_psn = n_psn(qp, wqe, swr);
	req->alloc_psn = base_psn_add(req->alloc_psn, swr->n_psn);
	req->tail++;
	return true;
}

bool tp_req_fetch(struct tp_qp *qp)
{
	return fetch(qp);
}

/* ---- what may be sent now ---- */

/* Limits on starting a work request: draining, reads and atomics in flight, fence. */
static bool may_start(const struct tp_qp *qp, const struct tp_swr *swr)
{
	const struct tp_req *req = &qp->req;

	if (qp->attr.state == TP_QPS_SQD && req->snd_psn == req->snd_max)
		return false;
	if (swr->answered && req->rd_out >= qp->attr.max_rd_atomic)
		return false;
	return (tp_req_wqe(qp, req->snd)->flags & TP_SEND_FENCE) == 0 || req->rd_out == 0;
}

/* PSNs that the window has room for. */
static uint32_t room(const struct tp_qp *qp)
{
	const struct tp_req *req = &qp->req;
	uint32_t out = tp_psn_dist(req->snd_psn, req->una);

	if (qp->ext != NULL)
		return tp_sr_room(qp);
	if (out >= req->window)
		return 0;
	/* Not before an acknowledgement is asked for, which ends the pause; nor while what was sent is sent again. */
	if (req->snd_psn == req->snd_max && qp->flow != NULL && tp_flow_holds(qp))
		return req->since_ackreq != 0 ? 1 : 0;
	return req->window - out;
}

/* The work request to go on with; NULL: none, or it has to wait for an answer. */
static struct tp_swr *next_swr(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;
	struct tp_swr *swr;

	if (room(qp) == 0)
		return NULL;
	if (req->snd == req->tail && (qp->attr.state != TP_QPS_RTS || !fetch(qp)))
		return NULL;
	swr = tp_req_swr(qp, req->snd);
	if (swr->err != TP_WC_SUCCESS) {
		/* Completions come in order: what is before it has its answer first. */
		if (req->snd == req->head && (qp->attr.state == TP_QPS_RTS || begun(qp)))
			tp_qp_send_error(qp, (enum tp_wc_status)swr->err);
		return NULL;
	}
	if (req->snd_psn == swr->psn && !may_start(qp, swr))
		return NULL;
	/* Each piece of a READ is a request of its own. */
	if (swr->answered && req->snd_psn != swr->psn && req->rd_out >= qp->attr.max_rd_atomic)
		return NULL;
	return qp->ext != NULL && tp_merge_waits(qp) ? NULL : swr;
}

/* ---- packets ---- */

static inline void sent_to(struct tp_qp *qp, const struct tp_swr *swr, uint32_t psn)
{
	struct tp_req *req = &qp->req;
	bool whole = psn == base_psn_add(swr->psn, swr->n_psn);

	req->snd_psn = psn;
	if (tp_psn_dist(psn, req->una) > tp_psn_dist(req->snd_max, req->una))
		req->snd_max = psn;
	if (whole)
		req->snd++;
	if (qp->type->acknowledged)
		return;
	/* 9.8.2.1: nobody will say more about it. */
	req->una = psn;
	if (whole)
		tp_req_complete_head(qp, TP_WC_SUCCESS);
}

void tp_req_sent_to(struct tp_qp *qp, const struct tp_swr *swr, uint32_t psn)
{
	sent_to(qp, swr, psn);
}

static void choose_path(struct tp_qp *qp, struct wire_pkt *pkt, uint32_t end)
{
	if (qp->ext != NULL)
		tp_sr_stamp(qp, pkt, end);
	else if (qp->flow != NULL)
		tp_flow_route(qp, pkt);
}

/* An atomic, an ATOMIC WRITE, or a piece of a READ. The peer sends a READ's answers as fast as it can, so asking for
 * all of a long one at once would flood receive rings that lose what they cannot hold: the window is ours to keep. */
static bool send_answered(struct tp_qp *qp, struct tp_swr *swr, uint32_t end)
{
	struct tp_req *req = &qp->req;
	const struct tp_send_wqe *wqe = tp_req_wqe(qp, req->snd);
	uint32_t n_payload = wqe->opcode == TP_WR_ATOMIC_WRITE ? TP_ATOMIC_BYTES : 0;
	const uint8_t *payload = tp_req_payload(qp, req->snd, 0, n_payload);
	uint32_t off = tp_psn_dist(req->snd_psn, swr->psn) * qp->mtu;
	struct wire_pkt *pkt;
	struct rte_mbuf *m;

	if (payload == NULL)
		return false;
	m = tp_pkt_begin(qp, tp_req_opcode(qp, kind_of(wqe)->op[ONLY]), req->snd_psn);
	if (m == NULL)
		return false;
	pkt = TP_PKT(m);
	pkt->ack_req = 1;
	pkt->xrceth = wqe->srqn & BASE_PSN_MASK;
	pkt->va = wqe->remote_addr + off;
	pkt->rkey = wqe->rkey;
	pkt->dma_bytes = tp_min(swr->bytes - off, tp_psn_dist(end, req->snd_psn) * qp->mtu);
	if (wqe->opcode == TP_WR_CMP_SWAP) {
		pkt->swap_add = wqe->atomic.swap;
		pkt->compare = wqe->atomic.compare_add;
	} else if (wqe->opcode == TP_WR_FETCH_ADD) {
		pkt->swap_add = wqe->atomic.compare_add;
	}
	choose_path(qp, pkt, end);
	tp_pkt_send(qp, m, payload, n_payload);
	if (off % (TP_READ_PKTS * qp->mtu) != 0)
		swr->asked_psn = req->snd_psn;
	req->rd_out++;
	req->since_ackreq = 0;
	tp_req_sent_to(qp, swr, end);
	return true;
}

/* AckReq: on what ends a message, and often enough that a window never fills without one. */
static bool wants_ack(struct tp_qp *qp, bool last)
{
	if (!last && ++qp->req.since_ackreq < tp_min(qp->req.window / 2, TP_BURST_PKTS))
		return false;
	qp->req.since_ackreq = 0;
	return true;
}

uint8_t tp_req_whole(const struct tp_qp *qp, uint32_t wr)
{
	return kind_of(tp_req_wqe(qp, wr))->op[ONLY];
}

static __rte_always_inline void describe(const struct tp_send_wqe *wqe, const struct tp_swr *swr, bool last,
	struct wire_pkt *pkt)
{
	pkt->solicited = last && kind_of(wqe)->tells_solicited && (wqe->flags & TP_SEND_SOLICITED) != 0;
	pkt->va = wqe->remote_addr;
	pkt->rkey = wqe->opcode == TP_WR_SEND_INV ? wqe->imm : wqe->rkey;
	pkt->dma_bytes = swr->bytes;
	pkt->imm = wqe->imm;
	pkt->xrceth = wqe->srqn & BASE_PSN_MASK;
}

void tp_req_describe(const struct tp_qp *qp, uint32_t wr, bool last, struct wire_pkt *pkt)
{
	describe(tp_req_wqe(qp, wr), tp_req_swr(qp, wr), last, pkt);
}

static bool send_piece(struct tp_qp *qp, const struct tp_send_wqe *wqe, const struct tp_swr *swr, const uint8_t *data,
	uint32_t bytes, bool last)
{
	uint32_t psn = qp->req.snd_psn, place = (psn == swr->psn ? FIRST : 0u) | (last ? LAST : 0u);
	struct rte_mbuf *m = tp_pkt_begin(qp, tp_req_opcode(qp, kind_of(wqe)->op[place]), psn);
	struct wire_pkt *pkt;

	if (m == NULL)
		return false;
	pkt = TP_PKT(m);
	pkt->ack_req = qp->type->acknowledged && wants_ack(qp, last);
	describe(wqe, swr, last, pkt);
	choose_path(qp, pkt, base_psn_add(psn, 1));
	tp_pkt_send(qp, m, data, bytes);
	sent_to(qp, swr, base_psn_add(psn, 1));
	return true;
}

static inline const uint8_t *payload_of(struct tp_qp *qp, const struct tp_send_wqe *wqe, struct tp_swr *swr, uint32_t off,
	uint32_t bytes)
{
	const uint8_t *data = (const uint8_t *)(wqe + 1) + off;

	if (bytes == 0 || (wqe->flags & TP_SEND_INLINE) != 0)
		return data;
	data = tp_mem_gather(qp->tp, qp, sgl_of(wqe), wqe->num_sge, off, bytes);
	if (data == NULL)
		swr->err = TP_WC_LOC_PROT_ERR;
	return data;
}

const uint8_t *tp_req_payload(struct tp_qp *qp, uint32_t wr, uint32_t off, uint32_t bytes)
{
	return payload_of(qp, tp_req_wqe(qp, wr), tp_req_swr(qp, wr), off, bytes);
}

/* Sends up to n packets of a SEND or WRITE with one read of client memory; how many were sent. */
static uint32_t send_pieces(struct tp_qp *qp, struct tp_swr *swr, uint32_t n)
{
	const struct tp_send_wqe *wqe = tp_req_wqe(qp, qp->req.snd);
	uint32_t off = tp_psn_dist(qp->req.snd_psn, swr->psn) * qp->mtu, left = swr->bytes - off;
	uint32_t bytes = (uint32_t)RTE_MIN((uint64_t)n * qp->mtu, (uint64_t)left), sent = 0;
	const uint8_t *data = payload_of(qp, wqe, swr, off, bytes);

	if (data == NULL)
		return 0;
	do {
		uint32_t piece = bytes <= qp->mtu ? bytes : qp->mtu;

		if (!send_piece(qp, wqe, swr, data, piece, piece == left))
			break;
		data += piece;
		bytes -= piece;
		left -= piece;
		sent++;
	} while (bytes > 0);
	return sent;
}

/* Takes effect in its turn, and is complete when what was posted before it is. */
static uint32_t do_local(struct tp_qp *qp, struct tp_swr *swr)
{
	struct tp_req *req = &qp->req;

	if (!swr->done)
		swr->err = (uint16_t)tp_mw_execute(qp, tp_req_wqe(qp, req->snd));
	if (swr->err != TP_WC_SUCCESS)
		return 0;
	swr->done = true;
	req->snd++;
	if (req->head + 1 == req->snd)
		tp_req_complete_head(qp, TP_WC_SUCCESS);
	return 1;
}

/* n messages from wr on, or those of them that can be sent, in one packet. */
static bool send_merged(struct tp_qp *qp, uint32_t wr, uint32_t n)
{
	n = tp_merge_send(qp, wr, n);
	return n > 1 || (n == 1 && send_pieces(qp, tp_req_swr(qp, wr), 1) != 0);
}

uint32_t tp_req_send(struct tp_qp *qp, struct tp_swr *swr, uint32_t budget)
{
	uint32_t left = swr->n_psn - tp_psn_dist(qp->req.snd_psn, swr->psn);

	if (kind_of(tp_req_wqe(qp, qp->req.snd))->local)
		return do_local(qp, swr);
	if (swr->answered)
		return send_answered(qp, swr, tp_piece_end(swr, qp->req.snd_psn)) ? 1 : 0;
	if (qp->ext != NULL && qp->ext->merge_n > 1)
		return send_merged(qp, qp->req.snd, qp->ext->merge_n) ? 1 : 0;
	/* There is room for one, or it would not be its turn. */
	if (left > 1)
		left = tp_min(tp_min(left, room(qp)), tp_min(budget, TP_BURST_PKTS));
	return send_pieces(qp, swr, left);
}

bool tp_req_resend(struct tp_qp *qp, uint32_t wr, uint32_t psn, uint32_t end)
{
	struct tp_req *req = &qp->req;
	struct tp_swr *swr = tp_req_swr(qp, wr);
	const uint32_t snd = req->snd, snd_psn = req->snd_psn, rd_out = req->rd_out, since_ackreq = req->since_ackreq;
	bool sent;

	req->snd = wr;
	req->snd_psn = psn;
	if (swr->answered)
		sent = send_answered(qp, swr, end);
	else if (tp_psn_dist(end, psn) > 1)
		sent = send_merged(qp, wr, tp_psn_dist(end, psn));
	else
		sent = send_pieces(qp, swr, 1) != 0;
	req->snd = snd;
	req->snd_psn = snd_psn;
	req->rd_out = rd_out;
	req->since_ackreq = since_ackreq;
	return sent;
}

static bool sending(const struct tp_qp *qp)
{
	return qp->type->send != NULL && (qp->attr.state == TP_QPS_RTS || qp->attr.state == TP_QPS_SQD) &&
		!qp->req.rnr_wait;
}

uint32_t tp_req_tx(struct tp_qp *qp, uint32_t budget, bool *more)
{
	uint32_t sent = 0;

	if (qp->ext != NULL && sending(qp))
		sent = tp_sr_tx(qp, budget, more);
	while (sending(qp)) {
		struct tp_swr *swr;
		uint32_t n;

		if (sent == budget) {
			*more = true;
			break;
		}
		swr = next_swr(qp);
		if (swr == NULL)
			break;
		n = qp->type->send(qp, swr, budget - sent);
		sent += n;
		if (n == 0 && swr->err == TP_WC_SUCCESS) {
			/* Out of packet buffers: try again in the next turn. */
			*more = true;
			break;
		}
	}
	if (sent == 0 || qp->attr.state == TP_QPS_ERR)
		return sent;
	if (qp->ext != NULL)
		tp_sr_probe(qp);
	if (qp->type->acknowledged)
		tp_recovery_sent(qp);
	else
		tp_req_check_drained(qp);
	return sent;
}
