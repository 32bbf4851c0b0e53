/* SPDX-License-Identifier: BSD-3-Clause */
/* Mixed: a recycled EV if one is still clean, else the walk over the penalty bitmap. */
#include "path_sched_internal.h"

static uint8_t pick(struct path_sched *s, const struct path_sched_view *view)
{
	uint8_t ev;

	(void)view;
	ev = path_ring_pop_clean(s);
	return ev != PATH_SCHED_NO_EV ? ev : path_walk_clean(s);
}

static void acked(struct path_sched *s, uint8_t ev, bool ecn, uint64_t now_ns)
{
	(void)now_ns;
	if (!ecn)
		path_ring_push(s, ev);
}

const struct path_sched_rules path_sched_mixed = {.name = "mixed", .pick = pick, .acked = acked};
