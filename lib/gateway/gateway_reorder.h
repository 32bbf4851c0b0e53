/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts the packets of flows back in order after they have taken several paths. What is ahead of its turn is held, for a
 * bounded time and in a bounded number; then what is missing is given up and the rest passed on, and if it comes after
 * all it is passed on late: nothing is dropped here, nor what comes twice: that is passed on when it comes, or behind
 * the one it is a copy of. Pure; one thread; memory is taken at set-up.
 */
#ifndef GATEWAY_REORDER_H
#define GATEWAY_REORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base_siphash.h"

struct gateway_reorder_config {
	uint32_t flows;          /* of which it is known what is next, 1 .. 2^20; the one silent for longest goes */
	uint32_t held;           /* packets of all flows, 1 .. 2^20 */
	uint32_t window;         /* packets that one flow may be ahead: 1 .. 32,768 */
	uint64_t wait_ns;        /* for what is missing, from the first packet that was ahead of it on */
	struct base_siphash_key key;
	void (*pass)(void *ctx, void *packet); /* it is the caller's again */
	void *ctx;
};

/* What the packet says of itself. */
struct gateway_place {
	uint32_t tunnel;         /* from whom: the caller's number */
	uint32_t flow;
	uint8_t generation;
	uint32_t seq;
};

struct gateway_reorder_stats {
	uint32_t flows, held;    /* now */
	uint32_t most_held;
	uint64_t in_order, ahead; /* packets: at once, and held */
	uint64_t late;           /* packets that had been given up, came twice, or were of an older flow */
	uint64_t missing;        /* packets given up */
	uint64_t waits_over;     /* times that the wait was over */
	uint64_t no_room;        /* times that there was no room to hold one more */
	uint64_t depth_max;      /* the furthest that a packet was ahead */
};

struct gateway_reorder;

/* NULL: no memory, or a number out of range. */
struct gateway_reorder *gateway_reorder_new(const struct gateway_reorder_config *config);
/* What is held goes to give(), with the context of pass(). NULL is allowed. */
void gateway_reorder_free(struct gateway_reorder *r, void (*give)(void *ctx, void *packet));

/* A packet has come; it, and others that waited for it, are passed on or held. */
void gateway_reorder_put(struct gateway_reorder *r, const struct gateway_place *place, void *packet, uint64_t now_ns);
/* When gateway_reorder_tick() has something to do; UINT64_MAX: nothing is held. */
uint64_t gateway_reorder_next_ns(const struct gateway_reorder *r);
void gateway_reorder_tick(struct gateway_reorder *r, uint64_t now_ns);
void gateway_reorder_get_stats(const struct gateway_reorder *r, struct gateway_reorder_stats *stats);

#endif
