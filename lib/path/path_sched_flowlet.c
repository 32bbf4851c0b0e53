/* SPDX-License-Identifier: BSD-3-Clause */
/* LetFlow (NSDI 2017): after an idle gap longer than the paths differ, the flow takes any path. */
#include "path_sched_internal.h"

static uint8_t pick(struct path_sched *s, const struct path_sched_view *view)
{
	bool gap = view->last_send_ns != 0 && view->now_ns - view->last_send_ns > s->config->flowlet_gap_ns;

	return gap || path_dead(s, s->current) ? path_random_ev(s, s->current) : s->current;
}

const struct path_sched_rules path_sched_flowlet = {.name = "flowlet", .pick = pick};
