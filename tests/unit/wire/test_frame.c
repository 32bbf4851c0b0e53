/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames: published vectors, real exchanges, and frames that are wrong in one way each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire_frame.h"
#include "wire_icrc.h"

struct vector {
	const char *id;
	size_t n;
	const uint8_t *frame;
	uint8_t opcode;
	uint32_t dqpn;
	uint32_t psn;
	uint8_t pad;
	uint8_t ack_req;
	uint16_t pkey;
	int v1;
};

#include "vectors.h"

#define N_VECTORS (sizeof(vectors) / sizeof(vectors[0]))

static const struct vector *v2_vector(void)
{
	size_t i;

	for (i = 0; i < N_VECTORS; i++) {
		if (!vectors[i].v1 && vectors[i].opcode == WIRE_RC_SEND_ONLY && vectors[i].n > 60)
			return &vectors[i];
	}
	return NULL;
}

/* A private copy of exactly n bytes, so that a sanitizer sees any read past the end. */
static uint8_t *copy_of(const uint8_t *frame, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	assert_non_null(copy);
	memcpy(copy, frame, n);
	return copy;
}

/* Parses n bytes of a frame in a buffer of just that size. */
static enum base_drop parse_exact(const uint8_t *frame, size_t n, struct wire_pkt *pkt)
{
	uint8_t *copy = copy_of(frame, n);
	enum base_drop reason = wire_parse(copy, n, pkt);

	free(copy);
	return reason;
}

static void test_vectors_parse_with_right_icrc(void **state)
{
	struct wire_pkt pkt;
	size_t i;

	(void)state;
	for (i = 0; i < N_VECTORS; i++) {
		const struct vector *v = &vectors[i];

		assert_int_equal(wire_parse(v->frame, v->n, &pkt), BASE_DROP_NONE);
		assert_true(wire_icrc_ok(v->frame, &pkt));
		assert_int_equal(pkt.kind, v->v1 ? WIRE_KIND_ROCE_V1 : WIRE_KIND_ROCE_V2);
		assert_int_equal(pkt.opcode, v->opcode);
		assert_int_equal(pkt.dqpn, v->dqpn);
		assert_int_equal(pkt.psn, v->psn);
		assert_int_equal(pkt.pad, v->pad);
		assert_int_equal(pkt.ack_req, v->ack_req);
		assert_int_equal(pkt.pkey, v->pkey);
	}
}

/* Builds the frame anew from what was parsed; the bytes must be the same. */
static void rebuild(const uint8_t *frame, const struct wire_pkt *pkt, uint8_t *out)
{
	struct wire_pkt again = *pkt;
	struct wire_l2l3 net = {.vlan_tci = pkt->vlan_tci, .has_vlan = pkt->has_vlan};

	memcpy(net.dmac, frame, 6);
	memcpy(net.smac, frame + 6, 6);
	wire_src(frame, pkt, &net.src);
	wire_dst(frame, pkt, &net.dst);
	assert_int_equal(wire_hdr_bytes(pkt), pkt->payload_off);
	memset(out, 0xa5, pkt->frame_bytes);
	wire_write(out, &net, &again);
	memcpy(out + again.payload_off, frame + pkt->payload_off, pkt->payload_bytes);
	wire_seal(out, &again);
	assert_int_equal(again.frame_bytes, pkt->frame_bytes);
}

static void test_vectors_rebuild_to_the_same_bytes(void **state)
{
	static uint8_t out[16384];
	struct wire_pkt pkt;
	size_t i;

	(void)state;
	for (i = 0; i < N_VECTORS; i++) {
		const struct vector *v = &vectors[i];

		if (v->v1)
			continue;
		assert_int_equal(wire_parse(v->frame, v->n, &pkt), BASE_DROP_NONE);
		rebuild(v->frame, &pkt, out);
		assert_memory_equal(out, v->frame, pkt.frame_bytes);
	}
}

static void test_truncated_frames_are_refused(void **state)
{
	struct wire_pkt pkt;
	size_t i;
	size_t n;

	(void)state;
	for (i = 0; i < N_VECTORS; i++) {
		const struct vector *v = &vectors[i];

		assert_int_equal(wire_parse(v->frame, v->n, &pkt), BASE_DROP_NONE);
		for (n = 0; n < pkt.frame_bytes; n++) {
			struct wire_pkt cut;

			assert_int_not_equal(parse_exact(v->frame, n, &cut), BASE_DROP_NONE);
		}
	}
}

static void test_any_flipped_invariant_bit_breaks_the_icrc(void **state)
{
	const struct vector *v = v2_vector();
	struct wire_pkt pkt;
	struct wire_pkt bad_pkt;
	uint8_t *bad;
	size_t bit;

	(void)state;
	assert_non_null(v);
	assert_int_equal(wire_parse(v->frame, v->n, &pkt), BASE_DROP_NONE);
	for (bit = (size_t)pkt.bth_off * 8; bit < (size_t)pkt.frame_bytes * 8; bit++) {
		if (bit / 8 == (size_t)pkt.bth_off + 4)
			continue; /* FECN, BECN and Resv6 are variant */
		bad = copy_of(v->frame, v->n);
		bad[bit / 8] = (uint8_t)(bad[bit / 8] ^ 1 << bit % 8);
		if (wire_parse(bad, v->n, &bad_pkt) == BASE_DROP_NONE)
			assert_false(wire_icrc_ok(bad, &bad_pkt));
		free(bad);
	}
}

static void test_variant_fields_leave_the_icrc(void **state)
{
	const struct vector *v = v2_vector();
	uint8_t *frame = copy_of(v->frame, v->n);
	struct wire_pkt pkt;

	(void)state;
	assert_int_equal(wire_parse(frame, v->n, &pkt), BASE_DROP_NONE);
	frame[0] ^= 0xff;                     /* Ethernet */
	frame[pkt.bth_off + 4] ^= 0xff;       /* FECN, BECN, Resv6 */
	frame[pkt.l4_off + 6] ^= 0xff;        /* UDP checksum */
	frame[pkt.l3_off + 1] ^= 0xff;        /* traffic class */
	frame[pkt.l3_off + 8] ^= 0xff;        /* TTL */
	assert_true(wire_icrc_ok(frame, &pkt));
	free(frame);
}

/* Sets a byte of the model frame, mends the IPv4 checksum, and says what the parser makes of it. */
static enum base_drop parse_with(size_t off_from_l3, uint8_t value)
{
	const struct vector *v = v2_vector();
	uint8_t *frame = copy_of(v->frame, v->n);
	struct wire_pkt pkt;
	enum base_drop reason;
	uint32_t sum = 0;
	unsigned int i;
	uint8_t *ip;

	assert_int_equal(wire_parse(frame, v->n, &pkt), BASE_DROP_NONE);
	assert_int_equal(pkt.l3_version, 4);
	ip = frame + pkt.l3_off;
	ip[off_from_l3] = value;
	ip[10] = 0;
	ip[11] = 0;
	for (i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip[10] = (uint8_t)(~sum >> 8);
	ip[11] = (uint8_t)~sum;
	reason = parse_exact(frame, v->n, &pkt);
	free(frame);
	return reason;
}

static void test_headers_wrong_in_one_way(void **state)
{
	enum { BTH = 28 };

	(void)state;
	assert_int_equal(parse_with(0, 0x46), BASE_DROP_IP_HEADER);    /* options */
	assert_int_equal(parse_with(6, 0x20), BASE_DROP_IP_HEADER);    /* more fragments */
	assert_int_equal(parse_with(7, 0x01), BASE_DROP_IP_HEADER);    /* fragment offset */
	assert_int_equal(parse_with(2, 0xff), BASE_DROP_TRUNCATED);    /* longer than the frame */
	assert_int_equal(parse_with(25, 0x07), BASE_DROP_IP_LENGTH);   /* UDP length below its header */
	assert_int_equal(parse_with(9, 6), BASE_DROP_NOT_ROCE);        /* TCP */
	assert_int_equal(parse_with(22, 0x13), BASE_DROP_NOT_ROCE);    /* another UDP port */
	assert_int_equal(parse_with(BTH, 0x15), BASE_DROP_OPCODE);     /* reserved opcode */
	assert_int_equal(parse_with(BTH, 0xff), BASE_DROP_OPCODE);
	assert_int_equal(parse_with(BTH + 1, 0x01), BASE_DROP_TVER);
}

static void test_runts_of_every_opcode(void **state)
{
	const struct vector *v = v2_vector();
	struct wire_pkt pkt;
	unsigned int opcode;
	unsigned int n;

	(void)state;
	assert_int_equal(wire_parse(v->frame, v->n, &pkt), BASE_DROP_NONE);
	for (opcode = 0; opcode < 256; opcode++) {
		for (n = 0; n < 16; n++) {
			size_t bytes = (size_t)pkt.bth_off + n;
			uint8_t *frame = copy_of(v->frame, bytes);
			struct wire_pkt runt;

			frame[pkt.l4_off + 4] = 0;
			frame[pkt.l4_off + 5] = (uint8_t)(8 + n);
			if (n)
				frame[pkt.bth_off] = (uint8_t)opcode;
			assert_int_not_equal(wire_parse(frame, bytes, &runt), BASE_DROP_NONE);
			free(frame);
		}
	}
}

static void test_random_frames(void **state)
{
	uint32_t x = 1;
	unsigned int round;

	(void)state;
	for (round = 0; round < 200000; round++) {
		const struct vector *v = &vectors[round % N_VECTORS];
		size_t n = v->n;
		uint8_t *frame;
		struct wire_pkt pkt;
		unsigned int k;

		x = x * 1664525u + 1013904223u;
		if (x & 0x100)
			n = (x >> 9) % (v->n + 1);
		frame = copy_of(v->frame, n);
		for (k = 0; k < 3 && n; k++) {
			x = x * 1664525u + 1013904223u;
			frame[(x >> 8) % n] = (uint8_t)(x >> 24);
		}
		if (wire_parse(frame, n, &pkt) == BASE_DROP_NONE &&
			(pkt.kind == WIRE_KIND_ROCE_V2 || pkt.kind == WIRE_KIND_ROCE_V1)) {
			assert_true(pkt.payload_off + pkt.payload_bytes + pkt.pad + 4 == pkt.frame_bytes);
			assert_true(pkt.frame_bytes <= n);
			(void)wire_icrc_ok(frame, &pkt);
		}
		free(frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors_parse_with_right_icrc),
		cmocka_unit_test(test_vectors_rebuild_to_the_same_bytes),
		cmocka_unit_test(test_truncated_frames_are_refused),
		cmocka_unit_test(test_any_flipped_invariant_bit_breaks_the_icrc),
		cmocka_unit_test(test_variant_fields_leave_the_icrc),
		cmocka_unit_test(test_headers_wrong_in_one_way),
		cmocka_unit_test(test_runts_of_every_opcode),
		cmocka_unit_test(test_random_frames),
	};

	return cmocka_run_group_tests_name("wire_frame", tests, NULL, NULL);
}
