/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: control. */
#include <stdlib.h>
#include <string.h>

#include "vcl_post.h"

static bool has_sq(const struct vcl_qp *qp)
{
	return qp->ibv.qp_type != IBV_QPT_XRC_RECV;
}

static bool has_rq(const struct vcl_qp *qp)
{
	return qp->ibv.srq == NULL && qp->ibv.qp_type != IBV_QPT_XRC_SEND && qp->ibv.qp_type != IBV_QPT_XRC_RECV;
}

static int take_reply(struct vcl_context *ctx, struct vcl_qp *qp, const struct vc_reply *reply)
{
	uint32_t sge = reply->qp.max_send_sge, data = reply->qp.max_inline_bytes;
	uint32_t recv_sge = has_rq(qp) ? reply->qp.max_recv_sge : 0;
	int err = 0;

	if (sge > TP_MAX_SGE || recv_sge > TP_MAX_SGE || data > TP_MAX_INLINE_BYTES || reply->qp.slot >= VC_MAX_QPS)
		return -EPROTO;
	if (has_sq(qp))
		err = vcl_place_ring(ctx, &qp->sq, reply->qp.sq_offset, reply->qp.sq_depth, reply->qp.sq_slot_bytes,
			tp_send_slot_bytes(sge, data));
	if (err == 0 && has_rq(qp))
		err = vcl_place_ring(ctx, &qp->rq, reply->qp.rq_offset, reply->qp.rq_depth, reply->qp.rq_slot_bytes,
			tp_recv_slot_bytes(recv_sge));
	if (err != 0)
		return err;
	qp->sq.max_sge = sge;
	qp->rq.max_sge = recv_sge;
	qp->max_inline_bytes = data;
	qp->doorbell = &ctx->shm->doorbell[reply->qp.slot / 64];
	qp->doorbell_bit = 1ull << (reply->qp.slot % 64);
	qp->cap = (struct ibv_qp_cap){qp->sq.depth, qp->rq.depth, sge, recv_sge, data};
	return 0;
}

/*
 * The inline data to ask for. Slots are whole cache lines, so often more fits than was asked for, at no
 * cost; programs that ask for none and send small messages inline all the same work with other devices.
 */
static uint32_t inline_wish(const struct vcl_context *ctx, const struct ibv_qp_cap *cap)
{
	uint32_t fits, most = ctx->attr.max_inline_bytes;

	if (cap->max_send_sge > TP_MAX_SGE || cap->max_inline_data > most)
		return cap->max_inline_data; /* the daemon will refuse */
	fits = tp_send_slot_bytes(cap->max_send_sge, cap->max_inline_data) - (uint32_t)sizeof(struct tp_send_wqe);
	return fits < most ? fits : most;
}

static void fill_create(const struct vcl_context *ctx, const struct vcl_qp *qp, struct ibv_xrcd *xrcd,
	struct vc_request *out)
{
	struct vc_request req = {.op = VC_CREATE_QP};

	req.create_qp.pd = qp->ibv.pd != NULL ? qp->ibv.pd->handle : 0;
	req.create_qp.send_cq = qp->ibv.send_cq != NULL ? qp->ibv.send_cq->handle : 0;
	req.create_qp.recv_cq = qp->ibv.recv_cq != NULL ? qp->ibv.recv_cq->handle : 0;
	req.create_qp.xrcd = xrcd != NULL ? vcl_xrcd(xrcd)->handle : 0;
	req.create_qp.type = qp->ibv.qp_type;
	req.create_qp.sq_sig_all = qp->sq_sig_all != 0;
	req.create_qp.srq = qp->ibv.srq != NULL ? qp->ibv.srq->handle : 0;
	req.create_qp.max_send_wr = qp->cap.max_send_wr;
	req.create_qp.max_recv_wr = qp->cap.max_recv_wr;
	req.create_qp.max_send_sge = qp->cap.max_send_sge;
	req.create_qp.max_recv_sge = qp->cap.max_recv_sge;
	req.create_qp.max_inline_bytes = inline_wish(ctx, &qp->cap);
	req.create_qp.cookie = qp->cookie;
	*out = req;
}

/* By a request to create or to open it. */
static int get_from_daemon(struct vcl_context *ctx, struct vcl_qp *qp, struct vc_request *req)
{
	struct vc_reply reply;
	int err = vcl_call(&ctx->conn, req, &reply);

	if (err != 0)
		return err;
	qp->ibv.handle = reply.qp.handle;
	qp->ibv.qp_num = reply.qp.qpn;
	err = take_reply(ctx, qp, &reply);
	if (err != 0)
		(void)vcl_call_handle(&ctx->conn, VC_DESTROY_QP, reply.qp.handle, NULL);
	return err;
}

static struct vcl_qp *new_qp(struct ibv_context *context, struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	struct vcl_qp *qp = calloc(1, sizeof(*qp));

	if (qp == NULL)
		return NULL;
	qp->ibv.context = context;
	qp->ibv.qp_context = attr->qp_context;
	qp->ibv.qp_type = attr->qp_type;
	if (attr->qp_type != IBV_QPT_XRC_RECV) {
		qp->ibv.pd = pd;
		qp->ibv.send_cq = attr->send_cq;
	}
	if (attr->qp_type != IBV_QPT_XRC_RECV && attr->qp_type != IBV_QPT_XRC_SEND) {
		qp->ibv.recv_cq = attr->recv_cq;
		qp->ibv.srq = attr->srq;
	}
	qp->ibv.state = IBV_QPS_RESET;
	qp->cap = attr->cap;
	qp->sq_sig_all = attr->sq_sig_all;
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	qp->cookie = vcl_add_cookie(vcl_context(context), qp);
	if (qp->cookie == 0) {
		free(qp);
		return NULL;
	}
	return qp;
}

static int check_init(const struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC && attr->qp_type != IBV_QPT_UD &&
		attr->qp_type != IBV_QPT_XRC_SEND)
		return -EOPNOTSUPP;
	if (attr->send_cq == NULL || attr->send_cq->context != pd->context)
		return -EINVAL;
	if (attr->qp_type == IBV_QPT_XRC_SEND)
		return 0;
	if (attr->srq != NULL && attr->srq->context != pd->context)
		return -EINVAL;
	return attr->recv_cq != NULL && attr->recv_cq->context == pd->context ? 0 : -EINVAL;
}

/* Gets the daemon's half by a request; without it there is no queue pair. */
static int settle(struct vcl_context *ctx, struct vcl_qp *qp, struct vc_request *req)
{
	int err = get_from_daemon(ctx, qp, req);

	if (err == 0)
		return 0;
	vcl_remove_cookie(ctx, qp->cookie);
	free(qp);
	return err;
}

static struct ibv_qp *create(struct ibv_context *context, struct ibv_pd *pd, struct ibv_xrcd *xrcd,
	struct ibv_qp_init_attr *attr)
{
	struct vcl_context *ctx = vcl_context(context);
	struct vcl_qp *qp = new_qp(context, pd, attr);
	struct vc_request req;
	int err = -ENOMEM;

	if (qp != NULL) {
		fill_create(ctx, qp, xrcd, &req);
		err = settle(ctx, qp, &req);
	}
	if (err != 0) {
		errno = -err;
		return NULL;
	}
	attr->cap = qp->cap;
	return &qp->ibv;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	int err = check_init(pd, attr);

	if (err != 0) {
		errno = -err;
		return NULL;
	}
	return create(pd->context, pd, NULL, attr);
}

/* An XRC target: of a domain, and with nothing else of its own. */
static struct ibv_qp *create_target(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t served = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	int err = 0;

	if ((attr->comp_mask & ~served) != 0 ||
		((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attr->create_flags != 0))
		err = -EOPNOTSUPP;
	else if ((attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0 || attr->xrcd == NULL || attr->xrcd->context != ctx)
		err = -EINVAL;
	if (err != 0) {
		errno = -err;
		return NULL;
	}
	return create(ctx, NULL, attr->xrcd, (struct ibv_qp_init_attr *)attr);
}

/* One more handle of an XRC target, which lives as long as it has any. */
struct ibv_qp *vcl_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr)
{
	const uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	bool has_context = (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_XRC_RECV, .qp_context = has_context ? attr->qp_context : NULL};
	struct vc_request req = {.op = VC_OPEN_QP};
	struct vcl_qp *qp;
	int err = -ENOMEM;

	if ((attr->comp_mask & needed) != needed || attr->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED ||
		attr->qp_type != IBV_QPT_XRC_RECV || attr->xrcd == NULL || attr->xrcd->context != ctx) {
		errno = EINVAL;
		return NULL;
	}
	qp = new_qp(ctx, NULL, &init);
	if (qp != NULL) {
		req.open_qp.xrcd = vcl_xrcd(attr->xrcd)->handle;
		req.open_qp.qpn = attr->qp_num;
		req.open_qp.cookie = qp->cookie;
		err = settle(vcl_context(ctx), qp, &req);
	}
	if (err != 0) {
		errno = -err;
		return NULL;
	}
	return &qp->ibv;
}

/* Extended creation, as far as it says no more than the plain one and which ibv_wr_* calls there shall be. */
struct ibv_qp *vcl_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t served = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	bool wr_calls = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
	struct ibv_qp *qp;
	int err = 0;

	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return create_target(ctx, attr);
	if ((attr->comp_mask & ~served) != 0 ||
		((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attr->create_flags != 0))
		err = -EOPNOTSUPP;
	else if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr->pd == NULL || attr->pd->context != ctx)
		err = -EINVAL;
	else if (wr_calls)
		err = vcl_check_wr_calls(ctx, attr->qp_type, attr->send_ops_flags);
	if (err != 0) {
		errno = -err;
		return NULL;
	}
	qp = ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)attr);
	if (qp != NULL && wr_calls)
		vcl_set_wr_calls(vcl_qp(qp), attr->send_ops_flags);
	return qp;
}

/* After a reset too the daemon takes all that was posted as gone; indices run on. */
static void forget_completions(struct ibv_qp *qp)
{
	if (qp->send_cq != NULL)
		vcl_cq_purge(qp->send_cq, qp->qp_num);
	if (qp->recv_cq != NULL && qp->recv_cq != qp->send_cq)
		vcl_cq_purge(qp->recv_cq, qp->qp_num);
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct vcl_context *ctx = vcl_context(ibv->context);
	struct vcl_qp *qp = vcl_qp(ibv);
	int err = vcl_call_handle(&ctx->conn, VC_DESTROY_QP, ibv->handle, NULL);

	if (err != 0 && err != -EIO)
		return vcl_errno(err);
	forget_completions(ibv);
	vcl_remove_cookie(ctx, qp->cookie);
	vcl_wait_acks(&ibv->mutex, &ibv->cond, &ibv->events_completed, qp->async_events);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	if (qp->sq.queue != NULL)
		pthread_spin_destroy(&qp->sq.lock);
	if (qp->rq.queue != NULL)
		pthread_spin_destroy(&qp->rq.lock);
	free(qp);
	return 0;
}

/* ---- attributes ---- */

static void attr_to_contract(const struct ibv_qp_attr *in, uint32_t mask, struct vc_qp_attr *out)
{
	*out = (struct vc_qp_attr){
		.mask = mask,
		.state = in->qp_state,
		.cur_state = in->cur_qp_state,
		.access = in->qp_access_flags & ~(uint32_t)IBV_ACCESS_OPTIONAL_RANGE,
		.qkey = in->qkey,
		.rq_psn = in->rq_psn,
		.sq_psn = in->sq_psn,
		.dest_qpn = in->dest_qp_num,
		.path_mtu = (uint8_t)in->path_mtu,
		.timeout = in->timeout,
		.retry_cnt = in->retry_cnt,
		.rnr_retry = in->rnr_retry,
		.min_rnr_timer = in->min_rnr_timer,
		.max_rd_atomic = in->max_rd_atomic,
		.max_dest_rd_atomic = in->max_dest_rd_atomic,
		.en_sqd_async_notify = in->en_sqd_async_notify,
		.port = in->port_num,
		.pkey_index = in->pkey_index,
	};
	if ((mask & IBV_QP_AV) != 0)
		vcl_av_from_attr(&out->av, &in->ah_attr);
}

static void attr_from_contract(const struct vc_qp_attr *in, struct ibv_qp_attr *out)
{
	*out = (struct ibv_qp_attr){
		.qp_state = in->state,
		.cur_qp_state = in->state,
		.path_mtu = in->path_mtu,
		.qkey = in->qkey,
		.rq_psn = in->rq_psn,
		.sq_psn = in->sq_psn,
		.dest_qp_num = in->dest_qpn,
		.qp_access_flags = in->access,
		.pkey_index = in->pkey_index,
		.en_sqd_async_notify = in->en_sqd_async_notify,
		.sq_draining = in->sq_draining,
		.max_rd_atomic = in->max_rd_atomic,
		.max_dest_rd_atomic = in->max_dest_rd_atomic,
		.min_rnr_timer = in->min_rnr_timer,
		.port_num = in->port,
		.timeout = in->timeout,
		.retry_cnt = in->retry_cnt,
		.rnr_retry = in->rnr_retry,
	};
	vcl_av_to_attr(&out->ah_attr, &in->av);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct vcl_context *ctx = vcl_context(qp->context);
	struct vc_request req = {.op = VC_MODIFY_QP};
	uint32_t mask = (uint32_t)attr_mask;
	int err;

	if (((mask & IBV_QP_AV) != 0 && attr->ah_attr.is_global == 0) ||
		((mask & IBV_QP_PORT) != 0 && attr->port_num != VCL_PORT) ||
		((mask & IBV_QP_PKEY_INDEX) != 0 && attr->pkey_index != 0))
		return vcl_errno(-EINVAL);
	req.modify_qp.handle = qp->handle;
	attr_to_contract(attr, mask, &req.modify_qp.attr);
	err = vcl_call(&ctx->conn, &req, NULL);
	if (err != 0)
		return vcl_errno(err);
	if ((mask & IBV_QP_STATE) == 0)
		return 0;
	__atomic_store_n(&qp->state, attr->qp_state, __ATOMIC_RELAXED);
	if (attr->qp_state == IBV_QPS_RESET)
		forget_completions(qp);
	return 0;
}

int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct vcl_qp *qp = vcl_qp(ibv);
	struct vc_reply reply;
	int err = vcl_call_handle(&vcl_context(ibv->context)->conn, VC_QUERY_QP, ibv->handle, &reply);

	(void)attr_mask; /* a hint of what the caller needs: all is given */
	if (err != 0)
		return vcl_errno(err);
	attr_from_contract(&reply.qp_attr, attr);
	attr->cap = qp->cap;
	__atomic_store_n(&ibv->state, attr->qp_state, __ATOMIC_RELAXED);
	*init_attr = (struct ibv_qp_init_attr){
		.qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.srq = ibv->srq,
		.cap = qp->cap,
		.qp_type = ibv->qp_type,
		.sq_sig_all = qp->sq_sig_all,
	};
	return 0;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0; /* not promised */
}
