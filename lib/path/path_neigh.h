/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbours of one port: which link address an IP address on the port's own link has. IPv4 is asked
 * by ARP (RFC 826), IPv6 by neighbour discovery (RFC 4861, 7.2 and 7.3). Pure: the time comes in as an
 * argument, frames leave through emit(), all memory is taken in path_neigh_create(). One thread calls
 * the functions; only path_neigh_mac() may be called from others, without a lock, while a reference to
 * the entry is held.
 *
 * The network fills in answers only: what arrives changes entries that somebody here asked for, and never
 * makes one, so no flood of packets grows or empties the table. Packets are not queued here; who waits
 * for an address keeps its packet (or lets the transport repeat it).
 *
 * An entry that somebody holds is kept fresh: before it expires its neighbour is asked again by unicast,
 * then by broadcast, and only when all of that is not answered the address is taken away. Then it is
 * asked for again every down_retry_ns as long as it is held, so a peer that comes back is found.
 */
#ifndef PATH_NEIGH_H
#define PATH_NEIGH_H

#include <endian.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "wire_arp_nd.h"

#define PATH_NEIGH_MAC_MASK  0xffffffffffffull
#define PATH_NEIGH_MAC_VALID (1ull << 48)

struct path_neigh;

/* The part of an entry that other threads may read. */
struct path_neigh_entry {
	_Atomic uint64_t mac; /* low 48 bits: link address, first byte on the wire highest; PATH_NEIGH_MAC_VALID */
};

/* Reads an entry's link address; false when it is not known now. Any thread that knows of a reference. */
static inline bool path_neigh_mac(const struct path_neigh_entry *entry, uint8_t mac[6])
{
	uint64_t word = atomic_load_explicit(&entry->mac, memory_order_relaxed), first = htobe64(word << 16);

	memcpy(mac, &first, 6);
	return (word & PATH_NEIGH_MAC_VALID) != 0;
}

/* Somebody who waits for an entry; the caller's memory, in use from path_neigh_resolve() to the call of
 * done() or path_neigh_cancel(). Zero it before its first use. */
struct path_neigh_wait {
	/* status 0: the address is known; -EHOSTUNREACH: nobody answered. May call anything back, and may
	 * free or reuse the wait. */
	void (*done)(struct path_neigh_wait *wait, struct path_neigh_entry *entry, int status);
	void *arg;
	/* private */
	LIST_ENTRY(path_neigh_wait) link;
	bool waiting;
};

struct path_neigh_config {
	uint32_t max_entries;    /* 1 .. 2^20 */
	uint32_t tries;          /* requests before giving up, for unicast and broadcast each; 1 .. 100 */
	uint64_t retry_ns;       /* between two requests */
	uint64_t reachable_ns;   /* how long an answer is good for */
	uint64_t lock_ns;        /* after an answer, another link address is believed only this much later */
	uint64_t down_retry_ns;  /* between two rounds for an entry that is held and does not answer */
};

/* Defaults: 1024 entries, 3 tries, 1 s apart, good for 30 s, lock 1 s, down 10 s. */
void path_neigh_config_default(struct path_neigh_config *config);

struct path_neigh_ops {
	/* Sends an Ethernet frame on the port of dev (as given to path_neigh_get()). Loss is harmless.
	 * Must not call back. */
	void (*emit)(void *env, void *dev, const uint8_t *frame, size_t n);
	/* Optional: the address of an entry came, changed or went (path_neigh_mac() says which). Called
	 * before the waiters are; must not call back. */
	void (*changed)(void *env, struct path_neigh_entry *entry);
};

struct path_neigh_stats {
	uint64_t tx_requests;    /* ARP requests and solicitations sent */
	uint64_t rx_used;        /* messages that confirmed or changed an entry */
	uint64_t rx_ignored;     /* of unknown neighbours, or saying nothing new */
	uint64_t rx_refused;     /* impossible link address (group, zero, our own), or changed too soon */
	uint64_t mac_changes;    /* one known address replaced by another */
	uint64_t failures;       /* rounds of requests without an answer */
	uint64_t table_full;
	uint32_t entries;        /* now */
};

/* Takes all memory; *out is freed with path_neigh_destroy(). ops and env must outlive it. 0, -EINVAL or
 * -ENOMEM. */
int path_neigh_create(const struct path_neigh_config *config, const struct path_neigh_ops *ops,
	void *env, uint64_t now_ns, struct path_neigh **out);

/* Frees the table; waiters are not called any more. NULL is allowed. */
void path_neigh_destroy(struct path_neigh *table);

/* Finds or makes the entry for dst as seen from one of our addresses, and takes a reference to it. from
 * (our link address, VLAN and IP address, copied) is what requests are sent as; dev is passed on to
 * emit(). Sends nothing. A group address, or from->addr itself, is resolved at once. 0; -EINVAL when dst is
 * unspecified or not of from->addr's family; -ENOSPC when every entry of the table is held. */
int path_neigh_get(struct path_neigh *table, void *dev, const struct wire_nd_from *from,
	const struct wire_addr *dst, uint64_t now_ns, struct path_neigh_entry **out);

/* Takes one more reference. */
void path_neigh_hold(struct path_neigh_entry *entry);

/* Gives a reference back. An entry nobody holds stays known till it expires or its place is needed. Other
 * threads must have stopped reading it by then; nobody may still wait for it. NULL is allowed. */
void path_neigh_put(struct path_neigh *table, struct path_neigh_entry *entry, uint64_t now_ns);

/* Calls wait->done() once: from within when the address is known, else when it is answered or given up. The
 * caller holds a reference while it waits. */
void path_neigh_resolve(struct path_neigh *table, struct path_neigh_entry *entry,
	struct path_neigh_wait *wait, uint64_t now_ns);

/* Takes back a wait whose done() was not called yet; harmless for any other. */
void path_neigh_cancel(struct path_neigh_wait *wait);

/* Sets the link address for as long as the entry is held: asked by nobody, changed by nobody (our other
 * ports, static neighbours). */
void path_neigh_pin(struct path_neigh *table, struct path_neigh_entry *entry, const uint8_t mac[6]);

/* A message from the link, as wire_nd_parse() understood it; for_us: its target is an address of ours
 * (matters for requests only). Answering it is the caller's business. */
void path_neigh_rx(
	struct path_neigh *table, const struct wire_nd_msg *msg, bool for_us, uint64_t now_ns);

/* Runs the timers due at now_ns. */
void path_neigh_advance(struct path_neigh *table, uint64_t now_ns);

/* Lower bound of the time path_neigh_advance() is needed next; UINT64_MAX for never. */
uint64_t path_neigh_next_ns(const struct path_neigh *table);

void path_neigh_get_stats(const struct path_neigh *table, struct path_neigh_stats *out);

/* One entry, for listing. */
struct path_neigh_info {
	void *dev;
	struct wire_addr src;
	struct wire_addr dst;
	const char *state;       /* "new", "asking", "reachable", "probing", "down", "pinned" */
	uint8_t mac[6];
	bool mac_valid;
	uint32_t refs;
};

/* Calls fn for each entry; fn must not change the table. */
void path_neigh_foreach(const struct path_neigh *table,
	void (*fn)(void *arg, const struct path_neigh_info *info), void *arg);

#endif
