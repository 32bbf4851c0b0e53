/* SPDX-License-Identifier: BSD-3-Clause */
#include "simd_bits.h"

#include <string.h>

/*
 * Eight planes hold bit 0 to 7 of 128 bytes. Within 32 lanes, lane 8 * r + i is byte r of the i-th of eight 32-bit words:
 * AES takes the columns of two blocks, SM4 the same word of eight blocks, and both rotate bytes of a word by rotating 32
 * lanes by eight.
 */
typedef uint32_t bs_word __attribute__((vector_size(16)));

#define SIMD_BITSLICED
#include "simd_tables.h"

#define BS_WORDS 8
#define BS_PARTS 4

static inline bs_word rotate_bytes(bs_word x)
{
	return x >> 8 | x << 24;
}

static inline void swap_bits(bs_word *a, bs_word *b, uint32_t mask, int shift)
{
	const bs_word t = ((*a >> shift) ^ *b) & mask;

	*b ^= t;
	*a ^= t << shift;
}

/* Eight words to eight planes, and back. */
static void transpose(bs_word w[BS_WORDS])
{
	static const uint32_t masks[] = { 0x55555555, 0x33333333, 0x0f0f0f0f };

	for (int level = 0; level < 3; level++)
		for (int i = 0; i < BS_WORDS; i++)
			if (!(i & 1 << level))
				swap_bits(&w[i], &w[i | 1 << level], masks[level], 1 << level);
}

/* Products in the tower; each level is Karatsuba's on the one below. */
static inline void mul4(bs_word r[2], const bs_word a[2], const bs_word b[2])
{
	const bs_word low = a[0] & b[0], high = a[1] & b[1];

	r[1] = ((a[0] ^ a[1]) & (b[0] ^ b[1])) ^ low;
	r[0] = low ^ high;
}

static inline void mul16(bs_word r[4], const bs_word a[4], const bs_word b[4])
{
	const bs_word a_sum[2] = { a[0] ^ a[2], a[1] ^ a[3] }, b_sum[2] = { b[0] ^ b[2], b[1] ^ b[3] };
	bs_word low[2], high[2], both[2];

	mul4(low, a, b);
	mul4(high, a + 2, b + 2);
	mul4(both, a_sum, b_sum);
	r[3] = both[1] ^ low[1];
	r[2] = both[0] ^ low[0];
	/* plus w times the high product: w (h1 w + h0) = (h1 + h0) w + h1 */
	r[1] = low[1] ^ high[1] ^ high[0];
	r[0] = low[0] ^ high[1];
}

static inline void invert16(bs_word a[4])
{
	bs_word d[2], r[4];
	const bs_word sum[2] = { a[0] ^ a[2], a[1] ^ a[3] };

	/* d = w a1^2 + a0 (a0 + a1), and w (x1 w + x0)^2 = x0 w + x1 */
	mul4(d, a, sum);
	d[1] ^= a[2];
	d[0] ^= a[3];
	/* the inverse in GF(4) is the square */
	d[0] ^= d[1];
	mul4(r + 2, a + 2, d);
	mul4(r, sum, d);
	memcpy(a, r, sizeof(r));
}

/* Inversion in the tower; 0 stays 0. */
static inline void invert256(bs_word b[8])
{
	const bs_word *low = b, *high = b + 4;
	const bs_word sum[4] = { b[0] ^ b[4], b[1] ^ b[5], b[2] ^ b[6], b[3] ^ b[7] };
	bs_word d[4], r[8];

	_Static_assert(BS_TOWER_V == 8, "the lines below multiply by w z");
	mul16(d, low, sum);
	/* d += w z a1^2: squaring and the product are linear together */
	d[0] ^= high[2];
	d[1] ^= high[2] ^ high[3];
	d[2] ^= high[1] ^ high[2] ^ high[3];
	d[3] ^= high[0] ^ high[3];
	invert16(d);
	mul16(r + 4, high, d);
	mul16(r, sum, d);
	memcpy(b, r, sizeof(r));
}

static void aes_box(bs_word b[8])
{
	bs_aes_in(b);
	invert256(b);
	bs_aes_out(b);
}

static void sm4_box(bs_word b[8])
{
	bs_sm4_in(b);
	invert256(b);
	bs_sm4_out(b);
}

/* The S-box on the four bytes of a word. */
static uint32_t word_box(uint32_t word, void (*box)(bs_word b[8]))
{
	bs_word w[BS_WORDS] = { { word } };
	uint32_t out;

	transpose(w);
	box(w);
	transpose(w);
	out = w[0][0];
	explicit_bzero(w, sizeof(w));
	return out;
}

static uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

unsigned int simd_aes_expand(const uint8_t *raw, unsigned int bytes, uint8_t round_key[SIMD_AES_ROUNDS_MAX + 1][16])
{
	const unsigned int words = bytes / 4, rounds = words + 6;
	uint32_t w[4 * (SIMD_AES_ROUNDS_MAX + 1)], rcon = 1;

	memcpy(w, raw, bytes);
	for (unsigned int i = words; i < 4 * (rounds + 1); i++) {
		uint32_t t = w[i - 1];

		/* bytes in memory order: RotWord is a shift to the right */
		if (i % words == 0) {
			t = word_box(t >> 8 | t << 24, aes_box) ^ rcon;
			rcon = rcon << 1 ^ (rcon >> 7) * 0x11b;
		} else if (words == 8 && i % words == 4) {
			t = word_box(t, aes_box);
		}
		w[i] = w[i - words] ^ t;
	}
	memcpy(round_key, w, 16 * (rounds + 1));
	explicit_bzero(w, sizeof(w));
	return rounds;
}

static uint32_t rotate_left(uint32_t x, int n)
{
	return x << n | x >> (32 - n);
}

void simd_sm4_expand(const uint8_t raw[16], uint32_t round_key[SIMD_SM4_ROUNDS])
{
	static const uint32_t family[4] = { 0xa3b1bac6, 0x56aa3350, 0x677d9197, 0xb27022dc };
	uint32_t k[4];

	for (int i = 0; i < 4; i++)
		k[i] = __builtin_bswap32(load32(raw + 4 * i)) ^ family[i];
	for (unsigned int i = 0; i < SIMD_SM4_ROUNDS; i++) {
		uint32_t ck = 0, t;

		for (unsigned int j = 0; j < 4; j++)
			ck = ck << 8 | ((4 * i + j) * 7 & 255);
		t = word_box(k[(i + 1) % 4] ^ k[(i + 2) % 4] ^ k[(i + 3) % 4] ^ ck, sm4_box);
		k[i % 4] ^= t ^ rotate_left(t, 13) ^ rotate_left(t, 23);
		round_key[i] = k[i % 4];
	}
	explicit_bzero(k, sizeof(k));
}

/* Planes of eight words whose bytes are those of @word[i % n]. */
static void key_planes(uint32_t plane[8], const uint32_t *word, unsigned int n)
{
	bs_word w[BS_WORDS];

	for (unsigned int i = 0; i < BS_WORDS; i++)
		w[i] = (bs_word){ word[i % n] };
	transpose(w);
	for (int j = 0; j < 8; j++)
		plane[j] = w[j][0];
	explicit_bzero(w, sizeof(w));
}

void simd_bits_aes_key(struct simd_bits_aes *key, const uint8_t *raw, unsigned int bytes)
{
	uint8_t round_key[SIMD_AES_ROUNDS_MAX + 1][16];
	uint32_t column[4];

	key->rounds = simd_aes_expand(raw, bytes, round_key);
	for (unsigned int r = 0; r <= key->rounds; r++) {
		memcpy(column, round_key[r], sizeof(column));
		key_planes(key->plane[r], column, 4);
	}
	explicit_bzero(round_key, sizeof(round_key));
	explicit_bzero(column, sizeof(column));
}

void simd_bits_sm4_key(struct simd_bits_sm4 *key, const uint8_t raw[16])
{
	uint32_t round_key[SIMD_SM4_ROUNDS];

	simd_sm4_expand(raw, round_key);
	for (int r = 0; r < SIMD_SM4_ROUNDS; r++) {
		const uint32_t word = __builtin_bswap32(round_key[r]);

		key_planes(key->plane[r], &word, 1);
	}
	explicit_bzero(round_key, sizeof(round_key));
}

static inline void add_key(bs_word b[8], const uint32_t plane[8])
{
	for (int j = 0; j < 8; j++)
		b[j] ^= plane[j];
}

/* Row r moves left by r columns; a column is a bit of a nibble. */
static inline void shift_rows(bs_word b[8])
{
	for (int j = 0; j < 8; j++) {
		const bs_word x = b[j];

		b[j] = (x & 0x000000ff) | (x >> 1 & 0x00007700) | (x << 3 & 0x00008800) | (x >> 2 & 0x00330000) |
			(x << 2 & 0x00cc0000) | (x >> 3 & 0x11000000) | (x << 1 & 0xee000000);
	}
}

/* 2 a + 3 a' + a'' + a''' with a' the row below: 2 (a + a') + a' + (a + a')'' */
static inline void mix_columns(bs_word b[8])
{
	bs_word next[8], sum[8];

	for (int j = 0; j < 8; j++) {
		next[j] = rotate_bytes(b[j]);
		sum[j] = b[j] ^ next[j];
	}
	for (int j = 0; j < 8; j++) {
		b[j] = next[j] ^ (sum[j] >> 16 | sum[j] << 16) ^ sum[(j + 7) % 8];
		if (j == 1 || j == 3 || j == 4)
			b[j] ^= sum[7];
	}
}

void simd_bits_aes(const struct simd_bits_aes *key, uint8_t *blocks)
{
	bs_word w[BS_WORDS];

	for (int i = 0; i < BS_WORDS; i++)
		for (int part = 0; part < BS_PARTS; part++)
			w[i][part] = load32(blocks + 32 * part + 4 * i);
	transpose(w);
	add_key(w, key->plane[0]);
	for (unsigned int r = 1; r <= key->rounds; r++) {
		aes_box(w);
		shift_rows(w);
		if (r < key->rounds)
			mix_columns(w);
		add_key(w, key->plane[r]);
	}
	transpose(w);
	for (int i = 0; i < BS_WORDS; i++)
		for (int part = 0; part < BS_PARTS; part++) {
			const uint32_t v = w[i][part];

			memcpy(blocks + 32 * part + 4 * i, &v, sizeof(v));
		}
}

/* @x ^= L(t): t + t <<< 24 + (t + t <<< 8 + t <<< 16) <<< 2 */
static inline void sm4_mix(bs_word x[8], const bs_word t[8])
{
	bs_word y[8];

	for (int j = 0; j < 8; j++) {
		const bs_word by8 = rotate_bytes(t[j]), by16 = t[j] >> 16 | t[j] << 16;

		y[j] = t[j] ^ by8 ^ by16;
		x[j] ^= t[j] ^ rotate_bytes(by16);
	}
	for (int j = 0; j < 8; j++)
		x[j] ^= j >= 2 ? y[j - 2] : rotate_bytes(y[j + 6]);
}

void simd_bits_sm4(const struct simd_bits_sm4 *key, uint8_t *blocks)
{
	bs_word x[4][8], t[8];

	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < BS_WORDS; i++)
			for (int part = 0; part < BS_PARTS; part++)
				x[k][i][part] = load32(blocks + 16 * (8 * part + i) + 4 * k);
		transpose(x[k]);
	}
	for (int r = 0; r < SIMD_SM4_ROUNDS; r++) {
		for (int j = 0; j < 8; j++)
			t[j] = x[(r + 1) % 4][j] ^ x[(r + 2) % 4][j] ^ x[(r + 3) % 4][j] ^ key->plane[r][j];
		sm4_box(t);
		sm4_mix(x[r % 4], t);
	}
	for (int k = 0; k < 4; k++) {
		transpose(x[k]);
		for (int i = 0; i < BS_WORDS; i++)
			for (int part = 0; part < BS_PARTS; part++) {
				const uint32_t v = x[k][i][part];

				memcpy(blocks + 16 * (8 * part + i) + 4 * (3 - k), &v, sizeof(v));
			}
	}
}
