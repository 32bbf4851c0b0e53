/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints: an id that is resolved or bound, with its QP, and works synchronously. */
#include <rdma/rdma_verbs.h>
#include <stdlib.h>

#include "vcl_cma.h"

#define RESOLVE_TIMEOUT_MS 2000

/* Keeps what the QPs of the requests shall be like. */
static int prepare_passive(struct cma_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
	const struct ibv_qp_init_attr *attr)
{
	if (rdma_bind_addr(&id->rdma, res->ai_src_addr) != 0)
		return -errno;
	if (attr == NULL)
		return 0;
	id->ep_attr = malloc(sizeof(*id->ep_attr));
	if (id->ep_attr == NULL)
		return -ENOMEM;
	*id->ep_attr = *attr;
	id->ep_attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	id->ep_pd = pd;
	return 0;
}

static int prepare_active(struct cma_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
	struct ibv_qp_init_attr *attr)
{
	if (rdma_resolve_addr(&id->rdma, res->ai_src_addr, res->ai_dst_addr, RESOLVE_TIMEOUT_MS) != 0)
		return -errno;
	if (rdma_resolve_route(&id->rdma, RESOLVE_TIMEOUT_MS) != 0)
		return -errno;
	if (attr == NULL)
		return 0;
	attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	return rdma_create_qp(&id->rdma, pd, attr) != 0 ? -errno : 0;
}

int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res, struct ibv_pd *pd,
	struct ibv_qp_init_attr *qp_init_attr)
{
	struct rdma_cm_id *id;
	int err;

	err = cma_create_id(NULL, &id, NULL, (enum rdma_port_space)res->ai_port_space,
		(enum ibv_qp_type)res->ai_qp_type);
	if (err != 0)
		return cma_result(err);
	if ((res->ai_flags & RAI_PASSIVE) != 0)
		err = prepare_passive(cma_id(id), res, pd, qp_init_attr);
	else
		err = prepare_active(cma_id(id), res, pd, qp_init_attr);
	if (err != 0) {
		rdma_destroy_ep(id);
		return cma_result(err);
	}
	*out = id;
	return 0;
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	(void)rdma_destroy_id(id);
}

/* The next connect request of a listener that works synchronously, with its QP when the listener's
 * endpoint was made with attributes of one. */
int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **out)
{
	struct cma_id *listener = cma_id(listen);
	struct rdma_cm_event *event;
	struct ibv_qp_init_attr attr;
	struct rdma_cm_id *id;
	int err;

	if (!listener->sync)
		return cma_result(-EINVAL);
	if (rdma_get_cm_event(listen->channel, &event) != 0)
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		err = event->status < 0 ? event->status : -EINVAL;
		rdma_ack_cm_event(event);
		return cma_result(err);
	}
	id = event->id;
	id->event = event; /* its private data stays readable until the next step */
	if (listener->ep_attr != NULL) {
		attr = *listener->ep_attr;
		if (rdma_create_qp(id, listener->ep_pd, &attr) != 0) {
			err = -errno;
			(void)cma_reject(cma_id(id), NULL, 0);
			rdma_destroy_id(id);
			return cma_result(err);
		}
	}
	*out = id;
	return 0;
}
