/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of a flow that wait for those before them. */
#include "gateway_reorder_internal.h"

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

/* All that is held is ahead of what is missing, so the wait is that of what came first. */
static void set_deadline(struct gateway_reorder *r, struct flow *f)
{
	f->deadline_ns = r->held[f->earliest].came_ns + r->config.wait_ns;
	if (f->deadline_ns < r->next_ns)
		r->next_ns = f->deadline_ns;
}

/* Passes the first of the held ones on, whose turn it is, or was: then it came twice. */
static void pass_first(struct gateway_reorder *r, struct flow *f)
{
	uint32_t i = f->first;
	struct held *h = &r->held[i];
	void *packet = h->packet;
	bool late = h->seq != f->expected;

	f->expected += !late;
	r->stats.late += late;
	f->first = h->next;
	*(h->earlier != NONE ? &r->held[h->earlier].later : &f->earliest) = h->later;
	*(h->later != NONE ? &r->held[h->later].earlier : &f->latest) = h->earlier;
	h->next = r->unused_held;
	r->unused_held = i;
	r->stats.held--;
	r->config.pass(r->config.ctx, packet);
}

static void pass_ready(struct gateway_reorder *r, struct flow *f)
{
	while (f->first != NONE && (int32_t)(r->held[f->first].seq - f->expected) <= 0)
		pass_first(r, f);
}

/* What is missing in front of that one. */
static void give_up(struct gateway_reorder *r, struct flow *f, uint32_t seq)
{
	int32_t missing = (int32_t)(seq - f->expected);

	if (missing <= 0)
		return;
	r->stats.missing += (uint32_t)missing;
	f->expected = seq;
}

/* Some of its held ones were passed on. */
static void wait_on(struct gateway_reorder *r, uint32_t i)
{
	if (r->flows[i].first == NONE)
		stop_waiting(r, i);
	else
		set_deadline(r, &r->flows[i]);
}

void gateway_reorder_drain(struct gateway_reorder *r, uint32_t i)
{
	struct flow *f = &r->flows[i];

	if (f->first == NONE)
		return;
	pass_ready(r, f);
	wait_on(r, i);
}

void gateway_reorder_skip(struct gateway_reorder *r, uint32_t i)
{
	struct flow *f = &r->flows[i];

	give_up(r, f, r->held[f->first].seq);
	gateway_reorder_drain(r, i);
}

void gateway_reorder_flush(struct gateway_reorder *r, uint32_t i)
{
	struct flow *f = &r->flows[i];

	if (f->first == NONE)
		return;
	while (f->first != NONE) {
		give_up(r, f, r->held[f->first].seq);
		pass_first(r, f);
	}
	stop_waiting(r, i);
}

void gateway_reorder_hold(struct gateway_reorder *r, uint32_t i, uint32_t seq, void *packet, uint64_t now_ns)
{
	struct flow *f = &r->flows[i];
	uint32_t h = r->unused_held, *at = &f->first;
	bool waits = f->first != NONE;

	r->unused_held = r->held[h].next;
	/* Most are behind all others. */
	if (waits && (int32_t)(seq - r->held[f->last].seq) >= 0)
		at = &r->held[f->last].next;
	while (*at != NONE && (int32_t)(seq - r->held[*at].seq) >= 0)
		at = &r->held[*at].next;
	r->held[h] = (struct held){.packet = packet, .came_ns = now_ns, .seq = seq, .next = *at, .earlier = f->latest, .later = NONE};
	*at = h;
	*(f->latest != NONE ? &r->held[f->latest].later : &f->earliest) = h;
	f->latest = h;
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

void gateway_reorder_pass_over(struct gateway_reorder *r, uint32_t i, uint32_t seq, void *packet)
{
	struct flow *f = &r->flows[i];
	bool waits = f->first != NONE;

	while (f->first != NONE && (int32_t)(r->held[f->first].seq - seq) < 0) {
		give_up(r, f, r->held[f->first].seq);
		pass_first(r, f);
	}
	give_up(r, f, seq);
	gateway_reorder_pass_now(r, f, seq, packet);
	pass_ready(r, f);
	if (waits)
		wait_on(r, i);
}
