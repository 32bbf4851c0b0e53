/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory shared with one client: a memfd that nobody can shrink under us, and an allocator
 * whose books lie outside of it. Everything is whole pages, so that what is freed can be given
 * back.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vd_internal.h"

#define PAGE_BYTES 4096u

static uint64_t round_page(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

static int make_memfd(uint64_t bytes, int *out)
{
	int fd = memfd_create("roced", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (fd < 0)
		return -errno;
	/* Sealed: a client that shrank the file would make our accesses fault. */
	if (ftruncate(fd, (off_t)bytes) != 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
		err = -errno;
		close(fd);
		return err;
	}
	*out = fd;
	return 0;
}

int vd_shm_create(struct vd_shm *shm, uint64_t bytes, int *fd)
{
	struct vc_shm_header *header;
	uint64_t offset;
	void *base;
	int err;

	memset(shm, 0, sizeof(*shm));
	TAILQ_INIT(&shm->used);
	bytes = round_page(bytes);
	err = make_memfd(bytes, fd);
	if (err != 0)
		return err;
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
	if (base == MAP_FAILED) {
		err = -errno;
		close(*fd);
		return err;
	}
	shm->base = base;
	shm->bytes = bytes;
	err = vd_shm_alloc(shm, sizeof(*header), &offset);
	if (err != 0) {
		vd_shm_destroy(shm);
		close(*fd);
		return err;
	}
	header = vd_shm_header(shm);
	header->magic = VC_MAGIC;
	header->version = VC_VERSION;
	header->shm_bytes = bytes;
	return 0;
}

void vd_shm_destroy(struct vd_shm *shm)
{
	struct vd_extent *extent;

	if (shm->base == NULL)
		return;
	while ((extent = TAILQ_FIRST(&shm->used)) != NULL) {
		TAILQ_REMOVE(&shm->used, extent, link);
		free(extent);
	}
	munmap(shm->base, shm->bytes);
	memset(shm, 0, sizeof(*shm));
}

int vd_shm_alloc(struct vd_shm *shm, uint64_t bytes, uint64_t *offset)
{
	struct vd_extent *extent, *next;
	uint64_t start = 0;

	bytes = round_page(bytes);
	if (bytes == 0 || bytes > shm->bytes)
		return -ENOMEM;
	extent = calloc(1, sizeof(*extent));
	if (extent == NULL)
		return -ENOMEM;
	TAILQ_FOREACH(next, &shm->used, link)
	{
		if (next->offset - start >= bytes)
			break;
		start = next->offset + next->bytes;
	}
	if (shm->bytes - start < bytes) {
		free(extent);
		return -ENOMEM;
	}
	/* A client may have written to pages it was never given: start from zero, whatever they
	 * hold. */
	if (madvise(shm->base + start, bytes, MADV_REMOVE) != 0)
		memset(shm->base + start, 0, bytes);
	extent->offset = start;
	extent->bytes = bytes;
	if (next != NULL)
		TAILQ_INSERT_BEFORE(next, extent, link);
	else
		TAILQ_INSERT_TAIL(&shm->used, extent, link);
	shm->used_bytes += bytes;
	*offset = start;
	return 0;
}

uint64_t vd_shm_free(struct vd_shm *shm, uint64_t offset)
{
	struct vd_extent *extent;
	uint64_t bytes;

	TAILQ_FOREACH(extent, &shm->used, link)
	{
		if (extent->offset == offset)
			break;
	}
	if (extent == NULL)
		return 0;
	bytes = extent->bytes;
	/* Gives the pages back; when that fails they only stay resident. */
	(void)madvise(shm->base + extent->offset, extent->bytes, MADV_REMOVE);
	TAILQ_REMOVE(&shm->used, extent, link);
	shm->used_bytes -= bytes;
	free(extent);
	return bytes;
}

/* ---- queues, charged to who has them ---- */

int vd_ring_alloc(struct vd_session *session, uint64_t bytes, uint64_t *offset)
{
	int err = vd_charge(session, VD_RES_RING_BYTES, round_page(bytes));

	if (err != 0)
		return err;
	err = vd_shm_alloc(&session->shm, bytes, offset);
	if (err != 0)
		vd_discharge(session, VD_RES_RING_BYTES, round_page(bytes));
	return err;
}

void vd_ring_free(struct vd_session *session, uint64_t offset)
{
	vd_discharge(session, VD_RES_RING_BYTES, vd_shm_free(&session->shm, offset));
}
