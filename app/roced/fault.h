/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults in clients' memory that is mapped here. A client can take its own pages away while a worker copies from
 * or to them; the kernel then raises SIGBUS in the worker. For mappings known here the access goes on in a
 * page of zeros, and who copies finds a flag. Any other SIGBUS ends the process as ever.
 */
#ifndef ROCED_FAULT_H
#define ROCED_FAULT_H

#include <stdint.h>

#define FAULT_MAX_MAPS 16384

/* Installs the signal handler. 0 or a negative errno. */
int fault_start(void);
/*
 * Knows the mapping at base from now on: `bytes` of it, in pages of page_bytes. On a fault *fault becomes 1; it
 * must stay until fault_forget(). -ENOSPC: too many. Both are for one thread.
 */
int fault_watch(void *base, uint64_t bytes, uint64_t page_bytes, uint32_t *fault);
/* The mapping is about to go, and no thread uses it. */
void fault_forget(const void *base);

#endif
