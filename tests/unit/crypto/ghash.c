/* SPDX-License-Identifier: BSD-3-Clause */
#include "ghash.h"

#include <string.h>

#define POLYNOMIAL (UINT64_C(0xe1) << 56)

struct ghash ghash_load(const uint8_t bytes[16])
{
	struct ghash e = {0, 0};

	for (int i = 0; i < 8; i++) {
		e.high = e.high << 8 | bytes[i];
		e.low = e.low << 8 | bytes[8 + i];
	}
	return e;
}

void ghash_store(uint8_t bytes[16], struct ghash e)
{
	for (int i = 0; i < 8; i++) {
		bytes[i] = (uint8_t)(e.high >> (56 - 8 * i));
		bytes[8 + i] = (uint8_t)(e.low >> (56 - 8 * i));
	}
}

struct ghash ghash_add(struct ghash a, struct ghash b)
{
	return (struct ghash){a.high ^ b.high, a.low ^ b.low};
}

struct ghash ghash_mul(struct ghash a, struct ghash b)
{
	struct ghash z = {0, 0};

	for (int i = 0; i < 128; i++) {
		uint64_t bit = i < 64 ? a.high >> (63 - i) & 1 : a.low >> (127 - i) & 1, carry = b.low & 1;

		if (bit != 0)
			z = ghash_add(z, b);
		b.low = b.low >> 1 | b.high << 63;
		b.high = b.high >> 1 ^ (carry != 0 ? POLYNOMIAL : 0);
	}
	return z;
}

/* To the power of 2^128 - 2 (Fermat). */
struct ghash ghash_inverse(struct ghash e)
{
	struct ghash result = {UINT64_C(1) << 63, 0}, square = e;

	for (int i = 1; i < 128; i++) {
		square = ghash_mul(square, square);
		result = ghash_mul(result, square);
	}
	return result;
}

struct ghash ghash_text(struct ghash h, struct ghash y, const uint8_t *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 16) {
		uint8_t block[16] = {0};

		memcpy(block, text + i, bytes - i < 16 ? bytes - i : 16);
		y = ghash_mul(ghash_add(y, ghash_load(block)), h);
	}
	return y;
}

struct ghash ghash_lengths(struct ghash h, struct ghash y, size_t aad_bytes, size_t text_bytes)
{
	struct ghash lengths = {(uint64_t)aad_bytes * 8, (uint64_t)text_bytes * 8};

	return ghash_mul(ghash_add(y, lengths), h);
}

/* want = ((y + block) h + lengths) h */
struct ghash ghash_block_for(struct ghash h, struct ghash y, size_t aad_bytes, size_t text_bytes, struct ghash want)
{
	struct ghash lengths = {(uint64_t)aad_bytes * 8, (uint64_t)text_bytes * 8}, inverse = ghash_inverse(h);

	return ghash_add(y, ghash_mul(inverse, ghash_add(lengths, ghash_mul(inverse, want))));
}
