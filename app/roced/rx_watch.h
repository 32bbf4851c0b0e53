/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where received packets of a worker wait, told to rx_fill.h as it happens, and pauses asked for when that is too much.
 * Only for ports that do so (ports[].pfc_send); without any, a worker has none of this.
 */
#ifndef RX_WATCH_H
#define RX_WATCH_H

#include "rx_pause.h"
#include "worker.h"

struct rx_watch {
	bool on;                   /* the port asks for pauses */
	struct rx_pause *pause;    /* this worker does that; NULL: another one */
	uint32_t asker;            /* which */
	uint32_t queue_room;
	struct rx_fill fill;
};

/* One for each port in worker->watches; its shapes are there. 0, -EINVAL (told to the log), -ENOMEM. */
int rx_watch_init(struct worker *worker);
void rx_watch_fini(struct worker *worker);

/* ---- for worker->watches that are there ---- */
/* A burst of n came from one of its queues. */
void rx_watch_burst(struct worker *worker, struct worker_rxq *rxq, uint32_t n);
/* m came from a port's queue and has been parsed. */
void rx_watch_saw(struct worker *worker, struct rte_mbuf *m);
/* m is given to another worker's ring; with undo: that had no room. Before and after, for it is the other's then. */
void rx_watch_gave(struct worker *worker, struct rte_mbuf *m, bool undo);
/* m came from another worker's ring. */
void rx_watch_took(struct worker *worker, struct rte_mbuf *m);
/* m waits for others before it, waits no more. */
void rx_watch_kept(struct worker *worker, struct rte_mbuf *m, bool kept);
/* After a walk: sends what is due. */
void rx_watch_look(struct worker *worker);
/* When a pause has to be asked for again, UINT64_MAX: never. */
uint64_t rx_watch_next_ns(const struct worker *worker);

#endif
