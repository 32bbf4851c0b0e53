/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events in order of time; those of the same time in the order in which they were added, so that a run
 * depends on nothing but its input. Picoseconds, since a byte at 100 Gb/s takes 80 of them: whole
 * nanoseconds would lose a few per cent of a link's rate on small packets.
 */
#ifndef FABRIC_EVENTS_H
#define FABRIC_EVENTS_H

#include <stdint.h>

#define FABRIC_PS_PER_NS 1000u

typedef void (*fabric_event_fn)(void *env, void *arg, uint64_t now_ps);

struct fabric_event {
	uint64_t at_ps;
	uint64_t order;
	fabric_event_fn fn;
	void *arg;
};

/* A 4-ary heap. Zero-initialised memory is an empty queue. */
struct fabric_events {
	struct fabric_event *heap;
	uint32_t n, room;
	uint64_t added;
};

void fabric_events_free(struct fabric_events *events);

/* Adds an event. 0 or -ENOMEM. */
int fabric_events_add(struct fabric_events *events, uint64_t at_ps, fabric_event_fn fn, void *arg);

/* Time of the next event, UINT64_MAX: none. */
static inline uint64_t fabric_events_next_ps(const struct fabric_events *events)
{
	return events->n != 0 ? events->heap[0].at_ps : UINT64_MAX;
}

/* Takes out the next event; there must be one. */
struct fabric_event fabric_events_take(struct fabric_events *events);

#endif
