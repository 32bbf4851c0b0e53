/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK's own crypto devices as a backend, on the caller's CPU and by queue, against libgcrypt. Devices that this DPDK does
 * not have are left out and named.
 *
 * usage: test_cryptodev AES      as tests/data/crypto/aes.txt
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "crypt_cryptodev.h"
#include "edges.h"
#include "ref.h"
#include "vectors.h"

#define MAX_TEXT 4200u
#define BURST    64u
#define ROUNDS   60u
#define KEYS     3u

static const char *const drivers[] = {"crypto_aesni_gcm", "crypto_aesni_mb", "crypto_openssl"};

#define N_DRIVERS (sizeof(drivers) / sizeof(drivers[0]))

static uint8_t raw[KEYS][CRYPT_KEY_BYTES_MAX];
static uint8_t plain[BURST][MAX_TEXT], want[BURST][MAX_TEXT], got[BURST][MAX_TEXT];
static uint8_t aad[BURST][CRYPT_CRYPTODEV_AAD], want_tag[BURST][CRYPT_TAG_BYTES], tag[BURST][CRYPT_TAG_BYTES];
static struct crypt_seg segs[BURST][CRYPT_CRYPTODEV_SEGS];
static struct crypt_job jobs[BURST];
static uint32_t n_tested;
static const char *aes_file;

/* A packet in one segment, or cut at two places. */
static void make(uint32_t i, enum crypt_suite suite, struct crypt_key *const keys[KEYS], bool cut)
{
	uint32_t bytes = 1 + (uint32_t)(ref_random() % (i % 2 == 0 ? 100 : MAX_TEXT)), k = (uint32_t)(ref_random() % KEYS);
	uint32_t first = cut && bytes > 3 ? 1 + (uint32_t)(ref_random() % (bytes - 2)) : bytes;

	jobs[i] = (struct crypt_job){.key = keys[k], .segs = segs[i], .aad = aad[i], .aad_bytes = CRYPT_CRYPTODEV_AAD,
		.tag = tag[i], .n_segs = first < bytes ? 2 : 1};
	segs[i][0] = (struct crypt_seg){got[i], first};
	segs[i][1] = (struct crypt_seg){got[i] + first, bytes - first};
	ref_fill(jobs[i].nonce, CRYPT_NONCE_BYTES);
	ref_fill(aad[i], CRYPT_CRYPTODEV_AAD);
	ref_fill(plain[i], bytes);
	memcpy(want[i], plain[i], bytes);
	memcpy(got[i], plain[i], bytes);
	ref_gcrypt_seal(suite, raw[k], jobs[i].nonce, aad[i], CRYPT_CRYPTODEV_AAD, want[i], bytes, want_tag[i]);
}

static uint32_t bytes_of(uint32_t i)
{
	return segs[i][0].bytes + segs[i][1].bytes;
}

static void round_trip(void *ctx, enum crypt_suite suite, struct crypt_key *const keys[KEYS], uint32_t n, bool cut)
{
	for (uint32_t i = 0; i < n; i++)
		make(i, suite, keys, cut);
	assert_int_equal(crypt_cryptodev_cipher.seal(ctx, jobs, n), n);
	for (uint32_t i = 0; i < n; i++) {
		assert_memory_equal(got[i], want[i], bytes_of(i));
		assert_memory_equal(tag[i], want_tag[i], CRYPT_TAG_BYTES);
	}
	tag[n / 2][7] ^= 1;
	assert_int_equal(crypt_cryptodev_cipher.open(ctx, jobs, n), n - 1);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(jobs[i].status, i == n / 2 ? -EBADMSG : 0);
		if (i != n / 2)
			assert_memory_equal(got[i], plain[i], bytes_of(i));
	}
}

static void all_of(void *ctx)
{
	for (int suite = 0; suite < CRYPT_SUITES; suite++) {
		struct crypt_key *keys[KEYS];

		if (!crypt_cryptodev_cipher.knows(ctx, (enum crypt_suite)suite)) {
			assert_null(crypt_cryptodev_cipher.key_new(ctx, (enum crypt_suite)suite, raw[0]));
			assert_int_equal(errno, ENOTSUP);
			continue;
		}
		for (uint32_t k = 0; k < KEYS; k++) {
			ref_fill(raw[k], sizeof(raw[k]));
			keys[k] = crypt_cryptodev_cipher.key_new(ctx, (enum crypt_suite)suite, raw[k]);
			assert_non_null(keys[k]);
		}
		for (uint32_t r = 0; r < ROUNDS; r++)
			round_trip(ctx, (enum crypt_suite)suite, keys, 1 + (uint32_t)(ref_random() % BURST), r % 2 != 0);
		/* A session is for one length of AAD; its neighbours are served. */
		for (uint32_t i = 0; i < 3; i++)
			make(i, (enum crypt_suite)suite, keys, false);
		jobs[1].aad_bytes = 8;
		assert_int_equal(crypt_cryptodev_cipher.seal(ctx, jobs, 3), 2);
		assert_int_equal(jobs[1].status, -ENOTSUP);
		assert_memory_equal(got[2], want[2], bytes_of(2));
		for (uint32_t k = 0; k < KEYS; k++)
			crypt_cryptodev_cipher.key_free(ctx, keys[k]);
	}
}

/* ---- known answers and edge cases ---- */

/* One known answer with as much AAD as sessions are for, or one that is to be refused. */
static void answer(void *ctx, const struct vector *v)
{
	struct edge_cipher e = {"cryptodev", &crypt_cryptodev_cipher, ctx, vectors_aes_suite(v), false};
	struct edge_text t = {.aad_bytes = v->n[VECTOR_AAD], .bytes = v->n[VECTOR_CIPHER]};
	struct crypt_key *key;

	memcpy(t.raw, v->b[VECTOR_KEY], v->n[VECTOR_KEY]);
	memcpy(t.nonce, v->b[VECTOR_IV], sizeof(t.nonce));
	memcpy(t.aad, v->b[VECTOR_AAD], t.aad_bytes);
	memcpy(t.plain, v->b[VECTOR_PLAIN], v->n[VECTOR_PLAIN]);
	memcpy(t.cipher, v->b[VECTOR_CIPHER], t.bytes);
	memcpy(t.tag, v->b[VECTOR_TAG], sizeof(t.tag));
	key = edge_key(&e, &t);
	if (strcmp(v->mode, "GCM") == 0)
		edge_good(&e, key, &t);
	else
		edge_refused(&e, key, &t, t.tag);
	crypt_cryptodev_cipher.key_free(ctx, key);
}

/* NIST CAVP's and others with an AAD of 16 bytes and a text; devices are given no other packets. */
static void known_answers(void *ctx)
{
	static struct vector v;
	FILE *file = fopen(aes_file, "re");
	uint32_t n = 0;

	assert_non_null(file);
	while (vectors_next(file, &v)) {
		if (strncmp(v.mode, "GCM", 3) != 0 || v.n[VECTOR_AAD] != CRYPT_CRYPTODEV_AAD || v.n[VECTOR_CIPHER] == 0 ||
			!crypt_cryptodev_cipher.knows(ctx, vectors_aes_suite(&v)))
			continue;
		answer(ctx, &v);
		n++;
	}
	(void)fclose(file);
	print_message("%u known answers\n", n);
	assert_int_equal(n, 24);
}

static void edge_cases(void *ctx, const char *name)
{
	for (int suite = 0; suite < CRYPT_SUITES; suite++) {
		struct edge_cipher e = {name, &crypt_cryptodev_cipher, ctx, (enum crypt_suite)suite, false};

		if (crypt_cryptodev_cipher.knows(ctx, e.suite))
			edges_all(&e);
	}
}

static void devices_seal_as_libraries_do(void **state)
{
	(void)state;
	for (uint32_t d = 0; d < N_DRIVERS; d++) {
		for (int path = CRYPT_CRYPTODEV_CPU; path <= CRYPT_CRYPTODEV_QUEUE; path++) {
			void *ctx;

			if (rte_eal_hotplug_add("vdev", drivers[d], "") != 0) {
				print_message("%s: this DPDK does not have it\n", drivers[d]);
				break;
			}
			ctx = crypt_cryptodev_new(drivers[d], (enum crypt_cryptodev_path)path, KEYS);
			if (ctx == NULL) {
				assert_int_equal(path, CRYPT_CRYPTODEV_CPU);
				assert_int_equal(errno, ENOTSUP);
			} else {
				print_message("%s: %s\n", drivers[d], crypt_cryptodev_is_cpu(ctx) ? "on this CPU" : "by queue");
				assert_int_equal(crypt_cryptodev_is_cpu(ctx), path == CRYPT_CRYPTODEV_CPU);
				all_of(ctx);
				known_answers(ctx);
				edge_cases(ctx, drivers[d]);
				crypt_cryptodev_free(ctx);
				n_tested++;
			}
			assert_int_equal(rte_eal_hotplug_remove("vdev", drivers[d]), 0);
		}
	}
	if (n_tested == 0)
		skip();
}

static void what_is_not_there_is_told(void **state)
{
	(void)state;
	assert_null(crypt_cryptodev_new("crypto_nowhere", CRYPT_CRYPTODEV_ANY, 4));
	assert_int_equal(errno, ENODEV);
	if (rte_eal_hotplug_add("vdev", "crypto_null", "") != 0)
		return;
	assert_null(crypt_cryptodev_new("crypto_null", CRYPT_CRYPTODEV_ANY, 4));
	assert_int_equal(errno, ENOTSUP);
	(void)rte_eal_hotplug_remove("vdev", "crypto_null");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_seal_as_libraries_do),
		cmocka_unit_test(what_is_not_there_is_told),
	};
	char prefix[32];
	char *args[] = {(char[]){"test"}, (char[]){"--no-huge"}, (char[]){"-m"}, (char[]){"128"}, (char[]){"--no-pci"},
		(char[]){"--no-shconf"}, (char[]){"--no-telemetry"}, (char[]){"--log-level=3"}, prefix};
	int rc;

	if (argc != 2) {
		fputs("usage: test_cryptodev AES\n", stderr);
		return 2;
	}
	aes_file = argv[1];
	snprintf(prefix, sizeof(prefix), "--file-prefix=ct%d", (int)getpid());
	if (rte_eal_init(sizeof(args) / sizeof(args[0]), args) < 0) {
		fprintf(stderr, "test_cryptodev: DPDK does not start: %s\n", rte_strerror(rte_errno));
		return 77;
	}
	ref_init();
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rte_eal_cleanup();
	return rc;
}
