/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion channels and completion queues. */
#include <stdlib.h>
#include <unistd.h>

#include "vd_internal.h"

int vd_op_create_comp_channel(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_comp_channel *channel = calloc(1, sizeof(*channel));
	int err, theirs;

	(void)request;
	if (channel == NULL)
		return -ENOMEM;
	err = vd_notify_pair(&channel->fd, &theirs);
	if (err != 0)
		goto free_channel;
	err = vd_table_add(&session->comp_channels, channel, &channel->handle);
	if (err != 0)
		goto close_pair;
	session->vd->stats.comp_channels++;
	vd_answer_fd(answer, theirs, true);
	answer->reply.object.handle = channel->handle;
	return 0;

close_pair:
	close(channel->fd);
	close(theirs);
free_channel:
	free(channel);
	return err;
}

int vd_op_destroy_comp_channel(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_comp_channel *channel =
		vd_table_get(&session->comp_channels, request->object.handle);

	(void)answer;
	if (channel == NULL)
		return -EINVAL;
	if (channel->refs != 0)
		return -EBUSY;
	vd_table_del(&session->comp_channels, channel->handle);
	session->vd->stats.comp_channels--;
	close(channel->fd);
	free(channel);
	return 0;
}

/* Entries for a wish, 0: out of range. */
static uint32_t depth_for(const struct vd_session *session, uint32_t wish)
{
	uint32_t depth = 1;

	if (wish > session->vd->limits.max_cqe)
		return 0;
	while (depth < wish)
		depth *= 2;
	return depth;
}

static uint64_t ring_bytes(uint32_t depth)
{
	return sizeof(struct vc_cq) + (uint64_t)depth * sizeof(struct tp_cqe);
}

static void place(struct vd_cq *cq, uint64_t offset, uint32_t depth)
{
	uint8_t *base = cq->session->shm.base + offset;

	cq->ring = (struct vc_cq *)(void *)base;
	cq->slots = (struct tp_cqe *)(void *)(base + sizeof(struct vc_cq));
	cq->depth = depth;
}

int vd_op_create_cq(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	uint32_t depth = depth_for(session, request->create_cq.depth);
	struct vd_comp_channel *channel = NULL;
	struct vd_cq *cq;
	int err;

	if (depth == 0)
		return -EINVAL;
	if (request->create_cq.channel != 0) {
		channel = vd_table_get(&session->comp_channels, request->create_cq.channel);
		if (channel == NULL)
			return -EINVAL;
	}
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return -ENOMEM;
	cq->session = session;
	cq->channel = channel;
	err = vd_ring_alloc(session, ring_bytes(depth), &cq->offset);
	if (err != 0)
		goto free_cq;
	err = vd_table_add(&session->cqs, cq, &cq->handle);
	if (err != 0)
		goto free_ring;
	/* The worker sees it first when a queue pair that uses it is made there. */
	place(cq, cq->offset, depth);
	cq->note.session = session;
	cq->note.cookie = request->create_cq.cookie;
	cq->note.comp_fd = channel != NULL ? channel->fd : -1;
	if (channel != NULL)
		channel->refs++;
	session->vd->stats.cqs++;
	answer->reply.cq.handle = cq->handle;
	answer->reply.cq.depth = depth;
	answer->reply.cq.offset = cq->offset;
	return 0;

free_ring:
	vd_ring_free(session, cq->offset);
free_cq:
	free(cq);
	return err;
}

struct cq_call {
	struct vd_cq *cq;
	uint64_t offset;
	uint32_t depth;
	int err;
};

static void resize_call(void *arg)
{
	struct cq_call *call = arg;
	struct vd_cq *cq = call->cq;
	uint32_t cons = __atomic_load_n(&cq->ring->cons, __ATOMIC_ACQUIRE);
	struct vd_cq old = *cq;

	if (cq->prod - cons > cq->depth || cq->prod - cons > call->depth) {
		call->err = -EINVAL;
		return;
	}
	place(cq, call->offset, call->depth);
	/* The client's own bytes go back to the client; nothing of them is used here. */
	for (uint32_t i = cons; i != cq->prod; i++)
		cq->slots[i & (cq->depth - 1)] = old.slots[i & (old.depth - 1)];
	cq->ring->cons = cons;
	cq->ring->armed = __atomic_exchange_n(&old.ring->armed, VC_ARM_NONE, __ATOMIC_ACQ_REL);
}

int vd_op_resize_cq(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cq *cq = vd_table_get(&session->cqs, request->resize_cq.handle);
	struct cq_call call = {.cq = cq, .depth = depth_for(session, request->resize_cq.depth)};
	int err;

	if (cq == NULL || call.depth == 0)
		return -EINVAL;
	err = vd_ring_alloc(session, ring_bytes(call.depth), &call.offset);
	if (err != 0)
		return err;
	vd_call(session, resize_call, &call);
	if (call.err != 0) {
		vd_ring_free(session, call.offset);
		return call.err;
	}
	vd_ring_free(session, cq->offset);
	cq->offset = call.offset;
	answer->reply.cq.handle = cq->handle;
	answer->reply.cq.depth = call.depth;
	answer->reply.cq.offset = cq->offset;
	return 0;
}

static void destroy_call(void *arg)
{
	struct cq_call *call = arg;
	struct vd_session *session = call->cq->session;

	vd_worker_forget_cq(&session->vd->workers[session->worker], call->cq);
}

int vd_op_destroy_cq(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cq *cq = vd_table_get(&session->cqs, request->object.handle);
	struct cq_call call = {.cq = cq};

	(void)answer;
	if (cq == NULL)
		return -EINVAL;
	if (cq->refs != 0)
		return -EBUSY;
	vd_call(session, destroy_call, &call);
	vd_table_del(&session->cqs, cq->handle);
	vd_ring_free(session, cq->offset);
	if (cq->channel != NULL)
		cq->channel->refs--;
	session->vd->stats.cqs--;
	free(cq);
	return 0;
}
