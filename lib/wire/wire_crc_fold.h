/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernels of wire_crc.h share (V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
 * Instruction", Intel 2009): constants, and the end.
 */
#ifndef WIRE_CRC_FOLD_H
#define WIRE_CRC_FOLD_H

#include <string.h>
#include <immintrin.h>

#include "wire_crc.h"

#define INLINE static inline __attribute__((always_inline))
#define BLOCK  ((size_t)16)
#define GROUP  (4 * BLOCK)

/* x^(D+32) and x^(D-32) modulo the polynomial, bits reversed: the low and the high half of what folds over D bits. */
#define FOLD_128_LO  0x1751997d0
#define FOLD_128_HI  0x0ccaa009e
#define FOLD_256_LO  0x0f1da05aa
#define FOLD_256_HI  0x15a546366
#define FOLD_384_LO  0x3db1ecdc
#define FOLD_384_HI  0x174359406
#define FOLD_512_LO  0x154442bd4
#define FOLD_512_HI  0x1c6e41596
#define FOLD_1024_LO 0x1e88ef372
#define FOLD_1024_HI 0x14a7fe880
#define FOLD_1536_LO 0x1821d8bc0
#define FOLD_1536_HI 0x12e958ac4
#define FOLD_2048_LO 0x11542778a
#define FOLD_2048_HI 0x1322d1430
#define FOLD_64      0x163cd6124  /* x^64 */
#define POLYNOMIAL   0x1db710641
#define BARRETT      0x1f7011641
/* The register after the eight bytes of ones of the dummy LRH. */
#define AFTER_LRH    0xdebb20e3

/* Folds acc, of what came before, over the bits of `by` and adds data. */
INLINE __m128i fold(__m128i acc, __m128i by, __m128i data)
{
	return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(acc, by, 0x00), _mm_clmulepi64_si128(acc, by, 0x11)),
		data);
}

INLINE __m128i fold_128(void)
{
	return _mm_set_epi64x(FOLD_128_HI, FOLD_128_LO);
}

INLINE __m128i load(const uint8_t *at)
{
	return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* The whole of it, from bytes that stand for 128 bits to the 32 of the CRC. */
INLINE uint32_t reduce(__m128i acc)
{
	const __m128i low32 = _mm_set_epi32(0, 0, 0, -1);
	const __m128i barrett = _mm_set_epi64x(BARRETT, POLYNOMIAL);
	__m128i t;

	acc = _mm_xor_si128(_mm_srli_si128(acc, 8), _mm_clmulepi64_si128(acc, fold_128(), 0x10));
	t = _mm_clmulepi64_si128(_mm_and_si128(acc, low32), _mm_cvtsi64_si128(FOLD_64), 0x00);
	acc = _mm_xor_si128(_mm_srli_si128(acc, 4), t);
	t = _mm_clmulepi64_si128(_mm_and_si128(acc, low32), barrett, 0x10);
	t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), barrett, 0x00);
	return ~(uint32_t)_mm_extract_epi32(_mm_xor_si128(acc, t), 1);
}

#endif
