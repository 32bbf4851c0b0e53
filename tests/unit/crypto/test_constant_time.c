/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No branch and no address depends on a key or a text. To be run under valgrind: keys, texts and AAD are declared undefined, and
 * memcheck tells each jump and each address that comes of them. Sealing only: whether a tag was right is for all to see.
 *
 * usage: valgrind --error-exitcode=9 test_constant_time [leak]
 *
 * Kernels for instructions that valgrind does not know do not run there; bench_crypto -t looks at their time. With "leak" it
 * does what must be found. Exit status 77: it does not run under valgrind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/memcheck.h>

#include "crypt_simd.h"

#define N_JOBS 40u

static uint8_t texts[N_JOBS][700], tags[N_JOBS][CRYPT_TAG_BYTES], aad[N_JOBS][32];

static void must(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "test_constant_time: %s\n", what);
		exit(1);
	}
}

static void seal_all(void *ctx, enum crypt_suite suite)
{
	struct crypt_job jobs[N_JOBS];
	struct crypt_seg segs[N_JOBS];
	uint8_t raw[CRYPT_KEY_BYTES_MAX], undefined[CRYPT_TAG_BYTES], all[CRYPT_TAG_BYTES];
	struct crypt_key *key;

	memset(all, 0xff, sizeof(all));
	memset(raw, 7, sizeof(raw));
	(void)VALGRIND_MAKE_MEM_UNDEFINED(raw, sizeof(raw));
	key = crypt_simd_cipher.key_new(ctx, suite, raw);
	must(key != NULL, "no key");
	for (uint32_t i = 0; i < N_JOBS; i++) {
		segs[i] = (struct crypt_seg){texts[i], i * 17};
		jobs[i] = (struct crypt_job){
			.key = key, .segs = &segs[i], .n_segs = 1, .aad = aad[i], .aad_bytes = i % 32, .tag = tags[i], .nonce = {(uint8_t)i}};
		(void)VALGRIND_MAKE_MEM_UNDEFINED(texts[i], sizeof(texts[i]));
		(void)VALGRIND_MAKE_MEM_UNDEFINED(aad[i], sizeof(aad[i]));
	}
	must(crypt_simd_cipher.seal(ctx, jobs, N_JOBS) == N_JOBS, "not all sealed");
	/* If nothing came of the secrets, nothing was tested. */
	must(VALGRIND_GET_VBITS(tags[3], undefined, CRYPT_TAG_BYTES) == 1 && memcmp(undefined, all, sizeof(all)) == 0,
		"the tag does not depend on the key");
	(void)VALGRIND_MAKE_MEM_DEFINED(texts, sizeof(texts));
	(void)VALGRIND_MAKE_MEM_DEFINED(tags, sizeof(tags));
	crypt_simd_cipher.key_free(ctx, key);
}

static void leak(void)
{
	volatile uint8_t secret = 1;

	(void)VALGRIND_MAKE_MEM_UNDEFINED(&secret, sizeof(secret));
	if (secret != 0)
		puts("leaked");
}

int main(int argc, char **argv)
{
	unsigned int n = 0;

	if (!RUNNING_ON_VALGRIND)
		return 77;
	if (argc == 2 && strcmp(argv[1], "leak") == 0) {
		leak();
		return 0;
	}
	for (unsigned int i = 0; crypt_simd_kernel(i) != NULL; i++) {
		void *ctx = crypt_simd_new(crypt_simd_kernel(i));

		printf("kernel %s: %s\n", crypt_simd_kernel(i), ctx != NULL ? "is tested" : "does not run under valgrind");
		if (ctx == NULL)
			continue;
		for (int suite = 0; suite < CRYPT_SUITES; suite++)
			seal_all(ctx, (enum crypt_suite)suite);
		crypt_simd_free(ctx);
		n++;
	}
	must(n != 0, "no kernel ran");
	return 0;
}
