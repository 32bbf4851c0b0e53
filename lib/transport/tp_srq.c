/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues (IBTA vol. 1, 10.2.9): receive work requests for any queue pair that is tied to one. */
#include <errno.h>
#include <stdlib.h>

#include "tp_internal.h"

int tp_srq_create(struct tp *tp, const struct tp_srq_init *init, struct tp_srq **out)
{
	struct tp_srq *srq;

	if (init->depth == 0 || init->depth > TP_MAX_DEPTH || init->max_sge > TP_MAX_SGE)
		return -EINVAL;
	srq = calloc(1, sizeof(*srq));
	if (srq == NULL)
		return -ENOMEM;
	srq->tp = tp;
	srq->init = *init;
	LIST_INSERT_HEAD(&tp->srqs, srq, link);
	*out = srq;
	return 0;
}

int tp_srq_destroy(struct tp *tp, struct tp_srq *srq)
{
	(void)tp;
	if (srq->n_qps != 0)
		return -EBUSY;
	LIST_REMOVE(srq, link);
	free(srq);
	return 0;
}

/* The limit tells once and is then disarmed. */
static void check_limit(struct tp_srq *srq)
{
	struct tp *tp = srq->tp;

	if (srq->limit == 0 || tp->ops.srq_posted(tp->env, srq->init.cookie) >= srq->limit)
		return;
	srq->limit = 0;
	tp->ops.srq_event(tp->env, srq->init.cookie, TP_EVENT_SRQ_LIMIT);
}

int tp_srq_set_limit(struct tp *tp, struct tp_srq *srq, uint32_t limit)
{
	(void)tp;
	if (limit > srq->init.depth)
		return -EINVAL;
	srq->limit = limit;
	check_limit(srq);
	return 0;
}

uint32_t tp_srq_limit(const struct tp_srq *srq)
{
	return srq->limit;
}

int tp_srq_fetch(struct tp_srq *srq, struct tp_recv_wqe *slot, uint32_t slot_bytes)
{
	struct tp *tp = srq->tp;
	int rc = tp->ops.srq_fetch(tp->env, srq->init.cookie, slot, slot_bytes);

	if (rc != 0)
		check_limit(srq);
	return rc;
}
