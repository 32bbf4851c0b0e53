/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One worker: a thread that walks one rte_graph, with its transport endpoint. All fields are its own
 * except where said. What others want from it comes by rings (packets) or by worker_call() (functions),
 * and an eventfd wakes it when it sleeps.
 */
#ifndef WORKER_H
#define WORKER_H

#include <semaphore.h>
#include <stdatomic.h>

#include <rte_graph.h>
#include <rte_graph_worker.h>
#include <rte_ring.h>

#include "roced.h"
#include "rx_fill.h"
#include "tp.h"

#define WORKER_BURST       64
#define WORKER_EMIT        256
#define WORKER_BACKLOG     1024   /* frames a full transmit queue may hold up, a power of two */
#define WORKER_QPN_SHIFT   18     /* QPN = worker << shift | index */
#define WORKER_RING        2048
#define WORKER_GROUPS      256    /* multicast, of all ports */

struct worker_rxq {
	const struct port *port;
	uint16_t port_id, queue;
	struct rx_run run;
};

/* A multicast group some client listens to; the same list at every worker. */
struct worker_group {
	uint32_t device;
	struct wire_addr addr;
};

/* Frames that wait for room in a transmit queue. */
struct worker_txq {
	const struct port *port;
	uint16_t port_id, queue;
	uint8_t lane;              /* 0, or of the priority, the only one that is sent by it */
	uint8_t priority;
	uint32_t head, count;
	uint64_t stuck_ns;         /* since when nothing went out, 0: not stuck */
	struct rte_mbuf *backlog[WORKER_BACKLOG];
};

struct worker_call_msg {
	void (*fn)(void *arg);
	void *arg;
	sem_t done;
};

struct worker_counters {
	uint64_t walks, sleeps, calls, ring_in, ring_out, backlogged;
	uint64_t busy_ns, idle_ns; /* in walks that found something to do; in others, and asleep */
	uint64_t drops[BASE_DROP_COUNT];
};

struct worker_crypt;
struct gateway_worker;
struct capture_worker;

struct worker {
	struct vd_worker *vd;      /* first: lib/verbs expects it there */
	struct roced *roced;
	uint32_t index, lcore;
	struct tp *tp;
	struct rte_graph *graph;
	rte_graph_t graph_id;
	bool graph_made;
	uint64_t now_ns;
	uint32_t work;             /* things done in this walk; 0: idle */
	uint32_t n_rxq, n_txq;
	struct worker_rxq rxq[CONFIG_MAX_RX];
	struct worker_txq *txq;    /* lane 0 by port index, behind them the other lanes: port_pfc.h */
	struct shape *shapes;      /* the same: shape.h */
	bool shaped;               /* some port has channels */
	struct worker_crypt *crypt; /* worker_crypt.h; NULL: nobody is to be protected */
	struct gateway_worker *gateway; /* gateway.h; NULL: there is none */
	struct capture_worker *capture; /* capture.h; NULL: no packets are captured */
	struct rx_watch *watches;  /* by port index: rx_watch.h; NULL: none asks for pauses */
	uint32_t backlog;          /* frames in lanes 0 of all ports; queue pairs wait for them */
	uint32_t lane_backlog;     /* in the other lanes; channels wait for theirs */
	/* Frames the transport has emitted and the node that is running. */
	uint32_t n_emit;
	struct rte_mbuf *emit[WORKER_EMIT];
	struct rte_node *node;
	rte_edge_t egress_edge;
	uint32_t n_groups;
	struct worker_group groups[WORKER_GROUPS];
	/* idle */
	uint64_t idle_since_ns, sleep_ns;
	bool vd_asleep;
	struct worker_counters counters;   /* others only read */

	struct rte_ring *from_main;        /* main puts in */
	struct rte_ring *to_main;          /* main takes out */
	struct rte_ring *from_worker[VD_MAX_WORKERS]; /* the worker of that index puts in */
	int wake_fd;
	_Atomic(struct worker_call_msg *) call;
	struct worker_call_msg hold;       /* main's: see workers_hold() */
	sem_t held_here, go_on;
	bool held;
	atomic_bool asleep, running, quit;
	atomic_bool quiet;                 /* clients are not looked at any more */
};

/* Makes a worker's rings, transport and graph; lib/verbs' handle is set later. */
int worker_create(struct roced *roced, uint32_t index);
void worker_destroy(struct worker *worker);
/* Starts and ends its thread. */
int worker_start(struct worker *worker);
void worker_stop(struct worker *worker);
/* Runs fn(arg) in the worker between two walks and returns when it is done. In the caller when the worker
 * does not run. Only one thread calls this. */
void worker_call(struct worker *worker, void (*fn)(void *arg), void *arg);
/* All workers stand still between two walks until workers_release(), so that the main thread may change what is theirs and
 * what they read; worker_call() meanwhile runs its function in the caller. For changes that are prepared: nothing is
 * received. */
void workers_hold(struct roced *roced);
void workers_release(struct roced *roced);
/* Ends its sleep, if it sleeps. Any thread. */
void worker_wake(struct worker *worker);

/* ---- for the nodes; in the worker's thread ---- */
static inline struct worker *worker_of(const struct rte_node *node)
{
	struct worker *worker;

	__builtin_memcpy(&worker, node->ctx, sizeof(worker));
	return worker;
}

static inline void worker_drop(struct worker *worker, enum base_drop reason)
{
	worker->counters.drops[reason]++;
}

static inline void worker_discard(struct worker *worker, struct rte_mbuf *m, enum base_drop reason)
{
	worker_drop(worker, reason);
	rte_pktmbuf_free(m);
}

/* Sends a frame from the node that is named by worker_enter(). */
void worker_emit(struct worker *worker, struct rte_mbuf *m, enum route route);
/* Names the node in whose turn the transport may emit, and its edge to egress. */
static inline void worker_enter(struct worker *worker, struct rte_node *node, rte_edge_t egress_edge)
{
	worker->node = node;
	worker->egress_edge = egress_edge;
}

/* A copy of a parsed packet, NULL: no buffer. */
struct rte_mbuf *worker_copy(const struct worker *worker, struct rte_mbuf *m);
/* Passes on what was emitted. */
void worker_flush_emit(struct worker *worker);
/* Queues frames of a port for sending, sends what the port takes. */
void worker_tx(struct worker *worker, struct port *port, struct rte_mbuf **pkts, uint32_t n);
/* Tries again what a port did not take. */
void worker_tx_retry(struct worker *worker);

/* ---- worker_tx.c, for worker.c ---- */
/* Its transmit queues, of all ports. 0 or -ENOMEM. */
int worker_tx_init(struct worker *worker);
/* Drops what waits; the shapes are still there. */
void worker_tx_fini(struct worker *worker);

#endif
