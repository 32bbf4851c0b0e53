/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "simd_ghash.h"
#include "simd_kernel.h"
#include "simd_tables.h"

/* Keys in the forms that kernels want, in constant time. */

/* An element as vector kernels load it: least significant byte first. */
static void store_reflected(uint8_t *p, struct simd_element e)
{
	const uint64_t low = htole64(e.low), high = htole64(e.high);

	memcpy(p, &low, 8);
	memcpy(p + 8, &high, 8);
}

void simd_ghash_prepare(struct simd_ghash_key *ghash, const uint8_t h[16])
{
	struct simd_element x = simd_element_load(h), power;
	const uint64_t carry = 0 - (x.high >> 63);

	/* times x, in the reflected order: up by one place, and what leaves at the top comes back as the polynomial */
	x.high = (x.high << 1 | x.low >> 63) ^ (carry & 0xc200000000000000);
	x.low = x.low << 1 ^ (carry & 1);
	power = x;
	for (int i = SIMD_POWERS - 1; i >= 0; i--) {
		const struct simd_element halves = { .low = power.low ^ power.high, .high = power.low ^ power.high };

		store_reflected(ghash->power[i], power);
		store_reflected(ghash->halves[i], halves);
		power = simd_element_mul(power, x);
	}
}

/* The image of @x under a linear map: no look-up by a secret. */
static uint32_t map_word(const uint32_t columns[32], uint32_t x)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i++)
		r ^= columns[i] & (0 - (x >> i & 1));
	return r;
}

static uint32_t map_bytes(const uint8_t columns[8], uint32_t x)
{
	uint32_t r = 0;

	for (int i = 0; i < 8; i++)
		r ^= (x >> i & 0x01010101) * columns[i];
	return r;
}

static void spread(uint8_t to[16], uint32_t word)
{
	for (int i = 0; i < 4; i++)
		memcpy(to + 4 * i, &word, 4);
}

/*
 * Each word X_i of the state is kept as T X_i + k_i with k_{i+1} + k_{i+2} + k_{i+3} = T rk_i + (constant of the S-box), so
 * that the sum of three is the S-box's input without adding a key. What a round must add instead, k_i + k_{i+4} + (constant
 * behind the S-box), is known beforehand and is the key of AESENCLAST, taken back through the linear map behind it; with
 * GFNI it is added as it is.
 */
static void sm4_fold(struct simd_sm4_key *key, const uint32_t round_key[SIMD_SM4_ROUNDS], int gfni)
{
	static const uint8_t t[8] = { SM4_T_COLUMNS }, t_inverse[8] = { SM4_T_INVERSE_COLUMNS };
	static const uint32_t circ_inverse[32] = { SM4_CIRC_INVERSE };
	uint32_t k[SIMD_SM4_ROUNDS + 4] = { 0 };

	for (int i = 0; i < SIMD_SM4_ROUNDS; i++)
		k[i + 3] = map_bytes(t, __builtin_bswap32(round_key[i])) ^ SM4_IN * 0x01010101u ^ k[i + 1] ^ k[i + 2];
	/* k_3 is free to be what the first round wants; the last words' keys are free too, and zero */
	for (int i = 0; i < SIMD_SM4_ROUNDS; i++) {
		const uint32_t add = k[i] ^ k[i + 4];

		spread(key->round[i],
			gfni ? add ^ SM4_GFNI_OUT * 0x01010101u : map_word(circ_inverse, add ^ SM4_OUT * 0x01010101u));
	}
	spread(key->in, k[3]);
	for (int i = 0; i < 4; i++)
		spread(key->out[i], map_bytes(t_inverse, k[SIMD_SM4_ROUNDS + i]));
	explicit_bzero(k, sizeof(k));
}

static void sm4_prepare(struct crypt_key *key, const uint8_t *raw, int gfni)
{
	uint8_t blocks[16 * SIMD_BITS_SM4_BLOCKS] = { 0 };
	uint32_t round_key[SIMD_SM4_ROUNDS];
	struct simd_bits_sm4 bits;

	simd_bits_sm4_key(&bits, raw);
	simd_bits_sm4(&bits, blocks);
	simd_ghash_prepare(&key->ghash, blocks);
	simd_sm4_expand(raw, round_key);
	sm4_fold(&key->sm4, round_key, gfni);
	explicit_bzero(&bits, sizeof(bits));
	explicit_bzero(blocks, sizeof(blocks));
	explicit_bzero(round_key, sizeof(round_key));
}

static void aes_prepare(struct crypt_key *key, const uint8_t *raw)
{
	const unsigned int bytes = (unsigned int)crypt_suite_key_bytes(key->suite);
	uint8_t blocks[16 * SIMD_BITS_AES_BLOCKS] = { 0 };
	struct simd_bits_aes bits;

	simd_bits_aes_key(&bits, raw, bytes);
	simd_bits_aes(&bits, blocks);
	simd_ghash_prepare(&key->ghash, blocks);
	key->rounds = simd_aes_expand(raw, bytes, key->aes);
	explicit_bzero(&bits, sizeof(bits));
	explicit_bzero(blocks, sizeof(blocks));
}

void simd_vec_prepare(struct crypt_key *key, const uint8_t *raw, int gfni)
{
	if (key->suite == CRYPT_SM4_GCM)
		sm4_prepare(key, raw, gfni);
	else
		aes_prepare(key, raw);
}
