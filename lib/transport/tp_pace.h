/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a queue pair may send: no faster than it is allowed itself (by its client or by congestion control), and no
 * faster than the shaper that it shares with others. A queue pair whose time has not come is not active; a timer, or its
 * shaper's, makes it so. Acknowledgements are not held up.
 */
#ifndef TP_PACE_H
#define TP_PACE_H

#include "tp_internal.h"

/* 0 or -ENOMEM. */
int tp_pace_init(struct tp_qp *qp);
void tp_pace_free(struct tp_qp *qp);
/* A new connection: RTR. */
void tp_pace_start(struct tp_qp *qp);
/* The congestion controller that has the pace; NULL: none. */
struct cc *tp_pace_cc(const struct tp_qp *qp);
/* Its address vector is set: from now on it shares that one's channel. */
void tp_pace_join(struct tp_qp *qp, struct tp_shaper *channel);
/* Waits for nothing any more. */
void tp_pace_stop(struct tp_qp *qp);
/* Packets of at most max that may be sent now; 0: it waits for its time. */
uint32_t tp_pace_budget(struct tp_qp *qp, uint32_t max);
/* The congestion control part of *paths. */
void tp_pace_tell(const struct tp_qp *qp, struct tp_paths *paths);
/* So many bytes were sent. */
void tp_pace_sent(struct tp_qp *qp, uint64_t bytes);

#endif
