/* SPDX-License-Identifier: BSD-3-Clause */
/* Echo requests of our own (RFC 792, RFC 4443, 4.1); wire_arp_nd.h has the answers to those of others. */
#ifndef WIRE_ECHO_H
#define WIRE_ECHO_H

#include "wire_arp_nd.h"

#define WIRE_ECHO_LEAST 48u /* bytes of an IP packet that holds a request over either IP version */

/*
 * Writes an echo request from `from` to dst, of its family, at the link address dmac, to out, which has room for
 * ip_bytes and 18 more. The IP packet is ip_bytes long, WIRE_ECHO_LEAST to 65535, and must not be cut into fragments.
 * Returns the frame's length.
 */
size_t wire_echo_build(uint8_t *out, const struct wire_nd_from *from, const struct wire_addr *dst,
	const uint8_t dmac[6], uint16_t id, uint16_t seq, size_t ip_bytes);

/* Identifier and sequence number of a frame that wire_nd_parse() called an echo or its reply, and the length of its IP
 * packet. */
void wire_echo_read(const uint8_t *frame, const struct wire_pkt *pkt, uint16_t *id, uint16_t *seq, size_t *ip_bytes);

#endif
