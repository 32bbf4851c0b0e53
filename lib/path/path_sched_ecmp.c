/* SPDX-License-Identifier: BSD-3-Clause */
/* ECMP: the flow stays where the switches' hash puts it (RFC 2992). Only a dead path is left. */
#include "path_sched_internal.h"

static uint8_t pick(struct path_sched *s, const struct path_sched_view *view)
{
	(void)view;
	return path_dead(s, s->current) ? path_random_ev(s, s->current) : s->current;
}

const struct path_sched_rules path_sched_ecmp = {.name = "ecmp", .pick = pick};
