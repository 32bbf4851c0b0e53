/* SPDX-License-Identifier: BSD-3-Clause */
/* Printed by simd_tables.py: do not edit. */
#ifndef SIMD_TABLES_H
#define SIMD_TABLES_H

#include <stdint.h>

/* SM4 in the basis T, around the S-box of AES */
#define SM4_P_LOW \
	0x00, 0x41, 0x45, 0x04, 0x12, 0x53, 0x57, 0x16, \
	0x23, 0x62, 0x66, 0x27, 0x31, 0x70, 0x74, 0x35
#define SM4_P_HIGH \
	0x00, 0x81, 0x48, 0xc9, 0xd0, 0x51, 0x98, 0x19, \
	0x24, 0xa5, 0x6c, 0xed, 0xf4, 0x75, 0xbc, 0x3d
#define SM4_Q_LOW \
	0x00, 0x21, 0x23, 0x02, 0x62, 0x43, 0x41, 0x60, \
	0x34, 0x15, 0x17, 0x36, 0x56, 0x77, 0x75, 0x54
#define SM4_Q_HIGH \
	0x00, 0x06, 0x1f, 0x19, 0x39, 0x3f, 0x26, 0x20, \
	0xf8, 0xfe, 0xe7, 0xe1, 0xc1, 0xc7, 0xde, 0xd8
#define SM4_T_LOW \
	0x00, 0xcb, 0x1b, 0xd0, 0xde, 0x15, 0xc5, 0x0e, \
	0xcd, 0x06, 0xd6, 0x1d, 0x13, 0xd8, 0x08, 0xc3
#define SM4_T_HIGH \
	0x00, 0xbc, 0x5f, 0xe3, 0xae, 0x12, 0xf1, 0x4d, \
	0x47, 0xfb, 0x18, 0xa4, 0xe9, 0x55, 0xb6, 0x0a
#define SM4_T_INVERSE_LOW \
	0x00, 0x5c, 0xfe, 0xa2, 0xf7, 0xab, 0x09, 0x55, \
	0x0e, 0x52, 0xf0, 0xac, 0xf9, 0xa5, 0x07, 0x5b
#define SM4_T_INVERSE_HIGH \
	0x00, 0xae, 0x3f, 0x91, 0xd5, 0x7b, 0xea, 0x44, \
	0x78, 0xd6, 0x47, 0xe9, 0xad, 0x03, 0x92, 0x3c
#define SM4_T_COLUMNS 0xcb, 0x1b, 0xde, 0xcd, 0xbc, 0x5f, 0xae, 0x47
#define SM4_T_INVERSE_COLUMNS 0x5c, 0xfe, 0xf7, 0x0e, 0xae, 0x3f, 0xd5, 0x78
#define SM4_IN 0x58
#define SM4_OUT 0xf1
/* columns of the inverse of circ(P+Q, P, P, Q) */
#define SM4_CIRC_INVERSE \
	0x3899afd0, 0xf24556b4, 0x46b410e1, 0x189fd5ad, 0x93ac3a54, 0x19c3f3aa, 0x63e3a8f7, 0xd9cc08d3, \
	0x99afd038, 0x4556b4f2, 0xb410e146, 0x9fd5ad18, 0xac3a5493, 0xc3f3aa19, 0xe3a8f763, 0xcc08d3d9, \
	0xafd03899, 0x56b4f245, 0x10e146b4, 0xd5ad189f, 0x3a5493ac, 0xf3aa19c3, 0xa8f763e3, 0x08d3d9cc, \
	0xd03899af, 0xb4f24556, 0xe146b410, 0xad189fd5, 0x5493ac3a, 0xaa19c3f3, 0xf763e3a8, 0xd3d9cc08

/* The same with GFNI: inversion in GF(2)[x]/0x11b is part of the instruction. */
#define SM4_GFNI_P 0x82481b3ebb775063ull
#define SM4_GFNI_Q 0x5005aeba35de3ff8ull
#define SM4_GFNI_T 0xabe7fc7f3650ad5dull
#define SM4_GFNI_T_INVERSE 0x643e7fbbe7b6c756ull
#define SM4_GFNI_OUT 0x6d

#ifdef SIMD_BITSLICED

/* The tower's y^2 = y + v */
#define BS_TOWER_V 0x8

static inline void bs_aes_in(bs_word b[8])
{
	const bs_word t0 = b[1] ^ b[6];
	const bs_word t1 = b[2] ^ b[5];
	const bs_word t2 = b[3] ^ t0;
	const bs_word t3 = b[5] ^ b[7];
	const bs_word r0 = b[0] ^ b[2];
	const bs_word r1 = b[7] ^ t0;
	const bs_word r2 = t1;
	const bs_word r3 = b[7] ^ t2;
	const bs_word r4 = b[1] ^ t3;
	const bs_word r5 = b[4] ^ b[5] ^ t0;
	const bs_word r6 = b[4] ^ t1 ^ t2;
	const bs_word r7 = t3;

	b[0] = r0;
	b[1] = r1;
	b[2] = r2;
	b[3] = r3;
	b[4] = r4;
	b[5] = r5;
	b[6] = r6;
	b[7] = r7;
}

static inline void bs_aes_out(bs_word b[8])
{
	const bs_word t0 = b[2] ^ b[4];
	const bs_word t1 = b[0] ^ b[5];
	const bs_word t2 = b[0] ^ b[1];
	const bs_word t3 = b[6] ^ t0;
	const bs_word r0 = ~(t0 ^ t1);
	const bs_word r1 = ~(b[2] ^ t2);
	const bs_word r2 = t2;
	const bs_word r3 = t1 ^ t3;
	const bs_word r4 = b[3] ^ b[4] ^ t1;
	const bs_word r5 = ~(b[3] ^ b[5] ^ t0);
	const bs_word r6 = ~(b[4] ^ b[6] ^ b[7]);
	const bs_word r7 = t3;

	b[0] = r0;
	b[1] = r1;
	b[2] = r2;
	b[3] = r3;
	b[4] = r4;
	b[5] = r5;
	b[6] = r6;
	b[7] = r7;
}

static inline void bs_sm4_in(bs_word b[8])
{
	const bs_word t0 = b[0] ^ b[4];
	const bs_word t1 = b[1] ^ b[6];
	const bs_word t2 = b[2] ^ b[3];
	const bs_word t3 = b[5] ^ t0;
	const bs_word t4 = t2 ^ t3;
	const bs_word r0 = t0;
	const bs_word r1 = ~(t1);
	const bs_word r2 = b[3];
	const bs_word r3 = ~(b[4] ^ b[6] ^ b[7] ^ t2);
	const bs_word r4 = ~(b[7] ^ t0 ^ t1);
	const bs_word r5 = b[1] ^ t4;
	const bs_word r6 = ~(b[2] ^ b[7]);
	const bs_word r7 = ~(t1 ^ t4);

	b[0] = r0;
	b[1] = r1;
	b[2] = r2;
	b[3] = r3;
	b[4] = r4;
	b[5] = r5;
	b[6] = r6;
	b[7] = r7;
}

static inline void bs_sm4_out(bs_word b[8])
{
	const bs_word t0 = b[1] ^ b[4];
	const bs_word t1 = b[0] ^ b[2];
	const bs_word t2 = b[0] ^ b[7];
	const bs_word t3 = b[3] ^ t0;
	const bs_word t4 = b[5] ^ b[6];
	const bs_word r0 = ~(b[5] ^ t2);
	const bs_word r1 = ~(t1 ^ t4);
	const bs_word r2 = b[2] ^ t3;
	const bs_word r3 = b[4] ^ b[5] ^ b[7] ^ t1;
	const bs_word r4 = ~(b[6] ^ t0);
	const bs_word r5 = t0 ^ t4;
	const bs_word r6 = ~(t1 ^ t3);
	const bs_word r7 = ~(b[1] ^ b[6] ^ t2);

	b[0] = r0;
	b[1] = r1;
	b[2] = r2;
	b[3] = r3;
	b[4] = r4;
	b[5] = r5;
	b[6] = r6;
	b[7] = r7;
}

#endif

#endif
