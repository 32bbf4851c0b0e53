/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable connections, receiving side (IBTA vol. 1, 9.8.2): the checks of RC without its answers. Nothing is
 * asked for again: a message of which a packet is missing is given up, and so is one that is refused. Its
 * receive work request waits for the next message (9.9.3, class D), unless it is of a shared queue, which has
 * other users: then it completes with an error (class E), and the queue pair goes on.
 */
#include "tp_hold.h"
#include "tp_resp.h"

static const struct outcome {
	enum base_drop drop;            /* of the packet, and the message with it */
	enum tp_wc_status recv_status;  /* a local fault (9.9.3, class A): ends the queue pair */
} outcomes[] = {
	[TP_V_STILL_AHEAD] = {.drop = BASE_DROP_OUT_OF_ORDER},
	[TP_V_RNR] = {.drop = BASE_DROP_NO_RECV},
	[TP_V_INV_REQ] = {.drop = BASE_DROP_INVALID_REQUEST},
	[TP_V_TOO_LONG] = {.drop = BASE_DROP_INVALID_REQUEST},
	[TP_V_REM_ACCESS] = {.drop = BASE_DROP_REMOTE_ACCESS},
	[TP_V_RECV_MEM] = {.recv_status = TP_WC_LOC_PROT_ERR},
	[TP_V_RECV_BAD] = {.recv_status = TP_WC_LOC_QP_OP_ERR},
};

static void cut_message(struct tp_qp *qp)
{
	if (qp->resp.msg != TP_MSG_NONE)
		qp->tp->counters.cut_messages++;
	qp->resp.msg = TP_MSG_NONE;
	/* Nothing is written to its memory once it is complete. */
	if (qp->init.srq != NULL && qp->resp.have_recv && tp_mem_flush_for(qp) == 0)
		tp_qp_complete_recv(qp, TP_WC_REM_INV_REQ_ERR, NULL, 0);
}

/* The start of a message is taken at any PSN; what follows has to come without a gap. */
static enum tp_verdict check_order(struct tp_request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	uint8_t msg = wire_op_is(r->info, WIRE_OP_SEND) ? TP_MSG_SEND : TP_MSG_WRITE;
	bool start = wire_op_is(r->info, WIRE_OP_START);

	if (start || r->pkt->psn != resp->epsn || msg != resp->msg)
		cut_message(r->qp);
	if (r->qp->attr.state == TP_QPS_ERR)
		return TP_V_DONE;
	resp->epsn = r->pkt->psn;
	return start || resp->msg != TP_MSG_NONE ? TP_V_OK : TP_V_STILL_AHEAD;
}

static enum tp_verdict judge(struct tp_request *r)
{
	return check_order(r)
		?: tp_msg_check_operation(r)
		?: tp_msg_check_receive(r)
		?: tp_msg_check_length(r)
		?: tp_msg_check_target(r)
		?: tp_msg_execute(r);
}

void tp_uc_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame)
{
	struct tp_request r = {.qp = qp, .pkt = pkt, .payload = frame + pkt->payload_off,
		.info = wire_opinfo(pkt->opcode)};
	enum tp_verdict verdict = judge(&r);

	if (verdict == TP_V_OK || verdict == TP_V_DONE)
		return;
	if (outcomes[verdict].recv_status != TP_WC_SUCCESS) {
		tp_qp_recv_error(qp, outcomes[verdict].recv_status);
		return;
	}
	tp_drop(qp->tp, outcomes[verdict].drop);
	cut_message(qp);
	qp->resp.epsn = base_psn_add(pkt->psn, 1);
}

void tp_uc_gave_up(struct tp_qp *qp)
{
	struct tp_hold *hold = &qp->resp.hold;
	struct rte_mbuf *m = tp_hold_first(hold);

	if (m == NULL)
		return;
	/* As if it had come now: what is missing is lost. */
	tp_hold_take(hold, m);
	tp_uc_rx(qp, TP_PKT(m), rte_pktmbuf_mtod(m, const uint8_t *));
	tp_hold_done(hold, m);
	tp_hold_requests(qp);
	tp_mem_flush(qp->tp);
}
