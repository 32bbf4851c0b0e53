/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of work requests lie in blocks, of which a queue pair has as many as it needs for what it has under way; an idle
 * one has none. So ten thousand idle queue pairs take little memory, and those that take turns use the same few blocks, which
 * the cache has. Blocks come with queue pairs, and none is made or freed on the way: the first ones bring as many as
 * they could ever use, later ones one each. The last blocks are for those that have none, so everybody gets on.
 */
#include "tp_block.h"

#include <errno.h>
#include <stdlib.h>

#define SHARED_BLOCKS 1024u  /* of one size, beyond one for each queue pair */
#define SCARCE_SHARE  4u     /* blocks of a queue pair while more than half of all are in use */

static struct tp_block_pool *pool_of(const struct tp_qp *qp)
{
	return &qp->tp->block_pools[qp->req.slot_bytes / TP_SLOT_UNIT - 1];
}

static uint32_t most_blocks(const struct tp_qp *qp)
{
	return (qp->req.mask + 1) / TP_BLOCK_WRS;
}

static uint32_t wanted(const struct tp_block_pool *pool)
{
	return (uint32_t)RTE_MIN(pool->could_use, (uint64_t)pool->n_qps + SHARED_BLOCKS);
}

static void shrink(struct tp_block_pool *pool)
{
	while (pool->n > wanted(pool) && pool->n_free > pool->n_without) {
		struct tp_block *b = pool->free;

		pool->free = b->next;
		pool->n_free--;
		pool->n--;
		free(b);
	}
}

static int grow(struct tp_block_pool *pool, uint32_t slot_bytes)
{
	while (pool->n < wanted(pool)) {
		struct tp_block *b = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*b) + TP_BLOCK_WRS * (size_t)slot_bytes);

		if (b == NULL)
			return -ENOMEM;
		memset(b, 0, sizeof(*b) + TP_BLOCK_WRS * (size_t)slot_bytes);
		b->next = pool->free;
		pool->free = b;
		pool->n_free++;
		pool->n++;
	}
	return 0;
}

int tp_block_join(struct tp_qp *qp)
{
	struct tp_block_pool *pool = pool_of(qp);

	qp->req.blocks = calloc(most_blocks(qp), sizeof(struct tp_block *));
	if (qp->req.blocks == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < most_blocks(qp); i++)
		qp->req.blocks[i] = &qp->tp->no_block;
	pool->n_qps++;
	pool->n_without++;
	pool->could_use += most_blocks(qp);
	if (grow(pool, qp->req.slot_bytes) == 0)
		return 0;
	tp_block_leave(qp);
	return -ENOMEM;
}

void tp_block_leave(struct tp_qp *qp)
{
	struct tp_block_pool *pool;

	if (qp->req.blocks == NULL)
		return;
	pool = pool_of(qp);
	tp_block_clear(qp);
	free(qp->req.blocks);
	qp->req.blocks = NULL;
	pool->n_qps--;
	pool->n_without--;
	pool->could_use -= most_blocks(qp);
	shrink(pool);
}

/* Whether qp may have one more, so that one is left for each that has none. */
static bool may_take(const struct tp_block_pool *pool, const struct tp_qp *qp)
{
	if (qp->req.n_blocks == 0)
		return true;
	if (pool->n_free < pool->n / 2 && qp->req.n_blocks >= SCARCE_SHARE && wanted(pool) != pool->could_use)
		return false;
	return pool->n_free > pool->n_without;
}

bool tp_block_take(struct tp_qp *qp)
{
	struct tp_block_pool *pool = pool_of(qp);
	struct tp_block *b = pool->free;

	if (!may_take(pool, qp))
		return false;
	pool->free = b->next;
	pool->n_free--;
	if (qp->req.n_blocks++ == 0)
		pool->n_without--;
	qp->req.blocks[(qp->req.tail & qp->req.mask) / TP_BLOCK_WRS] = b;
	return true;
}

static void give_back(struct tp_qp *qp, uint32_t i)
{
	struct tp_block_pool *pool = pool_of(qp);
	struct tp_block *b = qp->req.blocks[i];

	qp->req.blocks[i] = &qp->tp->no_block;
	b->used = 0;
	b->next = pool->free;
	pool->free = b;
	pool->n_free++;
	if (--qp->req.n_blocks == 0)
		pool->n_without++;
}

void tp_block_free(struct tp_qp *qp, uint32_t wr)
{
	give_back(qp, (wr & qp->req.mask) / TP_BLOCK_WRS);
}

void tp_block_clear(struct tp_qp *qp)
{
	for (uint32_t i = 0; i < most_blocks(qp) && qp->req.n_blocks != 0; i++) {
		if (qp->req.blocks[i] != &qp->tp->no_block)
			give_back(qp, i);
	}
}
