/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for secrets: pages of its own, not swapped, not in core dumps, wiped when it is given back. */
#ifndef CRYPT_MEM_H
#define CRYPT_MEM_H

#include <stdbool.h>
#include <stddef.h>

/* Zeros, aligned to a page. NULL: no memory. What the process may not lock works without; crypt_mem_may_lock() tells. */
void *crypt_mem_new(size_t bytes);
/* Wipes it. bytes: as it was taken. NULL is allowed. */
void crypt_mem_free(void *memory, size_t bytes);
/* Whether this process may lock so much (RLIMIT_MEMLOCK, CAP_IPC_LOCK). */
bool crypt_mem_may_lock(size_t bytes);

#endif
