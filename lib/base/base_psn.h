/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet sequence numbers: 24-bit serial numbers. IBTA vol. 1, 9.7.2: the upper half of the space
 * behind a PSN is "before" it, the lower half "after" it (RFC 1982 arithmetic at 24 bits).
 */
#ifndef BASE_PSN_H
#define BASE_PSN_H

#include <stdint.h>

#define BASE_PSN_MASK 0xffffffu

/* psn + n modulo 2^24; n may be "negative" as its two's complement. */
static inline uint32_t base_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & BASE_PSN_MASK;
}

/* Signed distance a - b in [-2^23, 2^23). */
static inline int32_t base_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

#endif
