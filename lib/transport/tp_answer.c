/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Responder, sending side. Answers leave in the order of their requests: an ACK or NAK waits until the
 * READ and atomic answers before it are out, because it acknowledges them too (IBTA vol. 1, 9.7.5.1.2).
 */
#include "tp_ext.h"
#include "tp_internal.h"

void tp_answer_clear(struct tp_qp *qp)
{
	struct tp_resp *resp = &qp->resp;
	struct tp_saved *saved;

	while ((saved = TAILQ_FIRST(&resp->answers)) != NULL)
		tp_answer_cancel(qp, saved);
	resp->ack_pending = false;
	resp->nak_pending = false;
}

void tp_answer_cancel(struct tp_qp *qp, struct tp_saved *saved)
{
	if (!saved->queued)
		return;
	TAILQ_REMOVE(&qp->resp.answers, saved, link);
	saved->queued = false;
}

void tp_answer_queue(struct tp_qp *qp, struct tp_saved *saved, bool replay)
{
	tp_answer_cancel(qp, saved);
	saved->replay = replay;
	saved->queued = true;
	TAILQ_INSERT_TAIL(&qp->resp.answers, saved, link);
	tp_activate(qp);
}

/* ---- ACK and NAK ---- */

static void count_nak(struct tp_qp *qp, uint8_t syndrome)
{
	if (syndrome == TP_SYN_NAK_SEQ)
		TP_COUNT(qp, seq_naks_sent);
	else if ((syndrome & TP_SYN_NAK_SEQ) == TP_SYN_RNR)
		TP_COUNT(qp, rnr_naks_sent);
	else if (syndrome != TP_SYN_ACK)
		TP_COUNT(qp, other_naks_sent);
}

static void route(struct tp_qp *qp, struct wire_pkt *pkt)
{
	if (qp->ext != NULL)
		tp_ev_route_answer(qp->ext, pkt);
	else
		pkt->udp_sport = tp_port_of(qp->attr.av.udp_sport, qp->resp.moves);
}

static bool send_aeth(struct tp_qp *qp, uint32_t psn, uint8_t syndrome)
{
	struct rte_mbuf *m = tp_pkt_begin(qp, tp_req_opcode(qp, WIRE_RC_ACK), psn);

	if (m == NULL)
		return false;
	TP_PKT(m)->syndrome = syndrome;
	TP_PKT(m)->msn = qp->resp.msn;
	route(qp, TP_PKT(m));
	tp_pkt_send(qp, m, NULL, 0);
	count_nak(qp, syndrome);
	return true;
}

/* Sends the one acknowledgement that is due behind all answers; false: no buffer, later. */
static bool send_due(struct tp_qp *qp)
{
	struct tp_resp *resp = &qp->resp;
	uint8_t syndrome = resp->nak_pending ? resp->nak_syndrome : TP_SYN_ACK;
	uint32_t psn = resp->nak_pending ? resp->nak_psn : base_psn_add(resp->epsn, BASE_PSN_MASK);

	if (!resp->nak_pending && !resp->ack_pending)
		return true;
	if (!send_aeth(qp, psn, syndrome))
		return false;
	resp->nak_pending = false;
	resp->ack_pending = false;
	resp->since_ack = 0;
	if (resp->failed) {
		tp_qp_event(qp, (enum tp_event)resp->fail_event);
		tp_qp_error(qp, TP_WC_SUCCESS, (enum tp_wc_status)resp->fail_status);
	}
	return true;
}

/* ---- READ and atomic answers ---- */

/* Of an atomic the value from before, of an ATOMIC WRITE a READ response without data (annex A19). */
static bool send_atomic(struct tp_qp *qp, struct tp_saved *saved)
{
	uint8_t opcode = saved->kind == TP_SAVED_ATOMIC ? WIRE_RC_ATOMIC_ACK : WIRE_RC_READ_RESP_ONLY;
	struct rte_mbuf *m = tp_pkt_begin(qp, tp_req_opcode(qp, opcode), saved->psn);

	if (m == NULL)
		return false;
	TP_PKT(m)->syndrome = TP_SYN_ACK;
	TP_PKT(m)->msn = saved->replay ? qp->resp.msn : saved->msn;
	TP_PKT(m)->atomic_orig = saved->orig;
	route(qp, TP_PKT(m));
	tp_pkt_send(qp, m, NULL, 0);
	tp_answer_cancel(qp, saved);
	return true;
}

static uint8_t read_opcode(bool first, bool last)
{
	if (first)
		return last ? WIRE_RC_READ_RESP_ONLY : WIRE_RC_READ_RESP_FIRST;
	return last ? WIRE_RC_READ_RESP_LAST : WIRE_RC_READ_RESP_MIDDLE;
}

static bool send_read_piece(struct tp_qp *qp, struct tp_saved *saved, const uint8_t *data, uint32_t bytes)
{
	bool first = saved->a_next == 0, last = saved->a_next + 1 == saved->a_n;
	uint8_t opcode = tp_req_opcode(qp, read_opcode(first, last));
	struct rte_mbuf *m = tp_pkt_begin(qp, opcode, base_psn_add(saved->a_psn, saved->a_next));

	if (m == NULL)
		return false;
	TP_PKT(m)->syndrome = TP_SYN_ACK;
	TP_PKT(m)->msn = saved->replay ? qp->resp.msn : saved->msn;
	route(qp, TP_PKT(m));
	tp_pkt_send(qp, m, data, bytes);
	saved->a_next++;
	if (last)
		tp_answer_cancel(qp, saved);
	return true;
}

/* The region is looked up again for every piece: it may have gone since the request. */
static const uint8_t *read_source(struct tp_qp *qp, const struct tp_saved *saved, uint64_t va, uint32_t bytes,
	uint8_t *nak)
{
	const struct tp_mr *mr;

	*nak = TP_SYN_NAK_REM_ACCESS;
	mr = tp_mr_check_again(qp, saved->pd, saved->rkey, TP_ACCESS_REMOTE_READ, va, bytes);
	if (mr == NULL)
		return NULL;
	*nak = TP_SYN_NAK_REM_OP;
	return tp_mem_fetch(qp->tp, mr, va, bytes);
}

/* The rest of the answer cannot be had: NAK in its place, and nothing after it. */
static void fail_read(struct tp_qp *qp, const struct tp_saved *saved, uint8_t nak)
{
	struct tp_resp *resp = &qp->resp;
	uint32_t psn = base_psn_add(saved->a_psn, saved->a_next);

	tp_answer_clear(qp);
	resp->failed = true;
	resp->nak_pending = true;
	resp->nak_syndrome = nak;
	resp->nak_psn = psn;
	resp->fail_status = TP_WC_SUCCESS;
	resp->fail_event = nak == TP_SYN_NAK_REM_ACCESS ? TP_EVENT_QP_ACCESS_ERR : TP_EVENT_QP_FATAL;
}

/* Emits up to n packets of a READ answer with one read of client memory; how many were sent. */
static uint32_t send_read(struct tp_qp *qp, struct tp_saved *saved, uint32_t n)
{
	uint32_t off = saved->a_next * qp->mtu, sent = 0, bytes;
	const uint8_t *data = NULL;
	uint8_t nak;

	n = tp_min(n, TP_BURST_PKTS);
	bytes = (uint32_t)RTE_MIN((uint64_t)n * qp->mtu, (uint64_t)(saved->a_bytes - off));
	if (bytes != 0) {
		data = read_source(qp, saved, saved->a_va + off, bytes, &nak);
		if (data == NULL) {
			fail_read(qp, saved, nak);
			return 0;
		}
	}
	do {
		uint32_t piece = tp_min(bytes, qp->mtu);

		if (!send_read_piece(qp, saved, data, piece))
			break;
		if (piece != 0)
			data += piece;
		bytes -= piece;
		sent++;
	} while (bytes > 0);
	return sent;
}

/* ---- turns ---- */

static bool sendable(const struct tp_qp *qp)
{
	return qp->attr.state == TP_QPS_RTR || qp->attr.state == TP_QPS_RTS || qp->attr.state == TP_QPS_SQD;
}

static bool something_due(const struct tp_qp *qp)
{
	return !TAILQ_EMPTY(&qp->resp.answers) || qp->resp.ack_pending || qp->resp.nak_pending ||
		(qp->ext != NULL && tp_sack_is_due(qp));
}

void tp_answer_now(struct tp_qp *qp)
{
	struct tp_resp *resp = &qp->resp;
	struct tp_saved *saved;

	if (!sendable(qp))
		return;
	if (qp->ext != NULL)
		tp_sack_send(qp);
	while ((saved = TAILQ_FIRST(&resp->answers)) != NULL && saved->kind != TP_SAVED_READ) {
		if (!send_atomic(qp, saved))
			break;
	}
	if (TAILQ_EMPTY(&resp->answers))
		send_due(qp);
	if (sendable(qp) && something_due(qp))
		tp_activate(qp);
}

uint32_t tp_answer_tx(struct tp_qp *qp, uint32_t budget, bool *more)
{
	struct tp_saved *saved;
	uint32_t sent = 0;

	if (!sendable(qp))
		return 0;
	if (qp->ext != NULL)
		tp_sack_send(qp);
	while (sent < budget && (saved = TAILQ_FIRST(&qp->resp.answers)) != NULL) {
		uint32_t n;

		if (saved->kind != TP_SAVED_READ)
			n = send_atomic(qp, saved) ? 1 : 0;
		else
			n = send_read(qp, saved, budget - sent);
		sent += n;
		if (n == 0)
			break;
	}
	if (sent < budget && TAILQ_EMPTY(&qp->resp.answers) && (qp->resp.ack_pending || qp->resp.nak_pending))
		sent += send_due(qp) ? 1 : 0;
	if (sendable(qp) && something_due(qp))
		*more = true;
	return sent;
}
