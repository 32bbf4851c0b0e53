/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ours. Like MIXED it sends the next packet where one has just arrived well, and it differs in what "well" means and
 * in where else it looks:
 *
 * - An EV is recycled only if its smoothed RTT is not above the typical one (a running median over all EVs) by more
 *   than margin_ns. A queue shows in the RTT before it is long enough to be marked, and a slow link always.
 * - An EV on which nothing has been heard since its last packet is not asked again while there are others: silence is
 *   the first sign of a long queue, and comes a whole RTT before the mark.
 * - Among a few EVs that have answered or were never used, from a random one on, the one with the smallest RTT is
 *   taken. The others slowly become typical again in our eyes, so that paths that recover are found.
 * - One packet in 64 goes to the next EV in turn that has no penalty, a silent one too, so that a path that lives
 *   again is found.
 * - A timeout freezes, as in REPS. A short message keeps to one EV, so it arrives in order and wakes no SACK.
 */
#include "path_sched_internal.h"

#define LOOK         8u  /* EVs that are compared */
#define EVERY        64u /* packets, one of which goes to any EV, silent ones too; a power of two */
#define FORGET_SHIFT 4   /* 1/16 of the excess a time it is passed over */

static bool slow(const struct path_sched *s, uint8_t ev)
{
	return s->ev[ev].srtt > s->typical + (s->config->margin_ns >> s->rtt_shift);
}

/* Lower is better. A penalty counts as an eighth of the typical RTT. */
static uint32_t badness(const struct path_sched *s, uint8_t ev)
{
	return path_penalty(s, ev) * (s->typical / 8u + 1) + s->ev[ev].srtt;
}

static void forget(struct path_sched *s, uint8_t ev)
{
	uint16_t *srtt = &s->ev[ev].srtt;
	uint8_t penalty = path_penalty(s, ev);

	if (penalty != 0)
		path_penalty_set(s, ev, (uint8_t)(penalty - 1));
	if (*srtt > s->typical)
		*srtt = (uint16_t)(*srtt - ((*srtt - s->typical + (1 << FORGET_SHIFT) - 1) >> FORGET_SHIFT));
}

static uint64_t turned(uint64_t bits, unsigned int by)
{
	return bits >> by | bits << (-by & 63u);
}

static uint8_t explore(struct path_sched *s)
{
	uint64_t all = ~(uint64_t)0 >> (PATH_SCHED_MAX_EVS - s->config->n_evs);
	unsigned int from = (unsigned int)(path_random(s) >> 58);
	uint64_t heard = turned(all & ~(s->waiting | s->dead), from);
	uint8_t best = PATH_SCHED_NO_EV;
	uint32_t least = UINT32_MAX;

	if (heard == 0)
		return path_walk_clean(s);
	for (unsigned int i = 0; i < LOOK && heard != 0; i++, heard &= heard - 1) {
		uint8_t ev = (uint8_t)((from + (unsigned int)__builtin_ctzll(heard)) % PATH_SCHED_MAX_EVS);
		uint32_t bad = badness(s, ev);

		forget(s, ev);
		if (bad >= least)
			continue;
		least = bad;
		best = ev;
	}
	return best;
}

static bool continues_short(const struct path_sched *s, const struct path_sched_view *view)
{
	return view->message_packets != 0 && view->message_packets <= s->config->short_packets &&
		view->message_at != 0 && !path_dead(s, s->current) && path_penalty(s, s->current) == 0;
}

static uint8_t pick(struct path_sched *s, const struct path_sched_view *view)
{
	uint8_t ev = path_freeze_pick(s, view->now_ns);

	if (ev != PATH_SCHED_NO_EV)
		return ev;
	if (continues_short(s, view))
		return s->current;
	if (++s->turn % EVERY == 0)
		return path_walk_clean(s);
	ev = path_ring_pop_clean(s);
	return ev != PATH_SCHED_NO_EV ? ev : explore(s);
}

static void acked(struct path_sched *s, uint8_t ev, bool ecn, uint64_t now_ns)
{
	(void)now_ns;
	path_freeze_acked(s, ecn);
	if (!ecn && !slow(s, ev))
		path_ring_push(s, ev);
}

/* On a path that is not slow it is a loss and not lateness, so that was no silence. Else a wire that loses now and then
 * would silence one EV after the other. */
static void lost(struct path_sched *s, uint8_t ev, uint64_t now_ns)
{
	(void)now_ns;
	if (!path_dead(s, ev) && s->ev[ev].srtt != 0 && !slow(s, ev))
		s->waiting &= ~path_bit(ev);
}

static void timeout(struct path_sched *s, uint8_t ev, uint64_t now_ns)
{
	(void)ev;
	path_freeze(s, now_ns);
}

const struct path_sched_rules path_sched_adaptive = {
	.name = "adaptive", .pick = pick, .acked = acked, .lost = lost, .timeout = timeout};
