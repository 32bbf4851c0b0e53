/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edge cases of GCM in the manner of Project Wycheproof, for any backend: tags that are nearly right, sums of GHASH and tags with
 * chosen bits, lengths, keys and nonces at the ends of ranges. Each is an assertion of cmocka.
 */
#ifndef EDGES_H
#define EDGES_H

#include "edge_text.h"

/* No tag but the right one opens a packet, be the right one all zeros. */
void edges_tags(const struct edge_cipher *e);
/* Tags and sums of GHASH that are all zeros, all ones and the like, at the end and in the middle of a text. */
void edges_sums(const struct edge_cipher *e);
/* Texts about the borders of blocks and strides with AAD of 0 to 64 bytes, and nothing at all. */
void edges_lengths(const struct edge_cipher *e);
/* What is AAD, what is text and what is padding is told by the tag. */
void edges_splits(const struct edge_cipher *e);
void edges_keys_and_nonces(const struct edge_cipher *e);

void edges_all(const struct edge_cipher *e);

/* Blocks with special bits, for what is multiplied; edges_block(i) for i below EDGES_BLOCKS. */
#define EDGES_BLOCKS 20u
struct ghash edges_block(uint32_t i);
/* A text whose sum of GHASH under h is what is wanted, by its last block; that of the AAD if the text is empty. */
void edges_make_sum(struct edge_text *t, enum crypt_suite suite, struct ghash h, struct ghash want);

#endif
