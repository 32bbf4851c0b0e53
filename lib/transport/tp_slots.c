/* SPDX-License-Identifier: BSD-3-Clause */
#include "tp_slots.h"

#include <errno.h>
#include <stdlib.h>

#define RINGS_EACH  32u  /* one for each of the first queue pairs */
#define QPS_A_RING  128u /* and of later ones, one for so many */
#define LEAST_SLOTS 8u
#define MOST_SLOTS  (LEAST_SLOTS << (TP_RING_SIZES - 1))

static_assert(TP_MAX_SGE * sizeof(struct tp_sge) <= (TP_SLOT_SIZES - 1) * TP_SLOT_UNIT, "slots of all sizes");
static_assert(TP_MAX_INLINE_BYTES <= (TP_SLOT_SIZES - 1) * TP_SLOT_UNIT, "slots of all sizes");

/* A ring; the slots are behind the swr. */
struct tp_slots {
	struct tp_slots *next;   /* that is free */
	struct tp_swr swr[];
};

static size_t header_bytes(uint32_t n)
{
	return RTE_ALIGN_CEIL(sizeof(struct tp_slots) + n * sizeof(struct tp_swr), (size_t)RTE_CACHE_LINE_SIZE);
}

/* Of the size for its depth; at most twice what go-back-N has under way, and all that TP_EXT_PSN_RING lets be. */
static uint32_t ring_index(const struct tp_qp *qp)
{
	uint32_t i = 0;

	while (i + 1 < TP_RING_SIZES && LEAST_SLOTS << i < qp->init.sq_depth)
		i++;
	return i;
}

static struct tp_slots_pool *pool_of(const struct tp_qp *qp)
{
	return &qp->tp->slots[qp->req.slot_bytes / TP_SLOT_UNIT - 1][ring_index(qp)];
}

static uint32_t wanted(uint32_t n_qps)
{
	return n_qps <= RINGS_EACH ? n_qps : RINGS_EACH + (n_qps - RINGS_EACH) / QPS_A_RING;
}

static void shrink(struct tp_slots_pool *pool)
{
	while (pool->n > wanted(pool->n_qps) && pool->free != NULL) {
		struct tp_slots *ring = pool->free;

		pool->free = ring->next;
		pool->n--;
		free(ring);
	}
}

static void use_own(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;

	req->slots = qp->own_slots;
	req->swr = qp->own_swr;
	req->mask = TP_OWN_SLOTS - 1;
	req->room = tp_min(TP_OWN_SLOTS, qp->init.sq_depth);
}

int tp_slots_join(struct tp_qp *qp)
{
	struct tp_slots_pool *pool = pool_of(qp);
	uint32_t n = LEAST_SLOTS << ring_index(qp);
	size_t bytes = header_bytes(n) + n * (size_t)qp->req.slot_bytes;

	use_own(qp);
	if (qp->type->send == NULL || qp->init.sq_depth <= TP_OWN_SLOTS)
		return 0;
	while (pool->n < wanted(pool->n_qps + 1)) {
		struct tp_slots *ring = aligned_alloc(RTE_CACHE_LINE_SIZE, bytes);

		if (ring == NULL)
			return -ENOMEM;
		memset(ring, 0, bytes);
		ring->next = pool->free;
		pool->free = ring;
		pool->n++;
	}
	pool->n_qps++;
	qp->req.shares = true;
	return 0;
}

void tp_slots_leave(struct tp_qp *qp)
{
	if (!qp->req.shares)
		return;
	tp_slots_give_back(qp);
	pool_of(qp)->n_qps--;
	shrink(pool_of(qp));
	qp->req.shares = false;
}

bool tp_slots_borrow(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;
	struct tp_slots_pool *pool = pool_of(qp);
	struct tp_slots *ring = pool->free;
	uint32_t n = LEAST_SLOTS << ring_index(qp);
	uint8_t *slots;

	if (req->lent != NULL || !req->shares || ring == NULL)
		return false;
	pool->free = ring->next;
	slots = (uint8_t *)ring + header_bytes(n);
	for (uint32_t i = req->head; i != req->tail; i++) {
		memcpy(slots + (size_t)(i & (n - 1)) * req->slot_bytes, tp_req_wqe(qp, i), req->slot_bytes);
		ring->swr[i & (n - 1)] = *tp_req_swr(qp, i);
	}
	req->lent = ring;
	req->slots = slots;
	req->swr = ring->swr;
	req->mask = n - 1;
	req->room = tp_min(n, qp->init.sq_depth);
	return true;
}

void tp_slots_give_back(struct tp_qp *qp)
{
	struct tp_slots_pool *pool;

	if (qp->req.lent == NULL)
		return;
	pool = pool_of(qp);
	qp->req.lent->next = pool->free;
	pool->free = qp->req.lent;
	qp->req.lent = NULL;
	use_own(qp);
	shrink(pool);
}
