/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vector kernels: AES and SM4 by the AES instructions, GHASH by carry-less multiplication. A kernel's file defines
 * SIMD_BITS, 128, 256 or 512, and includes this once; a vector holds one block, two or four, and all else is the same but for
 * SM4's S-box, which GFNI makes in one instruction where there are 512 bits. See docs/crypto.md.
 */
#ifndef SIMD_VEC_H
#define SIMD_VEC_H

#include <immintrin.h>
#include <string.h>

#include "simd_kernel.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

#if SIMD_BITS == 512
typedef __m512i vec;
#define VEC_BLOCKS 4
#define V(name) _mm512_##name
#define V_XOR(a, b) _mm512_xor_si512(a, b)
#define V_XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define V_AND(a, b) _mm512_and_si512(a, b)
#define V_CLMUL(a, b, halves) _mm512_clmulepi64_epi128(a, b, halves)
#define V_AES(a, k) _mm512_aesenc_epi128(a, k)
#define V_AES_LAST(a, k) _mm512_aesenclast_epi128(a, k)
#define V_SWAP_HALVES(a) _mm512_shuffle_epi32(a, _MM_PERM_BADC)
#elif SIMD_BITS == 256
typedef __m256i vec;
#define VEC_BLOCKS 2
#define V(name) _mm256_##name
#define V_XOR(a, b) _mm256_xor_si256(a, b)
#define V_AND(a, b) _mm256_and_si256(a, b)
#define V_CLMUL(a, b, halves) _mm256_clmulepi64_epi128(a, b, halves)
#define V_AES(a, k) _mm256_aesenc_epi128(a, k)
#define V_AES_LAST(a, k) _mm256_aesenclast_epi128(a, k)
#define V_SWAP_HALVES(a) _mm256_shuffle_epi32(a, 0x4e)
#else
typedef __m128i vec;
#define VEC_BLOCKS 1
#define V(name) _mm_##name
#define V_XOR(a, b) _mm_xor_si128(a, b)
#define V_AND(a, b) _mm_and_si128(a, b)
#define V_CLMUL(a, b, halves) _mm_clmulepi64_si128(a, b, halves)
#define V_AES(a, k) _mm_aesenc_si128(a, k)
#define V_AES_LAST(a, k) _mm_aesenclast_si128(a, k)
#define V_SWAP_HALVES(a) _mm_shuffle_epi32(a, 0x4e)
#endif
#ifndef V_XOR3
#define V_XOR3(a, b, c) V_XOR(a, V_XOR(b, c))
#endif
#define VEC_BYTES (16 * VEC_BLOCKS)

ALWAYS_INLINE __m128i load128(const void *p)
{
	return _mm_loadu_si128(p);
}

ALWAYS_INLINE vec load_vec(const void *p)
{
#if SIMD_BITS == 512
	return _mm512_loadu_si512(p);
#elif SIMD_BITS == 256
	return _mm256_loadu_si256(p);
#else
	return _mm_loadu_si128(p);
#endif
}

ALWAYS_INLINE void store_vec(void *p, vec v)
{
#if SIMD_BITS == 512
	_mm512_storeu_si512(p, v);
#elif SIMD_BITS == 256
	_mm256_storeu_si256(p, v);
#else
	_mm_storeu_si128(p, v);
#endif
}

/* 16 bytes in each block. */
ALWAYS_INLINE vec spread(__m128i x)
{
#if SIMD_BITS == 512
	return _mm512_broadcast_i32x4(x);
#elif SIMD_BITS == 256
	return _mm256_broadcastsi128_si256(x);
#else
	return x;
#endif
}

/* @x in the first block, zeros in the other. */
ALWAYS_INLINE vec first_block(__m128i x)
{
#if SIMD_BITS == 512
	return _mm512_zextsi128_si512(x);
#elif SIMD_BITS == 256
	return _mm256_zextsi128_si256(x);
#else
	return x;
#endif
}

/* The first @n blocks, fewer than a vector has, and zeros. */
ALWAYS_INLINE vec load_blocks(const void *p, uint32_t n)
{
#if SIMD_BITS == 512
	return _mm512_maskz_loadu_epi64((__mmask8)((1u << 2 * n) - 1), p);
#else
	(void)n;
	return first_block(load128(p));
#endif
}

ALWAYS_INLINE void store_blocks(void *p, vec v, uint32_t n)
{
#if SIMD_BITS == 512
	_mm512_mask_storeu_epi64(p, (__mmask8)((1u << 2 * n) - 1), v);
#elif SIMD_BITS == 256
	(void)n;
	_mm_storeu_si128(p, _mm256_castsi256_si128(v));
#else
	(void)n;
	_mm_storeu_si128(p, v);
#endif
}

ALWAYS_INLINE __m128i sum_of_blocks(vec v)
{
#if SIMD_BITS == 512
	const __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));

	return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
#elif SIMD_BITS == 256
	return _mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
#else
	return v;
#endif
}

ALWAYS_INLINE __m128i byte_swap(void)
{
	return _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

#include "simd_vec_hash.h"
#include "simd_vec_aes.h"
#include "simd_vec_sm4.h"

#define KERNEL_BULK(key) ((key)->suite == CRYPT_SM4_GCM ? SM4_BATCH : AES_BATCH)

ALWAYS_INLINE void kernel_stream(const struct crypt_key *key, uint8_t *blocks, unsigned int n)
{
	if (key->suite == CRYPT_SM4_GCM)
		sm4_stream(key, blocks, n);
	else if (key->suite == CRYPT_AES_256_GCM)
		aes_stream(key, blocks, n, 14);
	else
		aes_stream(key, blocks, n, 10);
}

ALWAYS_INLINE void kernel_bulk(const struct crypt_key *key, struct hash *hash, const uint8_t *nonce, uint32_t counter,
	uint8_t *data, uint32_t blocks, int sealing)
{
	if (key->suite == CRYPT_SM4_GCM)
		sm4_bulk(key, hash, nonce, counter, data, blocks, sealing);
	else if (key->suite == CRYPT_AES_256_GCM)
		aes_bulk(key, hash, nonce, counter, data, blocks, 14, sealing);
	else
		aes_bulk(key, hash, nonce, counter, data, blocks, 10, sealing);
}

#include "simd_engine.h"

static void prepare(struct crypt_key *key, const uint8_t *raw)
{
	simd_vec_prepare(key, raw, SIMD_BITS == 512);
}

#endif
