/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_crc_fold.h"

#define XOR3 0x96   /* vpternlog: a ^ b ^ c */

INLINE __m512i take(const uint8_t *from, uint8_t *to, size_t i)
{
	__m512i data = _mm512_loadu_si512(from + GROUP * i);

	if (to != NULL)
		_mm512_storeu_si512(to + GROUP * i, data);
	return data;
}

INLINE __m512i fold_group(__m512i acc, __m512i by, __m512i data)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(acc, by, 0x00), _mm512_clmulepi64_epi128(acc, by, 0x11),
		data, XOR3);
}

/* The four blocks of a group as one. */
INLINE __m128i narrow(__m512i acc)
{
	const __m512i by = _mm512_set_epi64(0, 0, FOLD_128_HI, FOLD_128_LO, FOLD_256_HI, FOLD_256_LO, FOLD_384_HI,
		FOLD_384_LO);
	__m512i x = _mm512_xor_si512(_mm512_clmulepi64_epi128(acc, by, 0x00), _mm512_clmulepi64_epi128(acc, by, 0x11));
	__m128i last = _mm512_extracti32x4_epi32(acc, 3);

	x = _mm512_xor_si512(x, _mm512_shuffle_i64x2(x, x, 0x4e));
	return _mm_xor_si128(last, _mm_xor_si128(_mm512_castsi512_si128(x), _mm512_extracti32x4_epi32(x, 1)));
}

/* Four registers, each over every fourth group, as long as there are four; what is left goes over the last one. */
INLINE __m128i wide(__m128i acc, const uint8_t *from, uint8_t *to, size_t bytes)
{
	const __m512i by_1 = _mm512_broadcast_i32x4(_mm_set_epi64x(FOLD_512_HI, FOLD_512_LO));
	const __m512i by_4 = _mm512_broadcast_i32x4(_mm_set_epi64x(FOLD_2048_HI, FOLD_2048_LO));
	size_t n = bytes / GROUP, i = 1;
	__m512i a = take(from, to, 0);

	a = _mm512_xor_si512(a, _mm512_zextsi128_si512(fold(acc, fold_128(), _mm_setzero_si128())));
	if (n >= 4) {
		__m512i b = take(from, to, 1), c = take(from, to, 2), d = take(from, to, 3);

		for (i = 4; i + 4 <= n; i += 4) {
			a = fold_group(a, by_4, take(from, to, i));
			b = fold_group(b, by_4, take(from, to, i + 1));
			c = fold_group(c, by_4, take(from, to, i + 2));
			d = fold_group(d, by_4, take(from, to, i + 3));
		}
		b = fold_group(a, by_1, b);
		c = fold_group(b, by_1, c);
		a = fold_group(c, by_1, d);
	}
	for (; i < n; i++)
		a = fold_group(a, by_1, take(from, to, i));
	return narrow(a);
}

uint32_t wire_crc_avx512(const uint8_t *l3, size_t bytes, const struct wire_crc_mask *mask)
{
	return whole(l3, bytes, mask);
}

uint32_t wire_crc_copy_avx512(uint8_t *l3, size_t hdr_bytes, const uint8_t *payload, size_t bytes,
	const struct wire_crc_mask *mask)
{
	return whole_copied(l3, hdr_bytes, payload, bytes, mask);
}
