/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The books of an arena: which pages are free and which are a run in use. Free runs lie in bins by the logarithm
 * of their size, and neighbours that are free are one run. The caller holds the arena's lock.
 */
#ifndef RA_RUN_H
#define RA_RUN_H

#include "ra_arena.h"

/* Takes a free run of n pages or more; *got is how many it has. false: there is none. */
bool ra_run_take(struct ra_arena *arena, uint32_t n, uint32_t *page, uint32_t *got, bool *zeroed);
/* n pages that are in no run are free now; dirty: they may hold other bytes than 0. */
void ra_run_give(struct ra_arena *arena, uint32_t page, uint32_t n, bool dirty);
/* n pages that are in no run, or the first n of a run, are a run in use. */
void ra_run_use(struct ra_arena *arena, uint32_t page, uint32_t n);
/* They are in no run. */
void ra_run_clear(struct ra_arena *arena, uint32_t page, uint32_t n);
/* Pages of the run in use that starts there; 0: none does. */
uint32_t ra_run_used(const struct ra_arena *arena, uint32_t page);
/* Pages of the run, in use or free, that starts there. */
uint32_t ra_run_pages(const struct ra_arena *arena, uint32_t page);
/* Where the run starts that a page below arena->top is part of. */
uint32_t ra_run_start(const struct ra_arena *arena, uint32_t page);

#endif
