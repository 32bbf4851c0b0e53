/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the queues were that packets found at switches: counts by length, in steps of an eighth or less. */
#include "fabric_internal.h"

#define UNIT_SHIFT 10  /* lengths below 8 KiB are counted by KiB */
#define PART_BITS  3
#define PARTS      (1u << PART_BITS)
#define PERMILLE   1000u

static uint32_t step_of(uint64_t bytes)
{
	uint64_t units = bytes >> UNIT_SHIFT;
	uint32_t octave, step;

	if (units < PARTS)
		return (uint32_t)units;
	octave = 63 - (uint32_t)__builtin_clzll(units);
	step = (octave - PART_BITS + 1) * PARTS + ((uint32_t)(units >> (octave - PART_BITS)) & (PARTS - 1));
	return step < FABRIC_DEPTHS ? step : FABRIC_DEPTHS - 1;
}

/* The first length that is beyond the step. */
static uint64_t end_of(uint32_t step)
{
	uint64_t parts = PARTS + step % PARTS + 1;

	if (step < PARTS)
		return (uint64_t)(step + 1) << UNIT_SHIFT;
	return parts << (step / PARTS - 1 + UNIT_SHIFT);
}

void fabric_depth_note(struct fabric *fabric, uint64_t queued_bytes)
{
	fabric->depths[step_of(queued_bytes)]++;
}

uint64_t fabric_queue_bytes(const struct fabric *fabric, uint32_t permille)
{
	uint64_t n = 0, so_far = 0;

	for (uint32_t i = 0; i < FABRIC_DEPTHS; i++)
		n += fabric->depths[i];
	for (uint32_t i = 0; i < FABRIC_DEPTHS; i++) {
		so_far += fabric->depths[i];
		if (so_far != 0 && so_far * PERMILLE >= n * permille)
			return end_of(i);
	}
	return 0;
}
