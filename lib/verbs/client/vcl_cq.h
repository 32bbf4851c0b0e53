/* SPDX-License-Identifier: BSD-3-Clause */
/* The consumer side of a completion queue in shared memory, for both ways to poll. */
#ifndef VCL_CQ_H
#define VCL_CQ_H

#include <sched.h>

#include "vcl_ibv.h"

#define VCL_QPN_GONE UINT32_MAX  /* in a slot: the completion's QP is destroyed, pass over it */

/* A completion costs no system call. But a program that spins may share its CPU with the very worker it waits for
 * and would keep it out till the end of its time slice; so it gives way this often, which costs a spinning
 * program with a CPU of its own a fraction of a microsecond. */
#define VCL_YIELD_POLLS 64

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

/* After a poll, without the lock. */
static inline void vcl_cq_give_way(struct vcl_cq *cq, bool was_empty)
{
	if (!was_empty)
		cq->empty_polls = 0;
	else if (++cq->empty_polls % VCL_YIELD_POLLS == 0)
		sched_yield();
}

#endif
