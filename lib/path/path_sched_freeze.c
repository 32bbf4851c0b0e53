/* SPDX-License-Identifier: BSD-3-Clause */
/* Freezing (REPS, arXiv 2407.21625): a timeout says that some path has failed; do not go looking for others then. */
#include "path_sched_internal.h"

void path_freeze(struct path_sched *s, uint64_t now_ns)
{
	if (s->frozen != 0 || s->config->freeze_acks == 0)
		return;
	s->frozen = s->config->freeze_acks;
	s->until_ns = now_ns + s->config->freeze_ns;
}

void path_freeze_acked(struct path_sched *s, bool ecn)
{
	if (s->frozen != 0 && !ecn)
		s->frozen--;
}

/* The ring goes round; what has died since falls out. */
uint8_t path_freeze_pick(struct path_sched *s, uint64_t now_ns)
{
	uint8_t ev;

	if (s->frozen == 0)
		return PATH_SCHED_NO_EV;
	if (now_ns >= s->until_ns) {
		s->frozen = 0;
		return PATH_SCHED_NO_EV;
	}
	do
		ev = path_ring_pop(s);
	while (ev != PATH_SCHED_NO_EV && path_dead(s, ev));
	if (ev != PATH_SCHED_NO_EV)
		path_ring_push(s, ev);
	return ev;
}
