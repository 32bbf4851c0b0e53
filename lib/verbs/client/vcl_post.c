/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting work requests: one producer lock a queue, no system call unless the daemon sleeps. A chain of
 * requests is published with one index store and one doorbell.
 */
#include <string.h>
#include <unistd.h>

#include "vcl_ibv.h"

#define RC      (1u << IBV_QPT_RC)
#define UC      (1u << IBV_QPT_UC)
#define UD      (1u << IBV_QPT_UD)
#define ATOMIC_BYTES 8

/* What a work request carries, by opcode (IB 11.4.1.1, table of operations by service). */
static const struct {
	uint8_t services;                  /* RC, UC, UD that have it */
	uint8_t remote : 1, atomic : 1, may_inline : 1;
} opcodes[] = {
	[IBV_WR_RDMA_WRITE] = {RC | UC, .remote = 1, .may_inline = 1},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {RC | UC, .remote = 1, .may_inline = 1},
	[IBV_WR_SEND] = {RC | UC | UD, .may_inline = 1},
	[IBV_WR_SEND_WITH_IMM] = {RC | UC | UD, .may_inline = 1},
	[IBV_WR_RDMA_READ] = {RC, .remote = 1},
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {RC, .atomic = 1},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {RC, .atomic = 1},
	[IBV_WR_SEND_WITH_INV] = {RC, .may_inline = 1}, /* its key shares the place of the immediate data */
};

/*
 * Publishes what was posted. The daemon, before it sleeps, sets need_wakeup and looks at the doorbells
 * once more: with a fence between store and load on both sides, one of the two sees the other.
 */
static void ring_doorbell(struct vcl_qp *qp, struct vcl_ring *ring)
{
	struct vcl_context *ctx = vcl_context(qp->ibv.context);
	const uint64_t one = 1;

	__atomic_store_n(&ring->queue->prod, ring->prod, __ATOMIC_RELEASE);
	__atomic_fetch_or(qp->doorbell, qp->doorbell_bit, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&ctx->shm->need_wakeup, __ATOMIC_RELAXED) != 0)
		/* A full counter means that the daemon has been told. */
		(void)!write(ctx->wakeup_fd, &one, sizeof(one));
}

/* The next free slot, NULL: the queue is full. */
static void *free_slot(const struct vcl_ring *ring)
{
	if (ring->prod - __atomic_load_n(&ring->queue->cons, __ATOMIC_ACQUIRE) >= ring->depth)
		return NULL;
	return ring->slots + (size_t)(ring->prod & (ring->depth - 1)) * ring->slot_bytes;
}

static uint64_t total_bytes(const struct ibv_sge *sge, int n)
{
	uint64_t bytes = 0;
	int i;

	for (i = 0; i < n; i++)
		bytes += sge[i].length;
	return bytes;
}

/* 0 or a negative errno. */
static int check_send(const struct vcl_qp *qp, const struct ibv_send_wr *wr)
{
	const unsigned int flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
	bool is_inline = (wr->send_flags & IBV_SEND_INLINE) != 0;
	uint64_t bytes;

	if ((size_t)wr->opcode >= sizeof(opcodes) / sizeof(opcodes[0]) || opcodes[wr->opcode].services == 0 ||
		(wr->send_flags & ~flags) != 0)
		return -EOPNOTSUPP;
	if ((opcodes[wr->opcode].services & (1u << qp->ibv.qp_type)) == 0)
		return -EINVAL;
	if (wr->num_sge < 0 || (!is_inline && (uint32_t)wr->num_sge > qp->sq.max_sge))
		return -EINVAL;
	bytes = total_bytes(wr->sg_list, wr->num_sge);
	if (bytes > TP_MAX_MSG_BYTES || (opcodes[wr->opcode].atomic != 0 && bytes != ATOMIC_BYTES))
		return -EINVAL;
	if (is_inline && (opcodes[wr->opcode].may_inline == 0 || bytes > qp->max_inline_bytes))
		return -EINVAL;
	if (qp->ibv.qp_type == IBV_QPT_UD && (wr->wr.ud.ah == NULL || wr->wr.ud.ah->context != qp->ibv.context))
		return -EINVAL;
	return 0;
}

static void write_header(const struct vcl_qp *qp, const struct ibv_send_wr *wr, struct tp_send_wqe *wqe)
{
	*wqe = (struct tp_send_wqe){
		.wr_id = wr->wr_id,
		.opcode = (uint8_t)wr->opcode,
		.flags = (uint16_t)wr->send_flags,
		.imm = wr->imm_data,
	};
	if (opcodes[wr->opcode].remote != 0) {
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
	}
	if (opcodes[wr->opcode].atomic != 0) {
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->atomic.compare_add = wr->wr.atomic.compare_add;
		wqe->atomic.swap = wr->wr.atomic.swap;
	}
	if (qp->ibv.qp_type == IBV_QPT_UD) {
		wqe->ud.ah = wr->wr.ud.ah->handle;
		wqe->ud.qpn = wr->wr.ud.remote_qpn;
		wqe->ud.qkey = wr->wr.ud.remote_qkey;
	}
}

static void write_sges(struct tp_sge *to, const struct ibv_sge *from, int n)
{
	int i;

	static_assert(sizeof(struct tp_sge) == sizeof(struct ibv_sge), "the same layout");
	for (i = 0; i < n; i++)
		to[i] = (struct tp_sge){from[i].addr, from[i].length, from[i].lkey};
}

static void write_inline(struct tp_send_wqe *wqe, const struct ibv_sge *sge, int n)
{
	uint8_t *to = (uint8_t *)(wqe + 1);
	int i;

	for (i = 0; i < n; i++) {
		if (sge[i].length == 0)
			continue;
		memcpy(to + wqe->inline_bytes, (const void *)(uintptr_t)sge[i].addr, sge[i].length);
		wqe->inline_bytes += sge[i].length;
	}
}

static int post_one_send(struct vcl_qp *qp, const struct ibv_send_wr *wr)
{
	struct tp_send_wqe *wqe;
	int err = check_send(qp, wr);

	if (err != 0)
		return err;
	wqe = free_slot(&qp->sq);
	if (wqe == NULL)
		return -ENOMEM;
	write_header(qp, wr, wqe);
	if ((wr->send_flags & IBV_SEND_INLINE) != 0) {
		write_inline(wqe, wr->sg_list, wr->num_sge);
	} else {
		wqe->num_sge = (uint8_t)wr->num_sge;
		write_sges((struct tp_sge *)(wqe + 1), wr->sg_list, wr->num_sge);
	}
	qp->sq.prod++;
	return 0;
}

int vcl_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct vcl_qp *qp = vcl_qp(ibv);
	enum ibv_qp_state state = __atomic_load_n(&ibv->state, __ATOMIC_RELAXED);
	uint32_t first;
	int err = 0;

	if (!vcl_alive(ibv->context))
		err = -EIO;
	else if (state == IBV_QPS_RESET || state == IBV_QPS_INIT || state == IBV_QPS_RTR)
		err = -EINVAL;
	if (err != 0) {
		*bad_wr = wr;
		return vcl_errno(err);
	}
	pthread_spin_lock(&qp->sq.lock);
	first = qp->sq.prod;
	for (; wr != NULL; wr = wr->next) {
		err = post_one_send(qp, wr);
		if (err != 0) {
			*bad_wr = wr;
			break;
		}
	}
	if (qp->sq.prod != first)
		ring_doorbell(qp, &qp->sq);
	pthread_spin_unlock(&qp->sq.lock);
	return vcl_errno(err);
}

static int post_one_recv(struct vcl_qp *qp, const struct ibv_recv_wr *wr)
{
	struct tp_recv_wqe *wqe;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->rq.max_sge)
		return -EINVAL;
	wqe = free_slot(&qp->rq);
	if (wqe == NULL)
		return -ENOMEM;
	*wqe = (struct tp_recv_wqe){.wr_id = wr->wr_id, .num_sge = (uint32_t)wr->num_sge};
	write_sges((struct tp_sge *)(wqe + 1), wr->sg_list, wr->num_sge);
	qp->rq.prod++;
	return 0;
}

int vcl_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vcl_qp *qp = vcl_qp(ibv);
	uint32_t first;
	int err = 0;

	if (!vcl_alive(ibv->context))
		err = -EIO;
	else if (__atomic_load_n(&ibv->state, __ATOMIC_RELAXED) == IBV_QPS_RESET)
		err = -EINVAL;
	if (err != 0) {
		*bad_wr = wr;
		return vcl_errno(err);
	}
	pthread_spin_lock(&qp->rq.lock);
	first = qp->rq.prod;
	for (; wr != NULL; wr = wr->next) {
		err = post_one_recv(qp, wr);
		if (err != 0) {
			*bad_wr = wr;
			break;
		}
	}
	if (qp->rq.prod != first)
		ring_doorbell(qp, &qp->rq);
	pthread_spin_unlock(&qp->rq.lock);
	return vcl_errno(err);
}
