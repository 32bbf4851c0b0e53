/* SPDX-License-Identifier: BSD-3-Clause */
#include "rg_hist.h"

#define STEP_BITS 5u
#define MILLION   1000000u

static uint32_t bucket_of(uint64_t value)
{
	uint32_t shift, bucket;

	if (value < RG_HIST_STEPS)
		return (uint32_t)value;
	shift = 63u - (uint32_t)__builtin_clzll(value) - STEP_BITS;
	bucket = (shift + 1) * RG_HIST_STEPS + (uint32_t)(value >> shift) - RG_HIST_STEPS;
	return bucket < RG_HIST_BUCKETS ? bucket : RG_HIST_BUCKETS - 1;
}

/* The least value of a bucket. */
static uint64_t value_of(uint32_t bucket)
{
	uint32_t octave = bucket / RG_HIST_STEPS, step = bucket % RG_HIST_STEPS;

	return octave == 0 ? step : (uint64_t)(RG_HIST_STEPS + step) << (octave - 1);
}

void rg_hist_add(struct rg_hist *hist, uint64_t value)
{
	if (hist->n == 0 || value < hist->min)
		hist->min = value;
	if (value > hist->max)
		hist->max = value;
	hist->n++;
	hist->sum += value;
	hist->buckets[bucket_of(value)]++;
}

uint64_t rg_hist_at(const struct rg_hist *hist, uint32_t per_million)
{
	uint64_t want = (uint64_t)((unsigned __int128)hist->n * per_million / MILLION), below = 0;

	if (hist->n == 0)
		return 0;
	if (want >= hist->n)
		return hist->max;
	for (uint32_t b = 0; b < RG_HIST_BUCKETS; b++) {
		below += hist->buckets[b];
		if (below > want)
			return value_of(b);
	}
	return hist->max;
}
