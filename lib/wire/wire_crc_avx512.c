/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packet in groups of 64 bytes that end with its last byte. What the first one has in front of the packet is not read. It
 * goes group by group or, from eight on, by four registers, each over every fourth group.
 */
#include "wire_crc_fold.h"

#define XOR3 0x96   /* vpternlog: a ^ b ^ c */
#define FOUR 4u
#define MANY 8u     /* groups that are worth four registers */

INLINE __m512i by(long long hi, long long lo)
{
	return _mm512_broadcast_i32x4(_mm_set_epi64x(hi, lo));
}

INLINE __m512i fold_group(__m512i acc, __m512i over, __m512i data)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(acc, over, 0x00),
		_mm512_clmulepi64_epi128(acc, over, 0x11), data, XOR3);
}

/* The four blocks of a group as one. */
INLINE __m128i narrow(__m512i acc)
{
	const __m512i over = _mm512_set_epi64(0, 0, FOLD_128_HI, FOLD_128_LO, FOLD_256_HI, FOLD_256_LO, FOLD_384_HI,
		FOLD_384_LO);
	__m512i x = _mm512_xor_si512(_mm512_clmulepi64_epi128(acc, over, 0x00), _mm512_clmulepi64_epi128(acc, over, 0x11));
	__m128i last = _mm512_extracti32x4_epi32(acc, 3);

	x = _mm512_xor_si512(x, _mm512_shuffle_i64x2(x, x, 0x4e));
	return _mm_xor_si128(last, _mm_xor_si128(_mm512_castsi512_si128(x), _mm512_extracti32x4_epi32(x, 1)));
}

/* Group i of those that begin at `from`; it is copied to `to` if that is not NULL. */
INLINE __m512i take(const uint8_t *from, uint8_t *to, size_t i)
{
	__m512i data = _mm512_loadu_si512(from + GROUP * i);

	if (to != NULL)
		_mm512_storeu_si512(to + GROUP * i, data);
	return data;
}

/* The first or the second group, with masks. */
INLINE __m512i take_masked(__m512i data, size_t lead, const struct wire_crc_mask *mask, size_t i)
{
	return _mm512_or_si512(data, _mm512_loadu_si512(mask->bytes + WIRE_CRC_LEAD_BYTES - lead + GROUP * i));
}

INLINE __m512i take_first(const uint8_t *l3, size_t lead, const struct wire_crc_mask *mask)
{
	__m512i data = _mm512_maskz_loadu_epi8(~(__mmask64)0 << lead, l3 - lead);

	return _mm512_xor_si512(take_masked(data, lead, mask, 0),
		_mm512_maskz_set1_epi32((__mmask16)(1u << lead / 4), (int)AFTER_LRH));
}

/* acc over n groups more. */
INLINE __m512i take_all(__m512i acc, const uint8_t *from, uint8_t *to, size_t n)
{
	const __m512i over_1 = by(FOLD_512_HI, FOLD_512_LO), over_2 = by(FOLD_1024_HI, FOLD_1024_LO);
	const __m512i over_3 = by(FOLD_1536_HI, FOLD_1536_LO), over_4 = by(FOLD_2048_HI, FOLD_2048_LO);
	size_t i = 0;

	if (n >= MANY) {
		__m512i b = take(from, to, 0), c = take(from, to, 1), d = take(from, to, 2);

		for (i = 3; i + FOUR <= n; i += FOUR) {
			acc = fold_group(acc, over_4, take(from, to, i));
			b = fold_group(b, over_4, take(from, to, i + 1));
			c = fold_group(c, over_4, take(from, to, i + 2));
			d = fold_group(d, over_4, take(from, to, i + 3));
		}
		acc = fold_group(acc, over_3, fold_group(b, over_2, fold_group(c, over_1, d)));
	}
	for (; i < n; i++)
		acc = fold_group(acc, over_1, take(from, to, i));
	return acc;
}

/* The first `read` groups, with the headers, are at l3; n more are at `from`, and copied to `to`. */
INLINE uint32_t whole_groups(const uint8_t *l3, size_t lead, size_t read, const uint8_t *from, uint8_t *to, size_t n,
	const struct wire_crc_mask *mask)
{
	const __m512i over_1 = by(FOLD_512_HI, FOLD_512_LO);
	__m512i acc = take_first(l3, lead, mask);

	if (read > 1)
		acc = fold_group(acc, over_1, take_masked(take(l3 - lead, NULL, 1), lead, mask, 1));
	for (size_t i = 2; i < read; i++)
		acc = fold_group(acc, over_1, take(l3 - lead, NULL, i));
	return reduce(narrow(take_all(acc, from, to, n)));
}

uint32_t wire_crc_avx512(const uint8_t *l3, size_t bytes, const struct wire_crc_mask *mask)
{
	size_t lead = -bytes % GROUP, groups = (bytes + lead) / GROUP, read = groups > 1 ? 2 : 1;

	return whole_groups(l3, lead, read, l3 - lead + GROUP * read, NULL, groups - read, mask);
}

/* Groups with headers in them are written first and then read back. */
uint32_t wire_crc_copy_avx512(uint8_t *l3, size_t hdr_bytes, const uint8_t *payload, size_t bytes,
	const struct wire_crc_mask *mask)
{
	size_t all = hdr_bytes + bytes, lead = -all % GROUP, groups = (all + lead) / GROUP;
	size_t read = (hdr_bytes + lead + GROUP - 1) / GROUP, first = GROUP * read - lead - hdr_bytes;

	if (first != 0)
		memcpy(l3 + hdr_bytes, payload, first);
	return whole_groups(l3, lead, read, payload + first, l3 + hdr_bytes + first, groups - read, mask);
}
