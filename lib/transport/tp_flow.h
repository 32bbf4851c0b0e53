/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path of a reliable queue pair whose peer has agreed to nothing, and takes packets in order only: one UDP source
 * port at a time, of a few. The scheduler moves it when nothing is outstanding (lib/path, keep_order and no_probes) by
 * the round trips that are measured here, and at once when the ACK timer fires, for then all is sent again.
 */
#ifndef TP_FLOW_H
#define TP_FLOW_H

#include "tp_internal.h"

struct tp_flow {
	uint64_t last_send_ns;
	uint64_t timed_ns;       /* when the packet was sent that is timed; one at a time */
	uint64_t sent[TP_PLAIN_EVS];
	uint32_t timed_psn;
	uint8_t ev;              /* of the latest packet */
	uint8_t timed_ev;
	bool timing;
	struct path_sched sched; /* last: there is room for TP_PLAIN_EVS EVs only */
};

/* Memory for a queue pair that may move, if the configuration wants that. 0 or -ENOMEM. */
int tp_flow_init(struct tp_qp *qp);
void tp_flow_free(struct tp_qp *qp);
/* A new connection: from the port of the address vector. */
void tp_flow_reset(struct tp_qp *qp);
/* A request packet is about to be sent, the next one or again: by which port. */
void tp_flow_route(struct tp_qp *qp, struct wire_pkt *pkt);
/* una is about to move to psn. */
void tp_flow_acked(struct tp_qp *qp, uint32_t psn);
/* What is outstanding is sent again, so no acknowledgement tells a round trip (Karn's rule). */
void tp_flow_went_back(struct tp_qp *qp);
/* The ACK timer has fired. */
void tp_flow_timeout(struct tp_qp *qp);
/* Of a queue pair that may move: whether nothing more should be sent until all is acknowledged, because a faster path waits. */
bool tp_flow_holds(const struct tp_qp *qp);
/* As tp_qp_paths(). */
int tp_flow_paths(const struct tp_qp *qp, struct tp_paths *paths);

#endif
