/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a port says for its own addresses beside RoCE: ARP (RFC 826), ICMP echo (RFC 792), ICMPv6 echo
 * (RFC 4443) and neighbour discovery (RFC 4861). Pure functions on byte buffers: a parser that fills one
 * struct, and builders that write whole frames. Who answers what is the caller's business.
 */
#ifndef WIRE_ARP_ND_H
#define WIRE_ARP_ND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire_addr.h"
#include "wire_frame.h"

/* Longest frame a wire_nd_build_... function writes: Ethernet + VLAN + IPv6 + 32, or ARP padded to 60 + VLAN. */
#define WIRE_ND_FRAME_MAX 96

enum wire_nd_kind {
	WIRE_ND_NONE,
	WIRE_ND_ARP_REQUEST,
	WIRE_ND_ARP_REPLY,
	WIRE_ND_SOLICIT,     /* ICMPv6 neighbour solicitation */
	WIRE_ND_ADVERT,      /* ICMPv6 neighbour advertisement */
	WIRE_ND_ECHO4,       /* ICMP echo request */
	WIRE_ND_ECHO6,       /* ICMPv6 echo request */
	WIRE_ND_ECHO4_REPLY,
	WIRE_ND_ECHO6_REPLY,
};

/* A parsed packet. For ARP, src/dst are the sender and target protocol addresses; for the others, those
 * of the IP header. */
struct wire_nd_msg {
	uint8_t kind;        /* enum wire_nd_kind */
	uint8_t has_lladdr;  /* lladdr is valid: ARP sender, ND source/target link-layer option */
	uint8_t has_vlan;
	uint8_t override;    /* NA flag O; true for ARP */
	uint8_t solicited;   /* NA flag S; true for an ARP reply */
	uint8_t router;      /* NA flag R */
	uint8_t unicast;     /* frame was sent to a unicast link address */
	uint8_t lladdr[6];
	uint8_t eth_src[6];
	uint16_t vlan_tci;
	struct wire_addr src;
	struct wire_addr dst;
	struct wire_addr target; /* ND target; ARP: the target protocol address of a request, the sender's of a reply */
};

/* Parses a frame that wire_parse() called WIRE_KIND_ARP, _ICMP4 or _ICMP6 (pkt is its result). Checks
 * lengths, checksums, and for ND what RFC 4861, 7.1 asks: hop limit 255, code 0, option lengths, target
 * not multicast, no source option from an unspecified address. A group is refused as a source and as a link
 * address, the unspecified address as the source of an echo. Returns BASE_DROP_NONE; BASE_DROP_NOT_ROCE
 * for ICMP types not in enum wire_nd_kind; BASE_DROP_TRUNCATED, _IP_HEADER or _IP_LENGTH when malformed. */
enum base_drop wire_nd_parse(
	const uint8_t *frame, size_t n, const struct wire_pkt *pkt, struct wire_nd_msg *msg);

/* Who sends, on which VLAN; common to all builders. */
struct wire_nd_from {
	uint8_t mac[6];
	bool has_vlan;
	uint16_t vlan_tci;
	struct wire_addr addr; /* of ours: IPv4 as ::ffff: or IPv6 */
};

/* Each writes a frame at out, which has WIRE_ND_FRAME_MAX bytes, and returns its length (ARP padded to
 * 60 bytes + VLAN tag). dmac NULL means broadcast (ARP request) or the solicited-node group (solicit). */

/* Asks for the link address of target: an ARP request for an IPv4 target, else a neighbour solicitation. */
size_t wire_nd_build_request(uint8_t *out, const struct wire_nd_from *from,
	const struct wire_addr *target, const uint8_t *dmac);

/* Answers an ARP request or neighbour solicitation for from->addr, which the caller has found equal to
 * msg->target. Answers duplicate address detection (unspecified source) to all nodes. */
size_t wire_nd_build_reply(
	uint8_t *out, const struct wire_nd_from *from, const struct wire_nd_msg *msg);

/* Announces from->addr unasked: gratuitous ARP or unsolicited advertisement to all nodes. */
size_t wire_nd_build_announce(uint8_t *out, const struct wire_nd_from *from);

/* Turns the echo request in frame (parsed as WIRE_ND_ECHO4 or _ECHO6 into msg, pkt) into its reply in place, sent
 * from mac. The frame's length is unchanged. An echo to a group address gets from->addr as its source. */
void wire_nd_echo_reply(uint8_t *frame, const struct wire_pkt *pkt, const struct wire_nd_msg *msg,
	const struct wire_nd_from *from);

/* Internet checksum (RFC 1071) over n bytes, going on from the partial sum given; 0 to start with. Fold
 * with wire_csum_fold(), which also complements. */
uint32_t wire_csum_add(uint32_t sum, const void *data, size_t n);
uint16_t wire_csum_fold(uint32_t sum);

/* Link address of a multicast or broadcast IP address; false when addr is unicast. */
bool wire_mcast_mac(const struct wire_addr *addr, uint8_t mac[6]);

#endif
