/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMP errors that go to the sender of a packet. */
#ifndef WIRE_ICMP_H
#define WIRE_ICMP_H

#include "wire_frame.h"

#define WIRE_ICMP_FRAME_MAX (18u + 1280u) /* an error over IPv6 is no longer than its least MTU (RFC 4443, 2.4) */

/*
 * Writes to out, which has WIRE_ICMP_FRAME_MAX bytes, the answer to a frame that is too long for where it goes: "fragmentation needed"
 * (RFC 792, RFC 1191, section 4) or "packet too big" (RFC 4443, 3.2), with as much of the packet as may be. The frame has been parsed into
 * pkt; from is whose address the answer has, of the packet's family, mac the port's, mtu the longest packet that fits. Returns the
 * frame's length; 0: no answer may be sent, for the sender has no address of its own or the packet went to a group (RFC 1122, 3.2.2;
 * RFC 4443, 2.4).
 */
size_t wire_icmp_too_big(uint8_t *out, const uint8_t *frame, const struct wire_pkt *pkt, const struct wire_addr *from,
	const uint8_t mac[6], uint32_t mtu);

#endif
