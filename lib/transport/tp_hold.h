/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that came before their turn, kept till it comes. The network may reorder what a standard sender sent in
 * order (adaptive routing, packet spraying by a NIC); without this every such packet makes a NAK and a
 * go-back. Each queue pair has two such places: for requests, and for the answers to its READs and atomics. What
 * is kept is handed to the same code as what comes in order, so nothing else knows of it.
 */
#ifndef TP_HOLD_H
#define TP_HOLD_H

#include "tp_internal.h"

/* Room for the packets `reorder_pkts` after the expected one; 0: keeps none. 0 or -ENOMEM. */
int tp_hold_init(struct tp_hold *hold, struct tp_qp *qp, uint32_t reorder_pkts, base_timer_fn gave_up);
void tp_hold_free(struct tp_hold *hold);
/* Uses no more of the room than for that many packets, and gives who is missing wait_ns. Empties it. */
void tp_hold_limit(struct tp_hold *hold, uint32_t reorder_pkts, uint64_t wait_ns);
/* Whether the packet of that PSN is kept. */
bool tp_hold_has(const struct tp_hold *hold, uint32_t psn);
/* Forgets all packets; the next expected is that of psn. */
void tp_hold_clear(struct tp_hold *hold, uint32_t psn);

/* Keeps m, which is ahead of hold->base; false: it is too far ahead, or as many as may be are kept. A second packet of
 * the same PSN is let go. */
bool tp_hold_put(struct tp_hold *hold, struct rte_mbuf *m);
/* The expected PSN is now psn: forgets what is before it, and gives whoever is missing time. */
void tp_hold_move(struct tp_hold *hold, uint32_t psn);
/* The first packet that is kept, NULL: none; it stays kept. */
struct rte_mbuf *tp_hold_first(const struct tp_hold *hold);
/* Takes it out; the caller gives it back with tp_hold_done(). */
void tp_hold_take(struct tp_hold *hold, struct rte_mbuf *m);
void tp_hold_done(struct tp_hold *hold, struct rte_mbuf *m);

/* A request packet whose header was checked, if there is room for any; false: to be looked at now, then tp_hold_requests() is
 * to be called if some are kept. */
bool tp_hold_request(struct tp_qp *qp, struct rte_mbuf *m);
void tp_hold_requests(struct tp_qp *qp);
/* The same two for answers. */
bool tp_hold_answer(struct tp_qp *qp, struct rte_mbuf *m);
void tp_hold_answers(struct tp_qp *qp);

#endif
