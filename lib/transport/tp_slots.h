/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the copies of send work requests lie. A queue pair has a short ring of its own, and while it has more under way than
 * fit there, one of full length is lent to it, of which there are some for all. So ten thousand idle queue pairs take
 * little memory, and those that take turns with a request each stay in what the cache has. Rings come with queue pairs: the
 * first ones bring one each, later ones a part of one, and nothing is made or freed on the way. Whoever gets none has its
 * own, and goes on as its requests are done.
 */
#ifndef TP_SLOTS_H
#define TP_SLOTS_H

#include "tp_internal.h"

/* A queue pair whose slot_bytes are known shares the rings. 0 or -ENOMEM. */
int tp_slots_join(struct tp_qp *qp);
/* Harmless before tp_slots_join(). */
void tp_slots_leave(struct tp_qp *qp);
/* Its ring is full. Whether it has a longer one now, with the same work requests. */
bool tp_slots_borrow(struct tp_qp *qp);
/* It has nothing under way. What was there may still be read until the next work request is fetched. */
void tp_slots_give_back(struct tp_qp *qp);

#endif
