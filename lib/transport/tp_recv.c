/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive work requests: taken one at a time, into private memory, when a message needs one. */
#include <errno.h>

#include "tp_internal.h"

static const struct tp_sge *sgl_of(const struct tp_qp *qp)
{
	return (const struct tp_sge *)(const void *)(qp->resp.recv + 1);
}

int tp_recv_take(struct tp_qp *qp)
{
	struct tp_resp *resp = &qp->resp;
	struct tp *tp = qp->tp;
	int rc;

	if (resp->have_recv)
		return 1;
	memset(resp->recv, 0, sizeof(*resp->recv));
	rc = tp->ops.recv_fetch(tp->env, qp->init.cookie, resp->recv, resp->recv_slot_bytes);
	if (rc == 0)
		return 0;
	resp->have_recv = true;
	if (rc < 0 || resp->recv->num_sge > qp->init.max_recv_sge)
		return -EINVAL;
	resp->recv_capacity = 0;
	for (uint32_t i = 0; i < resp->recv->num_sge; i++)
		resp->recv_capacity += sgl_of(qp)[i].bytes;
	return 1;
}

bool tp_recv_writable(const struct tp_qp *qp)
{
	return tp_mem_sgl_ok(qp, sgl_of(qp), qp->resp.recv->num_sge, TP_ACCESS_LOCAL_WRITE);
}

int tp_recv_place(struct tp_qp *qp, uint32_t off, const uint8_t *data, uint32_t bytes)
{
	return tp_mem_scatter(qp, TP_ROLE_RESPONDER, sgl_of(qp), qp->resp.recv->num_sge, off, data, bytes);
}
