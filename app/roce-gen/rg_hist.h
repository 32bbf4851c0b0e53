/* SPDX-License-Identifier: BSD-3-Clause */
/* A histogram of times: 32 steps to each doubling, so what it tells is at most 3 % below what was. Pure. */
#ifndef RG_HIST_H
#define RG_HIST_H

#include <stdint.h>

#define RG_HIST_STEPS   32u  /* of a doubling; a power of two */
#define RG_HIST_BUCKETS (RG_HIST_STEPS * 37u) /* up to 2^41 ns, over half an hour; what is longer is in the last one */

struct rg_hist {
	uint64_t n, sum, min, max;
	uint64_t buckets[RG_HIST_BUCKETS];
};

void rg_hist_add(struct rg_hist *hist, uint64_t value);
/* The value that per_million of the values do not exceed, rounded down to a step; 0 when there is none. */
uint64_t rg_hist_at(const struct rg_hist *hist, uint32_t per_million);

#endif
