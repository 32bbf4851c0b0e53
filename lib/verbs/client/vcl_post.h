/* SPDX-License-Identifier: BSD-3-Clause */
/* The producer side of work queues in shared memory, for both ways to post. */
#ifndef VCL_POST_H
#define VCL_POST_H

#include "vcl_ibv.h"

/* The next free slot, NULL: the queue is full. */
static inline void *vcl_free_slot(const struct vcl_ring *ring)
{
	if (ring->prod - __atomic_load_n(&ring->queue->cons, __ATOMIC_ACQUIRE) >= ring->depth)
		return NULL;
	return ring->slots + (size_t)(ring->prod & (ring->depth - 1)) * ring->slot_bytes;
}

/*
 * Publishes what was posted. The daemon, before it sleeps, sets need_wakeup and looks at the doorbells
 * once more: with a fence between store and load on both sides, one of the two sees the other.
 */
static inline void vcl_ring_doorbell(struct vcl_qp *qp, struct vcl_ring *ring)
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

static inline void vcl_write_sges(struct tp_sge *to, const struct ibv_sge *from, int n)
{
	int i;

	static_assert(sizeof(struct tp_sge) == sizeof(struct ibv_sge), "the same layout");
	for (i = 0; i < n; i++)
		to[i] = (struct tp_sge){from[i].addr, from[i].length, from[i].lkey};
}

/* Whether a QP takes send requests in its state (IB 10.3.1). 0 or a negative errno. */
static inline int vcl_may_send(const struct ibv_qp *qp)
{
	enum ibv_qp_state state = __atomic_load_n(&qp->state, __ATOMIC_RELAXED);

	if (!vcl_alive(qp->context))
		return -EIO;
	return state == IBV_QPS_RESET || state == IBV_QPS_INIT || state == IBV_QPS_RTR ? -EINVAL : 0;
}

/* ---- vcl_mw.c ---- */
/* Whether the device has memory windows, and invalidates keys. */
bool vcl_has_windows(struct ibv_context *ctx);
/* Whether a QP may bind a window to a region. 0 or a negative errno. */
int vcl_check_bind(const struct ibv_qp *qp, const struct ibv_mw *mw, const struct ibv_mw_bind_info *info);
void vcl_write_bind(struct tp_send_wqe *wqe, uint32_t rkey, const struct ibv_mw_bind_info *info);

/* ---- vcl_wr.c ---- */
/* Gives a new QP the ibv_wr_* calls of IBV_QP_EX_WITH_* flags. */
void vcl_set_wr_calls(struct vcl_qp *qp, uint64_t flags);
/* Whether a QP of that type can have them. 0 or a negative errno. */
int vcl_check_wr_calls(struct ibv_context *ctx, enum ibv_qp_type type, uint64_t flags);

#endif
