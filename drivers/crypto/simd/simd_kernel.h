/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIMD_KERNEL_H
#define SIMD_KERNEL_H

#include "crypt_cipher.h"
#include "simd_bits.h"

/* What a kernel is to crypt_simd.c, and the key and scratch memory that kernels share. */

/* GHASH adds up this many products before it reduces them: more than the 18 blocks of a packet of 256 bytes. */
#define SIMD_POWERS 48
/* A vector's load of powers may run over the end. */
#define SIMD_POWERS_SLACK 3
/* Key stream of blocks that are not in long runs: a multiple of every kernel's batch. */
#define SIMD_STREAM_BLOCKS 256
#define SIMD_BATCH_MAX 64
#define SIMD_PIECES 256
/* Jobs of one key that are laid out together. */
#define SIMD_GROUP 64
/* NIST SP 800-38D, 5.2.1.1 */
#define SIMD_TEXT_BYTES_MAX ((UINT64_C(1) << 36) - 32)

/* H x, to the power of SIMD_POWERS down to 1, reflected (docs/crypto.md); and the sum of the halves of each. */
struct simd_ghash_key {
	uint8_t power[SIMD_POWERS + SIMD_POWERS_SLACK][16];
	uint8_t halves[SIMD_POWERS + SIMD_POWERS_SLACK][16];
};

/* SM4's round keys in the basis of the S-box of AES, spread over the four words of a block. */
struct simd_sm4_key {
	uint8_t round[SIMD_SM4_ROUNDS][16];
	uint8_t in[16];
	uint8_t out[4][16];
};

struct crypt_key {
	struct simd_ghash_key ghash;
	union {
		uint8_t aes[SIMD_AES_ROUNDS_MAX + 1][16];
		struct simd_sm4_key sm4;
		struct simd_bits_aes bits_aes;
		struct simd_bits_sm4 bits_sm4;
	};
	enum crypt_suite suite;
	unsigned int rounds;
} __attribute__((aligned(64)));

enum simd_piece_kind {
	SIMD_START,	/* a job's AAD; takes the first block of its key stream */
	SIMD_RUN,	/* whole blocks in one segment, by laid out key stream */
	SIMD_GATHER,	/* one block over several segments, or the last, short one */
	SIMD_BULK,	/* whole batches in one segment, ciphered where they are */
	SIMD_FINISH	/* lengths and tag */
};

struct simd_piece {
	uint8_t *data;
	uint32_t blocks;	/* of a run or bulk; bytes of a gathered block */
	uint32_t counter;	/* bulk: of its first block; gather: where in the segment it starts */
	uint16_t segment;
	uint8_t job;
	uint8_t kind;
};

/* Memory of one context; key stream is in it, so it is wiped at the end. */
struct simd_scratch {
	uint8_t stream[SIMD_STREAM_BLOCKS + SIMD_BATCH_MAX][16];
	struct simd_piece pieces[SIMD_PIECES];
	unsigned int n_blocks;
	unsigned int n_pieces;
} __attribute__((aligned(64)));

struct simd_kernel {
	const char *name;
	int (*runs)(void);
	void (*prepare)(struct crypt_key *key, const uint8_t *raw);	/* @suite is set, all else is zero */
	/* At most SIMD_GROUP jobs of one key. Returns how many have status 0. */
	unsigned int (*seal)(struct simd_scratch *scratch, struct crypt_job *jobs, unsigned int n);
	unsigned int (*open)(struct simd_scratch *scratch, struct crypt_job *jobs, unsigned int n);
	/* The block cipher alone: @n blocks in place, and some of up to SIMD_BATCH_MAX behind them. For tests. */
	void (*blocks)(const struct crypt_key *key, uint8_t *blocks, unsigned int n);
};

/* The kernel that a context of crypt_simd_new() uses. */
const struct simd_kernel *crypt_simd_kernel_in(const void *ctx);

extern const struct simd_kernel simd_portable, simd_sse, simd_avx2, simd_avx512;

/* Fills @ghash from the hash key @h, constant time. */
void simd_ghash_prepare(struct simd_ghash_key *ghash, const uint8_t h[16]);

/* For the vector kernels: round keys of @key's suite, and @key->ghash. @gfni: of kernels whose S-box is GFNI's inversion. */
void simd_vec_prepare(struct crypt_key *key, const uint8_t *raw, int gfni);

#endif
