/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dead EVs and their probes. A dead EV's srtt holds when its probe is due, in units of 2^18 ns modulo 2^16, and its
 * penalty how often the delay was doubled; an EV that is used needs both fields for itself.
 * Times wrap after 17 s: if nobody asks for 8.6 s after a probe was due, it is put off by up to as much again.
 */
#include "path_sched_internal.h"

#define DUE_SHIFT 18

static uint16_t due_at(uint64_t now_ns, uint64_t after_ns)
{
	return (uint16_t)((now_ns + after_ns + (1u << DUE_SHIFT) - 1) >> DUE_SHIFT);
}

/* Units until then; not positive: due. */
static int16_t due_in(const struct path_sched *s, uint8_t ev, uint64_t now_ns)
{
	return (int16_t)(s->ev[ev].srtt - (uint16_t)(now_ns >> DUE_SHIFT));
}

/* If nothing works then it is not the paths: all get another chance. */
static void revive_all(struct path_sched *s)
{
	while (s->dead != 0)
		path_revive(s, (uint8_t)__builtin_ctzll(s->dead));
}

void path_die(struct path_sched *s, uint8_t ev, uint64_t now_ns)
{
	uint64_t all = ~(uint64_t)0 >> (PATH_SCHED_MAX_EVS - s->config->n_evs);

	s->dead |= path_bit(ev);
	s->lost &= ~path_bit(ev);
	s->waiting &= ~path_bit(ev);
	path_penalty_set(s, ev, 0);
	s->ev[ev].srtt = due_at(now_ns, s->config->probe_ns);
	if (s->dead == all)
		revive_all(s);
}

/* What it was like before tells nothing: its packets may take other links now. */
void path_revive(struct path_sched *s, uint8_t ev)
{
	s->dead &= ~path_bit(ev);
	s->lost &= ~path_bit(ev);
	path_penalty_set(s, ev, 0);
	s->ev[ev] = (struct path_sched_ev){.loss = s->ev[ev].loss};
}

static void put_off(struct path_sched *s, uint8_t ev, uint64_t now_ns)
{
	uint8_t doubled = path_penalty(s, ev);
	uint64_t after_ns;

	if (doubled < PATH_PENALTY_MAX)
		path_penalty_set(s, ev, ++doubled);
	after_ns = (uint64_t)s->config->probe_ns << doubled;
	s->ev[ev].srtt = due_at(now_ns, after_ns < s->config->probe_max_ns ? after_ns : s->config->probe_max_ns);
}

bool path_sched_probe(struct path_sched *s, uint64_t now_ns, uint8_t *ev)
{
	if (s->config->no_probes)
		return false;
	for (uint64_t left = s->dead; left != 0; left &= left - 1) {
		*ev = (uint8_t)__builtin_ctzll(left);
		if (due_in(s, *ev, now_ns) > 0)
			continue;
		put_off(s, *ev, now_ns);
		return true;
	}
	return s->config->keep_order && path_order_probe(s, now_ns, ev);
}

uint64_t path_sched_next_ns(const struct path_sched *s, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint64_t left = s->dead; left != 0; left &= left - 1) {
		int16_t in = due_in(s, (uint8_t)__builtin_ctzll(left), now_ns);
		uint64_t at_ns = in <= 0 ? now_ns : ((now_ns >> DUE_SHIFT) + (uint64_t)in) << DUE_SHIFT;

		if (at_ns < next_ns)
			next_ns = at_ns;
	}
	return next_ns;
}
