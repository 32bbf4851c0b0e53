/* SPDX-License-Identifier: BSD-3-Clause */
/* Oblivious spraying: each packet on the next EV, whatever is known of it short of its death. */
#include "path_sched_internal.h"

static uint8_t pick(struct path_sched *s, const struct path_sched_view *view)
{
	(void)view;
	return path_walk(s);
}

const struct path_sched_rules path_sched_round_robin = {.name = "round_robin", .pick = pick};
