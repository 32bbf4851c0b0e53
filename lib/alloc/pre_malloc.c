/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * malloc() and its family for a program that does not know of roced: what is likely to be registered comes from
 * shared memory, that is what is large and what is aligned to pages; the rest is libc's own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pre.h"

/* glibc's allocator under the names that it keeps for those who replace the usual ones. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *ptr, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *ptr);

size_t pre_min_bytes = PRE_MIN_BYTES;

__attribute__((constructor)) static void read_environment(void)
{
	const char *text = secure_getenv(PRE_MIN_ENV);
	size_t bytes = text != NULL ? strtoul(text, NULL, 10) : 0;

	if (bytes != 0)
		pre_min_bytes = bytes > RA_PAGE_BYTES ? bytes : RA_PAGE_BYTES;
}

static void *take(size_t bytes, size_t align, bool *zeroed)
{
	struct ra_arena *arena = bytes <= PTRDIFF_MAX ? ra_shared() : NULL;

	return arena != NULL ? ra_arena_alloc(arena, bytes, align, zeroed) : NULL;
}

void *malloc(size_t bytes)
{
	void *ptr = NULL;
	bool zeroed;

	if (bytes >= pre_min_bytes)
		ptr = take(bytes, 1, &zeroed);
	return ptr != NULL ? ptr : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	bool zeroed = true;
	void *ptr = NULL;
	size_t all;

	if (!__builtin_mul_overflow(n, bytes, &all) && all >= pre_min_bytes)
		ptr = take(all, 1, &zeroed);
	if (ptr == NULL)
		return __libc_calloc(n, bytes);
	return zeroed ? ptr : memset(ptr, 0, all);
}

void free(void *ptr)
{
	static const char text[] = "free(): invalid pointer\n";

	if (!ra_shared_has(ptr)) {
		__libc_free(ptr);
		return;
	}
	if (ra_arena_free(ra_shared(), ptr))
		return;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) >= 0)
		abort();
	abort();
}

size_t malloc_usable_size(void *ptr)
{
	static size_t (*next)(void *ptr);

	if (ra_shared_has(ptr))
		return ra_arena_size(ra_shared(), ptr);
	if (next == NULL)
		next = (size_t(*)(void *))(uintptr_t)dlsym(RTLD_NEXT, "malloc_usable_size");
	return next(ptr);
}

/* libc's memory that grows large moves to shared memory, but not back. */
static void *move(void *ptr, size_t old, size_t bytes)
{
	void *to = malloc(bytes);

	if (to == NULL)
		return NULL;
	memcpy(to, ptr, old < bytes ? old : bytes);
	free(ptr);
	return to;
}

void *realloc(void *ptr, size_t bytes)
{
	size_t old;

	if (ptr == NULL)
		return malloc(bytes);
	if (!ra_shared_has(ptr)) {
		if (bytes < pre_min_bytes || malloc_usable_size(ptr) >= pre_min_bytes)
			return __libc_realloc(ptr, bytes);
		return move(ptr, malloc_usable_size(ptr), bytes);
	}
	if (bytes == 0) {
		free(ptr);
		return NULL;
	}
	old = ra_arena_size(ra_shared(), ptr);
	if (bytes > old || bytes < pre_min_bytes)
		return move(ptr, old, bytes);
	ra_arena_trim(ra_shared(), ptr, bytes);
	return ptr;
}

void *reallocarray(void *ptr, size_t n, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(n, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(ptr, all);
}

void *memalign(size_t align, size_t bytes)
{
	void *ptr = NULL;
	bool zeroed;

	/* An odd alignment is libc's to round up or refuse. */
	if ((align & (align - 1)) == 0 && bytes != 0 && (bytes >= pre_min_bytes || align >= RA_PAGE_BYTES))
		ptr = take(bytes, align, &zeroed);
	return ptr != NULL ? ptr : __libc_memalign(align, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
	return memalign(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
	int saved = errno;
	void *ptr;

	if (align % sizeof(void *) != 0 || (align & (align - 1)) != 0 || align == 0)
		return EINVAL;
	ptr = memalign(align, bytes);
	errno = saved;
	if (ptr == NULL)
		return ENOMEM;
	*out = ptr;
	return 0;
}

void *valloc(size_t bytes)
{
	return memalign(RA_PAGE_BYTES, bytes);
}

void *pvalloc(size_t bytes)
{
	return memalign(RA_PAGE_BYTES, (bytes + RA_PAGE_BYTES - 1) & ~(size_t)(RA_PAGE_BYTES - 1));
}
