/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * At which port a link address was seen last (IEEE 802.1Q, 8.7). A table of fixed size: among addresses that fall
 * into one set, the one that was not seen for longest goes, and is learnt again when it sends. Pure.
 */
#ifndef RF_MACS_H
#define RF_MACS_H

#include <stdint.h>

#include "rf_frame.h"

#define RF_MACS_SETS   1024u
#define RF_MACS_WAYS   4u
#define RF_MACS_AGE_NS 300000000000u /* IEEE 802.1Q, table 8-8 */
#define RF_NO_PORT     UINT32_MAX

struct rf_mac {
	uint64_t key;            /* the address; 0: free */
	uint64_t seen_ns;
	uint32_t port;
};

struct rf_macs {
	uint64_t seed;           /* where an address falls is not for senders to choose */
	struct rf_mac sets[RF_MACS_SETS][RF_MACS_WAYS];
};

/* A group address is nobody's, nor is 0; those are not learnt. */
void rf_macs_learn(struct rf_macs *macs, const uint8_t mac[RF_MAC_BYTES], uint32_t port, uint64_t now_ns);

/* The port of an address; RF_NO_PORT: not known, or for many. */
uint32_t rf_macs_find(const struct rf_macs *macs, const uint8_t mac[RF_MAC_BYTES], uint64_t now_ns);

#endif
