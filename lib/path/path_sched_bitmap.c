/* SPDX-License-Identifier: BSD-3-Clause */
/* The penalty bitmap: EVs in turn; each mark and loss makes one be passed over once or a few times. */
#include "path_sched_internal.h"

static uint8_t pick(struct path_sched *s, const struct path_sched_view *view)
{
	(void)view;
	return path_walk_clean(s);
}

const struct path_sched_rules path_sched_bitmap = {.name = "bitmap", .pick = pick};
