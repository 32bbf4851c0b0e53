/* SPDX-License-Identifier: BSD-3-Clause */
/* XRC domains, and the numbers of shared receive queues in them. */
#include <fcntl.h>
#include <stdlib.h>

#include "vcl_ibv.h"

static int check_attr(const struct ibv_xrcd_init_attr *attr)
{
	const uint32_t both = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;

	if ((attr->comp_mask & ~both) != 0)
		return -EOPNOTSUPP;
	if (attr->comp_mask != both || (attr->oflags & ~(O_CREAT | O_EXCL)) != 0)
		return -EINVAL;
	return 0;
}

/* The daemon looks up by itself which file the descriptor is of. */
struct ibv_xrcd *vcl_open_xrcd(struct ibv_context *ctx, struct ibv_xrcd_init_attr *attr)
{
	struct vc_request req = {.op = VC_OPEN_XRCD};
	struct vcl_xrcd *xrcd;
	struct vc_reply reply;
	int err = check_attr(attr);

	if (err != 0) {
		errno = -err;
		return NULL;
	}
	xrcd = calloc(1, sizeof(*xrcd));
	if (xrcd == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	req.open_xrcd.fd = attr->fd;
	req.open_xrcd.oflags = (uint32_t)attr->oflags;
	err = vcl_call(&vcl_context(ctx)->conn, &req, &reply);
	if (err != 0) {
		free(xrcd);
		errno = -err;
		return NULL;
	}
	xrcd->ibv.context = ctx;
	xrcd->handle = reply.object.handle;
	return &xrcd->ibv;
}

int vcl_close_xrcd(struct ibv_xrcd *ibv)
{
	struct vcl_xrcd *xrcd = vcl_xrcd(ibv);
	int err = vcl_call_handle(&vcl_context(ibv->context)->conn, VC_CLOSE_XRCD, xrcd->handle, NULL);

	if (err != 0 && err != -EIO)
		return vcl_errno(err);
	free(xrcd);
	return 0;
}

int vcl_get_srq_num(struct ibv_srq *ibv, uint32_t *number)
{
	const struct vcl_srq *srq = vcl_srq(ibv);

	if (srq->number == 0)
		return vcl_errno(-EINVAL);
	*number = srq->number;
	return 0;
}
