/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues: made and destroyed, their limit armed, queried. */
#include <stdlib.h>

#include "vd_internal.h"

struct srq_call {
	struct vd_srq *srq;
	struct tp_srq_init init;
	uint32_t limit;
	int err;
};

static int alloc_ring(struct vd_srq *srq)
{
	int err = vd_ring_alloc(srq->session,
		sizeof(struct vc_queue) + (uint64_t)srq->ring.depth * srq->ring.slot_bytes,
		&srq->offset);

	if (err == 0)
		vd_ring_place(&srq->ring, &srq->session->shm, srq->offset);
	return err;
}

static struct vd_srq *new_srq(struct vd_session *session, const struct vc_request *request)
{
	struct vd_srq *srq = calloc(1, sizeof(*srq));

	if (srq == NULL)
		return NULL;
	srq->session = session;
	srq->max_sge = request->create_srq.max_sge == 0 ? 1 : request->create_srq.max_sge;
	srq->ring.depth = vd_ring_depth(request->create_srq.max_wr);
	srq->ring.slot_bytes = tp_recv_slot_bytes(srq->max_sge);
	srq->note.session = session;
	srq->note.cookie = request->create_srq.cookie;
	srq->note.comp_fd = -1;
	return srq;
}

static void create_call(void *arg)
{
	struct srq_call *call = arg;
	struct vd_srq *srq = call->srq;

	call->err = tp_srq_create(vd_tp(srq->session), &call->init, &srq->tp_srq);
}

static int create_at_worker(struct vd_srq *srq, const struct vd_pd *pd)
{
	struct srq_call call = {.srq = srq};

	call.init = (struct tp_srq_init){
		.pd = pd->number,
		.depth = srq->ring.depth,
		.max_sge = srq->max_sge,
		.cookie = srq,
	};
	vd_call(srq->session, create_call, &call);
	return call.err;
}

static void fill_reply(const struct vd_srq *srq, uint32_t limit, struct vc_reply *reply)
{
	reply->srq.handle = srq->handle;
	reply->srq.depth = srq->ring.depth;
	reply->srq.slot_bytes = srq->ring.slot_bytes;
	reply->srq.max_sge = srq->max_sge;
	reply->srq.limit = limit;
	reply->srq.offset = srq->offset;
}

int vd_op_create_srq(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_pd *pd = vd_table_get(&session->pds, request->create_srq.pd);
	const struct vd_limits *limits = &session->vd->limits;
	struct vd_srq *srq;
	int err;

	if (pd == NULL || request->create_srq.max_wr > limits->max_srq_wr ||
		request->create_srq.max_sge > limits->max_sge)
		return -EINVAL;
	srq = new_srq(session, request);
	if (srq == NULL)
		return -ENOMEM;
	err = vd_table_add(&session->srqs, srq, &srq->handle);
	if (err != 0)
		goto free_srq;
	err = alloc_ring(srq);
	if (err != 0)
		goto del_handle;
	err = create_at_worker(srq, pd);
	if (err != 0)
		goto free_ring;
	srq->pd = pd;
	pd->refs++;
	session->vd->stats.srqs++;
	fill_reply(srq, 0, &answer->reply);
	return 0;

free_ring:
	vd_ring_free(session, srq->offset);
del_handle:
	vd_table_del(&session->srqs, srq->handle);
free_srq:
	free(srq);
	return err;
}

static void limit_call(void *arg)
{
	struct srq_call *call = arg;
	struct vd_srq *srq = call->srq;

	call->err = tp_srq_set_limit(vd_tp(srq->session), srq->tp_srq, call->limit);
}

int vd_op_modify_srq(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_srq *srq = vd_table_get(&session->srqs, request->modify_srq.handle);
	struct srq_call call = {.srq = srq, .limit = request->modify_srq.limit};
	uint32_t mask = request->modify_srq.mask;

	(void)answer;
	if (srq == NULL || (mask & ~(uint32_t)(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0)
		return -EINVAL;
	if ((mask & IBV_SRQ_MAX_WR) != 0)
		return -EOPNOTSUPP; /* no IBV_DEVICE_SRQ_RESIZE */
	if ((mask & IBV_SRQ_LIMIT) == 0)
		return 0;
	vd_call(session, limit_call, &call);
	return call.err;
}

static void query_call(void *arg)
{
	struct srq_call *call = arg;

	call->limit = tp_srq_limit(call->srq->tp_srq);
}

int vd_op_query_srq(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_srq *srq = vd_table_get(&session->srqs, request->object.handle);
	struct srq_call call = {.srq = srq};

	if (srq == NULL)
		return -EINVAL;
	vd_call(session, query_call, &call);
	fill_reply(srq, call.limit, &answer->reply);
	return 0;
}

static void destroy_call(void *arg)
{
	struct srq_call *call = arg;
	struct vd_session *session = call->srq->session;

	vd_worker_forget_srq(&session->vd->workers[session->worker], call->srq);
	(void)tp_srq_destroy(vd_tp(session), call->srq->tp_srq);
}

int vd_op_destroy_srq(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_srq *srq = vd_table_get(&session->srqs, request->object.handle);
	struct srq_call call = {.srq = srq};

	(void)answer;
	if (srq == NULL)
		return -EINVAL;
	if (srq->refs != 0)
		return -EBUSY;
	vd_call(session, destroy_call, &call);
	vd_table_del(&session->srqs, srq->handle);
	vd_ring_free(session, srq->offset);
	srq->pd->refs--;
	session->vd->stats.srqs--;
	free(srq);
	return 0;
}
