/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups of datagram ids. The daemon makes the port a member and says how to send to the group;
 * the id's queue pair is attached here when that is known, unless the program only wants to send.
 */
#include <stdlib.h>
#include <string.h>

#include "vcl_cma.h"

static bool same_group(const struct vc_sockaddr *a, const struct vc_sockaddr *b)
{
	return a->family == b->family && memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

static struct cma_join *add_join(struct cma_id *id, const struct vc_sockaddr *addr, uint32_t flags, void *context)
{
	struct cma_join *join = calloc(1, sizeof(*join));

	if (join == NULL)
		return NULL;
	join->addr = *addr;
	join->context = context;
	join->sends_only = flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	pthread_mutex_lock(&id->cma->lock);
	join->cookie = ++id->last_join;
	join->next = id->joins;
	id->joins = join;
	pthread_mutex_unlock(&id->cma->lock);
	return join;
}

/* Takes the join of a cookie, or of a group when addr is there, off the id; NULL: there is none. */
static struct cma_join *take_join(struct cma_id *id, uint64_t cookie, const struct vc_sockaddr *addr)
{
	struct cma_join **at, *join;

	pthread_mutex_lock(&id->cma->lock);
	for (at = &id->joins; *at != NULL; at = &(*at)->next)
		if (addr != NULL ? same_group(&(*at)->addr, addr) : (*at)->cookie == cookie)
			break;
	join = *at;
	if (join != NULL)
		*at = join->next;
	pthread_mutex_unlock(&id->cma->lock);
	return join;
}

static int join_group(struct cma_id *id, const struct sockaddr *addr, uint32_t flags, void *context)
{
	struct vc_request req = {.op = VC_CM_JOIN_MCAST};
	struct cma_join *join;
	uint64_t cookie;
	int err;

	if (addr == NULL || flags >= RDMA_MC_JOIN_FLAG_RESERVED || id->rdma.qp_type != IBV_QPT_UD)
		return -EINVAL;
	req.cm_mcast.id = id->handle;
	err = cma_addr_to_contract(addr, &req.cm_mcast.addr);
	if (err != 0)
		return err;
	join = add_join(id, &req.cm_mcast.addr, flags, context);
	if (join == NULL)
		return -ENOMEM;
	/* From the request on another thread may see the event, and leave. */
	cookie = join->cookie;
	req.cm_mcast.cookie = cookie;
	err = vcl_call(&id->cma->conn, &req, NULL);
	if (err != 0)
		free(take_join(id, cookie, NULL));
	return err;
}

int rdma_join_multicast_ex(struct rdma_cm_id *rdma, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	const uint32_t needed = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	int err;

	if (attr->comp_mask != needed)
		return cma_result((attr->comp_mask & ~needed) != 0 ? -EOPNOTSUPP : -EINVAL);
	err = join_group(cma_id(rdma), attr->addr, attr->join_flags, context);
	return err != 0 ? cma_result(err) : cma_complete(cma_id(rdma));
}

int rdma_join_multicast(struct rdma_cm_id *rdma, struct sockaddr *addr, void *context)
{
	int err = join_group(cma_id(rdma), addr, RDMA_MC_JOIN_FLAG_FULLMEMBER, context);

	return err != 0 ? cma_result(err) : cma_complete(cma_id(rdma));
}

int cma_joined(struct cma_id *id, uint64_t cookie, struct rdma_ud_param *param)
{
	struct cma_join *join;
	int err = 0;

	pthread_mutex_lock(&id->cma->lock);
	for (join = id->joins; join != NULL && join->cookie != cookie; join = join->next)
		;
	if (join == NULL) {
		err = -ENOENT;
		goto out;
	}
	join->gid = param->ah_attr.grh.dgid;
	/* The event's private data are the program's own word of the join. */
	param->private_data = join->context;
	param->private_data_len = 0;
	if (id->rdma.qp != NULL && !join->sends_only) {
		err = -ibv_attach_mcast(id->rdma.qp, &join->gid, 0);
		join->attached = err == 0 ? id->rdma.qp : NULL;
	}
out:
	pthread_mutex_unlock(&id->cma->lock);
	return err;
}

int rdma_leave_multicast(struct rdma_cm_id *rdma, struct sockaddr *addr)
{
	struct vc_request req = {.op = VC_CM_LEAVE_MCAST};
	struct cma_id *id = cma_id(rdma);
	struct cma_join *join;
	int err;

	if (addr == NULL)
		return cma_result(-EINVAL);
	req.cm_mcast.id = id->handle;
	err = cma_addr_to_contract(addr, &req.cm_mcast.addr);
	if (err != 0)
		return cma_result(err);
	join = take_join(id, 0, &req.cm_mcast.addr);
	if (join == NULL)
		return cma_result(-EADDRNOTAVAIL);
	if (join->attached != NULL)
		err = -ibv_detach_mcast(join->attached, &join->gid, 0);
	free(join);
	if (err == 0)
		err = vcl_call(&id->cma->conn, &req, NULL);
	return cma_result(err);
}

void cma_detach_joins(struct cma_id *id)
{
	struct cma_join *join;

	pthread_mutex_lock(&id->cma->lock);
	for (join = id->joins; join != NULL; join = join->next) {
		if (join->attached != NULL)
			(void)ibv_detach_mcast(join->attached, &join->gid, 0);
		join->attached = NULL;
	}
	pthread_mutex_unlock(&id->cma->lock);
}

void cma_free_joins(struct cma_id *id)
{
	struct cma_join *join;

	while ((join = id->joins) != NULL) {
		id->joins = join->next;
		free(join);
	}
}
