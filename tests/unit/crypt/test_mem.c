/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where secrets lie, and that they are gone afterwards: what the kernel says of their pages, what is in them when they are given
 * back, and all that this process can write to searched for a key that was used.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/evp.h>

#include "crypt_kdf.h"
#include "crypt_mem.h"
#include "crypt_simd.h"
#include "frames.h"

#define BLOCK  16u
#define MASK   0x5a
#define CHUNK  65536u
#define SEARCH 6u

int __real_munmap(void *memory, size_t bytes);
int __wrap_munmap(void *memory, size_t bytes);

static const void *watched;
static size_t watched_bytes;
static bool was_wiped;

int __wrap_munmap(void *memory, size_t bytes)
{
	if (memory == watched) {
		assert_int_equal(bytes, watched_bytes);
		was_wiped = true;
		for (size_t i = 0; i < bytes; i++)
			was_wiped = was_wiped && ((const uint8_t *)memory)[i] == 0;
	}
	return __real_munmap(memory, bytes);
}

/* ---- pages ---- */

/* The flags that /proc/self/smaps tells of the mapping with this address. */
static void flags_of(const void *memory, char flags[256])
{
	FILE *f = fopen("/proc/self/smaps", "re");
	uintptr_t from, to;
	bool here = false;
	char line[512];

	assert_non_null(f);
	flags[0] = 0;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			here = from <= (uintptr_t)memory && (uintptr_t)memory < to;
		else if (here && strncmp(line, "VmFlags:", 8) == 0)
			snprintf(flags, 256, "%.255s", line + 8);
	}
	fclose(f);
}

/* AddressSanitizer makes mlock() do nothing, and say that it went well. */
#ifdef __SANITIZE_ADDRESS__
#define MLOCK_WORKS false
#else
#define MLOCK_WORKS true
#endif

static void pages_are_locked_hidden_and_wiped(void **state)
{
	static const size_t sizes[] = {1, 100, 4096, 4097, 100000};
	char flags[256];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		bool lockable = MLOCK_WORKS && crypt_mem_may_lock(sizes[i]);
		uint8_t *memory = crypt_mem_new(sizes[i]);

		assert_non_null(memory);
		assert_int_equal((uintptr_t)memory % 4096, 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(memory[k], 0);
		memset(memory, 0xa5, sizes[i]);
		flags_of(memory, flags);
		if (flags[0] != 0) {
			assert_int_equal(strstr(flags, " lo") != NULL, lockable);
			assert_non_null(strstr(flags, " dd"));
		}
		watched = memory;
		watched_bytes = sizes[i];
		was_wiped = false;
		crypt_mem_free(memory, sizes[i]);
		assert_true(was_wiped);
		watched = NULL;
	}
	assert_null(crypt_mem_new(0));
	crypt_mem_free(NULL, 5);
}

/* A process that may lock nothing has memory all the same. */
static void without_the_right_to_lock(void **state)
{
	struct rlimit before, none;
	void *memory;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	/* A limit does not hold for who has CAP_IPC_LOCK. */
	if (geteuid() != 0)
		assert_false(crypt_mem_may_lock(4096));
	memory = crypt_mem_new(5000);
	assert_non_null(memory);
	memset(memory, 1, 5000);
	crypt_mem_free(memory, 5000);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

/* ---- the search ---- */

/* What is looked for, masked, so that the list of it is not found. */
static uint8_t secrets[SEARCH][BLOCK];

static void seek(uint32_t which, const uint8_t *bytes)
{
	for (uint32_t i = 0; i < BLOCK; i++)
		secrets[which][i] = bytes[i] ^ MASK;
}

/*
 * Nearly all that is searched is not a secret's first byte, most of it zero: that is seen without a look at each secret. Checks of a
 * sanitizer for every byte would make this minutes, and the chunk is an array of this file.
 */
#ifdef __SANITIZE_ADDRESS__
#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))
#else
#define UNCHECKED
#endif

static UNCHECKED bool is_secret(const uint8_t *at)
{
	for (uint32_t s = 0; s < SEARCH; s++) {
		uint32_t same = 0;

		while (same < BLOCK && (at[same] ^ MASK) == secrets[s][same])
			same++;
		if (same == BLOCK)
			return true;
	}
	return false;
}

static UNCHECKED uint32_t count_in_chunk(const uint8_t *chunk, size_t bytes, const bool begins[256])
{
	uint32_t found = 0;

	for (size_t i = 0; i + BLOCK <= bytes; i++)
		found += begins[chunk[i]] && is_secret(chunk + i);
	return found;
}

static uint32_t count_in(int fd, uintptr_t from, uintptr_t to)
{
	static uint8_t chunk[CHUNK + BLOCK];
	bool begins[256] = {false};
	uint32_t found = 0;

	for (uint32_t s = 0; s < SEARCH; s++)
		begins[secrets[s][0] ^ MASK] = true;
	for (; from < to; from += CHUNK) {
		size_t want = to - from < sizeof(chunk) ? to - from : sizeof(chunk);
		ssize_t n = pread(fd, chunk, want, (off_t)from);

		/* A match that ends in the next chunk is counted there as well as here. */
		if (n > 0)
			found += count_in_chunk(chunk, (size_t)n, begins);
	}
	explicit_bzero(chunk, sizeof(chunk));
	return found;
}

/* How often a secret is found in what this process can write to. */
static uint32_t count_secrets(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	uint32_t found = 0;
	char line[512], how[8];
	uintptr_t from, to;

	assert_non_null(f);
	assert_true(fd >= 0);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, how) == 3 && how[0] == 'r' && how[1] == 'w' &&
			to - from < ((uintptr_t)1 << 30))
			found += count_in(fd, from, to);
	}
	close(fd);
	fclose(f);
	return found;
}

/* ---- keys ---- */

static void secret_byte_by_byte(uint8_t *to, uint32_t n, uint32_t seed)
{
	for (uint32_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		to[i] = (uint8_t)(seed >> 24);
	}
}

/* The key's halves, and the key of GHASH in both orders of its bytes: E(K, 0), which is enough to forge. */
static void seek_key(enum crypt_suite suite, const uint8_t *key)
{
	static const uint8_t zeros[BLOCK];
	const EVP_CIPHER *cipher = suite == CRYPT_AES_128_GCM ? EVP_aes_128_ecb() : suite == CRYPT_AES_256_GCM ? EVP_aes_256_ecb() :
		EVP_sm4_ecb();
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	uint8_t h[2 * BLOCK];
	int n;

	assert_non_null(c);
	assert_int_equal(EVP_EncryptInit_ex(c, cipher, NULL, key, NULL), 1);
	assert_int_equal(EVP_EncryptUpdate(c, h, &n, zeros, BLOCK), 1);
	EVP_CIPHER_CTX_free(c);
	seek(0, key);
	seek(1, key + crypt_suite_key_bytes(suite) - BLOCK);
	seek(2, h);
	for (uint32_t i = 0; i < BLOCK / 2; i++) {
		uint8_t b = h[i];

		h[i] = h[BLOCK - 1 - i];
		h[BLOCK - 1 - i] = b;
	}
	seek(3, h);
	explicit_bzero(h, sizeof(h));
}

static void derive(struct crypt_sa_params *params, uint32_t seed)
{
	struct crypt_kdf_input in = {.suite = params->suite, .spi = params->spi, .initiator = "", .responder = ""};
	uint8_t working[CRYPT_WORKING_KEY_BYTES];

	secret_byte_by_byte(working, sizeof(working), seed);
	seek(4, working);
	seek(5, working + BLOCK);
	assert_int_equal(crypt_kdf_session(working, &in, params->key), 0);
	explicit_bzero(working, sizeof(working));
}

/* Takes a key, sends and receives with it, and gives it back. */
__attribute__((noinline)) static void live(const char *kernel, enum crypt_suite suite, uint32_t *while_alive)
{
	struct crypt_worker worker = {.cipher = &crypt_simd_cipher, .cipher_ctx = crypt_simd_new(kernel), .port = WIRE_PSP_PORT};
	struct crypt_sa_params params = {.suite = suite, .spi = 7};
	struct rte_mbuf *pkts[8];
	enum base_drop reasons[8];
	struct crypt_tx_sa *sas[8];
	struct crypt_rx_sa *rx[8];

	derive(&params, 77 + (uint32_t)suite);
	seek_key(suite, params.key);
	worker.table = crypt_table_new(4);
	for (uint32_t i = 0; i < 8; i++) {
		sas[i] = i == 0 ? crypt_tx_sa_new(worker.cipher, worker.cipher_ctx, &params) : sas[0];
		pkts[i] = frame_make(i, 40 + 300 * i, false, false);
	}
	assert_int_equal(crypt_table_add(worker.table, crypt_rx_sa_new(worker.cipher, worker.cipher_ctx, &params)), 0);
	*while_alive = count_secrets();
	explicit_bzero(params.key, sizeof(params.key));
	assert_int_equal(crypt_protect(&worker, pkts, sas, 8, reasons), 8);
	assert_int_equal(crypt_unprotect(&worker, pkts, rx, 8, reasons), 8);
	crypt_tx_sa_free(sas[0]);
	crypt_table_free(worker.table);
	crypt_simd_free(worker.cipher_ctx);
}

static void no_key_is_found_after_it_was_given_back(void **state)
{
	const char *kernel;

	(void)state;
	for (unsigned int k = 0; (kernel = crypt_simd_kernel(k)) != NULL; k++) {
		void *ctx = crypt_simd_new(kernel);

		crypt_simd_free(ctx);
		for (int suite = 0; ctx != NULL && suite < CRYPT_SUITES; suite++) {
			uint32_t alive = 0, found;

			live(kernel, (enum crypt_suite)suite, &alive);
			found = count_secrets();
			if (found != 0)
				print_message("%s, %s: %u found\n", kernel, crypt_suite_name((enum crypt_suite)suite), found);
			/* The search does find what is there. */
			assert_true(alive != 0);
			assert_int_equal(found, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_locked_hidden_and_wiped),
		cmocka_unit_test(without_the_right_to_lock),
		cmocka_unit_test(no_key_is_found_after_it_was_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
