/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is XRC's own at the responder (IBTA vol. 1, annex A14): every request names the shared receive queue it is
 * for. That one gives the receive work requests, the completion queue and the domain of the keys, so that one
 * target queue pair serves all processes that have opened its XRC domain.
 */
#include "tp_resp.h"

enum tp_verdict tp_xrc_check_srq(struct tp_request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	struct tp_srq *srq;

	srq = tp_srq_find(r->qp->tp, r->pkt->xrceth & BASE_PSN_MASK);
	if (srq == NULL || srq->init.xrcd != r->qp->init.xrcd)
		return TP_V_BAD_SRQ;
	/* All of a message is for the same one. */
	if (resp->msg != TP_MSG_NONE && resp->srq != srq)
		return TP_V_INV_REQ;
	resp->srq = srq;
	resp->pd = srq->init.pd;
	resp->recv_pd = srq->init.pd;
	return TP_V_OK;
}
