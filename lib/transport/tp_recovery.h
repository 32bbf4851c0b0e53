/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loss recovery policy of the requester. The completer reports what it learns; the policy decides what
 * is sent again and when to give up. This one is go-back-N (IBTA vol. 1, 9.7.5.1 and 9.9.2.1).
 */
#ifndef TP_RECOVERY_H
#define TP_RECOVERY_H

#include "tp_internal.h"

/* Fresh start at (re)connection. */
void tp_recovery_reset(struct tp_qp *qp);
/* una moved forward. */
void tp_recovery_progress(struct tp_qp *qp);
/* Packets went out: (re)starts the ACK timer. */
void tp_recovery_sent(struct tp_qp *qp);
/* NAK sequence error for una. */
void tp_recovery_seq_nak(struct tp_qp *qp);
/* An answer beyond an unanswered READ or atomic: the answer to una was lost (implied NAK). */
void tp_recovery_gap(struct tp_qp *qp);
/* RNR NAK for una with its timer code. */
void tp_recovery_rnr(struct tp_qp *qp, uint8_t code);
/* TP_EXT_SACK: a packet has arrived, rtt_ns after it was sent (0: unknown); or is lost. queued: its path shows a queue. */
void tp_recovery_acked(struct tp_qp *qp, uint32_t rtt_ns, bool marked, bool queued);
void tp_recovery_lost(struct tp_qp *qp, bool queued);
/* The same: nothing that was sent lately has arrived. */
void tp_recovery_silent(struct tp_qp *qp);
/* Whether a congestion controller has its window, and its pace. */
bool tp_recovery_controlled(const struct tp_qp *qp);
/* Stops all timers. */
void tp_recovery_stop(struct tp_qp *qp);
/* RNR timer code (table 46) as time. */
uint64_t tp_recovery_rnr_ns(uint8_t code);

#endif
