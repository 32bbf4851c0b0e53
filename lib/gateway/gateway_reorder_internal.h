/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of gateway_reorder.h share. */
#ifndef GATEWAY_REORDER_INTERNAL_H
#define GATEWAY_REORDER_INTERNAL_H

#include "gateway_reorder.h"

#define NONE       UINT32_MAX
#define NOBODY     UINT64_MAX
#define RECENT     256u /* a power of two */

struct held {
	void *packet;
	uint64_t came_ns;
	uint32_t seq;
	uint32_t next;               /* of the flow, by seq; or of those that are free */
	uint32_t earlier, later;     /* of the flow, as they came */
};

struct flow {
	uint64_t who;                /* tunnel and number; NOBODY: it is free */
	uint64_t deadline_ns;        /* of what is missing; only where something is held */
	uint32_t expected;
	uint32_t first, last;        /* held ones, by seq; NONE */
	uint32_t earliest, latest;   /* the same, as they came */
	uint32_t newer, older;       /* by last packet */
	uint32_t next_waiting, prev_waiting;
	uint64_t began_ns;           /* this generation of it */
	uint8_t generation;
};

struct gateway_reorder {
	struct gateway_reorder_config config;
	struct gateway_reorder_stats stats;
	uint64_t next_ns;            /* no flow's deadline is before it */
	uint32_t waiting;            /* a flow that holds something */
	uint32_t newest, oldest;
	uint32_t unused_held, unused_flow; /* the latter by older */
	uint32_t mask;
	uint32_t *places;            /* open addressing: flows, NONE: free */
	struct flow *flows;
	struct held *held;
	uint32_t recent[RECENT];     /* flows whose packets came last; any number, who says whether it is so */
};

/* ---- gateway_reorder_held.c: of flow i ---- */

/* Holds a packet that is ahead; there is room. */
void gateway_reorder_hold(struct gateway_reorder *r, uint32_t i, uint32_t seq, void *packet, uint64_t now_ns);
/* Passes on those whose turn it is now. */
void gateway_reorder_drain(struct gateway_reorder *r, uint32_t i);
/* Gives up what is missing in front of the first one; something is held. */
void gateway_reorder_skip(struct gateway_reorder *r, uint32_t i);
/* Passes on all of them, and gives up what is missing between them. */
void gateway_reorder_flush(struct gateway_reorder *r, uint32_t i);
/* A packet that is ahead and cannot be held: what is missing in front of it is given up. */
void gateway_reorder_pass_over(struct gateway_reorder *r, uint32_t i, uint32_t seq, void *packet);

static inline void gateway_reorder_pass_now(const struct gateway_reorder *r, struct flow *f, uint32_t seq, void *packet)
{
	f->expected = seq + 1;
	r->config.pass(r->config.ctx, packet);
}

#endif
