/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow sizes of published traffic, as points of their cumulative distributions. */
#ifndef SIM_SIZES_H
#define SIM_SIZES_H

#include <stdint.h>

struct sim_sizes {
	const char *name;
	uint32_t n_points;
	struct {
		uint32_t bytes, per_10000; /* so much of the flows has at most so many bytes; linear in between */
	} points[24];
};

extern const struct sim_sizes sim_sizes[];
extern const uint32_t sim_n_sizes;

/* NULL: no distribution of that name. */
const struct sim_sizes *sim_sizes_find(const char *name);
uint64_t sim_sizes_mean(const struct sim_sizes *sizes);
/* The size at a share of 2^32 of the flows; at least 1. */
uint64_t sim_sizes_at(const struct sim_sizes *sizes, uint32_t share);

#endif
