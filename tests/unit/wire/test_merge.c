/* SPDX-License-Identifier: BSD-3-Clause */
/* docs/wire.md, RC_MERGED: field by field, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire_icrc.h"
#include "wire_merge.h"

#define ROOM 4200

static uint8_t frame[ROOM];

/* A SEND of three bytes with immediate data and SE, and a WRITE of four, in a packet; its payload's bytes. */
static uint32_t two(uint8_t *p)
{
	const struct wire_pkt send = {
		.opcode = WIRE_RC_SEND_ONLY_IMM, .solicited = 1, .payload_bytes = 3, .imm = 0x04030201};
	const struct wire_pkt write = {.opcode = WIRE_RC_WRITE_ONLY, .payload_bytes = 4, .va = 0x1122334455667788,
		.rkey = 0x99aabbcc, .dma_bytes = 4};
	uint32_t n = wire_merge_put(p, &send, (const uint8_t *)"abc");

	return n + wire_merge_put(p + n, &write, (const uint8_t *)"wxyz");
}

static struct wire_pkt seal(uint8_t count, const uint8_t *payload, uint32_t bytes)
{
	struct wire_pkt made = {
		.opcode = WIRE_RC_MERGED, .l3_version = 4, .ttl = 64, .udp_sport = 0xc000, .pkey = 0xffff,
		.dqpn = 0x123, .psn = 0xffffff, .ack_req = 1, .merged = count, .payload_bytes = (uint16_t)bytes};
	struct wire_l2l3 net = {.smac = {2}};
	struct wire_pkt pkt;

	made.pad = (uint8_t)(-bytes & 3);
	wire_write(frame, &net, &made);
	memcpy(frame + made.payload_off, payload, bytes);
	wire_seal(frame, &made);
	assert_int_equal(wire_parse(frame, made.frame_bytes, &pkt), BASE_DROP_NONE);
	assert_true(wire_icrc_ok(frame, &pkt));
	return pkt;
}

static void test_layout(void **state)
{
	static const uint8_t bytes[] = {
		0x05, 0x80, 0, 3, 1, 2, 3, 4, 'a', 'b', 'c', 0,
		0x0a, 0, 0, 4, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0, 0, 0, 4,
		'w', 'x', 'y', 'z'};
	uint8_t payload[64];
	struct wire_pkt pkt;

	(void)state;
	assert_int_equal(two(payload), sizeof(bytes));
	assert_memory_equal(payload, bytes, sizeof(bytes));
	assert_int_equal(wire_merge_bytes(WIRE_RC_SEND_ONLY_IMM, 3), 12);
	assert_int_equal(wire_merge_bytes(WIRE_RC_WRITE_ONLY, 4), 24);
	assert_int_equal(wire_merge_bytes(WIRE_RC_SEND_ONLY, 0), 4);
	pkt = seal(2, payload, sizeof(bytes));
	/* BTH, then the count and three zeros. */
	assert_int_equal(frame[pkt.bth_off], 0xc1);
	assert_memory_equal(frame + pkt.bth_off + 12, "\x02\0\0\0", 4);
	assert_int_equal(pkt.payload_off, pkt.bth_off + 16);
	assert_int_equal(pkt.merged, 2);
	assert_string_equal(wire_opinfo(0xc1)->name, "RC_MERGED");
	assert_int_equal(wire_opinfo(0xc1)->service, WIRE_SERVICE_EXT);
	assert_false(wire_op_is(wire_opinfo(0xc1), WIRE_OP_RESPONSE));
}

static void test_read_back(void **state)
{
	uint8_t payload[64];
	struct wire_pkt pkt = seal(2, payload, two(payload)), part;

	(void)state;
	assert_true(wire_merge_ok(frame, &pkt));
	wire_merge_first(frame, &pkt, &part);
	assert_int_equal(part.opcode, WIRE_RC_SEND_ONLY_IMM);
	assert_int_equal(part.psn, 0xffffff);
	assert_int_equal(part.hdrs, WIRE_HDR_IMMDT);
	assert_true(part.solicited);
	assert_true(part.ack_req);
	assert_int_equal(part.imm, 0x04030201);
	assert_int_equal(part.payload_bytes, 3);
	assert_int_equal(part.pad, 1);
	assert_memory_equal(frame + part.payload_off, "abc", 3);
	wire_merge_next(frame, &part);
	assert_int_equal(part.opcode, WIRE_RC_WRITE_ONLY);
	assert_int_equal(part.psn, 0);
	assert_int_equal(part.hdrs, WIRE_HDR_RETH);
	assert_false(part.solicited);
	assert_int_equal(part.va, 0x1122334455667788);
	assert_int_equal(part.rkey, 0x99aabbcc);
	assert_int_equal(part.dma_bytes, 4);
	assert_int_equal(part.pad, 0);
	assert_memory_equal(frame + part.payload_off, "wxyz", 4);
}

/* Whole SENDs and WRITEs of reliable connections, and nothing else. */
static void test_what_may_be_in_one(void **state)
{
	const uint8_t may[] = {0x04, 0x05, 0x0a, 0x0b, 0x17};
	uint32_t n = 0;

	(void)state;
	for (uint32_t op = 0; op < 256; op++)
		n += wire_merge_may((uint8_t)op);
	assert_int_equal(n, sizeof(may));
	for (uint32_t i = 0; i < sizeof(may); i++)
		assert_true(wire_merge_may(may[i]));
}

static void test_malformed(void **state)
{
	uint8_t payload[64], most[WIRE_MERGE_MOST * 4 + 4];
	uint32_t n = two(payload);
	struct wire_pkt pkt;

	(void)state;
	for (uint32_t count = 0; count < 256; count++) {
		pkt = seal((uint8_t)count, payload, n);
		assert_int_equal(wire_merge_ok(frame, &pkt), count == 2);
	}
	/* Every length but the right one. */
	for (uint32_t bytes = 0; bytes <= sizeof(payload); bytes++) {
		pkt = seal(2, payload, bytes);
		assert_int_equal(wire_merge_ok(frame, &pkt), bytes == n);
	}
	/* A message in it that is longer than the packet, or of another kind. */
	payload[15] = 5;
	pkt = seal(2, payload, n);
	assert_false(wire_merge_ok(frame, &pkt));
	payload[14] = payload[15] = 0xff;
	pkt = seal(2, payload, n);
	assert_false(wire_merge_ok(frame, &pkt));
	(void)two(payload);
	payload[12] = WIRE_RC_READ_REQUEST;
	pkt = seal(2, payload, n);
	assert_false(wire_merge_ok(frame, &pkt));
	payload[12] = WIRE_RC_MERGED;
	pkt = seal(2, payload, n);
	assert_false(wire_merge_ok(frame, &pkt));
	/* Empty SENDs: one more than may be. */
	memset(most, 0, sizeof(most));
	for (uint32_t i = 0; i < sizeof(most); i += 4)
		most[i] = WIRE_RC_SEND_ONLY;
	pkt = seal(WIRE_MERGE_MOST, most, WIRE_MERGE_MOST * 4);
	assert_true(wire_merge_ok(frame, &pkt));
	pkt = seal(WIRE_MERGE_MOST + 1, most, sizeof(most));
	assert_false(wire_merge_ok(frame, &pkt));
	/* One alone is a packet of its own. */
	pkt = seal(1, most, 4);
	assert_false(wire_merge_ok(frame, &pkt));
}

/* Receivers do not look at what is reserved; whoever writes a packet again that was read writes that, too. */
static void test_reserved_is_kept(void **state)
{
	uint8_t payload[64], before[4], again[4];
	struct wire_pkt pkt = seal(2, payload, two(payload)), part;

	(void)state;
	memcpy(frame + pkt.bth_off + 12, "\x02\x80\x01\xff", 4);
	wire_seal(frame, &pkt);
	memcpy(before, frame + pkt.bth_off + 12, 4);
	assert_int_equal(wire_parse(frame, pkt.frame_bytes, &pkt), BASE_DROP_NONE);
	assert_int_equal(pkt.merged, 2);
	assert_true(wire_merge_ok(frame, &pkt));
	wire_write_ext(again, WIRE_RC_MERGED, &pkt);
	assert_memory_equal(again, before, 4);
	wire_merge_first(frame, &pkt, &part);
	assert_int_equal(part.merge_resv, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_what_may_be_in_one),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_reserved_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
