/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages as bytes: what docs/protection-handshake.md says, every length checked, and pieces put together again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crypt_hs_frag.h"
#include "crypt_msg.h"

static void header(void **state)
{
	struct crypt_msg_header h = {.type = CRYPT_MSG_AUTH,
					.fragment = 1,
					.fragments = 2,
					.from = 0x0102030405060708,
					.to = 0x1112131415161718},
				got;
	static const uint8_t want[] = {
		1, 3, 1, 2, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};
	uint8_t out[CRYPT_MSG_DATAGRAM_BYTES + 1];

	(void)state;
	assert_int_equal(crypt_msg_put_header(&h, out, sizeof(out)), CRYPT_MSG_HEADER_BYTES);
	assert_memory_equal(out, want, sizeof(want));
	assert_int_equal(crypt_msg_put_header(&h, out, CRYPT_MSG_HEADER_BYTES - 1), 0);
	assert_int_equal(crypt_msg_get_header(&got, want, sizeof(want)), 0);
	assert_int_equal(got.type, CRYPT_MSG_AUTH);
	assert_int_equal(got.fragment, 1);
	assert_int_equal(got.fragments, 2);
	assert_int_equal(got.from, h.from);
	assert_int_equal(got.to, h.to);
	for (size_t n = 0; n < sizeof(want); n++)
		assert_int_equal(crypt_msg_get_header(&got, want, n), -EBADMSG);
	assert_int_equal(crypt_msg_get_header(&got, out, sizeof(out)), -EBADMSG);
	/* Fragments: all but the last are full, and only M2 and M3 have more than one. */
	out[2] = 0;
	assert_int_equal(crypt_msg_get_header(&got, out, CRYPT_MSG_DATAGRAM_BYTES - 1), -EBADMSG);
	assert_int_equal(crypt_msg_get_header(&got, out, CRYPT_MSG_DATAGRAM_BYTES), 0);
	out[2] = 2;
	assert_int_equal(crypt_msg_get_header(&got, out, 100), -EBADMSG);
	out[2] = 14;
	out[3] = 15;
	assert_int_equal(crypt_msg_get_header(&got, out, 100), -EBADMSG);
	out[2] = 0;
	out[3] = 0;
	assert_int_equal(crypt_msg_get_header(&got, out, 100), -EBADMSG);
	out[3] = 2;
	out[1] = CRYPT_MSG_INIT;
	assert_int_equal(crypt_msg_get_header(&got, out, CRYPT_MSG_DATAGRAM_BYTES), -EBADMSG);
	out[1] = 0;
	assert_int_equal(crypt_msg_get_header(&got, out, 100), -EBADMSG);
	out[1] = CRYPT_MSG_TYPES;
	assert_int_equal(crypt_msg_get_header(&got, out, 100), -EBADMSG);
	out[0] = 2;
	assert_int_equal(crypt_msg_get_header(&got, out, 100), -EPROTO);
	assert_int_equal(got.from, h.from);
}

static void init(void **state)
{
	struct crypt_msg_init m = {.methods = 3,
				      .n_suites = 2,
				      .suites = {CRYPT_SM4_GCM, CRYPT_AES_128_GCM},
				      .lanes = 5,
				      .generation = 77,
				      .nonce = {1},
				      .hint = {2},
				      .shares = {{CRYPT_GROUP_X25519, 32, {3}}, {CRYPT_GROUP_SM2, 65, {4}}}},
			      got;
	uint8_t out[512];
	size_t n, at;

	(void)state;
	n = crypt_msg_put_init(&m, out, sizeof(out));
	assert_int_equal(n, 1 + 3 + 1 + 34 + 67 + 2 + 8 + 32 + 16 + 1);
	assert_int_equal(crypt_msg_get_init(&got, out, n), 0);
	assert_int_equal(got.methods, 3);
	assert_int_equal(got.n_suites, 2);
	assert_memory_equal(got.suites, m.suites, 2);
	assert_memory_equal(got.shares, m.shares, sizeof(m.shares));
	assert_int_equal(got.lanes, 5);
	assert_int_equal(got.generation, 77);
	assert_memory_equal(got.nonce, m.nonce, sizeof(m.nonce));
	assert_memory_equal(got.hint, m.hint, sizeof(m.hint));
	assert_int_equal(got.hint_at, m.hint_at);
	assert_int_equal(got.covered_bytes, n - 1);
	for (at = 0; at < n; at++)
		assert_int_equal(crypt_msg_get_init(&got, out, at), -EBADMSG);
	assert_int_equal(crypt_msg_get_init(&got, out, n + 1), -EBADMSG);
	/* Suites of a later time are passed over, and so are repeated ones. */
	out[2] = 99;
	assert_int_equal(crypt_msg_get_init(&got, out, n), 0);
	assert_int_equal(got.n_suites, 1);
	assert_int_equal(got.suites[0], CRYPT_AES_128_GCM);
	out[2] = out[3];
	assert_int_equal(crypt_msg_get_init(&got, out, n), 0);
	assert_int_equal(got.n_suites, 1);
}

static void bad_init(void **state)
{
	struct crypt_msg_init m = {.methods = 1,
				      .n_suites = 2,
				      .suites = {CRYPT_AES_256_GCM, CRYPT_AES_128_GCM},
				      .lanes = 5,
				      .shares = {{CRYPT_GROUP_X25519, 32, {3}}}},
			      got;
	uint8_t out[512];
	size_t n;

	(void)state;
	/* The same curve twice, a curve that is not known, a key of a wrong length. */
	m.shares[1] = m.shares[0];
	n = crypt_msg_put_init(&m, out, sizeof(out));
	assert_int_equal(crypt_msg_get_init(&got, out, n), -EBADMSG);
	out[5] = 3;
	assert_int_equal(crypt_msg_get_init(&got, out, n), -EBADMSG);
	m.shares[1].bytes = 31;
	n = crypt_msg_put_init(&m, out, sizeof(out));
	assert_int_equal(crypt_msg_get_init(&got, out, n), -EBADMSG);
	m.shares[1].group = 0;
	m.lanes = 65;
	n = crypt_msg_put_init(&m, out, sizeof(out));
	assert_int_equal(crypt_msg_get_init(&got, out, n), -EBADMSG);
	m.lanes = 64;
	m.cookie_bytes = 5;
	n = crypt_msg_put_init(&m, out, sizeof(out));
	assert_int_equal(crypt_msg_get_init(&got, out, n), -EBADMSG);
	m.cookie_bytes = CRYPT_MSG_COOKIE_BYTES;
	n = crypt_msg_put_init(&m, out, sizeof(out));
	assert_int_equal(crypt_msg_get_init(&got, out, n), 0);
}

static void payload(void **state)
{
	static const uint8_t id[] = {1, 2, 3}, cert[] = {9, 9}, signature[] = {7, 7, 7, 7};
	struct crypt_msg_payload p = {.id = {id, 3},
					 .lanes = 4,
					 .spi_base = 0x1000,
					 .n_certs = 2,
					 .certs = {{cert, 2}, {cert, 1}},
					 .signature = {signature, 4},
					 .mac = {5}},
				 got;
	uint8_t out[256];
	size_t n, at;

	(void)state;
	n = crypt_msg_put_payload(&p, out, sizeof(out));
	assert_int_equal(n, 4 + 2 + 4 + 1 + 4 + 3);
	assert_int_equal(p.signed_bytes, n);
	n += crypt_msg_put_proof(&p, out + n, sizeof(out) - n);
	assert_int_equal(crypt_msg_get_payload(&got, out, n), 0);
	assert_int_equal(got.signed_bytes, p.signed_bytes);
	assert_int_equal(got.n_certs, 2);
	assert_memory_equal(got.certs[0].data, cert, 2);
	assert_memory_equal(got.signature.data, signature, 4);
	for (at = 0; at < n; at++)
		assert_int_equal(crypt_msg_get_payload(&got, out, at), -EBADMSG);
	assert_int_equal(crypt_msg_get_payload(&got, out, n + 1), -EBADMSG);
	for (at = 0; at < 4; at++)
		out[6 + at] = 0xff; /* SPIs that do not lie in one row */
	assert_int_equal(crypt_msg_get_payload(&got, out, n), -EBADMSG);
}

static void control(void **state)
{
	const struct crypt_msg_control all[] = {
		{.kind = CRYPT_CONTROL_REKEY, .epoch = 7, .lanes = 3},
		{.kind = CRYPT_CONTROL_REKEY_ACK, .epoch = 7, .spi_base = 4711},
		{.kind = CRYPT_CONTROL_REKEY_ASK},
		{.kind = CRYPT_CONTROL_PING, .token = 1ull << 63},
		{.kind = CRYPT_CONTROL_PONG, .token = 3},
	};
	struct crypt_msg_control got;
	uint8_t out[32] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		size_t n = crypt_msg_put_control(&all[i], out, sizeof(out));

		assert_int_equal(crypt_msg_get_control(&got, out, n), 0);
		assert_int_equal(got.kind, all[i].kind);
		assert_int_equal(got.epoch, all[i].epoch);
		assert_int_equal(got.lanes, all[i].lanes);
		assert_int_equal(got.spi_base, all[i].spi_base);
		assert_int_equal(got.token, all[i].token);
		assert_int_equal(crypt_msg_get_control(&got, out, n - 1), -EBADMSG);
		assert_int_equal(crypt_msg_get_control(&got, out, n + 1), -EBADMSG);
	}
	out[0] = CRYPT_CONTROL_KINDS;
	assert_int_equal(crypt_msg_get_control(&got, out, 1), -EBADMSG);
}

/* Pieces in any order, again and again, with pieces of other messages between them. */
static void fragments(void **state)
{
	static uint8_t body[CRYPT_MSG_BODY_BYTES];
	struct crypt_msg_bytes whole;

	(void)state;
	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i * 7 + i / 256);
	for (unsigned int seed = 1; seed <= 200; seed++) {
		struct crypt_frag frag = {0};
		size_t bytes = 1 + (size_t)rand() % CRYPT_MSG_BODY_BYTES;
		unsigned int n = (unsigned int)((bytes + CRYPT_MSG_FRAGMENT_BYTES - 1) / CRYPT_MSG_FRAGMENT_BYTES),
			     tries = 0;
		struct crypt_msg_header h = {.type = CRYPT_MSG_AUTH, .fragments = (uint8_t)n, .from = 5};
		bool done = false;

		for (tries = 0; !done; tries++) {
			size_t at, length;

			assert_true(tries < 10000);
			h.fragment = (uint8_t)((unsigned int)rand() % n);
			at = h.fragment * (size_t)CRYPT_MSG_FRAGMENT_BYTES;
			length = h.fragment + 1u == n ? bytes - at : CRYPT_MSG_FRAGMENT_BYTES;
			done = crypt_frag_add(&frag, &h, body + at, length, &whole);
		}
		assert_int_equal(whole.bytes, bytes);
		assert_memory_equal(whole.data, body, bytes);
		crypt_frag_reset(&frag);
	}
}

static void fragments_of_others(void **state)
{
	uint8_t piece[CRYPT_MSG_FRAGMENT_BYTES] = {1};
	struct crypt_msg_header h = {.type = CRYPT_MSG_AUTH, .fragments = 2, .from = 5};
	struct crypt_msg_bytes whole;
	struct crypt_frag frag = {0};

	(void)state;
	assert_false(crypt_frag_add(&frag, &h, piece, sizeof(piece), &whole));
	h.from = 6; /* another sender's takes its place */
	h.fragment = 1;
	assert_false(crypt_frag_add(&frag, &h, piece, 9, &whole));
	h.fragment = 0;
	assert_true(crypt_frag_add(&frag, &h, piece, sizeof(piece), &whole));
	assert_int_equal(whole.bytes, sizeof(piece) + 9);
	/* Too long a whole, and an empty piece. */
	h.fragments = CRYPT_MSG_FRAGMENTS;
	h.fragment = CRYPT_MSG_FRAGMENTS - 1;
	assert_false(crypt_frag_add(&frag, &h, piece, sizeof(piece), &whole));
	assert_int_equal(frag.have, 0);
	assert_false(crypt_frag_add(&frag, &h, piece, 0, &whole));
	assert_int_equal(frag.have, 0);
	crypt_frag_reset(&frag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header),
		cmocka_unit_test(init),
		cmocka_unit_test(bad_init),
		cmocka_unit_test(payload),
		cmocka_unit_test(control),
		cmocka_unit_test(fragments),
		cmocka_unit_test(fragments_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
