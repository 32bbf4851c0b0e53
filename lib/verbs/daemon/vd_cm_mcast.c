/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups of clients' ids. A join makes the port a member and tells the client how to send there;
 * that its queue pair gets copies is the library's own request (VC_ATTACH_MCAST).
 */
#include <stdlib.h>

#include <rdma/rdma_cma.h>

#include "vd_cm.h"
#include "vd_mcast.h"

struct vd_cm_join {
	TAILQ_ENTRY(vd_cm_join) link;
	struct wire_addr addr;
	struct vd_group *group;
};

static struct vd_cm_join *find_join(const struct vd_cm_id *id, const struct wire_addr *addr)
{
	struct vd_cm_join *join;

	TAILQ_FOREACH(join, &id->joins, link)
	{
		if (vd_addr_equal(&join->addr, addr))
			break;
	}
	return join;
}

static void free_join(struct vd_cm_id *id, struct vd_cm_join *join)
{
	TAILQ_REMOVE(&id->joins, join, link);
	vd_group_put(id->session->vd, join->group);
	vd_discharge(id->session, VD_RES_GROUPS, 1);
	free(join);
}

void vd_cm_leave_all(struct vd_cm_id *id)
{
	struct vd_cm_join *join;

	while ((join = TAILQ_FIRST(&id->joins)) != NULL)
		free_join(id, join);
}

static int add_join(struct vd_cm_id *id, const struct wire_addr *addr)
{
	struct vd_session *session = id->session;
	struct vd_cm_join *join;
	int err;

	if (find_join(id, addr) != NULL)
		return -EADDRINUSE;
	err = vd_charge(session, VD_RES_GROUPS, 1);
	if (err != 0)
		return err;
	join = calloc(1, sizeof(*join));
	if (join == NULL) {
		err = -ENOMEM;
		goto discharge;
	}
	join->addr = *addr;
	err = vd_group_get(session->vd, id->device, addr, &join->group);
	if (err != 0)
		goto free_join;
	TAILQ_INSERT_TAIL(&id->joins, join, link);
	return 0;

free_join:
	free(join);
discharge:
	vd_discharge(session, VD_RES_GROUPS, 1);
	return err;
}

int vd_op_cm_join_mcast(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_mcast.id);
	struct vc_cm_event event = {.type = RDMA_CM_EVENT_MULTICAST_JOIN,
		.mcast_cookie = request->cm_mcast.cookie,
		.param = {.qpn = VD_GROUP_QPN, .qkey = VD_CM_UDP_QKEY, .qp_type = IBV_QPT_UD},
		.av = {.hop_limit = VD_GRH_HOPS}};
	struct wire_addr addr;
	uint16_t port;
	int err;

	(void)answer;
	if (id == NULL || !vd_cm_is_datagram(id) || !id->has_device ||
		id->family != request->cm_mcast.addr.family)
		return -EINVAL;
	err = vd_cm_take_addr(&request->cm_mcast.addr, &addr, &port);
	if (err == 0 && wire_addr_is_v4(&addr) != wire_addr_is_v4(&id->src))
		err = -EINVAL;
	if (err == 0)
		err = vd_cm_gid_index(id, &id->src, &event.av.sgid_index);
	if (err == 0)
		err = add_join(id, &addr);
	if (err != 0)
		return err;
	memcpy(event.av.dgid, addr.b, sizeof(event.av.dgid));
	(void)vd_cm_emit_event(id, id, &event);
	return 0;
}

int vd_op_cm_leave_mcast(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_mcast.id);
	struct vd_cm_join *join;
	struct wire_addr addr;
	uint16_t port;
	int err;

	(void)answer;
	if (id == NULL)
		return -EINVAL;
	err = vd_cm_take_addr(&request->cm_mcast.addr, &addr, &port);
	if (err != 0)
		return err;
	join = find_join(id, &addr);
	if (join == NULL)
		return -EADDRNOTAVAIL;
	free_join(id, join);
	return 0;
}
