/* SPDX-License-Identifier: BSD-3-Clause */
/* wire_icmp.h: who hears that a packet was too long, and what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire_arp_nd.h"
#include "wire_icmp.h"
#include "wire_psp.h"

#define ETH 14u

static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t host_mac[6] = {2, 0, 0, 0, 0, 2};
static const struct wire_addr host4 = {{[10] = 0xff, 0xff, 192, 0, 2, 2}}, far4 = {{[10] = 0xff, 0xff, 192, 0, 2, 9}};
static const struct wire_addr our4 = {{[10] = 0xff, 0xff, 198, 51, 100, 1}};
static const struct wire_addr host6 = {{0xfd, [15] = 2}}, far6 = {{0xfd, [15] = 9}}, our6 = {{0xfd, 1, [15] = 1}};

static uint8_t frame[4096], answer[WIRE_ICMP_FRAME_MAX];
static struct wire_pkt pkt;

/* A frame of a host, with so many bytes behind UDP. */
static void make(const struct wire_addr *src, const struct wire_addr *dst, bool vlan, size_t bytes)
{
	static const uint8_t data[3900];
	struct wire_l2l3 net = {.src = *src, .dst = *dst, .has_vlan = vlan, .vlan_tci = 0x6005};
	size_t n;

	memcpy(net.dmac, our_mac, 6);
	memcpy(net.smac, host_mac, 6);
	n = wire_udp_write(frame, &net, 50000, WIRE_ROCE_PORT, data, bytes);
	(void)wire_parse(frame, n, &pkt);
	/* What stands there is no RoCE, which is nothing to who answers. */
	pkt.frame_bytes = (uint16_t)n;
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* RFC 791, RFC 792, RFC 1191. */
static void over_ip4(void **state)
{
	const uint8_t *ip = answer + ETH, *icmp = ip + 20;
	size_t n;

	(void)state;
	make(&host4, &far4, false, 3000);
	n = wire_icmp_too_big(answer, frame, &pkt, &our4, our_mac, 1400);
	assert_int_equal(n, ETH + 576);
	assert_memory_equal(answer, host_mac, 6);
	assert_memory_equal(answer + 6, our_mac, 6);
	assert_int_equal(get16(answer + 12), 0x0800);
	assert_int_equal(get16(ip + 2), 576);
	assert_int_equal(wire_csum_fold(wire_csum_add(0, ip, 20)), 0);
	assert_int_equal(ip[9], 1);
	assert_memory_equal(ip + 12, our4.b + 12, 4);
	assert_memory_equal(ip + 16, host4.b + 12, 4);
	assert_int_equal(icmp[0], 3);
	assert_int_equal(icmp[1], 4);
	assert_int_equal(get16(icmp + 6), 1400);
	assert_int_equal(wire_csum_fold(wire_csum_add(0, icmp, 556)), 0);
	assert_memory_equal(icmp + 8, frame + ETH, 548);
}

/* RFC 4443, 3.2 and 2.4(c). */
static void over_ip6(void **state)
{
	const uint8_t *ip = answer + ETH + 4, *icmp = ip + 40;
	uint8_t pseudo[40] = {[34] = 0, [35] = 0, [39] = 58};
	size_t n;

	(void)state;
	make(&host6, &far6, true, 3000);
	n = wire_icmp_too_big(answer, frame, &pkt, &our6, our_mac, 2000);
	assert_int_equal(n, ETH + 4 + 1280);
	assert_int_equal(get16(answer + 12), 0x8100);
	assert_int_equal(get16(answer + 14), 0x6005);
	assert_int_equal(ip[6], 58);
	assert_memory_equal(ip + 24, host6.b, 16);
	assert_int_equal(icmp[0], 2);
	assert_int_equal(get16(icmp + 6), 2000);
	memcpy(pseudo, ip + 8, 32);
	pseudo[34] = ip[4];
	pseudo[35] = ip[5];
	assert_int_equal(wire_csum_fold(wire_csum_add(wire_csum_add(0, pseudo, 40), icmp, get16(ip + 4))), 0);
	assert_memory_equal(icmp + 8, frame + ETH + 4, 1280 - 48);
}

static void a_short_packet_is_quoted_whole(void **state)
{
	(void)state;
	make(&host4, &far4, false, 100);
	assert_int_equal(wire_icmp_too_big(answer, frame, &pkt, &our4, our_mac, 68), ETH + 20 + 8 + 20 + 8 + 100);
}

/* RFC 1122, 3.2.2; RFC 4443, 2.4(e): no answer to a group's packet, or to nobody. */
static void who_hears_nothing(void **state)
{
	static const struct wire_addr nobody4 = {{[10] = 0xff, 0xff}}, nobody6, group4 = {{[10] = 0xff, 0xff, 224, 0, 0, 9}},
		group6 = {{0xff, 2, [15] = 1}}, all4 = {{[10] = 0xff, 0xff, 255, 255, 255, 255}};
	static const struct {
		const struct wire_addr *src, *dst;
	} pairs[] = {{&nobody4, &far4}, {&nobody6, &far6}, {&host4, &group4}, {&host6, &group6}, {&group4, &far4}, {&host4, &all4}};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		make(pairs[i].src, pairs[i].dst, false, 2000);
		assert_int_equal(wire_icmp_too_big(answer, frame, &pkt, pairs[i].src->b[10] == 0xff ? &our4 : &our6, our_mac, 1400), 0);
	}
	make(&host4, &far4, false, 2000);
	frame[0] |= 1;
	assert_int_equal(wire_icmp_too_big(answer, frame, &pkt, &our4, our_mac, 1400), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_ip4),
		cmocka_unit_test(over_ip6),
		cmocka_unit_test(a_short_packet_is_quoted_whole),
		cmocka_unit_test(who_hears_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
