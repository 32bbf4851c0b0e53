/* SPDX-License-Identifier: BSD-3-Clause */
/* MAC control frames that pause a sender: PAUSE (IEEE 802.3, 31B) and priority-based flow control (IEEE 802.1Q, 36). */
#ifndef WIRE_PAUSE_H
#define WIRE_PAUSE_H

#include <stddef.h>
#include <stdint.h>

#include "base_drop.h"

#define WIRE_PAUSE_PRIORITIES   8
#define WIRE_PAUSE_FRAME_BYTES  60  /* of either, without the FCS */
#define WIRE_PAUSE_QUANTUM_BITS 512 /* what a quantum lasts, in bit times of the link */
#define WIRE_ETHERTYPE_CONTROL  0x8808

enum wire_pause_kind {
	WIRE_PAUSE_LINK,       /* PAUSE: all priorities alike */
	WIRE_PAUSE_PRIORITY,   /* PFC */
	WIRE_PAUSE_UNKNOWN,    /* another MAC control opcode, which is to be ignored (IEEE 802.3, 31.3) */
};

struct wire_pause {
	enum wire_pause_kind kind;
	uint16_t opcode;
	uint8_t named;         /* bit p: quanta[p] counts, the others say nothing */
	uint16_t quanta[WIRE_PAUSE_PRIORITIES]; /* from now on; 0: goes on */
};

/* Parses what is behind the type 0x8808: n bytes from the opcode on. BASE_DROP_TRUNCATED: too short for what it says. */
enum base_drop wire_pause_parse(const uint8_t *control, size_t n, struct wire_pause *pause);

/* Writes a whole frame of kind WIRE_PAUSE_PRIORITY, from Ethernet header to padding. */
void wire_pause_write(uint8_t frame[WIRE_PAUSE_FRAME_BYTES], const uint8_t smac[6], uint8_t named,
	const uint16_t quanta[WIRE_PAUSE_PRIORITIES]);

/* What so many quanta last on a link of rate_bps, which is not 0. */
static inline uint64_t wire_pause_ns(uint16_t quanta, uint64_t rate_bps)
{
	return (uint64_t)quanta * WIRE_PAUSE_QUANTUM_BITS * 1000000000u / rate_bps;
}

#endif
