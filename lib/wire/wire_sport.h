/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The UDP source port of a RoCE v2 packet, which switches hash and RoCE itself does not look at (IBTA vol. 1, annex A17). The ICRC
 * covers it, so whoever changes it on the way has to mend that. CRCs are linear: the ICRC changes by the CRC of the difference, moved
 * on by the bytes behind the port. So the payload is not read, and an ICRC that was wrong stays wrong. Pure.
 */
#ifndef WIRE_SPORT_H
#define WIRE_SPORT_H

#include "wire_frame.h"

/* By how much a CRC-32 (Ethernet's, as wire_icrc_load() reads it) differs when two bytes of what it is over differ: `change`
 * is the exclusive or of the two bytes before and after, the first one in the upper half; bytes: from behind the two to the end of
 * the CRC's own four. */
uint32_t wire_sport_crc(uint16_t change, uint16_t bytes);

/* Changes the source port of a RoCE v2 packet that wire_parse() took, in the frame and in pkt, and mends the ICRC and, where there is
 * one, the checksum of UDP (RFC 1624, eqn. 3). Either is as wrong as it was before. */
void wire_set_sport(uint8_t *frame, struct wire_pkt *pkt, uint16_t sport);

#endif
