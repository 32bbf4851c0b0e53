/* SPDX-License-Identifier: BSD-3-Clause */
#include "tp_protected.h"

#include <stdio.h>
#include <x86intrin.h>

#include "crypt_simd.h"
#include "protect_end.h"
#include "tp_world.h"

#define SPI     9000u
#define SAMPLES 16384u

/* The cipher with a clock around it. */
struct timed {
	void *ctx;
	uint64_t ticks;
};

struct link {
	struct timed timed;
	struct protect_end end;
	uint32_t leaves;         /* two in a turn: messages, and acknowledgements */
	double samples[SAMPLES]; /* of turns, the cipher's ticks */
};

static int timed_knows(const void *ctx, enum crypt_suite suite)
{
	return crypt_simd_cipher.knows(((const struct timed *)ctx)->ctx, suite);
}

static struct crypt_key *timed_key_new(void *ctx, enum crypt_suite suite, const uint8_t *raw)
{
	return crypt_simd_cipher.key_new(((struct timed *)ctx)->ctx, suite, raw);
}

static void timed_key_free(void *ctx, struct crypt_key *key)
{
	crypt_simd_cipher.key_free(((struct timed *)ctx)->ctx, key);
}

static unsigned int timed_seal(void *ctx, struct crypt_job *jobs, unsigned int n)
{
	struct timed *timed = ctx;
	uint64_t began = __rdtsc();
	unsigned int good = crypt_simd_cipher.seal(timed->ctx, jobs, n);

	timed->ticks += __rdtsc() - began;
	return good;
}

static unsigned int timed_open(void *ctx, struct crypt_job *jobs, unsigned int n)
{
	struct timed *timed = ctx;
	uint64_t began = __rdtsc();
	unsigned int good = crypt_simd_cipher.open(timed->ctx, jobs, n);

	timed->ticks += __rdtsc() - began;
	return good;
}

static const struct crypt_cipher timed_cipher = {.name = "timed",
	.knows = timed_knows,
	.key_new = timed_key_new,
	.key_free = timed_key_free,
	.seal = timed_seal,
	.open = timed_open};

static void in_bursts(struct protect_end *end, struct rte_mbuf **pkts, uint32_t n,
	unsigned int (*run)(struct protect_end *end, struct rte_mbuf **pkts, uint32_t n))
{
	for (uint32_t i = 0; i < n; i += CRYPT_BURST) {
		uint32_t some = n - i < CRYPT_BURST ? n - i : CRYPT_BURST;

		if (run(end, pkts + i, some) != some)
			tw_die("a protected packet was dropped");
	}
}

static void leave(void *arg, struct rte_mbuf **pkts, uint32_t n)
{
	struct link *link = arg;

	if (link->leaves++ % 2 == 0) {
		link->samples[link->leaves / 2 % SAMPLES] = (double)link->timed.ticks; /* of the turn before */
		link->timed.ticks = 0;
	}
	in_bursts(&link->end, pkts, n, protect_end_seal);
}

static void arrive(void *arg, struct rte_mbuf **pkts, uint32_t n)
{
	in_bursts(&((struct link *)arg)->end, pkts, n, protect_end_open);
}

/* Of all turns, by the median one. */
static double cipher_ticks(struct link *link)
{
	uint32_t turns = link->leaves / 2;

	return median(link->samples + 1, turns - 1 < SAMPLES - 1 ? turns - 1 : SAMPLES - 1) * turns;
}

static void measure(enum crypt_suite suite, struct link *link, uint32_t bytes, uint32_t messages, uint32_t rounds)
{
	struct tw_options plain = {.msg_bytes = bytes},
			  covered = {.msg_bytes = bytes, .leave = leave, .arrive = arrive, .link_arg = link};
	struct tw_world *a = tw_new(&plain), *b = tw_new(&covered);
	struct tw_round alone, with;

	tw_move(a, messages / 10 + TW_DEPTH, &alone);
	tw_move(b, messages / 10 + TW_DEPTH, &with);
	for (uint32_t i = 0; i < rounds; i++) {
		tw_move(a, messages, &alone);
		link->leaves = 0;
		tw_move(b, messages, &with);
		printf("%s_%u_added %.1f cycles\n", crypt_suite_name(suite), bytes,
			with.requester + with.responder - alone.requester - alone.responder);
		printf("%s_%u_cipher %.1f cycles\n", crypt_suite_name(suite), bytes,
			cipher_ticks(link) * tw_cycles_per_tick() / messages);
	}
	tw_check(b);
	tw_free(a);
	tw_free(b);
}

void tp_protected(enum crypt_suite suite, uint32_t messages, uint32_t rounds)
{
	static const uint32_t sizes[] = {256, 1024, 4096};
	static const struct wire_addr hosts[2] = {
		{{[10] = 0xff, 0xff, 192, 0, 2, 1}}, {{[10] = 0xff, 0xff, 192, 0, 2, 2}}};
	static struct link link;

	link.timed.ctx = crypt_simd_new(NULL);
	if (link.timed.ctx == NULL)
		tw_die("no cipher");
	protect_end_make(&link.end, &timed_cipher, &link.timed, suite, 2);
	protect_end_associate(&link.end, suite, &hosts[0], &hosts[1], SPI);
	protect_end_associate(&link.end, suite, &hosts[1], &hosts[0], SPI + 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		measure(suite, &link, sizes[i], messages, rounds);
	protect_end_free(&link.end);
	crypt_simd_free(link.timed.ctx);
}
