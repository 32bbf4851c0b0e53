/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_arp_nd.h"

#include <string.h>

#include "wire_bytes.h"

#define ETH_MIN_BYTES   60
#define ARP_BYTES       28
#define ICMP_HDR_BYTES  8
#define ND_BYTES        24 /* solicitation or advertisement without options */
#define ND_OPT_BYTES    8  /* link-layer address option of Ethernet */
#define ETHERTYPE_IP6   0x86dd
#define ETHERTYPE_ARP   0x0806
#define ETHERTYPE_VLAN  0x8100
#define PROTO_ICMP6     58
#define ARP_OP_REQUEST  1
#define ARP_OP_REPLY    2
#define ICMP4_ECHO      8
#define ICMP4_REPLY     0
#define ICMP6_ECHO      128
#define ICMP6_REPLY     129
#define ICMP6_SOLICIT   135
#define ICMP6_ADVERT    136
#define ND_OPT_SOURCE   1
#define ND_OPT_TARGET   2
#define ND_HOP_LIMIT    255
#define MAC_GROUP       0x01 /* of the first byte */
#define IP4_GROUPS      224  /* first byte of the first multicast address; above lies no unicast one */
#define NA_ROUTER       0x80
#define NA_SOLICITED    0x40
#define NA_OVERRIDE     0x20

static const uint8_t mac_broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const struct wire_addr all_nodes = {{0xff, 0x02, [15] = 1}};

static bool is_unspecified(const struct wire_addr *addr)
{
	static const struct wire_addr zero;

	return !memcmp(addr, &zero, sizeof(zero));
}

/* Multicast or broadcast: never the source of a packet (RFC 1122, 3.2.1.3; RFC 4291, 2.7). */
static bool is_group(const struct wire_addr *addr)
{
	return wire_addr_is_v4(addr) ? addr->b[12] >= IP4_GROUPS : addr->b[0] == 0xff;
}

/* Nobody can be answered there. */
static bool is_nobody(const struct wire_addr *addr)
{
	static const uint8_t any4[4];

	return is_unspecified(addr) || (wire_addr_is_v4(addr) && !memcmp(addr->b + 12, any4, sizeof(any4)));
}

uint32_t wire_csum_add(uint32_t sum, const void *data, size_t n)
{
	const uint8_t *p = data;
	uint64_t total = sum;

	for (; n > 1; n -= 2, p += 2)
		total += get16(p);
	if (n)
		total += (uint32_t)p[0] << 8;
	total = (total & 0xffffffff) + (total >> 32);
	return (uint32_t)((total & 0xffff) + (total >> 16 & 0xffff));
}

uint16_t wire_csum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Checksum of ICMPv6 with its pseudo header (RFC 8200, 8.1): 0 over a packet that is right. */
static uint16_t icmp6_csum(const uint8_t *ip, const uint8_t *icmp, size_t n)
{
	uint32_t sum = wire_csum_add((uint32_t)n + PROTO_ICMP6, ip + 8, 32);

	return wire_csum_fold(wire_csum_add(sum, icmp, n));
}

bool wire_mcast_mac(const struct wire_addr *addr, uint8_t mac[6])
{
	if (wire_addr_is_v4(addr)) {
		if (!memcmp(addr->b + 12, mac_broadcast, 4)) {
			memcpy(mac, mac_broadcast, 6);
			return true;
		}
		if ((addr->b[12] & 0xf0) != 0xe0)
			return false;
		/* RFC 1112, 6.4 */
		mac[0] = 0x01;
		mac[1] = 0x00;
		mac[2] = 0x5e;
		mac[3] = addr->b[13] & 0x7f;
		memcpy(mac + 4, addr->b + 14, 2);
		return true;
	}
	if (addr->b[0] != 0xff)
		return false;
	/* RFC 2464, 7 */
	memset(mac, 0x33, 2);
	memcpy(mac + 2, addr->b + 12, 4);
	return true;
}

/* Sender and target are mapped even when the sender is 0.0.0.0, a probe of RFC 5227. */
static enum base_drop parse_arp(const uint8_t *arp, size_t n, struct wire_nd_msg *msg)
{
	static const uint8_t eth_ip4[6] = {0x00, 0x01, 0x08, 0x00, 6, 4};
	uint16_t op;

	if (n < ARP_BYTES)
		return BASE_DROP_TRUNCATED;
	op = get16(arp + 6);
	if (memcmp(arp, eth_ip4, sizeof(eth_ip4)) || (op != ARP_OP_REQUEST && op != ARP_OP_REPLY))
		return BASE_DROP_NOT_ROCE;
	/* RFC 1812, 3.3.2: no host has a group as its link address. */
	if ((arp[8] & MAC_GROUP) != 0)
		return BASE_DROP_IP_HEADER;
	msg->kind = op == ARP_OP_REQUEST ? WIRE_ND_ARP_REQUEST : WIRE_ND_ARP_REPLY;
	msg->has_lladdr = 1;
	msg->override = 1;
	msg->solicited = op == ARP_OP_REPLY;
	memcpy(msg->lladdr, arp + 8, 6);
	wire_addr_from_v4(&msg->src, arp + 14);
	wire_addr_from_v4(&msg->dst, arp + 24);
	msg->target = op == ARP_OP_REQUEST ? msg->dst : msg->src;
	return BASE_DROP_NONE;
}

static enum base_drop parse_icmp4(
	const uint8_t *icmp, size_t n, const struct wire_pkt *pkt, struct wire_nd_msg *msg)
{
	(void)pkt;
	if (n < ICMP_HDR_BYTES)
		return BASE_DROP_IP_LENGTH;
	if (wire_csum_fold(wire_csum_add(0, icmp, n)))
		return BASE_DROP_IP_HEADER;
	if (icmp[1] || (icmp[0] != ICMP4_ECHO && icmp[0] != ICMP4_REPLY))
		return BASE_DROP_NOT_ROCE;
	if (is_nobody(&msg->src))
		return BASE_DROP_IP_HEADER;
	msg->kind = icmp[0] == ICMP4_ECHO ? WIRE_ND_ECHO4 : WIRE_ND_ECHO4_REPLY;
	return BASE_DROP_NONE;
}

/* Options follow byte ND_BYTES; a zero length makes the whole packet invalid (RFC 4861, 4.6). */
static enum base_drop parse_nd_options(const uint8_t *icmp, size_t n, struct wire_nd_msg *msg)
{
	uint8_t wanted = msg->kind == WIRE_ND_SOLICIT ? ND_OPT_SOURCE : ND_OPT_TARGET;
	size_t off = ND_BYTES;
	size_t bytes;

	while (off < n) {
		if (n - off < 2)
			return BASE_DROP_IP_LENGTH;
		bytes = (size_t)icmp[off + 1] * 8;
		if (!bytes || bytes > n - off)
			return BASE_DROP_IP_LENGTH;
		if (icmp[off] == wanted && bytes == ND_OPT_BYTES) {
			if ((icmp[off + 2] & MAC_GROUP) != 0)
				return BASE_DROP_IP_HEADER;
			memcpy(msg->lladdr, icmp + off + 2, 6);
			msg->has_lladdr = 1;
		}
		off += bytes;
	}
	return BASE_DROP_NONE;
}

/* RFC 4861, 7.1.1 and 7.1.2. */
static enum base_drop parse_nd(
	const uint8_t *icmp, size_t n, const struct wire_pkt *pkt, struct wire_nd_msg *msg)
{
	enum base_drop drop;

	if (n < ND_BYTES)
		return BASE_DROP_IP_LENGTH;
	if (pkt->ttl != ND_HOP_LIMIT || icmp[1])
		return BASE_DROP_IP_HEADER;
	memcpy(msg->target.b, icmp + 8, 16);
	if (msg->target.b[0] == 0xff)
		return BASE_DROP_IP_HEADER;
	if (icmp[0] == ICMP6_SOLICIT) {
		msg->kind = WIRE_ND_SOLICIT;
	} else {
		msg->kind = WIRE_ND_ADVERT;
		msg->router = (icmp[4] & NA_ROUTER) != 0;
		msg->solicited = (icmp[4] & NA_SOLICITED) != 0;
		msg->override = (icmp[4] & NA_OVERRIDE) != 0;
	}
	drop = parse_nd_options(icmp, n, msg);
	if (drop != BASE_DROP_NONE)
		return drop;
	if (msg->kind == WIRE_ND_SOLICIT && is_unspecified(&msg->src) &&
		(msg->has_lladdr || msg->dst.b[0] != 0xff))
		return BASE_DROP_IP_HEADER;
	if (msg->kind == WIRE_ND_ADVERT && msg->solicited && msg->dst.b[0] == 0xff)
		return BASE_DROP_IP_HEADER;
	return BASE_DROP_NONE;
}

static enum base_drop parse_icmp6(const uint8_t *ip, const uint8_t *icmp, size_t n,
	const struct wire_pkt *pkt, struct wire_nd_msg *msg)
{
	if (n < ICMP_HDR_BYTES)
		return BASE_DROP_IP_LENGTH;
	if (icmp6_csum(ip, icmp, n))
		return BASE_DROP_IP_HEADER;
	switch (icmp[0]) {
	case ICMP6_SOLICIT:
	case ICMP6_ADVERT:
		return parse_nd(icmp, n, pkt, msg);
	case ICMP6_ECHO:
	case ICMP6_REPLY:
		if (icmp[1])
			return BASE_DROP_NOT_ROCE;
		if (is_nobody(&msg->src))
			return BASE_DROP_IP_HEADER;
		msg->kind = icmp[0] == ICMP6_ECHO ? WIRE_ND_ECHO6 : WIRE_ND_ECHO6_REPLY;
		return BASE_DROP_NONE;
	default:
		return BASE_DROP_NOT_ROCE;
	}
}

static enum base_drop parse_body(
	const uint8_t *frame, size_t n, const struct wire_pkt *pkt, struct wire_nd_msg *msg)
{
	size_t l4_bytes;

	if (pkt->kind == WIRE_KIND_ARP)
		return parse_arp(frame + pkt->l3_off, n - pkt->l3_off, msg);
	if (pkt->kind != WIRE_KIND_ICMP4 && pkt->kind != WIRE_KIND_ICMP6)
		return BASE_DROP_NOT_ROCE;
	if (pkt->frame_bytes > n || pkt->frame_bytes < pkt->l4_off)
		return BASE_DROP_TRUNCATED;
	l4_bytes = (size_t)pkt->frame_bytes - pkt->l4_off;
	wire_src(frame, pkt, &msg->src);
	wire_dst(frame, pkt, &msg->dst);
	if (is_group(&msg->src))
		return BASE_DROP_IP_HEADER;
	if (pkt->kind == WIRE_KIND_ICMP4)
		return parse_icmp4(frame + pkt->l4_off, l4_bytes, pkt, msg);
	return parse_icmp6(frame + pkt->l3_off, frame + pkt->l4_off, l4_bytes, pkt, msg);
}

enum base_drop wire_nd_parse(
	const uint8_t *frame, size_t n, const struct wire_pkt *pkt, struct wire_nd_msg *msg)
{
	enum base_drop drop;

	memset(msg, 0, sizeof(*msg));
	if (n < pkt->l3_off || pkt->l3_off < ETH_BYTES)
		return BASE_DROP_TRUNCATED;
	memcpy(msg->eth_src, frame + 6, 6);
	msg->unicast = !(frame[0] & 1);
	msg->has_vlan = pkt->has_vlan;
	msg->vlan_tci = pkt->vlan_tci;
	drop = parse_body(frame, n, pkt, msg);
	if (drop != BASE_DROP_NONE)
		msg->kind = WIRE_ND_NONE;
	return drop;
}

static uint8_t *write_eth(
	uint8_t *out, const uint8_t *dmac, const struct wire_nd_from *from, uint16_t type)
{
	memcpy(out, dmac, 6);
	memcpy(out + 6, from->mac, 6);
	out += 12;
	if (from->has_vlan) {
		put16(out, ETHERTYPE_VLAN);
		put16(out + 2, from->vlan_tci);
		out += VLAN_BYTES;
	}
	put16(out, type);
	return out + 2;
}

/* target_mac NULL: unknown, zero in the packet. */
static size_t build_arp(uint8_t *out, const struct wire_nd_from *from, uint16_t op,
	const uint8_t *dmac, const uint8_t *target_mac, const uint8_t *target_ip)
{
	static const uint8_t fixed[6] = {0x00, 0x01, 0x08, 0x00, 6, 4};
	size_t frame_bytes = ETH_MIN_BYTES + (from->has_vlan ? VLAN_BYTES : 0);
	uint8_t *arp;

	memset(out, 0, frame_bytes);
	arp = write_eth(out, dmac, from, ETHERTYPE_ARP);
	memcpy(arp, fixed, sizeof(fixed));
	put16(arp + 6, op);
	memcpy(arp + 8, from->mac, 6);
	memcpy(arp + 14, from->addr.b + 12, 4);
	if (target_mac)
		memcpy(arp + 18, target_mac, 6);
	memcpy(arp + 24, target_ip, 4);
	return frame_bytes;
}

/* A solicitation or advertisement with our link address as its option; who has no address yet must not tell that (RFC 4861, 4.3). */
static size_t build_nd(uint8_t *out, const struct wire_nd_from *from, uint8_t type, uint8_t flags,
	const uint8_t *dmac, const struct wire_addr *dst, const struct wire_addr *target)
{
	bool with_option = type != ICMP6_SOLICIT || !is_unspecified(&from->addr);
	size_t icmp_bytes = ND_BYTES + (with_option ? ND_OPT_BYTES : 0);
	uint8_t *ip = write_eth(out, dmac, from, ETHERTYPE_IP6);
	uint8_t *icmp = ip + IP6_BYTES;

	memset(ip, 0, IP6_BYTES + icmp_bytes);
	ip[0] = 0x60;
	put16(ip + 4, (uint32_t)icmp_bytes);
	ip[6] = PROTO_ICMP6;
	ip[7] = ND_HOP_LIMIT;
	memcpy(ip + 8, from->addr.b, 16);
	memcpy(ip + 24, dst->b, 16);
	icmp[0] = type;
	icmp[4] = flags;
	memcpy(icmp + 8, target->b, 16);
	if (with_option) {
		icmp[ND_BYTES] = type == ICMP6_SOLICIT ? ND_OPT_SOURCE : ND_OPT_TARGET;
		icmp[ND_BYTES + 1] = 1;
		memcpy(icmp + ND_BYTES + 2, from->mac, 6);
	}
	put16(icmp + 2, icmp6_csum(ip, icmp, icmp_bytes));
	return (size_t)(icmp + icmp_bytes - out);
}

size_t wire_nd_build_request(uint8_t *out, const struct wire_nd_from *from,
	const struct wire_addr *target, const uint8_t *dmac)
{
	struct wire_addr group = {{0xff, 0x02, [11] = 1, [12] = 0xff}};
	uint8_t group_mac[6];

	if (wire_addr_is_v4(target))
		return build_arp(out, from, ARP_OP_REQUEST, dmac ? dmac : mac_broadcast, NULL,
			target->b + 12);
	if (dmac)
		return build_nd(out, from, ICMP6_SOLICIT, 0, dmac, target, target);
	memcpy(group.b + 13, target->b + 13, 3);
	wire_mcast_mac(&group, group_mac);
	return build_nd(out, from, ICMP6_SOLICIT, 0, group_mac, &group, target);
}

size_t wire_nd_build_reply(
	uint8_t *out, const struct wire_nd_from *from, const struct wire_nd_msg *msg)
{
	uint8_t dmac[6];

	if (msg->kind == WIRE_ND_ARP_REQUEST)
		return build_arp(out, from, ARP_OP_REPLY, msg->lladdr, msg->lladdr, msg->src.b + 12);
	if (is_unspecified(&msg->src)) {
		wire_mcast_mac(&all_nodes, dmac);
		return build_nd(
			out, from, ICMP6_ADVERT, NA_OVERRIDE, dmac, &all_nodes, &from->addr);
	}
	memcpy(dmac, msg->has_lladdr ? msg->lladdr : msg->eth_src, 6);
	return build_nd(out, from, ICMP6_ADVERT, NA_SOLICITED | NA_OVERRIDE, dmac, &msg->src,
		&from->addr);
}

size_t wire_nd_build_announce(uint8_t *out, const struct wire_nd_from *from)
{
	uint8_t dmac[6];

	if (wire_addr_is_v4(&from->addr))
		return build_arp(out, from, ARP_OP_REQUEST, mac_broadcast, NULL, from->addr.b + 12);
	wire_mcast_mac(&all_nodes, dmac);
	return build_nd(out, from, ICMP6_ADVERT, NA_OVERRIDE, dmac, &all_nodes, &from->addr);
}

static void echo4_reply(uint8_t *ip, uint8_t *icmp, size_t n, const struct wire_addr *from)
{
	memcpy(ip + 16, ip + 12, 4);
	memcpy(ip + 12, from->b + 12, 4);
	ip[8] = 64;
	put16(ip + 10, 0);
	put16(ip + 10, wire_csum_fold(wire_csum_add(0, ip, IP4_BYTES)));
	icmp[0] = ICMP4_REPLY;
	put16(icmp + 2, 0);
	put16(icmp + 2, wire_csum_fold(wire_csum_add(0, icmp, n)));
}

static void echo6_reply(uint8_t *ip, uint8_t *icmp, size_t n, const struct wire_addr *from)
{
	memcpy(ip + 24, ip + 8, 16);
	memcpy(ip + 8, from->b, 16);
	ip[7] = 64;
	icmp[0] = ICMP6_REPLY;
	put16(icmp + 2, 0);
	put16(icmp + 2, icmp6_csum(ip, icmp, n));
}

void wire_nd_echo_reply(uint8_t *frame, const struct wire_pkt *pkt, const struct wire_nd_msg *msg,
	const struct wire_nd_from *from)
{
	size_t n = (size_t)pkt->frame_bytes - pkt->l4_off;
	uint8_t group_mac[6];
	const struct wire_addr *src = wire_mcast_mac(&msg->dst, group_mac) ? &from->addr : &msg->dst;

	memcpy(frame, msg->eth_src, 6);
	memcpy(frame + 6, from->mac, 6);
	if (msg->kind == WIRE_ND_ECHO4)
		echo4_reply(frame + pkt->l3_off, frame + pkt->l4_off, n, src);
	else
		echo6_reply(frame + pkt->l3_off, frame + pkt->l4_off, n, src);
}
