/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packet in blocks of 16 bytes that end with its last byte, so the first one may be short. Up to its middle it goes block
 * by block, and then by groups of four.
 */
#include "wire_crc_fold.h"

/* n blocks from the start of the packet, which has `lead` bytes less than they have. */
INLINE __m128i head(const uint8_t *l3, size_t lead, size_t n, const struct wire_crc_mask *mask)
{
	/* Moves bytes up by 0..12, and zeros in below. */
	static const int8_t up[] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4, 5,
		6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	const uint8_t *moved_mask = mask->bytes + WIRE_CRC_LEAD_BYTES - lead, *from = l3 - lead;
	__m128i acc = _mm_or_si128(load(l3), load(mask->bytes + WIRE_CRC_LEAD_BYTES));
	size_t i = 1;

	acc = _mm_xor_si128(acc, _mm_cvtsi32_si128((int)AFTER_LRH));
	acc = _mm_shuffle_epi8(acc, load((const uint8_t *)up + 12 - lead));
	for (; i < n && i < mask->blocks; i++)
		acc = fold(acc, fold_128(), _mm_or_si128(load(from + BLOCK * i), load(moved_mask + BLOCK * i)));
	for (; i < n; i++)
		acc = fold(acc, fold_128(), load(from + BLOCK * i));
	return acc;
}

INLINE __m128i take(const uint8_t *from, uint8_t *to, size_t i)
{
	__m128i data = load(from + BLOCK * i);

	if (to != NULL)
		_mm_storeu_si128((__m128i *)(void *)(to + BLOCK * i), data);
	return data;
}

/* acc over `bytes` more, a multiple of GROUP and not 0, which are copied to `to` if that is not NULL. Four registers, each over every
 * fourth block: a multiplication need not wait for the one before. */
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

uint32_t wire_crc_avx2(const uint8_t *l3, size_t bytes, const struct wire_crc_mask *mask)
{
	return whole(l3, bytes, mask);
}

uint32_t wire_crc_copy_avx2(uint8_t *l3, size_t hdr_bytes, const uint8_t *payload, size_t bytes,
	const struct wire_crc_mask *mask)
{
	return whole_copied(l3, hdr_bytes, payload, bytes, mask);
}
