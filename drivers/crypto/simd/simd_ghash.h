/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMD_GHASH_H
#define SIMD_GHASH_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/*
 * GHASH (NIST SP 800-38D, 6.4) on 64-bit integers, in constant time where the multiplication is. Elements are loaded most
 * significant byte first, so their bits are reflected; a product of two such is off by one place, which a factor x in one
 * operand (the key) makes up for.
 */
struct simd_element {
	uint64_t low, high;
};

static inline struct simd_element simd_element_load(const uint8_t *p)
{
	struct simd_element e;

	memcpy(&e.high, p, 8);
	memcpy(&e.low, p + 8, 8);
	e.high = be64toh(e.high);
	e.low = be64toh(e.low);
	return e;
}

/* As vector kernels load it, and keys are kept: least significant byte first. */
static inline struct simd_element simd_element_load_reflected(const uint8_t *p)
{
	struct simd_element e;

	memcpy(&e.low, p, 8);
	memcpy(&e.high, p + 8, 8);
	e.low = le64toh(e.low);
	e.high = le64toh(e.high);
	return e;
}

static inline void simd_element_store(uint8_t *p, struct simd_element e)
{
	const uint64_t high = htobe64(e.high), low = htobe64(e.low);

	memcpy(p, &high, 8);
	memcpy(p + 8, &low, 8);
}

/*
 * Carry-less product of 64-bit numbers: each is cut into five combs of every fifth bit. A product of two combs adds at most
 * 13 ones at a place, which do not reach the next one five bits up.
 */
static inline unsigned __int128 simd_clmul(uint64_t a, uint64_t b)
{
	/* bits 0, 5, ... 125 */
	const unsigned __int128 comb = (unsigned __int128)0x2108421084210842u << 64 | 0x1084210842108421u;
	uint64_t as[5], bs[5];
	unsigned __int128 r = 0;

	for (int i = 0; i < 5; i++) {
		as[i] = a & (uint64_t)(UINT64_C(0x1084210842108421) << i);
		bs[i] = b & (uint64_t)(UINT64_C(0x1084210842108421) << i);
	}
	for (int k = 0; k < 5; k++) {
		unsigned __int128 sum = 0;

		for (int i = 0; i < 5; i++)
			sum ^= (unsigned __int128)as[i] * bs[(k + 5 - i) % 5];
		r |= sum & comb << k;
	}
	return r;
}

/* @a b of which one has the factor x. */
static inline struct simd_element simd_element_mul(struct simd_element a, struct simd_element b)
{
	const unsigned __int128 low = simd_clmul(a.low, b.low), high = simd_clmul(a.high, b.high);
	const unsigned __int128 middle = simd_clmul(a.low ^ a.high, b.low ^ b.high) ^ low ^ high;
	const uint64_t p0 = (uint64_t)low;
	uint64_t p1 = (uint64_t)(low >> 64) ^ (uint64_t)middle;
	uint64_t p2 = (uint64_t)high ^ (uint64_t)(middle >> 64);
	uint64_t p3 = (uint64_t)(high >> 64);

	/* x^128 = x^7 + x^2 + x + 1, reflected: 64 bits fold into the 128 above them, twice */
	p1 ^= p0 << 63 ^ p0 << 62 ^ p0 << 57;
	p2 ^= p0 ^ p0 >> 1 ^ p0 >> 2 ^ p0 >> 7;
	p2 ^= p1 << 63 ^ p1 << 62 ^ p1 << 57;
	p3 ^= p1 ^ p1 >> 1 ^ p1 >> 2 ^ p1 >> 7;
	return (struct simd_element){ .low = p2, .high = p3 };
}

#endif
