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

/* What an XRC one has beside. */
struct xrc_parts {
	struct ibv_xrcd *xrcd;             /* NULL: it is none */
	struct ibv_cq *cq;
};

static int create_at_daemon(struct vcl_context *ctx, struct vcl_srq *srq, const struct ibv_srq_attr *attr,
	const struct xrc_parts *xrc)
{
	struct vc_request req = {.op = VC_CREATE_SRQ};
	struct vc_reply reply;
	int err;

	req.create_srq.pd = srq->ibv.pd->handle;
	req.create_srq.max_wr = attr->max_wr;
	req.create_srq.max_sge = attr->max_sge;
	req.create_srq.cookie = srq->cookie;
	if (xrc->xrcd != NULL) {
		req.create_srq.xrcd = vcl_xrcd(xrc->xrcd)->handle;
		req.create_srq.cq = xrc->cq->handle;
	}
	err = vcl_call(&ctx->conn, &req, &reply);
	if (err != 0)
		return err;
	srq->ibv.handle = reply.srq.handle;
	srq->number = reply.srq.number;
	err = place(ctx, srq, &reply);
	if (err != 0)
		(void)vcl_call_handle(&ctx->conn, VC_DESTROY_SRQ, reply.srq.handle, NULL);
	return err;
}

/* The limit in the attributes is not looked at: it is armed by ibv_modify_srq() (IB 10.2.9.1). */
static struct ibv_srq *create(struct ibv_pd *pd, struct ibv_srq_attr *attr, void *srq_context,
	const struct xrc_parts *xrc)
{
	struct vcl_context *ctx = vcl_context(pd->context);
	struct vcl_srq *srq = calloc(1, sizeof(*srq));
	int err;

	if (srq == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = srq_context;
	srq->ibv.pd = pd;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	srq->cookie = vcl_add_cookie(ctx, srq);
	err = srq->cookie == 0 ? -ENOMEM : create_at_daemon(ctx, srq, attr, xrc);
	if (err != 0) {
		vcl_remove_cookie(ctx, srq->cookie);
		free(srq);
		errno = -err;
		return NULL;
	}
	attr->max_wr = srq->ring.depth;
	attr->max_sge = srq->ring.max_sge;
	return &srq->ibv;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	const struct xrc_parts none = {0};

	return create(pd, &init->attr, init->srq_context, &none);
}

/* Reached only for what the plain call cannot say: other types, for XRC and tag matching, of which there is the
 * first. */
static int check_ex(const struct ibv_context *ctx, const struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t xrc =
		IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0 || attr->srq_type == IBV_SRQT_BASIC)
		return -EINVAL;
	if (attr->srq_type != IBV_SRQT_XRC || (attr->comp_mask & ~xrc) != 0)
		return -EOPNOTSUPP;
	if (attr->comp_mask != xrc || attr->pd == NULL || attr->xrcd == NULL || attr->cq == NULL)
		return -EINVAL;
	return attr->pd->context == ctx && attr->xrcd->context == ctx && attr->cq->context == ctx ? 0 : -EINVAL;
}

struct ibv_srq *vcl_create_srq_ex(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr)
{
	const struct xrc_parts xrc = {attr->xrcd, attr->cq};
	int err = check_ex(ctx, attr);

	if (err != 0) {
		errno = -err;
		return NULL;
	}
	return create(attr->pd, &attr->attr, attr->srq_context, &xrc);
}

/* The daemon takes what is posted along to a new ring and gives the old one back, so nobody may post meanwhile. */
static int resize(struct vcl_context *ctx, struct vcl_srq *srq, struct vc_request *req)
{
	struct vcl_ring *ring = &srq->ring;
	struct vc_reply reply;
	int err;

	pthread_spin_lock(&ring->lock);
	err = vcl_call(&ctx->conn, req, &reply);
	if (err == 0)
		err = vcl_map_ring(ctx, ring, reply.srq.offset, reply.srq.depth, reply.srq.slot_bytes,
			tp_recv_slot_bytes(ring->max_sge));
	if (err == -EPROTO)
		vcl_conn_kill(&ctx->conn);
	pthread_spin_unlock(&ring->lock);
	return err;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int attr_mask)
{
	struct vcl_context *ctx = vcl_context(srq->context);
	struct vc_request req = {.op = VC_MODIFY_SRQ};
	uint32_t mask = (uint32_t)attr_mask;

	if ((mask & ~(uint32_t)(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0)
		return vcl_errno(-EINVAL);
	if (mask == IBV_SRQ_LIMIT && attr->srq_limit > vcl_srq(srq)->ring.depth)
		return vcl_errno(-EINVAL);
	req.modify_srq.handle = srq->handle;
	req.modify_srq.mask = mask;
	req.modify_srq.limit = attr->srq_limit;
	req.modify_srq.max_wr = attr->max_wr;
	if ((mask & IBV_SRQ_MAX_WR) != 0)
		return vcl_errno(resize(ctx, vcl_srq(srq), &req));
	return vcl_errno(vcl_call(&ctx->conn, &req, NULL));
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
