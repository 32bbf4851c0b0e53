/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains and memory regions. */
#include <stdlib.h>
#include <unistd.h>

#include "vd_internal.h"

#define ACCESS_OPTIONAL 0x3ff00000u /* flags that a device may ignore */
#define ACCESS_HUGETLB  (1u << 7)   /* a promise about the memory: nothing to do here */
/* Memory is never pinned: each access finds what is mapped then, and brings it in as the client's own would. So
 * registering on demand only leaves out the look at it that tells of mistakes early. */
#define ACCESS_ON_DEMAND (1u << 6)
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
	/* Never used before, so that nothing that outlives a domain is of another one. */
	pd->number = ++session->vd->last_pd;
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
	uint32_t key, changes;
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
	access &= ~(ACCESS_OPTIONAL | ACCESS_HUGETLB | ACCESS_ON_DEMAND);
	if ((access & ~(uint32_t)ACCESS_SERVED) != 0)
		return -EOPNOTSUPP; /* flush */
	return 0;
}

/* How the transport gets to the memory: by a mapping if the client offers one that can be had. */
static int reach(struct vd_session *session, const struct vc_request *request, struct vd_mr *mr,
	struct tp_mr_attr *attr)
{
	uint8_t *at = NULL;

	if (request->reg_mr.mem_fd != 0 && vd_map_make(session, request->reg_mr.mem_fd - 1, request->reg_mr.mem_offset,
		request->reg_mr.bytes, &mr->map, &at) == 0) {
		attr->direct = at;
		attr->fault = &mr->map->fault;
		return 0;
	}
	if ((request->reg_mr.access & ACCESS_ON_DEMAND) != 0)
		return 0;
	return is_mapped(session, request->reg_mr.addr, request->reg_mr.bytes) ? 0 : -EFAULT;
}

/* What of the limit of registered bytes a region takes. Memory on demand may be all of a process, used or not. */
static uint64_t charge_of(const struct vd_mr *mr)
{
	return mr->on_demand ? 0 : mr->bytes;
}

static void count_mr(struct vd_session *session, const struct vc_request *request, const struct vd_mr *mr)
{
	struct vd_stats *stats = &session->vd->stats;

	stats->mrs++;
	if (mr->map != NULL) {
		stats->regs_mapped++;
		return;
	}
	stats->regs_copied++;
	if (request->reg_mr.mem_fd != 0)
		stats->map_refusals++;
}

static int make_mr(struct vd_session *session, const struct vc_request *request, struct vd_pd *pd, struct vd_mr *mr)
{
	struct mr_call call = {.session = session,
		.attr = {
			.pd = pd->number,
			.access = request->reg_mr.access & ACCESS_SERVED,
			.iova = request->reg_mr.iova,
			.addr = request->reg_mr.addr,
			.bytes = request->reg_mr.bytes,
			.as = session,
		}};
	int err = reach(session, request, mr, &call.attr);

	if (err != 0)
		return err;
	err = vd_charge(session, VD_RES_REGISTERED_BYTES, charge_of(mr));
	if (err != 0)
		goto unmap;
	vd_call(session, mr_create_call, &call);
	err = call.err;
	if (err != 0)
		goto discharge;
	mr->key = call.key;
	return 0;

discharge:
	vd_discharge(session, VD_RES_REGISTERED_BYTES, charge_of(mr));
unmap:
	vd_map_free(session, mr->map);
	return err;
}

int vd_op_reg_mr(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_pd *pd = vd_table_get(&session->pds, request->reg_mr.pd);
	struct vd_mr *mr;
	int err;

	if (pd == NULL || request->reg_mr.bytes == 0)
		return -EINVAL;
	err = check_access(request->reg_mr.access);
	if (err != 0)
		return err;
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return -ENOMEM;
	mr->bytes = request->reg_mr.bytes;
	mr->on_demand = (request->reg_mr.access & ACCESS_ON_DEMAND) != 0;
	err = vd_table_add(&session->mrs, mr, &mr->handle);
	if (err != 0)
		goto free_mr;
	err = make_mr(session, request, pd, mr);
	if (err != 0)
		goto del_handle;
	mr->pd = pd;
	pd->refs++;
	count_mr(session, request, mr);
	answer->reply.mr.handle = mr->handle;
	answer->reply.mr.key = mr->key;
	answer->reply.mr.mapped = mr->map != NULL;
	return 0;

del_handle:
	vd_table_del(&session->mrs, mr->handle);
free_mr:
	free(mr);
	return err;
}

static void mr_change_call(void *arg)
{
	struct mr_call *call = arg;

	call->err = tp_mr_change(vd_tp(call->session), call->key, &call->attr, call->changes);
}

/* What a request to change a region asks for; 0 or a negative errno. */
static int check_change(struct vd_session *session, const struct vd_mr *mr, const struct vd_pd *pd,
	const struct vc_request *request)
{
	const uint32_t known = TP_MR_TRANSLATION | TP_MR_PD | TP_MR_ACCESS;
	uint32_t flags = request->rereg_mr.flags, access = request->rereg_mr.access;
	bool on_demand = mr->on_demand;
	int err;

	if (flags == 0 || (flags & ~known) != 0 || ((flags & TP_MR_PD) != 0 && pd == NULL))
		return -EINVAL;
	if ((flags & TP_MR_ACCESS) != 0) {
		err = check_access(access);
		if (err != 0)
			return err;
		on_demand = (access & ACCESS_ON_DEMAND) != 0;
	}
	if ((flags & TP_MR_TRANSLATION) == 0)
		return 0;
	if (request->rereg_mr.bytes == 0)
		return -EINVAL;
	return on_demand || is_mapped(session, request->rereg_mr.addr, request->rereg_mr.bytes)
		       ? 0
		       : -EFAULT;
}

/* The region as it will be, as far as the limits are concerned. */
static struct vd_mr after_change(const struct vd_mr *mr, const struct vc_request *request)
{
	struct vd_mr next = *mr;

	if ((request->rereg_mr.flags & TP_MR_TRANSLATION) != 0)
		next.bytes = request->rereg_mr.bytes;
	if ((request->rereg_mr.flags & TP_MR_ACCESS) != 0)
		next.on_demand = (request->rereg_mr.access & ACCESS_ON_DEMAND) != 0;
	return next;
}

/* What a region takes beyond what another does. */
static uint64_t charge_beyond(const struct vd_mr *mr, const struct vd_mr *other)
{
	return charge_of(mr) > charge_of(other) ? charge_of(mr) - charge_of(other) : 0;
}

static void changed(struct vd_session *session, struct vd_mr *mr, const struct vd_mr *next, struct vd_pd *pd,
	const struct vc_request *request)
{
	vd_discharge(session, VD_RES_REGISTERED_BYTES, charge_beyond(mr, next));
	*mr = *next;
	/* Other memory is reached by system call: it is not offered with this request. */
	if ((request->rereg_mr.flags & TP_MR_TRANSLATION) != 0) {
		vd_map_free(session, mr->map);
		mr->map = NULL;
	}
	if ((request->rereg_mr.flags & TP_MR_PD) == 0)
		return;
	mr->pd->refs--;
	mr->pd = pd;
	pd->refs++;
}

int vd_op_rereg_mr(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_mr *mr = vd_table_get(&session->mrs, request->rereg_mr.handle);
	struct vd_pd *pd = vd_table_get(&session->pds, request->rereg_mr.pd);
	struct mr_call call = {.session = session, .changes = request->rereg_mr.flags};
	bool zero_based = (request->rereg_mr.access & TP_ACCESS_ZERO_BASED) != 0;
	struct vd_mr next;
	int err;

	if (mr == NULL)
		return -EINVAL;
	err = check_change(session, mr, pd, request);
	if (err != 0)
		return err;
	next = after_change(mr, request);
	err = vd_charge(session, VD_RES_REGISTERED_BYTES, charge_beyond(&next, mr));
	if (err != 0)
		return err;
	call.key = mr->key;
	call.attr = (struct tp_mr_attr){
		.pd = pd != NULL ? pd->number : 0,
		.access = request->rereg_mr.access & ACCESS_SERVED,
		.iova = zero_based ? 0 : request->rereg_mr.addr,
		.addr = request->rereg_mr.addr,
		.bytes = request->rereg_mr.bytes,
		.as = session,
	};
	vd_call(session, mr_change_call, &call);
	if (call.err != 0) {
		vd_discharge(session, VD_RES_REGISTERED_BYTES, charge_beyond(&next, mr));
		return call.err; /* -EBUSY: windows are bound to it */
	}
	changed(session, mr, &next, pd, request);
	answer->reply.mr.handle = mr->handle;
	answer->reply.mr.key = mr->key;
	return 0;
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
	vd_map_free(session, mr->map);
	vd_table_del(&session->mrs, mr->handle);
	vd_discharge(session, VD_RES_REGISTERED_BYTES, charge_of(mr));
	mr->pd->refs--;
	session->vd->stats.mrs--;
	free(mr);
	return 0;
}
