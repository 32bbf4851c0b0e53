/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues (IBTA vol. 1, 10.2.9): receive work requests for any queue pair that is tied to one. */
#include <errno.h>
#include <stdlib.h>

#include "tp_internal.h"

struct tp_srq *tp_srq_find(const struct tp *tp, uint32_t number)
{
	uint32_t i = number & tp->index_mask;

	if (i >= tp->config.max_qps || tp->xrc_srqs[i] == NULL || tp->xrc_srqs[i]->number != number)
		return NULL;
	return tp->xrc_srqs[i];
}

/* Next fit, as queue pairs; index 0 is left out, so that no number is 0. */
static int number_xrc(struct tp *tp, struct tp_srq *srq)
{
	uint32_t n = tp->config.max_qps;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = (tp->next_xrc_srq + k) % n;

		if (i == 0 || tp->xrc_srqs[i] != NULL)
			continue;
		tp->xrc_srqs[i] = srq;
		srq->number = tp->config.qpn_base | i;
		tp->next_xrc_srq = i + 1;
		return 0;
	}
	return -ENOMEM;
}

/* A message in progress has lost its receive work request, and its next packet finds no queue. */
static void forget_xrc(struct tp *tp, struct tp_srq *srq)
{
	for (uint32_t i = 0; i < tp->config.max_qps; i++) {
		struct tp_qp *qp = tp->qps[i];

		if (qp == NULL || !qp->type->xrc || qp->resp.srq != srq)
			continue;
		qp->resp.srq = NULL;
		qp->resp.have_recv = false;
	}
	tp->xrc_srqs[srq->number & tp->index_mask] = NULL;
}

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
	if (init->xrcd != 0 && number_xrc(tp, srq) != 0) {
		free(srq);
		return -ENOMEM;
	}
	LIST_INSERT_HEAD(&tp->srqs, srq, link);
	*out = srq;
	return 0;
}

int tp_srq_destroy(struct tp *tp, struct tp_srq *srq)
{
	if (srq->n_qps != 0)
		return -EBUSY;
	if (srq->number != 0)
		forget_xrc(tp, srq);
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

int tp_srq_resize(struct tp *tp, struct tp_srq *srq, uint32_t depth)
{
	(void)tp;
	if (depth == 0 || depth > TP_MAX_DEPTH || depth < srq->limit)
		return -EINVAL;
	srq->init.depth = depth;
	return 0;
}

uint32_t tp_srq_number(const struct tp_srq *srq)
{
	return srq->number;
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
