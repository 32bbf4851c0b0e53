/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabric_events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define ARITY      4
#define ROOM_FIRST 1024u

static bool before(const struct fabric_event *a, const struct fabric_event *b)
{
	return a->at_ps != b->at_ps ? a->at_ps < b->at_ps : a->order < b->order;
}

void fabric_events_free(struct fabric_events *events)
{
	free(events->heap);
	*events = (struct fabric_events){0};
}

static int grow(struct fabric_events *events)
{
	uint32_t room = events->room != 0 ? events->room * 2 : ROOM_FIRST;
	struct fabric_event *heap = realloc(events->heap, room * sizeof(*heap));

	if (heap == NULL)
		return -ENOMEM;
	events->heap = heap;
	events->room = room;
	return 0;
}

int fabric_events_add(struct fabric_events *events, uint64_t at_ps, fabric_event_fn fn, void *arg)
{
	struct fabric_event event = {.at_ps = at_ps, .order = events->added++, .fn = fn, .arg = arg};
	uint32_t i;

	if (events->n == events->room && grow(events) != 0)
		return -ENOMEM;
	for (i = events->n++; i != 0; i = (i - 1) / ARITY) {
		const struct fabric_event *parent = &events->heap[(i - 1) / ARITY];

		if (!before(&event, parent))
			break;
		events->heap[i] = *parent;
	}
	events->heap[i] = event;
	return 0;
}

static uint32_t first_child(const struct fabric_events *events, uint32_t i)
{
	uint32_t begin = i * ARITY + 1, best = begin;
	uint32_t end = begin + ARITY < events->n ? begin + ARITY : events->n;

	for (uint32_t child = begin + 1; child < end; child++) {
		if (before(&events->heap[child], &events->heap[best]))
			best = child;
	}
	return best;
}

struct fabric_event fabric_events_take(struct fabric_events *events)
{
	struct fabric_event first = events->heap[0], last = events->heap[--events->n];
	uint32_t i = 0;

	while (i * ARITY + 1 < events->n) {
		uint32_t child = first_child(events, i);

		if (!before(&events->heap[child], &last))
			break;
		events->heap[i] = events->heap[child];
		i = child;
	}
	events->heap[i] = last;
	return first;
}
