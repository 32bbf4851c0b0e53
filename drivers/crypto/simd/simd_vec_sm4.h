/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SM4 in counter mode. The state is kept as words of four, eight or sixteen blocks in the basis in which the S-box's first map is the
 * identity; AESENCLAST inverts, and the second map with the linear transformation is circ(P+Q, P, P, Q): P and Q by look-ups
 * of half bytes in registers, the rotations together with taking ShiftRows back. Four sets of words fill the pipeline.
 */
#ifndef SIMD_VEC_SM4_H
#define SIMD_VEC_SM4_H

#include "simd_tables.h"

#define SM4_SETS 4
#define SM4_SET_BLOCKS (4 * VEC_BLOCKS)
#define SM4_BATCH (SM4_SETS * SM4_SET_BLOCKS)

#if SIMD_BITS == 512

/* Linear maps of bytes are GFNI's matrices, and inversion in the field is a part of it. */
typedef long long sm4_map;

static const sm4_map sm4_t = (sm4_map)SM4_GFNI_T, sm4_t_inverse = (sm4_map)SM4_GFNI_T_INVERSE;

ALWAYS_INLINE vec map_vec(vec v, sm4_map map)
{
	return V(gf2p8affine_epi64_epi8)(v, V(set1_epi64)(map), 0);
}

/* s[0] += L(S(s[1] + s[2] + s[3])), of one set. */
ALWAYS_INLINE vec sm4_round(vec x, vec sum, vec k)
{
	const vec p = V(gf2p8affineinv_epi64_epi8)(sum, V(set1_epi64)((sm4_map)SM4_GFNI_P), 0);
	const vec q = V(gf2p8affineinv_epi64_epi8)(sum, V(set1_epi64)((sm4_map)SM4_GFNI_Q), 0);

	x = V_XOR3(x, p, q);
	return V_XOR(V_XOR3(x, k, V(ror_epi32)(q, 24)), V_XOR(V(ror_epi32)(p, 8), V(ror_epi32)(p, 16)));
}

#else

/* Byte k places further in the word, from where ShiftRows has put it: of column c, byte j. */
#define FROM(c, j, k) 4 * (((c) - (((j) + (k)) & 3)) & 3) + (((j) + (k)) & 3)
#define FROM_WORD(c, k) FROM(c, 0, k), FROM(c, 1, k), FROM(c, 2, k), FROM(c, 3, k)
#define FROM_ALL(k) { FROM_WORD(0, k), FROM_WORD(1, k), FROM_WORD(2, k), FROM_WORD(3, k) }

static const uint8_t sm4_from[4][16] = { FROM_ALL(0), FROM_ALL(1), FROM_ALL(2), FROM_ALL(3) };
static const uint8_t sm4_p[2][16] = { { SM4_P_LOW }, { SM4_P_HIGH } }, sm4_q[2][16] = { { SM4_Q_LOW }, { SM4_Q_HIGH } };
typedef const uint8_t (*sm4_map)[16];

static const uint8_t sm4_t[2][16] = { { SM4_T_LOW }, { SM4_T_HIGH } };
static const uint8_t sm4_t_inverse[2][16] = { { SM4_T_INVERSE_LOW }, { SM4_T_INVERSE_HIGH } };

/* A linear map of bytes by its images of the halves. */
ALWAYS_INLINE vec map_vec(vec v, sm4_map halves)
{
	const vec mask = V(set1_epi8)(15);

	return V_XOR(V(shuffle_epi8)(spread(load128(halves[0])), V_AND(v, mask)),
		V(shuffle_epi8)(spread(load128(halves[1])), V_AND(V(srli_epi32)(v, 4), mask)));
}

/* s[0] += L(S(s[1] + s[2] + s[3])), of one set. */
ALWAYS_INLINE vec sm4_round(vec x, vec sum, vec k)
{
	const vec mask = V(set1_epi8)(15);
	const vec y = V_AES_LAST(sum, k);
	const vec low = V_AND(y, mask), high = V_AND(V(srli_epi32)(y, 4), mask);
	const vec p = V_XOR(V(shuffle_epi8)(spread(load128(sm4_p[0])), low), V(shuffle_epi8)(spread(load128(sm4_p[1])), high));
	const vec q = V_XOR(V(shuffle_epi8)(spread(load128(sm4_q[0])), low), V(shuffle_epi8)(spread(load128(sm4_q[1])), high));
	const vec u = V_XOR(V(shuffle_epi8)(V_XOR(p, q), spread(load128(sm4_from[0]))),
		V(shuffle_epi8)(p, spread(load128(sm4_from[1]))));
	const vec v = V_XOR(V(shuffle_epi8)(p, spread(load128(sm4_from[2]))), V(shuffle_epi8)(q, spread(load128(sm4_from[3]))));

	return V_XOR(x, V_XOR(u, v));
}

#endif

ALWAYS_INLINE void sm4_rounds(const struct simd_sm4_key *key, vec s[SM4_SETS][4])
{
	for (int r = 0; r < SIMD_SM4_ROUNDS; r += 4) {
		UNROLL
		for (int i = 0; i < 4; i++) {
			const vec k = spread(load128(key->round[r + i]));

			UNROLL
			for (int n = 0; n < SM4_SETS; n++)
				s[n][i] = sm4_round(s[n][i], V_XOR3(s[n][(i + 3) % 4], s[n][(i + 1) % 4], s[n][(i + 2) % 4]), k);
		}
	}
}

/* Out of the basis, words in reverse order, and from words to blocks; the key stream of a set is XORed to @data. */
ALWAYS_INLINE void sm4_out(const struct simd_sm4_key *key, const vec s[4], uint8_t *data, int to_data)
{
	vec w[4], a, b, c, d;

	UNROLL
	for (int i = 0; i < 4; i++)
		w[i] = V_XOR(map_vec(s[i], sm4_t_inverse), spread(load128(key->out[i])));
	a = V(unpacklo_epi32)(w[3], w[2]);
	b = V(unpackhi_epi32)(w[3], w[2]);
	c = V(unpacklo_epi32)(w[1], w[0]);
	d = V(unpackhi_epi32)(w[1], w[0]);
	w[0] = V(unpacklo_epi64)(a, c);
	w[1] = V(unpackhi_epi64)(a, c);
	w[2] = V(unpacklo_epi64)(b, d);
	w[3] = V(unpackhi_epi64)(b, d);
	UNROLL
	for (int i = 0; i < 4; i++)
		store_vec(data + VEC_BYTES * i, to_data ? V_XOR(w[i], load_vec(data + VEC_BYTES * i)) : w[i]);
}

/* A set of blocks to words, into the basis. */
ALWAYS_INLINE void sm4_in(const struct simd_sm4_key *key, vec s[4], const uint8_t *data)
{
	const vec a = load_vec(data), b = load_vec(data + VEC_BYTES);
	const vec c = load_vec(data + 2 * VEC_BYTES), d = load_vec(data + 3 * VEC_BYTES);
	const vec ab_low = V(unpacklo_epi32)(a, b), ab_high = V(unpackhi_epi32)(a, b);
	const vec cd_low = V(unpacklo_epi32)(c, d), cd_high = V(unpackhi_epi32)(c, d);

	s[0] = map_vec(V(unpacklo_epi64)(ab_low, cd_low), sm4_t);
	s[1] = map_vec(V(unpackhi_epi64)(ab_low, cd_low), sm4_t);
	s[2] = map_vec(V(unpacklo_epi64)(ab_high, cd_high), sm4_t);
	s[3] = V_XOR(map_vec(V(unpackhi_epi64)(ab_high, cd_high), sm4_t), spread(load128(key->in)));
}

ALWAYS_INLINE void sm4_stream(const struct crypt_key *key, uint8_t *blocks, unsigned int n)
{
	vec s[SM4_SETS][4];

	for (unsigned int done = 0; done < n; done += SM4_BATCH, blocks += 16 * SM4_BATCH) {
		UNROLL
		for (int i = 0; i < SM4_SETS; i++)
			sm4_in(&key->sm4, s[i], blocks + 16 * SM4_SET_BLOCKS * i);
		sm4_rounds(&key->sm4, s);
		UNROLL
		for (int i = 0; i < SM4_SETS; i++)
			sm4_out(&key->sm4, s[i], blocks + 16 * SM4_SET_BLOCKS * i, 0);
	}
}

/* The counters of the blocks that the words of a set are of, in their order. */
ALWAYS_INLINE vec sm4_first_counters(uint32_t counter)
{
#if SIMD_BITS == 512
	return _mm512_add_epi32(_mm512_set1_epi32((int)counter), _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0));
#elif SIMD_BITS == 256
	return _mm256_add_epi32(_mm256_set1_epi32((int)counter), _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0));
#else
	return _mm_add_epi32(_mm_set1_epi32((int)counter), _mm_set_epi32(3, 2, 1, 0));
#endif
}

ALWAYS_INLINE void sm4_bulk(const struct crypt_key *key, struct hash *hash, const uint8_t *nonce, uint32_t counter,
	uint8_t *data, uint32_t blocks, int sealing)
{
	const vec swap = spread(_mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
	vec s[SM4_SETS][4], counters = sm4_first_counters(counter), prefix[3];

	UNROLL
	for (int i = 0; i < 3; i++) {
		int word;

		memcpy(&word, nonce + 4 * i, 4);
		prefix[i] = map_vec(V(set1_epi32)(word), sm4_t);
	}
	for (uint32_t done = 0; done < blocks; done += SM4_BATCH, data += 16 * SM4_BATCH) {
		UNROLL
		for (int i = 0; i < SM4_SETS; i++) {
			s[i][0] = prefix[0];
			s[i][1] = prefix[1];
			s[i][2] = prefix[2];
			s[i][3] = V_XOR(map_vec(V(shuffle_epi8)(counters, swap), sm4_t), spread(load128(key->sm4.in)));
			counters = V(add_epi32)(counters, V(set1_epi32)(SM4_SET_BLOCKS));
		}
		if (!sealing)
			hash_blocks(hash, key, data, SM4_BATCH);
		sm4_rounds(&key->sm4, s);
		UNROLL
		for (int i = 0; i < SM4_SETS; i++)
			sm4_out(&key->sm4, s[i], data + 16 * SM4_SET_BLOCKS * i, 1);
		if (sealing)
			hash_blocks(hash, key, data, SM4_BATCH);
	}
}

#endif
