/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_sizes.h"

#include <stddef.h>
#include <string.h>

#define ALL 10000u

const struct sim_sizes sim_sizes[] = {
	/* Web search in a data centre (DCTCP, SIGCOMM 2010), in the twelve points that later papers use. */
	{"websearch", 12, {{0, 0}, {10000, 1500}, {20000, 2000}, {30000, 3000}, {50000, 4000}, {80000, 5300},
		{200000, 6000}, {1000000, 7000}, {2000000, 8000}, {5000000, 9000}, {10000000, 9700}, {30000000, ALL}}},
	/* Hadoop at Facebook (SIGCOMM 2015). */
	{"fbhdp", 20, {{0, 0}, {100, 100}, {200, 200}, {300, 500}, {350, 1500}, {400, 2000}, {500, 3000}, {600, 4000},
		{700, 5000}, {1000, 6000}, {2000, 6700}, {7000, 7000}, {30000, 7200}, {50000, 8200}, {80000, 8700},
		{120000, 9000}, {300000, 9500}, {1000000, 9750}, {2000000, 9900}, {10000000, ALL}}},
	/* Storage at Alibaba, 2019 (HPCC). */
	{"alistorage", 9, {{0, 0}, {4000, 2293}, {8000, 6921}, {16000, 8061}, {32000, 9047}, {64000, 9353},
		{128000, 9677}, {256000, 9753}, {2000000, ALL}}},
};

const uint32_t sim_n_sizes = sizeof(sim_sizes) / sizeof(sim_sizes[0]);

const struct sim_sizes *sim_sizes_find(const char *name)
{
	for (uint32_t i = 0; i < sim_n_sizes; i++) {
		if (!strcmp(sim_sizes[i].name, name))
			return &sim_sizes[i];
	}
	return NULL;
}

uint64_t sim_sizes_mean(const struct sim_sizes *sizes)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < sizes->n_points; i++)
		sum += ((uint64_t)sizes->points[i].bytes + sizes->points[i - 1].bytes) *
			(sizes->points[i].per_10000 - sizes->points[i - 1].per_10000);
	return sum / (2 * ALL);
}

uint64_t sim_sizes_at(const struct sim_sizes *sizes, uint32_t share)
{
	uint64_t at = (uint64_t)share * ALL;  /* in 2^-32 of a ten thousandth */
	uint64_t low, range, width, bytes;
	uint32_t i = 1;

	while (i < sizes->n_points - 1 && (uint64_t)sizes->points[i].per_10000 << 32 <= at)
		i++;
	low = (uint64_t)sizes->points[i - 1].per_10000 << 32;
	range = sizes->points[i].per_10000 - sizes->points[i - 1].per_10000;
	width = sizes->points[i].bytes - sizes->points[i - 1].bytes;
	bytes = sizes->points[i - 1].bytes + ((at - low) >> 16) * width / (range << 16);
	return bytes != 0 ? bytes : 1;
}
