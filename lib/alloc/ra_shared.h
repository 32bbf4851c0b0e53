/* SPDX-License-Identifier: BSD-3-Clause */
/* The process' one arena, as the preloaded half sees it. */
#ifndef RA_SHARED_H
#define RA_SHARED_H

#include "ra_arena.h"

/* Makes it when it is first asked for. NULL: there is none. */
struct ra_arena *ra_shared(void);
/* ptr lies in it; no lock, and nothing is made. */
bool ra_shared_has(const void *ptr);
/* Another place where roced_alloc_find() looks: the preloaded half's System V segments. */
typedef int (*ra_find_fn)(const void *addr, size_t bytes, int *fd, uint64_t *offset);
void ra_shared_add_find(ra_find_fn fn);

#endif
