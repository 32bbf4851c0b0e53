/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a context: everything a dead client had is released, in the order of the references.
 */
#include <stdlib.h>
#include <unistd.h>

#include "vd_mcast.h"

/* In the worker's thread: nothing of the client is used there from now on. */
static void worker_call(void *arg)
{
	struct vd_session *session = arg;
	struct vd_worker *worker = &session->vd->workers[session->worker];
	struct tp *tp = vd_tp(session);
	struct vd_qp *qp;
	struct vd_srq *srq;
	struct vd_ah *ah;
	struct vd_mw *mw;
	struct vd_mr *mr;
	struct vd_cq *cq;
	uint32_t i;

	for (i = 0; (qp = vd_table_next(&session->qps, &i)) != NULL;) {
		if (qp->target != NULL) {
			vd_worker_leave_target(worker, tp, qp);
			continue;
		}
		vd_worker_forget_members(qp);
		vd_worker_forget_qp(worker, qp);
		tp_qp_destroy(tp, qp->tp_qp);
	}
	if (session->shaper != NULL)
		(void)tp_shaper_destroy(tp, session->shaper);
	for (i = 0; (srq = vd_table_next(&session->srqs, &i)) != NULL;) {
		vd_worker_forget_srq(worker, srq);
		(void)tp_srq_destroy(tp, srq->tp_srq);
	}
	for (i = 0; (ah = vd_table_next(&session->ahs, &i)) != NULL;)
		(void)tp_ah_destroy(tp, ah->number);
	/* Regions stay while windows are bound to them. */
	for (i = 0; (mw = vd_table_next(&session->mws, &i)) != NULL;)
		(void)tp_mw_destroy(tp, mw->rkey);
	for (i = 0; (mr = vd_table_next(&session->mrs, &i)) != NULL;)
		(void)tp_mr_destroy(tp, mr->key);
	for (i = 0; (cq = vd_table_next(&session->cqs, &i)) != NULL;)
		vd_worker_forget_cq(worker, cq);
	vd_worker_detach(worker, session);
}

static uint32_t free_all(struct vd_table *table)
{
	uint32_t i = 0, n = 0;
	void *obj;

	while ((obj = vd_table_next(table, &i)) != NULL) {
		free(obj);
		n++;
	}
	return n;
}

void vd_objects_free(struct vd_session *session)
{
	struct vd_comp_channel *channel;
	struct vd_xrcd_open *open;
	struct vd *vd = session->vd;
	struct vd_qp *qp;
	struct vd_ah *ah;
	struct vd_mr *mr;
	uint32_t i;

	vd_call(session, worker_call, session);
	for (i = 0; (qp = vd_table_next(&session->qps, &i)) != NULL;) {
		if (qp->target != NULL)
			vd_target_put(session, qp);
		vd_members_free(qp);
		vd_release_link(vd, qp->link);
		vd_planes_release(vd, qp->plane_links);
	}
	for (i = 0; (ah = vd_table_next(&session->ahs, &i)) != NULL;)
		vd_release_link(vd, ah->link);
	for (i = 0; (channel = vd_table_next(&session->comp_channels, &i)) != NULL;)
		close(channel->fd);
	for (i = 0; (mr = vd_table_next(&session->mrs, &i)) != NULL;)
		vd_map_free(session, mr->map);
	for (i = 0; (open = vd_table_next(&session->xrcds, &i)) != NULL;)
		vd_xrcd_put(vd, open->xrcd);
	(void)free_all(&session->xrcds);
	vd->stats.qps -= free_all(&session->qps);
	vd->stats.srqs -= free_all(&session->srqs);
	vd->stats.mrs -= free_all(&session->mrs);
	vd->stats.mws -= free_all(&session->mws);
	vd->stats.cqs -= free_all(&session->cqs);
	vd->stats.ahs -= free_all(&session->ahs);
	vd->stats.comp_channels -= free_all(&session->comp_channels);
	vd->stats.pds -= free_all(&session->pds);
}
