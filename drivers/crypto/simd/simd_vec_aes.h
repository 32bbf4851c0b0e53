/* SPDX-License-Identifier: BSD-3-Clause */
/* AES in counter mode, eight vectors at a time, and GHASH between its rounds. */
#ifndef SIMD_VEC_AES_H
#define SIMD_VEC_AES_H

#define AES_VECS 8
#define AES_BATCH (AES_VECS * VEC_BLOCKS)

ALWAYS_INLINE vec round_key(const struct crypt_key *key, int r)
{
	return spread(load128(key->aes[r]));
}

ALWAYS_INLINE void aes_rounds(const struct crypt_key *key, vec s[AES_VECS], int rounds)
{
	const vec first = round_key(key, 0);

	UNROLL
	for (int i = 0; i < AES_VECS; i++)
		s[i] = V_XOR(s[i], first);
	for (int r = 1; r < rounds; r++) {
		const vec k = round_key(key, r);

		UNROLL
		for (int i = 0; i < AES_VECS; i++)
			s[i] = V_AES(s[i], k);
	}
	UNROLL
	for (int i = 0; i < AES_VECS; i++)
		s[i] = V_AES_LAST(s[i], round_key(key, rounds));
}

ALWAYS_INLINE void aes_stream(const struct crypt_key *key, uint8_t *blocks, unsigned int n, int rounds)
{
	for (unsigned int done = 0; done < n; done += AES_BATCH, blocks += 16 * AES_BATCH) {
		vec s[AES_VECS];

		UNROLL
		for (int i = 0; i < AES_VECS; i++)
			s[i] = load_vec(blocks + VEC_BYTES * i);
		aes_rounds(key, s, rounds);
		UNROLL
		for (int i = 0; i < AES_VECS; i++)
			store_vec(blocks + VEC_BYTES * i, s[i]);
	}
}

/* Counter blocks: the nonce, and a number whose bytes are swapped, as kept in @counter, when it is put behind it. */
ALWAYS_INLINE void aes_counters(vec s[AES_VECS], vec *counter, vec nonce)
{
	const vec swap = spread(_mm_set_epi8(12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
	const vec step = spread(_mm_set_epi32(VEC_BLOCKS, 0, 0, 0));

	UNROLL
	for (int i = 0; i < AES_VECS; i++) {
		s[i] = V_XOR(V(shuffle_epi8)(*counter, swap), nonce);
		*counter = V(add_epi32)(*counter, step);
	}
}

ALWAYS_INLINE vec first_counters(uint32_t counter)
{
#if SIMD_BITS == 512
	return _mm512_set_epi32((int)(counter + 3), 0, 0, 0, (int)(counter + 2), 0, 0, 0, (int)(counter + 1), 0, 0, 0,
		(int)counter, 0, 0, 0);
#elif SIMD_BITS == 256
	return _mm256_set_epi32((int)(counter + 1), 0, 0, 0, (int)counter, 0, 0, 0);
#else
	return _mm_set_epi32((int)counter, 0, 0, 0);
#endif
}

/* The vector of @hashed at @i into the sums; its powers are those of a run of AES_BATCH. */
ALWAYS_INLINE void hash_step(struct hash *hash, const struct crypt_key *key, const uint8_t *hashed, int i)
{
	hash_vec(hash, key, load_vec(hashed + VEC_BYTES * i), (unsigned int)(SIMD_POWERS - AES_BATCH + VEC_BLOCKS * i));
}

/* Key stream of a batch, with GHASH of the cipher text at @hashed between the rounds. */
ALWAYS_INLINE void aes_rounds_hash(const struct crypt_key *key, vec s[AES_VECS], int rounds, struct hash *hash,
	const uint8_t *hashed)
{
	const vec first = round_key(key, 0);

	UNROLL
	for (int i = 0; i < AES_VECS; i++)
		s[i] = V_XOR(s[i], first);
	UNROLL
	for (int r = 1; r < rounds; r++) {
		const vec k = round_key(key, r);

		UNROLL
		for (int i = 0; i < AES_VECS; i++)
			s[i] = V_AES(s[i], k);
		if (r <= AES_VECS)
			hash_step(hash, key, hashed, r - 1);
	}
	hash_reduce(hash);
	UNROLL
	for (int i = 0; i < AES_VECS; i++)
		s[i] = V_AES_LAST(s[i], round_key(key, rounds));
}

ALWAYS_INLINE void aes_bulk(const struct crypt_key *key, struct hash *sums, const uint8_t *nonce, uint32_t counter,
	uint8_t *data, uint32_t blocks, int rounds, int sealing)
{
	uint8_t first[16] = { 0 };
	struct hash hash = *sums;
	vec s[AES_VECS], counters = first_counters(counter), prefix;

	memcpy(first, nonce, CRYPT_NONCE_BYTES);
	prefix = spread(load128(first));
	for (uint32_t done = 0; done < blocks; done += AES_BATCH, data += 16 * AES_BATCH) {
		aes_counters(s, &counters, prefix);
		/* What is sealed is hashed one batch later. */
		if (!sealing)
			aes_rounds_hash(key, s, rounds, &hash, data);
		else if (done > 0)
			aes_rounds_hash(key, s, rounds, &hash, data - 16 * AES_BATCH);
		else
			aes_rounds(key, s, rounds);
		UNROLL
		for (int i = 0; i < AES_VECS; i++)
			store_vec(data + VEC_BYTES * i, V_XOR(s[i], load_vec(data + VEC_BYTES * i)));
	}
	if (sealing) {
		UNROLL
		for (int i = 0; i < AES_VECS; i++)
			hash_step(&hash, key, data - 16 * AES_BATCH, i);
		hash_reduce(&hash);
	}
	*sums = hash;
}

#endif
