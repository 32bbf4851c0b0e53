/* SPDX-License-Identifier: BSD-3-Clause */
#include "edge_text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ref.h"

#define GUARD       0xa5u
#define GUARD_BYTES 64u

void edge_random(struct edge_text *t, uint32_t aad_bytes, uint32_t bytes)
{
	ref_fill(t->raw, sizeof(t->raw));
	ref_fill(t->nonce, sizeof(t->nonce));
	ref_fill(t->aad, aad_bytes);
	ref_fill(t->plain, bytes);
	ref_fill(t->cipher, bytes);
	t->aad_bytes = aad_bytes;
	t->bytes = bytes;
}

struct ghash edge_hash_key(enum crypt_suite suite, const struct edge_text *t)
{
	uint8_t block[16] = {0};

	ref_gcrypt_block(suite, t->raw, block);
	return ghash_load(block);
}

struct ghash edge_mask(enum crypt_suite suite, const struct edge_text *t)
{
	uint8_t block[16] = {[15] = 1};

	memcpy(block, t->nonce, CRYPT_NONCE_BYTES);
	ref_gcrypt_block(suite, t->raw, block);
	return ghash_load(block);
}

void edge_seal(enum crypt_suite suite, struct edge_text *t)
{
	memcpy(t->cipher, t->plain, t->bytes);
	ref_gcrypt_seal(suite, t->raw, t->nonce, t->aad, t->aad_bytes, t->cipher, t->bytes, t->tag);
	edge_verify(suite, t);
}

void edge_unseal(enum crypt_suite suite, struct edge_text *t)
{
	uint8_t tag[CRYPT_TAG_BYTES];

	/* Counter mode is its own inverse. */
	memcpy(t->plain, t->cipher, t->bytes);
	ref_gcrypt_seal(suite, t->raw, t->nonce, t->aad, t->aad_bytes, t->plain, t->bytes, tag);
}

void edge_verify(enum crypt_suite suite, const struct edge_text *t)
{
	uint8_t text[EDGE_TEXT_MAX], tag[CRYPT_TAG_BYTES];

	memcpy(text, t->plain, t->bytes);
	ref_gcrypt_seal(suite, t->raw, t->nonce, t->aad, t->aad_bytes, text, t->bytes, tag);
	assert_memory_equal(text, t->cipher, t->bytes);
	assert_memory_equal(tag, t->tag, sizeof(tag));
	memcpy(text, t->plain, t->bytes);
	if (!ref_openssl_seal(suite, t->raw, t->nonce, t->aad, t->aad_bytes, text, t->bytes, tag))
		return;
	assert_memory_equal(text, t->cipher, t->bytes);
	assert_memory_equal(tag, t->tag, sizeof(tag));
}

struct crypt_key *edge_key(const struct edge_cipher *e, const struct edge_text *t)
{
	struct crypt_key *key = e->cipher->key_new(e->ctx, e->suite, t->raw);

	assert_non_null(key);
	return key;
}

struct crypt_job edge_job(const struct edge_text *t, struct crypt_key *key, struct crypt_seg *seg, uint8_t *data, uint8_t *tag)
{
	struct crypt_job job = {.key = key, .segs = seg, .n_segs = 1, .aad = t->aad, .aad_bytes = t->aad_bytes, .tag = tag, .status = 1};

	*seg = (struct crypt_seg){data, t->bytes};
	memcpy(job.nonce, t->nonce, sizeof(job.nonce));
	return job;
}

static void guarded(const uint8_t *room, uint32_t bytes)
{
	for (uint32_t i = 0; i < GUARD_BYTES; i++)
		assert_int_equal(room[bytes + i], GUARD);
}

void edge_good(const struct edge_cipher *e, struct crypt_key *key, const struct edge_text *t)
{
	uint8_t room[EDGE_TEXT_MAX + GUARD_BYTES], tag[CRYPT_TAG_BYTES] = {0};
	struct crypt_seg seg;
	struct crypt_job job = edge_job(t, key, &seg, room, tag);

	memcpy(room, t->plain, t->bytes);
	memset(room + t->bytes, GUARD, GUARD_BYTES);
	if (e->cipher->seal(e->ctx, &job, 1) != 1 || memcmp(room, t->cipher, t->bytes) != 0 || memcmp(tag, t->tag, sizeof(tag)) != 0)
		fail_msg("%s, %s: %u bytes with %u of AAD are sealed wrongly (status %d)", e->name, crypt_suite_name(e->suite), t->bytes,
			t->aad_bytes, job.status);
	assert_int_equal(job.status, 0);
	guarded(room, t->bytes);
	if (e->cipher->open(e->ctx, &job, 1) != 1 || memcmp(room, t->plain, t->bytes) != 0)
		fail_msg("%s, %s: %u bytes with %u of AAD are not opened (status %d)", e->name, crypt_suite_name(e->suite), t->bytes,
			t->aad_bytes, job.status);
	assert_int_equal(job.status, 0);
	assert_memory_equal(tag, t->tag, sizeof(tag));
	guarded(room, t->bytes);
}

void edge_refused(const struct edge_cipher *e, struct crypt_key *key, const struct edge_text *t, const uint8_t tag[16])
{
	static const uint8_t zeros[EDGE_TEXT_MAX];
	uint8_t room[EDGE_TEXT_MAX + GUARD_BYTES], given[CRYPT_TAG_BYTES];
	struct crypt_seg seg;
	struct crypt_job job = edge_job(t, key, &seg, room, given);

	memcpy(room, t->cipher, t->bytes);
	memset(room + t->bytes, GUARD, GUARD_BYTES);
	memcpy(given, tag, sizeof(given));
	if (e->cipher->open(e->ctx, &job, 1) != 0 || job.status != -EBADMSG)
		fail_msg("%s, %s: %u bytes with %u of AAD are opened by a wrong tag (status %d)", e->name, crypt_suite_name(e->suite),
			t->bytes, t->aad_bytes, job.status);
	if (memcmp(room, zeros, t->bytes) != 0)
		fail_msg("%s, %s: something of %u bytes is left behind a wrong tag", e->name, crypt_suite_name(e->suite), t->bytes);
	guarded(room, t->bytes);
}
