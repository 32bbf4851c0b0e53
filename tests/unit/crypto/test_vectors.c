/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Known answers, with each kernel. Those of GCM by seal and open; those of other modes, which are not on the wire, by the block
 * cipher alone, for a wrong S-box or key schedule would show there too.
 *
 * usage: test_vectors FILE      as tests/data/crypto/sm4.txt
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crypt_simd.h"
#include "simd_kernel.h"

#define MAX_BYTES 1024u
#define MAX_LINE  8192

static const char *file_name;
static void *ctx;
static const struct simd_kernel *kernel;
static struct crypt_key *key;

enum { KEY, IV, AAD, PLAIN, CIPHER, TAG, N_BYTES };

struct vector {
	char mode[32];
	uint8_t b[N_BYTES][MAX_BYTES];
	uint32_t n[N_BYTES];
};

static uint32_t from_hex(const char *text, uint8_t *to)
{
	uint32_t n = 0;

	if (strcmp(text, "-") == 0)
		return 0;
	for (; text[0] != '\0'; text += 2) {
		char pair[3] = {text[0], text[1], '\0'};

		assert_true(n < MAX_BYTES && text[1] != '\0');
		to[n++] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return n;
}

static bool next_vector(FILE *file, struct vector *v)
{
	char line[MAX_LINE], *word, *rest;

	do {
		if (fgets(line, sizeof(line), file) == NULL)
			return false;
	} while (line[0] == '#');
	word = strtok_r(line, " ", &rest);
	(void)snprintf(v->mode, sizeof(v->mode), "%s", word);
	for (int i = 0; i < N_BYTES; i++) {
		word = strtok_r(NULL, " ", &rest);
		assert_non_null(word);
		v->n[i] = from_hex(word, v->b[i]);
	}
	return true;
}

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
		block(key, v->b[PLAIN]);
}

static void cbc(struct vector *v)
{
	const uint8_t *last = v->b[IV];

	for (uint32_t i = 0; i < v->n[PLAIN]; i += 16) {
		xor(v->b[PLAIN] + i, last, 16);
		block(key, v->b[PLAIN] + i);
		last = v->b[PLAIN] + i;
	}
}

static void ctr(struct vector *v)
{
	uint8_t counter[16], stream[16];

	memcpy(counter, v->b[IV], 16);
	for (uint32_t i = 0; i < v->n[PLAIN]; i += 16) {
		memcpy(stream, counter, 16);
		block(key, stream);
		xor(v->b[PLAIN] + i, stream, v->n[PLAIN] - i < 16 ? v->n[PLAIN] - i : 16);
		for (int k = 15; k >= 0 && ++counter[k] == 0; k--)
			;
	}
}

/* NIST SP 800-38C with a nonce of 12 bytes and a tag of 16: three bytes of lengths and counters. */
static void ccm(struct vector *v)
{
	uint8_t mac[16] = {0}, first[16] = {0}, stream[16];

	mac[0] = (uint8_t)((v->n[AAD] != 0) << 6 | (16 - 2) / 2 << 3 | 2);
	memcpy(mac + 1, v->b[IV], 12);
	mac[14] = (uint8_t)(v->n[PLAIN] >> 8);
	mac[15] = (uint8_t)v->n[PLAIN];
	block(key, mac);
	mac[0] ^= (uint8_t)(v->n[AAD] >> 8);
	mac[1] ^= (uint8_t)v->n[AAD];
	for (uint32_t i = 0; i < v->n[AAD]; i++) {
		mac[(i + 2) % 16] ^= v->b[AAD][i];
		if ((i + 2) % 16 == 15 || i + 1 == v->n[AAD])
			block(key, mac);
	}
	for (uint32_t i = 0; i < v->n[PLAIN]; i += 16) {
		uint32_t n = v->n[PLAIN] - i < 16 ? v->n[PLAIN] - i : 16;

		xor(mac, v->b[PLAIN] + i, n);
		block(key, mac);
		memset(stream, 0, 16);
		stream[0] = 2;
		memcpy(stream + 1, v->b[IV], 12);
		stream[15] = (uint8_t)(i / 16 + 1);
		block(key, stream);
		xor(v->b[PLAIN] + i, stream, n);
	}
	first[0] = 2;
	memcpy(first + 1, v->b[IV], 12);
	block(key, first);
	xor(mac, first, 16);
	assert_memory_equal(mac, v->b[TAG], 16);
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
	uint32_t n = v->n[PLAIN], whole = n / 16, rest = n % 16;
	uint8_t *data = v->b[PLAIN], tweak[16];

	memcpy(tweak, v->b[IV], 16);
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

/* ---- the file ---- */

static void seal_and_open(struct vector *v)
{
	struct crypt_seg seg = {v->b[PLAIN], v->n[PLAIN]};
	uint8_t plain[MAX_BYTES], tag[CRYPT_TAG_BYTES];
	struct crypt_job job = {.key = key, .segs = &seg, .n_segs = 1, .aad = v->b[AAD], .aad_bytes = v->n[AAD], .tag = tag};

	assert_int_equal(v->n[IV], CRYPT_NONCE_BYTES);
	assert_int_equal(v->n[TAG], CRYPT_TAG_BYTES);
	memcpy(plain, v->b[PLAIN], MAX_BYTES);
	memcpy(job.nonce, v->b[IV], CRYPT_NONCE_BYTES);
	assert_int_equal(crypt_simd_cipher.seal(ctx, &job, 1), 1);
	assert_memory_equal(v->b[PLAIN], v->b[CIPHER], v->n[CIPHER]);
	assert_memory_equal(tag, v->b[TAG], CRYPT_TAG_BYTES);
	assert_int_equal(crypt_simd_cipher.open(ctx, &job, 1), 1);
	assert_memory_equal(v->b[PLAIN], plain, v->n[PLAIN]);
	memcpy(v->b[PLAIN], v->b[CIPHER], v->n[CIPHER]);
}

static void check(struct vector *v)
{
	key = crypt_simd_cipher.key_new(ctx, CRYPT_SM4_GCM, v->b[KEY]);
	assert_non_null(key);
	if (strcmp(v->mode, "GCM") == 0) {
		seal_and_open(v);
	} else if (strcmp(v->mode, "CTR") == 0) {
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
		struct crypt_key *second = crypt_simd_cipher.key_new(ctx, CRYPT_SM4_GCM, v->b[KEY] + 16);

		assert_int_equal(strncmp(v->mode, "XTS", 3), 0);
		assert_non_null(second);
		xts(v, second, strstr(v->mode, "GB") != NULL);
		crypt_simd_cipher.key_free(ctx, second);
	}
	assert_memory_equal(v->b[PLAIN], v->b[CIPHER], v->n[CIPHER]);
	crypt_simd_cipher.key_free(ctx, key);
}

static void known_answers(void **state)
{
	static struct vector v;
	uint32_t n = 0;

	(void)state;
	for (unsigned int i = 0; crypt_simd_kernel(i) != NULL; i++) {
		FILE *file = fopen(file_name, "re");

		assert_non_null(file);
		ctx = crypt_simd_new(crypt_simd_kernel(i));
		if (ctx == NULL) {
			print_message("kernel %s does not run here\n", crypt_simd_kernel(i));
			(void)fclose(file);
			continue;
		}
		kernel = crypt_simd_kernel_in(ctx);
		for (n = 0; memset(&v, 0, sizeof(v)), next_vector(file, &v); n++)
			check(&v);
		assert_int_equal(n, 59);
		crypt_simd_free(ctx);
		(void)fclose(file);
	}
	assert_int_equal(n, 59);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(known_answers)};

	if (argc != 2) {
		fputs("usage: test_vectors FILE\n", stderr);
		return 2;
	}
	file_name = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
