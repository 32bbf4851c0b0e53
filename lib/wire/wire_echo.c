/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_echo.h"

#include <string.h>

#include "wire_bytes.h"

#define MAC_BYTES      6
#define ICMP_HDR_BYTES 8u
#define TYPE_IP4       0x0800
#define TYPE_IP6       0x86dd
#define TYPE_VLAN      0x8100
#define PROTO_ICMP4    1
#define PROTO_ICMP6    58
#define DONT_FRAGMENT  0x40 /* of the octet with the flags */
#define HOP_LIMIT      64
#define ECHO4          8
#define ECHO6          128

static uint8_t *write_eth(uint8_t *out, const struct wire_nd_from *from, const uint8_t dmac[6], uint16_t type)
{
	memcpy(out, dmac, MAC_BYTES);
	memcpy(out + MAC_BYTES, from->mac, MAC_BYTES);
	out += 2 * MAC_BYTES;
	if (from->has_vlan) {
		put16(out, TYPE_VLAN);
		put16(out + 2, from->vlan_tci);
		out += 4;
	}
	put16(out, type);
	return out + 2;
}

static void write_ip4(uint8_t *ip, const struct wire_addr *src, const struct wire_addr *dst, size_t n)
{
	memset(ip, 0, IP4_BYTES);
	ip[0] = 0x45;
	put16(ip + 2, (uint32_t)n);
	ip[6] = DONT_FRAGMENT;
	ip[8] = HOP_LIMIT;
	ip[9] = PROTO_ICMP4;
	memcpy(ip + 12, src->b + 12, 4);
	memcpy(ip + 16, dst->b + 12, 4);
	put16(ip + 10, wire_csum_fold(wire_csum_add(0, ip, IP4_BYTES)));
}

static void write_ip6(uint8_t *ip, const struct wire_addr *src, const struct wire_addr *dst, size_t n)
{
	memset(ip, 0, IP6_BYTES);
	ip[0] = 0x60;
	put16(ip + 4, (uint32_t)(n - IP6_BYTES));
	ip[6] = PROTO_ICMP6;
	ip[7] = HOP_LIMIT;
	memcpy(ip + 8, src->b, sizeof(src->b));
	memcpy(ip + 24, dst->b, sizeof(dst->b));
}

/* Of the pseudo header, RFC 8200, 8.1. */
static uint32_t pseudo_sum(const uint8_t *ip, size_t icmp_bytes)
{
	uint8_t rest[8] = {[7] = PROTO_ICMP6};

	put16(rest + 2, (uint32_t)icmp_bytes);
	return wire_csum_add(wire_csum_add(0, rest, sizeof(rest)), ip + 8, 32);
}

size_t wire_echo_build(uint8_t *out, const struct wire_nd_from *from, const struct wire_addr *dst,
	const uint8_t dmac[6], uint16_t id, uint16_t seq, size_t ip_bytes)
{
	bool v4 = wire_addr_is_v4(dst);
	uint8_t *ip = write_eth(out, from, dmac, v4 ? TYPE_IP4 : TYPE_IP6), *icmp = ip + (v4 ? IP4_BYTES : IP6_BYTES);
	size_t n = (size_t)(ip + ip_bytes - icmp);

	if (v4)
		write_ip4(ip, &from->addr, dst, ip_bytes);
	else
		write_ip6(ip, &from->addr, dst, ip_bytes);
	memset(icmp, 0, n);
	icmp[0] = v4 ? ECHO4 : ECHO6;
	put16(icmp + 4, id);
	put16(icmp + 6, seq);
	put16(icmp + 2, wire_csum_fold(wire_csum_add(v4 ? 0 : pseudo_sum(ip, n), icmp, n)));
	return (size_t)(ip + ip_bytes - out);
}

void wire_echo_read(const uint8_t *frame, const struct wire_pkt *pkt, uint16_t *id, uint16_t *seq, size_t *ip_bytes)
{
	*id = get16(frame + pkt->l4_off + 4);
	*seq = get16(frame + pkt->l4_off + 6);
	*ip_bytes = (size_t)(pkt->frame_bytes - pkt->l3_off);
}
