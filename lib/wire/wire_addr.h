/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks of IP addresses: IPv4 as ::ffff:a.b.c.d, so one rule serves both versions. */
#ifndef WIRE_ADDR_H
#define WIRE_ADDR_H

#include <stdbool.h>
#include <string.h>

#include "wire_frame.h"

#define WIRE_ADDR_BITS    128u
#define WIRE_ADDR_V4_BITS 96u  /* of the 128 that all IPv4 addresses have in common */

static inline bool wire_addr_is_v4(const struct wire_addr *addr)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(addr->b, mapped, sizeof(mapped)) == 0;
}

/* An IPv4 address as it stands on the wire. */
static inline void wire_addr_from_v4(struct wire_addr *addr, const uint8_t *ip)
{
	memset(addr->b, 0, 10);
	memset(addr->b + 10, 0xff, 2);
	memcpy(addr->b + 12, ip, 4);
}

/* A prefix length as people write it, 24 of "10.0.0.0/24", in bits of addr. */
static inline uint32_t wire_addr_prefix(const struct wire_addr *addr, uint32_t len)
{
	return len + (wire_addr_is_v4(addr) ? WIRE_ADDR_V4_BITS : 0);
}

#define WIRE_ADDR_TEXT_BYTES 46u /* what wire_addr_print() needs at most */

/* An address as people write it: "10.0.0.1" or "fd00::1". False: text is none; "::ffff:10.0.0.1" is not taken, for one
 * address should have one text. */
bool wire_addr_read(const char *text, struct wire_addr *addr);
/* The reverse, into text of WIRE_ADDR_TEXT_BYTES; returns text. */
const char *wire_addr_print(const struct wire_addr *addr, char *text);

/* Whether two addresses have the first `bits` in common: are in one network; those after them: are the same host of
 * theirs. bits is WIRE_ADDR_BITS at most. */
bool wire_addr_same_network(const struct wire_addr *a, const struct wire_addr *b, uint32_t bits);
bool wire_addr_same_host(const struct wire_addr *a, const struct wire_addr *b, uint32_t bits);

/* The host of addr in the network that the first `bits` of network say. */
struct wire_addr wire_addr_move(const struct wire_addr *addr, const struct wire_addr *network, uint32_t bits);

#endif
