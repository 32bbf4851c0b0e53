/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for secrets: pages of its own, not swapped, not in core dumps, wiped when it is given back. It costs at least a page and is
 * for set-up, not for the data path.
 */
#ifndef CRYPT_MEM_H
#define CRYPT_MEM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Zeros, aligned to a page. NULL with errno set: no memory, or bytes is 0. Where the process may not lock (RLIMIT_MEMLOCK without
 * CAP_IPC_LOCK) the memory works all the same and may be swapped: a program asks crypt_mem_may_lock() at its start and says so.
 */
void *crypt_mem_new(size_t bytes);
/* Wipes it. bytes: as it was taken. NULL is allowed. */
void crypt_mem_free(void *memory, size_t bytes);
/* Wipes what functions that the caller called before have left on the stack: compilers spill secrets there. Not for the data path. */
void crypt_mem_wipe_stack(void);
/* Whether this process may lock so much more now. */
bool crypt_mem_may_lock(size_t bytes);

#endif
