/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues: made and destroyed, their limit armed, resized, queried. */
#include <stdlib.h>

#include "vd_internal.h"

struct srq_call {
	struct vd_srq *srq;
	struct tp_srq_init init;
	uint32_t mask, limit;
	struct vd_ring ring; /* to move to */
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
	if (call->err == 0)
		srq->number = tp_srq_number(srq->tp_srq);
}

static int create_at_worker(struct vd_srq *srq, const struct vd_pd *pd)
{
	struct srq_call call = {.srq = srq};

	call.init = (struct tp_srq_init){
		.pd = pd->number,
		.depth = srq->ring.depth,
		.max_sge = srq->max_sge,
		.xrcd = srq->xrcd != NULL ? srq->xrcd->xrcd->number : 0,
		.cq = srq->cq,
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
	reply->srq.number = srq->number;
	reply->srq.offset = srq->offset;
}

/* XRC: the domain, and where its completions go. */
static int find_parts(struct vd_srq *srq, const struct vc_request *request)
{
	struct vd_session *session = srq->session;

	if (request->create_srq.xrcd == 0)
		return 0;
	srq->xrcd = vd_table_get(&session->xrcds, request->create_srq.xrcd);
	srq->cq = vd_table_get(&session->cqs, request->create_srq.cq);
	return srq->xrcd != NULL && srq->cq != NULL ? 0 : -EINVAL;
}

static void count_parts(struct vd_srq *srq, uint32_t one)
{
	srq->pd->refs += one;
	if (srq->xrcd == NULL)
		return;
	srq->xrcd->refs += one;
	srq->cq->refs += one;
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
	err = find_parts(srq, request);
	if (err != 0)
		goto free_srq;
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
	count_parts(srq, 1);
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

/* Takes what is posted along to another ring, at the same indices. The client does not post meanwhile; one that
 * does loses what it posts. */
static int move_ring(struct vd_srq *srq, const struct vd_ring *to)
{
	struct vd_ring *ring = &srq->ring;
	uint32_t prod = __atomic_load_n(&ring->queue->prod, __ATOMIC_ACQUIRE);
	uint32_t posted = prod - ring->cons;
	int err;

	if (posted > ring->depth || posted > to->depth)
		return -EINVAL;
	err = tp_srq_resize(vd_tp(srq->session), srq->tp_srq, to->depth);
	if (err != 0)
		return err;
	/* The client's own bytes go back to the client; nothing of them is used here. */
	for (uint32_t i = ring->cons; i != prod; i++)
		memcpy((uint8_t *)(to->queue + 1) + (size_t)(i & (to->depth - 1)) * to->slot_bytes,
			ring->slots + (size_t)(i & (ring->depth - 1)) * ring->slot_bytes, ring->slot_bytes);
	to->queue->prod = prod;
	to->queue->cons = ring->cons;
	ring->queue = to->queue;
	ring->slots = to->slots;
	ring->depth = to->depth;
	return 0;
}

static void modify_call(void *arg)
{
	struct srq_call *call = arg;
	struct vd_srq *srq = call->srq;
	struct tp *tp = vd_tp(srq->session);
	uint32_t armed = tp_srq_limit(srq->tp_srq);

	if ((call->mask & IBV_SRQ_MAX_WR) != 0) {
		/* The limit that counts is the new one. */
		if ((call->mask & IBV_SRQ_LIMIT) != 0)
			(void)tp_srq_set_limit(tp, srq->tp_srq, 0);
		call->err = move_ring(srq, &call->ring);
		if (call->err != 0) {
			if (armed != 0)
				(void)tp_srq_set_limit(tp, srq->tp_srq, armed);
			return;
		}
	}
	if ((call->mask & IBV_SRQ_LIMIT) != 0)
		call->err = tp_srq_set_limit(tp, srq->tp_srq, call->limit);
}

static int resize(struct vd_srq *srq, uint32_t max_wr, struct srq_call *call)
{
	struct vd_session *session = srq->session;
	uint64_t offset;
	int err;

	call->ring.depth = vd_ring_depth(max_wr);
	call->ring.slot_bytes = srq->ring.slot_bytes;
	if ((call->mask & IBV_SRQ_LIMIT) != 0 && call->limit > call->ring.depth)
		return -EINVAL;
	err = vd_ring_alloc(session,
		sizeof(struct vc_queue) + (uint64_t)call->ring.depth * call->ring.slot_bytes, &offset);
	if (err != 0)
		return err;
	vd_ring_place(&call->ring, &session->shm, offset);
	vd_call(session, modify_call, call);
	if (call->err != 0) {
		vd_ring_free(session, offset);
		return call->err;
	}
	vd_ring_free(session, srq->offset);
	srq->offset = offset;
	return 0;
}

int vd_op_modify_srq(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_srq *srq = vd_table_get(&session->srqs, request->modify_srq.handle);
	uint32_t mask = request->modify_srq.mask, max_wr = request->modify_srq.max_wr;
	struct srq_call call = {.srq = srq, .mask = mask, .limit = request->modify_srq.limit};
	int err = 0;

	if (srq == NULL || (mask & ~(uint32_t)(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0)
		return -EINVAL;
	if ((mask & IBV_SRQ_MAX_WR) != 0) {
		if (max_wr == 0 || max_wr > session->vd->limits.max_srq_wr)
			return -EINVAL;
		err = resize(srq, max_wr, &call);
	} else if ((mask & IBV_SRQ_LIMIT) != 0) {
		vd_call(session, modify_call, &call);
		err = call.err;
	}
	if (err == 0)
		fill_reply(srq, call.limit, &answer->reply);
	return err;
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
	count_parts(srq, UINT32_MAX);
	session->vd->stats.srqs--;
	free(srq);
	return 0;
}
