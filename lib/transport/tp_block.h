/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the copies of send work requests lie: blocks that the queue pairs of an endpoint share. */
#ifndef TP_BLOCK_H
#define TP_BLOCK_H

#include "tp_internal.h"

/* A queue pair whose slot_bytes and mask are known gets room for at least one block. 0 or -ENOMEM. */
int tp_block_join(struct tp_qp *qp);
/* Harmless before tp_block_join(). */
void tp_block_leave(struct tp_qp *qp);
/* A block for the place of the work request at tail, which has none. false: others have them. Then qp has some, so when one
 * of its own is done it comes back. */
bool tp_block_take(struct tp_qp *qp);
/* Gives the block of work request wr back, of which nothing is used. */
void tp_block_free(struct tp_qp *qp, uint32_t wr);
/* All of them are. */
void tp_block_clear(struct tp_qp *qp);

/* A place for the work request at tail, before it is fetched; false: none now. */
static inline bool tp_block_place(struct tp_qp *qp)
{
	const struct tp_req *req = &qp->req;

	return req->blocks[(req->tail & req->mask) / TP_BLOCK_WRS] != &qp->tp->no_block || tp_block_take(qp);
}

/* None was there to be fetched. */
static inline void tp_block_spare(struct tp_qp *qp)
{
	const struct tp_req *req = &qp->req;

	if (req->blocks[(req->tail & req->mask) / TP_BLOCK_WRS]->used == 0)
		tp_block_free(qp, req->tail);
}

/* The work request wr is done with; its copy may be looked at until the next one is fetched. */
static inline void tp_block_done(struct tp_qp *qp, uint32_t wr)
{
	const struct tp_req *req = &qp->req;

	if (--req->blocks[(wr & req->mask) / TP_BLOCK_WRS]->used == 0)
		tp_block_free(qp, wr);
}

/* It was fetched. */
static inline void tp_block_use(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;

	req->blocks[(req->tail & req->mask) / TP_BLOCK_WRS]->used++;
	req->tail++;
}

#endif
