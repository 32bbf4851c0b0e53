/* SPDX-License-Identifier: BSD-3-Clause */
/* The preloaded half: calls of libc that give out memory, answered from shared memory where that is right. */
#ifndef PRE_H
#define PRE_H

#include "ra_shared.h"

#define PRE_MIN_BYTES 65536u              /* from this size on memory is shared, */
#define PRE_MIN_ENV   "ROCED_SHARED_MIN"  /* or from that in this variable: a page or more */

/* Of the process; set before main(), so some of the memory before that is libc's. */
extern size_t pre_min_bytes __attribute__((visibility("hidden")));

#endif
