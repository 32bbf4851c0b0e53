/* SPDX-License-Identifier: BSD-3-Clause */
#include "gateway_recent.h"

#include <string.h>

_Static_assert(sizeof(struct gateway_host) == 26, "no gaps: it is compared as it is");

/* The last bits of addresses differ most; those of groups of hosts, in the byte before. */
static uint32_t slot_of(const struct wire_addr *addr)
{
	return (addr->b[15] ^ (uint32_t)addr->b[14] << 1 ^ addr->b[13]) % GATEWAY_RECENT;
}

void gateway_recent_learn(
	struct gateway_recent *recent, struct gateway_hosts *hosts, const struct gateway_host *host, uint64_t now_ns)
{
	struct gateway_recent_host *at = &recent->learnt[slot_of(&host->addr)];

	if (now_ns < at->until_ns && memcmp(&at->host, host, sizeof(*host)) == 0)
		return;
	gateway_hosts_learn(hosts, host, now_ns);
	*at = (struct gateway_recent_host){.host = *host, .until_ns = now_ns + GATEWAY_RECENT_NS};
}

bool gateway_recent_find(struct gateway_recent *recent, const struct gateway_hosts *hosts, const struct wire_addr *addr,
	uint64_t now_ns, struct gateway_host *host)
{
	struct gateway_recent_host *at = &recent->found[slot_of(addr)];

	if (now_ns >= at->until_ns || memcmp(&at->host.addr, addr, sizeof(*addr)) != 0) {
		if (!gateway_hosts_find(hosts, addr, &at->host)) {
			at->until_ns = 0;
			return false;
		}
		at->until_ns = now_ns + GATEWAY_RECENT_NS;
	}
	*host = at->host;
	return true;
}

struct gateway_recent_way *gateway_recent_way(struct gateway_recent *recent, const struct wire_addr *dst)
{
	struct gateway_recent_way *way = &recent->ways[slot_of(dst)];

	if (!way->known || memcmp(&way->dst, dst, sizeof(*dst)) != 0)
		*way = (struct gateway_recent_way){.dst = *dst};
	return way;
}

void gateway_recent_forget_ways(struct gateway_recent *recent)
{
	memset(recent->ways, 0, sizeof(recent->ways));
}
