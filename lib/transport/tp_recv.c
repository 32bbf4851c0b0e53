/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive work requests: taken one at a time, into private memory, when a message needs one. */
#include <errno.h>

#include "tp_internal.h"

static const struct tp_sge *sgl_of(const struct tp_qp *qp)
{
	return (const struct tp_sge *)(const void *)(qp->resp.recv + 1);
}

static int fetch(struct tp_qp *qp)
{
	struct tp_resp *resp = &qp->resp;
	const struct tp *tp = qp->tp;

	memset(resp->recv, 0, sizeof(*resp->recv));
	if (resp->srq != NULL)
		return tp_srq_fetch(resp->srq, resp->recv, resp->recv_slot_bytes);
	return tp->ops.recv_fetch(tp->env, qp->init.cookie, resp->recv, resp->recv_slot_bytes);
}

int tp_recv_take(struct tp_qp *qp)
{
	struct tp_resp *resp = &qp->resp;
	int rc;

	if (resp->have_recv)
		return 1;
	rc = fetch(qp);
	if (rc == 0)
		return 0;
	resp->have_recv = true;
	if (rc < 0 || resp->recv->num_sge > resp->recv_max_sge)
		return -EINVAL;
	resp->recv_capacity = 0;
	for (uint32_t i = 0; i < resp->recv->num_sge; i++)
		resp->recv_capacity += sgl_of(qp)[i].bytes;
	return 1;
}

bool tp_recv_writable(const struct tp_qp *qp)
{
	return tp_mem_sgl_ok(qp->tp, qp->resp.recv_pd, sgl_of(qp), qp->resp.recv->num_sge, TP_ACCESS_LOCAL_WRITE);
}

int tp_recv_place(struct tp_qp *qp, uint32_t off, const uint8_t *data, uint32_t bytes)
{
	return tp_mem_scatter(qp, TP_ROLE_RESPONDER, sgl_of(qp), qp->resp.recv->num_sge, off, data, bytes);
}

bool tp_recv_flush_one(struct tp_qp *qp)
{
	/* What is posted to a shared queue is there for others. */
	if (qp->type->xrc || qp->init.srq != NULL || fetch(qp) == 0)
		return false;
	tp_qp_complete_recv(qp, TP_WC_WR_FLUSH_ERR, NULL, 0);
	return true;
}
