/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One range of addresses backed by one memfd, given out in runs of pages. Its books lie outside of it and outside of
 * malloc(), since malloc() may be built on it. One lock; a fork copies the memory (ra_arena_fork_*).
 */
#ifndef RA_ARENA_H
#define RA_ARENA_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RA_PAGE_BYTES 4096u
#define RA_BINS       32

/* Of a run's first page (state, links) and of its last (state). All zero: inside of a run. */
struct ra_page {
	uint32_t state;      /* RUN_* and the number of pages */
	uint32_t prev, next; /* free runs of one bin; page number + 1, 0: none */
};

/* Programs close descriptors that are not theirs, so the number alone says little. */
struct ra_memfd {
	int fd;
	dev_t dev;
	ino_t ino;
};

struct ra_arena {
	uint8_t *base;       /* NULL: not made */
	uint64_t bytes;      /* addresses taken; memory comes as it is touched */
	struct ra_memfd memfd;
	struct ra_memfd child; /* the copy while a fork is under way; fd -1: there is none */
	pthread_mutex_t lock;
	uint32_t n_pages;
	uint32_t top;        /* the first page that was never given out */
	uint32_t ready;      /* pages that may be accessed */
	uint32_t bins[RA_BINS];
	struct ra_page *pages;
};

/* Takes addresses and makes the memfd. 0 or a negative errno. */
int ra_arena_make(struct ra_arena *arena);
/* bytes > 0; align a power of two. *zeroed: all bytes are 0. NULL: there is none. */
void *ra_arena_alloc(struct ra_arena *arena, size_t bytes, size_t align, bool *zeroed);
/* ptr is what ra_arena_alloc() returned; false: it is not. */
bool ra_arena_free(struct ra_arena *arena, void *ptr);
/* How many bytes of a run may be used; 0: ptr is none. */
size_t ra_arena_size(struct ra_arena *arena, const void *ptr);
/* Gives back what is past the first `bytes` of a run. */
void ra_arena_trim(struct ra_arena *arena, void *ptr, size_t bytes);
/* munmap(): gives back whole pages wherever runs start and end; what is free already stays so. */
void ra_arena_unmap(struct ra_arena *arena, void *addr, size_t bytes);
/* Makes [addr, addr + bytes) zeros, and gives back the memory. */
int ra_arena_wipe(struct ra_arena *arena, void *addr, size_t bytes);
/* The number still names that memfd. */
bool ra_arena_memfd_ok(const struct ra_memfd *memfd);

/* pthread_atfork(): the child gets the memory as it is now, in a memfd of its own. */
void ra_arena_fork_prepare(struct ra_arena *arena);
void ra_arena_fork_parent(struct ra_arena *arena);
void ra_arena_fork_child(struct ra_arena *arena);

/* ---- between its files ---- */
int ra_arena_memfd(uint64_t bytes, struct ra_memfd *out);
void *ra_arena_map(int fd, uint64_t bytes, void *at);
void ra_arena_init_lock(struct ra_arena *arena);

static inline bool ra_arena_has(const struct ra_arena *arena, const void *ptr)
{
	const uint8_t *base = __atomic_load_n(&arena->base, __ATOMIC_ACQUIRE);

	return base != NULL && (uintptr_t)ptr - (uintptr_t)base < arena->bytes;
}

#endif
