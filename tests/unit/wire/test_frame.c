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
#include "wire_sack.h"

struct vector {
	const char *id;
	size_t n;
	const uint8_t *frame;
	uint8_t opcode;
	uint32_t dqpn;
	uint32_t psn;
	uint8_t pad;
	uint8_t ack_req;
	uint8_t se;
	uint8_t migreq;
	uint8_t fecn_becn;
	uint16_t pkey;
	const uint8_t *icrc;
	int has_aeth;
	uint8_t syndrome;
	uint32_t msn;
	int v1;
	int v6;
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
		assert_int_equal(pkt.solicited, v->se);
		assert_int_equal(pkt.migreq, v->migreq);
		assert_int_equal(pkt.fecn << 1 | pkt.becn, v->fecn_becn);
		assert_int_equal(pkt.l3_version, v->v6 ? 6 : 4);
		assert_memory_equal(v->frame + pkt.frame_bytes - WIRE_ICRC_BYTES, v->icrc, WIRE_ICRC_BYTES);
		assert_int_equal((pkt.hdrs & WIRE_HDR_AETH) != 0, v->has_aeth);
		assert_int_equal(pkt.syndrome, v->syndrome);
		assert_int_equal(pkt.msn, v->msn);
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

/* A frame with payload 1, 2, 3 ... and all header fields different from each other and not zero. */
static uint8_t *make_frame(uint8_t opcode, uint8_t l3_version, bool vlan, struct wire_pkt *pkt)
{
	struct wire_l2l3 net = {
		.dmac = {2, 1, 2, 3, 4, 5},
		.smac = {2, 6, 7, 8, 9, 10},
		.src = {{0xfd, 1, [15] = 1}},
		.dst = {{0xfd, 2, [15] = 2}},
		.vlan_tci = 0x6123,
		.has_vlan = vlan,
	};
	uint8_t *frame;
	size_t i;

	*pkt = (struct wire_pkt){.opcode = opcode, .l3_version = l3_version, .has_vlan = vlan,
		.pad = 3, .payload_bytes = 61, .tos = 0x6a, .ttl = 63, .udp_sport = 0xc123, .ip_id = 0x4321,
		.ip_frag = 0x4000, .udp_csum = 0x9876, .flow_label = 0xabcde, .pkey = 0x8001, .solicited = 1,
		.migreq = 1, .fecn = 1, .becn = 1, .ack_req = 1, .resv6 = 0x2a, .resv7 = 0x55,
		.dqpn = 0x123456, .psn = 0xfffffe, .qkey = 0x11223344, .sqpn = 0x654321, .deth_resv = 0x77,
		.va = 0x1122334455667788, .rkey = 0x99aabbcc, .dma_bytes = 0x01020304,
		.swap_add = 0xa1a2a3a4a5a6a7a8, .compare = 0xb1b2b3b4b5b6b7b8, .imm = 0xdeadbeef,
		.msn = 0xabcdef, .syndrome = 0x61, .feth = 0x00c0ffee};
	if (l3_version == 4) {
		memcpy(net.src.b, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\1", 16);
		memcpy(net.dst.b, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\2", 16);
	}
	frame = calloc(1, WIRE_MAX_HDR_BYTES + 68);
	assert_non_null(frame);
	assert_true(wire_hdr_bytes(pkt) <= WIRE_MAX_HDR_BYTES);
	wire_write(frame, &net, pkt);
	for (i = 0; i < pkt->payload_bytes; i++)
		frame[pkt->payload_off + i] = (uint8_t)(i + 1);
	wire_seal(frame, pkt);
	return frame;
}

/* IBTA 9.2, tables 38 and 39: what is written is read again, reserved bits too, for every opcode. */
static void test_every_opcode_parses_and_rebuilds(void **state)
{
	static uint8_t out[256];
	struct wire_pkt made;
	struct wire_pkt pkt;
	unsigned int op;
	uint8_t *frame;
	int shape;

	(void)state;
	for (op = 0; op < 256; op++) {
		if (!wire_opinfo((uint8_t)op)->name)
			continue;
		for (shape = 0; shape < 4; shape++) {
			frame = make_frame((uint8_t)op, shape & 1 ? 6 : 4, (shape & 2) != 0, &made);
			assert_int_equal(parse_exact(frame, made.frame_bytes, &pkt), BASE_DROP_NONE);
			assert_int_equal(pkt.payload_bytes, 61);
			assert_int_equal(pkt.has_vlan, made.has_vlan);
			assert_int_equal(pkt.vlan_tci, made.has_vlan ? 0x6123 : 0);
			assert_true(wire_icrc_ok(frame, &pkt));
			if ((pkt.hdrs & WIRE_HDR_DETH) != 0)
				assert_int_equal(pkt.deth_resv, made.deth_resv);
			if ((pkt.hdrs & WIRE_HDR_RDETH) != 0)
				assert_int_equal(pkt.rdeth, made.rdeth);
			if ((pkt.hdrs & WIRE_HDR_XRCETH) != 0)
				assert_int_equal(pkt.xrceth, made.xrceth);
			rebuild(frame, &pkt, out);
			assert_memory_equal(out, frame, made.frame_bytes);
			free(frame);
		}
	}
}

/* What it tells of further packets, behind the SACKETH. */
static void test_sack_echo_layout(void **state)
{
	static const uint8_t bytes[WIRE_SACK_ECHO_BYTES] = {0xc0, 1, 2, 3, 0xc1, 0x23, 0x45, 0x67};
	const struct wire_sack_echo made = {WIRE_SACK_MARKED | WIRE_SACK_REFUSED | 0x010203, 0xc123, 0x4567};
	uint8_t out[WIRE_SACK_ECHO_BYTES];
	struct wire_sack_echo echo;

	(void)state;
	wire_sack_put(out, &made);
	assert_memory_equal(out, bytes, sizeof(bytes));
	wire_sack_get(out, &echo);
	assert_int_equal(echo.echo, made.echo);
	assert_int_equal(echo.udp_sport, made.udp_sport);
	assert_int_equal(echo.wait, made.wait);
	assert_int_equal(wire_sack_wait(63), 0);
	assert_int_equal(wire_sack_wait(640), 10);
	assert_int_equal(wire_sack_wait(UINT64_MAX), WIRE_SACK_WAIT_MAX);
}

/* docs/wire.md, field by field. */
static void test_sack_layout(void **state)
{
	static const uint8_t sacketh[16] = {1, 2, 3, 4, 5, 6, 7, 8, 0x83, 0xab, 0xcd, 0xef, 0x2a, 0, 0x12, 0x34};
	struct wire_pkt made, pkt;
	uint8_t *frame = make_frame(WIRE_RC_SACK, 4, false, &made);
	struct wire_l2l3 net = {.smac = {2}};
	size_t end;

	(void)state;
	assert_string_equal(wire_opinfo(WIRE_RC_SACK)->name, "RC_SACK");
	assert_int_equal(wire_opinfo(WIRE_RC_SACK)->service, WIRE_SERVICE_EXT);
	assert_true(wire_op_is(wire_opinfo(WIRE_RC_SACK), WIRE_OP_RESPONSE));
	made.payload_bytes = 0;
	made.pad = 0;
	made.sack_map = 0x0102030405060708;
	made.sack_echo = WIRE_SACK_MARKED | 3u << WIRE_SACK_BLOCK_SHIFT | 0xabcdef;
	made.sack_senders = 42;
	made.sack_wait = 0x1234;
	wire_write(frame, &net, &made);
	wire_seal(frame, &made);
	/* BTH, AETH, SACKETH, ICRC. */
	assert_int_equal(made.payload_off, made.bth_off + 12 + 4 + 16);
	assert_memory_equal(frame + made.bth_off + 16, sacketh, sizeof(sacketh));
	assert_int_equal(parse_exact(frame, made.frame_bytes, &pkt), BASE_DROP_NONE);
	assert_true(wire_icrc_ok(frame, &pkt));
	assert_int_equal(pkt.sack_map, made.sack_map);
	assert_int_equal(pkt.sack_echo, made.sack_echo);
	assert_int_equal(pkt.sack_senders, 42);
	assert_int_equal(pkt.sack_more, 0);
	assert_int_equal(pkt.sack_wait, 0x1234);
	assert_int_equal(pkt.syndrome, made.syndrome);
	/* A byte less, as IP and UDP say, and the header does not fit. */
	end = made.frame_bytes - 1u;
	made.payload_bytes = (uint16_t)-1;
	wire_write(frame, &net, &made);
	assert_int_equal(made.frame_bytes, end);
	assert_int_equal(parse_exact(frame, end, &pkt), BASE_DROP_BTH_LENGTH);
	free(frame);
}

/* Annex A14: XRCETH, of eight reserved bits and the number, stands right behind the BTH of every request, and of no
 * response; the rest is as in RC. */
static void test_xrceth_of_requests(void **state)
{
	static const uint8_t xrceth[4] = {0x00, 0xc0, 0xff, 0xee};
	struct wire_pkt pkt;

	(void)state;
	for (uint8_t operation = 0; operation < 0x18; operation++) {
		const struct wire_opinfo *xrc = wire_opinfo(WIRE_XRC_SEND_FIRST | operation);
		const struct wire_opinfo *rc = wire_opinfo(operation);
		uint8_t *frame;

		assert_int_equal(xrc->name == NULL, rc->name == NULL);
		if (rc->name == NULL)
			continue;
		assert_string_equal(xrc->name + 4, rc->name + 3);
		assert_int_equal(xrc->service, WIRE_SERVICE_XRC);
		assert_int_equal(xrc->flags.bits, rc->flags.bits);
		if (wire_op_is(rc, WIRE_OP_RESPONSE)) {
			assert_int_equal(xrc->hdrs, rc->hdrs);
			continue;
		}
		assert_int_equal(xrc->hdrs, rc->hdrs | WIRE_HDR_XRCETH);
		assert_int_equal(xrc->hdr_bytes, rc->hdr_bytes + 4);
		frame = make_frame(WIRE_XRC_SEND_FIRST | operation, 4, false, &pkt);
		assert_memory_equal(frame + pkt.bth_off + 12, xrceth, sizeof(xrceth));
		free(frame);
	}
}

/* Annex A17: traffic class, flow label and hop limit are variant in IPv6; addresses and lengths are not. */
static void test_icrc_of_ipv6(void **state)
{
	static const struct {
		uint8_t off;
		uint8_t bits;
		bool variant;
	} cases[] = {{0, 0x0f, true}, {1, 0xff, true}, {2, 0xff, true}, {3, 0xff, true}, {7, 0xff, true},
		{8, 0x01, false}, {23, 0x80, false}, {24, 0x01, false}, {39, 0x80, false},
		{40, 0x01, false}, {41, 0x80, false}, {46, 0xff, true}, {47, 0xff, true}, {52, 0xff, true},
		{48 + 8, 0x01, false}};
	struct wire_pkt made;
	struct wire_pkt pkt;
	uint8_t *frame;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		frame = make_frame(WIRE_RC_SEND_ONLY, 6, i & 1, &made);
		frame[made.l3_off + cases[i].off] ^= cases[i].bits;
		assert_int_equal(wire_parse(frame, made.frame_bytes, &pkt), BASE_DROP_NONE);
		assert_int_equal(wire_icrc_ok(frame, &pkt), cases[i].variant);
		free(frame);
	}
}

/* What the parser says of an IPv6 frame with one byte, counted from the IPv6 header, changed. */
static enum base_drop parse6_with(size_t off, uint8_t value)
{
	struct wire_pkt pkt;
	uint8_t *frame = make_frame(WIRE_RC_SEND_ONLY, 6, false, &pkt);
	size_t n = pkt.frame_bytes;
	enum base_drop reason;

	frame[pkt.l3_off + off] = value;
	reason = parse_exact(frame, n, &pkt);
	free(frame);
	return reason;
}

static void test_ipv6_headers_wrong_in_one_way(void **state)
{
	enum { UDP = 40, BTH = 48, L4_BYTES = 8 + 12 + 64 + 4 };

	(void)state;
	assert_int_equal(parse6_with(5, L4_BYTES), BASE_DROP_NONE);
	assert_int_equal(parse6_with(0, 0x45), BASE_DROP_IP_HEADER);               /* version 4 */
	assert_int_equal(parse6_with(5, L4_BYTES + 1), BASE_DROP_TRUNCATED);
	assert_int_equal(parse6_with(4, 0xff), BASE_DROP_TRUNCATED);
	assert_int_equal(parse6_with(5, L4_BYTES - 1), BASE_DROP_IP_LENGTH);       /* UDP has more */
	assert_int_equal(parse6_with(5, 0), BASE_DROP_IP_LENGTH);                  /* jumbo: no length */
	assert_int_equal(parse6_with(5, 7), BASE_DROP_IP_LENGTH);                  /* no whole UDP header */
	assert_int_equal(parse6_with(UDP + 5, L4_BYTES - 4), BASE_DROP_IP_LENGTH); /* bytes behind UDP */
	assert_int_equal(parse6_with(UDP + 5, 7), BASE_DROP_IP_LENGTH);
	assert_int_equal(parse6_with(UDP + 3, 0xb8), BASE_DROP_NOT_ROCE);
	/* Annex A17 has UDP right behind the IP header: no extension headers, fragments least of all. */
	assert_int_equal(parse6_with(6, 0), BASE_DROP_NOT_ROCE);                   /* hop-by-hop */
	assert_int_equal(parse6_with(6, 44), BASE_DROP_NOT_ROCE);                  /* fragment */
	assert_int_equal(parse6_with(6, 60), BASE_DROP_NOT_ROCE);                  /* destination options */
	assert_int_equal(parse6_with(BTH, 0xff), BASE_DROP_OPCODE);
	assert_int_equal(parse6_with(BTH + 1, 0x0f), BASE_DROP_TVER);
}

/* RFC 6890, table 20: ::ffff:0:0/96 is neither source nor destination on the wire. Taken, such a packet would
 * pass for one of IPv4, since this form is what GIDs of IPv4 have here. */
static void test_ipv4_mapped_addresses_in_ipv6(void **state)
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
	struct wire_pkt pkt;
	uint8_t *frame;
	int which;

	(void)state;
	for (which = 0; which < 2; which++) {
		frame = make_frame(WIRE_RC_SEND_ONLY, 6, false, &pkt);
		memcpy(frame + pkt.l3_off + 8 + 16 * which, mapped, sizeof(mapped));
		assert_int_equal(parse_exact(frame, pkt.frame_bytes, &pkt), BASE_DROP_IP_HEADER);
		free(frame);
	}
}

/* The pad count may not reach back into the headers. */
static void test_pad_count_against_length(void **state)
{
	struct wire_pkt pkt;
	uint8_t *frame;
	unsigned int left;
	unsigned int pad;

	(void)state;
	for (left = 0; left < 4; left++) {
		for (pad = 0; pad < 4; pad++) {
			frame = make_frame(WIRE_RC_WRITE_ONLY, 6, false, &pkt);
			frame[pkt.l3_off + 5] = (uint8_t)(8 + 28 + left + 4);
			frame[pkt.l4_off + 5] = (uint8_t)(8 + 28 + left + 4);
			frame[pkt.bth_off + 1] = (uint8_t)(pad << 4);
			assert_int_equal(parse_exact(frame, pkt.payload_off + left + 4, &pkt),
				pad <= left ? BASE_DROP_NONE : BASE_DROP_BTH_LENGTH);
			if (pad <= left)
				assert_int_equal(pkt.payload_bytes, left - pad);
			free(frame);
		}
	}
}

static void test_tags_and_types(void **state)
{
	struct wire_pkt pkt;
	uint8_t *frame = make_frame(WIRE_RC_SEND_ONLY, 4, true, &pkt);
	size_t n = pkt.frame_bytes;

	(void)state;
	frame[16] = 0x81; /* a second tag */
	frame[17] = 0x00;
	assert_int_equal(parse_exact(frame, n, &pkt), BASE_DROP_NOT_ROCE);
	assert_int_equal(pkt.kind, WIRE_KIND_OTHER);
	assert_int_equal(parse_exact(frame, 17, &pkt), BASE_DROP_TRUNCATED);
	frame[16] = 0x00; /* an 802.3 length */
	frame[17] = 0x40;
	assert_int_equal(parse_exact(frame, n, &pkt), BASE_DROP_NOT_ROCE);
	free(frame);
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
		cmocka_unit_test(test_every_opcode_parses_and_rebuilds),
		cmocka_unit_test(test_xrceth_of_requests),
		cmocka_unit_test(test_sack_layout),
		cmocka_unit_test(test_sack_echo_layout),
		cmocka_unit_test(test_icrc_of_ipv6),
		cmocka_unit_test(test_ipv6_headers_wrong_in_one_way),
		cmocka_unit_test(test_ipv4_mapped_addresses_in_ipv6),
		cmocka_unit_test(test_pad_count_against_length),
		cmocka_unit_test(test_tags_and_types),
		cmocka_unit_test(test_random_frames),
	};

	return cmocka_run_group_tests_name("wire_frame", tests, NULL, NULL);
}
