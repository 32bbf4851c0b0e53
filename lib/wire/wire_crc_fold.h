/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernels of wire_crc.h share (V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
 * Instruction", Intel 2009). A packet is taken in blocks of 16 bytes that end with its last byte, so the first one may be
 * short; up to its middle it goes block by block, the rest by wide(), which each kernel has its own of.
 */
#ifndef WIRE_CRC_FOLD_H
#define WIRE_CRC_FOLD_H

#include <string.h>
#include <immintrin.h>

#include "wire_crc.h"

#define INLINE static inline __attribute__((always_inline))
#define BLOCK  ((size_t)WIRE_CRC_BLOCK)
#define GROUP  (4 * BLOCK) /* bytes that wide() takes at once */

/* x^(D+32) and x^(D-32) modulo the polynomial, bits reversed: the low and the high half of what folds over D bits. */
#define FOLD_128_LO  0x1751997d0
#define FOLD_128_HI  0x0ccaa009e
#define FOLD_256_LO  0x0f1da05aa
#define FOLD_256_HI  0x15a546366
#define FOLD_384_LO  0x3db1ecdc
#define FOLD_384_HI  0x174359406
#define FOLD_512_LO  0x154442bd4
#define FOLD_512_HI  0x1c6e41596
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

/* n blocks from the start of the packet, which has `lead` bytes less than they have. */
INLINE __m128i head(const uint8_t *l3, size_t lead, size_t n, const struct wire_crc_mask *mask)
{
	/* Moves bytes up by 0..12, and zeros in below. */
	static const int8_t up[BLOCK + WIRE_CRC_LEAD_BYTES] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4, 5,
		6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	const uint8_t *moved_mask = mask->bytes + WIRE_CRC_LEAD_BYTES - lead, *from = l3 - lead;
	__m128i acc = _mm_or_si128(load(l3), load(mask->bytes + WIRE_CRC_LEAD_BYTES));
	size_t i = 1;

	acc = _mm_xor_si128(acc, _mm_cvtsi32_si128((int)AFTER_LRH));
	acc = _mm_shuffle_epi8(acc, load((const uint8_t *)up + WIRE_CRC_LEAD_BYTES - lead));
	for (; i < n && i < mask->blocks; i++)
		acc = fold(acc, fold_128(), _mm_or_si128(load(from + BLOCK * i), load(moved_mask + BLOCK * i)));
	for (; i < n; i++)
		acc = fold(acc, fold_128(), load(from + BLOCK * i));
	return acc;
}

/* acc over `bytes` more, a multiple of GROUP and not 0, which are copied to `to` if that is not NULL. */
INLINE __m128i wide(__m128i acc, const uint8_t *from, uint8_t *to, size_t bytes);

/* How many of the blocks of a packet the head is: `least` or more, so that whole groups are left. */
INLINE size_t head_blocks(size_t blocks, size_t least)
{
	return blocks <= least ? blocks : least + (blocks - least) % (GROUP / BLOCK);
}

INLINE uint32_t whole(const uint8_t *l3, size_t bytes, const struct wire_crc_mask *mask)
{
	size_t lead = -bytes % BLOCK, blocks = (bytes + lead) / BLOCK, n = head_blocks(blocks, mask->blocks);
	__m128i acc = head(l3, lead, n, mask);

	if (n != blocks)
		acc = wide(acc, l3 - lead + BLOCK * n, NULL, BLOCK * (blocks - n));
	return reduce(acc);
}

/* The head is written first and then read back; what is left is copied as it is read. */
INLINE uint32_t whole_copied(uint8_t *l3, size_t hdr_bytes, const uint8_t *payload, size_t bytes,
	const struct wire_crc_mask *mask)
{
	size_t all = hdr_bytes + bytes, lead = -all % BLOCK, blocks = (all + lead) / BLOCK;
	size_t written = (hdr_bytes + lead + BLOCK - 1) / BLOCK;
	size_t n = head_blocks(blocks, written > mask->blocks ? written : mask->blocks);
	size_t first = BLOCK * n - lead - hdr_bytes;
	__m128i acc;

	memcpy(l3 + hdr_bytes, payload, first);
	acc = head(l3, lead, n, mask);
	if (n != blocks)
		acc = wide(acc, payload + first, l3 + hdr_bytes + first, BLOCK * (blocks - n));
	return reduce(acc);
}

#endif
