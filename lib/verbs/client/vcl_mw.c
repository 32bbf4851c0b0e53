/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows (IB 10.6.7): keys of their own for parts of regions, bound by work requests. */
#include <stdlib.h>

#include "vcl_post.h"

bool vcl_has_windows(struct ibv_context *ctx)
{
	const uint32_t caps = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;

	return (vcl_context(ctx)->attr.cap_flags & caps) != 0;
}

struct ibv_mw *vcl_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct vc_request req = {.op = VC_ALLOC_MW};
	struct vc_reply reply;
	struct ibv_mw *mw = NULL;
	int err;

	if (!vcl_has_windows(pd->context))
		err = -EOPNOTSUPP;
	else
		err = type == IBV_MW_TYPE_1 || type == IBV_MW_TYPE_2 ? 0 : -EINVAL;
	if (err == 0) {
		mw = calloc(1, sizeof(*mw));
		err = mw == NULL ? -ENOMEM : 0;
	}
	req.alloc_mw.pd = pd->handle;
	req.alloc_mw.type = type;
	if (err == 0)
		err = vcl_call(&vcl_context(pd->context)->conn, &req, &reply);
	if (err != 0) {
		free(mw);
		errno = -err;
		return NULL;
	}
	mw->context = pd->context;
	mw->pd = pd;
	mw->type = type;
	mw->handle = reply.mr.handle;
	mw->rkey = reply.mr.key;
	return mw;
}

int vcl_dealloc_mw(struct ibv_mw *mw)
{
	int err = vcl_call_handle(&vcl_context(mw->context)->conn, VC_DEALLOC_MW, mw->handle, NULL);

	if (err != 0 && err != -EIO)
		return vcl_errno(err);
	free(mw);
	return 0;
}

/* ---- bound ---- */

#define WINDOW_RIGHTS \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED)

/* Programs pass the rights of the region, with the local one that no window can give: it changes nothing. */
int vcl_check_bind(const struct ibv_qp *qp, const struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
{
	const unsigned int known = WINDOW_RIGHTS | IBV_ACCESS_LOCAL_WRITE;

	if (mw->context != qp->context || (info->mr != NULL && info->mr->context != qp->context))
		return -EINVAL;
	return (info->mw_access_flags & ~known) == 0 ? 0 : -EINVAL;
}

/* Without region or length the window is bound to nothing. */
void vcl_write_bind(struct tp_send_wqe *wqe, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	wqe->rkey = rkey;
	wqe->remote_addr = info->addr;
	wqe->bind.bytes = info->length;
	wqe->bind.mr_key = info->mr != NULL ? info->mr->lkey : 0;
	wqe->bind.access = info->mw_access_flags & WINDOW_RIGHTS;
}

/* Binds a window of type 1: with each bind it gets its next key, which is the program's to hand out at once. */
int vcl_bind_mw(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const unsigned int flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED;
	struct vcl_qp *qp = vcl_qp(ibv);
	struct tp_send_wqe *wqe;
	int err = vcl_may_send(ibv);

	if (err == 0)
		err = vcl_check_bind(ibv, mw, &bind->bind_info);
	if (err == 0 && ((bind->send_flags & ~flags) != 0 || ibv->qp_type == IBV_QPT_UD))
		err = -EINVAL;
	if (err == 0 && mw->pd != ibv->pd)
		err = -EPERM;
	if (err != 0)
		return vcl_errno(err);
	pthread_spin_lock(&qp->sq.lock);
	wqe = vcl_free_slot(&qp->sq);
	if (wqe != NULL) {
		*wqe = (struct tp_send_wqe){
			.wr_id = bind->wr_id, .opcode = TP_WR_BIND_MW, .flags = (uint16_t)bind->send_flags};
		mw->rkey = ibv_inc_rkey(mw->rkey);
		vcl_write_bind(wqe, mw->rkey, &bind->bind_info);
		qp->sq.prod++;
		vcl_ring_doorbell(qp, &qp->sq);
	}
	pthread_spin_unlock(&qp->sq.lock);
	return vcl_errno(wqe != NULL ? 0 : -ENOMEM);
}
