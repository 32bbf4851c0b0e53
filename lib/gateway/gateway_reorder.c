/* SPDX-License-Identifier: BSD-3-Clause */
#include "gateway_reorder.h"

#include <stdlib.h>

#define MAX_FLOWS  (1u << 20)
#define MAX_HELD   (1u << 20)
#define MAX_WINDOW 32768u
#define RESYNC     65536 /* so far behind is no late packet, but a sender that began anew */
/* Packets of an older generation may come so long after a newer one began; later it is a sender that began anew. */
#define STRAGGLE_NS 100000000u
#define NONE       UINT32_MAX
#define NOBODY     UINT64_MAX
#define RECENT     256u /* a power of two */

struct held {
	void *packet;
	uint64_t came_ns;
	uint32_t seq;
	uint32_t next;               /* of the flow, by seq; or of those that are free */
};

struct flow {
	uint64_t who;                /* tunnel and number; NOBODY: it is free */
	uint64_t deadline_ns;        /* of what is missing; only where something is held */
	uint32_t expected;
	uint32_t first, last;        /* held ones; NONE */
	uint32_t newer, older;       /* by last packet */
	uint32_t next_waiting, prev_waiting;
	uint64_t began_ns;           /* this generation of it */
	uint8_t generation;
};

struct gateway_reorder {
	struct gateway_reorder_config config;
	struct gateway_reorder_stats stats;
	uint64_t next_ns;            /* no flow's deadline is before it */
	uint32_t waiting;            /* a flow that holds something */
	uint32_t newest, oldest;
	uint32_t unused_held, unused_flow; /* the latter by older */
	uint32_t mask;
	uint32_t *places;            /* open addressing: flows, NONE: free */
	struct flow *flows;
	struct held *held;
	uint32_t recent[RECENT];     /* flows whose packets came last; any number, who says whether it is so */
};

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

static void stop_waiting(struct gateway_reorder *r, uint32_t i)
{
	const struct flow *f = &r->flows[i];

	*(f->prev_waiting != NONE ? &r->flows[f->prev_waiting].next_waiting : &r->waiting) = f->next_waiting;
	if (f->next_waiting != NONE)
		r->flows[f->next_waiting].prev_waiting = f->prev_waiting;
}

static void start_waiting(struct gateway_reorder *r, uint32_t i)
{
	struct flow *f = &r->flows[i];

	f->prev_waiting = NONE;
	f->next_waiting = r->waiting;
	if (r->waiting != NONE)
		r->flows[r->waiting].prev_waiting = i;
	r->waiting = i;
}

static void set_deadline(struct gateway_reorder *r, struct flow *f)
{
	f->deadline_ns = r->held[f->first].came_ns + r->config.wait_ns;
	if (f->deadline_ns < r->next_ns)
		r->next_ns = f->deadline_ns;
}

/* Passes the first of the held ones on. */
static void pass_first(struct gateway_reorder *r, struct flow *f)
{
	uint32_t h = f->first;
	void *packet = r->held[h].packet;

	f->expected = r->held[h].seq + 1;
	f->first = r->held[h].next;
	r->held[h].next = r->unused_held;
	r->unused_held = h;
	r->stats.held--;
	r->config.pass(r->config.ctx, packet);
}

/* Passes on those whose turn it is now. */
static void drain(struct gateway_reorder *r, uint32_t i)
{
	struct flow *f = &r->flows[i];

	if (f->first == NONE)
		return;
	while (f->first != NONE && r->held[f->first].seq == f->expected)
		pass_first(r, f);
	if (f->first == NONE)
		stop_waiting(r, i);
	else
		set_deadline(r, f);
}

/* Gives up all that is missing in front of the held ones. */
static void flush(struct gateway_reorder *r, uint32_t i)
{
	struct flow *f = &r->flows[i];

	if (f->first == NONE)
		return;
	while (f->first != NONE) {
		r->stats.missing += r->held[f->first].seq - f->expected;
		pass_first(r, f);
	}
	stop_waiting(r, i);
}

static void end_flow(struct gateway_reorder *r, uint32_t i)
{
	uint32_t gap = place_of(r, r->flows[i].who);

	flush(r, i);
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
	*f = (struct flow){.who = who, .first = NONE, .last = NONE};
	begin(r, f, place, now_ns);
	r->places[place_of(r, who)] = i;
	link_newest(r, i);
	r->stats.flows++;
	return i;
}

/* ---- packets ---- */

static void hold(struct gateway_reorder *r, uint32_t i, uint32_t seq, void *packet, uint64_t now_ns)
{
	struct flow *f = &r->flows[i];
	uint32_t h = r->unused_held, *at = &f->first;
	bool waits = f->first != NONE;

	r->unused_held = r->held[h].next;
	/* Most are behind all others. */
	if (waits && (int32_t)(seq - r->held[f->last].seq) >= 0)
		at = &r->held[f->last].next;
	while (*at != NONE && (int32_t)(seq - r->held[*at].seq) > 0)
		at = &r->held[*at].next;
	r->held[h] = (struct held){.packet = packet, .came_ns = now_ns, .seq = seq, .next = *at};
	*at = h;
	if (r->held[h].next == NONE)
		f->last = h;
	if (!waits) {
		start_waiting(r, i);
		set_deadline(r, f);
	}
	if (++r->stats.held > r->stats.most_held)
		r->stats.most_held = r->stats.held;
	r->stats.ahead++;
}

static void pass_now(struct gateway_reorder *r, struct flow *f, uint32_t seq, void *packet)
{
	f->expected = seq + 1;
	r->config.pass(r->config.ctx, packet);
}

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
	if (ahead > 0 && (uint64_t)ahead > r->stats.depth_max)
		r->stats.depth_max = (uint64_t)ahead;
	if (ahead > 0 && (uint32_t)ahead <= r->config.window && r->unused_held != NONE) {
		hold(r, i, seq, packet, now_ns);
		return;
	}
	r->stats.no_room += ahead > 0;
	flush(r, i);
	/* Those that were held may have been behind it. */
	if ((int32_t)(seq - f->expected) < 0 && ahead > 0)
		r->config.pass(r->config.ctx, packet);
	else
		pass_now(r, f, seq, packet);
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
		flush(r, i);
		begin(r, f, place, now_ns);
	}
	if (place->seq != f->expected) {
		put_other(r, i, place->seq, packet, now_ns);
		return;
	}
	r->stats.in_order++;
	pass_now(r, f, place->seq, packet);
	drain(r, i);
}

uint64_t gateway_reorder_next_ns(const struct gateway_reorder *r)
{
	return r->waiting != NONE ? r->next_ns : UINT64_MAX;
}

void gateway_reorder_tick(struct gateway_reorder *r, uint64_t now_ns)
{
	uint32_t next;

	if (r->waiting == NONE || now_ns < r->next_ns)
		return;
	r->next_ns = UINT64_MAX;
	for (uint32_t i = r->waiting; i != NONE; i = next) {
		struct flow *f = &r->flows[i];

		next = f->next_waiting;
		if (now_ns >= f->deadline_ns) {
			r->stats.waits_over++;
			r->stats.missing += r->held[f->first].seq - f->expected;
			f->expected = r->held[f->first].seq;
			drain(r, i);
		}
		if (f->first != NONE && f->deadline_ns < r->next_ns)
			r->next_ns = f->deadline_ns;
	}
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
