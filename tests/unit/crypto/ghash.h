/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GHASH bit by bit, as NIST SP 800-38D says it, and what an attacker who knew the key could make of it: the block for which it
 * becomes a chosen value.
 */
#ifndef GHASH_H
#define GHASH_H

#include <stddef.h>
#include <stdint.h>

/* An element of GF(2^128), as its 16 bytes in network order. */
struct ghash {
	uint64_t high, low;
};

struct ghash ghash_load(const uint8_t bytes[16]);
void ghash_store(uint8_t bytes[16], struct ghash e);
struct ghash ghash_add(struct ghash a, struct ghash b);
/* 6.3 */
struct ghash ghash_mul(struct ghash a, struct ghash b);
/* The one that times e is 1; e is not 0. */
struct ghash ghash_inverse(struct ghash e);

/* 6.4: y goes on over bytes of a text, padded with zeros to whole blocks. */
struct ghash ghash_text(struct ghash h, struct ghash y, const uint8_t *text, size_t bytes);
/* And over the block of the lengths. */
struct ghash ghash_lengths(struct ghash h, struct ghash y, size_t aad_bytes, size_t text_bytes);

/* The last block before that of the lengths that makes it all the wanted value, y being the sum before that block. */
struct ghash ghash_block_for(struct ghash h, struct ghash y, size_t aad_bytes, size_t text_bytes, struct ghash want);

#endif
