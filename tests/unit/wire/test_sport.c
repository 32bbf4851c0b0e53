/* SPDX-License-Identifier: BSD-3-Clause */
/* wire_sport.h: another UDP source port is what the packet would have been had it been sent with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire_icrc.h"
#include "wire_sport.h"

#define UDP_SPORT 0xc123
#define MOST      9600u

static uint8_t frame[MOST + 256], want[MOST + 256];

/* A WRITE ONLY with this payload, its ICRC right. */
static void make(uint8_t version, bool has_vlan, uint16_t payload_bytes, struct wire_pkt *pkt)
{
	struct wire_l2l3 net = {.has_vlan = has_vlan, .vlan_tci = 7};

	memset(&net.src, version == 6 ? 0xfd : 0, sizeof(net.src));
	memset(&net.dst, version == 6 ? 0xfc : 0, sizeof(net.dst));
	if (version == 4) {
		memcpy(net.src.b + 10, (uint8_t[]){0xff, 0xff, 10, 1, 2, 3}, 6);
		memcpy(net.dst.b + 10, (uint8_t[]){0xff, 0xff, 10, 1, 2, 4}, 6);
	}
	memset(pkt, 0, sizeof(*pkt));
	pkt->kind = WIRE_KIND_ROCE_V2;
	pkt->opcode = WIRE_RC_WRITE_ONLY;
	pkt->l3_version = version;
	pkt->has_vlan = has_vlan;
	pkt->ttl = 64;
	pkt->udp_sport = UDP_SPORT;
	pkt->pkey = 0xffff;
	pkt->dqpn = 0x123456;
	pkt->psn = payload_bytes;
	pkt->payload_bytes = payload_bytes;
	pkt->pad = (uint8_t)(-payload_bytes & 3);
	wire_write(frame, &net, pkt);
	for (uint32_t i = 0; i < payload_bytes; i++)
		frame[pkt->payload_off + i] = (uint8_t)(i * 7 + payload_bytes);
	wire_seal(frame, pkt);
	assert_int_equal(wire_parse(frame, pkt->frame_bytes, pkt), BASE_DROP_NONE);
}

/* The sum of the pseudo header and of all of UDP: 0xffff where the checksum is right (RFC 768; RFC 8200, 8.1). */
static uint16_t sum_of_udp(const uint8_t *f, const struct wire_pkt *pkt)
{
	uint16_t n = (uint16_t)(pkt->frame_bytes - pkt->l4_off);
	size_t addrs = pkt->l3_version == 6 ? 32 : 8;
	uint64_t sum = 17u + n;

	for (size_t i = 0; i < addrs; i += 2)
		sum += (uint32_t)f[pkt->l4_off - addrs + i] << 8 | f[pkt->l4_off - addrs + i + 1];
	for (size_t i = 0; i < n; i++)
		sum += (uint32_t)f[pkt->l4_off + i] << (i % 2 == 0 ? 8 : 0);
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void put_csum(uint8_t *f, struct wire_pkt *pkt, uint16_t wrong)
{
	uint16_t csum;

	memset(f + pkt->l4_off + 6, 0, 2);
	csum = (uint16_t)~sum_of_udp(f, pkt);
	csum = (uint16_t)(csum + wrong);
	csum = csum != 0 ? csum : 0xffff;
	f[pkt->l4_off + 6] = (uint8_t)(csum >> 8);
	f[pkt->l4_off + 7] = (uint8_t)csum;
	pkt->udp_csum = csum;
}

/* What it would be if it had been made with that port. */
static void expect(uint16_t sport, const struct wire_pkt *pkt)
{
	memcpy(want, frame, sizeof(want));
	want[pkt->l4_off] = (uint8_t)(sport >> 8);
	want[pkt->l4_off + 1] = (uint8_t)sport;
	wire_icrc_store(want + pkt->frame_bytes - WIRE_ICRC_BYTES,
		wire_icrc(want + pkt->l3_off, (size_t)(pkt->frame_bytes - pkt->l3_off - WIRE_ICRC_BYTES)));
}

/* Every length of the payload, both versions, with and without a tag. */
static void as_if_made_with_it(void **state)
{
	struct wire_pkt pkt;

	(void)state;
	for (uint16_t bytes = 0; bytes <= MOST; bytes++) {
		uint16_t sport = (uint16_t)(0xc000 | (bytes * 0x9e37u >> 2));

		make(bytes & 1 ? 6 : 4, bytes & 2, bytes, &pkt);
		expect(sport, &pkt);
		wire_set_sport(frame, &pkt, sport);
		assert_int_equal(pkt.udp_sport, sport);
		assert_memory_equal(frame, want, sizeof(frame));
		make(bytes & 1 ? 4 : 6, bytes & 2, bytes, &pkt);
		expect((uint16_t)~sport, &pkt);
		wire_set_sport(frame, &pkt, (uint16_t)~sport);
		assert_memory_equal(frame, want, sizeof(frame));
	}
}

static void every_port(void **state)
{
	struct wire_pkt pkt;

	(void)state;
	make(4, false, 64, &pkt);
	for (uint32_t sport = 0; sport <= UINT16_MAX; sport++) {
		wire_set_sport(frame, &pkt, (uint16_t)sport);
		assert_true(wire_icrc_ok(frame, &pkt));
	}
}

/* All distances that 16 bits can say, against the CRC byte by byte. */
static void every_distance(void **state)
{
	uint32_t crc = 0;

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t bit = crc ^ (0xbeefu >> (i < 8 ? 8 + i : i - 8) & 1);

		crc = bit & 1 ? (bit >> 1) ^ 0xedb88320u : bit >> 1;
	}
	/* So far the CRC of the two bytes with nothing behind them. */
	for (uint32_t bytes = 4; bytes <= UINT16_MAX; bytes++) {
		assert_int_equal(wire_sport_crc(0xbeef, (uint16_t)bytes), crc);
		for (uint32_t i = 0; i < 8; i++)
			crc = crc & 1 ? (crc >> 1) ^ 0xedb88320u : crc >> 1;
	}
	assert_int_equal(wire_sport_crc(0, 1000), 0);
}

static void wrong_icrc_stays_wrong(void **state)
{
	struct wire_pkt pkt;
	uint32_t wrong;
	uint8_t *icrc;

	(void)state;
	for (uint32_t bit = 0; bit < 32; bit++) {
		make(6, false, 1000, &pkt);
		icrc = frame + pkt.frame_bytes - WIRE_ICRC_BYTES;
		icrc[bit / 8] ^= (uint8_t)(1u << bit % 8);
		wire_set_sport(frame, &pkt, 0xffff);
		assert_false(wire_icrc_ok(frame, &pkt));
		wrong = wire_icrc_load(icrc);
		expect(0xffff, &pkt);
		assert_int_equal(wrong ^ wire_icrc_load(want + pkt.frame_bytes - WIRE_ICRC_BYTES), 1u << bit);
	}
}

static void checksum_follows(void **state)
{
	struct wire_pkt pkt;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		make(i & 1 ? 6 : 4, false, (uint16_t)(i % 300), &pkt);
		put_csum(frame, &pkt, 0);
		assert_int_equal(sum_of_udp(frame, &pkt), 0xffff);
		wire_set_sport(frame, &pkt, (uint16_t)(i * 40503u));
		assert_int_equal(sum_of_udp(frame, &pkt), 0xffff);
		assert_int_not_equal(pkt.udp_csum, 0);
		assert_true(wire_icrc_ok(frame, &pkt));
	}
}

/* A length that is not a multiple of two: the ICRC begins in the middle of a word. */
static void checksum_follows_at_odd_lengths(void **state)
{
	struct wire_pkt pkt;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		make(4, false, 200, &pkt);
		pkt.frame_bytes = (uint16_t)(pkt.frame_bytes - 1 - 2 * (i % 7));
		put_csum(frame, &pkt, 0);
		wire_set_sport(frame, &pkt, (uint16_t)(i * 40503u));
		assert_int_equal(sum_of_udp(frame, &pkt), 0xffff);
	}
}

static void wrong_checksum_stays_wrong_and_none_stays_none(void **state)
{
	struct wire_pkt pkt;
	uint16_t before;

	(void)state;
	make(4, false, 128, &pkt);
	put_csum(frame, &pkt, 77);
	before = sum_of_udp(frame, &pkt);
	assert_int_not_equal(before, 0xffff);
	wire_set_sport(frame, &pkt, 0xd00d);
	assert_int_equal(sum_of_udp(frame, &pkt), before);

	make(4, false, 128, &pkt);
	assert_int_equal(pkt.udp_csum, 0);
	wire_set_sport(frame, &pkt, 0xd00d);
	assert_int_equal(frame[pkt.l4_off + 6] | frame[pkt.l4_off + 7], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_if_made_with_it),
		cmocka_unit_test(every_port),
		cmocka_unit_test(every_distance),
		cmocka_unit_test(wrong_icrc_stays_wrong),
		cmocka_unit_test(checksum_follows),
		cmocka_unit_test(checksum_follows_at_odd_lengths),
		cmocka_unit_test(wrong_checksum_stays_wrong_and_none_stays_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
