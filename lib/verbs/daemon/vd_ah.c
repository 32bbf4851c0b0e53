/* SPDX-License-Identifier: BSD-3-Clause */
/* Address vectors, of queue pairs and as objects of their own. */
#include <stdlib.h>

#include "vd_internal.h"

#define FLOW_LABEL_MASK 0xfffffu
#define SPORT_BASE      0xc000u

int vd_av_check(const struct vd_device *device, const struct vc_av *av, struct wire_addr *src,
	struct wire_addr *dst)
{
	if (av->sgid_index >= device->n_gids || vd_addr_is_zero(&device->gids[av->sgid_index].addr))
		return -EINVAL;
	*src = device->gids[av->sgid_index].addr;
	memcpy(dst->b, av->dgid, sizeof(dst->b));
	if (vd_addr_is_zero(dst) || wire_addr_is_v4(src) != wire_addr_is_v4(dst))
		return -EINVAL;
	return 0;
}

/* UDP source port as Linux makes it, so that both directions of a connection take the same path:
 * from the flow label, or without one from both QP numbers. */
static uint16_t udp_sport(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn)
{
	uint32_t f = flow_label & FLOW_LABEL_MASK;

	if (f == 0) {
		uint64_t v = (uint64_t)local_qpn * remote_qpn;

		v ^= v >> 20;
		v ^= v >> 40;
		f = (uint32_t)v & FLOW_LABEL_MASK;
	}
	return (uint16_t)(SPORT_BASE | ((f & 0x3fff) ^ (f >> 14)));
}

void vd_av_build(const struct vd_device *device, const struct vc_av *av, uint32_t local_qpn,
	uint32_t remote_qpn, void *link, struct tp_av *out)
{
	memset(out, 0, sizeof(*out));
	(void)vd_av_check(device, av, &out->net.src, &out->net.dst);
	memcpy(out->net.smac, device->mac, sizeof(out->net.smac));
	out->net.vlan_tci = device->vlan_tci;
	out->net.has_vlan = device->has_vlan;
	out->l3_version = wire_addr_is_v4(&out->net.dst) ? 4 : 6;
	out->tos = av->traffic_class;
	/* Applications leave 0 or 1 there, made for InfiniBand; Linux puts the route's hop limit in
	 * its place. */
	out->ttl = av->hop_limit <= 1 ? VD_GRH_HOPS : av->hop_limit;
	out->udp_sport = udp_sport(av->flow_label, local_qpn, remote_qpn);
	out->link = link;
}

/* ---- address handles ---- */

struct ah_call {
	struct vd_session *session;
	struct vd_ah *ah;
	struct tp_av av;
	int err;
};

static void create_call(void *arg)
{
	struct ah_call *call = arg;
	struct vd_ah *ah = call->ah;

	call->err = tp_ah_create(vd_tp(call->session), ah->pd->number, &call->av, &ah->number);
}

static void destroy_call(void *arg)
{
	struct ah_call *call = arg;

	(void)tp_ah_destroy(vd_tp(call->session), call->ah->number);
}

static void drop_ah(struct vd_session *session, struct vd_ah *ah)
{
	vd_table_del(&session->ahs, ah->handle);
	session->vd->stats.ahs--;
	ah->pd->refs--;
	free(ah);
}

static void ah_resolved(struct vd_resolving *resolving, int status, void *link)
{
	struct vd_session *session = resolving->session;
	const struct vc_request *request = &resolving->request;
	struct vd_ah *ah = resolving->obj;
	struct ah_call call = {.session = session, .ah = ah};
	struct vd_answer answer = {0};

	if (status == 0) {
		vd_av_build(&session->vd->devices[session->device], &request->create_ah.av, 0, 0,
			link, &call.av);
		vd_call(session, create_call, &call);
		status = call.err;
		if (status != 0)
			vd_release_link(session->vd, link);
	}
	if (status == 0) {
		ah->link = link;
		answer.reply.ah.handle = ah->handle;
		answer.reply.ah.number = ah->number;
	} else {
		drop_ah(session, ah);
	}
	vd_answer_later(session, request, status, &answer);
}

int vd_op_create_ah(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	const struct vd_device *device = &session->vd->devices[session->device];
	struct vd_pd *pd = vd_table_get(&session->pds, request->create_ah.pd);
	struct wire_addr src, dst;
	struct vd_ah *ah;
	int err;

	(void)answer;
	if (pd == NULL)
		return -EINVAL;
	err = vd_av_check(device, &request->create_ah.av, &src, &dst);
	if (err != 0)
		return err;
	ah = calloc(1, sizeof(*ah));
	if (ah == NULL)
		return -ENOMEM;
	err = vd_table_add(&session->ahs, ah, &ah->handle);
	if (err != 0) {
		free(ah);
		return err;
	}
	ah->pd = pd;
	pd->refs++;
	session->vd->stats.ahs++;
	err = vd_resolve(session, session->device, &src, &dst, ah_resolved, ah, request);
	if (err == 0)
		return VD_DEFERRED;
	drop_ah(session, ah);
	return err;
}

int vd_op_destroy_ah(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_ah *ah = vd_table_get(&session->ahs, request->object.handle);
	struct ah_call call = {.session = session, .ah = ah};

	(void)answer;
	if (ah == NULL)
		return -EINVAL;
	vd_call(session, destroy_call, &call);
	vd_release_link(session->vd, ah->link);
	drop_ah(session, ah);
	return 0;
}
