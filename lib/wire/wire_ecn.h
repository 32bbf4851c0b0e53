/* SPDX-License-Identifier: BSD-3-Clause */
/* The congestion mark of an IP header (RFC 3168). Pure. */
#ifndef WIRE_ECN_H
#define WIRE_ECN_H

#include <stdbool.h>
#include <stdint.h>

#define WIRE_ECN_MASK 0x03 /* in the traffic class: not-ECT 0, ECT(1) 1, ECT(0) 2, CE 3 */

/* Whether a traffic class (DSCP and ECN) says that the packet may be marked (RFC 3168, 5). */
static inline bool wire_is_ect(uint8_t traffic_class)
{
	return (traffic_class & WIRE_ECN_MASK) != 0;
}

/* The traffic class of an IP header of version 4 or 6. */
static inline uint8_t wire_traffic_class(const uint8_t *ip, uint8_t version)
{
	return (uint8_t)(version == 6 ? ip[0] << 4 | ip[1] >> 4 : ip[1]);
}

/* Sets the ECN field of an IP header of version 4 or 6. IPv4's checksum follows (RFC 1624, eqn. 3): one that was wrong stays so. */
void wire_set_ecn(uint8_t *ip, uint8_t version, uint8_t ecn);

/* Marks it CE. */
static inline void wire_set_ce(uint8_t *ip, uint8_t version)
{
	wire_set_ecn(ip, version, WIRE_ECN_MASK);
}

#endif
