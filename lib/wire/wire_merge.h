/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several short messages in one packet: RC_MERGED (docs/wire.md). Each is what its own packet would be, with a head of
 * WIRE_MERGE_HEAD_BYTES in place of everything up to the BTH: opcode, flags, bytes of payload. Extended headers,
 * payload and zeros up to a multiple of four follow. The PSNs are one after another from that of the packet.
 */
#ifndef WIRE_MERGE_H
#define WIRE_MERGE_H

#include "wire_frame.h"

#define WIRE_MERGE_MOST       32u     /* messages in one packet */
#define WIRE_MERGE_HEAD_BYTES 4u

/* Whether messages of that opcode may be in one: SENDs and WRITEs that are whole. */
bool wire_merge_may(uint8_t opcode);
/* Bytes that a message of that opcode with so much payload takes: a multiple of four. */
uint32_t wire_merge_bytes(uint8_t opcode, uint32_t payload_bytes);
/* Lays one out: opcode, solicited, payload_bytes and the extended headers of `part`. Returns wire_merge_bytes() of it,
 * which p has. */
uint32_t wire_merge_put(uint8_t *p, const struct wire_pkt *part, const uint8_t *payload);

/* Whether a parsed RC_MERGED holds as many whole messages as it says, 2 to WIRE_MERGE_MOST, and nothing else. */
bool wire_merge_ok(const uint8_t *frame, const struct wire_pkt *pkt);
/* The first message of one that is, as if it had come in a packet of its own; and, in the same place, the one behind
 * it. */
void wire_merge_first(const uint8_t *frame, const struct wire_pkt *pkt, struct wire_pkt *part);
void wire_merge_next(const uint8_t *frame, struct wire_pkt *part);

#endif
