/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: made and destroyed, moved between states, queried. */
#include <stdlib.h>

#include "vd_internal.h"
#include "cc.h"

#define MASK_SERVED                                                                                \
	(TP_QP_STATE | TP_QP_CUR_STATE | TP_QP_EN_SQD_ASYNC_NOTIFY | TP_QP_ACCESS_FLAGS |          \
		TP_QP_PKEY_INDEX | TP_QP_PORT | TP_QP_QKEY | TP_QP_AV | TP_QP_PATH_MTU |           \
		TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY | TP_QP_RQ_PSN |                 \
		TP_QP_MAX_QP_RD_ATOMIC | TP_QP_MIN_RNR_TIMER | TP_QP_SQ_PSN |                      \
		TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_DEST_QPN)
#define CONTROLLED_QKEY 0x80000000u
/* What a device may ignore, and what is about memory: programs give a queue pair the rights of their regions. */
#define ACCESS_IGNORED (0x3ff00000u | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB)
#define MASK_UNSERVED (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_CAP | IBV_QP_RATE_LIMIT)

struct qp_call {
	struct vd_session *session;
	struct vd_qp *qp;
	struct tp_qp_init init;
	struct tp_qp_attr attr;
	uint32_t mask;
	uint64_t now_ns;
	int err;
};

uint32_t vd_ring_depth(uint32_t n)
{
	uint32_t depth = 1;

	while (depth < n)
		depth *= 2;
	return depth;
}

void vd_ring_place(struct vd_ring *ring, const struct vd_shm *shm, uint64_t offset)
{
	ring->queue = (struct vc_queue *)(void *)(shm->base + offset);
	ring->slots = shm->base + offset + sizeof(struct vc_queue);
}

/* What is asked for fits the limits; otherwise nothing of it is used. */
static int check_create(const struct vd_session *session, const struct vc_request *request)
{
	const struct vd_limits *limits = &session->vd->limits;

	switch (request->create_qp.type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		break;
	case IBV_QPT_RAW_PACKET:
	case IBV_QPT_DRIVER:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
	if (request->create_qp.max_send_wr > limits->max_send_wr ||
		request->create_qp.max_recv_wr > limits->max_recv_wr ||
		request->create_qp.max_send_sge > limits->max_sge ||
		request->create_qp.max_recv_sge > limits->max_sge ||
		request->create_qp.max_inline_bytes > limits->max_inline_bytes)
		return -EINVAL;
	return 0;
}

static int alloc_ring(struct vd_session *session, struct vd_ring *ring, uint64_t *offset)
{
	int err = vd_ring_alloc(session,
		sizeof(struct vc_queue) + (uint64_t)ring->depth * ring->slot_bytes, offset);

	if (err == 0)
		vd_ring_place(ring, &session->shm, *offset);
	return err;
}

static bool has_rq(const struct vd_qp *qp)
{
	return qp->srq == NULL && qp->type != TP_QPT_XRC_INI;
}

static void free_rings(struct vd_qp *qp)
{
	vd_ring_free(qp->session, qp->sq_offset);
	if (has_rq(qp))
		vd_ring_free(qp->session, qp->rq_offset);
}

static int alloc_rings(struct vd_session *session, struct vd_qp *qp)
{
	int err = alloc_ring(session, &qp->sq, &qp->sq_offset);

	if (err != 0 || !has_rq(qp))
		return err;
	err = alloc_ring(session, &qp->rq, &qp->rq_offset);
	if (err != 0)
		vd_ring_free(session, qp->sq_offset);
	return err;
}

/* An XRC target may outlive the context, so it is not limited with the others. */
static int take_limits(struct vd_session *session, struct tp_qp_init *init)
{
	uint64_t rate_bps = session->vd->limits.client_mbps * VD_MBPS;

	if (rate_bps == 0 || init->type == TP_QPT_XRC_TGT)
		return 0;
	if (session->shaper == NULL) {
		int err = tp_shaper_create(vd_tp(session), rate_bps, &session->shaper);

		if (err != 0)
			return err;
	}
	init->shaper = session->shaper;
	return 0;
}

static void create_call(void *arg)
{
	struct qp_call *call = arg;
	struct vd_session *session = call->session;
	struct vd_qp *qp = call->qp;

	call->err = take_limits(session, &call->init);
	if (call->err == 0)
		call->err = tp_qp_create(vd_tp(session), &call->init, &qp->tp_qp, &qp->qpn);
	if (call->err != 0)
		return;
	tp_qp_set_rate(vd_tp(session), qp->tp_qp, session->vd->limits.qp_mbps * VD_MBPS);
	session->bell[qp->slot] = qp;
	if (session->bell_words <= qp->slot / 64)
		session->bell_words = qp->slot / 64 + 1;
}

static struct vd_qp *new_qp(struct vd_session *session, const struct vc_request *request)
{
	struct vd_qp *qp = calloc(1, sizeof(*qp));

	if (qp == NULL)
		return NULL;
	qp->session = session;
	qp->type = (enum tp_qp_type)request->create_qp.type;
	qp->may_ext = vd_multipath_may(&session->vd->devices[session->device], qp->type);
	qp->max_send_wr = request->create_qp.max_send_wr;
	qp->max_recv_wr = request->create_qp.max_recv_wr;
	qp->max_send_sge =
		request->create_qp.max_send_sge == 0 ? 1 : request->create_qp.max_send_sge;
	qp->max_recv_sge =
		request->create_qp.max_recv_sge == 0 ? 1 : request->create_qp.max_recv_sge;
	qp->max_inline_bytes = request->create_qp.max_inline_bytes;
	qp->sq.depth = vd_ring_depth(qp->max_send_wr);
	qp->sq.slot_bytes = tp_send_slot_bytes(qp->max_send_sge, qp->max_inline_bytes);
	if (request->create_qp.srq == 0 && qp->type != TP_QPT_XRC_INI) {
		qp->rq.depth = vd_ring_depth(qp->max_recv_wr);
		qp->rq.slot_bytes = tp_recv_slot_bytes(qp->max_recv_sge);
	}
	TAILQ_INIT(&qp->members);
	qp->note.session = session;
	qp->note.cookie = request->create_qp.cookie;
	qp->note.comp_fd = -1;
	return qp;
}

static uint32_t port_mtu_bytes(const struct vd_session *session)
{
	return 128u << vd_device_mtu(&session->vd->devices[session->device]);
}

static int create_at_worker(struct vd_qp *qp, uint32_t sq_sig_all)
{
	const struct vd_device *device = &qp->session->vd->devices[qp->session->device];
	struct qp_call call = {.session = qp->session, .qp = qp};

	call.init = (struct tp_qp_init){
		.type = qp->type,
		.pd = qp->pd->number,
		.sq_depth = qp->sq.depth,
		.rq_depth = qp->rq.depth,
		.max_send_sge = qp->max_send_sge,
		.max_recv_sge = qp->max_recv_sge,
		.max_inline_bytes = qp->max_inline_bytes,
		.ud_mtu_bytes = port_mtu_bytes(qp->session),
		.sq_sig_all = sq_sig_all != 0,
		.reorder_pkts = device->reorder_pkts,
		.reorder_ns = device->reorder_ns,
		.ext = qp->may_ext ? TP_EXT_SACK | TP_EXT_MERGE : 0,
		.srq = qp->srq != NULL ? qp->srq->tp_srq : NULL,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.cookie = qp,
	};
	vd_call(qp->session, create_call, &call);
	return call.err;
}

static void fill_reply(const struct vd_qp *qp, struct vc_reply *reply)
{
	reply->qp.handle = qp->handle;
	reply->qp.qpn = qp->qpn;
	reply->qp.slot = qp->slot;
	reply->qp.sq_depth = qp->sq.depth;
	reply->qp.rq_depth = qp->rq.depth;
	reply->qp.sq_slot_bytes = qp->sq.slot_bytes;
	reply->qp.rq_slot_bytes = qp->rq.slot_bytes;
	reply->qp.max_send_sge = qp->max_send_sge;
	reply->qp.max_recv_sge = qp->max_recv_sge;
	reply->qp.max_inline_bytes = qp->max_inline_bytes;
	reply->qp.sq_offset = qp->sq_offset;
	reply->qp.rq_offset = qp->rq_offset;
}

/* What the queue pair refers to. An XRC initiator receives nothing. */
static int find_parts(struct vd_session *session, const struct vc_request *request, struct vd_qp *qp)
{
	qp->pd = vd_table_get(&session->pds, request->create_qp.pd);
	qp->send_cq = vd_table_get(&session->cqs, request->create_qp.send_cq);
	if (qp->pd == NULL || qp->send_cq == NULL)
		return -EINVAL;
	if (qp->type == TP_QPT_XRC_INI)
		return 0;
	qp->recv_cq = vd_table_get(&session->cqs, request->create_qp.recv_cq);
	if (qp->recv_cq == NULL)
		return -EINVAL;
	if (request->create_qp.srq == 0)
		return 0;
	qp->srq = vd_table_get(&session->srqs, request->create_qp.srq);
	return qp->srq != NULL && qp->srq->xrcd == NULL ? 0 : -EINVAL;
}

static void count_parts(struct vd_qp *qp, uint32_t one)
{
	qp->pd->refs += one;
	qp->send_cq->refs += one;
	if (qp->recv_cq != NULL)
		qp->recv_cq->refs += one;
	if (qp->srq != NULL)
		qp->srq->refs += one;
}

int vd_op_create_qp(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	int err = check_create(session, request);
	struct vd_qp *qp;

	if (err != 0)
		return err;
	if (request->create_qp.type == IBV_QPT_XRC_RECV)
		return vd_target_create(session, request, answer);
	qp = new_qp(session, request);
	if (qp == NULL)
		return -ENOMEM;
	err = find_parts(session, request, qp);
	if (err != 0)
		goto free_qp;
	err = vd_table_add(&session->qps, qp, &qp->handle);
	if (err != 0)
		goto free_qp;
	qp->slot = vd_handle_index(qp->handle);
	err = alloc_rings(session, qp);
	if (err != 0)
		goto del_handle;
	err = create_at_worker(qp, request->create_qp.sq_sig_all);
	if (err != 0)
		goto free_queues;
	count_parts(qp, 1);
	session->vd->stats.qps++;
	fill_reply(qp, &answer->reply);
	return 0;

free_queues:
	free_rings(qp);
del_handle:
	vd_table_del(&session->qps, qp->handle);
free_qp:
	free(qp);
	return err;
}

static void destroy_call(void *arg)
{
	struct qp_call *call = arg;
	struct vd_session *session = call->session;

	if (call->qp->target != NULL) {
		vd_worker_leave_target(&session->vd->workers[session->worker], vd_tp(session), call->qp);
		return;
	}
	vd_worker_forget_qp(&session->vd->workers[session->worker], call->qp);
	tp_qp_destroy(vd_tp(session), call->qp->tp_qp);
}

int vd_op_destroy_qp(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_qp *qp = vd_table_get(&session->qps, request->object.handle);
	struct qp_call call = {.session = session, .qp = qp};
	struct vd *vd = session->vd;

	(void)answer;
	if (qp == NULL)
		return -EINVAL;
	if (!TAILQ_EMPTY(&qp->members))
		return -EBUSY; /* as Linux does: it has to be detached from its groups first */
	vd_call(session, destroy_call, &call);
	vd_table_del(&session->qps, qp->handle);
	if (qp->target != NULL) {
		vd_target_put(session, qp);
	} else {
		free_rings(qp);
		vd_release_link(vd, qp->link);
		vd_planes_release(vd, qp->plane_links);
		count_parts(qp, UINT32_MAX);
	}
	vd->stats.qps--;
	free(qp);
	return 0;
}

/* ---- modify ---- */

static int check_modify(const struct vd_session *session, const struct vc_qp_attr *attr)
{
	const struct vd_limits *limits = &session->vd->limits;
	uint32_t mask = attr->mask;

	if ((mask & MASK_UNSERVED) != 0)
		return -EOPNOTSUPP;
	if ((mask & ~(uint32_t)MASK_SERVED) != 0)
		return -EINVAL;
	if (((mask & TP_QP_STATE) != 0 && attr->state > TP_QPS_ERR) ||
		((mask & TP_QP_CUR_STATE) != 0 && attr->cur_state > TP_QPS_ERR))
		return -EINVAL;
	/* IBTA vol. 1, 10.2.5: the upper half of the Q_Keys is the system's own, QP 1's among them. */
	if ((mask & TP_QP_QKEY) != 0 && (attr->qkey & CONTROLLED_QKEY) != 0 && session->uid != 0)
		return -EPERM;
	if ((mask & TP_QP_PORT) != 0 && attr->port != 1)
		return -EINVAL;
	if ((mask & TP_QP_PKEY_INDEX) != 0 && attr->pkey_index != 0)
		return -EINVAL;
	if ((mask & TP_QP_PATH_MTU) != 0 &&
		(attr->path_mtu < IBV_MTU_256 ||
			attr->path_mtu > vd_device_mtu(&session->vd->devices[session->device])))
		return -EINVAL;
	if ((mask & TP_QP_MAX_QP_RD_ATOMIC) != 0 && attr->max_rd_atomic > limits->max_rd_atomic)
		return -EINVAL;
	if ((mask & TP_QP_MAX_DEST_RD_ATOMIC) != 0 &&
		attr->max_dest_rd_atomic > limits->max_rd_atomic)
		return -EINVAL;
	return 0;
}

static void fill_attr(const struct vc_qp_attr *in, struct tp_qp_attr *out)
{
	*out = (struct tp_qp_attr){
		.state = (enum tp_qp_state)in->state,
		.cur_state = (enum tp_qp_state)in->cur_state,
		.access = in->access & ~ACCESS_IGNORED,
		.qkey = in->qkey,
		.mtu_bytes = 128u << (in->path_mtu & 7),
		.rq_psn = in->rq_psn & VD_PSN_MASK,
		.sq_psn = in->sq_psn & VD_PSN_MASK,
		.dest_qpn = in->dest_qpn & VD_PSN_MASK,
		.timeout = in->timeout,
		.retry_cnt = in->retry_cnt,
		.rnr_retry = in->rnr_retry,
		.min_rnr_timer = in->min_rnr_timer,
		.max_rd_atomic = in->max_rd_atomic,
		.max_dest_rd_atomic = in->max_dest_rd_atomic,
		.en_sqd_async_notify = in->en_sqd_async_notify,
		.pkey_index = in->pkey_index,
		.port = in->port,
	};
}

static void modify_call(void *arg)
{
	struct qp_call *call = arg;
	struct vd_session *session = call->session;
	struct tp *tp = vd_tp(session);

	/* qp is the real one, which in case of an XRC target is no session's. */
	call->err = tp_qp_modify(tp, call->qp->tp_qp, &call->attr, call->mask, call->now_ns);
	if (call->err != 0)
		return;
	if ((call->mask & TP_QP_STATE) != 0 && call->attr.state == TP_QPS_RESET)
		vd_worker_reset_qp(call->qp);
	else
		tp_qp_kick(tp,
			call->qp->tp_qp); /* what was posted before may be served or flushed now */
}

/*
 * Attributes of the half that an XRC queue pair does not have. Kernels take them from programs and leave them out, and
 * perftest gives all of them to both ends.
 */
static uint32_t of_other_half(enum tp_qp_type type)
{
	switch (type) {
	case TP_QPT_XRC_INI:
		return TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER;
	case TP_QPT_XRC_TGT:
		return TP_QP_MAX_QP_RD_ATOMIC | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY;
	default:
		return 0;
	}
}

/* NULL: the window; a path MTU that there is not is refused later. */
static const struct cc_config *cc_for(const struct vd_device *device, uint32_t mtu_bytes)
{
	for (uint32_t m = 0; device->cc != NULL && m < VD_MTUS; m++) {
		if (mtu_bytes == VD_MIN_MTU << m)
			return &device->cc[m];
	}
	return NULL;
}

/* planes[] has to stay until the transport has taken it. */
static void choose_ext(struct vd_qp *qp, const struct vc_qp_attr *attr, struct qp_call *call, struct tp_av *planes,
	void **links, bool *by_cm)
{
	const struct vd_agreement agreed = vd_multipath_agreed(qp, &attr->av, call->attr.dest_qpn);

	if (agreed.ext == 0)
		return;
	*by_cm = agreed.by_cm;
	call->mask |= TP_QP_EXT;
	call->attr.ext = agreed.ext;
	call->attr.sched = agreed.sched;
	call->attr.merge = agreed.merge;
	call->attr.cc = cc_for(&qp->session->vd->devices[qp->session->device], call->attr.mtu_bytes);
	call->attr.n_planes = vd_planes_hold(qp->session, &call->attr.av, agreed.n_planes, planes, links);
	call->attr.planes = planes;
}

/* The links of the address vector in use are now these. Those of planes stay with a connection, whatever its address vector
 * becomes: acknowledgements that are due may still take them. */
static void keep_links(struct vd *vd, struct vd_qp *qp, void *link, void *const *planes, bool connects)
{
	vd_release_link(vd, qp->link);
	qp->link = link;
	if (!connects)
		return;
	vd_planes_release(vd, qp->plane_links);
	memcpy(qp->plane_links, planes, sizeof(qp->plane_links));
}

static int modify(struct vd_qp *handle, const struct vc_qp_attr *attr, void *link)
{
	struct vd_session *session = handle->session;
	struct vd_qp *qp = vd_qp_real(handle);
	struct qp_call call = {.session = session, .qp = qp, .mask = attr->mask & ~of_other_half(qp->type)};
	struct tp_av planes[TP_MAX_PLANES - 1];
	void *links[TP_MAX_PLANES - 1] = {0};
	bool by_cm = false, connects = (attr->mask & TP_QP_STATE) != 0 && attr->state == TP_QPS_RTR;
	struct vd *vd = session->vd;

	call.now_ns = vd->env.now_ns(vd->env_arg);
	fill_attr(attr, &call.attr);
	if ((attr->mask & TP_QP_DEST_QPN) == 0)
		call.attr.dest_qpn = qp->dest_qpn;
	if ((attr->mask & TP_QP_AV) != 0) {
		vd_av_build(&vd->devices[session->device], &attr->av, qp->qpn,
			call.attr.dest_qpn, link, &call.attr.av);
		if (vd->env.channel != NULL)
			call.attr.av.channel = vd->env.channel(vd->env_arg, session->worker, link, &call.attr.av);
	}
	if (connects && (attr->mask & TP_QP_AV) != 0 && qp->may_ext)
		choose_ext(qp, attr, &call, planes, links, &by_cm);
	vd_call(session, modify_call, &call);
	if (call.err != 0) {
		vd_planes_release(vd, links);
		return call.err;
	}
	if (connects || ((attr->mask & TP_QP_STATE) != 0 && attr->state == TP_QPS_RESET))
		qp->ext_on = call.attr.ext != 0;
	if (call.attr.ext != 0)
		vd_multipath_count(vd, by_cm);
	qp->dest_qpn = call.attr.dest_qpn;
	if ((attr->mask & TP_QP_AV) != 0) {
		keep_links(vd, qp, link, links, connects);
		qp->av = attr->av;
	}
	return 0;
}

static void modify_resolved(struct vd_resolving *resolving, int status, void *link)
{
	const struct vc_request *request = &resolving->request;
	struct vd *vd = resolving->vd;
	struct vd_answer answer = {0};

	if (status == 0) {
		status = modify(resolving->obj, &request->modify_qp.attr, link);
		if (status != 0)
			vd_release_link(vd, link);
	}
	vd_answer_later(resolving->session, request, status, &answer);
}

int vd_op_modify_qp(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_qp *qp = vd_table_get(&session->qps, request->modify_qp.handle);
	const struct vc_qp_attr *attr = &request->modify_qp.attr;
	struct wire_addr src, dst;
	int err;

	(void)answer;
	if (qp == NULL)
		return -EINVAL;
	err = check_modify(session, attr);
	if (err != 0)
		return err;
	if ((attr->mask & TP_QP_AV) == 0)
		return modify(qp, attr, NULL);
	err = vd_av_check(&session->vd->devices[session->device], &attr->av, &src, &dst);
	if (err != 0)
		return err;
	/* Answered when the neighbour is known, so that a queue pair in RTR can send. */
	err = vd_resolve(session, session->device, &src, &dst, modify_resolved, qp, request);
	return err == 0 ? VD_DEFERRED : err;
}

int vd_qp_by_number(const struct vd_session *session, uint32_t qpn, struct vd_qp **found)
{
	const struct vd_session *other;
	struct vd_qp *qp;
	int err = 0;

	*found = NULL;
	TAILQ_FOREACH(other, &session->vd->sessions, link)
	{
		if (other->kind != VD_KIND_VERBS)
			continue;
		for (uint32_t i = 0; (qp = vd_table_next(&other->qps, &i)) != NULL;) {
			if (qp->qpn != qpn)
				continue;
			/* An XRC target may be of several users. */
			*found = other->uid == session->uid ? qp : NULL;
			if (*found != NULL)
				return 0;
			err = -EPERM;
		}
	}
	return err;
}

/* ---- query ---- */

static void query_call(void *arg)
{
	struct qp_call *call = arg;

	tp_qp_query(vd_qp_real(call->qp)->tp_qp, &call->attr);
}

static uint8_t mtu_code(uint32_t bytes)
{
	uint8_t code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && (128u << code) < bytes)
		code++;
	return code;
}

static void fill_query(const struct vd_qp *qp, const struct tp_qp_attr *in, struct vc_qp_attr *out)
{
	*out = (struct vc_qp_attr){
		.mask = MASK_SERVED,
		.state = in->state,
		.cur_state = in->state,
		.access = in->access,
		.qkey = in->qkey,
		.rq_psn = in->rq_psn,
		.sq_psn = in->sq_psn,
		.dest_qpn = in->dest_qpn,
		.path_mtu = mtu_code(
			qp->type == TP_QPT_UD ? port_mtu_bytes(qp->session) : in->mtu_bytes),
		.timeout = in->timeout,
		.retry_cnt = in->retry_cnt,
		.rnr_retry = in->rnr_retry,
		.min_rnr_timer = in->min_rnr_timer,
		.max_rd_atomic = in->max_rd_atomic,
		.max_dest_rd_atomic = in->max_dest_rd_atomic,
		.en_sqd_async_notify = in->en_sqd_async_notify,
		.sq_draining = in->sq_draining,
		.port = in->port,
		.pkey_index = in->pkey_index,
		.max_send_wr = qp->sq.depth,
		.max_recv_wr = qp->rq.depth,
		.max_send_sge = qp->max_send_sge,
		.max_recv_sge = qp->max_recv_sge,
		.max_inline_bytes = qp->max_inline_bytes,
	};
}

int vd_op_query_qp(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_qp *qp = vd_table_get(&session->qps, request->object.handle);
	struct qp_call call = {.session = session, .qp = qp};

	if (qp == NULL)
		return -EINVAL;
	vd_call(session, query_call, &call);
	fill_query(qp, &call.attr, &answer->reply.qp_attr);
	answer->reply.qp_attr.av = vd_qp_real(qp)->av;
	return 0;
}
