/* SPDX-License-Identifier: BSD-3-Clause */
#include "ra_shared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "roced_alloc.h"

static struct ra_arena arena; /* memory is of the process, and so is this */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool usable;
static ra_find_fn more_find;

static void fork_prepare(void)
{
	ra_arena_fork_prepare(&arena);
}

static void fork_parent(void)
{
	ra_arena_fork_parent(&arena);
}

static void fork_child(void)
{
	ra_arena_fork_child(&arena);
}

static void make(void)
{
	int saved = errno;

	usable = ra_arena_make(&arena) == 0 && pthread_atfork(fork_prepare, fork_parent, fork_child) == 0;
	errno = saved;
}

struct ra_arena *ra_shared(void)
{
	pthread_once(&once, make);
	return usable ? &arena : NULL;
}

bool ra_shared_has(const void *ptr)
{
	return ra_arena_has(&arena, ptr);
}

void ra_shared_add_find(ra_find_fn fn)
{
	more_find = fn;
}

void *roced_alloc(size_t size)
{
	struct ra_arena *a = ra_shared();
	bool zeroed = false;
	void *ptr = NULL;

	if (size == 0)
		size = 1;
	if (a != NULL)
		ptr = ra_arena_alloc(a, size, RA_PAGE_BYTES, &zeroed);
	if (ptr == NULL)
		errno = ENOMEM;
	else if (!zeroed)
		(void)ra_arena_wipe(a, ptr, ra_arena_size(a, ptr));
	return ptr;
}

void roced_free(void *ptr)
{
	if (ptr == NULL)
		return;
	if (!ra_shared_has(ptr) || !ra_arena_free(&arena, ptr)) {
		fputs("roced_free(): invalid pointer\n", stderr);
		abort();
	}
}

int roced_alloc_find(const void *addr, size_t bytes, int *fd, uint64_t *offset)
{
	uintptr_t at = (uintptr_t)addr - (uintptr_t)arena.base;

	if (!ra_shared_has(addr))
		return more_find != NULL ? more_find(addr, bytes, fd, offset) : -ENOENT;
	if (bytes > arena.bytes - at || !ra_arena_memfd_ok(&arena.memfd))
		return -ENOENT;
	*fd = arena.memfd.fd;
	*offset = at;
	return 0;
}
