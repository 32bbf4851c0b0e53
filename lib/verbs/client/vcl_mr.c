/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vcl_ibv.h"

static int check_access(unsigned int access)
{
	const unsigned int needs_write = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	const unsigned int known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_HUGETLB |
		IBV_ACCESS_ON_DEMAND;

	if ((access & ~known) != 0)
		return -EOPNOTSUPP;
	if ((access & needs_write) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0)
		return -EINVAL;
	return 0;
}

/*
 * The daemon reaches the memory from outside, where page protections do not count, so they are checked
 * here; it also brings the pages in, as pinning does. -EFAULT: not mapped, or not writable as asked for. Memory on
 * demand is looked at when it is used; all of the process may be registered so: from NULL, SIZE_MAX bytes.
 */
static int check_memory(void *addr, size_t bytes, unsigned int access)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), offset = (uintptr_t)addr & (page - 1);
	char *start = (char *)addr - offset;
	bool writes = (access & IBV_ACCESS_LOCAL_WRITE) != 0;

	if (bytes == 0 || (uintptr_t)addr + bytes < bytes)
		return -EINVAL;
	if ((access & IBV_ACCESS_ON_DEMAND) != 0)
		return 0;
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
	struct vcl_mr *mr;
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
	mr->access = access;
	mr->ibv = (struct ibv_mr){pd->context, pd, addr, length, reply.mr.handle, reply.mr.key, reply.mr.key};
	return &mr->ibv;
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
	int err = vcl_destroy(mr->context, VC_DEREG_MR, mr->handle);

	if (err == 0)
		free(mr);
	return vcl_errno(err);
}

/* ---- changed ---- */

/* 0 or a negative errno. The memory is looked at with the access that it is to have. */
static int check_rereg(const struct vcl_mr *mr, uint32_t flags, const struct ibv_pd *pd, void *addr, size_t length,
	unsigned int access)
{
	const uint32_t known =
		IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
	int err;

	if (flags == 0 || (flags & ~known) != 0)
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && (pd == NULL || pd->context != mr->ibv.context))
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0)
		return addr != NULL ? check_memory(addr, length, access) : -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_ACCESS) == 0)
		return 0;
	err = check_access(access);
	return err != 0 ? err : check_memory(mr->ibv.addr, mr->ibv.length, access);
}

static void rereg_done(struct vcl_mr *mr, const struct vc_request *req, struct ibv_pd *pd)
{
	uint32_t flags = req->rereg_mr.flags;

	if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
		mr->ibv.addr = (void *)(uintptr_t)req->rereg_mr.addr;
		mr->ibv.length = req->rereg_mr.bytes;
	}
	if ((flags & IBV_REREG_MR_CHANGE_PD) != 0)
		mr->ibv.pd = pd;
	mr->access = req->rereg_mr.access;
}

/* Its keys stay. After an error, which may only be in what was asked for, so does the region. */
int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct vcl_mr *mr = container_of(ibv, struct vcl_mr, ibv);
	bool new_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
	unsigned int wanted =
		new_access ? (unsigned int)access & ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE : mr->access;
	struct vc_request req = {.op = VC_REREG_MR};
	int err = check_rereg(mr, (uint32_t)flags, pd, addr, length, wanted);

	if (err == 0 && new_access)
		err = check_access(wanted);
	if (err == 0) {
		req.rereg_mr.handle = ibv->handle;
		req.rereg_mr.flags = (uint32_t)flags;
		req.rereg_mr.pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0 ? pd->handle : 0;
		req.rereg_mr.access = wanted;
		req.rereg_mr.addr = (uintptr_t)addr;
		req.rereg_mr.bytes = length;
		err = vcl_call(&vcl_context(ibv->context)->conn, &req, NULL);
	}
	if (err != 0) {
		errno = -err;
		return IBV_REREG_MR_ERR_INPUT;
	}
	rereg_done(mr, &req, pd);
	return 0;
}

/* ---- advice for memory on demand ---- */

static int prefetch(const struct ibv_sge *sge, int advice)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), offset = sge->addr & (page - 1);

	return madvise((void *)(uintptr_t)(sge->addr - offset), sge->length + offset, advice) == 0 ? 0 : -errno;
}

/* Pages are brought in here and now, whatever the flags; without faults there is nothing to prepare. */
int vcl_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sge, uint32_t n)
{
	bool must = (flags & IBV_ADVISE_MR_FLAG_FLUSH) != 0;

	if (!vcl_alive(pd->context))
		return EIO;
	if ((flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH) != 0 || n == 0)
		return EINVAL;
	switch (advice) {
	case IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		return 0;
	case IBV_ADVISE_MR_ADVICE_PREFETCH:
	case IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		break;
	default:
		return EOPNOTSUPP;
	}
	for (uint32_t i = 0; i < n; i++) {
		int err = prefetch(&sge[i], advice == IBV_ADVISE_MR_ADVICE_PREFETCH ? MADV_POPULATE_READ
										    : MADV_POPULATE_WRITE);

		if (err != 0 && must)
			return EFAULT;
	}
	return 0;
}
