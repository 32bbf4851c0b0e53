/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs and clients, as people are told of them. Main thread. */
#include <stdlib.h>
#include <string.h>

#include "vd_internal.h"

#define TELL_AT_ONCE 32 /* queue pairs; the worker does nothing else meanwhile */

/* ---- queue pairs ---- */

static uint32_t count_qps(const struct vd *vd)
{
	const struct vd_session *session;
	uint32_t n = 0;

	TAILQ_FOREACH(session, &vd->sessions, link)
	{
		if (session->kind == VD_KIND_VERBS)
			n += session->qps.live;
	}
	return n;
}

static uint32_t gather_qps(const struct vd *vd, struct vd_qp **qps)
{
	struct vd_session *session;
	struct vd_qp *qp;
	uint32_t n = 0;

	TAILQ_FOREACH(session, &vd->sessions, link)
	{
		if (session->kind != VD_KIND_VERBS)
			continue;
		for (uint32_t i = 0; (qp = vd_table_next(&session->qps, &i)) != NULL;)
			qps[n++] = qp;
	}
	return n;
}

static int by_number(const void *a, const void *b)
{
	const struct vd_qp *one = *(struct vd_qp *const *)a, *other = *(struct vd_qp *const *)b;

	if (one->qpn != other->qpn)
		return one->qpn < other->qpn ? -1 : 1;
	return one->session->slot < other->session->slot ? -1 : one->session->slot > other->session->slot;
}

struct tell_call {
	struct vd_qp *const *qps;
	struct vd_qp_told *told;
	uint32_t n;
};

/* In the worker. */
static void tell_call(void *arg)
{
	const struct tell_call *call = arg;

	for (uint32_t i = 0; i < call->n; i++) {
		const struct tp_qp *tp_qp = vd_qp_real(call->qps[i])->tp_qp;

		tp_qp_stats(tp_qp, &call->told[i].stats);
		call->told[i].has_paths = tp_qp_paths(tp_qp, &call->told[i].paths) == 0;
	}
}

static void tell_qp(const struct vd *vd, struct vd_qp *qp, struct vd_qp_told *told)
{
	const struct vd_qp *real = vd_qp_real(qp);

	memset(told, 0, offsetof(struct vd_qp_told, paths));
	told->qpn = qp->qpn;
	told->peer_qpn = real->dest_qpn;
	memcpy(told->peer.b, real->av.dgid, sizeof(told->peer.b));
	told->device = vd->devices[qp->session->device].name;
	told->pid = qp->session->pid;
	told->uid = qp->session->uid;
	told->worker = qp->session->worker;
	told->type = qp->type;
}

uint32_t vd_tell_qps(struct vd *vd, uint32_t from, struct vd_qp_told *told, uint32_t most, uint32_t *all)
{
	uint32_t n = 0, count = count_qps(vd);
	struct vd_qp **qps = count > from ? calloc(count, sizeof(struct vd_qp *)) : NULL;

	*all = count;
	if (qps == NULL)
		return 0;
	gather_qps(vd, qps);
	qsort(qps, count, sizeof(struct vd_qp *), by_number);
	most = count - from < most ? count - from : most;
	while (n < most) {
		struct vd_qp **first = &qps[from + n];
		struct tell_call call = {.qps = first, .told = told + n};

		while (n < most && call.n < TELL_AT_ONCE && first[call.n]->session->worker == first[0]->session->worker) {
			tell_qp(vd, first[call.n++], &told[n]);
			n++;
		}
		vd_call(first[0]->session, tell_call, &call);
	}
	free(qps);
	return n;
}

/* ---- clients ---- */

static void tell_client(const struct vd_session *session, struct vd_client_told *told)
{
	bool cm = session->kind == VD_KIND_CM;

	*told = (struct vd_client_told){
		.number = session->slot,
		.pid = session->pid,
		.uid = session->uid,
		.cm = cm,
		.device = cm ? "" : session->vd->devices[session->device].name,
		.worker = session->worker,
		.cm_ids = session->cm_ids.live,
		.registered_bytes = session->used[VD_RES_REGISTERED_BYTES],
		.mapped_bytes = session->mapped_bytes,
		.ring_bytes = session->used[VD_RES_RING_BYTES],
	};
	if (cm)
		return;
	told->pds = session->pds.live;
	told->mrs = session->mrs.live;
	told->mws = session->mws.live;
	told->cqs = session->cqs.live;
	told->srqs = session->srqs.live;
	told->qps = session->qps.live;
	told->ahs = session->ahs.live;
}

uint32_t vd_tell_clients(const struct vd *vd, uint32_t from, struct vd_client_told *told, uint32_t most, uint32_t *all)
{
	const struct vd_session *session;
	uint32_t n = 0;

	*all = 0;
	TAILQ_FOREACH(session, &vd->sessions, link)
	{
		if (session->kind == VD_KIND_NEW)
			continue;
		if ((*all)++ >= from && n < most)
			tell_client(session, &told[n++]);
	}
	return n;
}
