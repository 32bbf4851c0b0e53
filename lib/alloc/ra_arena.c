/* SPDX-License-Identifier: BSD-3-Clause */
#include "ra_arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ra_run.h"

#define MAX_BYTES   (64ull << 30)
#define MIN_BYTES   (64ull << 20)
#define READY_PAGES (32u << 20 >> 12) /* made accessible at a time */
#define KEEP_PAGES  (1u << 20 >> 12)  /* smaller runs keep their memory when they are free */
#define HIGH_FD     512               /* out of the way of programs that count on low numbers */

/* Twice what the machine has: runs of different sizes leave gaps. */
static uint64_t wanted_bytes(void)
{
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * RA_PAGE_BYTES, bytes = MIN_BYTES;
	struct rlimit limit;

	while (bytes < 2 * machine && bytes < MAX_BYTES)
		bytes *= 2;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
		bytes = limit.rlim_cur & ~(rlim_t)(RA_PAGE_BYTES - 1);
	return bytes;
}

static int move_up(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

int ra_arena_memfd(uint64_t bytes, struct ra_memfd *out)
{
	int fd = memfd_create("roced-alloc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct stat st;

	if (fd < 0)
		return -errno;
	fd = move_up(fd);
	/* The daemon maps only what cannot shrink. */
	if (ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 ||
		fstat(fd, &st) != 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	*out = (struct ra_memfd){.fd = fd, .dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

bool ra_arena_memfd_ok(const struct ra_memfd *memfd)
{
	struct stat st;

	return fstat(memfd->fd, &st) == 0 && st.st_dev == memfd->dev && st.st_ino == memfd->ino;
}

static void *map_books(uint32_t n_pages)
{
	void *pages = mmap(NULL, n_pages * sizeof(struct ra_page), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return pages != MAP_FAILED ? pages : NULL;
}

/* Inaccessible until it is given out: mlockall() would bring in all of it. */
void *ra_arena_map(int fd, uint64_t bytes, void *at)
{
	void *base = mmap(at, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | (at != NULL ? MAP_FIXED : 0), fd, 0);

	return base != MAP_FAILED ? base : NULL;
}

void ra_arena_init_lock(struct ra_arena *arena)
{
	pthread_mutexattr_t attr;

	/* Another library's fork handler may allocate while ours holds it. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&arena->lock, &attr);
}

int ra_arena_make(struct ra_arena *arena)
{
	uint64_t bytes = wanted_bytes();
	void *base = NULL;
	struct ra_memfd memfd;
	int err;

	/* Where addresses are limited, less will do. */
	for (; bytes >= MIN_BYTES; bytes /= 4) {
		err = ra_arena_memfd(bytes, &memfd);
		if (err != 0)
			return err;
		base = ra_arena_map(memfd.fd, bytes, NULL);
		if (base != NULL)
			break;
		close(memfd.fd);
	}
	if (base == NULL)
		return -ENOMEM;
	arena->n_pages = (uint32_t)(bytes / RA_PAGE_BYTES);
	arena->pages = map_books(arena->n_pages);
	if (arena->pages == NULL) {
		munmap(base, bytes);
		close(memfd.fd);
		return -ENOMEM;
	}
	arena->bytes = bytes;
	arena->memfd = memfd;
	ra_arena_init_lock(arena);
	__atomic_store_n(&arena->base, base, __ATOMIC_RELEASE);
	return 0;
}

/* ---- giving out ---- */

static uint8_t *page_at(const struct ra_arena *arena, uint32_t page)
{
	return arena->base + (uint64_t)page * RA_PAGE_BYTES;
}

static uint32_t page_of(const struct ra_arena *arena, const void *ptr)
{
	return (uint32_t)(((uintptr_t)ptr - (uintptr_t)arena->base) / RA_PAGE_BYTES);
}

static uint32_t pages_for(size_t bytes)
{
	uint64_t n = ((uint64_t)bytes + RA_PAGE_BYTES - 1) / RA_PAGE_BYTES;

	return n < UINT32_MAX / 4 ? (uint32_t)n : UINT32_MAX / 4;
}

static int make_ready(struct ra_arena *arena, uint32_t upto)
{
	uint32_t n;

	if (upto <= arena->ready)
		return 0;
	n = upto - arena->ready > READY_PAGES ? upto - arena->ready : READY_PAGES;
	if (n > arena->n_pages - arena->ready)
		n = arena->n_pages - arena->ready;
	if (mprotect(page_at(arena, arena->ready), (size_t)n * RA_PAGE_BYTES, PROT_READ | PROT_WRITE) != 0)
		return -errno;
	arena->ready += n;
	return 0;
}

/* Room for n pages with a start that is a multiple of align pages; what is over is given back. */
static bool take(struct ra_arena *arena, uint32_t n, uint32_t align, uint32_t *page, bool *zeroed)
{
	uint32_t need = n + align - 1, lead, got = need;

	if (!ra_run_take(arena, need, page, &got, zeroed)) {
		if (arena->n_pages - arena->top < need || make_ready(arena, arena->top + need) != 0)
			return false;
		*page = arena->top;
		*zeroed = true;
		arena->top += need;
	}
	lead = (uint32_t)(-((uintptr_t)page_at(arena, *page) / RA_PAGE_BYTES) & (align - 1));
	if (lead != 0)
		ra_run_give(arena, *page, lead, !*zeroed);
	if (got - lead > n)
		ra_run_give(arena, *page + lead + n, got - lead - n, !*zeroed);
	*page += lead;
	ra_run_use(arena, *page, n);
	return true;
}

void *ra_arena_alloc(struct ra_arena *arena, size_t bytes, size_t align, bool *zeroed)
{
	uint32_t n = pages_for(bytes), page;
	void *ptr = NULL;

	if (align > (1u << 30))
		return NULL;
	align = align > RA_PAGE_BYTES ? align / RA_PAGE_BYTES : 1;
	pthread_mutex_lock(&arena->lock);
	if (take(arena, n, (uint32_t)align, &page, zeroed))
		ptr = page_at(arena, page);
	pthread_mutex_unlock(&arena->lock);
	return ptr;
}

/* ---- taking back ---- */

int ra_arena_wipe(struct ra_arena *arena, void *addr, size_t bytes)
{
	(void)arena;
	/* By address and not by descriptor: a program may have closed that. */
	return madvise(addr, bytes, MADV_REMOVE);
}

/* Locked. */
static void give_back(struct ra_arena *arena, uint32_t page, uint32_t n)
{
	bool dirty = n < KEEP_PAGES ||
		ra_arena_wipe(arena, page_at(arena, page), (size_t)n * RA_PAGE_BYTES) != 0;

	ra_run_give(arena, page, n, dirty);
}

bool ra_arena_free(struct ra_arena *arena, void *ptr)
{
	uint32_t page = page_of(arena, ptr), n;

	pthread_mutex_lock(&arena->lock);
	n = (uintptr_t)ptr % RA_PAGE_BYTES == 0 ? ra_run_used(arena, page) : 0;
	if (n != 0)
		give_back(arena, page, n);
	pthread_mutex_unlock(&arena->lock);
	return n != 0;
}

size_t ra_arena_size(struct ra_arena *arena, const void *ptr)
{
	uint32_t n;

	pthread_mutex_lock(&arena->lock);
	n = (uintptr_t)ptr % RA_PAGE_BYTES == 0 ? ra_run_used(arena, page_of(arena, ptr)) : 0;
	pthread_mutex_unlock(&arena->lock);
	return (size_t)n * RA_PAGE_BYTES;
}

void ra_arena_trim(struct ra_arena *arena, void *ptr, size_t bytes)
{
	uint32_t page = page_of(arena, ptr), keep = pages_for(bytes), n;

	pthread_mutex_lock(&arena->lock);
	n = ra_run_used(arena, page);
	if (keep != 0 && n > keep) {
		ra_run_use(arena, page, keep);
		give_back(arena, page + keep, n - keep);
	}
	pthread_mutex_unlock(&arena->lock);
}

void ra_arena_unmap(struct ra_arena *arena, void *addr, size_t bytes)
{
	uint32_t first = page_of(arena, addr), end, start, n, from, to;
	uint64_t last = first + (uint64_t)pages_for(bytes);

	pthread_mutex_lock(&arena->lock);
	end = last < arena->top ? (uint32_t)last : arena->top;
	/* Whoever gets it next expects memory that can be written. */
	if (first < end)
		(void)mprotect(page_at(arena, first), (size_t)(end - first) * RA_PAGE_BYTES, PROT_READ | PROT_WRITE);
	for (uint32_t at = first; at < end; at = start + n) {
		start = ra_run_start(arena, at);
		n = ra_run_pages(arena, start);
		if (ra_run_used(arena, start) == 0)
			continue;
		from = start > first ? start : first;
		to = start + n < end ? start + n : end;
		/* Cut first, so that the pieces do not grow together again. */
		ra_run_clear(arena, start, n);
		if (from > start)
			ra_run_use(arena, start, from - start);
		if (start + n > to)
			ra_run_use(arena, to, start + n - to);
		give_back(arena, from, to - from);
	}
	pthread_mutex_unlock(&arena->lock);
}
