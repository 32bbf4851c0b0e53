/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GHASH of several blocks by one reduction: the sum of block i times H to the power of how many are left. All blocks of a
 * short packet are one such sum, from its AAD to its lengths; what is longer is reduced after each run.
 */
#ifndef SIMD_VEC_HASH_H
#define SIMD_VEC_HASH_H

struct hash {
	vec low, high, middle;	/* sums of products, Karatsuba's */
	__m128i x;		/* the hash so far, reduced */
	unsigned int next;	/* power of the next block; SIMD_POWERS: each run is reduced by itself */
};

ALWAYS_INLINE void hash_clear(struct hash *hash)
{
	hash->low = hash->high = hash->middle = V_XOR(hash->low, hash->low);
}

/* Adds the product of blocks, bytes swapped, and powers. */
ALWAYS_INLINE void hash_add(struct hash *hash, vec a, vec power, vec halves)
{
	hash->low = V_XOR(hash->low, V_CLMUL(a, power, 0x00));
	hash->high = V_XOR(hash->high, V_CLMUL(a, power, 0x11));
	hash->middle = V_XOR(hash->middle, V_CLMUL(V_XOR(a, V_SWAP_HALVES(a)), halves, 0x00));
}

/* From the sums to x, modulo x^128 + x^7 + x^2 + x + 1, reflected (Gueron and Kounavis, 2010, algorithm 5). */
ALWAYS_INLINE void hash_reduce(struct hash *hash)
{
	const __m128i polynomial = _mm_set_epi64x((long long)0xc200000000000000ull, 1);
	const __m128i low = sum_of_blocks(hash->low), high = sum_of_blocks(hash->high);
	__m128i middle = _mm_xor_si128(sum_of_blocks(hash->middle), _mm_xor_si128(low, high));

	middle = _mm_xor_si128(middle, _mm_xor_si128(_mm_clmulepi64_si128(low, polynomial, 0x10), _mm_shuffle_epi32(low, 0x4e)));
	hash->x = _mm_xor_si128(high,
		_mm_xor_si128(_mm_clmulepi64_si128(middle, polynomial, 0x10), _mm_shuffle_epi32(middle, 0x4e)));
	hash_clear(hash);
}

/* So many blocks will come, and bulk runs among them if they are many. */
ALWAYS_INLINE void hash_start(struct hash *hash, const struct crypt_key *key, uint64_t aad_blocks, uint64_t other_blocks,
	uint32_t bulk)
{
	(void)key;
	hash->low = spread(_mm_setzero_si128());
	hash_clear(hash);
	hash->x = _mm_setzero_si128();
	hash->next = other_blocks <= bulk && aad_blocks + other_blocks <= SIMD_POWERS ?
		SIMD_POWERS - (unsigned int)(aad_blocks + other_blocks) : SIMD_POWERS;
}

/* A vector of blocks whose bytes are swapped, and whose powers begin at @next. */
ALWAYS_INLINE void hash_swapped(struct hash *hash, const struct crypt_key *key, vec blocks, unsigned int next)
{
	const vec a = V_XOR(blocks, first_block(hash->x));

	hash->x = _mm_setzero_si128();
	hash_add(hash, a, load_vec(key->ghash.power[next]), load_vec(key->ghash.halves[next]));
}

/* The same of cipher text or AAD. */
ALWAYS_INLINE void hash_vec(struct hash *hash, const struct crypt_key *key, vec blocks, unsigned int next)
{
	hash_swapped(hash, key, V(shuffle_epi8)(blocks, spread(byte_swap())), next);
}

/* Where the powers of a run of at most SIMD_POWERS blocks begin. */
ALWAYS_INLINE unsigned int hash_run(struct hash *hash, uint32_t blocks, int *alone)
{
	const unsigned int next = hash->next;

	*alone = next == SIMD_POWERS;
	if (*alone)
		return SIMD_POWERS - blocks;
	hash->next = next + blocks;
	/* after the last one there is none to come */
	return next;
}

/* XOR of key stream, if there is one, and GHASH of at most SIMD_POWERS blocks; @sealing: of what comes out. */
ALWAYS_INLINE void hash_part(struct hash *hash, const struct crypt_key *key, uint8_t *to, const uint8_t *data,
	const uint8_t *stream, uint32_t n, int sealing)
{
	int alone;
	unsigned int next = hash_run(hash, n, &alone);
	uint32_t i = 0;

	for (; i + VEC_BLOCKS <= n; i += VEC_BLOCKS, next += VEC_BLOCKS) {
		const vec in = load_vec(data + 16 * (size_t)i);
		const vec out = stream != NULL ? V_XOR(in, load_vec(stream + 16 * (size_t)i)) : in;

		hash_vec(hash, key, sealing ? out : in, next);
		if (stream != NULL)
			store_vec(to + 16 * (size_t)i, out);
	}
	/* Blocks that are not there are zero, and so is their product with whatever is behind the last power. */
	if (i < n) {
		const vec in = load_blocks(data + 16 * (size_t)i, n - i);
		const vec out = stream != NULL ? V_XOR(in, load_blocks(stream + 16 * (size_t)i, n - i)) : in;

		hash_vec(hash, key, sealing ? out : in, next);
		if (stream != NULL)
			store_blocks(to + 16 * (size_t)i, out, n - i);
	}
	if (alone)
		hash_reduce(hash);
}

ALWAYS_INLINE void hash_blocks(struct hash *hash, const struct crypt_key *key, const uint8_t *data, uint64_t n)
{
	for (uint32_t part; n > 0; n -= part, data += 16 * (size_t)part) {
		part = n < SIMD_POWERS ? (uint32_t)n : SIMD_POWERS;
		hash_part(hash, key, NULL, data, NULL, part, 0);
	}
}

ALWAYS_INLINE void hash_xor(struct hash *hash, const struct crypt_key *key, uint8_t *data, const uint8_t *stream, uint32_t n,
	int sealing)
{
	for (uint32_t part; n > 0; n -= part, data += 16 * (size_t)part, stream += 16 * (size_t)part) {
		part = n < SIMD_POWERS ? n : SIMD_POWERS;
		hash_part(hash, key, data, data, stream, part, sealing);
	}
}

ALWAYS_INLINE void hash_finish(struct hash *hash, const struct crypt_key *key, uint64_t aad_bits, uint64_t text_bits,
	uint8_t *out)
{
	hash_swapped(hash, key, first_block(_mm_set_epi64x((long long)aad_bits, (long long)text_bits)), SIMD_POWERS - 1);
	hash_reduce(hash);
	_mm_storeu_si128((void *)out, _mm_shuffle_epi8(hash->x, byte_swap()));
}

#endif
