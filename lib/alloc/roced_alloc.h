/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that a program shares with the roced daemon. Regions registered in it are copied by the daemon
 * directly; others cost it a system call for each message. Link with -lroced_alloc.
 *
 * All calls may be made by any thread. In a forked child the memory is a copy of its own, as other memory is.
 */
#ifndef ROCED_ALLOC_H
#define ROCED_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whole pages of zeros, `size` bytes at least. NULL and ENOMEM: there are none, or the process cannot make
 * memory of that kind; malloc()'s serves as well, more slowly. */
void *roced_alloc(size_t size);
/* Gives back what roced_alloc() returned. NULL is fine; anything else ends the program. */
void roced_free(void *ptr);
/*
 * Whether [addr, addr + bytes) is such memory: 0, and *fd is the memfd that it is part of and *offset where it
 * starts in it. The descriptor stays the library's. -ENOENT: it is not.
 */
int roced_alloc_find(const void *addr, size_t bytes, int *fd, uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif
