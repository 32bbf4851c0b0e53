/* SPDX-License-Identifier: BSD-3-Clause */
/* The consumer side of a completion queue in shared memory, for both ways to poll. */
#ifndef VCL_CQ_H
#define VCL_CQ_H


#include "vcl_ibv.h"

#define VCL_QPN_GONE UINT32_MAX  /* in a slot: the completion's QP is destroyed, pass over it */

/* The completion at an index; NULL: not there yet. */
static inline struct tp_cqe *vcl_next_cqe(const struct vcl_cq *cq, uint32_t cons)
{
	struct tp_cqe *cqe = &cq->slots[cons & (cq->depth - 1)];

	return __atomic_load_n(&cqe->seq, __ATOMIC_ACQUIRE) == cons + 1 ? cqe : NULL;
}

/* Gives consumed slots back to the daemon. */
static inline void vcl_cq_release(struct vcl_cq *cq, uint32_t cons)
{
	cq->cons = cons;
	__atomic_store_n(&cq->ring->cons, cons, __ATOMIC_RELEASE);
}

#endif
