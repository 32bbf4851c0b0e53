/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Known answers, with each kernel. Those of GCM by seal and open; those of other modes, which are not on the wire, by the block
 * cipher alone, for a wrong S-box or key schedule would show there too.
 *
 * usage: test_vectors SM4 AES      as tests/data/crypto/sm4.txt and aes.txt
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "crypt_simd.h"
#include "ref.h"
#include "simd_kernel.h"
#include "vectors.h"

static const char *sm4_file, *aes_file;
static void *ctx;
static const struct simd_kernel *kernel;
static struct crypt_key *key;

/* ---- modes of operation, from the block cipher ---- */

static void block(const struct crypt_key *k, uint8_t b[16])
{
	uint8_t batch[16 * (1 + SIMD_BATCH_MAX)] = {0};

	memcpy(batch, b, 16);
	kernel->blocks(k, batch, 1);
	memcpy(b, batch, 16);
}

static void xor(uint8_t *to, const uint8_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] ^= from[i];
}

static void ecb(struct vector *v, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++)
		block(key, v->b[VECTOR_PLAIN]);
}

static void cbc(struct vector *v)
{
	const uint8_t *last = v->b[VECTOR_IV];

	for (uint32_t i = 0; i < v->n[VECTOR_PLAIN]; i += 16) {
		xor(v->b[VECTOR_PLAIN] + i, last, 16);
		block(key, v->b[VECTOR_PLAIN] + i);
		last = v->b[VECTOR_PLAIN] + i;
	}
}

static void ctr(struct vector *v)
{
	uint8_t counter[16], stream[16];

	memcpy(counter, v->b[VECTOR_IV], 16);
	for (uint32_t i = 0; i < v->n[VECTOR_PLAIN]; i += 16) {
		memcpy(stream, counter, 16);
		block(key, stream);
		xor(v->b[VECTOR_PLAIN] + i, stream, v->n[VECTOR_PLAIN] - i < 16 ? v->n[VECTOR_PLAIN] - i : 16);
		for (int k = 15; k >= 0 && ++counter[k] == 0; k--)
			;
	}
}

/* NIST SP 800-38C with a nonce of 12 bytes and a tag of 16: three bytes of lengths and counters. */
static void ccm(struct vector *v)
{
	uint8_t mac[16] = {0}, first[16] = {0}, stream[16];

	mac[0] = (uint8_t)((v->n[VECTOR_AAD] != 0) << 6 | (16 - 2) / 2 << 3 | 2);
	memcpy(mac + 1, v->b[VECTOR_IV], 12);
	mac[14] = (uint8_t)(v->n[VECTOR_PLAIN] >> 8);
	mac[15] = (uint8_t)v->n[VECTOR_PLAIN];
	block(key, mac);
	mac[0] ^= (uint8_t)(v->n[VECTOR_AAD] >> 8);
	mac[1] ^= (uint8_t)v->n[VECTOR_AAD];
	for (uint32_t i = 0; i < v->n[VECTOR_AAD]; i++) {
		mac[(i + 2) % 16] ^= v->b[VECTOR_AAD][i];
		if ((i + 2) % 16 == 15 || i + 1 == v->n[VECTOR_AAD])
			block(key, mac);
	}
	for (uint32_t i = 0; i < v->n[VECTOR_PLAIN]; i += 16) {
		uint32_t n = v->n[VECTOR_PLAIN] - i < 16 ? v->n[VECTOR_PLAIN] - i : 16;

		xor(mac, v->b[VECTOR_PLAIN] + i, n);
		block(key, mac);
		memset(stream, 0, 16);
		stream[0] = 2;
		memcpy(stream + 1, v->b[VECTOR_IV], 12);
		stream[15] = (uint8_t)(i / 16 + 1);
		block(key, stream);
		xor(v->b[VECTOR_PLAIN] + i, stream, n);
	}
	first[0] = 2;
	memcpy(first + 1, v->b[VECTOR_IV], 12);
	block(key, first);
	xor(mac, first, 16);
	assert_memory_equal(mac, v->b[VECTOR_TAG], 16);
}

/* IEEE 1619: the tweak times x, least significant byte first; GB/T 17964 has it the other way round. */
static void times_x(uint8_t tweak[16], bool gb)
{
	unsigned int carry = 0;

	for (int i = 0; i < 16; i++) {
		unsigned int byte = tweak[i];

		tweak[i] = (uint8_t)(gb ? byte >> 1 | carry << 7 : byte << 1 | carry);
		carry = gb ? byte & 1 : byte >> 7;
	}
	if (carry != 0)
		tweak[0] ^= gb ? 0xe1 : 0x87;
}

static void xts(struct vector *v, const struct crypt_key *second, bool gb)
{
	uint32_t n = v->n[VECTOR_PLAIN], whole = n / 16, rest = n % 16;
	uint8_t *data = v->b[VECTOR_PLAIN], tweak[16];

	memcpy(tweak, v->b[VECTOR_IV], 16);
	block(second, tweak);
	for (uint32_t i = 0; i < whole; i++) {
		xor(data + 16 * i, tweak, 16);
		block(key, data + 16 * i);
		xor(data + 16 * i, tweak, 16);
		times_x(tweak, gb);
	}
	if (rest != 0) {
		uint8_t *last = data + 16 * (whole - 1), stolen[16];

		memcpy(stolen, last, 16);
		memcpy(last, last + 16, rest);
		memcpy(last + 16, stolen, rest);
		xor(last, tweak, 16);
		block(key, last);
		xor(last, tweak, 16);
	}
}

/* ---- the files ---- */

static struct crypt_job job_of(const struct vector *v, const struct crypt_seg *seg, uint8_t *tag)
{
	struct crypt_job job = {.key = key, .segs = seg, .n_segs = 1, .aad = v->b[VECTOR_AAD], .aad_bytes = v->n[VECTOR_AAD],
		.tag = tag};

	assert_int_equal(v->n[VECTOR_IV], CRYPT_NONCE_BYTES);
	assert_int_equal(v->n[VECTOR_TAG], CRYPT_TAG_BYTES);
	memcpy(job.nonce, v->b[VECTOR_IV], CRYPT_NONCE_BYTES);
	return job;
}

/* The answer is also what two other implementations say. */
static void check_answer(enum crypt_suite suite, const struct vector *v)
{
	uint8_t text[VECTOR_MAX_BYTES], tag[CRYPT_TAG_BYTES];

	memcpy(text, v->b[VECTOR_PLAIN], sizeof(text));
	ref_gcrypt_seal(suite, v->b[VECTOR_KEY], v->b[VECTOR_IV], v->b[VECTOR_AAD], v->n[VECTOR_AAD], text, v->n[VECTOR_PLAIN], tag);
	assert_memory_equal(text, v->b[VECTOR_CIPHER], v->n[VECTOR_CIPHER]);
	assert_memory_equal(tag, v->b[VECTOR_TAG], CRYPT_TAG_BYTES);
	memcpy(text, v->b[VECTOR_PLAIN], sizeof(text));
	if (!ref_openssl_seal(suite, v->b[VECTOR_KEY], v->b[VECTOR_IV], v->b[VECTOR_AAD], v->n[VECTOR_AAD], text,
		    v->n[VECTOR_PLAIN], tag))
		return;
	assert_memory_equal(text, v->b[VECTOR_CIPHER], v->n[VECTOR_CIPHER]);
	assert_memory_equal(tag, v->b[VECTOR_TAG], CRYPT_TAG_BYTES);
}

static void seal_and_open(struct vector *v)
{
	struct crypt_seg seg = {v->b[VECTOR_PLAIN], v->n[VECTOR_PLAIN]};
	uint8_t plain[VECTOR_MAX_BYTES], tag[CRYPT_TAG_BYTES];
	struct crypt_job job = job_of(v, &seg, tag);

	assert_int_equal(v->n[VECTOR_PLAIN], v->n[VECTOR_CIPHER]);
	memcpy(plain, v->b[VECTOR_PLAIN], sizeof(plain));
	assert_int_equal(crypt_simd_cipher.seal(ctx, &job, 1), 1);
	assert_memory_equal(v->b[VECTOR_PLAIN], v->b[VECTOR_CIPHER], v->n[VECTOR_CIPHER]);
	assert_memory_equal(tag, v->b[VECTOR_TAG], CRYPT_TAG_BYTES);
	assert_int_equal(crypt_simd_cipher.open(ctx, &job, 1), 1);
	assert_memory_equal(v->b[VECTOR_PLAIN], plain, v->n[VECTOR_PLAIN]);
	memcpy(v->b[VECTOR_PLAIN], v->b[VECTOR_CIPHER], v->n[VECTOR_CIPHER]);
}

/* A tag that is wrong, by those who wrote it. */
static void refuse(struct vector *v)
{
	static const uint8_t zeros[VECTOR_MAX_BYTES];
	struct crypt_seg seg = {v->b[VECTOR_CIPHER], v->n[VECTOR_CIPHER]};
	struct crypt_job job = job_of(v, &seg, v->b[VECTOR_TAG]);

	assert_int_equal(crypt_simd_cipher.open(ctx, &job, 1), 0);
	assert_int_equal(job.status, -EBADMSG);
	assert_memory_equal(v->b[VECTOR_CIPHER], zeros, v->n[VECTOR_CIPHER]);
}

/* Modes that are not on the wire: v's text is ciphered by the block cipher. */
static void cipher_blocks(struct vector *v)
{
	if (strcmp(v->mode, "CTR") == 0) {
		ctr(v);
	} else if (strcmp(v->mode, "CBC") == 0) {
		cbc(v);
	} else if (strcmp(v->mode, "ECB") == 0) {
		ecb(v, 1);
	} else if (strcmp(v->mode, "ECB-iter1000000") == 0) {
		ecb(v, 1000000);
	} else if (strcmp(v->mode, "CCM") == 0) {
		ccm(v);
	} else {
		struct crypt_key *second = crypt_simd_cipher.key_new(ctx, CRYPT_SM4_GCM, v->b[VECTOR_KEY] + 16);

		assert_int_equal(strncmp(v->mode, "XTS", 3), 0);
		assert_non_null(second);
		xts(v, second, strstr(v->mode, "GB") != NULL);
		crypt_simd_cipher.key_free(ctx, second);
	}
	assert_memory_equal(v->b[VECTOR_PLAIN], v->b[VECTOR_CIPHER], v->n[VECTOR_CIPHER]);
}

static void check(enum crypt_suite suite, struct vector *v)
{
	key = crypt_simd_cipher.key_new(ctx, suite, v->b[VECTOR_KEY]);
	assert_non_null(key);
	if (strcmp(v->mode, "GCM") == 0) {
		check_answer(suite, v);
		seal_and_open(v);
	} else if (strcmp(v->mode, "GCM-FAIL") == 0) {
		refuse(v);
	} else {
		cipher_blocks(v);
	}
	crypt_simd_cipher.key_free(ctx, key);
}

static void check_file(const char *name, bool aes, uint32_t vectors)
{
	static struct vector v;
	FILE *file = fopen(name, "re");
	uint32_t n = 0;

	assert_non_null(file);
	for (; vectors_next(file, &v); n++)
		check(aes ? vectors_aes_suite(&v) : CRYPT_SM4_GCM, &v);
	assert_int_equal(n, vectors);
	(void)fclose(file);
}

static void with_each_kernel(bool aes, const char *name, uint32_t vectors)
{
	for (unsigned int i = 0; crypt_simd_kernel(i) != NULL; i++) {
		ctx = crypt_simd_new(crypt_simd_kernel(i));
		if (ctx == NULL) {
			print_message("kernel %s does not run here\n", crypt_simd_kernel(i));
			continue;
		}
		kernel = crypt_simd_kernel_in(ctx);
		check_file(name, aes, vectors);
		print_message("kernel %s: %u known answers of %s\n", kernel->name, vectors, aes ? "AES" : "SM4");
		crypt_simd_free(ctx);
	}
}

static void sm4(void **state)
{
	(void)state;
	with_each_kernel(false, sm4_file, 59);
}

static void aes(void **state)
{
	(void)state;
	with_each_kernel(true, aes_file, 171);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sm4),
		cmocka_unit_test(aes),
	};

	if (argc != 3) {
		fputs("usage: test_vectors SM4 AES\n", stderr);
		return 2;
	}
	sm4_file = argv[1];
	aes_file = argv[2];
	ref_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
