/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMD_BITS_H
#define SIMD_BITS_H

#include <stdint.h>

/*
 * AES and SM4 bitsliced: no table, no branch and no address depends on a key or a text. Key schedules of every kernel are
 * made here too. See docs/crypto.md.
 */

#define SIMD_AES_ROUNDS_MAX 14
#define SIMD_SM4_ROUNDS 32
/* Blocks that one call ciphers. */
#define SIMD_BITS_AES_BLOCKS 8
#define SIMD_BITS_SM4_BLOCKS 32

/* Round keys as planes: bit j of every byte of the key, spread over the lanes. */
struct simd_bits_aes {
	uint32_t plane[SIMD_AES_ROUNDS_MAX + 1][8];
	unsigned int rounds;
};

struct simd_bits_sm4 {
	uint32_t plane[SIMD_SM4_ROUNDS][8];
};

/* Round keys in bytes, from @raw of 16 or 32 @bytes (FIPS 197, 5.2). Returns the rounds: 10 or 14. */
unsigned int simd_aes_expand(const uint8_t *raw, unsigned int bytes, uint8_t round_key[SIMD_AES_ROUNDS_MAX + 1][16]);

/* Round keys as numbers (GB/T 32907, 7.3). */
void simd_sm4_expand(const uint8_t raw[16], uint32_t round_key[SIMD_SM4_ROUNDS]);

void simd_bits_aes_key(struct simd_bits_aes *key, const uint8_t *raw, unsigned int bytes);
void simd_bits_sm4_key(struct simd_bits_sm4 *key, const uint8_t raw[16]);

/* Cipher SIMD_BITS_AES_BLOCKS or SIMD_BITS_SM4_BLOCKS blocks in place. */
void simd_bits_aes(const struct simd_bits_aes *key, uint8_t *blocks);
void simd_bits_sm4(const struct simd_bits_sm4 *key, uint8_t *blocks);

#endif
