/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many of a port's packets wait at a worker, by priority: in the driver's receive queues, in other workers' rings, and
 * before their turn in the transport. Its worker writes; the one that asks the neighbour for pauses (rx_pause.h) reads
 * what it finds. Counters that go up on one side and the other may be seen apart by the packets between.
 */
#ifndef RX_FILL_H
#define RX_FILL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "qos_pause.h"

/* One receive queue without a count of its own: what it has is known by the bursts that came full. */
struct rx_run {
	uint32_t full;             /* in a row */
};

struct rx_fill {
	_Atomic uint32_t queued[QOS_PRIORITIES]; /* in the driver's queues, about */
	_Atomic uint32_t given[QOS_PRIORITIES];  /* to other workers, in all */
	_Atomic uint32_t taken[QOS_PRIORITIES];  /* from other workers, in all */
	_Atomic uint32_t kept;                   /* before their turn */
	/* of this walk */
	uint32_t behind;           /* packets in the queues behind those that were taken */
	uint32_t seen[QOS_PRIORITIES], n_seen;
};

/* To one of the counters that others read; UINT32_MAX takes one off. */
static inline void rx_fill_add(_Atomic uint32_t *to, uint32_t n)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n, memory_order_relaxed);
}

/* A burst of n packets, of the most that was asked for, came from a queue that holds room. count: what it still has, as the
 * driver says; below 0: it does not say. */
void rx_fill_burst(struct rx_fill *fill, struct rx_run *run, uint32_t n, uint32_t most, uint32_t room, int count);

/* A packet of that priority was among them: those behind are taken to be of the same kinds. */
static inline void rx_fill_saw(struct rx_fill *fill, uint8_t priority)
{
	fill->seen[priority]++;
	fill->n_seen++;
}

/* The walk is over. Whether the queues have more. */
bool rx_fill_settle(struct rx_fill *fill);

#endif
