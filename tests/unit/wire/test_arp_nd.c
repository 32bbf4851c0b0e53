/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP, neighbour discovery and echo: what is taken, what is refused, and that answers are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire_arp_nd.h"

#define ETH       14
#define IP6_BYTES 40
#define ICMP6     (ETH + IP6_BYTES)
#define ND_BYTES  24

static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t peer_mac[6] = {2, 0, 0, 0, 0, 2};
static const struct wire_addr our_ip4 = {{[10] = 0xff, 0xff, 192, 0, 2, 1}};
static const struct wire_addr peer_ip4 = {{[10] = 0xff, 0xff, 192, 0, 2, 2}};
static const struct wire_addr our_ip6 = {{0xfd, [13] = 0x12, 0x34, 0x01}};
static const struct wire_addr peer_ip6 = {{0xfd, [13] = 0x56, 0x78, 0x02}};

static struct wire_nd_from from_of(const uint8_t mac[6], const struct wire_addr *addr, bool vlan)
{
	struct wire_nd_from from = {.has_vlan = vlan, .vlan_tci = 0x6005, .addr = *addr};

	memcpy(from.mac, mac, 6);
	return from;
}

static enum base_drop parse(const uint8_t *frame, size_t n, struct wire_nd_msg *msg)
{
	uint8_t *copy = malloc(n);
	enum base_drop drop;
	struct wire_pkt pkt;

	/* Just n bytes, so that a sanitizer sees any read past the end. */
	assert_non_null(copy);
	memcpy(copy, frame, n);
	drop = wire_parse(copy, n, &pkt);
	if (drop == BASE_DROP_NONE)
		drop = wire_nd_parse(copy, n, &pkt, msg);
	free(copy);
	return drop;
}

static void assert_same_addr(const struct wire_addr *a, const struct wire_addr *b)
{
	assert_memory_equal(a->b, b->b, sizeof(a->b));
}

/* The checksum over an ICMPv6 packet and its pseudo header (RFC 8200, 8.1), counted byte by byte. */
static uint16_t sum6(const uint8_t *ip)
{
	size_t n = (size_t)ip[4] << 8 | ip[5];
	uint64_t sum = n + 58;
	size_t i;

	for (i = 8; i < IP6_BYTES + n; i++)
		sum += i & 1 ? ip[i] : (uint64_t)ip[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void mend6(uint8_t *frame)
{
	uint16_t csum;

	frame[ICMP6 + 2] = 0;
	frame[ICMP6 + 3] = 0;
	csum = sum6(frame + ETH);
	frame[ICMP6 + 2] = (uint8_t)(csum >> 8);
	frame[ICMP6 + 3] = (uint8_t)csum;
}

/* RFC 826: the request names its sender and the wanted address; the reply goes back to the sender. */
static void test_arp_request_and_reply(void **state)
{
	uint8_t frame[WIRE_ND_FRAME_MAX];
	uint8_t reply[WIRE_ND_FRAME_MAX];
	struct wire_nd_from peer;
	struct wire_nd_from us;
	struct wire_nd_msg msg;
	int vlan;
	size_t n;

	(void)state;
	for (vlan = 0; vlan < 2; vlan++) {
		peer = from_of(peer_mac, &peer_ip4, vlan);
		us = from_of(our_mac, &our_ip4, vlan);
		n = wire_nd_build_request(frame, &peer, &our_ip4, NULL);
		assert_int_equal(n, 60 + 4 * vlan);
		assert_memory_equal(frame, "\xff\xff\xff\xff\xff\xff", 6);
		assert_int_equal(parse(frame, n, &msg), BASE_DROP_NONE);
		assert_int_equal(msg.kind, WIRE_ND_ARP_REQUEST);
		assert_int_equal(msg.has_vlan, vlan);
		assert_int_equal(msg.unicast, 0);
		assert_same_addr(&msg.target, &our_ip4);
		assert_same_addr(&msg.src, &peer_ip4);
		assert_memory_equal(msg.lladdr, peer_mac, 6);
		n = wire_nd_build_reply(reply, &us, &msg);
		assert_memory_equal(reply, peer_mac, 6);
		assert_int_equal(parse(reply, n, &msg), BASE_DROP_NONE);
		assert_int_equal(msg.kind, WIRE_ND_ARP_REPLY);
		assert_int_equal(msg.unicast, 1);
		assert_same_addr(&msg.target, &our_ip4);
		assert_same_addr(&msg.dst, &peer_ip4);
		assert_memory_equal(msg.lladdr, our_mac, 6);
	}
}

static void test_arp_wrong_in_one_way(void **state)
{
	static const struct {
		uint8_t off;
		uint8_t value;
		enum base_drop drop;
	} cases[] = {
		{1, 6, BASE_DROP_NOT_ROCE},     /* IEEE 802 hardware */
		{3, 6, BASE_DROP_NOT_ROCE},     /* protocol */
		{4, 8, BASE_DROP_NOT_ROCE},     /* address lengths */
		{5, 16, BASE_DROP_NOT_ROCE},
		{7, 3, BASE_DROP_NOT_ROCE},     /* RARP */
		{8, 0x01, BASE_DROP_IP_HEADER}, /* RFC 1812, 3.3.2: a group is no link address of a host */
		{8, 0xff, BASE_DROP_IP_HEADER},
	};
	struct wire_nd_from peer = from_of(peer_mac, &peer_ip4, false);
	uint8_t frame[WIRE_ND_FRAME_MAX];
	struct wire_nd_msg msg;
	size_t i;
	size_t n;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n = wire_nd_build_request(frame, &peer, &our_ip4, NULL);
		frame[ETH + cases[i].off] = cases[i].value;
		assert_int_equal(parse(frame, n, &msg), cases[i].drop);
		assert_int_equal(msg.kind, WIRE_ND_NONE);
	}
	wire_nd_build_request(frame, &peer, &our_ip4, NULL);
	for (n = ETH; n < ETH + 28; n++)
		assert_int_equal(parse(frame, n, &msg), BASE_DROP_TRUNCATED);
	assert_int_equal(parse(frame, n, &msg), BASE_DROP_NONE);
}

/* RFC 4861, 7.2.2 and 7.2.4; RFC 4291, 2.7.1: solicited-node group; RFC 2464, 7: its link address. */
static void test_solicit_and_advert(void **state)
{
	struct wire_nd_from peer = from_of(peer_mac, &peer_ip6, false);
	struct wire_nd_from us = from_of(our_mac, &our_ip6, false);
	static const struct wire_addr group = {{0xff, 2, [11] = 1, 0xff, 0x12, 0x34, 0x01}};
	uint8_t frame[WIRE_ND_FRAME_MAX];
	uint8_t reply[WIRE_ND_FRAME_MAX];
	struct wire_nd_msg msg;
	size_t n;

	(void)state;
	n = wire_nd_build_request(frame, &peer, &our_ip6, NULL);
	assert_memory_equal(frame, "\x33\x33\xff\x12\x34\x01", 6);
	assert_int_equal(sum6(frame + ETH), 0);
	assert_int_equal(parse(frame, n, &msg), BASE_DROP_NONE);
	assert_int_equal(msg.kind, WIRE_ND_SOLICIT);
	assert_same_addr(&msg.dst, &group);
	assert_same_addr(&msg.target, &our_ip6);
	assert_int_equal(msg.has_lladdr, 1);
	assert_memory_equal(msg.lladdr, peer_mac, 6);
	n = wire_nd_build_reply(reply, &us, &msg);
	assert_int_equal(sum6(reply + ETH), 0);
	assert_memory_equal(reply, peer_mac, 6);
	assert_int_equal(parse(reply, n, &msg), BASE_DROP_NONE);
	assert_int_equal(msg.kind, WIRE_ND_ADVERT);
	assert_int_equal(msg.solicited, 1);
	assert_int_equal(msg.override, 1);
	assert_int_equal(msg.router, 0);
	assert_same_addr(&msg.target, &our_ip6);
	assert_same_addr(&msg.dst, &peer_ip6);
	assert_memory_equal(msg.lladdr, our_mac, 6);
	n = wire_nd_build_announce(frame, &us);
	assert_int_equal(parse(frame, n, &msg), BASE_DROP_NONE);
	assert_int_equal(msg.solicited, 0);
}

/* RFC 4862, 5.4.3: who asks from the unspecified address gets its answer with all nodes. */
static void test_duplicate_address_detection(void **state)
{
	static const struct wire_addr nobody;
	static const struct wire_addr all_nodes = {{0xff, 2, [15] = 1}};
	struct wire_nd_from peer = from_of(peer_mac, &peer_ip6, false), unnamed = from_of(peer_mac, &nobody, false);
	struct wire_nd_from us = from_of(our_mac, &our_ip6, false);
	uint8_t frame[WIRE_ND_FRAME_MAX];
	struct wire_nd_msg msg;
	size_t n;

	(void)state;
	/* RFC 4861, 7.1.1: no source link address option from there. */
	n = wire_nd_build_request(frame, &peer, &our_ip6, NULL);
	memcpy(frame + ETH + 8, nobody.b, sizeof(nobody.b));
	mend6(frame);
	assert_int_equal(parse(frame, n, &msg), BASE_DROP_IP_HEADER);
	/* 4.3: nor do we send one. */
	n = wire_nd_build_request(frame, &unnamed, &our_ip6, NULL);
	assert_int_equal(sum6(frame + ETH), 0);
	assert_int_equal(parse(frame, n, &msg), BASE_DROP_NONE);
	assert_int_equal(msg.has_lladdr, 0);
	n = wire_nd_build_reply(frame, &us, &msg);
	assert_memory_equal(frame, "\x33\x33\0\0\0\1", 6);
	assert_int_equal(parse(frame, n, &msg), BASE_DROP_NONE);
	assert_same_addr(&msg.dst, &all_nodes);
	assert_int_equal(msg.solicited, 0);
}

/* RFC 4861, 7.1.1, and RFC 4291, 2.7: a group is never a source. */
static void test_nd_wrong_in_one_way(void **state)
{
	static const struct {
		uint8_t off;
		uint8_t value;
		enum base_drop drop;
	} cases[] = {
		{7, 254, BASE_DROP_IP_HEADER},                    /* came over a router */
		{8, 0xff, BASE_DROP_IP_HEADER},                   /* source is a group */
		{IP6_BYTES + 1, 1, BASE_DROP_IP_HEADER},          /* code */
		{IP6_BYTES + 8, 0xff, BASE_DROP_IP_HEADER},       /* target is a group */
		{IP6_BYTES + 25, 0, BASE_DROP_IP_LENGTH},         /* option without length */
		{IP6_BYTES + 25, 2, BASE_DROP_IP_LENGTH},         /* option behind the end */
		{IP6_BYTES + 26, 0x01, BASE_DROP_IP_HEADER},      /* link address is a group */
		{IP6_BYTES, 133, BASE_DROP_NOT_ROCE},             /* router solicitation */
	};
	struct wire_nd_from peer = from_of(peer_mac, &peer_ip6, false);
	uint8_t frame[WIRE_ND_FRAME_MAX];
	struct wire_nd_msg msg;
	size_t i;
	size_t n;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n = wire_nd_build_request(frame, &peer, &our_ip6, NULL);
		frame[ETH + cases[i].off] = cases[i].value;
		mend6(frame);
		assert_int_equal(parse(frame, n, &msg), cases[i].drop);
		assert_int_equal(msg.kind, WIRE_ND_NONE);
	}
	n = wire_nd_build_request(frame, &peer, &our_ip6, NULL);
	frame[ICMP6 + 3] ^= 1;
	assert_int_equal(parse(frame, n, &msg), BASE_DROP_IP_HEADER);
}

/* An echo request of odd length; its addresses may be changed before the checksums are made. */
static size_t make_echo(uint8_t *frame, const struct wire_addr *src)
{
	static const uint8_t echo4[] = {8, 0, 0, 0, 0x12, 0x34, 0, 1, 'p', 'i', 'n'};
	uint8_t *ip = frame + ETH;
	uint16_t csum;

	memset(frame, 0, ETH + 20);
	memcpy(frame, our_mac, 6);
	memcpy(frame + 6, peer_mac, 6);
	if (!wire_addr_is_v4(src)) {
		memcpy(frame + 12, "\x86\xdd\x60\0\0\0\0\xb\x3a\x40", 10);
		memcpy(ip + 8, src->b, 16);
		memcpy(ip + 24, our_ip6.b, 16);
		memcpy(frame + ICMP6, echo4, sizeof(echo4));
		frame[ICMP6] = 128;
		mend6(frame);
		return ICMP6 + sizeof(echo4);
	}
	memcpy(frame + 12, "\x08\x00\x45\0\0\x1f\0\0\0\0\x40\1", 12);
	memcpy(ip + 12, src->b + 12, 4);
	memcpy(ip + 16, our_ip4.b + 12, 4);
	csum = wire_csum_fold(wire_csum_add(0, ip, 20));
	ip[10] = (uint8_t)(csum >> 8);
	ip[11] = (uint8_t)csum;
	memcpy(ip + 20, echo4, sizeof(echo4));
	csum = wire_csum_fold(wire_csum_add(0, ip + 20, sizeof(echo4)));
	ip[22] = (uint8_t)(csum >> 8);
	ip[23] = (uint8_t)csum;
	return ETH + 20 + sizeof(echo4);
}

/* RFC 792 and RFC 4443, 4.2: the data comes back unchanged. */
static void test_echo(void **state)
{
	struct wire_nd_from us = from_of(our_mac, &our_ip4, false);
	struct wire_nd_msg msg;
	struct wire_pkt pkt;
	uint8_t frame[128];
	size_t n;
	int v6;

	(void)state;
	for (v6 = 0; v6 < 2; v6++) {
		n = make_echo(frame, v6 ? &peer_ip6 : &peer_ip4);
		us.addr = v6 ? our_ip6 : our_ip4;
		assert_int_equal(wire_parse(frame, n, &pkt), BASE_DROP_NONE);
		assert_int_equal(wire_nd_parse(frame, n, &pkt, &msg), BASE_DROP_NONE);
		assert_int_equal(msg.kind, v6 ? WIRE_ND_ECHO6 : WIRE_ND_ECHO4);
		wire_nd_echo_reply(frame, &pkt, &msg, &us);
		assert_memory_equal(frame, peer_mac, 6);
		assert_int_equal(parse(frame, n, &msg), BASE_DROP_NONE);
		assert_int_equal(msg.kind, v6 ? WIRE_ND_ECHO6_REPLY : WIRE_ND_ECHO4_REPLY);
		assert_same_addr(&msg.src, &us.addr);
		assert_same_addr(&msg.dst, v6 ? &peer_ip6 : &peer_ip4);
		assert_memory_equal(frame + n - 7, "\x12\x34\0\1pin", 7);
	}
}

/* RFC 1122, 3.2.1.3 and RFC 4443, 2.4 e: whoever answers those becomes somebody's amplifier. */
static void test_echo_from_no_host_is_refused(void **state)
{
	static const struct wire_addr sources[] = {
		{{[10] = 0xff, 0xff, 224, 0, 0, 1}}, {{[10] = 0xff, 0xff, 255, 255, 255, 255}},
		{{[10] = 0xff, 0xff, 0, 0, 0, 0}}, {{0xff, 2, [15] = 1}}, {{0}}};
	struct wire_nd_msg msg;
	uint8_t frame[128];
	size_t i;
	size_t n;

	(void)state;
	for (i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		n = make_echo(frame, &sources[i]);
		assert_int_equal(parse(frame, n, &msg), BASE_DROP_IP_HEADER);
		assert_int_equal(msg.kind, WIRE_ND_NONE);
	}
}

/* RFC 1112, 6.4 and RFC 2464, 7. */
static void test_group_link_addresses(void **state)
{
	static const struct wire_addr ip4 = {{[10] = 0xff, 0xff, 239, 0x81, 2, 3}};
	static const struct wire_addr ip6 = {{0xff, 0x0e, [12] = 9, 8, 7, 6}};
	uint8_t mac[6];

	(void)state;
	assert_true(wire_mcast_mac(&ip4, mac));
	assert_memory_equal(mac, "\x01\x00\x5e\x01\x02\x03", 6);
	assert_true(wire_mcast_mac(&ip6, mac));
	assert_memory_equal(mac, "\x33\x33\x09\x08\x07\x06", 6);
	assert_false(wire_mcast_mac(&our_ip4, mac));
	assert_false(wire_mcast_mac(&our_ip6, mac));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arp_request_and_reply),
		cmocka_unit_test(test_arp_wrong_in_one_way),
		cmocka_unit_test(test_solicit_and_advert),
		cmocka_unit_test(test_duplicate_address_detection),
		cmocka_unit_test(test_nd_wrong_in_one_way),
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_echo_from_no_host_is_refused),
		cmocka_unit_test(test_group_link_addresses),
	};

	return cmocka_run_group_tests_name("wire_arp_nd", tests, NULL, NULL);
}
