/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains, thread domains and what joins them; address handles. */
#include <stdlib.h>
#include <string.h>

#include "vcl_ibv.h"

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct vcl_pd *pd = calloc(1, sizeof(*pd));
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
	pd->ibv.context = context;
	pd->ibv.handle = reply.object.handle;
	return &pd->ibv;
}

/*
 * Destroys a daemon's object. When the daemon is gone its objects are too, so the program's half is
 * freed all the same: a program that cleans up after IBV_EVENT_DEVICE_FATAL must get through.
 */
int vcl_destroy(struct ibv_context *context, enum vc_op op, uint32_t handle)
{
	int err = vcl_call_handle(&vcl_context(context)->conn, op, handle, NULL);

	return err == -EIO ? 0 : err;
}

static int dealloc_plain_pd(struct vcl_pd *pd)
{
	struct vcl_context *ctx = vcl_context(pd->ibv.context);
	bool in_use;
	int err;

	pthread_mutex_lock(&ctx->lock);
	in_use = pd->parents != 0;
	pthread_mutex_unlock(&ctx->lock);
	err = in_use ? -EBUSY : vcl_destroy(pd->ibv.context, VC_DEALLOC_PD, pd->ibv.handle);
	if (err == 0)
		free(pd);
	return vcl_errno(err);
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct vcl_pd *pd = container_of(ibv, struct vcl_pd, ibv);
	struct vcl_context *ctx = vcl_context(ibv->context);

	if (pd->of == NULL)
		return dealloc_plain_pd(pd);
	pthread_mutex_lock(&ctx->lock);
	pd->of->parents--;
	if (pd->td != NULL)
		pd->td->parents--;
	pthread_mutex_unlock(&ctx->lock);
	free(pd);
	return 0;
}

/* ---- thread and parent domains ---- */

/* A promise of one thread at a time; queues are safe for threads with and without it. */
struct ibv_td *vcl_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct vcl_td *td;

	if (attr->comp_mask != 0) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (td == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	td->ibv.context = context;
	return &td->ibv;
}

int vcl_dealloc_td(struct ibv_td *ibv)
{
	struct vcl_td *td = container_of(ibv, struct vcl_td, ibv);
	struct vcl_context *ctx = vcl_context(ibv->context);
	bool in_use;

	pthread_mutex_lock(&ctx->lock);
	in_use = td->parents != 0;
	pthread_mutex_unlock(&ctx->lock);
	if (in_use)
		return vcl_errno(-EBUSY);
	free(td);
	return 0;
}

/* The allocators of a program are for memory of the library's, of which there is none: queues lie in the daemon's. */
static int check_parent(struct ibv_context *context, const struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

	if ((attr->comp_mask & ~known) != 0)
		return -EOPNOTSUPP;
	if (attr->pd == NULL || attr->pd->context != context || (attr->td != NULL && attr->td->context != context) ||
		container_of(attr->pd, struct vcl_pd, ibv)->of != NULL)
		return -EINVAL;
	if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0 &&
		(attr->alloc == NULL || attr->free == NULL))
		return -EINVAL;
	return 0;
}

/* At the daemon it is its protection domain. */
struct ibv_pd *vcl_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	struct vcl_context *ctx = vcl_context(context);
	int err = check_parent(context, attr);
	struct vcl_pd *pd = err == 0 ? calloc(1, sizeof(*pd)) : NULL;

	if (pd == NULL) {
		errno = err != 0 ? -err : ENOMEM;
		return NULL;
	}
	pd->ibv.context = context;
	pd->ibv.handle = attr->pd->handle;
	pd->of = container_of(attr->pd, struct vcl_pd, ibv);
	pd->td = attr->td != NULL ? container_of(attr->td, struct vcl_td, ibv) : NULL;
	pthread_mutex_lock(&ctx->lock);
	pd->of->parents++;
	if (pd->td != NULL)
		pd->td->parents++;
	pthread_mutex_unlock(&ctx->lock);
	return &pd->ibv;
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
	int err = vcl_destroy(ah->context, VC_DESTROY_AH, ah->handle);

	if (err == 0)
		free(ah);
	return vcl_errno(err);
}
