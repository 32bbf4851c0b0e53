/* SPDX-License-Identifier: BSD-3-Clause */
/* Requester, receiving side: acknowledgements, READ responses and atomic answers (IBTA vol. 1, 9.7.3, 9.7.5). */
#include "tp_ext.h"
#include "tp_flow.h"
#include "tp_internal.h"
#include "tp_recovery.h"

#define SYN_RESERVED  0x80
#define SYN_TYPE_MASK 0x60
#define SYN_CODE_MASK 0x1f

enum { SYN_TYPE_ACK = 0x00, SYN_TYPE_RNR = 0x20, SYN_TYPE_NAK = 0x60 };

static void move_una(struct tp_qp *qp, uint32_t psn)
{
	struct tp_req *req = &qp->req;

	if (qp->ext != NULL)
		tp_sr_moved(qp, psn);
	else if (qp->flow != NULL)
		tp_flow_acked(qp, psn);
	/* A late answer may pass what is about to be sent again. */
	if (tp_psn_dist(psn, req->una) > tp_psn_dist(req->snd_psn, req->una))
		req->snd_psn = psn;
	req->una = psn;
}

/* The answer at una came: is its request, if it was not sent before going back, answered with that. */
static void take_answer(struct tp_qp *qp, const struct tp_swr *swr)
{
	struct tp_req *req = &qp->req;
	bool asked = req->una != req->snd_psn;
	uint32_t next = base_psn_add(req->una, 1);

	if (asked && next == tp_piece_end(swr, req->una))
		req->rd_out--;
	if (qp->ext != NULL)
		qp->ext->n_asked--;
	move_una(qp, next);
}

/* Takes everything before end as acknowledged, up to the first READ or atomic without its answer.
 * Whether that was all. */
static bool ack_to(struct tp_qp *qp, uint32_t end)
{
	struct tp_req *req = &qp->req;

	while (req->una != end && req->head != req->tail && qp->attr.state != TP_QPS_ERR) {
		const struct tp_swr *swr = tp_req_swr(qp, req->head);
		uint32_t swr_end = base_psn_add(swr->psn, swr->n_psn);

		if (swr->answered)
			return false;
		if (tp_psn_dist(end, req->una) < tp_psn_dist(swr_end, req->una)) {
			move_una(qp, end);
			return true;
		}
		move_una(qp, swr_end);
		tp_req_complete_head(qp, TP_WC_SUCCESS);
	}
	return req->una == end;
}

/* ack_to() with what follows from it; whether the packet that brought it may be looked at further. */
static bool advance_to(struct tp_qp *qp, uint32_t end)
{
	uint32_t before = qp->req.una;
	bool whole = ack_to(qp, end);

	if (qp->attr.state == TP_QPS_ERR)
		return false;
	if (qp->req.una != before)
		tp_recovery_progress(qp);
	/* 9.7.5.2.1: an answer beyond an unanswered READ or atomic tells that the answer to that was lost. */
	if (!whole)
		tp_recovery_gap(qp);
	return whole && qp->attr.state != TP_QPS_ERR;
}

void tp_comp_received(struct tp_qp *qp, uint32_t end)
{
	uint32_t before = qp->req.una;

	(void)ack_to(qp, end);
	if (qp->attr.state == TP_QPS_ERR)
		return;
	if (qp->req.una != before)
		tp_recovery_progress(qp);
	tp_req_check_drained(qp);
}

/* ---- ACK and NAK ---- */

/* NAK codes in order (table 45). */
static void handle_nak(struct tp_qp *qp, uint8_t code)
{
	/* Code 4 is of RD, and of XRC, where it tells of a bad shared receive queue or domain (annex A14). */
	const uint8_t codes = qp->type->xrc ? 5 : 4;
	static const uint8_t fatal[] = {
		[1] = TP_WC_REM_INV_REQ_ERR,
		[2] = TP_WC_REM_ACCESS_ERR,
		[3] = TP_WC_REM_OP_ERR,
		[4] = TP_WC_REM_INV_RD_REQ_ERR,
	};

	if (code == 0) {
		TP_COUNT(qp, seq_naks_received);
		tp_recovery_seq_nak(qp);
		return;
	}
	tp_qp_error(qp, code < codes ? (enum tp_wc_status)fatal[code] : TP_WC_BAD_RESP_ERR, TP_WC_SUCCESS);
}

static void handle_ack(struct tp_qp *qp, const struct wire_pkt *pkt)
{
	uint8_t type = pkt->syndrome & SYN_TYPE_MASK, code = pkt->syndrome & SYN_CODE_MASK;
	uint32_t end = type == SYN_TYPE_ACK ? base_psn_add(pkt->psn, 1) : pkt->psn;

	if ((pkt->syndrome & SYN_RESERVED) != 0 ||
		(type != SYN_TYPE_ACK && type != SYN_TYPE_RNR && type != SYN_TYPE_NAK)) {
		tp_drop(qp->tp, BASE_DROP_UNSUPPORTED);
		return;
	}
	if (!advance_to(qp, end))
		return;
	if (type == SYN_TYPE_NAK)
		handle_nak(qp, code);
	if (type != SYN_TYPE_RNR)
		return;
	TP_COUNT(qp, rnr_naks_received);
	tp_recovery_rnr(qp, code);
}

/* ---- READ responses and atomic answers ---- */

static enum tp_wc_status place(struct tp_qp *qp, uint32_t off, const uint8_t *data, uint32_t bytes)
{
	const struct tp_send_wqe *wqe = tp_req_wqe(qp, qp->req.head);
	const struct tp_sge *sge = (const struct tp_sge *)(const void *)(wqe + 1);

	return tp_mem_scatter(qp, TP_ROLE_REQUESTER, sge, wqe->num_sge, off, data, bytes) == 0 ? TP_WC_SUCCESS
												  : TP_WC_LOC_PROT_ERR;
}

static void answer_complete(struct tp_qp *qp)
{
	if (tp_mem_flush_for(qp) == 0)
		tp_req_complete_head(qp, TP_WC_SUCCESS);
}

static enum tp_wc_status take_atomic(struct tp_qp *qp, const struct wire_pkt *pkt)
{
	uint8_t wr = tp_req_wqe(qp, qp->req.head)->opcode;
	uint64_t orig = pkt->atomic_orig;
	enum tp_wc_status status;

	if ((wr != TP_WR_CMP_SWAP && wr != TP_WR_FETCH_ADD) || pkt->payload_bytes != 0)
		return TP_WC_BAD_RESP_ERR;
	status = place(qp, 0, (const uint8_t *)&orig, sizeof(orig));
	if (status != TP_WC_SUCCESS)
		return status;
	take_answer(qp, tp_req_swr(qp, qp->req.head));
	answer_complete(qp);
	return TP_WC_SUCCESS;
}

/* Whether a READ response packet is one that may stand at its PSN (9.7.5.1.3: opcode and length). Answers to
 * a request for a piece and to a later one for its rest may both be on their way. */
static bool read_resp_ok(const struct tp_qp *qp, const struct tp_swr *swr, const struct wire_pkt *pkt, uint32_t left)
{
	const struct wire_opinfo *info = wire_opinfo(pkt->opcode);
	bool starts = wire_op_is(info, WIRE_OP_START), ends = wire_op_is(info, WIRE_OP_END);
	bool piece = tp_psn_dist(pkt->psn, swr->psn) % TP_READ_PKTS == 0;

	/* With TP_EXT_SACK any part of a piece is asked for again, and answered, for itself. */
	if (qp->ext != NULL)
		return pkt->payload_bytes == tp_min(left, qp->mtu) && ((pkt->payload_bytes + pkt->pad) & 3) == 0;
	if (piece ? !starts : (starts && pkt->psn != swr->asked_psn))
		return false;
	if (ends != (base_psn_add(pkt->psn, 1) == tp_piece_end(swr, pkt->psn)))
		return false;
	return pkt->payload_bytes == tp_min(left, qp->mtu) && ((pkt->payload_bytes + pkt->pad) & 3) == 0;
}

static enum tp_wc_status take_read(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *payload)
{
	struct tp_req *req = &qp->req;
	const struct tp_swr *swr = tp_req_swr(qp, req->head);
	uint32_t off = tp_psn_dist(pkt->psn, swr->psn) * qp->mtu;
	enum tp_wc_status status;

	if (tp_req_wqe(qp, req->head)->opcode != TP_WR_READ || !read_resp_ok(qp, swr, pkt, swr->bytes - off))
		return TP_WC_BAD_RESP_ERR;
	status = place(qp, off, payload, pkt->payload_bytes);
	if (status != TP_WC_SUCCESS)
		return status;
	take_answer(qp, swr);
	if (req->una == base_psn_add(swr->psn, swr->n_psn))
		answer_complete(qp);
	return TP_WC_SUCCESS;
}

/* An ATOMIC WRITE is answered by a READ response without data (annex A19). */
static enum tp_wc_status take_stored(struct tp_qp *qp, const struct wire_pkt *pkt)
{
	if (pkt->opcode != WIRE_RC_READ_RESP_ONLY || pkt->payload_bytes != 0 || pkt->pad != 0)
		return TP_WC_BAD_RESP_ERR;
	take_answer(qp, tp_req_swr(qp, qp->req.head));
	answer_complete(qp);
	return TP_WC_SUCCESS;
}

static void handle_answer(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *payload)
{
	enum tp_wc_status status = TP_WC_BAD_RESP_ERR;
	bool has_aeth = (pkt->hdrs & WIRE_HDR_AETH) != 0;

	if (!advance_to(qp, pkt->psn))
		return;
	if (has_aeth && (pkt->syndrome & (SYN_RESERVED | SYN_TYPE_MASK)) != SYN_TYPE_ACK)
		status = TP_WC_BAD_RESP_ERR;
	else if ((pkt->opcode & WIRE_OPERATION_MASK) == WIRE_RC_ATOMIC_ACK)
		status = take_atomic(qp, pkt);
	else if (tp_req_wqe(qp, qp->req.head)->opcode == TP_WR_ATOMIC_WRITE)
		status = take_stored(qp, pkt);
	else
		status = take_read(qp, pkt, payload);
	if (status != TP_WC_SUCCESS)
		tp_qp_error(qp, status, TP_WC_SUCCESS);
	if (qp->attr.state == TP_QPS_ERR)
		return;
	tp_recovery_progress(qp);
	/* What comes after it and needs no answer may have arrived long ago. */
	if (qp->ext != NULL && base_psn_diff(qp->ext->cum, qp->req.una) > 0)
		tp_comp_received(qp, qp->ext->cum);
}

/* The first PSN before `end` whose answer is missing; `end`: none is. */
static uint32_t first_missing(const struct tp_qp *qp, uint32_t end)
{
	const struct tp_req *req = &qp->req;
	uint32_t n = tp_psn_dist(end, req->una);

	for (uint32_t i = req->head; i != req->tail; i++) {
		const struct tp_swr *swr = tp_req_swr(qp, i);
		uint32_t from = i == req->head ? 0 : tp_psn_dist(swr->psn, req->una);

		if (from >= n)
			break;
		if (swr->answered)
			return base_psn_add(req->una, from);
	}
	return end;
}

bool tp_comp_waits(struct tp_qp *qp, const struct wire_pkt *pkt)
{
	const struct tp_req *req = &qp->req;
	bool ack = tp_is_ack(pkt) && (pkt->syndrome & SYN_TYPE_MASK) == SYN_TYPE_ACK;
	uint32_t end = ack ? base_psn_add(pkt->psn, 1) : pkt->psn, missing;

	if (tp_psn_dist(pkt->psn, req->una) >= tp_psn_dist(req->snd_max, req->una))
		return false;
	missing = first_missing(qp, end);
	if (missing == end)
		return false;
	/* What it says of the requests before that needs no waiting. */
	if (missing != req->una)
		advance_to(qp, missing);
	return qp->attr.state != TP_QPS_ERR;
}

void tp_comp_gave_up(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct tp_qp *qp = arg;

	(void)timer;
	(void)now_ns;
	if (qp->ext != NULL)
		tp_rto_ask(qp, false);
	else
		tp_recovery_gap(qp);
}

void tp_comp_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *payload)
{
	const struct tp_req *req = &qp->req;

	if (tp_psn_dist(pkt->psn, req->una) >= tp_psn_dist(req->snd_max, req->una)) {
		tp_drop(qp->tp, BASE_DROP_ACK_WINDOW);
		return;
	}
	if (tp_is_ack(pkt))
		handle_ack(qp, pkt);
	else
		handle_answer(qp, pkt, payload);
	if (qp->attr.state != TP_QPS_ERR)
		tp_req_check_drained(qp);
}
