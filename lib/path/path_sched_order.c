/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Towards a peer that takes packets only in order. The flow stays on one EV. It moves as its kind says when nothing is
 * outstanding or an idle gap is longer than the paths can differ. And when its RTT is above slow_percent of the
 * base and a probe shows a path with less than better_percent of that, as in Hopper (arXiv 2506.08132); but where
 * Hopper delays the following packets by the difference of the RTTs, here they wait until nothing is outstanding: what
 * is still under way meets queues that have grown since the RTT was measured, and would be overtaken.
 */
#include "path_sched_internal.h"

#define PEAK_SHIFT   6  /* the peak RTT decays by 1/64 an acknowledgement */
#define PROBE_ROUNDS 2u /* base RTTs from one probe of another path to the next */

static uint64_t in_ns(const struct path_sched *s, uint16_t units)
{
	return (uint64_t)units << s->rtt_shift;
}

/* How much sooner than on the present path a packet may arrive elsewhere. The queue may have grown since the last
 * acknowledgement: as much again as it varies. */
static uint64_t ahead_ns(const struct path_sched *s)
{
	uint64_t least_ns = in_ns(s, s->least), srtt_ns = in_ns(s, s->ev[s->current].srtt), peak_ns = s->peak_rtt_ns;

	if (peak_ns == 0)
		return s->config->base_rtt_ns;
	if (peak_ns > srtt_ns)
		peak_ns += peak_ns - srtt_ns;
	return peak_ns - least_ns + s->config->base_rtt_ns / 4;
}

static bool gap_is_safe(const struct path_sched *s, const struct path_sched_view *view)
{
	uint64_t need_ns = ahead_ns(s);

	if (view->in_flight_bytes == 0)
		return true;
	if (need_ns < s->config->flowlet_gap_ns)
		need_ns = s->config->flowlet_gap_ns;
	return view->now_ns - view->last_send_ns > need_ns;
}

static uint8_t move_to(struct path_sched *s, uint8_t ev)
{
	if (ev != s->current)
		s->peak_rtt_ns = 0;
	s->next = PATH_SCHED_NO_EV;
	s->holds = false;
	return ev;
}

static bool tries(const struct path_sched *s)
{
	return s->config->no_probes && s->config->kind == PATH_SCHED_ADAPTIVE;
}

uint8_t path_order_pick(struct path_sched *s, const struct path_sched_rules *rules, const struct path_sched_view *view)
{
	uint8_t now = s->current;

	if (path_dead(s, now)) /* whatever is still on it is to be sent again */
		return move_to(s, tries(s) ? path_trial_leave(s) : path_random_ev(s, now));
	if (s->next != PATH_SCHED_NO_EV && path_dead(s, s->next))
		move_to(s, now);
	if (s->next != PATH_SCHED_NO_EV)
		return view->in_flight_bytes == 0 ? move_to(s, s->next) : now;
	return !tries(s) && gap_is_safe(s, view) ? move_to(s, rules->pick(s, view)) : now;
}

void path_order_acked(struct path_sched *s, uint8_t ev, uint32_t rtt_ns, uint64_t now_ns)
{
	uint64_t here_ns = in_ns(s, s->ev[s->current].srtt);

	if (rtt_ns == 0)
		return;
	if (tries(s)) {
		path_trial_acked(s, ev, now_ns);
	} else if (ev == s->current) {
		s->peak_rtt_ns -= s->peak_rtt_ns >> PEAK_SHIFT;
		if (rtt_ns > s->peak_rtt_ns)
			s->peak_rtt_ns = rtt_ns;
	} else if (s->config->kind == PATH_SCHED_ADAPTIVE && s->next == PATH_SCHED_NO_EV &&
		   (uint64_t)rtt_ns * 100 < here_ns * s->config->better_percent &&
		   here_ns * 100 > in_ns(s, s->least) * s->config->slow_percent) {
		s->next = ev;
		s->holds = true;
	}
}

bool path_order_probe(struct path_sched *s, uint64_t now_ns, uint8_t *ev)
{
	uint64_t every_ns = (uint64_t)PROBE_ROUNDS * s->config->base_rtt_ns;

	if (s->config->kind != PATH_SCHED_ADAPTIVE || s->next != PATH_SCHED_NO_EV || s->least == 0 ||
		(uint64_t)s->ev[s->current].srtt * 100 <= (uint64_t)s->least * s->config->slow_percent)
		return false;
	if (s->probed_ns != 0 && now_ns - s->probed_ns < every_ns)
		return false;
	s->probed_ns = now_ns;
	*ev = path_random_ev(s, s->current);
	return *ev != s->current;
}
