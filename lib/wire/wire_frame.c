/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_frame.h"

#include <string.h>

#include "wire_addr.h"
#include "wire_codec.h"
#include "wire_icrc.h"
#include "wire_pause.h"

#define ETHERTYPE_IP4  0x0800
#define ETHERTYPE_ARP  0x0806
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_IP6  0x86dd
#define PROTO_ICMP4    1
#define PROTO_UDP      17
#define PROTO_ICMP6    58
#define GRH_NEXT_BTH   0x1b
#define IP4_FRAG_MASK  0x3fff /* more-fragments and offset; DF may be set */

void wire_parse_ext(const uint8_t *p, struct wire_pkt *pkt)
{
	parse_ext(p, pkt);
}

/* BTH, extended headers, payload, pad and ICRC fill the bytes from bth_off to end (IBTA 9.3, 9.7.6). */
static enum base_drop parse_transport(const uint8_t *frame, size_t end, struct wire_pkt *pkt)
{
	size_t bytes = end - pkt->bth_off;
	const struct wire_opinfo *info;

	if (bytes < BTH_BYTES + WIRE_ICRC_BYTES)
		return BASE_DROP_BTH_LENGTH;
	parse_bth(frame + pkt->bth_off, pkt);
	pkt->frame_bytes = (uint16_t)end;
	info = wire_opinfo(pkt->opcode);
	if (!info->name)
		return BASE_DROP_OPCODE;
	if (pkt->tver)
		return BASE_DROP_TVER;
	if (bytes < (size_t)info->hdr_bytes + pkt->pad + WIRE_ICRC_BYTES)
		return BASE_DROP_BTH_LENGTH;
	pkt->hdrs = info->hdrs;
	parse_ext(frame + pkt->bth_off + BTH_BYTES, pkt);
	pkt->payload_off = (uint16_t)(pkt->bth_off + info->hdr_bytes);
	pkt->payload_bytes = (uint16_t)(bytes - info->hdr_bytes - pkt->pad - WIRE_ICRC_BYTES);
	return BASE_DROP_NONE;
}

/* l4 ends at byte `end` of the frame, as the IP header says. */
static enum base_drop parse_udp(const uint8_t *frame, size_t end, struct wire_pkt *pkt)
{
	size_t udp_bytes;
	uint64_t udp;

	if (end - pkt->l4_off < UDP_BYTES)
		return BASE_DROP_IP_LENGTH;
	udp = get64(frame + pkt->l4_off);
	if ((uint16_t)(udp >> 32) != WIRE_ROCE_PORT) {
		pkt->kind = WIRE_KIND_OTHER;
		return BASE_DROP_NOT_ROCE;
	}
	pkt->kind = WIRE_KIND_ROCE_V2;
	pkt->udp_sport = (uint16_t)(udp >> 48);
	pkt->udp_csum = (uint16_t)udp;
	udp_bytes = udp >> 16 & 0xffff;
	if (udp_bytes < UDP_BYTES || pkt->l4_off + udp_bytes != end)
		return BASE_DROP_IP_LENGTH;
	pkt->bth_off = (uint16_t)(pkt->l4_off + UDP_BYTES);
	return parse_transport(frame, end, pkt);
}

static enum base_drop parse_l4(const uint8_t *frame, size_t end, uint8_t proto, struct wire_pkt *pkt)
{
	pkt->frame_bytes = (uint16_t)end;
	if (proto == PROTO_UDP)
		return parse_udp(frame, end, pkt);
	pkt->kind = WIRE_KIND_OTHER;
	if (proto == PROTO_ICMP4 && pkt->l3_version == 4)
		pkt->kind = WIRE_KIND_ICMP4;
	if (proto == PROTO_ICMP6 && pkt->l3_version == 6)
		pkt->kind = WIRE_KIND_ICMP6;
	return pkt->kind == WIRE_KIND_OTHER ? BASE_DROP_NOT_ROCE : BASE_DROP_NONE;
}

static enum base_drop parse_ip4(const uint8_t *frame, size_t n, struct wire_pkt *pkt)
{
	const uint8_t *ip = frame + pkt->l3_off;
	uint64_t word;
	size_t total;

	pkt->kind = WIRE_KIND_OTHER;
	pkt->l3_version = 4;
	if (n < (size_t)pkt->l3_off + IP4_BYTES)
		return BASE_DROP_TRUNCATED;
	word = get64(ip);
	pkt->tos = (uint8_t)(word >> 48);
	pkt->ip_id = (uint16_t)(word >> 16);
	pkt->ip_frag = (uint16_t)word;
	pkt->ttl = ip[8];
	if (word >> 56 != 0x45 || (pkt->ip_frag & IP4_FRAG_MASK) || ip4_sum(ip) != 0xffff)
		return BASE_DROP_IP_HEADER;
	total = word >> 32 & 0xffff;
	if (total < IP4_BYTES)
		return BASE_DROP_IP_LENGTH;
	if (pkt->l3_off + total > n)
		return BASE_DROP_TRUNCATED;
	pkt->l4_off = (uint16_t)(pkt->l3_off + IP4_BYTES);
	return parse_l4(frame, pkt->l3_off + total, ip[9], pkt);
}

/* RFC 6890, table 20: never on the wire; wire_src() and wire_dst() mean IPv4 by it. */
static bool is_ip4_mapped(const uint8_t *ip6)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(ip6, prefix, sizeof(prefix));
}

static enum base_drop parse_ip6(const uint8_t *frame, size_t n, struct wire_pkt *pkt)
{
	const uint8_t *ip = frame + pkt->l3_off;
	size_t total;

	pkt->kind = WIRE_KIND_OTHER;
	pkt->l3_version = 6;
	if (n < (size_t)pkt->l3_off + IP6_BYTES)
		return BASE_DROP_TRUNCATED;
	if (ip[0] >> 4 != 6)
		return BASE_DROP_IP_HEADER;
	pkt->tos = (uint8_t)(get16(ip) >> 4);
	pkt->flow_label = get24(ip + 1) & 0xfffff;
	pkt->ttl = ip[7];
	if (is_ip4_mapped(ip + 8) || is_ip4_mapped(ip + 24))
		return BASE_DROP_IP_HEADER;
	total = (size_t)IP6_BYTES + get16(ip + 4);
	if (pkt->l3_off + total > n)
		return BASE_DROP_TRUNCATED;
	pkt->l4_off = (uint16_t)(pkt->l3_off + IP6_BYTES);
	return parse_l4(frame, pkt->l3_off + total, ip[6], pkt);
}

static enum base_drop parse_v1(const uint8_t *frame, size_t n, struct wire_pkt *pkt)
{
	const uint8_t *grh = frame + pkt->l3_off;
	size_t total;

	pkt->kind = WIRE_KIND_ROCE_V1;
	pkt->l3_version = 6;
	if (n < (size_t)pkt->l3_off + IP6_BYTES)
		return BASE_DROP_TRUNCATED;
	if (grh[0] >> 4 != 6 || grh[6] != GRH_NEXT_BTH)
		return BASE_DROP_IP_HEADER;
	pkt->tos = (uint8_t)(get16(grh) >> 4);
	pkt->flow_label = get24(grh + 1) & 0xfffff;
	pkt->ttl = grh[7];
	total = (size_t)IP6_BYTES + get16(grh + 4);
	if (pkt->l3_off + total > n)
		return BASE_DROP_TRUNCATED;
	pkt->l4_off = (uint16_t)(pkt->l3_off + IP6_BYTES);
	pkt->bth_off = pkt->l4_off;
	return parse_transport(frame, pkt->l3_off + total, pkt);
}

enum base_drop wire_parse(const uint8_t *frame, size_t n, struct wire_pkt *pkt)
{
	uint16_t type;

	memset(pkt, 0, sizeof(*pkt));
	if (n < ETH_BYTES || n > UINT16_MAX)
		return BASE_DROP_TRUNCATED;
	pkt->l3_off = ETH_BYTES;
	pkt->frame_bytes = (uint16_t)n;
	pkt->kind = WIRE_KIND_OTHER;
	type = get16(frame + 12);
	if (type == ETHERTYPE_VLAN) {
		if (n < ETH_BYTES + VLAN_BYTES)
			return BASE_DROP_TRUNCATED;
		pkt->has_vlan = 1;
		pkt->vlan_tci = get16(frame + 14);
		pkt->l3_off = ETH_BYTES + VLAN_BYTES;
		type = get16(frame + 16);
	}
	switch (type) {
	case ETHERTYPE_IP4:
		return parse_ip4(frame, n, pkt);
	case ETHERTYPE_IP6:
		return parse_ip6(frame, n, pkt);
	case WIRE_ETHERTYPE_ROCE_V1:
		return parse_v1(frame, n, pkt);
	case ETHERTYPE_ARP:
		pkt->kind = WIRE_KIND_ARP;
		return BASE_DROP_NONE;
	case WIRE_ETHERTYPE_CONTROL:
		pkt->kind = WIRE_KIND_PFC;
		return BASE_DROP_NONE;
	default:
		return BASE_DROP_NOT_ROCE;
	}
}

bool wire_icrc_ok(const uint8_t *frame, const struct wire_pkt *pkt)
{
	size_t bytes = (size_t)pkt->frame_bytes - pkt->l3_off - WIRE_ICRC_BYTES;
	uint32_t crc;

	/* A packet dropped before its BTH was whole has no ICRC. */
	if (!pkt->bth_off || pkt->frame_bytes < pkt->bth_off + BTH_BYTES + WIRE_ICRC_BYTES)
		return false;
	crc = pkt->kind == WIRE_KIND_ROCE_V1 ? wire_icrc_v1(frame + pkt->l3_off, bytes)
					     : wire_icrc(frame + pkt->l3_off, bytes);
	return crc == wire_icrc_load(frame + pkt->frame_bytes - WIRE_ICRC_BYTES);
}

void wire_src(const uint8_t *frame, const struct wire_pkt *pkt, struct wire_addr *src)
{
	if (pkt->l3_version == 4)
		wire_addr_from_v4(src, frame + pkt->l3_off + 12);
	else
		memcpy(src->b, frame + pkt->l3_off + 8, 16);
}

void wire_dst(const uint8_t *frame, const struct wire_pkt *pkt, struct wire_addr *dst)
{
	if (pkt->l3_version == 4)
		wire_addr_from_v4(dst, frame + pkt->l3_off + 16);
	else
		memcpy(dst->b, frame + pkt->l3_off + 24, 16);
}

size_t wire_hdr_bytes(const struct wire_pkt *pkt)
{
	return (size_t)ETH_BYTES + (pkt->has_vlan ? VLAN_BYTES : 0) +
	       (pkt->l3_version == 4 ? IP4_BYTES : IP6_BYTES) + UDP_BYTES +
	       wire_opinfo(pkt->opcode)->hdr_bytes;
}

static uint8_t *write_eth(uint8_t *out, const struct wire_l2l3 *net, const struct wire_pkt *pkt)
{
	memcpy(out, net->dmac, 6);
	memcpy(out + 6, net->smac, 6);
	out += 12;
	if (pkt->has_vlan) {
		put16(out, ETHERTYPE_VLAN);
		put16(out + 2, net->vlan_tci);
		out += VLAN_BYTES;
	}
	put16(out, pkt->l3_version == 4 ? ETHERTYPE_IP4 : ETHERTYPE_IP6);
	return out + 2;
}

static uint8_t *write_ip4(uint8_t *ip, const struct wire_l2l3 *net, const struct wire_pkt *pkt,
	size_t l4_bytes)
{
	uint16_t csum;

	ip[0] = 0x45;
	ip[1] = pkt->tos;
	put16(ip + 2, (uint32_t)(IP4_BYTES + l4_bytes));
	put16(ip + 4, pkt->ip_id);
	put16(ip + 6, pkt->ip_frag);
	ip[8] = pkt->ttl;
	ip[9] = PROTO_UDP;
	put16(ip + 10, 0);
	memcpy(ip + 12, net->src.b + 12, 4);
	memcpy(ip + 16, net->dst.b + 12, 4);
	csum = (uint16_t)~ip4_sum(ip);
	memcpy(ip + 10, &csum, sizeof(csum));
	return ip + IP4_BYTES;
}

static uint8_t *write_ip6(uint8_t *ip, const struct wire_l2l3 *net, const struct wire_pkt *pkt,
	size_t l4_bytes)
{
	put32(ip, 6u << 28 | (uint32_t)pkt->tos << 20 | (pkt->flow_label & 0xfffff));
	put16(ip + 4, (uint32_t)l4_bytes);
	ip[6] = PROTO_UDP;
	ip[7] = pkt->ttl;
	memcpy(ip + 8, net->src.b, 16);
	memcpy(ip + 24, net->dst.b, 16);
	return ip + IP6_BYTES;
}

void wire_write_ext(uint8_t *p, uint8_t opcode, const struct wire_pkt *pkt)
{
	write_ext(p, wire_opinfo(opcode)->hdrs, pkt);
}

void wire_write(uint8_t *out, const struct wire_l2l3 *net, struct wire_pkt *pkt)
{
	const struct wire_opinfo *info = wire_opinfo(pkt->opcode);
	size_t l4_bytes = (size_t)UDP_BYTES + info->hdr_bytes + pkt->payload_bytes + pkt->pad +
			  WIRE_ICRC_BYTES;
	uint8_t *p = write_eth(out, net, pkt);

	pkt->kind = WIRE_KIND_ROCE_V2;
	pkt->hdrs = info->hdrs;
	pkt->vlan_tci = net->vlan_tci;
	pkt->l3_off = (uint16_t)(p - out);
	if (pkt->l3_version == 4)
		p = write_ip4(p, net, pkt, l4_bytes);
	else
		p = write_ip6(p, net, pkt, l4_bytes);
	pkt->l4_off = (uint16_t)(p - out);
	put16(p, pkt->udp_sport);
	put16(p + 2, WIRE_ROCE_PORT);
	put16(p + 4, (uint32_t)l4_bytes);
	put16(p + 6, pkt->udp_csum);
	p += UDP_BYTES;
	pkt->bth_off = (uint16_t)(p - out);
	write_bth(p, pkt);
	write_ext(p + BTH_BYTES, pkt->hdrs, pkt);
	pkt->payload_off = (uint16_t)(pkt->bth_off + info->hdr_bytes);
	pkt->frame_bytes = (uint16_t)(pkt->l4_off + l4_bytes);
}

void wire_seal(uint8_t *frame, const struct wire_pkt *pkt)
{
	uint8_t *end = frame + pkt->frame_bytes - WIRE_ICRC_BYTES;

	memset(end - pkt->pad, 0, pkt->pad);
	wire_icrc_store(end, wire_icrc(frame + pkt->l3_off, (size_t)(end - (frame + pkt->l3_off))));
}
