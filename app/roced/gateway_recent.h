/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a worker has just looked up, so that a packet like those before it costs no hash: where hosts are, for a
 * millisecond, and behind which far gateway they are, until it is told to forget that. A few places by bits of the
 * address: who makes addresses up so that they meet has them looked up. One thread.
 */
#ifndef GATEWAY_RECENT_H
#define GATEWAY_RECENT_H

#include "gateway_hosts.h"

#define GATEWAY_RECENT    64u
#define GATEWAY_RECENT_NS 1000000u

struct gateway_recent_host {
	struct gateway_host host;
	uint64_t until_ns;         /* 0: none */
};

struct gateway_recent_way {
	struct wire_addr dst;
	bool known;                /* the rest is */
	bool far;                  /* behind a far gateway */
	uint8_t remote;            /* its number */
};

/* Zeros: nothing. */
struct gateway_recent {
	struct gateway_recent_host learnt[GATEWAY_RECENT], found[GATEWAY_RECENT];
	struct gateway_recent_way ways[GATEWAY_RECENT];
};

/* As gateway_hosts_learn(); what it was told a moment ago it is not told again. */
void gateway_recent_learn(
	struct gateway_recent *recent, struct gateway_hosts *hosts, const struct gateway_host *host, uint64_t now_ns);
/* As gateway_hosts_find(), or where the host was a moment ago. */
bool gateway_recent_find(struct gateway_recent *recent, const struct gateway_hosts *hosts, const struct wire_addr *addr,
	uint64_t now_ns, struct gateway_host *host);
/* Of an address; if it is not known, the caller fills it in. */
struct gateway_recent_way *gateway_recent_way(struct gateway_recent *recent, const struct wire_addr *dst);
/* Hosts are behind others now. */
void gateway_recent_forget_ways(struct gateway_recent *recent);

#endif
