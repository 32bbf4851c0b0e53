/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounts for packets by their 24-bit serial numbers (base_psn.h): which are missing, came late, came twice. It
 * remembers the last RG_WINDOW numbers. What is further away counts as a jump, unless the number behind it follows:
 * then the sender went on there, and the numbers in between are missing (forwards) or it began anew (backwards). Pure.
 */
#ifndef RG_WINDOW_H
#define RG_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define RG_WINDOW 1024u

struct rg_window_stats {
	uint64_t lost;        /* numbers between the first and the last that have not come */
	uint64_t reordered;   /* packets that came behind a later one */
	uint64_t duplicates;  /* numbers that had come before */
	uint64_t jumps;       /* packets too far away from all others */
	uint64_t restarts;    /* how often the numbers began anew */
};

struct rg_window {
	bool started, has_stray;
	uint32_t next;                     /* behind the last number that has come */
	uint32_t span;                     /* numbers before `next` that are accounted for, RG_WINDOW at most */
	uint32_t stray, after_stray;       /* the last jump, and what would follow it */
	uint64_t got[RG_WINDOW / 64];      /* bit number % RG_WINDOW, of the span */
	struct rg_window_stats stats;
};

/* A packet came that takes the n numbers from number on, n 1 or more. */
void rg_window_take(struct rg_window *window, uint32_t number, uint32_t n);

void rg_window_add(struct rg_window_stats *sum, const struct rg_window_stats *stats);

#endif
