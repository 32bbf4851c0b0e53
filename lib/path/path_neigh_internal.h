/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the neighbour table share. */
#ifndef PATH_NEIGH_INTERNAL_H
#define PATH_NEIGH_INTERNAL_H

#include "base_wheel.h"
#include "path_neigh.h"

LIST_HEAD(path_neigh_waiters, path_neigh_wait);
LIST_HEAD(path_neigh_bucket, neigh);
TAILQ_HEAD(path_neigh_queue, neigh);

enum neigh_state {
	NEIGH_FREE,
	NEIGH_NEW,    /* nobody has asked */
	NEIGH_ASKING, /* by broadcast; a link address that stopped answering is still used */
	NEIGH_REACHABLE,
	NEIGH_PROBING, /* by unicast; the link address is used meanwhile */
	NEIGH_DOWN,    /* held, did not answer, is asked again later */
	NEIGH_PINNED,
};

/* One entry. Its one timer means the next request, the end of REACHABLE, or the end of DOWN. */
struct neigh {
	struct path_neigh_entry pub; /* first: the public pointer is that to the entry */
	struct path_neigh *table;
	struct base_timer timer;
	LIST_ENTRY(neigh) hash_link;
	TAILQ_ENTRY(neigh) queue; /* free, or known but not held */
	struct path_neigh_waiters waiters;
	void *dev;
	struct wire_nd_from from;
	struct wire_addr dst;
	uint64_t locked_until_ns;
	uint32_t refs;
	uint32_t tries_left;
	uint8_t state; /* enum neigh_state */
	bool wake;     /* path_neigh_rx() is to call those who wait */
};

struct path_neigh {
	struct path_neigh_config config;
	const struct path_neigh_ops *ops;
	void *env;
	struct path_neigh_stats stats;
	struct neigh *entries;
	struct path_neigh_bucket *buckets;
	uint32_t bucket_mask;
	struct path_neigh_queue free;
	struct path_neigh_queue unheld; /* oldest first */
	struct base_wheel wheel;
};

/* path_neigh.c */

struct path_neigh_bucket *neigh_bucket(const struct path_neigh *table, const struct wire_addr *dst);
void neigh_free(struct neigh *neigh);

/* path_neigh_state.c */

bool neigh_known(const struct neigh *neigh);
bool neigh_mac_is(const struct neigh *neigh, const uint8_t mac[6]);
/* Sets the address, and says so when it is another one. */
void neigh_set_mac(struct neigh *neigh, const uint8_t mac[6]);
/* As path_neigh_pin(), for an entry that nobody knows yet. */
void neigh_pin_new(struct neigh *neigh, const uint8_t mac[6]);
/* Begins a round of requests: by unicast to the address we have, or by broadcast. */
void neigh_ask(struct neigh *neigh, enum neigh_state how, uint64_t now_ns);
void neigh_reachable(struct neigh *neigh, uint64_t now_ns);
/* Calls all that wait now. The entry may be gone after it. */
void neigh_wake(struct neigh *neigh, int status, uint64_t now_ns);
void neigh_timer_expired(struct base_timer *timer, void *arg, uint64_t now_ns);

#endif
