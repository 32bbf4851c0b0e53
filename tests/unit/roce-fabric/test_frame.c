/* SPDX-License-Identifier: BSD-3-Clause */
/* What roce-fabric sees of frames: flows as RFC 2992 and RFC 6438 have ECMP look at them, priorities, marks, pauses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rf_frame.h"

#define MAX 200u

struct made {
	uint8_t b[MAX];
	size_t n;
};

static void add(struct made *f, const void *bytes, size_t n)
{
	memcpy(f->b + f->n, bytes, n);
	f->n += n;
}

static void ether(struct made *f, const char *tags, size_t n_tags, uint16_t type)
{
	uint8_t be[2] = {(uint8_t)(type >> 8), (uint8_t)type};

	f->n = 0;
	add(f, "\x02\0\0\0\0\2\x02\0\0\0\0\1", 12);
	add(f, tags, n_tags);
	add(f, be, 2);
}

/* frag: flags and offset. */
static void ip4(struct made *f, uint8_t tos, uint16_t frag, uint8_t proto, uint8_t last, uint16_t sport)
{
	uint8_t ip[20] = {0x45, tos, 0, 100, 0, 7, (uint8_t)(frag >> 8), (uint8_t)frag, 64, proto, 0, 0, 10, 0, 0, 1,
		10, 0, 0, last};
	uint8_t udp[8] = {(uint8_t)(sport >> 8), (uint8_t)sport, 0x12, 0xb7};

	add(f, ip, sizeof(ip));
	add(f, udp, sizeof(udp));
}

static void ip6(struct made *f, uint8_t traffic_class, uint8_t last, uint16_t sport)
{
	uint8_t ip[40] = {(uint8_t)(0x60 | traffic_class >> 4), (uint8_t)(traffic_class << 4), 0, 0, 0, 60, 17, 64};
	uint8_t udp[8] = {(uint8_t)(sport >> 8), (uint8_t)sport, 0x12, 0xb7};

	ip[8] = ip[24] = 0xfd;
	ip[23] = 1;
	ip[39] = last;
	add(f, ip, sizeof(ip));
	add(f, udp, sizeof(udp));
}

static struct rf_frame parse(const struct made *f)
{
	struct rf_frame out;

	rf_frame_parse(f->b, f->n, &out);
	return out;
}

static uint32_t flow4(const char *tags, size_t n_tags, uint8_t tos, uint16_t frag, uint8_t proto, uint8_t last,
	uint16_t sport)
{
	struct made f;

	ether(&f, tags, n_tags, 0x0800);
	ip4(&f, tos, frag, proto, last, sport);
	return parse(&f).flow;
}

static void test_flow4(void **state)
{
	uint32_t base = flow4("", 0, 0, 0x4000, 17, 2, 49152);

	(void)state;
	assert_int_equal(flow4("", 0, 0xff, 0x4000, 17, 2, 49152), base);
	assert_int_equal(flow4("\x81\0\xe0\5", 4, 0, 0x4000, 17, 2, 49152), base);
	assert_int_equal(flow4("\x88\xa8\0\1\x81\0\xe0\5", 8, 0, 0x4000, 17, 2, 49152), base);
	assert_int_not_equal(flow4("", 0, 0, 0x4000, 17, 2, 49153), base);
	assert_int_not_equal(flow4("", 0, 0, 0x4000, 17, 3, 49152), base);
	assert_int_not_equal(flow4("", 0, 0, 0x4000, 6, 2, 49152), base);
	/* ICMP has no ports, whatever lies where they would be */
	assert_int_equal(flow4("", 0, 0, 0, 1, 2, 1), flow4("", 0, 0, 0, 1, 2, 2));
}

/* The first fragment has ports and the others have none: all of a datagram go one way. */
static void test_fragments(void **state)
{
	uint32_t first = flow4("", 0, 0, 0x2000, 17, 2, 1);

	(void)state;
	assert_int_equal(flow4("", 0, 0, 0x20b9, 17, 2, 9999), first);
	assert_int_equal(flow4("", 0, 0, 0x0172, 17, 2, 77), first);
}

static void test_flow6(void **state)
{
	struct made a, b, c;

	(void)state;
	ether(&a, "", 0, 0x86dd);
	ip6(&a, 2, 9, 50000);
	ether(&b, "", 0, 0x86dd);
	ip6(&b, 3, 9, 50000);
	ether(&c, "", 0, 0x86dd);
	ip6(&c, 2, 9, 50001);
	assert_int_equal(parse(&a).flow, parse(&b).flow);
	assert_int_not_equal(parse(&a).flow, parse(&c).flow);
	assert_int_equal(parse(&a).ip_version, 6);
	assert_int_equal(parse(&a).ip_off, 14);
}

/* 64 UDP ports fall on 4 paths about evenly. */
static void test_spread(void **state)
{
	uint32_t hits[4] = {0};

	(void)state;
	for (uint16_t port = 0; port < 1024; port++)
		hits[flow4("", 0, 0, 0x4000, 17, 2, (uint16_t)(0xc000 + port)) % 4]++;
	for (int i = 0; i < 4; i++)
		assert_in_range(hits[i], 200, 312);
}

static void test_no_ip(void **state)
{
	struct made arp, other;

	(void)state;
	ether(&arp, "", 0, 0x0806);
	add(&arp, "\0\1\x08\0\6\4\0\1", 8);
	ether(&other, "", 0, 0x0806);
	add(&other, "\0\1\x08\0\6\4\0\2", 8);
	assert_int_equal(parse(&arp).kind, RF_FORWARD);
	assert_int_equal(parse(&arp).ip_version, 0);
	assert_int_equal(parse(&arp).flow, parse(&other).flow);
	other.b[11] ^= 1;
	assert_int_not_equal(parse(&arp).flow, parse(&other).flow);
}

static void test_ecn_and_priority(void **state)
{
	struct made f;

	(void)state;
	for (uint8_t ecn = 0; ecn < 4; ecn++) {
		ether(&f, "\x81\0\xe0\5", 4, 0x0800);
		ip4(&f, (uint8_t)(46 << 2 | ecn), 0, 17, 2, 1);
		assert_int_equal(parse(&f).ect, ecn != 0);
		assert_int_equal(parse(&f).ce, ecn == 3);
		assert_int_equal(parse(&f).priority, 7);
		assert_int_equal(parse(&f).ip_off, 18);
		ether(&f, "", 0, 0x86dd);
		ip6(&f, (uint8_t)(46 << 2 | ecn), 2, 1);
		assert_int_equal(parse(&f).ect, ecn != 0);
		assert_int_equal(parse(&f).ce, ecn == 3);
		assert_int_equal(parse(&f).priority, 0);
	}
}

/* IEEE 802.1Qbb: vector and quanta; IEEE 802.3 annex 31B: all priorities. */
static void test_pauses(void **state)
{
	struct made f;
	struct rf_frame got;

	(void)state;
	ether(&f, "", 0, 0x8808);
	memcpy(f.b, "\x01\x80\xc2\0\0\1", 6);
	add(&f, "\1\1\0\x0a\0\0\0\5\0\0\xff\xff\0\0\0\0\0\0\0\0", 20);
	got = parse(&f);
	assert_int_equal(got.kind, RF_PAUSE);
	assert_int_equal(got.pause.named, 0x0a);
	assert_int_equal(got.pause.quanta[1], 5);
	assert_int_equal(got.pause.quanta[3], 0xffff);
	f.n--;
	assert_int_equal(parse(&f).kind, RF_SHORT);
	f.n = 14;
	add(&f, "\0\1\1\0", 4);
	got = parse(&f);
	assert_int_equal(got.kind, RF_PAUSE);
	assert_int_equal(got.pause.named, 0xff);
	assert_int_equal(got.pause.quanta[7], 256);
	f.n = 14;
	add(&f, "\0\2\1\0", 4);
	assert_int_equal(parse(&f).kind, RF_LINK_LOCAL);
}

/* IEEE 802.1Q, table 8-1. */
static void test_link_local(void **state)
{
	struct made f;

	(void)state;
	ether(&f, "", 0, 0x88cc);
	add(&f, "lldp", 4);
	memcpy(f.b, "\x01\x80\xc2\0\0\x0e", 6);
	assert_int_equal(parse(&f).kind, RF_LINK_LOCAL);
	f.b[5] = 0x10;
	assert_int_equal(parse(&f).kind, RF_FORWARD);
}

/* Each frame cut at each byte, in memory of that size, so that a sanitizer sees a read behind it. */
static void test_cut(void **state)
{
	struct made frames[4];

	(void)state;
	ether(&frames[0], "\x88\xa8\0\1\x81\0\xe0\5", 8, 0x0800);
	ip4(&frames[0], 2, 0, 17, 2, 1);
	ether(&frames[1], "\x81\0\xe0\5", 4, 0x86dd);
	ip6(&frames[1], 2, 2, 1);
	ether(&frames[2], "", 0, 0x8808);
	add(&frames[2], "\1\1\0\x0a\0\0\0\5\0\0\xff\xff\0\0\0\0\0\0\0\0", 20);
	ether(&frames[3], "", 0, 0x0800);
	ip4(&frames[3], 2, 0, 17, 2, 1);
	frames[3].b[14] = 0x4f; /* options that are not there */
	for (int i = 0; i < 4; i++) {
		for (size_t n = 0; n <= frames[i].n; n++) {
			uint8_t *copy = malloc(n != 0 ? n : 1);
			struct rf_frame got;

			assert_non_null(copy);
			memcpy(copy, frames[i].b, n);
			rf_frame_parse(copy, n, &got);
			assert_int_equal(got.kind == RF_SHORT, n < 14 || (i == 2 && n < frames[i].n));
			assert_true(got.ip_version == 0 || got.ip_off + 20u <= n);
			free(copy);
		}
	}
	assert_int_equal(parse(&frames[3]).ip_version, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow4),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_flow6),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_no_ip),
		cmocka_unit_test(test_ecn_and_priority),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_link_local),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests_name("roce-fabric-frame", tests, NULL, NULL);
}
