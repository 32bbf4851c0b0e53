/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the schedulers share: randomness, penalties, the ring of recycled EVs and the walk over all of them.
 */
#ifndef PATH_SCHED_INTERNAL_H
#define PATH_SCHED_INTERNAL_H

#include <stddef.h>

#include "path_sched.h"

#define PATH_PENALTY_MAX  15u
#define PATH_PENALTY_ECN  1u
#define PATH_PENALTY_LOSS 4u

/* A kind's rules. Hooks that it does not need are NULL; the state that all kinds keep is up to date when they run. */
struct path_sched_rules {
	const char *name;
	uint8_t (*pick)(struct path_sched *s, const struct path_sched_view *view);
	void (*acked)(struct path_sched *s, uint8_t ev, bool ecn, uint64_t now_ns);
	void (*lost)(struct path_sched *s, uint8_t ev, uint64_t now_ns);
	void (*timeout)(struct path_sched *s, uint8_t ev, uint64_t now_ns);
};

extern const struct path_sched_rules path_sched_ecmp, path_sched_round_robin, path_sched_flowlet, path_sched_plb,
	path_sched_reps, path_sched_bitmap, path_sched_mixed, path_sched_adaptive, path_sched_weighted;

/* splitmix64 */
static inline uint64_t path_random(struct path_sched *s)
{
	uint64_t x = s->random += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static inline uint64_t path_bit(uint8_t ev)
{
	return (uint64_t)1 << ev;
}

static inline bool path_dead(const struct path_sched *s, uint8_t ev)
{
	return (s->dead & path_bit(ev)) != 0;
}

/* ---- penalties ---- */

static inline uint8_t path_penalty(const struct path_sched *s, uint8_t ev)
{
	return (s->penalty[ev / 16] >> (ev % 16 * 4)) & PATH_PENALTY_MAX;
}

static inline void path_penalty_set(struct path_sched *s, uint8_t ev, uint8_t penalty)
{
	uint64_t *word = &s->penalty[ev / 16];
	unsigned int at = ev % 16 * 4;

	*word = (*word & ~((uint64_t)PATH_PENALTY_MAX << at)) | (uint64_t)penalty << at;
}

static inline void path_penalty_add(struct path_sched *s, uint8_t ev, uint8_t more)
{
	unsigned int penalty = path_penalty(s, ev) + more;

	if (!path_dead(s, ev))
		path_penalty_set(s, ev, (uint8_t)(penalty < PATH_PENALTY_MAX ? penalty : PATH_PENALTY_MAX));
}

/* ---- the ring ---- */

/* A full ring forgets its oldest entry. */
static inline void path_ring_push(struct path_sched *s, uint8_t ev)
{
	if (s->ring_n == PATH_SCHED_RING)
		s->ring_at = (uint8_t)(s->ring_at + 1);
	else
		s->ring_n++;
	s->ring[(s->ring_at + s->ring_n - 1u) % PATH_SCHED_RING] = ev;
}

/* The oldest; PATH_SCHED_NO_EV: empty. */
static inline uint8_t path_ring_pop(struct path_sched *s)
{
	if (s->ring_n == 0)
		return PATH_SCHED_NO_EV;
	s->ring_n--;
	return s->ring[s->ring_at++ % PATH_SCHED_RING];
}

/* The same, passing over those that have become dead or got a penalty. */
static inline uint8_t path_ring_pop_clean(struct path_sched *s)
{
	uint8_t ev;

	do
		ev = path_ring_pop(s);
	while (ev != PATH_SCHED_NO_EV && (path_dead(s, ev) || path_penalty(s, ev) != 0));
	return ev;
}

/* ---- path_sched.c ---- */

/* Any EV that lives, but `but` only if there is no other. */
uint8_t path_random_ev(struct path_sched *s, uint8_t but);
/* The next EV in turn that lives: counter XOR a number that is drawn again each time around. */
uint8_t path_walk(struct path_sched *s);
/* The same; a penalty is lowered and the EV passed over. */
uint8_t path_walk_clean(struct path_sched *s);

/* path_sched_freeze.c: after a timeout only EVs that are known to work, until the freeze's time has passed or enough
 * clean acknowledgements have come. */
void path_freeze(struct path_sched *s, uint64_t now_ns);
void path_freeze_acked(struct path_sched *s, bool ecn);
/* An EV while frozen; PATH_SCHED_NO_EV: not frozen, or none is known. */
uint8_t path_freeze_pick(struct path_sched *s, uint64_t now_ns);

/* path_sched_dead.c */

void path_die(struct path_sched *s, uint8_t ev, uint64_t now_ns);
void path_revive(struct path_sched *s, uint8_t ev);

/* path_sched_order.c: the rules of keep_order, around a kind's. */

uint8_t path_order_pick(struct path_sched *s, const struct path_sched_rules *rules,
	const struct path_sched_view *view);
void path_order_acked(struct path_sched *s, uint8_t ev, uint32_t rtt_ns, uint64_t now_ns);
bool path_order_probe(struct path_sched *s, uint64_t now_ns, uint8_t *ev);

/* path_sched_trial.c: the rules of ADAPTIVE with no_probes. */

/* An RTT of ev was learnt. */
void path_trial_acked(struct path_sched *s, uint8_t ev, uint64_t now_ns);
/* Where to go from a path that is dead. */
uint8_t path_trial_leave(struct path_sched *s);

#endif
