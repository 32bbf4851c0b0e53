/* SPDX-License-Identifier: BSD-3-Clause */
/* Tags that are nearly right: what a comparison that stops early, folds words or looks at some bytes only would take. */
#include "edges.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ref.h"

#define TAG CRYPT_TAG_BYTES

static void refused_unless_right(const struct edge_cipher *e, struct crypt_key *key, const struct edge_text *t, const uint8_t tag[TAG])
{
	if (memcmp(tag, t->tag, TAG) != 0)
		edge_refused(e, key, t, tag);
}

/* The same bits changed in bytes or words a distance apart: their sum by XOR stays. */
static void flips(const struct edge_cipher *e, struct crypt_key *key, const struct edge_text *t)
{
	static const uint8_t masks[] = {0x01, 0x80, 0xff};
	uint8_t tag[TAG];

	for (uint32_t m = 0; m < sizeof(masks); m++) {
		for (uint32_t at = 0; at < TAG; at++) {
			for (uint32_t other = at + 1; other < TAG; other++) {
				memcpy(tag, t->tag, TAG);
				tag[at] ^= masks[m];
				tag[other] ^= masks[m];
				edge_refused(e, key, t, tag);
			}
		}
		for (uint32_t word = 2; word <= TAG; word *= 2) {
			memcpy(tag, t->tag, TAG);
			for (uint32_t at = 0; at < TAG; at += word)
				tag[at] ^= masks[m];
			edge_refused(e, key, t, tag);
			memcpy(tag, t->tag, TAG);
			for (uint32_t at = word - 1; at < TAG; at += word)
				tag[at] ^= masks[m];
			edge_refused(e, key, t, tag);
		}
	}
}

/* One byte more and one less: their sum by addition stays. */
static void shifts(const struct edge_cipher *e, struct crypt_key *key, const struct edge_text *t)
{
	uint8_t tag[TAG];

	for (uint32_t distance = 1; distance < TAG; distance++) {
		for (uint32_t at = 0; at + distance < TAG; at++) {
			memcpy(tag, t->tag, TAG);
			tag[at]++;
			tag[at + distance]--;
			edge_refused(e, key, t, tag);
		}
	}
}

/* Every wrong value of every byte, so the first bit and the last one, too. */
static void bytes(const struct edge_cipher *e, struct crypt_key *key, const struct edge_text *t)
{
	uint8_t tag[TAG];

	for (uint32_t at = 0; at < TAG; at++) {
		for (uint32_t change = 1; change < 256; change++) {
			memcpy(tag, t->tag, TAG);
			tag[at] ^= (uint8_t)change;
			edge_refused(e, key, t, tag);
		}
	}
}

/* The API has tags of 16 bytes and no lengths: one cut short is one whose other bytes are what happens to be there. */
static void cut(const struct edge_cipher *e, struct crypt_key *key, const struct edge_text *t)
{
	static const uint8_t fills[] = {0x00, 0xff, 0xa5};
	uint8_t tag[TAG];

	for (uint32_t f = 0; f < sizeof(fills); f++) {
		for (uint32_t n = 0; n < TAG; n++) {
			memset(tag, fills[f], TAG);
			memcpy(tag, t->tag, n);
			refused_unless_right(e, key, t, tag);
			memset(tag, fills[f], TAG);
			memcpy(tag + TAG - n, t->tag + TAG - n, n);
			refused_unless_right(e, key, t, tag);
		}
	}
}

/* All its bits there, in other places or the other way round; and what else an implementation has at hand. */
static void whole(const struct edge_cipher *e, struct crypt_key *key, const struct edge_text *t)
{
	struct ghash right = ghash_load(t->tag), mask = edge_mask(e->suite, t);
	uint8_t tag[TAG];

	for (uint32_t turn = 1; turn < TAG; turn++) {
		for (uint32_t i = 0; i < TAG; i++)
			tag[i] = t->tag[(i + turn) % TAG];
		refused_unless_right(e, key, t, tag);
	}
	for (uint32_t i = 0; i < TAG; i++)
		tag[i] = t->tag[TAG - 1 - i];
	refused_unless_right(e, key, t, tag);
	for (uint32_t i = 0; i < TAG; i++)
		tag[i] = (uint8_t)~t->tag[i];
	edge_refused(e, key, t, tag);
	for (uint32_t i = 0; i < EDGES_BLOCKS; i++) {
		ghash_store(tag, edges_block(i)); /* all zeros, all ones and others */
		refused_unless_right(e, key, t, tag);
		ghash_store(tag, ghash_add(right, edges_block(i)));
		refused_unless_right(e, key, t, tag);
	}
	ghash_store(tag, ghash_add(right, mask)); /* GHASH without its mask */
	refused_unless_right(e, key, t, tag);
	ghash_store(tag, mask); /* the mask without GHASH */
	refused_unless_right(e, key, t, tag);
	ghash_store(tag, edge_hash_key(e->suite, t));
	refused_unless_right(e, key, t, tag);
	if (t->bytes >= TAG)
		refused_unless_right(e, key, t, t->cipher + t->bytes - TAG);
}

static void all_of(const struct edge_cipher *e, const struct edge_text *t)
{
	struct crypt_key *key = edge_key(e, t);

	edge_good(e, key, t);
	bytes(e, key, t);
	flips(e, key, t);
	shifts(e, key, t);
	cut(e, key, t);
	whole(e, key, t);
	edge_good(e, key, t);
	e->cipher->key_free(e->ctx, key);
}

/* Two packets of a burst with each other's tags, with and without a right one between them. */
static void swapped(const struct edge_cipher *e)
{
	enum { JOBS = 5 };
	static struct edge_text t[JOBS];
	static uint8_t rooms[JOBS][EDGE_TEXT_MAX], tags[JOBS][TAG];
	struct crypt_seg segs[JOBS];
	struct crypt_job jobs[JOBS];
	struct crypt_key *key;

	for (uint32_t i = 0; i < JOBS; i++) {
		edge_random(&t[i], 16, 64 + 100 * i);
		memcpy(t[i].raw, t[0].raw, sizeof(t[0].raw));
		edge_seal(e->suite, &t[i]);
	}
	key = edge_key(e, &t[0]);
	for (uint32_t other = 1; other < JOBS; other++) {
		for (uint32_t i = 0; i < JOBS; i++) {
			memcpy(rooms[i], t[i].cipher, t[i].bytes);
			memcpy(tags[i], t[i == 0 ? other : i == other ? 0 : i].tag, TAG);
			jobs[i] = edge_job(&t[i], key, &segs[i], rooms[i], tags[i]);
		}
		assert_int_equal(e->cipher->open(e->ctx, jobs, JOBS), JOBS - 2);
		for (uint32_t i = 0; i < JOBS; i++) {
			assert_int_equal(jobs[i].status, i == 0 || i == other ? -EBADMSG : 0);
			if (jobs[i].status == 0)
				assert_memory_equal(rooms[i], t[i].plain, t[i].bytes);
		}
	}
	e->cipher->key_free(e->ctx, key);
}

void edges_tags(const struct edge_cipher *e)
{
	static const uint32_t lengths[] = {0, 1, 15, 16, 17, 64, 255, 1040};
	struct edge_text t;

	for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		if (lengths[i] == 0 && !e->any_aad)
			continue;
		edge_random(&t, e->any_aad && i % 2 == 0 ? 13 : 16, lengths[i]);
		edge_seal(e->suite, &t);
		all_of(e, &t);
	}
	/* The right one is all zeros, and all ones. */
	for (uint32_t i = 0; i < 2; i++) {
		edge_random(&t, 16, 48);
		edges_make_sum(&t, e->suite, edge_hash_key(e->suite, &t), ghash_add(edge_mask(e->suite, &t), edges_block(i)));
		edge_verify(e->suite, &t);
		for (uint32_t k = 0; k < TAG; k++)
			assert_int_equal(t.tag[k], i == 0 ? 0x00 : 0xff);
		all_of(e, &t);
	}
	swapped(e);
}
