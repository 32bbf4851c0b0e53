/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx_fill.h"

void rx_fill_burst(struct rx_fill *fill, struct rx_run *run, uint32_t n, uint32_t most, uint32_t room, int count)
{
	uint32_t behind;

	run->full = n < most ? 0 : run->full < room / most ? run->full + 1 : room / most;
	behind = count >= 0 ? (uint32_t)count : run->full * most;
	fill->behind += behind < room ? behind : room;
}

bool rx_fill_settle(struct rx_fill *fill)
{
	bool more = fill->behind != 0;

	for (int p = 0; p < QOS_PRIORITIES; p++) {
		uint32_t part = fill->n_seen != 0 ? (uint32_t)((uint64_t)fill->behind * fill->seen[p] / fill->n_seen) : 0;

		atomic_store_explicit(&fill->queued[p], part, memory_order_relaxed);
		fill->seen[p] = 0;
	}
	fill->n_seen = 0;
	fill->behind = 0;
	return more;
}
