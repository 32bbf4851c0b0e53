/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_icmp.h"

#include <string.h>

#include "wire_addr.h"
#include "wire_arp_nd.h"
#include "wire_bytes.h"

#define ICMP_BYTES   8u
#define IP4_MOST     576u  /* RFC 1812, 4.3.2.3 */
#define IP6_MOST     1280u
#define PROTO_ICMP4  1
#define PROTO_ICMP6  58
#define HOP_LIMIT    64
#define UNREACHABLE  3
#define TOO_BIG_CODE 4     /* fragmentation needed */
#define TOO_BIG6     2
#define DSCP_CS6     0xc0  /* errors: RFC 1812, 4.3.2.5 */

/* A packet of this source may be answered. */
static bool is_a_host(const struct wire_addr *addr)
{
	static const struct wire_addr none, none4 = {.b = {[10] = 0xff, [11] = 0xff}};
	uint8_t mac[6];

	return memcmp(addr, &none, sizeof(none)) != 0 && memcmp(addr, &none4, sizeof(none4)) != 0 && !wire_mcast_mac(addr, mac);
}

static size_t write4(uint8_t *ip, const struct wire_addr *from, const struct wire_addr *to, uint32_t mtu, const uint8_t *packet, size_t n)
{
	uint8_t *icmp = ip + IP4_BYTES;
	size_t quote = n < IP4_MOST - IP4_BYTES - ICMP_BYTES ? n : IP4_MOST - IP4_BYTES - ICMP_BYTES;

	memset(ip, 0, IP4_BYTES + ICMP_BYTES);
	ip[0] = 0x45;
	ip[1] = DSCP_CS6;
	put16(ip + 2, (uint32_t)(IP4_BYTES + ICMP_BYTES + quote));
	ip[8] = HOP_LIMIT;
	ip[9] = PROTO_ICMP4;
	memcpy(ip + 12, from->b + 12, 4);
	memcpy(ip + 16, to->b + 12, 4);
	put16(ip + 10, wire_csum_fold(wire_csum_add(0, ip, IP4_BYTES)));
	icmp[0] = UNREACHABLE;
	icmp[1] = TOO_BIG_CODE;
	put16(icmp + 6, mtu);
	memcpy(icmp + ICMP_BYTES, packet, quote);
	put16(icmp + 2, wire_csum_fold(wire_csum_add(0, icmp, ICMP_BYTES + quote)));
	return IP4_BYTES + ICMP_BYTES + quote;
}

static size_t write6(uint8_t *ip, const struct wire_addr *from, const struct wire_addr *to, uint32_t mtu, const uint8_t *packet, size_t n)
{
	uint8_t *icmp = ip + IP6_BYTES, pseudo[8] = {[7] = PROTO_ICMP6};
	size_t quote = n < IP6_MOST - IP6_BYTES - ICMP_BYTES ? n : IP6_MOST - IP6_BYTES - ICMP_BYTES;
	uint32_t sum;

	memset(ip, 0, IP6_BYTES + ICMP_BYTES);
	ip[0] = 0x60 | DSCP_CS6 >> 4;
	put16(ip + 4, (uint32_t)(ICMP_BYTES + quote));
	ip[6] = PROTO_ICMP6;
	ip[7] = HOP_LIMIT;
	memcpy(ip + 8, from->b, 16);
	memcpy(ip + 24, to->b, 16);
	icmp[0] = TOO_BIG6;
	put16(icmp + 6, mtu);
	memcpy(icmp + ICMP_BYTES, packet, quote);
	put16(pseudo + 2, (uint32_t)(ICMP_BYTES + quote));
	sum = wire_csum_add(wire_csum_add(0, pseudo, sizeof(pseudo)), ip + 8, 32);
	put16(icmp + 2, wire_csum_fold(wire_csum_add(sum, icmp, ICMP_BYTES + quote)));
	return IP6_BYTES + ICMP_BYTES + quote;
}

size_t wire_icmp_too_big(uint8_t *out, const uint8_t *frame, const struct wire_pkt *pkt, const struct wire_addr *from,
	const uint8_t mac[6], uint32_t mtu)
{
	const uint8_t *packet = frame + pkt->l3_off;
	size_t n = (size_t)pkt->frame_bytes - pkt->l3_off;
	struct wire_addr src, dst;
	uint8_t group[6];

	wire_src(frame, pkt, &src);
	wire_dst(frame, pkt, &dst);
	if (!is_a_host(&src) || wire_mcast_mac(&dst, group) || (frame[0] & 1) != 0)
		return 0;
	memcpy(out, frame + 6, 6);
	memcpy(out + 6, mac, 6);
	memcpy(out + 12, frame + 12, pkt->l3_off - 12u);
	if (pkt->l3_version == 4)
		return pkt->l3_off + write4(out + pkt->l3_off, from, &src, mtu < UINT16_MAX ? mtu : UINT16_MAX, packet, n);
	return pkt->l3_off + write6(out + pkt->l3_off, from, &src, mtu, packet, n);
}
