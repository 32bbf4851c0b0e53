/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_crc_fold.h"

INLINE __m128i take(const uint8_t *from, uint8_t *to, size_t i)
{
	__m128i data = load(from + BLOCK * i);

	if (to != NULL)
		_mm_storeu_si128((__m128i *)(void *)(to + BLOCK * i), data);
	return data;
}

/* Four registers, each over every fourth block: a multiplication need not wait for the one before. */
INLINE __m128i wide(__m128i acc, const uint8_t *from, uint8_t *to, size_t bytes)
{
	const __m128i by = _mm_set_epi64x(FOLD_512_HI, FOLD_512_LO);
	__m128i a = fold(acc, fold_128(), take(from, to, 0));
	__m128i b = take(from, to, 1), c = take(from, to, 2), d = take(from, to, 3);

	for (size_t i = 4; i < bytes / BLOCK; i += 4) {
		a = fold(a, by, take(from, to, i));
		b = fold(b, by, take(from, to, i + 1));
		c = fold(c, by, take(from, to, i + 2));
		d = fold(d, by, take(from, to, i + 3));
	}
	b = fold(a, fold_128(), b);
	c = fold(b, fold_128(), c);
	return fold(c, fold_128(), d);
}

uint32_t wire_crc_avx2(const uint8_t *l3, size_t bytes, const struct wire_crc_mask *mask)
{
	return whole(l3, bytes, mask);
}

uint32_t wire_crc_copy_avx2(uint8_t *l3, size_t hdr_bytes, const uint8_t *payload, size_t bytes,
	const struct wire_crc_mask *mask)
{
	return whole_copied(l3, hdr_bytes, payload, bytes, mask);
}
