/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mmap() of anonymous private memory, and what programs do to such memory afterwards. Only the plain kind is taken:
 * readable and writable from the start, at no fixed place, no stack, no mere reservation.
 */
/* With it, mmap() is another name of mmap64(), and both are wanted here. */
#undef _FILE_OFFSET_BITS

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pre.h"

#define PLAIN_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE)

static void *real_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return (void *)(uintptr_t)syscall(SYS_mmap, addr, bytes, prot, flags, fd, offset);
}

void *mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	bool plain = addr == NULL && prot == (PROT_READ | PROT_WRITE) && (flags & ~PLAIN_FLAGS) == 0 &&
		(flags & (MAP_PRIVATE | MAP_ANONYMOUS)) == (MAP_PRIVATE | MAP_ANONYMOUS);
	struct ra_arena *arena;
	bool zeroed = false;
	void *ptr;

	if (!plain || bytes < pre_min_bytes || bytes > PTRDIFF_MAX)
		return real_mmap(addr, bytes, prot, flags, fd, offset);
	arena = ra_shared();
	ptr = arena != NULL ? ra_arena_alloc(arena, bytes, RA_PAGE_BYTES, &zeroed) : NULL;
	if (ptr == NULL)
		return real_mmap(addr, bytes, prot, flags, fd, offset);
	if (!zeroed && ra_arena_wipe(arena, ptr, bytes) != 0)
		memset(ptr, 0, bytes);
	if ((flags & MAP_POPULATE) != 0)
		(void)madvise(ptr, bytes, MADV_POPULATE_WRITE);
	return ptr;
}

void *mmap64(void *addr, size_t bytes, int prot, int flags, int fd, off64_t offset)
{
	return mmap(addr, bytes, prot, flags, fd, offset);
}

int munmap(void *addr, size_t bytes)
{
	if (!ra_shared_has(addr) || (uintptr_t)addr % RA_PAGE_BYTES != 0 || bytes == 0)
		return (int)syscall(SYS_munmap, addr, bytes);
	ra_arena_unmap(ra_shared(), addr, bytes);
	return 0;
}

/* Private memory that is not wanted reads as zeros afterwards; that of a file would come back. */
int madvise(void *addr, size_t bytes, int advice)
{
	if (ra_shared_has(addr) && (advice == MADV_DONTNEED || advice == MADV_FREE))
		advice = MADV_REMOVE;
	return (int)syscall(SYS_madvise, addr, bytes, advice);
}

void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	void *to = NULL;
	va_list args;

	va_start(args, flags);
	if ((flags & MREMAP_FIXED) != 0)
		to = va_arg(args, void *);
	va_end(args);
	if (!ra_shared_has(old))
		return (void *)(uintptr_t)syscall(SYS_mremap, old, old_bytes, bytes, flags, to);
	if (bytes <= old_bytes && (flags & MREMAP_FIXED) == 0) {
		if (bytes != old_bytes)
			(void)munmap((uint8_t *)old + bytes, old_bytes - bytes);
		return old;
	}
	if ((flags & MREMAP_MAYMOVE) == 0) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	to = mmap(to, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | ((flags & MREMAP_FIXED) != 0 ? MAP_FIXED : 0), -1, 0);
	if (to == MAP_FAILED)
		return to;
	memcpy(to, old, old_bytes < bytes ? old_bytes : bytes);
	(void)munmap(old, old_bytes);
	return to;
}
