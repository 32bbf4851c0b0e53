/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients' memory that is mapped here, so that payload is copied and not read and written by system call.
 *
 * A client names a descriptor of its own. It may be anything, so nothing is asked of the file before it is
 * known to be a memfd: opening, asking or closing a file of a file system that the client itself serves
 * (FUSE) could keep the main thread waiting for ever. An O_PATH descriptor does none of that, and the kernel
 * tells which mount it is on: memfds have one that no other file can be on.
 *
 * A sealed memfd cannot shrink. It can still lose pages to holes; a later access gets a new page, or a
 * fault when there is none, which vd_env.map_watch() survives.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vd_internal.h"

#define MAX_MAPS         16384 /* the kernel's default for a process is 65530 mappings */
#define MAX_SESSION_MAPS 1024
#define PAGE_BYTES       4096u
#define MAX_POPULATE     (256ull << 20)

/* ---- which file it is ---- */

static int mount_of(int fd)
{
	struct vd_file file;

	return vd_file_own(fd, &file) == 0 ? file.mount : -1;
}

static int mount_of_new(unsigned int flags)
{
	int fd = memfd_create("roced", MFD_CLOEXEC | flags), mount;

	if (fd < 0)
		return -1;
	mount = mount_of(fd);
	close(fd);
	return mount;
}

void vd_memfds_init(struct vd_memfds *memfds)
{
	memfds->mount = mount_of_new(0);
	memfds->huge_mount = mount_of_new(MFD_HUGETLB);
}

/* Whether the session's process still is the program that it was; see open_memory() in vd_session.c. */
static bool is_same_program(const struct vd_session *session)
{
	struct pollfd process = {.fd = session->process.fd, .events = POLLIN};
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)session->pid);
	return stat(path, &st) == 0 && st.st_uid == session->uid && poll(&process, 1, 0) == 0;
}

/* An O_PATH descriptor of what the client calls `number`. */
static int find_file(const struct vd_session *session, uint32_t number)
{
	static const char prefix[] = "/memfd:";
	char path[48], name[sizeof(prefix)];
	struct vd_file file;
	int fd, err;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)session->pid, (unsigned int)number);
	/* Before and after: it might run a set-uid program for a moment. */
	if (!is_same_program(session))
		return -EACCES;
	if (readlink(path, name, sizeof(name) - 1) != (ssize_t)sizeof(name) - 1 ||
		memcmp(name, prefix, sizeof(prefix) - 1) != 0)
		return -EBADF;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = vd_file_check(session, number, fd, &file);
	/* We could write to any memfd: the client must be able to, by this descriptor. */
	if (err == 0 && (file.flags & O_ACCMODE) != O_RDWR)
		err = -EACCES;
	if (err == 0 && !is_same_program(session))
		err = -EACCES;
	if (err == 0)
		return fd;
	close(fd);
	return err;
}

static int open_memfd(const struct vd_session *session, uint32_t number)
{
	const struct vd_memfds *memfds = &session->vd->memfds;
	int path_fd = find_file(session, number), mount, fd = -EBADF;
	char path[32];

	if (path_fd < 0)
		return path_fd;
	mount = mount_of(path_fd);
	if (mount >= 0 && (mount == memfds->mount || mount == memfds->huge_mount)) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(path_fd);
	return fd;
}

/* Sealed, and [offset, offset + bytes) lies in it and is there; *page_bytes is the size of its pages. */
static int check_memfd(const struct vd_session *session, int fd, uint64_t offset, uint64_t bytes, uint64_t *page_bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
		return -EPERM;
	if (fstat(fd, &st) != 0)
		return -errno;
	if (offset > (uint64_t)st.st_size || bytes > (uint64_t)st.st_size - offset)
		return -ERANGE;
	if (mount_of(fd) == session->vd->memfds.huge_mount) {
		*page_bytes = (uint64_t)st.st_blksize;
		return 0; /* holes are not told; filling them takes from the pool of huge pages */
	}
	/* A client has its pages in before it asks. Where it has not, we would be charged for them. */
	return lseek(fd, (off_t)offset, SEEK_HOLE) >= (off_t)(offset + bytes) ? 0 : -ENODATA;
}

/* ---- mappings ---- */

static int check_limits(const struct vd_session *session, uint64_t bytes)
{
	const struct vd *vd = session->vd;

	if (vd->env.map_watch == NULL)
		return -EOPNOTSUPP;
	if (vd->n_maps >= MAX_MAPS || session->n_maps >= MAX_SESSION_MAPS)
		return -ENOSPC;
	if (session->mapped_bytes > vd->limits.mapped_bytes)
		return -EDQUOT;
	return bytes <= vd->limits.mapped_bytes - session->mapped_bytes ? 0 : -EDQUOT;
}

static int map_range(struct vd_session *session, int fd, uint64_t start, uint64_t page_bytes, struct vd_map *map)
{
	struct vd *vd = session->vd;
	void *base = mmap(NULL, map->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)start);
	int err = 0;

	if (base == MAP_FAILED)
		return -errno;
	/* Now, not in the middle of a burst; but others wait for this thread, so what would take it long is left to the
	 * first use. EINVAL: a kernel that does not know this. */
	if (map->bytes <= MAX_POPULATE && madvise(base, map->bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
		err = -errno;
	(void)madvise(base, map->bytes, MADV_DONTDUMP);
	if (err == 0)
		err = vd->env.map_watch(vd->env_arg, base, map->bytes, page_bytes, &map->fault);
	if (err != 0) {
		(void)munmap(base, map->bytes);
		return err;
	}
	map->base = base;
	return 0;
}

int vd_map_make(struct vd_session *session, uint32_t number, uint64_t offset, uint64_t bytes, struct vd_map **out,
	uint8_t **at)
{
	uint64_t page_bytes = PAGE_BYTES, start = 0;
	struct vd_map *map;
	int fd, err = check_limits(session, bytes);

	if (err != 0)
		return err;
	fd = open_memfd(session, number);
	if (fd < 0)
		return fd;
	map = calloc(1, sizeof(*map));
	err = map != NULL ? check_memfd(session, fd, offset, bytes, &page_bytes) : -ENOMEM;
	if (err == 0) {
		start = offset & ~(page_bytes - 1);
		map->bytes = (offset - start + bytes + page_bytes - 1) & ~(page_bytes - 1);
		err = check_limits(session, map->bytes);
	}
	if (err == 0)
		err = map_range(session, fd, start, page_bytes, map);
	close(fd);
	if (err != 0) {
		free(map);
		return err;
	}
	session->took_long = true;
	session->n_maps++;
	session->mapped_bytes += map->bytes;
	session->vd->n_maps++;
	*out = map;
	*at = map->base + (offset - start);
	return 0;
}

void vd_map_free(struct vd_session *session, struct vd_map *map)
{
	struct vd *vd = session->vd;

	if (map == NULL)
		return;
	vd->env.map_forget(vd->env_arg, map->base);
	(void)munmap(map->base, map->bytes);
	vd->stats.map_faults += map->fault;
	session->n_maps--;
	session->mapped_bytes -= map->bytes;
	vd->n_maps--;
	free(map);
}
