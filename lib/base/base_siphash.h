/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash whose collisions nobody can choose who does not know its key: SipHash-2-4 (Aumasson and Bernstein, 2012). For tables whose
 * keys come from the network.
 */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct base_siphash_key {
	uint64_t k[2]; /* random */
};

#define BASE_SIPHASH_ROTL(x, b) ((x) << (b) | (x) >> (64 - (b)))

static inline void base_siphash_rounds(uint64_t v[4], int rounds)
{
	while (rounds-- > 0) {
		v[0] += v[1];
		v[1] = BASE_SIPHASH_ROTL(v[1], 13) ^ v[0];
		v[0] = BASE_SIPHASH_ROTL(v[0], 32);
		v[2] += v[3];
		v[3] = BASE_SIPHASH_ROTL(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = BASE_SIPHASH_ROTL(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = BASE_SIPHASH_ROTL(v[1], 17) ^ v[2];
		v[2] = BASE_SIPHASH_ROTL(v[2], 32);
	}
}

/* Of so many bytes. On a big-endian machine the result is another one, as good. */
static inline uint64_t base_siphash(const struct base_siphash_key *key, const void *data, size_t bytes)
{
	uint64_t v[4] = {key->k[0] ^ 0x736f6d6570736575u, key->k[1] ^ 0x646f72616e646f6du, key->k[0] ^ 0x6c7967656e657261u,
		key->k[1] ^ 0x7465646279746573u};
	const uint8_t *at = data;
	uint64_t word;

	for (size_t left = bytes; left >= 8; left -= 8, at += 8) {
		__builtin_memcpy(&word, at, sizeof(word));
		v[3] ^= word;
		base_siphash_rounds(v, 2);
		v[0] ^= word;
	}
	word = (uint64_t)bytes << 56;
	for (size_t i = 0; i < bytes % 8; i++)
		word |= (uint64_t)at[i] << (8 * i);
	v[3] ^= word;
	base_siphash_rounds(v, 2);
	v[0] ^= word;
	v[2] ^= 0xff;
	base_siphash_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
