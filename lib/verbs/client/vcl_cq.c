/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion channels and queues. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vcl_cq.h"

/* ---- channels ---- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct vc_request req = {.op = VC_CREATE_COMP_CHANNEL};
	struct vcl_channel *channel = calloc(1, sizeof(*channel));
	struct vc_reply reply;
	int err;

	if (channel == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	err = vcl_call_fds(&vcl_context(context)->conn, &req, &reply, &channel->ibv.fd, 1);
	if (err != 0) {
		free(channel);
		errno = -err;
		return NULL;
	}
	channel->ibv.context = context;
	channel->handle = reply.object.handle;
	return &channel->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct vcl_channel *channel = container_of(ibv, struct vcl_channel, ibv);
	struct vcl_context *ctx = vcl_context(ibv->context);
	int err;

	pthread_mutex_lock(&ctx->lock);
	err = ibv->refcnt != 0 ? -EBUSY : 0;
	pthread_mutex_unlock(&ctx->lock);
	if (err == 0)
		err = vcl_call_handle(&ctx->conn, VC_DESTROY_COMP_CHANNEL, channel->handle, NULL);
	if (err != 0 && err != -EIO)
		return vcl_errno(err);
	close(ibv->fd);
	free(channel);
	return 0;
}

static void channel_ref(struct vcl_context *ctx, struct ibv_comp_channel *channel, int n)
{
	if (channel == NULL)
		return;
	pthread_mutex_lock(&ctx->lock);
	channel->refcnt += n;
	pthread_mutex_unlock(&ctx->lock);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct vcl_context *ctx = vcl_context(channel->context);
	struct vc_comp_msg msg;
	struct vcl_cq *found;
	int rc;

	do {
		rc = vcl_read_event(channel->fd, ctx->conn.fd, &msg, sizeof(msg));
		if (rc == 0)
			errno = EIO;
		if (rc <= 0)
			return -1;
		pthread_mutex_lock(&ctx->lock);
		found = vcl_table_get(&ctx->cookies, msg.cq_cookie);
		if (found != NULL)
			found->comp_events++;
		pthread_mutex_unlock(&ctx->lock);
	} while (found == NULL); /* of a CQ destroyed since */
	*cq = &found->ibv;
	*cq_context = found->ibv.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

void vcl_wait_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed, uint32_t n)
{
	pthread_mutex_lock(mutex);
	while (*completed != n)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

/* ---- queues ---- */

static int place_ring(struct vcl_context *ctx, struct vcl_cq *cq, uint64_t offset, uint32_t depth)
{
	struct vc_cq *ring = vcl_shm_at(ctx, offset, sizeof(struct vc_cq) + (uint64_t)depth * sizeof(struct tp_cqe));

	if (ring == NULL || depth == 0 || (depth & (depth - 1)) != 0)
		return -EPROTO;
	cq->ring = ring;
	cq->slots = (struct tp_cqe *)(void *)(ring + 1);
	cq->depth = depth;
	cq->ibv.cqe = (int)depth;
	return 0;
}

static int create_ring(struct vcl_context *ctx, struct vcl_cq *cq, uint32_t cqe, uint32_t vector)
{
	struct vc_request req = {.op = VC_CREATE_CQ};
	struct vc_reply reply;
	int err;

	req.create_cq.depth = cqe;
	req.create_cq.cookie = cq->cookie;
	req.create_cq.vector = vector;
	if (cq->ibv.channel != NULL)
		req.create_cq.channel = container_of(cq->ibv.channel, struct vcl_channel, ibv)->handle;
	err = vcl_call(&ctx->conn, &req, &reply);
	if (err != 0)
		return err;
	cq->ibv.handle = reply.cq.handle;
	err = place_ring(ctx, cq, reply.cq.offset, reply.cq.depth);
	if (err != 0)
		(void)vcl_call_handle(&ctx->conn, VC_DESTROY_CQ, reply.cq.handle, NULL);
	return err;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
	int comp_vector)
{
	struct vcl_context *ctx = vcl_context(context);
	struct vcl_cq *cq;
	int err;

	if (cqe < 1 || comp_vector < 0 || comp_vector >= context->num_comp_vectors) {
		errno = EINVAL;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	cq->ibv.context = context;
	cq->ibv.channel = channel;
	cq->ibv.cq_context = cq_context;
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	cq->cookie = vcl_add_cookie(ctx, cq);
	err = cq->cookie == 0 ? -ENOMEM : create_ring(ctx, cq, (uint32_t)cqe, (uint32_t)comp_vector);
	if (err != 0) {
		vcl_remove_cookie(ctx, cq->cookie);
		free(cq);
		errno = -err;
		return NULL;
	}
	channel_ref(ctx, channel, 1);
	return &cq->ibv;
}

int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct vcl_context *ctx = vcl_context(ibv->context);
	struct vc_request req = {.op = VC_RESIZE_CQ};
	struct vcl_cq *cq = vcl_cq(ibv);
	struct vc_reply reply;
	int err;

	if (cqe < 1)
		return vcl_errno(-EINVAL);
	req.resize_cq.handle = ibv->handle;
	req.resize_cq.depth = (uint32_t)cqe;
	/* The daemon moves what is in the ring and gives the old one back, so nobody may look meanwhile. */
	pthread_spin_lock(&cq->lock);
	err = vcl_call(&ctx->conn, &req, &reply);
	if (err == 0)
		err = place_ring(ctx, cq, reply.cq.offset, reply.cq.depth);
	if (err == -EPROTO)
		vcl_conn_kill(&ctx->conn);
	pthread_spin_unlock(&cq->lock);
	return vcl_errno(err);
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct vcl_context *ctx = vcl_context(ibv->context);
	struct vcl_cq *cq = vcl_cq(ibv);
	int err = vcl_call_handle(&ctx->conn, VC_DESTROY_CQ, ibv->handle, NULL);

	if (err != 0 && err != -EIO)
		return vcl_errno(err);
	vcl_remove_cookie(ctx, cq->cookie); /* no event names it from here on, so the counts stand */
	vcl_wait_acks(&ibv->mutex, &ibv->cond, &ibv->comp_events_completed, cq->comp_events);
	vcl_wait_acks(&ibv->mutex, &ibv->cond, &ibv->async_events_completed, cq->async_events);
	channel_ref(ctx, ibv->channel, -1);
	pthread_mutex_destroy(&ibv->mutex);
	pthread_cond_destroy(&ibv->cond);
	pthread_spin_destroy(&cq->lock);
	free(cq);
	return 0;
}

/* ---- consumer side of the ring: no system call here ---- */

static void copy_wc(struct ibv_wc *wc, const struct tp_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = (enum ibv_wc_status)cqe->status;
	wc->opcode = (enum ibv_wc_opcode)cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->bytes;
	wc->imm_data = cqe->imm;
	wc->qp_num = cqe->qpn;
	wc->src_qp = cqe->src_qpn;
	wc->wc_flags = cqe->flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = 0;
	wc->sl = cqe->l3;
	wc->dlid_path_bits = 0;
}

int vcl_poll_cq(struct ibv_cq *ibv, int num_entries, struct ibv_wc *wc)
{
	struct vcl_cq *cq = vcl_cq(ibv);
	struct tp_cqe *cqe;
	uint32_t cons;
	int n = 0;

	if (vcl_forked(ibv->context))
		return -1;
	pthread_spin_lock(&cq->lock);
	cons = cq->cons;
	while (n < num_entries && (cqe = vcl_next_cqe(cq, cons)) != NULL) {
		cons++;
		if (cqe->qpn == VCL_QPN_GONE)
			continue;
		copy_wc(&wc[n++], cqe);
	}
	if (cons != cq->cons) {
		cq->cons = cons;
		__atomic_store_n(&cq->ring->cons, cons, __ATOMIC_RELEASE);
	}
	pthread_spin_unlock(&cq->lock);
	/* What a daemon that died had completed is still delivered, but then nothing more comes. */
	return n == 0 && num_entries > 0 && !vcl_alive(ibv->context) ? -1 : n;
}

/*
 * The program arms and then polls once more; the daemon publishes a completion and then looks at the arm
 * flag. With the fence on our side, and one on the daemon's between its store and its load, at least one
 * of the two sees the other: no completion is left without a notification.
 */
int vcl_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	struct vcl_cq *cq = vcl_cq(ibv);
	uint32_t none = VC_ARM_NONE;

	if (!vcl_alive(ibv->context))
		return vcl_errno(-EIO);
	pthread_spin_lock(&cq->lock);
	if (solicited_only == 0)
		__atomic_store_n(&cq->ring->armed, VC_ARM_ANY, __ATOMIC_RELEASE);
	else /* never weakens an arming for any completion that is still out */
		(void)__atomic_compare_exchange_n(&cq->ring->armed, &none, VC_ARM_SOLICITED, false, __ATOMIC_ACQ_REL,
			__ATOMIC_ACQUIRE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	pthread_spin_unlock(&cq->lock);
	return 0;
}

void vcl_cq_purge(struct ibv_cq *ibv, uint32_t qpn)
{
	struct vcl_cq *cq = vcl_cq(ibv);
	struct tp_cqe *cqe;
	uint32_t cons;

	if (vcl_forked(ibv->context))
		return;
	pthread_spin_lock(&cq->lock);
	for (cons = cq->cons; (cqe = vcl_next_cqe(cq, cons)) != NULL; cons++)
		if (cqe->qpn == qpn)
			cqe->qpn = VCL_QPN_GONE;
	pthread_spin_unlock(&cq->lock);
}
