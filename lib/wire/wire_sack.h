/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an RC_SACK (docs/wire.md) tells of one request packet. The first stands in the SACKETH and in the packet's UDP
 * source port; further ones follow as payload, WIRE_SACK_ECHO_BYTES each, as many as wire_pkt.sack_more says.
 */
#ifndef WIRE_SACK_H
#define WIRE_SACK_H

#include <stdint.h>

#include "wire_frame.h"

#define WIRE_SACK_ECHO_BYTES   8u
#define WIRE_SACK_MORE         7u      /* at most */
#define WIRE_SACK_WAIT_UNIT_NS 64u
#define WIRE_SACK_WAIT_MAX     0xffffu /* so long or longer */

struct wire_sack_echo {
	uint32_t echo;           /* as wire_pkt.sack_echo, without a block */
	uint16_t udp_sport;      /* of the packet that it is about */
	uint16_t wait;           /* as wire_pkt.sack_wait */
};

/* Lays out and reads one that follows; p has WIRE_SACK_ECHO_BYTES. */
void wire_sack_put(uint8_t *p, const struct wire_sack_echo *echo);
void wire_sack_get(const uint8_t *p, struct wire_sack_echo *echo);

/* The first one. */
static inline struct wire_sack_echo wire_sack_first(const struct wire_pkt *pkt)
{
	return (struct wire_sack_echo){.echo = pkt->sack_echo, .udp_sport = pkt->udp_sport, .wait = pkt->sack_wait};
}

/* Nanoseconds in units of the field. */
static inline uint16_t wire_sack_wait(uint64_t ns)
{
	ns /= WIRE_SACK_WAIT_UNIT_NS;
	return (uint16_t)(ns < WIRE_SACK_WAIT_MAX ? ns : WIRE_SACK_WAIT_MAX);
}

#endif
