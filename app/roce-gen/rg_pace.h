/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a flow may send: at a mean rate, in bursts. Times are picoseconds since the start, so that nothing is lost by
 * rounding, and last for 213 days. Pure.
 */
#ifndef RG_PACE_H
#define RG_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define RG_PACE_OVERHEAD_BYTES 24u         /* of a frame beside its own: preamble, FCS, gap (IEEE 802.3) */
#define RG_PS_PER_S            1000000000000u

struct rg_pace {
	uint32_t mbps, pps;    /* one of the two; both 0: without bound */
	uint32_t burst;        /* packets that go together */
	uint32_t left;         /* of the burst that goes now */
	uint64_t next_ps;      /* when the next burst is due */
	uint64_t catch_up_ps;  /* what a sender that is late makes up for */
	uint64_t late_ps;      /* that were not made up for */
};

static inline void rg_pace_init(struct rg_pace *pace, uint32_t mbps, uint32_t pps, uint32_t burst, uint64_t start_ps,
	uint64_t catch_up_ps)
{
	*pace = (struct rg_pace){
		.mbps = mbps,
		.pps = pps,
		.burst = burst,
		.next_ps = start_ps,
		.catch_up_ps = catch_up_ps,
	};
}

/* Whether a packet may go now. */
static inline bool rg_pace_due(struct rg_pace *pace, uint64_t now_ps)
{
	if (pace->left != 0)
		return true;
	if (now_ps < pace->next_ps)
		return false;
	if ((pace->mbps != 0 || pace->pps != 0) && now_ps - pace->next_ps > pace->catch_up_ps) {
		pace->late_ps += now_ps - pace->next_ps - pace->catch_up_ps;
		pace->next_ps = now_ps - pace->catch_up_ps;
	}
	pace->left = pace->burst;
	return true;
}

/* A frame of so many bytes went, or was to go. */
static inline void rg_pace_sent(struct rg_pace *pace, uint32_t bytes)
{
	pace->left--;
	if (pace->pps != 0)
		pace->next_ps += RG_PS_PER_S / pace->pps;
	else if (pace->mbps != 0)
		pace->next_ps += (uint64_t)(bytes + RG_PACE_OVERHEAD_BYTES) * 8 * 1000000u / pace->mbps;
}

#endif
