/* SPDX-License-Identifier: BSD-3-Clause */
/* What every scheduler keeps of its EVs, and the way to the rules of each kind. */
#include "path_sched_internal.h"

#include <errno.h>
#include <string.h>

#define WALK_MOST      16u
#define RTT_ROOM       64u   /* times the base RTT that an EV's RTT can say */
#define RTT_ROOM_FLOW  4096u /* the same with no_probes: the queue that a flow fills by itself is long */
#define SHARE_SHIFT    3
#define MAX_PROBE_NS   4000000000u
#define MAX_BASE_NS    1000000000u

static const struct path_sched_rules *const kinds[PATH_SCHED_KINDS] = {
	[PATH_SCHED_ADAPTIVE] = &path_sched_adaptive,
	[PATH_SCHED_ECMP] = &path_sched_ecmp,
	[PATH_SCHED_ROUND_ROBIN] = &path_sched_round_robin,
	[PATH_SCHED_FLOWLET] = &path_sched_flowlet,
	[PATH_SCHED_PLB] = &path_sched_plb,
	[PATH_SCHED_REPS] = &path_sched_reps,
	[PATH_SCHED_BITMAP] = &path_sched_bitmap,
	[PATH_SCHED_MIXED] = &path_sched_mixed,
	[PATH_SCHED_WEIGHTED] = &path_sched_weighted,
};

/* ---- configuration ---- */

void path_sched_config_default(struct path_sched_config *config)
{
	*config = (struct path_sched_config){
		.kind = PATH_SCHED_ADAPTIVE,
		.n_evs = PATH_SCHED_MAX_EVS,
		.base_rtt_ns = 10000,
		.margin_ns = 5000,
		.short_packets = 4,
		.flowlet_gap_ns = 100000,
		.plb_marked_percent = 50,
		.plb_rounds = 12,
		.plb_idle_rounds = 3,
		.freeze_ns = 10000000,
		.freeze_acks = 16,
		.losses_dead = 2,
		.probe_ns = 1000000,
		.probe_max_ns = 1000000000,
		.slow_percent = 150,
		.better_percent = 80,
	};
}

void path_sched_config_base(struct path_sched_config *config, uint32_t base_rtt_ns)
{
	config->base_rtt_ns = base_rtt_ns;
	config->margin_ns = base_rtt_ns / 2;
}

int path_sched_config_check(const struct path_sched_config *config)
{
	if ((unsigned int)config->kind >= PATH_SCHED_KINDS || config->n_evs == 0 ||
		config->n_evs > PATH_SCHED_MAX_EVS)
		return -EINVAL;
	if (config->base_rtt_ns == 0 || config->base_rtt_ns > MAX_BASE_NS || config->plb_marked_percent > 100)
		return -EINVAL;
	if (config->losses_dead == 0 || config->losses_dead > 2 || config->probe_ns == 0 ||
		config->probe_max_ns < config->probe_ns || config->probe_max_ns > MAX_PROBE_NS)
		return -EINVAL;
	if (config->no_probes && !config->keep_order)
		return -EINVAL;
	return config->slow_percent >= 100 && config->better_percent <= 100 ? 0 : -EINVAL;
}

const char *path_sched_name(enum path_sched_kind kind)
{
	return (unsigned int)kind < PATH_SCHED_KINDS ? kinds[kind]->name : NULL;
}

int path_sched_by_name(const char *name, enum path_sched_kind *kind)
{
	for (unsigned int i = 0; i < PATH_SCHED_KINDS; i++) {
		if (strcmp(name, kinds[i]->name) != 0)
			continue;
		*kind = (enum path_sched_kind)i;
		return 0;
	}
	return -EINVAL;
}

void path_sched_init(struct path_sched *s, const struct path_sched_config *config, uint64_t seed)
{
	memset(s, 0, path_sched_bytes(config->n_evs));
	s->config = config;
	s->random = seed;
	s->next = PATH_SCHED_NO_EV;
	while (s->mask + 1u < config->n_evs)
		s->mask = (uint8_t)(s->mask * 2 + 1);
	while ((uint64_t)config->base_rtt_ns * (config->no_probes ? RTT_ROOM_FLOW : RTT_ROOM) >> s->rtt_shift > UINT16_MAX)
		s->rtt_shift++;
	s->flip = (uint8_t)(path_random(s) & s->mask);
	s->current = config->no_probes ? 0 : path_random_ev(s, PATH_SCHED_NO_EV);
}

/* ---- choosing ---- */

uint8_t path_random_ev(struct path_sched *s, uint8_t but)
{
	uint8_t n = s->config->n_evs, ev = (uint8_t)((path_random(s) >> 32) * n >> 32), first = PATH_SCHED_NO_EV;

	for (uint8_t i = 0; i < n; i++, ev = (uint8_t)(ev + 1 < n ? ev + 1 : 0)) {
		if (path_dead(s, ev))
			continue;
		if (ev != but)
			return ev;
		first = ev;
	}
	return first != PATH_SCHED_NO_EV ? first : 0;
}

static uint8_t step(struct path_sched *s)
{
	uint8_t ev = s->cursor ^ s->flip;

	if (s->cursor++ == s->mask) {
		s->cursor = 0;
		s->flip = (uint8_t)(path_random(s) & s->mask);
	}
	return ev;
}

/* Some EV always lives, so this ends; a wrap meets each EV once, so it ends soon. */
uint8_t path_walk(struct path_sched *s)
{
	uint8_t ev;

	do
		ev = step(s);
	while (ev >= s->config->n_evs || path_dead(s, ev));
	return ev;
}

/* With most EVs under penalty the least bad of some has to do: a packet has to leave, and in bounded time. */
uint8_t path_walk_clean(struct path_sched *s)
{
	uint8_t best = PATH_SCHED_NO_EV, least = PATH_PENALTY_MAX + 1;

	for (unsigned int i = 0; i < WALK_MOST; i++) {
		uint8_t ev = path_walk(s), penalty = path_penalty(s, ev);

		if (penalty == 0)
			return ev;
		path_penalty_set(s, ev, (uint8_t)(penalty - 1));
		if (penalty < least) {
			least = penalty;
			best = ev;
		}
	}
	return best;
}

uint8_t path_sched_pick(struct path_sched *s, const struct path_sched_view *view)
{
	const struct path_sched_rules *rules = kinds[s->config->kind];

	s->current = s->config->keep_order ? path_order_pick(s, rules, view) : rules->pick(s, view);
	s->waiting |= path_bit(s->current);
	return s->current;
}

/* ---- learning ---- */

/* EWMA 1/8 towards 0 or 255, which it reaches. */
static uint8_t share(uint8_t old, bool hit)
{
	unsigned int towards = hit ? 255u - old : old, by = (towards + (1u << SHARE_SHIFT) - 1) >> SHARE_SHIFT;

	return (uint8_t)(hit ? old + by : old - by);
}

static uint16_t to_units(const struct path_sched *s, uint32_t rtt_ns)
{
	uint32_t units = rtt_ns >> s->rtt_shift;

	return (uint16_t)(units == 0 ? 1 : units < UINT16_MAX ? units : UINT16_MAX);
}

/* A running median: half a per cent of the base RTT up or down. */
static void learn_typical(struct path_sched *s, uint16_t rtt)
{
	uint16_t by = (uint16_t)((s->config->base_rtt_ns >> s->rtt_shift) / 64 + 1);

	if (s->typical == 0)
		s->typical = rtt;
	else if (rtt > s->typical)
		s->typical = (uint16_t)(rtt - s->typical < by ? rtt : s->typical + by);
	else
		s->typical = (uint16_t)(s->typical - rtt < by ? rtt : s->typical - by);
}

static void learn_rtt(struct path_sched *s, struct path_sched_ev *path, uint32_t rtt_ns)
{
	uint16_t rtt = to_units(s, rtt_ns);

	path->srtt = path->srtt == 0 ? rtt : (uint16_t)((path->srtt * 3u + rtt + 2) / 4);
	if (path->min_rtt == 0 || rtt < path->min_rtt)
		path->min_rtt = rtt;
	if (s->least == 0 || rtt < s->least)
		s->least = rtt;
	learn_typical(s, rtt);
}

void path_sched_acked(struct path_sched *s, uint8_t ev, bool ecn, uint32_t rtt_ns, uint64_t now_ns)
{
	const struct path_sched_rules *rules = kinds[s->config->kind];
	struct path_sched_ev *path;

	if (ev >= s->config->n_evs)
		return;
	path = &s->ev[ev];
	if (path_dead(s, ev))
		path_revive(s, ev);
	s->lost &= ~path_bit(ev);
	s->waiting &= ~path_bit(ev);
	path->ecn = share(path->ecn, ecn);
	path->loss = share(path->loss, false);
	if (ecn)
		path_penalty_add(s, ev, PATH_PENALTY_ECN);
	if (rtt_ns != 0)
		learn_rtt(s, path, rtt_ns);
	if (s->config->keep_order)
		path_order_acked(s, ev, rtt_ns, now_ns);
	if (rules->acked != NULL)
		rules->acked(s, ev, ecn, now_ns);
}

void path_sched_lost(struct path_sched *s, uint8_t ev, uint64_t now_ns)
{
	const struct path_sched_rules *rules = kinds[s->config->kind];
	bool again;

	if (ev >= s->config->n_evs || path_dead(s, ev))
		return;
	again = s->config->losses_dead == 1 || (s->lost & path_bit(ev)) != 0;
	s->lost |= path_bit(ev);
	s->ev[ev].loss = share(s->ev[ev].loss, true);
	path_penalty_add(s, ev, PATH_PENALTY_LOSS);
	if (again)
		path_die(s, ev, now_ns);
	if (rules->lost != NULL)
		rules->lost(s, ev, now_ns);
}

void path_sched_timeout(struct path_sched *s, uint8_t ev, uint64_t now_ns)
{
	const struct path_sched_rules *rules = kinds[s->config->kind];

	if (ev >= s->config->n_evs)
		return;
	if (!path_dead(s, ev)) {
		s->ev[ev].loss = share(s->ev[ev].loss, true);
		path_die(s, ev, now_ns);
	}
	if (rules->timeout != NULL)
		rules->timeout(s, ev, now_ns);
}

/* ---- telemetry ---- */

int path_sched_stats(const struct path_sched *s, uint8_t ev, struct path_sched_stats *out)
{
	const struct path_sched_ev *path;

	if (ev >= s->config->n_evs)
		return -EINVAL;
	path = &s->ev[ev];
	*out = (struct path_sched_stats){
		.srtt_ns = path_dead(s, ev) ? 0 : (uint32_t)path->srtt << s->rtt_shift,
		.min_rtt_ns = (uint32_t)path->min_rtt << s->rtt_shift,
		.ecn_percent = (uint8_t)(path->ecn * 100u / 255u),
		.loss_percent = (uint8_t)(path->loss * 100u / 255u),
		.penalty = path_dead(s, ev) ? PATH_PENALTY_MAX : path_penalty(s, ev),
		.alive = !path_dead(s, ev),
	};
	return 0;
}

void path_sched_foreach(const struct path_sched *s,
	void (*fn)(void *arg, uint8_t ev, const struct path_sched_stats *stats), void *arg)
{
	for (uint8_t ev = 0; ev < s->config->n_evs; ev++) {
		struct path_sched_stats stats;

		(void)path_sched_stats(s, ev, &stats);
		fn(arg, ev, &stats);
	}
}
