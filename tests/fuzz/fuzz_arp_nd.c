/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as ARP, neighbour discovery or echo: parsing keeps within them, and the answer to what was
 * taken is itself well-formed. The first byte of the input is not of the frame: when not zero, the
 * checksums of IPv4 and ICMP are mended first.
 */
#include <string.h>

#include "fuzz.h"
#include "wire_arp_nd.h"

#define ETH_BYTES     14
#define VLAN_BYTES    4
#define IP4_BYTES     20
#define IP6_BYTES     40
#define IP4_CSUM_OFF  10
#define ICMP_CSUM_OFF 2
#define PROTO_ICMP4   1
#define PROTO_ICMP6   58

static const struct wire_addr ours4 = {{[10] = 0xff, 0xff, 192, 0, 2, 1}};
static const struct wire_addr ours6 = {{0xfd, 0, [15] = 1}};

static void put_csum(uint8_t *at, uint32_t sum)
{
	uint16_t csum = wire_csum_fold(sum);

	at[0] = (uint8_t)(csum >> 8);
	at[1] = (uint8_t)csum;
}

static void mend_ip4(uint8_t *ip, size_t n)
{
	size_t total = (size_t)ip[2] << 8 | ip[3];

	if (n < IP4_BYTES)
		return;
	memset(ip + IP4_CSUM_OFF, 0, 2);
	put_csum(ip + IP4_CSUM_OFF, wire_csum_add(0, ip, IP4_BYTES));
	if (ip[9] != PROTO_ICMP4 || total > n || total < IP4_BYTES + 8)
		return;
	memset(ip + IP4_BYTES + ICMP_CSUM_OFF, 0, 2);
	put_csum(ip + IP4_BYTES + ICMP_CSUM_OFF, wire_csum_add(0, ip + IP4_BYTES, total - IP4_BYTES));
}

static void mend_ip6(uint8_t *ip, size_t n)
{
	uint8_t *icmp = ip + IP6_BYTES;
	size_t bytes;

	if (n < IP6_BYTES)
		return;
	bytes = (size_t)ip[4] << 8 | ip[5];
	if (ip[6] != PROTO_ICMP6 || bytes > n - IP6_BYTES || bytes < 8)
		return;
	memset(icmp + ICMP_CSUM_OFF, 0, 2);
	put_csum(icmp + ICMP_CSUM_OFF,
		wire_csum_add(wire_csum_add((uint32_t)bytes + PROTO_ICMP6, ip + 8, 32), icmp, bytes));
}

static void mend(uint8_t *frame, size_t n)
{
	size_t off = ETH_BYTES;

	if (n > ETH_BYTES && frame[12] == 0x81 && frame[13] == 0)
		off += VLAN_BYTES;
	if (n < off + 4)
		return;
	if (frame[off - 2] == 0x08 && frame[off - 1] == 0)
		mend_ip4(frame + off, n - off);
	if (frame[off - 2] == 0x86 && frame[off - 1] == 0xdd)
		mend_ip6(frame + off, n - off);
}

/* A frame of ours is one that we would take. */
static void check_built(const uint8_t *frame, size_t n, uint8_t kind)
{
	struct wire_nd_msg msg;
	struct wire_pkt pkt;

	FUZZ_CHECK(n <= WIRE_ND_FRAME_MAX);
	FUZZ_CHECK(wire_parse(frame, n, &pkt) == BASE_DROP_NONE);
	FUZZ_CHECK(wire_nd_parse(frame, n, &pkt, &msg) == BASE_DROP_NONE);
	FUZZ_CHECK(msg.kind == kind);
}

/* Callers answer for their own addresses only, which are like this. */
static bool may_be_ours(const struct wire_addr *addr, bool v4)
{
	static const struct wire_addr nobody;

	if (!v4)
		return !wire_addr_is_v4(addr) && memcmp(addr, &nobody, sizeof(nobody)) != 0;
	return addr->b[12] > 0 && addr->b[12] < 224;
}

static void check_answer(const uint8_t *frame, const struct wire_pkt *pkt, const struct wire_nd_msg *msg)
{
	struct wire_nd_from from = {.mac = {2, 0, 0, 0, 0, 1}};
	uint8_t group_mac[6];
	uint8_t out[WIRE_ND_FRAME_MAX];
	struct wire_nd_msg reply_msg;
	struct wire_pkt reply;
	uint8_t *echo;

	from.has_vlan = msg->has_vlan;
	from.vlan_tci = msg->vlan_tci;
	from.addr = msg->target;
	if (msg->kind == WIRE_ND_ARP_REQUEST && may_be_ours(&msg->target, true))
		check_built(out, wire_nd_build_reply(out, &from, msg), WIRE_ND_ARP_REPLY);
	if (msg->kind == WIRE_ND_SOLICIT && may_be_ours(&msg->target, false))
		check_built(out, wire_nd_build_reply(out, &from, msg), WIRE_ND_ADVERT);
	if (msg->kind != WIRE_ND_ECHO4 && msg->kind != WIRE_ND_ECHO6)
		return;
	from.addr = msg->kind == WIRE_ND_ECHO4 ? ours4 : ours6;
	if (!may_be_ours(&msg->dst, msg->kind == WIRE_ND_ECHO4) && !wire_mcast_mac(&msg->dst, group_mac))
		return;
	echo = malloc(pkt->frame_bytes);
	FUZZ_CHECK(echo);
	memcpy(echo, frame, pkt->frame_bytes);
	wire_nd_echo_reply(echo, pkt, msg, &from);
	FUZZ_CHECK(wire_parse(echo, pkt->frame_bytes, &reply) == BASE_DROP_NONE);
	FUZZ_CHECK(wire_nd_parse(echo, pkt->frame_bytes, &reply, &reply_msg) == BASE_DROP_NONE);
	FUZZ_CHECK(reply_msg.kind == (msg->kind == WIRE_ND_ECHO4 ? WIRE_ND_ECHO4_REPLY : WIRE_ND_ECHO6_REPLY));
	FUZZ_CHECK(!memcmp(&reply_msg.dst, &msg->src, sizeof(msg->src)));
	free(echo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size - 1;
	struct wire_nd_msg msg;
	struct wire_pkt pkt;
	enum base_drop drop;
	uint8_t *frame;

	if (!size)
		return 0;
	frame = malloc(n ? n : 1);
	FUZZ_CHECK(frame);
	memcpy(frame, data + 1, n);
	if (data[0])
		mend(frame, n);
	drop = wire_parse(frame, n, &pkt);
	if (drop == BASE_DROP_NONE || pkt.kind == WIRE_KIND_ARP) {
		drop = wire_nd_parse(frame, n, &pkt, &msg);
		FUZZ_CHECK((drop == BASE_DROP_NONE) == (msg.kind != WIRE_ND_NONE));
		if (drop == BASE_DROP_NONE)
			check_answer(frame, &pkt, &msg);
	}
	free(frame);
	return 0;
}
