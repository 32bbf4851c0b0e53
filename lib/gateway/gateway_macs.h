/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * At which port a link address was seen last (IEEE 802.1Q, 8.7). A table of fixed size: among addresses that fall
 * into one set, the one that was not seen for longest goes, and is learnt again when it sends. Pure.
 */
#ifndef GATEWAY_MACS_H
#define GATEWAY_MACS_H

#include <stdint.h>

#define GATEWAY_MAC_BYTES   6u
#define GATEWAY_MACS_SETS   1024u
#define GATEWAY_MACS_WAYS   4u
#define GATEWAY_MACS_AGE_NS 300000000000u /* IEEE 802.1Q, table 8-8 */
#define GATEWAY_NO_PORT     UINT32_MAX

struct gateway_mac {
	uint64_t key;            /* the address; 0: free */
	uint64_t seen_ns;
	uint32_t port;
};

struct gateway_macs {
	uint64_t seed;           /* where an address falls is not for senders to choose */
	struct gateway_mac sets[GATEWAY_MACS_SETS][GATEWAY_MACS_WAYS];
};

/* A group address is nobody's, nor is 0; those are not learnt. */
void gateway_macs_learn(
	struct gateway_macs *macs, const uint8_t mac[GATEWAY_MAC_BYTES], uint32_t port, uint64_t now_ns);

/* The port of an address; GATEWAY_NO_PORT: not known, or for many. */
uint32_t gateway_macs_find(const struct gateway_macs *macs, const uint8_t mac[GATEWAY_MAC_BYTES], uint64_t now_ns);

#endif
