/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains, memory regions, address handles. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vcl_ibv.h"

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));
	struct vc_reply reply;
	int err;

	if (pd == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	err = vcl_call_handle(&vcl_context(context)->conn, VC_ALLOC_PD, 0, &reply);
	if (err != 0) {
		free(pd);
		errno = -err;
		return NULL;
	}
	pd->context = context;
	pd->handle = reply.object.handle;
	return pd;
}

/*
 * Destroys a daemon's object. When the daemon is gone its objects are too, so the program's half is
 * freed all the same: a program that cleans up after IBV_EVENT_DEVICE_FATAL must get through.
 */
static int destroy(struct ibv_context *context, enum vc_op op, uint32_t handle)
{
	int err = vcl_call_handle(&vcl_context(context)->conn, op, handle, NULL);

	return err == -EIO ? 0 : err;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int err = destroy(pd->context, VC_DEALLOC_PD, pd->handle);

	if (err == 0)
		free(pd);
	return vcl_errno(err);
}

/* ---- memory ---- */

static int check_access(unsigned int access)
{
	const unsigned int needs_write = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	const unsigned int known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB;

	if ((access & ~known) != 0)
		return -EOPNOTSUPP;
	if ((access & needs_write) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0)
		return -EINVAL;
	return 0;
}

/*
 * The daemon reaches the memory from outside, where page protections do not count, so they are checked
 * here; it also brings the pages in, as pinning does. -EFAULT: not mapped, or not writable as asked for.
 */
static int check_memory(void *addr, size_t bytes, unsigned int access)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), offset = (uintptr_t)addr & (page - 1);
	char *start = (char *)addr - offset;
	bool writes = (access & IBV_ACCESS_LOCAL_WRITE) != 0;

	if (bytes == 0 || (uintptr_t)addr + bytes < bytes)
		return -EINVAL;
	if (madvise(start, bytes + offset, writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
		return 0;
	if (errno == ENOMEM || errno == EFAULT)
		return -EFAULT;
	if (errno != EINVAL)
		return -errno;
	/* Device memory and old kernels cannot be populated; what can be read could also be written. */
	if (writes && madvise(start, bytes + offset, MADV_POPULATE_READ) == 0)
		return -EFAULT;
	return 0;
}

/* There when the program runs on shared memory, see lib/alloc. */
__attribute__((weak)) int roced_alloc_find(const void *addr, size_t bytes, int *fd, uint64_t *offset);

/* Offers the daemon to map the memory, where that can be. */
static void offer_memory(struct vc_request *req, void *addr, size_t bytes)
{
	uint64_t offset;
	int fd;

	if (roced_alloc_find == NULL || roced_alloc_find(addr, bytes, &fd, &offset) != 0)
		return;
	req->reg_mr.mem_fd = (uint32_t)fd + 1;
	req->reg_mr.mem_offset = offset;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct vc_request req = {.op = VC_REG_MR};
	struct vc_reply reply;
	struct ibv_mr *mr;
	int err;

	access &= ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE;
	err = check_access(access);
	if (err == 0)
		err = check_memory(addr, length, access);
	if (err != 0) {
		errno = -err;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	req.reg_mr.pd = pd->handle;
	req.reg_mr.access = access;
	req.reg_mr.addr = (uintptr_t)addr;
	req.reg_mr.bytes = length;
	req.reg_mr.iova = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
	offer_memory(&req, addr, length);
	err = vcl_call(&vcl_context(pd->context)->conn, &req, &reply);
	if (err != 0) {
		free(mr);
		errno = -err;
		return NULL;
	}
	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->handle = reply.mr.handle;
	mr->lkey = mr->rkey = reply.mr.key;
	return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return reg_mr(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return reg_mr(pd, addr, length, iova, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	return reg_mr(pd, addr, length, iova, access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	int err = destroy(mr->context, VC_DEREG_MR, mr->handle);

	if (err == 0)
		free(mr);
	return vcl_errno(err);
}

/* ---- address handles ---- */

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct vc_request req = {.op = VC_CREATE_AH};
	struct vc_reply reply;
	struct vcl_ah *ah;
	int err;

	if (attr->is_global == 0 || attr->port_num != VCL_PORT) { /* RoCE has no other addresses */
		errno = EINVAL;
		return NULL;
	}
	ah = calloc(1, sizeof(*ah));
	if (ah == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	req.create_ah.pd = pd->handle;
	vcl_av_from_attr(&req.create_ah.av, attr);
	err = vcl_call(&vcl_context(pd->context)->conn, &req, &reply);
	if (err != 0) {
		free(ah);
		errno = -err;
		return NULL;
	}
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	ah->ibv.handle = reply.ah.handle;
	ah->number = reply.ah.number;
	return &ah->ibv;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	int err = destroy(ah->context, VC_DESTROY_AH, ah->handle);

	if (err == 0)
		free(ah);
	return vcl_errno(err);
}
