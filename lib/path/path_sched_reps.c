/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * REPS, recycled entropies (arXiv 2407.21625): an EV whose acknowledgement came back unmarked is good for one more
 * packet; without one a random EV is tried. A timeout freezes.
 */
#include "path_sched_internal.h"

static uint8_t pick(struct path_sched *s, const struct path_sched_view *view)
{
	uint8_t ev = path_freeze_pick(s, view->now_ns);

	if (ev != PATH_SCHED_NO_EV)
		return ev;
	do
		ev = path_ring_pop(s);
	while (ev != PATH_SCHED_NO_EV && path_dead(s, ev));
	return ev != PATH_SCHED_NO_EV ? ev : path_random_ev(s, PATH_SCHED_NO_EV);
}

static void acked(struct path_sched *s, uint8_t ev, bool ecn, uint64_t now_ns)
{
	(void)now_ns;
	path_freeze_acked(s, ecn);
	if (!ecn)
		path_ring_push(s, ev);
}

static void timeout(struct path_sched *s, uint8_t ev, uint64_t now_ns)
{
	(void)ev;
	path_freeze(s, now_ns);
}

const struct path_sched_rules path_sched_reps = {.name = "reps", .pick = pick, .acked = acked, .timeout = timeout};
