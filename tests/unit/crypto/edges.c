/* SPDX-License-Identifier: BSD-3-Clause */
#include "edges.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ref.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* About one block, the strides of kernels (1, 2, 4, 8, 16, 32, 64 blocks), what GHASH sums up before it reduces (48) and so on. */
static const uint32_t strides[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 96, 127, 128, 129, 192, 255, 256, 257};

/* ---- special sums ---- */

struct ghash edges_block(uint32_t i)
{
	static const struct ghash blocks[EDGES_BLOCKS] = {
		{0, 0},
		{UINT64_MAX, UINT64_MAX},
		{UINT64_C(1) << 63, 0}, /* 1 */
		{0, 1}, /* x^127 */
		{UINT64_C(1) << 62, 0}, /* x */
		{0, 2},
		{1, 0},
		{0, UINT64_C(1) << 63},
		{UINT64_C(0xe1) << 56, 0}, /* the polynomial */
		{UINT64_C(0xe1) << 56, 1},
		{0, UINT64_MAX},
		{UINT64_MAX, 0},
		{UINT64_C(0xaaaaaaaaaaaaaaaa), UINT64_C(0xaaaaaaaaaaaaaaaa)},
		{UINT64_C(0x5555555555555555), UINT64_C(0x5555555555555555)},
		{UINT64_C(0xffffffff), UINT64_C(0xffffffff)},
		{UINT64_C(0xffffffff) << 32, UINT64_C(0xffffffff) << 32},
		{UINT64_C(0x8000000080000000), UINT64_C(0x8000000080000000)},
		{UINT64_C(0x0000000100000001), UINT64_C(0x0000000100000001)},
		{UINT64_C(0x7fffffffffffffff), UINT64_MAX},
		{UINT64_MAX, UINT64_MAX - 1},
	};

	assert_true(i < EDGES_BLOCKS);
	return blocks[i];
}

void edges_make_sum(struct edge_text *t, enum crypt_suite suite, struct ghash h, struct ghash want)
{
	uint32_t in_aad = t->bytes == 0 ? 16 : 0, in_text = t->bytes == 0 ? 0 : 16;
	struct ghash y = ghash_text(h, (struct ghash){0, 0}, t->aad, t->aad_bytes - in_aad);

	y = ghash_text(h, y, t->cipher, t->bytes - in_text);
	ghash_store(in_aad != 0 ? t->aad + t->aad_bytes - 16 : t->cipher + t->bytes - 16,
		ghash_block_for(h, y, t->aad_bytes, t->bytes, want));
	ghash_store(t->tag, ghash_add(want, edge_mask(suite, t)));
	edge_unseal(suite, t);
}

/* A text under a key of its own whose sum, or whose tag, is what is wanted. */
static void make(struct edge_text *t, const struct edge_cipher *e, uint32_t blocks, struct ghash want, bool is_tag)
{
	edge_random(t, 16, 16 * blocks);
	if (is_tag)
		want = ghash_add(want, edge_mask(e->suite, t));
	edges_make_sum(t, e->suite, edge_hash_key(e->suite, t), want);
	edge_verify(e->suite, t);
}

static void one_sum(const struct edge_cipher *e, uint32_t blocks, struct ghash want, bool is_tag)
{
	struct edge_text t;
	struct crypt_key *key;

	make(&t, e, blocks, want, is_tag);
	key = edge_key(e, &t);
	edge_good(e, key, &t);
	/* The tag is no other text's, be it all zeros. */
	t.cipher[0] ^= 1;
	t.aad[0] ^= t.bytes == 0;
	edge_refused(e, key, &t, t.tag);
	e->cipher->key_free(e->ctx, key);
}

/* The sum behind block number at is what is wanted; the text goes on. */
static void one_inner_sum(const struct edge_cipher *e, uint32_t blocks, uint32_t at, struct ghash want)
{
	struct edge_text t;
	struct crypt_key *key;
	struct ghash h, y;

	edge_random(&t, 16, 16 * blocks);
	h = edge_hash_key(e->suite, &t);
	y = ghash_text(h, (struct ghash){0, 0}, t.aad, 16);
	y = ghash_text(h, y, t.cipher, 16 * at);
	ghash_store(t.cipher + 16 * at, ghash_add(y, ghash_mul(want, ghash_inverse(h))));
	y = ghash_text(h, want, t.cipher + 16 * (at + 1), 16 * (blocks - at - 1));
	ghash_store(t.tag, ghash_add(ghash_lengths(h, y, 16, t.bytes), edge_mask(e->suite, &t)));
	edge_unseal(e->suite, &t);
	edge_verify(e->suite, &t);
	key = edge_key(e, &t);
	edge_good(e, key, &t);
	e->cipher->key_free(e->ctx, key);
}

void edges_sums(const struct edge_cipher *e)
{
	for (uint32_t s = 0; s < N(strides); s++) {
		for (uint32_t i = 0; i < EDGES_BLOCKS; i++) {
			one_sum(e, strides[s], edges_block(i), false);
			one_sum(e, strides[s], edges_block(i), true);
		}
	}
	for (uint32_t i = 0; e->any_aad && i < EDGES_BLOCKS; i++) {
		one_sum(e, 0, edges_block(i), false);
		one_sum(e, 0, edges_block(i), true);
	}
	for (uint32_t at = 0; at < 70; at++) {
		one_inner_sum(e, 70, at, (struct ghash){0, 0});
		one_inner_sum(e, 70, at, edges_block(1 + at % (EDGES_BLOCKS - 1)));
	}
}

/* ---- lengths ---- */

static void one_length(const struct edge_cipher *e, uint32_t aad_bytes, uint32_t bytes)
{
	struct edge_text t;
	struct crypt_key *key;

	edge_random(&t, aad_bytes, bytes);
	edge_seal(e->suite, &t);
	key = edge_key(e, &t);
	edge_good(e, key, &t);
	e->cipher->key_free(e->ctx, key);
}

static void all_aads(const struct edge_cipher *e, uint32_t bytes)
{
	if (!e->any_aad) {
		one_length(e, 16, bytes);
		return;
	}
	for (uint32_t aad_bytes = 0; aad_bytes <= 64; aad_bytes++)
		one_length(e, aad_bytes, bytes);
}

/* A text of no bytes, as no segment, as an empty one or several, and no AAD, by a pointer that is none. */
static void nothing(const struct edge_cipher *e)
{
	struct crypt_seg empty[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
	struct edge_text t;
	struct crypt_key *key;

	edge_random(&t, 0, 0);
	edge_seal(e->suite, &t);
	key = edge_key(e, &t);
	for (uint16_t n = 0; n <= N(empty); n++) {
		uint8_t tag[CRYPT_TAG_BYTES] = {0};
		struct crypt_job job = {.key = key, .segs = n != 0 ? empty : NULL, .n_segs = n, .tag = tag, .status = 1};

		memcpy(job.nonce, t.nonce, sizeof(job.nonce));
		assert_int_equal(e->cipher->seal(e->ctx, &job, 1), 1);
		assert_memory_equal(tag, t.tag, sizeof(tag));
		assert_int_equal(e->cipher->open(e->ctx, &job, 1), 1);
		tag[15] ^= 1;
		assert_int_equal(e->cipher->open(e->ctx, &job, 1), 0);
		assert_int_equal(job.status, -EBADMSG);
	}
	e->cipher->key_free(e->ctx, key);
}

void edges_lengths(const struct edge_cipher *e)
{
	if (e->any_aad) {
		nothing(e);
		all_aads(e, 0);
	}
	for (uint32_t s = 0; s < N(strides); s++) {
		all_aads(e, 16 * strides[s] - 1);
		all_aads(e, 16 * strides[s]);
		all_aads(e, 16 * strides[s] + 1);
		all_aads(e, 16 * strides[s] + 8);
	}
}

/* ---- what the tag tells apart ---- */

/* Bytes of one block sequence, of which so many are AAD. */
static void split(struct edge_text *t, const uint8_t blocks[64], uint32_t aad_bytes)
{
	t->aad_bytes = aad_bytes;
	t->bytes = 64 - aad_bytes;
	memcpy(t->aad, blocks, aad_bytes);
	memcpy(t->cipher, blocks + aad_bytes, t->bytes);
}

/* The tag of a cipher text. */
static void tag_of(const struct edge_cipher *e, struct edge_text *t)
{
	struct ghash h = edge_hash_key(e->suite, t), y = ghash_text(h, (struct ghash){0, 0}, t->aad, t->aad_bytes);

	y = ghash_lengths(h, ghash_text(h, y, t->cipher, t->bytes), t->aad_bytes, t->bytes);
	ghash_store(t->tag, ghash_add(y, edge_mask(e->suite, t)));
	edge_unseal(e->suite, t);
	edge_verify(e->suite, t);
}

/* The same blocks go through GHASH wherever the AAD ends; only the lengths differ. */
static void borders(const struct edge_cipher *e)
{
	struct edge_text t;
	struct crypt_key *key;
	uint8_t blocks[64];

	edge_random(&t, 0, 0);
	ref_fill(blocks, sizeof(blocks));
	key = edge_key(e, &t);
	for (uint32_t right = 0; right <= 64; right += 16) {
		split(&t, blocks, right);
		tag_of(e, &t);
		edge_good(e, key, &t);
		for (uint32_t wrong = 0; wrong <= 64; wrong += 16) {
			split(&t, blocks, wrong);
			if (wrong != right)
				edge_refused(e, key, &t, t.tag);
		}
	}
	e->cipher->key_free(e->ctx, key);
}

/* A zero at the end is another text than none, though the padding is zeros. */
static void padding(const struct edge_cipher *e)
{
	struct edge_text t;
	struct crypt_key *key;

	edge_random(&t, 32, 48);
	key = edge_key(e, &t);
	for (uint32_t n = 1; n < 32; n++) {
		memset(t.aad + n, 0, sizeof(t.aad) - n);
		memset(t.cipher + n, 0, sizeof(t.cipher) - n);
		t.aad_bytes = n;
		t.bytes = n;
		tag_of(e, &t);
		edge_good(e, key, &t);
		t.aad_bytes++;
		edge_refused(e, key, &t, t.tag);
		t.aad_bytes--;
		t.bytes++;
		edge_refused(e, key, &t, t.tag);
		edge_random(&t, 32, 48);
		e->cipher->key_free(e->ctx, key);
		key = edge_key(e, &t);
	}
	e->cipher->key_free(e->ctx, key);
}

void edges_splits(const struct edge_cipher *e)
{
	if (!e->any_aad)
		return;
	borders(e);
	padding(e);
}

/* ---- keys and nonces ---- */

/* All bytes the same; or zeros, and one bit at an end. */
static void pattern(uint8_t *to, size_t bytes, uint32_t i)
{
	static const uint8_t fills[] = {0x00, 0xff, 0x55, 0xaa, 0x01, 0x80};

	memset(to, i < N(fills) ? fills[i] : 0, bytes);
	if (i == N(fills))
		to[0] = 0x80;
	if (i == N(fills) + 1)
		to[bytes - 1] = 1;
}

void edges_keys_and_nonces(const struct edge_cipher *e)
{
	static const uint32_t lengths[] = {1, 16, 100, 257, 1040, 4100};

	for (uint32_t k = 0; k < 8; k++) {
		for (uint32_t n = 0; n < 8; n++) {
			struct edge_text t;
			struct crypt_key *key;

			edge_random(&t, 16, lengths[(k + n) % N(lengths)]);
			pattern(t.raw, sizeof(t.raw), k);
			pattern(t.nonce, sizeof(t.nonce), n);
			edge_seal(e->suite, &t);
			key = edge_key(e, &t);
			edge_good(e, key, &t);
			t.tag[n] ^= 1;
			edge_refused(e, key, &t, t.tag);
			e->cipher->key_free(e->ctx, key);
		}
	}
}

void edges_all(const struct edge_cipher *e)
{
	edges_tags(e);
	edges_sums(e);
	edges_lengths(e);
	edges_splits(e);
	edges_keys_and_nonces(e);
}
