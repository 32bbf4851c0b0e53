/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which queue pairs do more than the specification, and with whom (docs/multipath.md). A peer agrees by connection
 * management, where its answer counts, or, if the two were connected in another way, by the list in the configuration.
 */
#include <syslog.h>

#include "vd_cm.h"

struct plain_call {
	struct vd_session *session;
	struct vd_qp *qp;
};

bool vd_multipath_may(const struct vd_device *device, enum tp_qp_type type)
{
	return device->multipath && type == TP_QPT_RC;
}

/* What the configuration says of that host; NULL: nothing. */
static const struct vd_peers *find_peers(const struct vd *vd, const struct wire_addr *dst)
{
	const struct vd_peers *best = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < vd->multipath->n_peers; i++) {
		const struct vd_peers *peers = &vd->multipath->peers[i];
		uint32_t bits = wire_addr_prefix(&peers->network.addr, peers->network.prefix_len);

		if (!wire_addr_same_network(&peers->network.addr, dst, bits) || (best != NULL && bits <= most))
			continue;
		best = peers;
		most = bits;
	}
	return best;
}

static const struct tp_merge_config *merge_for(const struct vd *vd, const struct vd_peers *peers)
{
	return peers != NULL ? &peers->merge : &vd->multipath->merge;
}

struct cm_ext vd_multipath_offer(const struct vd_qp *qp, const struct wire_addr *dst)
{
	const struct vd_peers *peers;
	const struct vd *vd;
	uint32_t n_planes;

	if (qp == NULL || !qp->may_ext || !qp->session->vd->multipath->negotiate)
		return (struct cm_ext){0};
	vd = qp->session->vd;
	peers = find_peers(vd, dst);
	n_planes = vd->devices[qp->session->device].n_planes;
	if (peers != NULL && peers->max_planes < n_planes)
		n_planes = peers->max_planes;
	return (struct cm_ext){
		.flags = (uint8_t)(CM_EXT_SACK | (merge_for(vd, peers)->max_bytes != 0 ? CM_EXT_MERGE : 0)),
		.psn_ring = TP_EXT_PSN_RING,
		.planes = (uint8_t)n_planes,
	};
}

/* ---- who has agreed ---- */

/* The passive side brings its queue pair up before it says which one it is. */
static bool is_connection(const struct vd_cm_id *id, const struct vd_qp *qp, uint32_t dest_qpn,
	const struct wire_addr *src, const struct wire_addr *dst)
{
	const struct cm_qp_params *params = &id->qp;

	return id->step == VD_CM_CONNECTION && id->qp_known && params->qp_type == CM_QP_RC &&
		params->remote_qpn == dest_qpn && (params->local_qpn == 0 || params->local_qpn == qp->qpn) &&
		vd_addr_equal(&params->path.local, src) && vd_addr_equal(&params->path.remote, dst);
}

/* The connection of one of the user's programs that the queue pair is for, NULL: none. */
static const struct vd_cm_id *find_connection(
	const struct vd_qp *qp, uint32_t dest_qpn, const struct wire_addr *src, const struct wire_addr *dst)
{
	const struct vd_session *session;
	const struct vd_cm_id *id;

	TAILQ_FOREACH(session, &qp->session->vd->sessions, link)
	{
		if (session->kind != VD_KIND_CM || session->uid != qp->session->uid)
			continue;
		for (uint32_t i = 0; (id = vd_table_next(&session->cm_ids, &i)) != NULL;) {
			if (is_connection(id, qp, dest_qpn, src, dst))
				return id;
		}
	}
	return NULL;
}

static const struct path_sched_config *sched_for(const struct vd *vd, const struct vd_peers *peers)
{
	const struct path_sched_config *sched = peers != NULL ? &peers->sched : &vd->multipath->sched;

	return sched->n_evs != 0 ? sched : NULL;
}

static uint32_t flags_of(uint8_t cm_flags)
{
	return TP_EXT_SACK | ((cm_flags & CM_EXT_MERGE) != 0 ? TP_EXT_MERGE : 0);
}

struct vd_agreement vd_multipath_agreed(const struct vd_qp *qp, const struct vc_av *av, uint32_t dest_qpn)
{
	struct vd *vd = qp->session->vd;
	struct vd_agreement agreed = {0};
	const struct vd_peers *peers;
	const struct vd_cm_id *id;
	struct wire_addr src, dst;
	struct cm_ext offer;
	uint8_t both;

	if (vd_av_check(&vd->devices[qp->session->device], av, &src, &dst) != 0)
		return agreed;
	peers = find_peers(vd, &dst);
	agreed.sched = sched_for(vd, peers);
	agreed.merge = *merge_for(vd, peers);
	offer = vd_multipath_offer(qp, &dst);
	id = find_connection(qp, dest_qpn, &src, &dst);
	both = id != NULL ? id->qp.ext.flags & offer.flags : 0;
	if ((both & CM_EXT_SACK) != 0 && id->qp.ext.psn_ring == TP_EXT_PSN_RING) {
		agreed.by_cm = true;
		agreed.n_planes = id->qp.ext.planes < offer.planes ? id->qp.ext.planes : offer.planes;
		agreed.ext = flags_of(both);
	} else if (id == NULL && peers != NULL && peers->without_cm) {
		/* Who is listed has as many as we have and uses as many, and takes what is merged whether or not it merges. */
		agreed.n_planes = peers->max_planes;
		agreed.ext = TP_EXT_SACK | TP_EXT_MERGE;
	}
	return agreed;
}

void vd_multipath_count(struct vd *vd, bool by_cm)
{
	if (by_cm)
		vd->stats.multipath_agreed++;
	else
		vd->stats.multipath_listed++;
}

/* ---- who has not, after all ---- */

static void plain_call(void *arg)
{
	struct plain_call *call = arg;

	tp_qp_plain(vd_tp(call->session), call->qp->tp_qp);
}

void vd_multipath_leave(struct vd_qp *qp)
{
	struct plain_call call = {.session = qp->session, .qp = qp};

	if (!qp->ext_on)
		return;
	vd_call(qp->session, plain_call, &call);
	qp->ext_on = false;
	qp->session->vd->stats.multipath_left++;
}

void vd_multipath_check(const struct vd_cm_id *id, const struct vd_qp *qp)
{
	struct vd *vd = id->session->vd;

	if (id->qp.ext.flags == 0 || (qp != NULL && qp->ext_on))
		return;
	vd->stats.multipath_mismatches++;
	vd_logf(vd, LOG_WARNING,
		"queue pair %#x was connected in another way than its connection says: its peer sprays packets, it"
		" takes them in order only", id->qp.local_qpn);
}

/* ---- what they know of their paths ---- */

struct paths_call {
	struct vd_qp *qp;
	struct tp_paths *paths;
	int err;
};

static void paths_call(void *arg)
{
	struct paths_call *call = arg;

	call->err = tp_qp_paths(call->qp->tp_qp, call->paths);
}

/* Those that spray, and those that may go from one path to another. */
static bool has_paths(const struct vd_qp *qp)
{
	return qp->ext_on || qp->type == TP_QPT_RC || qp->type == TP_QPT_XRC_INI;
}

static struct vd_qp *next_with_paths(struct vd *vd, uint32_t from)
{
	struct vd_qp *qp, *first = NULL;
	struct vd_session *session;

	TAILQ_FOREACH(session, &vd->sessions, link)
	{
		if (session->kind != VD_KIND_VERBS)
			continue;
		for (uint32_t i = 0; (qp = vd_table_next(&session->qps, &i)) != NULL;) {
			if (has_paths(qp) && qp->qpn >= from && (first == NULL || qp->qpn < first->qpn))
				first = qp;
		}
	}
	return first;
}

int vd_next_paths(struct vd *vd, uint32_t from, struct vd_qp_paths *out)
{
	struct vd_qp *qp;

	while ((qp = next_with_paths(vd, from)) != NULL) {
		struct paths_call call = {.qp = qp, .paths = &out->paths};

		vd_call(qp->session, paths_call, &call);
		/* It may have gone back to what its peer can. */
		qp->ext_on = qp->ext_on && call.err == 0 && !out->paths.in_order;
		if (call.err == 0)
			break;
		from = qp->qpn + 1;
	}
	if (qp == NULL)
		return -ENOENT;
	out->qpn = qp->qpn;
	out->peer_qpn = qp->dest_qpn;
	memcpy(out->peer.b, qp->av.dgid, sizeof(out->peer.b));
	out->device = vd->devices[qp->session->device].name;
	out->pid = qp->session->pid;
	out->uid = qp->session->uid;
	return 0;
}
