/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory and fork(). A child must have what its parent had at that moment, and neither may see what the other
 * does to it from then on. A mapping of the parent's memfd gives neither, private or not, so the parent copies
 * what is in use into a second memfd, which the child maps in place of the first.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ra_run.h"

static bool write_all(int fd, const uint8_t *from, size_t bytes, off_t at)
{
	while (bytes > 0) {
		ssize_t n = pwrite(fd, from, bytes, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EFAULT && bytes >= RA_PAGE_BYTES) {
			n = RA_PAGE_BYTES; /* the program made it inaccessible: the child finds zeros */
		} else if (n <= 0) {
			return false;
		}
		from += n;
		at += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* What is in [at, end), without the holes. */
static bool copy_run(const struct ra_arena *arena, int to, off_t at, off_t end, bool holes)
{
	while (at < end) {
		off_t data = holes ? lseek(arena->memfd.fd, at, SEEK_DATA) : at, stop;

		if (data < 0 || data >= end)
			return true;
		stop = holes ? lseek(arena->memfd.fd, data, SEEK_HOLE) : end;
		if (stop < 0 || stop > end)
			stop = end;
		if (!write_all(to, arena->base + data, (size_t)(stop - data), data))
			return false;
		at = stop;
	}
	return true;
}

static bool copy_all(const struct ra_arena *arena, int to)
{
	bool holes = ra_arena_memfd_ok(&arena->memfd);
	uint32_t n;

	for (uint32_t page = 0; page < arena->top; page += n) {
		n = ra_run_pages(arena, page);
		if (ra_run_used(arena, page) != 0 && !copy_run(arena, to, (off_t)page * RA_PAGE_BYTES,
							     (off_t)(page + n) * RA_PAGE_BYTES, holes))
			return false;
	}
	return true;
}

void ra_arena_fork_prepare(struct ra_arena *arena)
{
	pthread_mutex_lock(&arena->lock);
	arena->child.fd = -1;
	if (ra_arena_memfd(arena->bytes, &arena->child) == 0 && !copy_all(arena, arena->child.fd)) {
		close(arena->child.fd);
		arena->child.fd = -1;
	}
}

void ra_arena_fork_parent(struct ra_arena *arena)
{
	if (arena->child.fd >= 0)
		close(arena->child.fd);
	pthread_mutex_unlock(&arena->lock);
}

static bool take_copy(struct ra_arena *arena)
{
	return arena->child.fd >= 0 && ra_arena_map(arena->child.fd, arena->bytes, arena->base) != NULL &&
		(arena->ready == 0 || mprotect(arena->base, (size_t)arena->ready * RA_PAGE_BYTES,
					      PROT_READ | PROT_WRITE) == 0);
}

void ra_arena_fork_child(struct ra_arena *arena)
{
	static const char text[] = "roced-alloc: no memory for a child's copy of shared memory\n";

	/* A child that shared memory with its parent would spoil it. */
	if (!take_copy(arena)) {
		if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
			_exit(126);
		_exit(127);
	}
	if (ra_arena_memfd_ok(&arena->memfd))
		close(arena->memfd.fd);
	arena->memfd = arena->child;
	ra_arena_init_lock(arena);
}
