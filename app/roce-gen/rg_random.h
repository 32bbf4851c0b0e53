/* SPDX-License-Identifier: BSD-3-Clause */
/* Chance by seed: splitmix64. */
#ifndef RG_RANDOM_H
#define RG_RANDOM_H

#include <stdint.h>

static inline uint64_t rg_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* A number below `below`, which is not 0 and less than 2^32. */
static inline uint32_t rg_draw(uint64_t *state, uint64_t below)
{
	*state += 0x9e3779b97f4a7c15u;
	return (uint32_t)((rg_mix(*state) >> 32) * below >> 32);
}

#endif
