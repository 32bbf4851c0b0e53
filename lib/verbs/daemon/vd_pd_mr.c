/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains and memory regions. */
#include <stdlib.h>
#include <unistd.h>

#include "vd_internal.h"

#define ACCESS_OPTIONAL 0x3ff00000u /* flags that a device may ignore */
#define ACCESS_HUGETLB  (1u << 7)   /* a promise about the memory: nothing to do here */
#define ACCESS_SERVED                                                                              \
	(TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ |                  \
		TP_ACCESS_REMOTE_ATOMIC | TP_ACCESS_MW_BIND | TP_ACCESS_ZERO_BASED)

int vd_op_alloc_pd(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_pd *pd = calloc(1, sizeof(*pd));
	int err;

	(void)request;
	if (pd == NULL)
		return -ENOMEM;
	err = vd_table_add(&session->pds, pd, &pd->handle);
	if (err != 0) {
		free(pd);
		return err;
	}
	/* Sessions have different slots, so no domain is shared between clients. */
	pd->number = session->slot << 16 | vd_handle_index(pd->handle);
	session->vd->stats.pds++;
	answer->reply.object.handle = pd->handle;
	return 0;
}

int vd_op_dealloc_pd(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_pd *pd = vd_table_get(&session->pds, request->object.handle);

	(void)answer;
	if (pd == NULL)
		return -EINVAL;
	if (pd->refs != 0)
		return -EBUSY;
	vd_table_del(&session->pds, pd->handle);
	session->vd->stats.pds--;
	free(pd);
	return 0;
}

struct mr_call {
	struct vd_session *session;
	struct tp_mr_attr attr;
	uint32_t key;
	int err;
};

static void mr_create_call(void *arg)
{
	struct mr_call *call = arg;

	call->err = tp_mr_create(vd_tp(call->session), &call->attr, &call->key);
}

static void mr_destroy_call(void *arg)
{
	struct mr_call *call = arg;

	call->err = tp_mr_destroy(vd_tp(call->session), call->key);
}

/* The ends of a region are mapped now; what lies between shows when it is used. */
static bool is_mapped(struct vd_session *session, uint64_t addr, uint64_t bytes)
{
	uint64_t last = addr + (bytes - 1);
	uint8_t byte;
	bool ok;

	if (last < addr || last > INT64_MAX)
		return false;
	vd_reach_begin(&session->vd->reach, session);
	ok = pread(session->mem_fd, &byte, 1, (off_t)addr) == 1 &&
	     pread(session->mem_fd, &byte, 1, (off_t)last) == 1;
	vd_reach_end(&session->vd->reach);
	return ok;
}

static int check_access(uint32_t access)
{
	access &= ~(ACCESS_OPTIONAL | ACCESS_HUGETLB);
	if ((access & ~(uint32_t)ACCESS_SERVED) != 0)
		return -EOPNOTSUPP; /* on-demand paging, flush */
	return 0;
}

int vd_op_reg_mr(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_pd *pd = vd_table_get(&session->pds, request->reg_mr.pd);
	struct mr_call call = {.session = session};
	struct vd_mr *mr;
	int err;

	if (pd == NULL || request->reg_mr.bytes == 0)
		return -EINVAL;
	err = check_access(request->reg_mr.access);
	if (err != 0)
		return err;
	if (!is_mapped(session, request->reg_mr.addr, request->reg_mr.bytes))
		return -EFAULT;
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return -ENOMEM;
	mr->bytes = request->reg_mr.bytes;
	err = vd_charge(session, VD_RES_REGISTERED_BYTES, mr->bytes);
	if (err != 0)
		goto free_mr;
	err = vd_table_add(&session->mrs, mr, &mr->handle);
	if (err != 0)
		goto discharge;
	call.attr = (struct tp_mr_attr){
		.pd = pd->number,
		.access = request->reg_mr.access & ACCESS_SERVED,
		.iova = request->reg_mr.iova,
		.addr = request->reg_mr.addr,
		.bytes = request->reg_mr.bytes,
		.as = session,
	};
	vd_call(session, mr_create_call, &call);
	err = call.err;
	if (err != 0)
		goto del_handle;
	mr->key = call.key;
	mr->pd = pd;
	pd->refs++;
	session->vd->stats.mrs++;
	answer->reply.mr.handle = mr->handle;
	answer->reply.mr.key = mr->key;
	return 0;

del_handle:
	vd_table_del(&session->mrs, mr->handle);
discharge:
	vd_discharge(session, VD_RES_REGISTERED_BYTES, mr->bytes);
free_mr:
	free(mr);
	return err;
}

int vd_op_dereg_mr(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_mr *mr = vd_table_get(&session->mrs, request->object.handle);
	struct mr_call call = {.session = session};

	(void)answer;
	if (mr == NULL)
		return -EINVAL;
	call.key = mr->key;
	vd_call(session, mr_destroy_call, &call);
	if (call.err != 0)
		return call.err; /* -EBUSY: windows are bound to it */
	vd_table_del(&session->mrs, mr->handle);
	vd_discharge(session, VD_RES_REGISTERED_BYTES, mr->bytes);
	mr->pd->refs--;
	session->vd->stats.mrs--;
	free(mr);
	return 0;
}
