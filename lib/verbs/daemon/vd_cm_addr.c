/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses and ports of clients' ids: bind, listen, address and route resolution. */
#include <arpa/inet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <rdma/rdma_cma.h>

#include "vd_cm.h"
#include "vd_mcast.h"

#define FIRST_EPHEMERAL 32768u
#define N_EPHEMERAL     28232u /* to 60999, as Linux does */
#define FIRST_FREE_PORT 1024   /* below it only root may bind */
#define MAX_BACKLOG     1024

/* ---- addresses ---- */

static const struct wire_addr any4 = {.b = {[10] = 0xff, [11] = 0xff}};

bool vd_cm_is_any(const struct wire_addr *addr)
{
	return vd_addr_is_zero(addr) || vd_addr_equal(addr, &any4);
}

int vd_cm_take_addr(const struct vc_sockaddr *in, struct wire_addr *addr, uint16_t *port)
{
	*port = ntohs(in->port);
	switch (in->family) {
	case AF_INET:
		*addr = any4;
		memcpy(addr->b + 12, in->addr, 4);
		return 0;
	case AF_INET6:
		memcpy(addr->b, in->addr, sizeof(addr->b));
		return 0;
	default:
		return -EAFNOSUPPORT;
	}
}

static void give_addr(
	const struct wire_addr *addr, uint16_t family, uint16_t port, struct vc_sockaddr *out)
{
	memset(out, 0, sizeof(*out));
	out->family = family;
	out->port = htons(port);
	if (family == AF_INET)
		memcpy(out->addr, addr->b + 12, 4);
	else
		memcpy(out->addr, addr->b, sizeof(out->addr));
}

static bool is_link_local(const struct wire_addr *addr)
{
	return addr->b[0] == 0xfe && (addr->b[1] & 0xc0) == 0x80;
}

/* 127.0.0.0/8 and ::1: no device has them and no peer can ask for them. */
static bool is_loopback(const struct wire_addr *addr)
{
	static const struct wire_addr loopback6 = {.b = {[15] = 1}};

	return vd_addr_equal(addr, &loopback6) || (wire_addr_is_v4(addr) && addr->b[12] == 127);
}

void vd_cm_fill_addr(const struct vd_cm_id *id, struct vc_sockaddr *src, struct vc_sockaddr *dst,
	char device[VC_NAME_BYTES])
{
	const struct vd *vd = id->session->vd;
	uint32_t scope = 0;

	memset(device, 0, VC_NAME_BYTES);
	memset(src, 0, sizeof(*src));
	memset(dst, 0, sizeof(*dst));
	if (id->family == 0)
		return;
	give_addr(&id->src, id->family, id->src_port, src);
	if (id->has_dst)
		give_addr(&id->dst, id->family, id->dst_port, dst);
	if (!id->has_device)
		return;
	memcpy(device, vd->devices[id->device].name, VC_NAME_BYTES);
	if (vd->devices[id->device].netdev[0] != '\0' && is_link_local(&id->src))
		scope = if_nametoindex(vd->devices[id->device].netdev);
	src->scope_id = scope;
	dst->scope_id = id->has_dst && is_link_local(&id->dst) ? scope : 0;
}

static bool find_own(const struct vd *vd, const struct wire_addr *addr, uint32_t *device)
{
	for (uint32_t d = 0; d < vd->n_devices; d++) {
		for (uint32_t g = 0; g < vd->devices[d].n_gids; g++) {
			if (!vd_addr_equal(&vd->devices[d].gids[g].addr, addr))
				continue;
			*device = d;
			return true;
		}
	}
	return false;
}

/* ---- ports ---- */

static uint32_t *port_refs(struct vd_cm_state *state, uint32_t ps, uint16_t port)
{
	uint32_t space = ps == VC_PS_TCP ? 0 : ps == VC_PS_UDP ? 1 : 2;

	return &state->port_refs[space][port];
}

static bool port_taken(
	struct vd_cm_state *state, uint32_t ps, uint16_t port, const struct wire_addr *addr)
{
	const struct vd_cm_id *other;

	if (*port_refs(state, ps, port) == 0)
		return false;
	TAILQ_FOREACH(other, &state->bound, bound_link)
	{
		if (other->ps != ps || other->src_port != port)
			continue;
		if (vd_cm_is_any(addr) || vd_cm_is_any(&other->src) ||
			vd_addr_equal(addr, &other->src))
			return true;
	}
	return false;
}

static int pick_port(struct vd *vd, uint32_t ps, uint16_t *port)
{
	uint32_t start = (uint32_t)(vd_random(vd) % N_EPHEMERAL);

	for (uint32_t i = 0; i < N_EPHEMERAL; i++) {
		uint16_t candidate = (uint16_t)(FIRST_EPHEMERAL + (start + i) % N_EPHEMERAL);

		if (*port_refs(vd->cm, ps, candidate) != 0)
			continue;
		*port = candidate;
		return 0;
	}
	return -EADDRNOTAVAIL;
}

/*
 * Takes addr and port (0: any free one) for id. A loopback address may be bound without a device: libfabric
 * binds "localhost" to ask for the devices, and finds those of the host's addresses when the id has none.
 */
static int bind_id(
	struct vd_cm_id *id, uint16_t family, const struct wire_addr *addr, uint16_t port)
{
	struct vd *vd = id->session->vd;
	uint32_t device = 0;
	bool own = false;
	int err;

	if (!vd_cm_is_any(addr)) {
		own = find_own(vd, addr, &device);
		if (!own && !is_loopback(addr))
			return -EADDRNOTAVAIL;
	}
	if (port == 0) {
		err = pick_port(vd, id->ps, &port);
		if (err != 0)
			return err;
	} else if (port < FIRST_FREE_PORT && id->session->uid != 0) {
		return -EACCES;
	} else if (port_taken(vd->cm, id->ps, port, addr)) {
		return -EADDRINUSE;
	}
	id->family = family;
	id->src = *addr;
	id->src_port = port;
	id->has_device = own;
	id->device = device;
	id->bound = true;
	id->step = VD_CM_BOUND;
	(*port_refs(vd->cm, id->ps, port))++;
	TAILQ_INSERT_TAIL(&vd->cm->bound, id, bound_link);
	return 0;
}

void vd_cm_unbind(struct vd_cm_id *id)
{
	struct vd_cm_state *state = id->session->vd->cm;

	if (!id->bound)
		return;
	id->bound = false;
	(*port_refs(state, id->ps, id->src_port))--;
	TAILQ_REMOVE(&state->bound, id, bound_link);
}

int vd_op_cm_bind(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_bind.id);
	struct wire_addr addr;
	uint16_t port;
	int err;

	if (id == NULL || id->step != VD_CM_IDLE)
		return -EINVAL;
	err = vd_cm_take_addr(&request->cm_bind.src, &addr, &port);
	if (err == 0)
		err = bind_id(id, request->cm_bind.src.family, &addr, port);
	if (err != 0)
		return err;
	answer->reply.cm.handle = id->handle;
	vd_cm_fill_addr(id, &answer->reply.cm.src, &answer->reply.cm.dst, answer->reply.cm.device);
	return 0;
}

static int start_listening(struct vd_cm_id *id, uint32_t backlog)
{
	struct vd *vd = id->session->vd;
	struct cm *cm = vd->cm->cm;
	int err;

	id->cm = cm_id_create(cm, id);
	if (id->cm == NULL)
		return -ENOMEM;
	err = cm_listen(cm, id->cm, cm_service_id(id->ps, id->src_port),
		vd_cm_is_any(&id->src) ? NULL : &id->src, NULL,
		backlog > MAX_BACKLOG ? MAX_BACKLOG : backlog);
	if (err != 0) {
		cm_id_destroy(cm, id->cm, vd_now(vd));
		id->cm = NULL;
		return err;
	}
	id->step = VD_CM_LISTENING;
	vd->stats.cm_listeners++;
	return 0;
}

int vd_op_cm_listen(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_bind.id);
	int err;

	(void)answer;
	if (id == NULL || id->step > VD_CM_BOUND)
		return -EINVAL;
	if (id->step == VD_CM_IDLE) {
		err = bind_id(id, AF_INET, &any4, 0);
		if (err != 0)
			return err;
	}
	err = vd_charge(session, VD_RES_LISTENERS, 1);
	if (err != 0)
		return err;
	err = start_listening(id, request->cm_bind.backlog);
	if (err != 0)
		vd_discharge(session, VD_RES_LISTENERS, 1);
	return err;
}

/* ---- resolution ---- */

static bool same_prefix(const struct wire_addr *a, const struct wire_addr *b, uint32_t bits)
{
	uint32_t whole = bits / 8;

	if (memcmp(a->b, b->b, whole) != 0)
		return false;
	return bits % 8 == 0 || ((a->b[whole] ^ b->b[whole]) & (0xff00u >> (bits % 8)) & 0xff) == 0;
}

/* How well an address of a device suits a destination: 0 not, 1 by its gateway, more: on link. */
static uint32_t suits(
	const struct vd_device *device, const struct vd_gid *gid, const struct wire_addr *dst)
{
	bool v4 = wire_addr_is_v4(dst);
	uint32_t bits;

	if (vd_addr_is_zero(&gid->addr) || wire_addr_is_v4(&gid->addr) != v4)
		return 0;
	/* Which port a group is joined at is for the program to say; else the first one. */
	if (vd_addr_is_group(dst))
		return is_link_local(&gid->addr) ? 1 : 2;
	bits = v4 ? gid->prefix_len + 96 : gid->prefix_len;
	if (bits <= 128 && same_prefix(&gid->addr, dst, bits))
		return bits + 2;
	if (is_link_local(&gid->addr) && !v4)
		return 0;
	return (v4 ? device->has_gw4 : device->has_gw6) ? 1 : 0;
}

/* Picks device and source address for a destination. */
static int find_source(const struct vd_cm_id *id, const struct wire_addr *dst, uint32_t scope,
	uint32_t *device, struct wire_addr *src)
{
	const struct vd *vd = id->session->vd;
	uint32_t best = 0;

	if (find_own(vd, dst, device)) {
		*src = *dst;
		return 0;
	}
	for (uint32_t d = 0; d < vd->n_devices; d++) {
		const struct vd_device *dev = &vd->devices[d];

		if (id->has_device && id->device != d)
			continue;
		if (scope != 0 && is_link_local(dst) && if_nametoindex(dev->netdev) != scope)
			continue;
		for (uint32_t g = 0; g < dev->n_gids; g++) {
			uint32_t fit = suits(dev, &dev->gids[g], dst);

			if (fit <= best)
				continue;
			best = fit;
			*device = d;
			*src = dev->gids[g].addr;
		}
	}
	return best != 0 ? 0 : -ENETUNREACH;
}

static void addr_resolved(struct vd_resolving *resolving, int status, void *link)
{
	struct vd_cm_id *id = resolving->obj;

	/* The queue pair's own resolution finds it again in the neighbour table. */
	vd_release_link(resolving->vd, link);
	id->step = status == 0 ? VD_CM_ADDR_RESOLVED : VD_CM_BOUND;
	(void)vd_cm_emit(
		id, status == 0 ? RDMA_CM_EVENT_ADDR_RESOLVED : RDMA_CM_EVENT_ADDR_ERROR, status);
}

/* The source the client wants, if any. */
static int bind_source(struct vd_cm_id *id, const struct vc_sockaddr *wish, uint16_t dst_family)
{
	struct wire_addr addr;
	uint16_t port = 0;
	int err;

	if (id->step == VD_CM_BOUND)
		return id->family == dst_family ? 0 : -EINVAL;
	if (wish->family == 0) {
		addr = dst_family == AF_INET ? any4 : (struct wire_addr){0};
		return bind_id(id, dst_family, &addr, 0);
	}
	if (wish->family != dst_family)
		return -EINVAL;
	err = vd_cm_take_addr(wish, &addr, &port);
	return err == 0 ? bind_id(id, dst_family, &addr, port) : err;
}

int vd_op_cm_resolve_addr(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_resolve.id);
	struct wire_addr dst, src = {0};
	uint32_t device = 0;
	uint16_t port;
	int err;

	(void)answer;
	if (id == NULL || id->step > VD_CM_BOUND)
		return -EINVAL;
	err = vd_cm_take_addr(&request->cm_resolve.dst, &dst, &port);
	if (err == 0)
		err = bind_source(id, &request->cm_resolve.src, request->cm_resolve.dst.family);
	if (err != 0)
		return err;
	id->dst = dst;
	id->dst_port = port;
	id->has_dst = true;
	err = vd_cm_is_any(&dst) || is_loopback(&id->src)
		      ? -ENETUNREACH
		      : find_source(id, &dst, request->cm_resolve.dst.scope_id, &device, &src);
	if (err != 0) {
		(void)vd_cm_emit(id, RDMA_CM_EVENT_ADDR_ERROR, err);
		return 0;
	}
	/* An address the id is bound to stays; any address becomes the one found. */
	if (vd_cm_is_any(&id->src)) {
		id->src = src;
		id->device = device;
		id->has_device = true;
	}
	id->step = VD_CM_RESOLVING;
	err = vd_resolve(session, id->device, &id->src, &id->dst, addr_resolved, id, request);
	if (err != 0)
		id->step = VD_CM_BOUND;
	return err;
}

/* A path is all there is to a route here: known with the address. */
int vd_op_cm_resolve_route(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_resolve.id);

	(void)answer;
	if (id == NULL || id->step != VD_CM_ADDR_RESOLVED)
		return -EINVAL;
	id->step = VD_CM_ROUTE_RESOLVED;
	(void)vd_cm_emit(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}
