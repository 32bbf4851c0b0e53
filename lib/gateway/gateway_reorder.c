/* SPDX-License-Identifier: BSD-3-Clause */
#include "gateway_reorder_internal.h"

#include <stdlib.h>

#define MAX_FLOWS  (1u << 20)
#define MAX_HELD   (1u << 20)
#define MAX_WINDOW 32768u
#define RESYNC     65536 /* so far behind is no late packet, but a sender that began anew */
/* Packets of an older generation may come so long after a newer one began; later it is a sender that began anew. */
#define STRAGGLE_NS 100000000u

static void make_lists(struct gateway_reorder *r)
{
	r->newest = r->oldest = r->waiting = NONE;
	for (uint32_t i = 0; i <= r->mask; i++)
		r->places[i] = NONE;
	for (uint32_t i = 0; i < r->config.held; i++)
		r->held[i].next = i + 1 < r->config.held ? i + 1 : NONE;
	for (uint32_t i = 0; i < r->config.flows; i++) {
		r->flows[i].who = NOBODY;
		r->flows[i].older = i + 1 < r->config.flows ? i + 1 : NONE;
	}
}

struct gateway_reorder *gateway_reorder_new(const struct gateway_reorder_config *config)
{
	struct gateway_reorder *r;
	uint32_t places = 4;

	if (config->flows == 0 || config->flows > MAX_FLOWS || config->held == 0 || config->held > MAX_HELD ||
		config->window == 0 || config->window > MAX_WINDOW)
		return NULL;
	while (places < 2 * config->flows)
		places *= 2;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return NULL;
	r->config = *config;
	r->mask = places - 1;
	r->next_ns = UINT64_MAX;
	r->places = calloc(places, sizeof(r->places[0]));
	r->flows = calloc(config->flows, sizeof(r->flows[0]));
	r->held = calloc(config->held, sizeof(r->held[0]));
	if (r->places == NULL || r->flows == NULL || r->held == NULL) {
		free(r->places);
		free(r->flows);
		free(r->held);
		free(r);
		return NULL;
	}
	make_lists(r);
	return r;
}

/* ---- flows ---- */

static uint32_t home(const struct gateway_reorder *r, uint64_t who)
{
	return (uint32_t)base_siphash(&r->config.key, &who, sizeof(who)) & r->mask;
}

static uint32_t place_of(const struct gateway_reorder *r, uint64_t who)
{
	uint32_t i = home(r, who);

	while (r->places[i] != NONE && r->flows[r->places[i]].who != who)
		i = (i + 1) & r->mask;
	return i;
}

static void unlink_flow(struct gateway_reorder *r, uint32_t i)
{
	const struct flow *f = &r->flows[i];

	*(f->newer != NONE ? &r->flows[f->newer].older : &r->newest) = f->older;
	*(f->older != NONE ? &r->flows[f->older].newer : &r->oldest) = f->newer;
}

static void link_newest(struct gateway_reorder *r, uint32_t i)
{
	r->flows[i].newer = NONE;
	r->flows[i].older = r->newest;
	*(r->newest != NONE ? &r->flows[r->newest].newer : &r->oldest) = i;
	r->newest = i;
}

static void end_flow(struct gateway_reorder *r, uint32_t i)
{
	uint32_t gap = place_of(r, r->flows[i].who);

	gateway_reorder_flush(r, i);
	unlink_flow(r, i);
	for (uint32_t k = (gap + 1) & r->mask; r->places[k] != NONE; k = (k + 1) & r->mask) {
		if (((k - home(r, r->flows[r->places[k]].who)) & r->mask) < ((k - gap) & r->mask))
			continue;
		r->places[gap] = r->places[k];
		gap = k;
	}
	r->places[gap] = NONE;
	r->flows[i].who = NOBODY;
	r->flows[i].older = r->unused_flow;
	r->unused_flow = i;
	r->stats.flows--;
}

/* What a flow begins with is 0, of which others may have overtaken the first; one that was forgotten goes on where it
 * is. */
static void begin(const struct gateway_reorder *r, struct flow *f, const struct gateway_place *place, uint64_t now_ns)
{
	f->began_ns = now_ns;
	f->generation = place->generation;
	f->expected = place->seq <= r->config.window ? 0 : place->seq;
}

/* NONE: there is none. Numbers of flows are given out one after the other, so those of a tunnel share no place among
 * the recent ones. */
static uint32_t find(struct gateway_reorder *r, uint64_t who)
{
	uint32_t *recent = &r->recent[(who ^ who >> 32) & (RECENT - 1)], i;

	if (r->flows[*recent].who == who)
		return *recent;
	i = r->places[place_of(r, who)];
	if (i != NONE)
		*recent = i;
	return i;
}

static uint32_t get_flow(struct gateway_reorder *r, const struct gateway_place *place, uint64_t now_ns)
{
	uint64_t who = (uint64_t)place->tunnel << 32 | place->flow;
	uint32_t i = find(r, who);
	struct flow *f;

	if (i != NONE) {
		if (r->newest != i) {
			unlink_flow(r, i);
			link_newest(r, i);
		}
		return i;
	}
	if (r->unused_flow == NONE)
		end_flow(r, r->oldest);
	i = r->unused_flow;
	f = &r->flows[i];
	r->unused_flow = f->older;
	*f = (struct flow){.who = who, .first = NONE, .last = NONE, .earliest = NONE, .latest = NONE};
	begin(r, f, place, now_ns);
	r->places[place_of(r, who)] = i;
	link_newest(r, i);
	r->stats.flows++;
	return i;
}

/* ---- packets ---- */

/* One that is not the next of its flow. */
static void put_other(struct gateway_reorder *r, uint32_t i, uint32_t seq, void *packet, uint64_t now_ns)
{
	struct flow *f = &r->flows[i];
	int32_t ahead = (int32_t)(seq - f->expected);

	if (ahead < 0 && ahead > -RESYNC) {
		r->stats.late++;
		r->config.pass(r->config.ctx, packet);
		return;
	}
	if (ahead < 0) {
		gateway_reorder_flush(r, i);
		gateway_reorder_pass_now(r, f, seq, packet);
		return;
	}
	if ((uint32_t)ahead > r->stats.depth_max)
		r->stats.depth_max = (uint32_t)ahead;
	if ((uint32_t)ahead <= r->config.window && r->unused_held != NONE) {
		gateway_reorder_hold(r, i, seq, packet, now_ns);
		return;
	}
	r->stats.no_room++;
	gateway_reorder_pass_over(r, i, seq, packet);
}

void gateway_reorder_put(struct gateway_reorder *r, const struct gateway_place *place, void *packet, uint64_t now_ns)
{
	uint32_t i = get_flow(r, place, now_ns);
	struct flow *f = &r->flows[i];
	bool other = place->generation != f->generation;

	if (other && (int8_t)(place->generation - f->generation) < 0 && now_ns - f->began_ns < STRAGGLE_NS) {
		r->stats.late++;
		r->config.pass(r->config.ctx, packet);
		return;
	}
	if (other) {
		gateway_reorder_flush(r, i);
		begin(r, f, place, now_ns);
	}
	if (place->seq != f->expected) {
		put_other(r, i, place->seq, packet, now_ns);
		return;
	}
	r->stats.in_order++;
	gateway_reorder_pass_now(r, f, place->seq, packet);
	if (f->first != NONE)
		gateway_reorder_drain(r, i);
}

uint64_t gateway_reorder_next_ns(const struct gateway_reorder *r)
{
	return r->waiting != NONE ? r->next_ns : UINT64_MAX;
}

void gateway_reorder_tick(struct gateway_reorder *r, uint64_t now_ns)
{
	uint64_t soonest_ns = UINT64_MAX;
	uint32_t next;

	if (r->waiting == NONE || now_ns < r->next_ns)
		return;
	for (uint32_t i = r->waiting; i != NONE; i = next) {
		struct flow *f = &r->flows[i];

		next = f->next_waiting;
		while (f->first != NONE && now_ns >= f->deadline_ns) {
			r->stats.waits_over++;
			gateway_reorder_skip(r, i);
		}
		if (f->first != NONE && f->deadline_ns < soonest_ns)
			soonest_ns = f->deadline_ns;
	}
	r->next_ns = soonest_ns;
}

void gateway_reorder_get_stats(const struct gateway_reorder *r, struct gateway_reorder_stats *stats)
{
	*stats = r->stats;
}

void gateway_reorder_free(struct gateway_reorder *r, void (*give)(void *ctx, void *packet))
{
	if (r == NULL)
		return;
	r->config.pass = give;
	while (r->oldest != NONE)
		end_flow(r, r->oldest);
	free(r->places);
	free(r->flows);
	free(r->held);
	free(r);
}
