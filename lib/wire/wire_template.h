/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The headers that all packets of a connection share, made once: each packet is a copy with what differs put in. Gives the
 * same frames as wire_write(), for a third of its work.
 */
#ifndef WIRE_TEMPLATE_H
#define WIRE_TEMPLATE_H

#include <string.h>

#include "wire_frame.h"

#define WIRE_TEMPLATE_BYTES  80 /* Ethernet, VLAN, IPv6, UDP and BTH, rounded up */
#define WIRE_TEMPLATE_BYTES4 64 /* the same with IPv4 */
#define WIRE_TEMPLATE_PKT    48 /* the start of struct wire_pkt, with all that is the connection's but two fields */

/* Two cache lines, but for the end of IPv6's bytes. */
struct wire_template {
	uint8_t pkt[WIRE_TEMPLATE_PKT];
	uint32_t flow_label;
	uint32_t ip_sum;         /* IPv4: sum of the header but for DSCP, length, identification and checksum */
	uint32_t bth;            /* first word of the BTH, without opcode, solicited and pad */
	uint16_t ip_frag;
	uint8_t bytes[WIRE_TEMPLATE_BYTES];
};

/* pkt is as for wire_write(). */
void wire_template_make(struct wire_template *t, const struct wire_l2l3 *net, const struct wire_pkt *pkt);

/* What the private area of a packet begins as. */
static inline void wire_template_begin(const struct wire_template *t, struct wire_pkt *pkt)
{
	memcpy(pkt, t->pkt, sizeof(t->pkt));
	memset((uint8_t *)pkt + sizeof(t->pkt), 0, sizeof(*pkt) - sizeof(t->pkt));
	pkt->ip_frag = t->ip_frag;
	pkt->flow_label = t->flow_label;
}

/* wire_write() for a pkt that began so. Meanwhile have changed, at most: opcode, solicited,
 * pad, ack_req and psn of the BTH, extended headers, payload_bytes, tos, ip_id and udp_sport. WIRE_MAX_HDR_BYTES at out are
 * written to. */
void wire_template_write(const struct wire_template *t, uint8_t *out, struct wire_pkt *pkt);

#endif
