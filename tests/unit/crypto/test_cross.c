/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each backend against libgcrypt and OpenSSL: bursts of every length from 0 to 9,000, of several keys, cut into segments of
 * any length and alignment, with any AAD; what is changed by a bit is refused; and what is at the ends of ranges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends.h"
#include "ref.h"

#define MAX_TEXT  9000u
#define MAX_AAD   300u
#define BURST     64u
#define KEYS      3u
#define MAX_SEGS  40u
#define ROOM      (MAX_TEXT + MAX_SEGS * 64u)
#define GUARD     0xa5u

/* A packet as it should be, and as it is in memory. */
struct packet {
	uint32_t key, bytes, aad_bytes, n_segs;
	uint8_t nonce[CRYPT_NONCE_BYTES], aad[MAX_AAD], plain[MAX_TEXT], cipher[MAX_TEXT], tag[CRYPT_TAG_BYTES];
	uint8_t got_tag[CRYPT_TAG_BYTES];
	struct crypt_seg segs[MAX_SEGS];
	uint8_t room[ROOM];
};

static struct packet packets[BURST];
static uint8_t raw[KEYS][CRYPT_KEY_BYTES_MAX];
static struct crypt_job jobs[BURST];

static void make(struct packet *p, enum crypt_suite suite, uint32_t bytes)
{
	uint8_t tag[CRYPT_TAG_BYTES];

	p->key = (uint32_t)(ref_random() % KEYS);
	p->bytes = bytes;
	p->aad_bytes = (uint32_t)(ref_random() % 8 == 0 ? ref_random() % (MAX_AAD + 1) : ref_random() % 41);
	ref_fill(p->nonce, sizeof(p->nonce));
	ref_fill(p->aad, p->aad_bytes);
	ref_fill(p->plain, bytes);
	memcpy(p->cipher, p->plain, bytes);
	ref_gcrypt_seal(suite, raw[p->key], p->nonce, p->aad, p->aad_bytes, p->cipher, bytes, p->tag);
	memcpy(p->room, p->plain, bytes);
	if (ref_openssl_seal(suite, raw[p->key], p->nonce, p->aad, p->aad_bytes, p->room, bytes, tag)) {
		assert_memory_equal(p->room, p->cipher, bytes);
		assert_memory_equal(tag, p->tag, sizeof(tag));
	}
}

/* Cuts a text at random places, into empty segments too, with gaps of some bytes between them. */
static void cut(struct packet *p, const uint8_t *text)
{
	uint32_t at = (uint32_t)(ref_random() % 32), left = p->bytes, most = ref_random() % 4 == 0 ? MAX_SEGS - 1 : 2;

	memset(p->room, GUARD, sizeof(p->room));
	p->n_segs = 0;
	while (left > 0 || (p->n_segs < most && ref_random() % 4 == 0)) {
		uint32_t n = p->n_segs < most ? (uint32_t)(ref_random() % (ref_random() % 2 == 0 ? 33 : left + 1)) : left;

		n = n < left ? n : left;
		memcpy(p->room + at, text + p->bytes - left, n);
		p->segs[p->n_segs++] = (struct crypt_seg){p->room + at, n};
		left -= n;
		at += n + (uint32_t)(ref_random() % 32);
	}
}

/* The text of the segments is as given, and nothing beside them was touched. */
static void compare(const struct packet *p, const uint8_t *text)
{
	const uint8_t *at = p->room;
	uint32_t done = 0;

	for (uint32_t s = 0; s < p->n_segs; s++) {
		for (; at < p->segs[s].data; at++)
			assert_int_equal(*at, GUARD);
		assert_memory_equal(at, text + done, p->segs[s].bytes);
		at += p->segs[s].bytes;
		done += p->segs[s].bytes;
	}
	for (; at < p->room + sizeof(p->room); at++)
		assert_int_equal(*at, GUARD);
}

static struct crypt_job job_of(struct packet *p, struct crypt_key *const keys[KEYS], uint8_t *tag)
{
	struct crypt_job job = {.key = keys[p->key],
		.segs = p->segs,
		.aad = p->aad,
		.tag = tag,
		.aad_bytes = p->aad_bytes,
		.n_segs = (uint16_t)p->n_segs,
		.status = 1};

	memcpy(job.nonce, p->nonce, sizeof(job.nonce));
	return job;
}

static void seal_and_open(const struct backend *b, struct crypt_key *const keys[KEYS], uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		cut(&packets[i], packets[i].plain);
		jobs[i] = job_of(&packets[i], keys, packets[i].got_tag);
	}
	assert_int_equal(b->cipher->seal(b->ctx, jobs, n), n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(jobs[i].status, 0);
		compare(&packets[i], packets[i].cipher);
		assert_memory_equal(packets[i].got_tag, packets[i].tag, CRYPT_TAG_BYTES);
		cut(&packets[i], packets[i].cipher);
		jobs[i] = job_of(&packets[i], keys, packets[i].tag);
	}
	assert_int_equal(b->cipher->open(b->ctx, jobs, n), n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(jobs[i].status, 0);
		compare(&packets[i], packets[i].plain);
	}
}

static void make_keys(const struct backend *b, enum crypt_suite suite, struct crypt_key *keys[KEYS])
{
	for (uint32_t k = 0; k < KEYS; k++) {
		keys[k] = b->cipher->key_new(b->ctx, suite, raw[k]);
		assert_non_null(keys[k]);
	}
}

static void free_keys(const struct backend *b, struct crypt_key *keys[KEYS])
{
	for (uint32_t k = 0; k < KEYS; k++)
		b->cipher->key_free(b->ctx, keys[k]);
}

static int by_key(const void *a, const void *b)
{
	const struct packet *p = a, *q = b;

	return (p->key > q->key) - (p->key < q->key);
}

static void every_length(void **state)
{
	(void)state;
	for (int suite = 0; suite < CRYPT_SUITES; suite++) {
		struct crypt_key *keys[MAX_BACKENDS][KEYS];

		ref_fill(raw[0], sizeof(raw));
		for (uint32_t b = 0; b < n_backends; b++)
			if (backends[b].cipher->knows(backends[b].ctx, (enum crypt_suite)suite))
				make_keys(&backends[b], (enum crypt_suite)suite, keys[b]);
		for (uint32_t bytes = 0, n; bytes <= MAX_TEXT; bytes += n) {
			n = 1 + (uint32_t)(ref_random() % BURST);
			n = n < MAX_TEXT + 1 - bytes ? n : MAX_TEXT + 1 - bytes;
			for (uint32_t i = 0; i < n; i++)
				make(&packets[i], (enum crypt_suite)suite, bytes + i);
			if (ref_random() % 4 != 0)
				qsort(packets, n, sizeof(packets[0]), by_key);
			for (uint32_t b = 0; b < n_backends; b++)
				if (backends[b].cipher->knows(backends[b].ctx, (enum crypt_suite)suite))
					seal_and_open(&backends[b], keys[b], n);
		}
		for (uint32_t b = 0; b < n_backends; b++)
			if (backends[b].cipher->knows(backends[b].ctx, (enum crypt_suite)suite))
				free_keys(&backends[b], keys[b]);
	}
}

/* ---- what is wrong ---- */

static void refuse(const struct backend *b, struct crypt_key *const keys[KEYS], struct packet *p, uint8_t *at, uint32_t bit)
{
	struct crypt_job job;

	memcpy(p->got_tag, p->tag, sizeof(p->tag));
	cut(p, p->cipher);
	*at ^= (uint8_t)(1u << bit);
	job = job_of(p, keys, p->got_tag);
	assert_int_equal(b->cipher->open(b->ctx, &job, 1), 0);
	assert_int_equal(job.status, -EBADMSG);
	*at ^= (uint8_t)(1u << bit);
}

/* The text is changed where it is after it was cut. */
static void refuse_text(const struct backend *b, struct crypt_key *const keys[KEYS], struct packet *p, uint32_t bit)
{
	p->cipher[bit / 8] ^= (uint8_t)(1u << bit % 8);
	cut(p, p->cipher);
	p->cipher[bit / 8] ^= (uint8_t)(1u << bit % 8);
	memcpy(p->got_tag, p->tag, sizeof(p->tag));
	jobs[0] = job_of(p, keys, p->got_tag);
	assert_int_equal(b->cipher->open(b->ctx, jobs, 1), 0);
	assert_int_equal(jobs[0].status, -EBADMSG);
	/* None of what it might have meant is left. */
	for (uint32_t s = 0; s < p->n_segs; s++)
		for (uint32_t i = 0; i < p->segs[s].bytes; i++)
			assert_int_equal(p->segs[s].data[i], 0);
}

static void every_bit_counts(void **state)
{
	static const uint32_t lengths[] = {0, 1, 15, 16, 17, 64, 100, 513};

	(void)state;
	for (uint32_t b = 0; b < n_backends; b++) {
		for (int suite = 0; suite < CRYPT_SUITES; suite++) {
			struct crypt_key *keys[KEYS];
			struct packet *p = &packets[0];

			if (!backends[b].cipher->knows(backends[b].ctx, (enum crypt_suite)suite))
				continue;
			make_keys(&backends[b], (enum crypt_suite)suite, keys);
			for (uint32_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
				make(p, (enum crypt_suite)suite, lengths[l]);
				for (uint32_t bit = 0; bit < 8 * lengths[l]; bit++)
					refuse_text(&backends[b], keys, p, bit);
				for (uint32_t bit = 0; bit < 8 * p->aad_bytes; bit++)
					refuse(&backends[b], keys, p, &p->aad[bit / 8], bit % 8);
				for (uint32_t bit = 0; bit < 8 * CRYPT_NONCE_BYTES; bit++)
					refuse(&backends[b], keys, p, &p->nonce[bit / 8], bit % 8);
				for (uint32_t bit = 0; bit < 8 * CRYPT_TAG_BYTES; bit++) {
					uint8_t tag[CRYPT_TAG_BYTES];
					struct crypt_job job;

					memcpy(tag, p->tag, sizeof(tag));
					tag[bit / 8] ^= (uint8_t)(1u << bit % 8);
					cut(p, p->cipher);
					job = job_of(p, keys, tag);
					assert_int_equal(backends[b].cipher->open(backends[b].ctx, &job, 1), 0);
					assert_int_equal(job.status, -EBADMSG);
				}
			}
			free_keys(&backends[b], keys);
		}
	}
}

/* One wrong packet of a burst is told, and the others are as they should be. */
static void one_wrong_one_spoils_no_other(void **state)
{
	(void)state;
	for (uint32_t b = 0; b < n_backends; b++) {
		struct crypt_key *keys[KEYS];

		if (!backends[b].cipher->knows(backends[b].ctx, CRYPT_AES_256_GCM))
			continue;
		make_keys(&backends[b], CRYPT_AES_256_GCM, keys);
		for (uint32_t wrong = 0; wrong < BURST; wrong += 7) {
			for (uint32_t i = 0; i < BURST; i++) {
				make(&packets[i], CRYPT_AES_256_GCM, (uint32_t)(ref_random() % 700));
				cut(&packets[i], packets[i].cipher);
				jobs[i] = job_of(&packets[i], keys, packets[i].tag);
			}
			packets[wrong].tag[3] ^= 0x40;
			assert_int_equal(backends[b].cipher->open(backends[b].ctx, jobs, BURST), BURST - 1);
			for (uint32_t i = 0; i < BURST; i++) {
				assert_int_equal(jobs[i].status, i == wrong ? -EBADMSG : 0);
				if (i != wrong)
					compare(&packets[i], packets[i].plain);
			}
		}
		free_keys(&backends[b], keys);
	}
}

static void keys_of_no_suite_are_refused(void **state)
{
	(void)state;
	for (uint32_t b = 0; b < n_backends; b++) {
		assert_false(backends[b].cipher->knows(backends[b].ctx, CRYPT_SUITES));
		assert_null(backends[b].cipher->key_new(backends[b].ctx, CRYPT_SUITES, raw[0]));
		assert_int_equal(errno, ENOTSUP);
	}
	assert_int_equal(crypt_suite_find("aes-192-gcm"), -EINVAL);
	assert_int_equal(crypt_suite_find("sm4-gcm"), CRYPT_SM4_GCM);
	assert_null(crypt_suite_name(CRYPT_SUITES));
	assert_int_equal(crypt_suite_key_bytes(CRYPT_SUITES), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length),
		cmocka_unit_test(every_bit_counts),
		cmocka_unit_test(one_wrong_one_spoils_no_other),
		cmocka_unit_test(keys_of_no_suite_are_refused),
	};
	int rc;

	ref_init();
	backends_open();
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	backends_close();
	return rc;
}
