/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues, and multicast groups that queue pairs listen to. */
#include <stdlib.h>
#include <string.h>

#include "vcl_ibv.h"

static int place(struct vcl_context *ctx, struct vcl_srq *srq, const struct vc_reply *reply)
{
	if (reply->srq.max_sge > TP_MAX_SGE)
		return -EPROTO;
	srq->ring.max_sge = reply->srq.max_sge;
	return vcl_place_ring(ctx, &srq->ring, reply->srq.offset, reply->srq.depth, reply->srq.slot_bytes,
		tp_recv_slot_bytes(reply->srq.max_sge));
}

static int create_at_daemon(struct vcl_context *ctx, struct vcl_srq *srq, const struct ibv_srq_attr *attr)
{
	struct vc_request req = {.op = VC_CREATE_SRQ};
	struct vc_reply reply;
	int err;

	req.create_srq.pd = srq->ibv.pd->handle;
	req.create_srq.max_wr = attr->max_wr;
	req.create_srq.max_sge = attr->max_sge;
	req.create_srq.cookie = srq->cookie;
	err = vcl_call(&ctx->conn, &req, &reply);
	if (err != 0)
		return err;
	srq->ibv.handle = reply.srq.handle;
	err = place(ctx, srq, &reply);
	if (err != 0)
		(void)vcl_call_handle(&ctx->conn, VC_DESTROY_SRQ, reply.srq.handle, NULL);
	return err;
}

/* The limit in the attributes is not looked at: it is armed by ibv_modify_srq() (IB 10.2.9.1). */
struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct vcl_context *ctx = vcl_context(pd->context);
	struct vcl_srq *srq = calloc(1, sizeof(*srq));
	int err;

	if (srq == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = init->srq_context;
	srq->ibv.pd = pd;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	srq->cookie = vcl_add_cookie(ctx, srq);
	err = srq->cookie == 0 ? -ENOMEM : create_at_daemon(ctx, srq, &init->attr);
	if (err != 0) {
		vcl_remove_cookie(ctx, srq->cookie);
		free(srq);
		errno = -err;
		return NULL;
	}
	init->attr.max_wr = srq->ring.depth;
	init->attr.max_sge = srq->ring.max_sge;
	return &srq->ibv;
}

/* Reached only for what the plain call cannot say: other types, for XRC and tag matching. */
struct ibv_srq *vcl_create_srq_ex(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr)
{
	(void)ctx;
	errno = EINVAL;
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 && attr->srq_type != IBV_SRQT_BASIC)
		errno = EOPNOTSUPP;
	return NULL;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int attr_mask)
{
	struct vc_request req = {.op = VC_MODIFY_SRQ};
	uint32_t mask = (uint32_t)attr_mask;

	if ((mask & ~(uint32_t)(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0)
		return vcl_errno(-EINVAL);
	if ((mask & IBV_SRQ_MAX_WR) != 0) /* the device does not resize them */
		return vcl_errno(-EOPNOTSUPP);
	if ((mask & IBV_SRQ_LIMIT) != 0 && attr->srq_limit > vcl_srq(srq)->ring.depth)
		return vcl_errno(-EINVAL);
	req.modify_srq.handle = srq->handle;
	req.modify_srq.mask = mask;
	req.modify_srq.limit = attr->srq_limit;
	return vcl_errno(vcl_call(&vcl_context(srq->context)->conn, &req, NULL));
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct vc_reply reply;
	int err = vcl_call_handle(&vcl_context(srq->context)->conn, VC_QUERY_SRQ, srq->handle, &reply);

	if (err != 0)
		return vcl_errno(err);
	attr->max_wr = vcl_srq(srq)->ring.depth;
	attr->max_sge = vcl_srq(srq)->ring.max_sge;
	attr->srq_limit = reply.srq.limit;
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct vcl_context *ctx = vcl_context(ibv->context);
	struct vcl_srq *srq = vcl_srq(ibv);
	int err = vcl_call_handle(&ctx->conn, VC_DESTROY_SRQ, ibv->handle, NULL);

	if (err != 0 && err != -EIO)
		return vcl_errno(err);
	vcl_remove_cookie(ctx, srq->cookie); /* no event names it from here on, so the count stands */
	vcl_wait_acks(&ibv->mutex, &ibv->cond, &ibv->events_completed, srq->async_events);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	pthread_spin_destroy(&srq->ring.lock);
	free(srq);
	return 0;
}

/* ---- multicast ---- */

/* An IPv6 multicast address, or an IPv4 one mapped into IPv6 (annex A17). */
static bool is_multicast(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return gid->raw[0] == 0xff || (memcmp(gid->raw, mapped, sizeof(mapped)) == 0 && gid->raw[12] >> 4 == 0xe);
}

static int mcast(struct ibv_qp *qp, enum vc_op op, const union ibv_gid *gid)
{
	struct vc_request req = {.op = (uint32_t)op};

	if (qp->qp_type != IBV_QPT_UD || !is_multicast(gid))
		return vcl_errno(-EINVAL);
	req.mcast.qp = qp->handle;
	memcpy(req.mcast.gid, gid->raw, sizeof(req.mcast.gid));
	return vcl_errno(vcl_call(&vcl_context(qp->context)->conn, &req, NULL));
}

/* The group is its GID; Ethernet knows no local identifiers. */
int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return mcast(qp, VC_ATTACH_MCAST, gid);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return mcast(qp, VC_DETACH_MCAST, gid);
}
