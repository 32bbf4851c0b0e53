/* SPDX-License-Identifier: BSD-3-Clause */
#include "gateway_hosts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_seqlock.h>

#include "base_siphash.h"

#define SETS       1024u
#define WAYS       8u
#define REFRESH_NS 1000000000u /* that it is still there is written down so often */

struct entry {
	struct gateway_host host;
	uint64_t seen_ns;          /* 0: free */
};

struct set {
	rte_seqlock_t lock;
	struct entry ways[WAYS];
};

struct gateway_hosts {
	struct base_siphash_key key;
	struct set sets[SETS];
};

struct gateway_hosts *gateway_hosts_new(uint64_t seed)
{
	struct gateway_hosts *hosts = calloc(1, sizeof(*hosts));

	for (uint32_t i = 0; hosts != NULL && i < SETS; i++)
		rte_seqlock_init(&hosts->sets[i].lock);
	if (hosts != NULL)
		hosts->key = (struct base_siphash_key){{seed, ~seed}};
	return hosts;
}

void gateway_hosts_free(struct gateway_hosts *hosts)
{
	free(hosts);
}

static uint32_t set_of(const struct gateway_hosts *hosts, const struct wire_addr *addr)
{
	return (uint32_t)base_siphash(&hosts->key, addr, sizeof(*addr)) % SETS;
}

/* A copy of the set's entry of an address; seen_ns 0: there is none. */
static void look(const struct set *set, const struct wire_addr *addr, struct entry *found)
{
	uint32_t sn;

	do {
		sn = rte_seqlock_read_begin(&set->lock);
		found->seen_ns = 0;
		for (uint32_t i = 0; i < WAYS; i++) {
			if (set->ways[i].seen_ns != 0 && memcmp(&set->ways[i].host.addr, addr, sizeof(*addr)) == 0)
				*found = set->ways[i];
		}
	} while (rte_seqlock_read_retry(&set->lock, sn));
}

static bool same(const struct gateway_host *a, const struct gateway_host *b)
{
	return memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 && a->port == b->port && a->has_vlan == b->has_vlan &&
	       a->vlan_tci == b->vlan_tci;
}

void gateway_hosts_learn(struct gateway_hosts *hosts, const struct gateway_host *host, uint64_t now_ns)
{
	struct set *set = &hosts->sets[set_of(hosts, &host->addr)];
	struct entry known, *at = &set->ways[0];

	look(set, &host->addr, &known);
	if (known.seen_ns != 0 && same(&known.host, host) && now_ns - known.seen_ns < REFRESH_NS)
		return;
	rte_seqlock_write_lock(&set->lock);
	for (uint32_t i = 0; i < WAYS; i++) {
		if (set->ways[i].seen_ns != 0 &&
			memcmp(&set->ways[i].host.addr, &host->addr, sizeof(host->addr)) == 0) {
			at = &set->ways[i];
			break;
		}
		if (set->ways[i].seen_ns < at->seen_ns)
			at = &set->ways[i];
	}
	*at = (struct entry){.host = *host, .seen_ns = now_ns};
	rte_seqlock_write_unlock(&set->lock);
}

bool gateway_hosts_find(const struct gateway_hosts *hosts, const struct wire_addr *addr, struct gateway_host *host)
{
	struct entry found;

	look(&hosts->sets[set_of(hosts, addr)], addr, &found);
	*host = found.host;
	return found.seen_ns != 0;
}
