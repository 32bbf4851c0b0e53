/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers that the library allocates for programs to register. rdma-core 64 added these calls; headers
 * that are older do not declare them, and none says what is in a struct ibv_buf.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "vcl_ibv.h"

struct ibv_buf {
	void *addr;
	size_t bytes;
};

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access);

/* Any memory does, as the daemon reaches all of the process; whole pages are what the call promises. */
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	struct ibv_buf *b = malloc(sizeof(*b));

	(void)pd;
	if (b == NULL)
		return NULL;
	b->bytes = size;
	b->addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b->addr == MAP_FAILED) {
		free(b);
		return NULL;
	}
	*buf = b;
	return b->addr;
}

void ibv_free_buf(struct ibv_buf *buf)
{
	if (buf == NULL)
		return;
	munmap(buf->addr, buf->bytes);
	free(buf);
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access)
{
	uintptr_t offset = (uintptr_t)addr - (uintptr_t)buf->addr;

	if (offset > buf->bytes || length > buf->bytes - offset) {
		errno = EINVAL;
		return NULL;
	}
	return ibv_reg_mr(pd, addr, length, access);
}

int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	(void)buf;
	errno = EOPNOTSUPP;
	return -1;
}
