/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_psp.h"

#include <string.h>

#include "wire_addr.h"
#include "wire_arp_nd.h"
#include "wire_bytes.h"

#define NEXT_UDP        17
#define EXT_BYTES       1    /* of the header beyond its first eight octets, in units of eight */
#define ALWAYS_ONE      0x01
#define VIRTUAL         0x02
#define VERSION_SHIFT   2
#define VERSION_MASK    0x0f
#define SAMPLE_AND_DROP 0xc0
#define CRYPT_OFFSET    0x3f

#define TYPE_IP4   0x0800
#define TYPE_IP6   0x86dd
#define TYPE_VLAN  0x8100
#define HOPS       64
#define FRAGMENT   0x3fff /* more fragments, and the offset */

void wire_psp_write(uint8_t *to, const struct wire_psp *psp)
{
	to[0] = NEXT_UDP;
	to[1] = EXT_BYTES;
	to[2] = 0;
	to[3] = (uint8_t)((psp->version & VERSION_MASK) << VERSION_SHIFT | ALWAYS_ONE);
	put32(to + 4, psp->spi);
	put32(to + 8, (uint32_t)(psp->number >> 32));
	put32(to + 12, (uint32_t)psp->number);
}

bool wire_psp_read(const uint8_t *from, struct wire_psp *psp)
{
	psp->version = from[3] >> VERSION_SHIFT & VERSION_MASK;
	psp->spi = get32(from + 4);
	psp->number = (uint64_t)get32(from + 8) << 32 | get32(from + 12);
	return from[0] == NEXT_UDP && from[1] == EXT_BYTES && (from[2] & CRYPT_OFFSET) == 0 && (from[2] & ~CRYPT_OFFSET) == 0 &&
		(from[3] & (SAMPLE_AND_DROP | VIRTUAL | ALWAYS_ONE)) == ALWAYS_ONE;
}

/* A sum of words of 32 bits in whatever byte order, folded to 16: all ones if the header's checksum is right (RFC 1071, 1 and 2). */
static uint32_t fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint32_t)((sum & 0xffff) + (sum >> 16));
}

static bool ip4_is_right(const uint8_t *ip)
{
	uint32_t words[IP4_BYTES / 4];

	memcpy(words, ip, sizeof(words));
	return fold((uint64_t)words[0] + words[1] + words[2] + words[3] + words[4]) == 0xffff;
}

static enum base_drop find_ip4(const uint8_t *ip, size_t n, size_t frame_bytes, struct wire_udp_at *at)
{
	uint16_t bytes;

	if (n < at->l3 + IP4_BYTES + UDP_BYTES)
		return BASE_DROP_TRUNCATED;
	if (ip[0] != 0x45 || (get16(ip + 6) & FRAGMENT) != 0 || !ip4_is_right(ip))
		return BASE_DROP_IP_HEADER;
	if (ip[9] != NEXT_UDP)
		return BASE_DROP_NOT_ROCE;
	bytes = get16(ip + 2);
	at->version = 4;
	at->l4 = (uint16_t)(at->l3 + IP4_BYTES);
	at->end = (uint16_t)(at->l3 + bytes);
	return bytes >= IP4_BYTES + UDP_BYTES && at->l3 + (size_t)bytes <= frame_bytes ? BASE_DROP_NONE : BASE_DROP_IP_LENGTH;
}

static enum base_drop find_ip6(const uint8_t *ip, size_t n, size_t frame_bytes, struct wire_udp_at *at)
{
	uint16_t bytes;

	if (n < at->l3 + IP6_BYTES + UDP_BYTES)
		return BASE_DROP_TRUNCATED;
	if (ip[0] >> 4 != 6)
		return BASE_DROP_IP_HEADER;
	if (ip[6] != NEXT_UDP)
		return BASE_DROP_NOT_ROCE;
	bytes = get16(ip + 4);
	at->version = 6;
	at->l4 = (uint16_t)(at->l3 + IP6_BYTES);
	at->end = (uint16_t)(at->l4 + bytes);
	return bytes >= UDP_BYTES && at->l4 + (size_t)bytes <= frame_bytes ? BASE_DROP_NONE : BASE_DROP_IP_LENGTH;
}

enum base_drop wire_udp_find(const uint8_t *frame, size_t n, size_t frame_bytes, struct wire_udp_at *at)
{
	enum base_drop reason;
	uint16_t type;

	at->l3 = ETH_BYTES;
	if (n < ETH_BYTES + VLAN_BYTES || frame_bytes > UINT16_MAX)
		return BASE_DROP_TRUNCATED;
	type = get16(frame + ETH_BYTES - 2);
	if (type == TYPE_VLAN) {
		at->l3 = ETH_BYTES + VLAN_BYTES;
		type = get16(frame + at->l3 - 2);
	}
	if (type == TYPE_IP4)
		reason = find_ip4(frame + at->l3, n, frame_bytes, at);
	else if (type == TYPE_IP6)
		reason = find_ip6(frame + at->l3, n, frame_bytes, at);
	else
		return BASE_DROP_NOT_ROCE;
	if (reason == BASE_DROP_NONE && get16(frame + at->l4 + 4) != at->end - at->l4)
		return BASE_DROP_IP_LENGTH;
	return reason;
}

void wire_udp_resize(uint8_t *ip, uint8_t version, int bytes)
{
	uint16_t old;

	if (version == 6) {
		put16(ip + 4, (uint32_t)(get16(ip + 4) + bytes));
		return;
	}
	old = get16(ip + 2);
	put16(ip + 2, (uint32_t)(old + bytes));
	/* The checksum follows the length (RFC 1624, 3). */
	put16(ip + 10, ~fold((uint64_t)(uint16_t)~get16(ip + 10) + (uint16_t)~old + (uint16_t)(old + bytes)));
}

uint16_t wire_udp_dport(const uint8_t *frame, size_t n)
{
	size_t l3 = n >= ETH_BYTES + VLAN_BYTES && get16(frame + ETH_BYTES - 2) == TYPE_VLAN ? ETH_BYTES + VLAN_BYTES : ETH_BYTES;
	const uint8_t *ip = frame + l3;

	if (n >= l3 + IP4_BYTES + UDP_BYTES && get16(ip - 2) == TYPE_IP4 && ip[0] == 0x45 && ip[9] == NEXT_UDP)
		return get16(ip + IP4_BYTES + 2);
	if (n >= l3 + IP6_BYTES + UDP_BYTES && get16(ip - 2) == TYPE_IP6 && ip[6] == NEXT_UDP)
		return get16(ip + IP6_BYTES + 2);
	return 0;
}

void wire_udp_addrs(const uint8_t *frame, const struct wire_udp_at *at, struct wire_addr *src, struct wire_addr *dst)
{
	const uint8_t *ip = frame + at->l3;

	if (at->version == 4) {
		wire_addr_from_v4(src, ip + 12);
		wire_addr_from_v4(dst, ip + 16);
	} else {
		memcpy(src->b, ip + 8, sizeof(src->b));
		memcpy(dst->b, ip + 24, sizeof(dst->b));
	}
}

static uint8_t *write_eth(uint8_t *to, const struct wire_l2l3 *net, uint16_t type)
{
	memcpy(to, net->dmac, 6);
	memcpy(to + 6, net->smac, 6);
	to += 12;
	if (net->has_vlan) {
		put16(to, TYPE_VLAN);
		put16(to + 2, net->vlan_tci);
		to += VLAN_BYTES;
	}
	put16(to, type);
	return to + 2;
}

static uint8_t *write_ip4(uint8_t *ip, const struct wire_l2l3 *net, size_t udp_bytes)
{
	memset(ip, 0, IP4_BYTES);
	ip[0] = 0x45;
	put16(ip + 2, (uint32_t)(IP4_BYTES + udp_bytes));
	put16(ip + 6, 0x4000);
	ip[8] = HOPS;
	ip[9] = NEXT_UDP;
	memcpy(ip + 12, net->src.b + 12, 4);
	memcpy(ip + 16, net->dst.b + 12, 4);
	put16(ip + 10, wire_csum_fold(wire_csum_add(0, ip, IP4_BYTES)));
	return ip + IP4_BYTES;
}

static uint8_t *write_ip6(uint8_t *ip, const struct wire_l2l3 *net, size_t udp_bytes)
{
	memset(ip, 0, IP6_BYTES);
	ip[0] = 0x60;
	put16(ip + 4, (uint32_t)udp_bytes);
	ip[6] = NEXT_UDP;
	ip[7] = HOPS;
	memcpy(ip + 8, net->src.b, 16);
	memcpy(ip + 24, net->dst.b, 16);
	return ip + IP6_BYTES;
}

size_t wire_udp_write(uint8_t *to, const struct wire_l2l3 *net, uint16_t sport, uint16_t dport, const void *data, size_t bytes)
{
	bool v4 = wire_addr_is_v4(&net->dst);
	size_t udp_bytes = UDP_BYTES + bytes;
	uint8_t *ip = write_eth(to, net, v4 ? TYPE_IP4 : TYPE_IP6);
	uint8_t *udp = v4 ? write_ip4(ip, net, udp_bytes) : write_ip6(ip, net, udp_bytes);
	uint32_t sum = (uint32_t)udp_bytes + NEXT_UDP;
	uint16_t checksum;

	memmove(udp + UDP_BYTES, data, bytes);
	put16(udp, sport);
	put16(udp + 2, dport);
	put16(udp + 4, (uint32_t)udp_bytes);
	put16(udp + 6, 0);
	if (!v4) {
		checksum = wire_csum_fold(wire_csum_add(wire_csum_add(sum, ip + 8, 32), udp, udp_bytes));
		put16(udp + 6, checksum != 0 ? checksum : 0xffff);
	}
	return (size_t)(udp - to) + udp_bytes;
}
