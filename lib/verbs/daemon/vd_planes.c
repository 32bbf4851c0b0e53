/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planes: the other ports of a device. Hosts have the same host part in the network of each plane, so a peer's addresses
 * there follow from the one that is known, and nothing has to be exchanged but how many planes there are.
 */
#include "vd_internal.h"

static const struct vd_gid *find_gid(const struct vd_device *device, const struct wire_addr *addr)
{
	for (uint32_t i = 0; i < device->n_gids; i++) {
		if (vd_addr_equal(&device->gids[i].addr, addr))
			return &device->gids[i];
	}
	return NULL;
}

/* The plane's address that is to gid what dst's is to dst; false: it has none, or dst is in another network. */
static bool addrs_on(const struct vd_plane *plane, const struct vd_gid *gid, const struct wire_addr *dst,
	struct wire_l2l3 *net)
{
	uint32_t bits = wire_addr_prefix(&gid->addr, gid->prefix_len);

	if (!wire_addr_same_network(&gid->addr, dst, bits))
		return false;
	for (uint32_t i = 0; i < plane->n_addrs; i++) {
		const struct vd_gid *addr = &plane->addrs[i];

		if (addr->prefix_len != gid->prefix_len || !wire_addr_same_host(&gid->addr, &addr->addr, bits))
			continue;
		net->src = addr->addr;
		net->dst = wire_addr_move(dst, &addr->addr, bits);
		return true;
	}
	return false;
}

static bool hold_one(struct vd_session *session, uint32_t p, const struct tp_av *av, struct tp_av *out, void **link)
{
	struct vd *vd = session->vd;
	const struct vd_device *device = &vd->devices[session->device];
	const struct vd_plane *plane = &device->planes[p];
	const struct vd_gid *gid = find_gid(device, &av->net.src);

	*out = *av;
	if (gid == NULL || !addrs_on(plane, gid, &av->net.dst, &out->net))
		return false;
	memcpy(out->net.smac, plane->mac, sizeof(out->net.smac));
	out->net.has_vlan = plane->has_vlan;
	out->net.vlan_tci = plane->vlan_tci;
	*link = vd->env.hold_link(vd->env_arg, session->device, p, &out->net.src, &out->net.dst);
	out->link = *link;
	return *link != NULL;
}

/* All or none: both ends count planes alike. */
uint32_t vd_planes_hold(struct vd_session *session, const struct tp_av *av, uint32_t n, struct tp_av *planes,
	void **links)
{
	const struct vd_device *device = &session->vd->devices[session->device];

	if (session->vd->env.hold_link == NULL)
		return 0;
	if (n > device->n_planes)
		n = device->n_planes;
	for (uint32_t p = 0; p < n; p++) {
		if (hold_one(session, p, av, &planes[p], &links[p]))
			continue;
		vd_planes_release(session->vd, links);
		return 0;
	}
	return n;
}

void vd_planes_release(struct vd *vd, void **links)
{
	for (uint32_t p = 0; p < TP_MAX_PLANES - 1; p++) {
		vd_release_link(vd, links[p]);
		links[p] = NULL;
	}
}

static const struct vd_qp *find_qp(struct vd *vd, uint32_t qpn)
{
	struct vd_session *session;
	struct vd_qp *qp;

	TAILQ_FOREACH(session, &vd->sessions, link)
	{
		if (session->kind != VD_KIND_VERBS)
			continue;
		for (uint32_t i = 0; (qp = vd_table_next(&session->qps, &i)) != NULL;) {
			if (qp->qpn == qpn)
				return qp;
		}
	}
	return NULL;
}

int vd_find_peer(struct vd *vd, uint32_t qpn, struct vd_qp_peer *peer)
{
	static const struct wire_addr none;
	const struct vd_qp *qp = find_qp(vd, qpn);
	const struct vd_device *device;
	struct wire_l2l3 net;

	memset(peer, 0, sizeof(*peer));
	if (qp == NULL)
		return -ENOENT;
	peer->qpn = qp->dest_qpn;
	memcpy(peer->addrs[0].b, qp->av.dgid, sizeof(peer->addrs[0].b));
	if (vd_addr_equal(&peer->addrs[0], &none))
		return 0;
	peer->n_addrs = 1;
	device = &vd->devices[qp->session->device];
	for (uint32_t p = 0; p < device->n_planes; p++) {
		if (qp->av.sgid_index < device->n_gids &&
			addrs_on(&device->planes[p], &device->gids[qp->av.sgid_index], &peer->addrs[0], &net))
			peer->addrs[peer->n_addrs++] = net.dst;
	}
	return 0;
}
