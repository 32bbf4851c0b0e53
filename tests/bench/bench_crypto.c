/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets sealed by each kernel beside the libraries that others wrote, in one run: rounds go from one to the next, so that
 * what else the machine does meets all alike, and medians are printed. Cycles are of the core, by a chain of additions.
 *
 * usage: bench_crypto [-r ROUNDS] [-s SUITE] [-t]
 *
 * -t: instead, whether the time of roced's kernels depends on keys and texts (Reparaz, Balasch and Verbauwhede, DATE'17): packets
 * under one key and text against random ones, as Welch's t; from 10 on there is reason to look. Reported, not judged.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gcrypt.h>
#include <openssl/evp.h>
#ifdef HAVE_IPSEC_MB
#include <intel-ipsec-mb.h>
#endif

#include "bench_clock.h"
#include "crypt_simd.h"

#define SLOTS       8u
#define SLOT_BYTES  4608u
#define MAX_BURST   32u
#define AAD_BYTES   16u
#define MAX_ROUNDS  1001u
#define ROUND_NS    60000.0

static uint8_t room[SLOTS * SLOT_BYTES] __attribute__((aligned(64)));
static uint8_t tags[MAX_BURST][16], nonces[MAX_BURST][12], aad[AAD_BYTES] = {1};
static const uint8_t raw[32] = {1, 2, 3, 4, 5, 6, 7, 8};
static uint64_t packets;

static void die(const char *why)
{
	fprintf(stderr, "bench_crypto: %s\n", why);
	exit(1);
}

static uint8_t *slot(uint32_t i)
{
	return room + (size_t)(i % SLOTS) * SLOT_BYTES;
}

static void next_nonces(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		packets++;
		memcpy(nonces[i], &packets, sizeof(packets));
	}
}

/* ---- who seals ---- */

struct sealer {
	char name[32];
	/* False: it does not know the suite. */
	bool (*start)(struct sealer *s, enum crypt_suite suite);
	void (*seal)(struct sealer *s, uint32_t n, uint32_t bytes);
	void (*stop)(struct sealer *s);
	void *a, *b;
};

static bool simd_start(struct sealer *s, enum crypt_suite suite)
{
	s->a = crypt_simd_new(s->name + strlen("roced-"));
	if (s->a == NULL)
		return false;
	s->b = crypt_simd_cipher.key_new(s->a, suite, raw);
	return s->b != NULL;
}

static void simd_seal(struct sealer *s, uint32_t n, uint32_t bytes)
{
	struct crypt_job jobs[MAX_BURST];
	struct crypt_seg segs[MAX_BURST];

	for (uint32_t i = 0; i < n; i++) {
		segs[i] = (struct crypt_seg){slot(i), bytes};
		jobs[i] = (struct crypt_job){
			.key = s->b, .segs = &segs[i], .aad = aad, .tag = tags[i], .aad_bytes = AAD_BYTES, .n_segs = 1};
		memcpy(jobs[i].nonce, nonces[i], sizeof(jobs[i].nonce));
	}
	if (crypt_simd_cipher.seal(s->a, jobs, n) != n)
		die("a packet was not sealed");
}

static void simd_stop(struct sealer *s)
{
	crypt_simd_cipher.key_free(s->a, s->b);
	crypt_simd_free(s->a);
}

static bool gcrypt_start(struct sealer *s, enum crypt_suite suite)
{
	static const int algorithms[] = {GCRY_CIPHER_AES128, GCRY_CIPHER_AES256, GCRY_CIPHER_SM4};
	gcry_cipher_hd_t h;

	if (gcry_cipher_open(&h, algorithms[suite], GCRY_CIPHER_MODE_GCM, 0) != 0 ||
		gcry_cipher_setkey(h, raw, crypt_suite_key_bytes(suite)) != 0)
		return false;
	s->a = h;
	return true;
}

static void gcrypt_seal(struct sealer *s, uint32_t n, uint32_t bytes)
{
	gcry_cipher_hd_t h = s->a;

	for (uint32_t i = 0; i < n; i++) {
		gcry_cipher_reset(h);
		gcry_cipher_setiv(h, nonces[i], 12);
		gcry_cipher_authenticate(h, aad, AAD_BYTES);
		gcry_cipher_encrypt(h, slot(i), bytes, NULL, 0);
		gcry_cipher_gettag(h, tags[i], 16);
	}
}

static void gcrypt_stop(struct sealer *s)
{
	gcry_cipher_close(s->a);
}

static bool openssl_start(struct sealer *s, enum crypt_suite suite)
{
	static const char *const names[] = {"AES-128-GCM", "AES-256-GCM", "SM4-GCM"};
	EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, names[suite], NULL);
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

	if (cipher == NULL || ctx == NULL || EVP_EncryptInit_ex2(ctx, cipher, raw, nonces[0], NULL) != 1) {
		EVP_CIPHER_free(cipher);
		EVP_CIPHER_CTX_free(ctx);
		return false;
	}
	s->a = ctx;
	s->b = cipher;
	return true;
}

static void openssl_seal(struct sealer *s, uint32_t n, uint32_t bytes)
{
	EVP_CIPHER_CTX *ctx = s->a;
	int len;

	for (uint32_t i = 0; i < n; i++) {
		EVP_EncryptInit_ex2(ctx, NULL, NULL, nonces[i], NULL);
		EVP_EncryptUpdate(ctx, NULL, &len, aad, AAD_BYTES);
		EVP_EncryptUpdate(ctx, slot(i), &len, slot(i), (int)bytes);
		EVP_EncryptFinal_ex(ctx, slot(i), &len);
		EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, tags[i]);
	}
}

static void openssl_stop(struct sealer *s)
{
	EVP_CIPHER_CTX_free(s->a);
	EVP_CIPHER_free(s->b);
}

#ifdef HAVE_IPSEC_MB
struct imb {
	struct gcm_key_data key;
	struct gcm_context_data ctx;
	bool wide;
} __attribute__((aligned(64)));

/* Its code for a CPU of that kind, whatever this one has beyond it. */
static void imb_init(const struct sealer *s, IMB_MGR *mgr)
{
	if (strcmp(s->name, "ipsec-mb-avx2") == 0)
		init_mb_mgr_avx2(mgr);
	else
		init_mb_mgr_avx512(mgr);
}

static bool imb_start(struct sealer *s, enum crypt_suite suite)
{
	IMB_MGR *mgr = suite != CRYPT_SM4_GCM ? alloc_mb_mgr(0) : NULL;
	struct imb *imb = aligned_alloc(64, sizeof(*imb));

	if (mgr != NULL)
		imb_init(s, mgr);
	if (mgr == NULL || imb == NULL || imb_get_errno(mgr) != 0) {
		free(imb);
		if (mgr != NULL)
			free_mb_mgr(mgr);
		return false;
	}
	imb->wide = suite == CRYPT_AES_256_GCM;
	if (imb->wide)
		IMB_AES256_GCM_PRE(mgr, raw, &imb->key);
	else
		IMB_AES128_GCM_PRE(mgr, raw, &imb->key);
	s->a = mgr;
	s->b = imb;
	return true;
}

static void imb_seal(struct sealer *s, uint32_t n, uint32_t bytes)
{
	IMB_MGR *mgr = s->a;
	struct imb *imb = s->b;

	for (uint32_t i = 0; i < n; i++) {
		if (imb->wide)
			IMB_AES256_GCM_ENC(mgr, &imb->key, &imb->ctx, slot(i), slot(i), bytes, nonces[i], aad, AAD_BYTES, tags[i], 16);
		else
			IMB_AES128_GCM_ENC(mgr, &imb->key, &imb->ctx, slot(i), slot(i), bytes, nonces[i], aad, AAD_BYTES, tags[i], 16);
	}
}

static void imb_stop(struct sealer *s)
{
	free_mb_mgr(s->a);
	free(s->b);
}
#endif

static struct sealer sealers[] = {
	{"roced-avx512", simd_start, simd_seal, simd_stop, NULL, NULL},
	{"roced-avx2", simd_start, simd_seal, simd_stop, NULL, NULL},
	{"roced-sse", simd_start, simd_seal, simd_stop, NULL, NULL},
	{"roced-portable", simd_start, simd_seal, simd_stop, NULL, NULL},
	{"libgcrypt", gcrypt_start, gcrypt_seal, gcrypt_stop, NULL, NULL},
	{"openssl", openssl_start, openssl_seal, openssl_stop, NULL, NULL},
#ifdef HAVE_IPSEC_MB
	{"ipsec-mb-avx2", imb_start, imb_seal, imb_stop, NULL, NULL},
	{"ipsec-mb-avx512", imb_start, imb_seal, imb_stop, NULL, NULL},
#endif
};

#define N_SEALERS (sizeof(sealers) / sizeof(sealers[0]))

/* ---- measuring ---- */

static double round_ns(struct sealer *s, uint32_t n, uint32_t bytes, uint32_t times)
{
	double began = now_ns();

	for (uint32_t i = 0; i < times; i++) {
		next_nonces(n);
		s->seal(s, n, bytes);
	}
	return (now_ns() - began) / times;
}

static void measure(enum crypt_suite suite, const bool known[N_SEALERS], uint32_t n, uint32_t bytes, uint32_t rounds)
{
	static double ns[N_SEALERS][MAX_ROUNDS];
	uint32_t times[N_SEALERS] = {0};
	double ghz = clock_ghz();

	for (size_t s = 0; s < N_SEALERS; s++) {
		if (known[s]) {
			(void)round_ns(&sealers[s], n, bytes, 3);
			times[s] = 1 + (uint32_t)(ROUND_NS / round_ns(&sealers[s], n, bytes, 3));
		}
	}
	for (uint32_t r = 0; r < rounds; r++)
		for (size_t s = 0; s < N_SEALERS; s++)
			if (known[s])
				ns[s][r] = round_ns(&sealers[s], n, bytes, times[s]) / n;
	for (size_t s = 0; s < N_SEALERS; s++) {
		double each;

		if (!known[s])
			continue;
		each = median(ns[s], rounds);
		printf("%s %s %u %u %.3f GB/s %.2f c/B %.0f c/packet\n", crypt_suite_name(suite), sealers[s].name, bytes, n,
			bytes / each, each * ghz / bytes, each * ghz);
	}
	fflush(stdout);
}

static void run(enum crypt_suite suite, uint32_t rounds)
{
	static const uint32_t sizes[] = {64, 256, 1024, 4096}, bursts[] = {1, 8, 32};
	bool known[N_SEALERS];

	for (size_t s = 0; s < N_SEALERS; s++)
		known[s] = sealers[s].start(&sealers[s], suite);
	for (size_t z = 0; z < sizeof(sizes) / sizeof(sizes[0]); z++)
		for (size_t b = 0; b < sizeof(bursts) / sizeof(bursts[0]); b++)
			measure(suite, known, bursts[b], sizes[z], rounds);
	for (size_t s = 0; s < N_SEALERS; s++)
		if (known[s])
			sealers[s].stop(&sealers[s]);
}

/* ---- whether time tells ---- */

#define T_SAMPLES 20000u
#define T_BYTES   256u
#define T_BURST   8u

static uint64_t splitmix(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Times of both kinds by turns that are drawn; the slowest tenth is what else the machine did. */
static double welch_t(struct sealer *s, enum crypt_suite suite)
{
	static double ns[2][T_SAMPLES];
	size_t n[2] = {0};
	double mean[2] = {0}, spread[2] = {0};
	uint64_t state = 1;

	while (n[0] < T_SAMPLES && n[1] < T_SAMPLES) {
		size_t kind = splitmix(&state) & 1;
		uint8_t key[32] = {0};
		struct crypt_key *old = s->b;
		double began;

		memset(room, 0, T_BYTES);
		for (uint32_t i = 0; kind == 1 && i < sizeof(key); i++)
			key[i] = (uint8_t)splitmix(&state);
		for (uint32_t p = 0; p < T_BURST; p++)
			for (uint32_t i = 0; i < T_BYTES; i++)
				slot(p)[i] = kind == 1 ? (uint8_t)splitmix(&state) : 0;
		s->b = crypt_simd_cipher.key_new(s->a, suite, key);
		crypt_simd_cipher.key_free(s->a, old);
		next_nonces(T_BURST);
		s->seal(s, T_BURST, T_BYTES);
		next_nonces(T_BURST);
		began = now_ns();
		s->seal(s, T_BURST, T_BYTES);
		ns[kind][n[kind]++] = now_ns() - began;
	}
	for (size_t k = 0; k < 2; k++) {
		qsort(ns[k], n[k], sizeof(double), compare_doubles);
		n[k] = n[k] * 9 / 10;
		for (size_t i = 0; i < n[k]; i++)
			mean[k] += ns[k][i] / (double)n[k];
		for (size_t i = 0; i < n[k]; i++)
			spread[k] += (ns[k][i] - mean[k]) * (ns[k][i] - mean[k]) / (double)(n[k] - 1) / (double)n[k];
	}
	return (mean[0] - mean[1]) / sqrt(spread[0] + spread[1]);
}

static void run_time_test(enum crypt_suite suite)
{
	for (size_t s = 0; s < N_SEALERS; s++) {
		if (sealers[s].start != simd_start || !simd_start(&sealers[s], suite))
			continue;
		printf("%s %s t %.1f\n", crypt_suite_name(suite), sealers[s].name, welch_t(&sealers[s], suite));
		fflush(stdout);
		simd_stop(&sealers[s]);
	}
}

int main(int argc, char **argv)
{
	bool time_test = false;
	uint32_t rounds = 101;
	int suite = -1, c;

	while ((c = getopt(argc, argv, "r:s:t")) != -1) {
		if (c == 'r')
			rounds = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 's')
			suite = crypt_suite_find(optarg);
		else if (c == 't')
			time_test = true;
		if ((c != 'r' && c != 's' && c != 't') || rounds == 0 || rounds > MAX_ROUNDS || suite == -EINVAL) {
			fprintf(stderr, "usage: bench_crypto [-r ROUNDS, 1..%u] [-s aes-128-gcm|aes-256-gcm|sm4-gcm] [-t]\n", MAX_ROUNDS);
			return 2;
		}
	}
	gcry_check_version(NULL);
	gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
	gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
	for (int s = 0; s < CRYPT_SUITES; s++)
		if ((suite < 0 || s == suite) && time_test)
			run_time_test((enum crypt_suite)s);
		else if (suite < 0 || s == suite)
			run((enum crypt_suite)s, rounds);
	return 0;
}
