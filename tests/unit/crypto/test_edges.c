/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The edge cases of edges.h with each kernel, and two that need to know kernels from inside: hash keys that no key of a cipher is
 * known to lead to, and texts so long that the counter carries into its third and fourth byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backends.h"
#include "edges.h"
#include "ref.h"
#include "simd_kernel.h"

static void with_each(void (*run)(const struct edge_cipher *e))
{
	for (uint32_t b = 0; b < n_backends; b++) {
		for (int suite = 0; suite < CRYPT_SUITES; suite++) {
			struct edge_cipher e = {backends[b].name, backends[b].cipher, backends[b].ctx, (enum crypt_suite)suite, true};

			run(&e);
		}
	}
}

static void tags(void **state)
{
	(void)state;
	with_each(edges_tags);
}

static void sums(void **state)
{
	(void)state;
	with_each(edges_sums);
}

static void lengths(void **state)
{
	(void)state;
	with_each(edges_lengths);
}

static void splits(void **state)
{
	(void)state;
	with_each(edges_splits);
}

static void keys_and_nonces(void **state)
{
	(void)state;
	with_each(edges_keys_and_nonces);
}

/* ---- hash keys ---- */

/* The tag by GHASH as the standard has it, for a hash key that is not the cipher's. */
static void tag_under(const struct edge_cipher *e, struct edge_text *t, struct ghash h)
{
	struct ghash y = ghash_text(h, (struct ghash){0, 0}, t->aad, t->aad_bytes);

	y = ghash_lengths(h, ghash_text(h, y, t->cipher, t->bytes), t->aad_bytes, t->bytes);
	ghash_store(t->tag, ghash_add(y, edge_mask(e->suite, t)));
}

/* AAD and cipher text of zeros, of ones, of one special block again and again, and random. */
static void fill(struct edge_text *t, uint32_t i)
{
	uint8_t block[16];

	if (i == EDGES_BLOCKS)
		return;
	ghash_store(block, edges_block(i));
	for (uint32_t k = 0; k < t->aad_bytes; k++)
		t->aad[k] = block[k % 16];
	for (uint32_t k = 0; k < t->bytes; k++)
		t->cipher[k] = block[k % 16];
}

static void one_hash_key(const struct edge_cipher *e, struct ghash h)
{
	static const uint32_t lengths[] = {0, 16, 100, 16 * 33, 16 * 47, 16 * 48, 16 * 49, 16 * 200 + 1};
	uint8_t raw[16];

	ghash_store(raw, h);
	for (uint32_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
		for (uint32_t i = 0; i <= EDGES_BLOCKS; i++) {
			struct edge_text t;
			struct crypt_key *key;

			edge_random(&t, i % 2 == 0 ? 16 : 45, lengths[l]);
			fill(&t, i);
			edge_unseal(e->suite, &t);
			tag_under(e, &t, h);
			key = edge_key(e, &t);
			simd_ghash_prepare(&key->ghash, raw);
			edge_good(e, key, &t);
			e->cipher->key_free(e->ctx, key);
		}
	}
}

static void all_hash_keys(const struct edge_cipher *e)
{
	for (uint32_t i = 0; i < EDGES_BLOCKS; i++)
		one_hash_key(e, edges_block(i));
	for (uint32_t bit = 0; bit < 128; bit += 9)
		one_hash_key(e, bit < 64 ? (struct ghash){UINT64_C(1) << bit, 0} : (struct ghash){0, UINT64_C(1) << (bit - 64)});
}

static void hash_keys(void **state)
{
	(void)state;
	with_each(all_hash_keys);
}

/* ---- counters ---- */

#define PART_BYTES  (1u << 20)
#define PART_BLOCKS (PART_BYTES / 16)
#define PARTS_MAX   257u

/*
 * A text of so many parts that are all the same memory, so that it takes none: kernels work through segments one after the other,
 * and libgcrypt is given them so. It is no use that crypt_cipher.h promises.
 */
static void again(const struct edge_cipher *e, uint32_t parts, bool sealing)
{
	static uint8_t got[PART_BYTES], want[PART_BYTES];
	static struct crypt_seg segs[PARTS_MAX];
	uint8_t raw[CRYPT_KEY_BYTES_MAX], tag[CRYPT_TAG_BYTES], got_tag[CRYPT_TAG_BYTES];
	struct crypt_job job = {.segs = segs, .n_segs = (uint16_t)parts, .tag = got_tag};
	struct crypt_key *key;

	ref_fill(raw, sizeof(raw));
	ref_fill(job.nonce, sizeof(job.nonce));
	for (uint32_t i = 0; i < PART_BYTES; i++)
		got[i] = want[i] = (uint8_t)(i * 7 + i / 256);
	for (uint32_t i = 0; i < parts; i++)
		segs[i] = (struct crypt_seg){got, PART_BYTES};
	key = e->cipher->key_new(e->ctx, e->suite, raw);
	assert_non_null(key);
	job.key = key;
	ref_gcrypt_again(e->suite, raw, job.nonce, want, PART_BYTES, parts, sealing, tag);
	memcpy(got_tag, tag, sizeof(tag));
	assert_int_equal((sealing ? e->cipher->seal : e->cipher->open)(e->ctx, &job, 1), 1);
	assert_int_equal(job.status, 0);
	if (memcmp(got_tag, tag, sizeof(tag)) != 0 || memcmp(got, want, sizeof(got)) != 0)
		fail_msg("%s, %s: wrong beyond %u blocks", e->name, crypt_suite_name(e->suite), parts * PART_BLOCKS - PART_BLOCKS);
	e->cipher->key_free(e->ctx, key);
}

/* 2^16 blocks are passed, where the counter carries into its third byte. */
static void third_byte(const struct edge_cipher *e)
{
	again(e, 2, true);
	again(e, 2, false);
}

/* 2^24 blocks, 256 MiB, where it carries into the fourth. At 2^32 it would begin anew, but a text ends before (docs/crypto.md). */
static void fourth_byte(const struct edge_cipher *e)
{
	again(e, 257, true);
}

static void counters_carry(void **state)
{
	(void)state;
	with_each(third_byte);
	with_each(fourth_byte);
}

/* NIST SP 800-38D, 5.2.1.1: more text than counters; refused before a byte of it is looked at. */
static void one_too_long(const struct edge_cipher *e)
{
	static struct crypt_seg segs[17];
	uint8_t raw[CRYPT_KEY_BYTES_MAX] = {0}, text[1] = {7}, tag[CRYPT_TAG_BYTES] = {0};
	struct crypt_job job = {.segs = segs, .n_segs = 17, .tag = tag};
	struct crypt_key *key = e->cipher->key_new(e->ctx, e->suite, raw);

	assert_non_null(key);
	job.key = key;
	for (uint32_t i = 0; i < 17; i++)
		segs[i] = (struct crypt_seg){text, UINT32_MAX};
	assert_int_equal(e->cipher->seal(e->ctx, &job, 1), 0);
	assert_int_equal(job.status, -EMSGSIZE);
	assert_int_equal(e->cipher->open(e->ctx, &job, 1), 0);
	assert_int_equal(job.status, -EMSGSIZE);
	assert_int_equal(text[0], 7);
	e->cipher->key_free(e->ctx, key);
}

static void too_long(void **state)
{
	(void)state;
	with_each(one_too_long);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tags),
		cmocka_unit_test(sums),
		cmocka_unit_test(lengths),
		cmocka_unit_test(splits),
		cmocka_unit_test(keys_and_nonces),
		cmocka_unit_test(hash_keys),
		cmocka_unit_test(counters_carry),
		cmocka_unit_test(too_long),
	};
	int rc;

	ref_init();
	backends_open();
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	backends_close();
	return rc;
}
