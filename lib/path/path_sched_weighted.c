/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EVs in turn, each taken with a probability that falls with its marks, its losses and its delay beyond what is usual. For senders that
 * hear of many packets at once, like tunnels: an EV that is recycled for each clean acknowledgement says little there. After Clove-ECN
 * (Katta et al., 2017), which weights paths by what the far hypervisor reports.
 */
#include "path_sched_internal.h"

#define ALL      255u
#define LEAST    12u /* of ALL: what is never sent to is never known to be better */
#define WALK_MOST 16u

/* Of ALL. Squared, as the share that goes there should fall faster than what is good of it. */
static uint32_t weight(const struct path_sched *s, uint8_t ev)
{
	const struct path_sched_ev *path = &s->ev[ev];
	uint32_t usual = s->typical + (s->config->margin_ns >> s->rtt_shift), clean, w;

	if (path->ecn == 0 && path->loss == 0 && path->srtt <= usual)
		return ALL;
	clean = (ALL - path->ecn) * (ALL - path->loss) / ALL;
	w = clean * clean / ALL;
	if (path->srtt > usual)
		w = w * usual / path->srtt;
	return w > LEAST ? w : LEAST;
}

static uint8_t pick(struct path_sched *s, const struct path_sched_view *view)
{
	uint8_t ev = 0;

	(void)view;
	for (unsigned int i = 0; i < WALK_MOST; i++) {
		ev = path_walk(s);
		if ((path_random(s) & ALL) <= weight(s, ev))
			return ev;
	}
	return ev;
}

const struct path_sched_rules path_sched_weighted = {.name = "weighted", .pick = pick};
