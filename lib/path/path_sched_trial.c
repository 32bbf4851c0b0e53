/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ADAPTIVE towards a peer that takes packets only in order and of which nothing is known but its acknowledgements. A
 * copy on another path would tell of that path, but its acknowledgement does not say which of the two it is for. So the
 * flow itself is the probe: when nothing is outstanding, what comes next goes elsewhere and is measured there.
 *
 * - If the present path is slow, the flow goes where the RTT was smallest, if that was less than better_percent of the
 *   present one. It leaves behind what it measured, which is why it does not come back for nothing.
 * - Paths that are not known are tried one after the other, probe_ns apart, then twice that and so on.
 * - If the present path is slow and no other is better, what is known of the others is forgotten in time, so that they
 *   are tried again. A flow that fills the queue of any path that it takes finds all slow and soon tries one a second.
 * - Only if the present path is slow does the flow stop for a move; else it waits until there is nothing to send.
 *
 * A dead path is not tried again until all are dead: it would cost the timeout of the queue pair.
 */
#include "path_sched_internal.h"

#define STAY_RTTS 8u  /* at least so long a path is used before another one that is not known */

static bool slow(const struct path_sched *s)
{
	return (uint64_t)s->ev[s->current].srtt * 100 > (uint64_t)s->least * s->config->slow_percent;
}

/* The one with the smallest RTT of those that are known, live, and are not the present one. */
static uint8_t fastest(const struct path_sched *s)
{
	uint8_t best = PATH_SCHED_NO_EV;

	for (uint8_t ev = 0; ev < s->config->n_evs; ev++) {
		if (ev == s->current || path_dead(s, ev) || s->ev[ev].srtt == 0)
			continue;
		if (best == PATH_SCHED_NO_EV || s->ev[ev].srtt < s->ev[best].srtt)
			best = ev;
	}
	return best;
}

static uint8_t better(const struct path_sched *s)
{
	uint8_t ev = fastest(s);

	if (ev == PATH_SCHED_NO_EV ||
		s->ev[ev].srtt * 100u >= (uint32_t)s->ev[s->current].srtt * s->config->better_percent)
		return PATH_SCHED_NO_EV;
	return ev;
}

/* Any that lives and of which nothing is known. */
static uint8_t unknown(struct path_sched *s)
{
	uint8_t n = s->config->n_evs, ev = (uint8_t)((path_random(s) >> 32) * n >> 32);

	for (uint8_t i = 0; i < n; i++, ev = (uint8_t)(ev + 1 < n ? ev + 1 : 0)) {
		if (ev != s->current && !path_dead(s, ev) && s->ev[ev].srtt == 0)
			return ev;
	}
	return PATH_SCHED_NO_EV;
}

static void forget_others(struct path_sched *s)
{
	for (uint8_t ev = 0; ev < s->config->n_evs; ev++) {
		if (ev != s->current && !path_dead(s, ev))
			s->ev[ev].srtt = 0;
	}
}

static bool is_time(const struct path_sched *s, uint64_t now_ns)
{
	uint64_t wait_ns = (uint64_t)s->config->probe_ns << s->rounds;
	uint64_t stay_ns = ((uint64_t)s->ev[s->current].srtt << s->rtt_shift) * STAY_RTTS;

	if (wait_ns > s->config->probe_max_ns)
		wait_ns = s->config->probe_max_ns;
	return now_ns - s->probed_ns >= (wait_ns > stay_ns ? wait_ns : stay_ns);
}

static void try_next(struct path_sched *s, uint64_t now_ns)
{
	s->next = unknown(s);
	if (s->next != PATH_SCHED_NO_EV && s->rounds < PATH_PENALTY_MAX)
		s->rounds++;
	if (s->next == PATH_SCHED_NO_EV && slow(s))
		forget_others(s);
	else if (s->next == PATH_SCHED_NO_EV)
		s->rounds = 0;
	s->probed_ns = now_ns;
}

void path_trial_acked(struct path_sched *s, uint8_t ev, uint64_t now_ns)
{
	if (ev != s->current)
		return;
	if (s->next == PATH_SCHED_NO_EV && slow(s))
		s->next = better(s);
	if (s->next == PATH_SCHED_NO_EV && is_time(s, now_ns))
		try_next(s, now_ns);
	s->holds = s->next != PATH_SCHED_NO_EV && slow(s);
}

uint8_t path_trial_leave(struct path_sched *s)
{
	uint8_t ev = fastest(s);

	return ev != PATH_SCHED_NO_EV ? ev : path_random_ev(s, s->current);
}
