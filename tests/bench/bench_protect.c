/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What protection costs beside its cipher. Bursts of frames are protected and opened again by lib/crypt, with addresses looked up
 * as the daemon's node does, and the same bytes are sealed and opened where they are by the cipher alone; and once more
 * with a cipher that does nothing, which leaves headers, look-ups, sorting and the window. All three in turn; medians.
 *
 * usage: bench_protect [-r ROUNDS] [-s SUITE] [-k KERNEL]
 *
 * Lines: SUITE KERNEL seal|open BYTES BURST KEYS, cycles of a packet by the cipher, by protection, and by protection without a
 * cipher. BYTES are those that are ciphered. A burst of several keys is dealt out to them in turn.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "bench_clock.h"
#include "crypt_simd.h"
#include "protect_end.h"
#include "wire_arp_nd.h"
#include "wire_frame.h"

#define MAX_BURST   32u
#define MAX_KEYS    4u
#define L4_AT       34u  /* Ethernet and IPv4 */
#define ROOM        (RTE_PKTMBUF_HEADROOM + L4_AT + 4096u + 64u)
#define MAX_ROUNDS  1001u
#define ROUND_TICKS 100000u
#define CALIBRATION_NS 2e7
#define FIRST_SPI   999u

enum way { CIPHER, PROTECTION, HEADERS, WAYS };
enum { SEAL, OPEN, DIRECTIONS };

static struct rte_mbuf mbufs[MAX_BURST], *pkts[MAX_BURST];
static uint8_t rooms[MAX_BURST][ROOM] __attribute__((aligned(64)));
static struct protect_end ends[WAYS]; /* that of CIPHER is not used */
static struct crypt_job jobs[MAX_BURST];
static struct crypt_seg segs[MAX_BURST];
static struct crypt_key *keys[MAX_KEYS];
static uint64_t empty_ticks;
static double ticks_per_ns;

static void die(const char *why)
{
	fprintf(stderr, "bench_protect: %s\n", why);
	exit(1);
}

/* ---- a cipher that does nothing ---- */

static int null_knows(const void *ctx, enum crypt_suite suite)
{
	(void)ctx;
	(void)suite;
	return 1;
}

static struct crypt_key *null_key_new(void *ctx, enum crypt_suite suite, const uint8_t *raw)
{
	(void)ctx;
	(void)suite;
	(void)raw;
	return malloc(1);
}

static void null_key_free(void *ctx, struct crypt_key *key)
{
	(void)ctx;
	free(key);
}

static unsigned int null_run(void *ctx, struct crypt_job *all, unsigned int n)
{
	(void)ctx;
	for (unsigned int i = 0; i < n; i++)
		all[i].status = 0;
	return n;
}

static const struct crypt_cipher null_cipher = {
	.name = "null", .knows = null_knows, .key_new = null_key_new, .key_free = null_key_free, .seal = null_run, .open = null_run};

/* ---- frames and associations ---- */

static struct wire_addr addr_of(uint32_t host)
{
	return (struct wire_addr){.b = {[10] = 0xff, 0xff, 10, 0, (uint8_t)(host >> 8), (uint8_t)host}};
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* A frame of UDP that has so many bytes from its UDP header on, from host 1 to host 2 + key. */
static void make_frame(uint32_t i, uint32_t bytes, uint32_t key)
{
	uint8_t *f = rooms[i] + RTE_PKTMBUF_HEADROOM;

	memset(f, 0, L4_AT + bytes);
	memcpy(f, (uint8_t[]){2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0, 0x45, 0x6a}, 16);
	put16(f + 16, 20 + bytes);
	memcpy(f + 20, (uint8_t[]){0x40, 0, 64, 17}, 4);
	memcpy(f + 26, (uint8_t[]){10, 0, 0, 1, 10, 0, 0, (uint8_t)(2 + key)}, 8);
	put16(f + 24, wire_csum_fold(wire_csum_add(0, f + 14, 20)));
	put16(f + L4_AT, 0xc001);
	put16(f + L4_AT + 2, WIRE_ROCE_PORT);
	put16(f + L4_AT + 4, bytes);
	mbufs[i] = (struct rte_mbuf){.buf_addr = rooms[i], .buf_len = ROOM, .data_off = RTE_PKTMBUF_HEADROOM,
		.data_len = (uint16_t)(L4_AT + bytes), .pkt_len = L4_AT + bytes, .refcnt = 1, .nb_segs = 1};
	pkts[i] = &mbufs[i];
	/* What lib/crypt makes of it: the text stays where it is, the PSP header is before it, the ICV behind it. */
	segs[i] = (struct crypt_seg){f + L4_AT, bytes};
	jobs[i] = (struct crypt_job){.key = keys[key], .segs = &segs[i], .n_segs = 1, .aad = f + L4_AT - WIRE_PSP_BYTES,
		.aad_bytes = WIRE_PSP_BYTES, .tag = f + L4_AT + bytes, .nonce = {(uint8_t)i}};
}

static void end_make(struct protect_end *end, const struct crypt_cipher *cipher, void *ctx, enum crypt_suite suite)
{
	struct wire_addr local = addr_of(1);

	protect_end_make(end, cipher, ctx, suite, MAX_KEYS);
	for (uint32_t i = 0; i < MAX_KEYS; i++) {
		struct wire_addr remote = addr_of(2 + i);

		protect_end_associate(end, suite, &local, &remote, FIRST_SPI + i * 7919);
	}
}

/* ---- measuring ---- */

static uint64_t since(uint64_t began)
{
	uint64_t ticks = rte_rdtsc() - began;

	return ticks > empty_ticks ? ticks - empty_ticks : 0;
}

/* One burst there and back; frames are as they were then. */
static void there_and_back(enum way way, uint32_t n, uint64_t ticks[DIRECTIONS])
{
	struct crypt_worker *worker = &ends[PROTECTION].worker;
	unsigned int sealed, opened;
	uint64_t began = rte_rdtsc();

	sealed = way == CIPHER ? worker->cipher->seal(worker->cipher_ctx, jobs, n) : protect_end_seal(&ends[way], pkts, n);
	ticks[SEAL] += since(began);
	began = rte_rdtsc();
	opened = way == CIPHER ? worker->cipher->open(worker->cipher_ctx, jobs, n) : protect_end_open(&ends[way], pkts, n);
	ticks[OPEN] += since(began);
	if (sealed != n || opened != n)
		die("a packet was dropped");
}

static void measure(enum crypt_suite suite, uint32_t bytes, uint32_t n, uint32_t n_keys, uint32_t rounds)
{
	static double cycles[WAYS][DIRECTIONS][MAX_ROUNDS];
	double per_tick = clock_ghz() / ticks_per_ns;
	uint32_t times[WAYS];

	for (uint32_t i = 0; i < n; i++)
		make_frame(i, bytes, i % n_keys);
	for (enum way w = CIPHER; w < WAYS; w++) {
		uint64_t ticks[DIRECTIONS] = {0};

		there_and_back(w, n, ticks);
		there_and_back(w, n, ticks);
		times[w] = 1 + (uint32_t)(2 * ROUND_TICKS / (ticks[SEAL] + ticks[OPEN] + 1));
	}
	for (uint32_t r = 0; r < rounds; r++) {
		for (enum way w = CIPHER; w < WAYS; w++) {
			uint64_t ticks[DIRECTIONS] = {0};

			for (uint32_t t = 0; t < times[w]; t++)
				there_and_back(w, n, ticks);
			for (int d = SEAL; d < DIRECTIONS; d++)
				cycles[w][d][r] = (double)ticks[d] / times[w] / n * per_tick;
		}
	}
	for (int d = SEAL; d < DIRECTIONS; d++)
		printf("%s %s %s %u %u %u %.0f %.0f %.0f c/packet\n", crypt_suite_name(suite),
			crypt_simd_kernel_of(ends[PROTECTION].worker.cipher_ctx), d == SEAL ? "seal" : "open", bytes, n, n_keys,
			median(cycles[CIPHER][d], rounds), median(cycles[PROTECTION][d], rounds), median(cycles[HEADERS][d], rounds));
	fflush(stdout);
}

static void run(enum crypt_suite suite, const char *kernel, uint32_t rounds)
{
	static const uint32_t sizes[] = {64, 256, 1024, 4096}, bursts[] = {1, 8, 32};
	void *ctx = crypt_simd_new(kernel);

	if (ctx == NULL)
		die("this CPU does not have that kernel");
	end_make(&ends[PROTECTION], &crypt_simd_cipher, ctx, suite);
	end_make(&ends[HEADERS], &null_cipher, NULL, suite);
	for (uint32_t k = 0; k < MAX_KEYS; k++)
		keys[k] = crypt_simd_cipher.key_new(ctx, suite, (uint8_t[CRYPT_KEY_BYTES_MAX]){(uint8_t)k});
	for (size_t z = 0; z < sizeof(sizes) / sizeof(sizes[0]); z++) {
		for (size_t b = 0; b < sizeof(bursts) / sizeof(bursts[0]); b++)
			measure(suite, sizes[z], bursts[b], 1, rounds);
		measure(suite, sizes[z], MAX_BURST, MAX_KEYS, rounds);
	}
	for (uint32_t k = 0; k < MAX_KEYS; k++)
		crypt_simd_cipher.key_free(ctx, keys[k]);
	protect_end_free(&ends[HEADERS]);
	protect_end_free(&ends[PROTECTION]);
	crypt_simd_free(ctx);
}

/* How fast the counter is; what reading it takes is not the burst's. */
static void read_clock(void)
{
	double v[101], began_ns = now_ns();
	uint64_t first = rte_rdtsc();

	while (now_ns() - began_ns < CALIBRATION_NS)
		;
	ticks_per_ns = (double)(rte_rdtsc() - first) / (now_ns() - began_ns);

	for (size_t i = 0; i < 101; i++) {
		uint64_t began = rte_rdtsc();

		v[i] = (double)(rte_rdtsc() - began);
	}
	empty_ticks = (uint64_t)median(v, 101);
}

int main(int argc, char **argv)
{
	const char *kernel = NULL;
	uint32_t rounds = 101;
	int suite = -1, c;

	while ((c = getopt(argc, argv, "r:s:k:")) != -1) {
		if (c == 'r')
			rounds = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 's')
			suite = crypt_suite_find(optarg);
		else if (c == 'k')
			kernel = optarg;
		if (c == '?' || rounds == 0 || rounds > MAX_ROUNDS || suite == -EINVAL) {
			fprintf(stderr, "usage: bench_protect [-r ROUNDS, 1..%u] [-s aes-128-gcm|aes-256-gcm|sm4-gcm] [-k KERNEL]\n",
				MAX_ROUNDS);
			return 2;
		}
	}
	read_clock();
	for (int s = 0; s < CRYPT_SUITES; s++)
		if (suite < 0 || s == suite)
			run((enum crypt_suite)s, kernel, rounds);
	return 0;
}
