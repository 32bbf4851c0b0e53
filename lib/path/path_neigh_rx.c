/* SPDX-License-Identifier: BSD-3-Clause */
/* What messages from the link say about entries (RFC 826; RFC 4861, 7.2.3 and 7.2.5). */
#include <string.h>

#include "path_neigh_internal.h"

#define VLAN_ID_MASK 0x0fff

static bool same_addr(const struct wire_addr *a, const struct wire_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Whom a message speaks of, NULL for nobody we may learn of: requests count when they are for us or
 * announce their sender. */
static const struct wire_addr *subject(const struct wire_nd_msg *msg, bool for_us)
{
	switch (msg->kind) {
	case WIRE_ND_ARP_REQUEST:
		return for_us || same_addr(&msg->src, &msg->target) ? &msg->src : NULL;
	case WIRE_ND_ARP_REPLY:
		return &msg->src;
	case WIRE_ND_SOLICIT:
		return for_us && msg->has_lladdr ? &msg->src : NULL;
	case WIRE_ND_ADVERT:
		return &msg->target;
	default:
		return NULL;
	}
}

/* VLAN 0 is a priority tag only (IEEE 802.1Q). */
static unsigned int vlan_id(bool has_vlan, uint16_t vlan_tci)
{
	return has_vlan ? vlan_tci & VLAN_ID_MASK : 0;
}

static bool concerns(
	const struct neigh *neigh, const struct wire_nd_msg *msg, const struct wire_addr *who)
{
	return same_addr(&neigh->dst, who) && neigh->state != NEIGH_PINNED &&
	       vlan_id(neigh->from.has_vlan, neigh->from.vlan_tci) ==
		       vlan_id(msg->has_vlan, msg->vlan_tci);
}

/* A neighbour's address is one station's, and not ours. */
static bool possible_mac(const struct neigh *neigh, const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return !(mac[0] & 1) && memcmp(mac, zero, sizeof(zero)) != 0 &&
	       memcmp(mac, neigh->from.mac, sizeof(zero)) != 0;
}

/* Whether this is the answer to a request we sent. */
static bool is_answer(const struct neigh *neigh, const struct wire_nd_msg *msg)
{
	return (neigh->state == NEIGH_ASKING || neigh->state == NEIGH_PROBING) && msg->solicited &&
	       msg->unicast && same_addr(&msg->dst, &neigh->from.addr);
}

static void take_answer(
	struct neigh *neigh, const struct wire_nd_msg *msg, const uint8_t mac[6], uint64_t now_ns)
{
	struct path_neigh_stats *stats = &neigh->table->stats;

	/* Somebody speaks for the neighbour, but not instead of it. */
	if (neigh_known(neigh) && !msg->override && !neigh_mac_is(neigh, mac)) {
		stats->rx_ignored++;
		return;
	}
	stats->rx_used++;
	neigh_reachable(neigh, now_ns);
	neigh_set_mac(neigh, mac);
	neigh->wake = true;
}

/* Said unasked: believed, for a neighbour may have moved, but asked back at once. */
static void take_hint(
	struct neigh *neigh, const struct wire_nd_msg *msg, const uint8_t mac[6], uint64_t now_ns)
{
	struct path_neigh_stats *stats = &neigh->table->stats;

	if (neigh->state == NEIGH_NEW || neigh_mac_is(neigh, mac) ||
		(neigh_known(neigh) && !msg->override && neigh->state != NEIGH_REACHABLE)) {
		stats->rx_ignored++;
		return;
	}
	if (neigh_known(neigh) && now_ns < neigh->locked_until_ns) {
		stats->rx_refused++;
		return;
	}
	stats->rx_used++;
	/* Nobody holds it: asking can wait until it is needed. */
	if (!neigh->refs) {
		TAILQ_REMOVE(&neigh->table->unheld, neigh, queue);
		neigh_free(neigh);
		return;
	}
	neigh->locked_until_ns = now_ns + neigh->table->config.lock_ns;
	if (!neigh_known(neigh) || msg->override)
		neigh_set_mac(neigh, mac);
	neigh_ask(neigh, NEIGH_PROBING, now_ns);
	neigh->wake = true;
}

static void take_message(struct neigh *neigh, const struct wire_nd_msg *msg, uint64_t now_ns)
{
	uint8_t mac[6];

	if (msg->has_lladdr) {
		memcpy(mac, msg->lladdr, sizeof(mac));
	} else if (msg->kind != WIRE_ND_ADVERT || !path_neigh_mac(&neigh->pub, mac)) {
		/* An advertisement without the address can only confirm one we have. */
		neigh->table->stats.rx_ignored++;
		return;
	}
	if (!possible_mac(neigh, mac))
		neigh->table->stats.rx_refused++;
	else if (is_answer(neigh, msg))
		take_answer(neigh, msg, mac, now_ns);
	else
		take_hint(neigh, msg, mac, now_ns);
}

/* The first entry of a chain whose waiters are to be called. */
static struct neigh *next_to_wake(struct path_neigh_bucket *bucket)
{
	struct neigh *neigh;

	LIST_FOREACH(neigh, bucket, hash_link) {
		if (neigh->wake)
			return neigh;
	}
	return NULL;
}

/* One neighbour may be known from several addresses of ours. A waiter may change the chain of
 * entries, so all are brought up to date before the first is called. */
void path_neigh_rx(
	struct path_neigh *table, const struct wire_nd_msg *msg, bool for_us, uint64_t now_ns)
{
	const struct wire_addr *who = subject(msg, for_us);
	struct path_neigh_bucket *bucket;
	struct neigh *neigh;
	struct neigh *next;
	bool found = false;

	if (!who) {
		table->stats.rx_ignored++;
		return;
	}
	bucket = neigh_bucket(table, who);
	for (neigh = LIST_FIRST(bucket); neigh; neigh = next) {
		next = LIST_NEXT(neigh, hash_link);
		if (!concerns(neigh, msg, who))
			continue;
		found = true;
		take_message(neigh, msg, now_ns);
	}
	if (!found)
		table->stats.rx_ignored++;
	while ((neigh = next_to_wake(bucket))) {
		neigh->wake = false;
		neigh_wake(neigh, 0, now_ns);
	}
}
