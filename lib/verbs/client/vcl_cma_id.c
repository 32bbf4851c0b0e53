/* SPDX-License-Identifier: BSD-3-Clause */
/* Communication ids: made and destroyed, addresses, options. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "vcl_cma.h"

#define PKEY_DEFAULT 0xffff

/* ---- addresses ---- */

int cma_addr_to_contract(const struct sockaddr *in, struct vc_sockaddr *out)
{
	const struct sockaddr_in6 *in6 = (const void *)in;
	const struct sockaddr_in *in4 = (const void *)in;

	memset(out, 0, sizeof(*out));
	if (in == NULL)
		return 0;
	out->family = in->sa_family;
	switch (in->sa_family) {
	case AF_INET:
		out->port = in4->sin_port;
		memcpy(out->addr, &in4->sin_addr, sizeof(in4->sin_addr));
		return 0;
	case AF_INET6:
		out->port = in6->sin6_port;
		out->scope_id = in6->sin6_scope_id;
		memcpy(out->addr, &in6->sin6_addr, sizeof(in6->sin6_addr));
		return 0;
	default:
		return -EAFNOSUPPORT;
	}
}

/* Fills an address of a route and the GID of it. False: none. */
static bool addr_from_contract(const struct vc_sockaddr *in, struct sockaddr_storage *out, union ibv_gid *gid)
{
	struct sockaddr_in6 *out6 = (void *)out;
	struct sockaddr_in *out4 = (void *)out;

	if (in->family == AF_INET) {
		memset(out, 0, sizeof(*out));
		out4->sin_family = AF_INET;
		out4->sin_port = in->port;
		memcpy(&out4->sin_addr, in->addr, sizeof(out4->sin_addr));
		memset(gid, 0, sizeof(*gid));
		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, in->addr, sizeof(out4->sin_addr));
		return true;
	}
	if (in->family == AF_INET6) {
		memset(out, 0, sizeof(*out));
		out6->sin6_family = AF_INET6;
		out6->sin6_port = in->port;
		out6->sin6_scope_id = in->scope_id;
		memcpy(&out6->sin6_addr, in->addr, sizeof(out6->sin6_addr));
		memcpy(gid->raw, in->addr, sizeof(gid->raw));
		return true;
	}
	return false;
}

int cma_id_locate(struct cma_id *id, const struct vc_sockaddr *src, const struct vc_sockaddr *dst,
	const char device[VC_NAME_BYTES])
{
	struct rdma_addr *addr = &id->rdma.route.addr;
	char name[VC_NAME_BYTES] = "";
	int err = 0;

	(void)addr_from_contract(src, &addr->src_storage, &addr->addr.ibaddr.sgid);
	(void)addr_from_contract(dst, &addr->dst_storage, &addr->addr.ibaddr.dgid);
	memcpy(name, device, sizeof(name) - 1);
	if (name[0] == '\0' || id->rdma.verbs != NULL)
		return 0;
	id->rdma.verbs = cma_open_device(id->cma, name, &err);
	if (err != 0)
		return err;
	/* Programs make their own queues and regions in it, before any queue pair of the id is there. */
	id->rdma.pd = cma_default_pd(id->cma, id->rdma.verbs);
	if (id->rdma.pd == NULL)
		return -errno;
	id->rdma.port_num = 1;
	addr->addr.ibaddr.pkey = htons(PKEY_DEFAULT);
	return 0;
}

/* Programs read the path of a resolved route; here it is what GIDs and port say. */
int cma_id_set_path(struct cma_id *id)
{
	struct rdma_route *route = &id->rdma.route;
	struct ibv_port_attr port;
	int err;

	if (route->path_rec != NULL || id->rdma.verbs == NULL)
		return 0;
	err = ibv_query_port(id->rdma.verbs, id->rdma.port_num, &port);
	if (err != 0)
		return -err;
	route->path_rec = calloc(1, sizeof(*route->path_rec));
	if (route->path_rec == NULL)
		return -ENOMEM;
	route->num_paths = 1;
	*route->path_rec = (struct ibv_sa_path_rec){
		.dgid = route->addr.addr.ibaddr.dgid,
		.sgid = route->addr.addr.ibaddr.sgid,
		.hop_limit = 64,
		.traffic_class = id->tos,
		.reversible = 1,
		.numb_path = 1,
		.pkey = htons(PKEY_DEFAULT),
		.mtu_selector = 2, /* exactly */
		.mtu = (uint8_t)port.active_mtu,
	};
	return 0;
}

/* ---- made and destroyed ---- */

struct cma_id *cma_id_new(struct cma *cma, struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
	enum ibv_qp_type qp_type)
{
	struct cma_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	id->cma = cma;
	id->rdma.channel = channel;
	id->rdma.context = context;
	id->rdma.ps = ps;
	id->rdma.qp_type = qp_type;
	pthread_cond_init(&id->acked, NULL);
	pthread_mutex_lock(&cma->lock);
	id->cookie = vcl_table_add(&cma->ids, id);
	pthread_mutex_unlock(&cma->lock);
	if (id->cookie == 0) {
		pthread_cond_destroy(&id->acked);
		free(id);
		return NULL;
	}
	return id;
}

/* Waits until the program has acknowledged the id's events; then nothing refers to it. */
void cma_id_free(struct cma_id *id)
{
	pthread_mutex_lock(&id->cma->lock);
	vcl_table_remove(&id->cma->ids, id->cookie);
	while (id->events_out != 0)
		pthread_cond_wait(&id->acked, &id->cma->lock);
	pthread_mutex_unlock(&id->cma->lock);
	pthread_cond_destroy(&id->acked);
	free(id->rdma.route.path_rec);
	free(id->ep_attr);
	cma_free_joins(id);
	free(id);
}

static int create_at_daemon(struct cma_id *id)
{
	struct vc_request req = {.op = VC_CM_CREATE_ID};
	struct vc_reply reply;
	int err;

	req.cm_create_id.cookie = id->cookie;
	req.cm_create_id.channel = cma_channel(id->rdma.channel)->handle;
	req.cm_create_id.ps = id->rdma.ps;
	req.cm_create_id.qp_type = id->rdma.qp_type;
	err = vcl_call(&id->cma->conn, &req, &reply);
	if (err == 0)
		id->handle = reply.cm.handle;
	return err;
}

int cma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context, enum rdma_port_space ps,
	enum ibv_qp_type qp_type)
{
	bool sync = channel == NULL;
	struct cma_id *id;
	int err;

	if (sync)
		channel = rdma_create_event_channel();
	if (channel == NULL)
		return -errno;
	id = cma_id_new(cma_channel(channel)->cma, channel, context, ps, qp_type);
	err = id == NULL ? -ENOMEM : create_at_daemon(id);
	if (err != 0) {
		if (id != NULL)
			cma_id_free(id);
		if (sync)
			rdma_destroy_event_channel(channel);
		return err;
	}
	id->sync = sync;
	*out = &id->rdma;
	return 0;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context, enum rdma_port_space ps)
{
	enum ibv_qp_type type = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;

	return cma_result(cma_create_id(channel, id, context, ps, type));
}

int rdma_destroy_id(struct rdma_cm_id *rdma)
{
	struct cma_id *id = cma_id(rdma);
	struct rdma_event_channel *own = id->sync ? rdma->channel : NULL;

	if (rdma->event != NULL) {
		rdma_ack_cm_event(rdma->event);
		rdma->event = NULL;
	}
	/* When the daemon is gone its half is too. */
	(void)vcl_call_handle(&id->cma->conn, VC_CM_DESTROY_ID, id->handle, NULL);
	cma_id_free(id);
	if (own != NULL)
		rdma_destroy_event_channel(own);
	return 0;
}

int rdma_migrate_id(struct rdma_cm_id *rdma, struct rdma_event_channel *channel)
{
	struct vc_request req = {.op = VC_CM_MIGRATE};
	struct cma_id *id = cma_id(rdma);
	struct rdma_event_channel *old = id->sync ? rdma->channel : NULL;
	bool sync = channel == NULL;
	int err;

	if (id->sync && sync)
		return cma_result(-EINVAL);
	if (sync)
		channel = rdma_create_event_channel();
	if (channel == NULL)
		return -1;
	req.cm_migrate.id = id->handle;
	req.cm_migrate.channel = cma_channel(channel)->handle;
	req.cm_migrate.cookie = id->cookie;
	err = vcl_call(&id->cma->conn, &req, NULL);
	if (err != 0) {
		if (sync)
			rdma_destroy_event_channel(channel);
		return cma_result(err);
	}
	if (old != NULL && rdma->event != NULL) {
		rdma_ack_cm_event(rdma->event);
		rdma->event = NULL;
	}
	rdma->channel = channel;
	id->sync = sync;
	if (old != NULL)
		rdma_destroy_event_channel(old);
	return 0;
}

/* ---- bind, listen, resolve ---- */

int rdma_bind_addr(struct rdma_cm_id *rdma, struct sockaddr *addr)
{
	struct vc_request req = {.op = VC_CM_BIND};
	struct cma_id *id = cma_id(rdma);
	struct vc_reply reply;
	int err;

	req.cm_bind.id = id->handle;
	err = cma_addr_to_contract(addr, &req.cm_bind.src);
	if (err == 0)
		err = vcl_call(&id->cma->conn, &req, &reply);
	if (err == 0)
		err = cma_id_locate(id, &reply.cm.src, &reply.cm.dst, reply.cm.device);
	return cma_result(err);
}

int rdma_listen(struct rdma_cm_id *rdma, int backlog)
{
	struct vc_request req = {.op = VC_CM_LISTEN};
	struct cma_id *id = cma_id(rdma);
	struct vc_reply reply;
	int err;

	req.cm_bind.id = id->handle;
	req.cm_bind.backlog = backlog > 0 ? (uint32_t)backlog : 0;
	err = vcl_call(&id->cma->conn, &req, NULL);
	/* An id not bound before has got its port now. */
	if (err == 0)
		err = vcl_call_handle(&id->cma->conn, VC_CM_QUERY_ID, id->handle, &reply);
	if (err == 0)
		err = cma_id_locate(id, &reply.cm.src, &reply.cm.dst, reply.cm.device);
	return cma_result(err);
}

int rdma_resolve_addr(struct rdma_cm_id *rdma, struct sockaddr *src_addr, struct sockaddr *dst_addr, int timeout_ms)
{
	struct vc_request req = {.op = VC_CM_RESOLVE_ADDR};
	struct cma_id *id = cma_id(rdma);
	int err;

	if (dst_addr == NULL)
		return cma_result(-EINVAL);
	req.cm_resolve.id = id->handle;
	req.cm_resolve.timeout_ms = timeout_ms > 0 ? (uint32_t)timeout_ms : 0;
	err = cma_addr_to_contract(src_addr, &req.cm_resolve.src);
	if (err == 0)
		err = cma_addr_to_contract(dst_addr, &req.cm_resolve.dst);
	if (err == 0)
		err = vcl_call(&id->cma->conn, &req, NULL);
	if (err != 0)
		return cma_result(err);
	return cma_complete(id);
}

int rdma_resolve_route(struct rdma_cm_id *rdma, int timeout_ms)
{
	struct vc_request req = {.op = VC_CM_RESOLVE_ROUTE};
	struct cma_id *id = cma_id(rdma);
	int err;

	req.cm_resolve.id = id->handle;
	req.cm_resolve.timeout_ms = timeout_ms > 0 ? (uint32_t)timeout_ms : 0;
	err = vcl_call(&id->cma->conn, &req, NULL);
	return err != 0 ? cma_result(err) : cma_complete(id);
}

static __be16 port_of(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)(const void *)addr)->sin6_port;
	return addr->sa_family == AF_INET ? ((const struct sockaddr_in *)(const void *)addr)->sin_port : 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return port_of(&id->route.addr.src_addr);
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return port_of(&id->route.addr.dst_addr);
}

/* ---- options ---- */

/* The type of service and the timeout go into the QP; ports here are always exclusive and of one family. */
int rdma_set_option(struct rdma_cm_id *rdma, int level, int optname, void *optval, size_t optlen)
{
	struct cma_id *id = cma_id(rdma);

	if (level != RDMA_OPTION_ID)
		return cma_result(-EOPNOTSUPP);
	switch (optname) {
	case RDMA_OPTION_ID_TOS:
		if (optlen != sizeof(uint8_t))
			return cma_result(-EINVAL);
		id->tos = *(const uint8_t *)optval;
		id->has_tos = true;
		return 0;
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (optlen != sizeof(uint8_t))
			return cma_result(-EINVAL);
		id->ack_timeout = *(const uint8_t *)optval;
		id->has_ack_timeout = true;
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
	case RDMA_OPTION_ID_AFONLY:
		return cma_result(optlen == sizeof(int) ? 0 : -EINVAL);
	default:
		return cma_result(-ENOSYS);
	}
}
