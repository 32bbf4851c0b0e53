/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System V segments in huge pages (shmget() with IPC_PRIVATE and SHM_HUGETLB), as memfds of this process: of huge
 * pages where the machine has them, else of ordinary ones. Segments with a key, and all others, are the kernel's.
 * A child inherits what is attached, shared as it is with the kernel's segments.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

#include "pre.h"

#define HUGE_BYTES  (2u << 20)
#define MAX         64
#define FIRST_ID    0x7fff0000 /* above what the kernel gives */

struct segment {
	int fd;             /* -1: free */
	bool removed;
	size_t bytes;
	uint32_t attached;
};

static struct segment segments[MAX];
static struct {
	uint8_t *addr;      /* NULL: free */
	struct segment *segment;
} places[MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct segment *segment_of(int id)
{
	struct segment *s = id >= FIRST_ID && id < FIRST_ID + MAX ? &segments[id - FIRST_ID] : NULL;

	return s != NULL && s->bytes != 0 ? s : NULL;
}

static int find(const void *addr, size_t bytes, int *fd, uint64_t *offset)
{
	int rc = -ENOENT;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX && rc != 0; i++) {
		uintptr_t at = (uintptr_t)addr - (uintptr_t)places[i].addr;

		if (places[i].addr == NULL || at >= places[i].segment->bytes ||
			bytes > places[i].segment->bytes - at)
			continue;
		*fd = places[i].segment->fd;
		*offset = at;
		rc = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* The pages are reserved by a mapping, so that none is missing later. */
static int make_fd(size_t bytes, unsigned int flags)
{
	int fd = memfd_create("roced-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
	void *at;

	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)bytes) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0) {
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at != MAP_FAILED) {
			(void)munmap(at, bytes);
			return fd;
		}
	}
	close(fd);
	return -1;
}

int shmget(key_t key, size_t bytes, int flags)
{
	size_t whole = (bytes + HUGE_BYTES - 1) & ~(size_t)(HUGE_BYTES - 1);
	struct segment *s = segments;
	int fd = -1;

	if (key != IPC_PRIVATE || (flags & SHM_HUGETLB) == 0 || bytes == 0 || bytes > PTRDIFF_MAX - HUGE_BYTES)
		return (int)syscall(SYS_shmget, key, bytes, flags);
	pthread_mutex_lock(&lock);
	while (s < segments + MAX && s->bytes != 0)
		s++;
	if (s < segments + MAX) {
		fd = make_fd(whole, MFD_HUGETLB);
		if (fd < 0)
			fd = make_fd(whole, 0);
	}
	if (fd >= 0)
		*s = (struct segment){.fd = fd, .bytes = whole};
	pthread_mutex_unlock(&lock);
	ra_shared_add_find(find);
	return fd >= 0 ? FIRST_ID + (int)(s - segments) : (int)syscall(SYS_shmget, key, bytes, flags);
}

void *shmat(int id, const void *addr, int flags)
{
	void *at = MAP_FAILED;
	struct segment *s;
	int i = 0;

	pthread_mutex_lock(&lock);
	s = segment_of(id);
	while (i < MAX && places[i].addr != NULL)
		i++;
	if (s != NULL && i < MAX && addr == NULL)
		at = mmap(NULL, s->bytes, (flags & SHM_RDONLY) != 0 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED,
			s->fd, 0);
	else if (s != NULL)
		errno = addr != NULL ? EINVAL : ENOMEM;
	if (at != MAP_FAILED) {
		places[i].addr = at;
		places[i].segment = s;
		s->attached++;
	}
	pthread_mutex_unlock(&lock);
	return s != NULL ? at : (void *)(uintptr_t)syscall(SYS_shmat, id, addr, flags);
}

/* Locked. As the kernel does: a segment ends when it is removed and attached nowhere. */
static void end_if_unused(struct segment *s)
{
	if (!s->removed || s->attached != 0)
		return;
	close(s->fd);
	s->bytes = 0;
}

int shmdt(const void *addr)
{
	bool ours = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX && addr != NULL && !ours; i++) {
		struct segment *s = places[i].segment;

		if (places[i].addr != addr)
			continue;
		ours = true;
		(void)munmap(places[i].addr, s->bytes);
		places[i].addr = NULL;
		s->attached--;
		end_if_unused(s);
	}
	pthread_mutex_unlock(&lock);
	return ours ? 0 : (int)syscall(SYS_shmdt, addr);
}

int shmctl(int id, int op, struct shmid_ds *out)
{
	struct segment *s;
	int rc = 0;

	pthread_mutex_lock(&lock);
	s = segment_of(id);
	if (s != NULL && op == IPC_RMID) {
		s->removed = true;
		end_if_unused(s);
	} else if (s != NULL && op == IPC_STAT && out != NULL) {
		memset(out, 0, sizeof(*out));
		out->shm_segsz = s->bytes;
		out->shm_nattch = s->attached;
		out->shm_cpid = out->shm_lpid = getpid();
	} else if (s != NULL && op != SHM_LOCK && op != SHM_UNLOCK) {
		errno = EINVAL;
		rc = -1;
	}
	pthread_mutex_unlock(&lock);
	return s != NULL ? rc : (int)syscall(SYS_shmctl, id, op, out);
}
