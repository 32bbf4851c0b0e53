/* SPDX-License-Identifier: BSD-3-Clause */
#include "tp_ext.h"
#include "tp_pace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tp_flow.h"
#include "tp_hold.h"

int tp_ext_init(struct tp_qp *qp)
{
	if (qp->init.ext == 0)
		return 0;
	qp->ext_memory = calloc(1, sizeof(*qp->ext_memory));
	if (qp->ext_memory == NULL)
		return -ENOMEM;
	qp->ext_memory->qp = qp;
	base_timer_init(&qp->ext_memory->timer, tp_rto_fired, qp->ext_memory);
	base_timer_init(&qp->ext_memory->merge_timer, tp_merge_fired, qp->ext_memory);
	return 0;
}

void tp_ext_free(struct tp_qp *qp)
{
	free(qp->ext_memory);
}

void tp_ext_planes(struct tp_qp *qp, const struct tp_qp_attr *attr)
{
	struct tp_ext *x = qp->ext_memory;

	x->n_planes = (uint8_t)attr->n_planes;
	if (attr->n_planes != 0)
		memcpy(x->plane, attr->planes, attr->n_planes * sizeof(attr->planes[0]));
}

/* Queue pairs of one peer begin on different EVs. */
static uint64_t seed_of(const struct tp_qp *qp)
{
	return qp->tp->config.seed ^ (uint64_t)qp->qpn << 32 ^ qp->attr.dest_qpn;
}

void tp_ext_start(struct tp_qp *qp)
{
	struct tp_ext *x = qp->ext_memory;
	const struct path_sched_config *sched = qp->attr.sched != NULL ? qp->attr.sched : &qp->tp->sched;

	path_sched_init(&x->sched, sched, seed_of(qp));
	x->port0 = qp->attr.av.udp_sport;
	x->answer_ev = x->rx_plane = 0;
	x->told_msn = 0;
	x->srtt_ns = x->least_ns = x->slow_ns = x->slow_new_ns = 0;
	x->slow_until_ns = 0;
	memset(x->n_on_ev, 0, sizeof(x->n_on_ev));
	tp_sack_clear(x);
	for (uint32_t i = 0; i < TP_SACK_REPLAYS; i++)
		x->replay[i].queued = false;
	qp->ext = x;
	x->merge = (qp->attr.ext & TP_EXT_MERGE) != 0 ? qp->attr.merge : (struct tp_merge_config){0};
	x->merge_n = 0;
	x->merge_due_ns = 0;
	x->merged_psns = 0;
	x->cc.config = NULL;
	x->senders = 0;
	if (qp->attr.cc != NULL)
		cc_init(&x->cc, qp->attr.cc);
	tp_sr_reset(qp);
	tp_hold_limit(&qp->resp.hold, TP_SR_RING - 1, TP_SR_FORGET_NS);
	tp_hold_limit(&qp->req.hold, TP_SR_RING - 1, qp->init.reorder_ns);
}

int tp_qp_paths(const struct tp_qp *qp, struct tp_paths *paths)
{
	const struct tp_ext *x = qp->ext;

	if (x == NULL)
		return tp_flow_paths(qp, paths);
	paths->scheduler = path_sched_name(x->sched.config->kind);
	paths->in_order = false;
	paths->srtt_ns = x->srtt_ns;
	paths->window = qp->req.window;
	tp_pace_tell(qp, paths);
	paths->n = x->sched.config->n_evs;
	for (uint8_t ev = 0; ev < paths->n; ev++) {
		struct tp_path *path = &paths->path[ev];

		path->udp_sport = tp_ev_port(x, ev);
		path->sent = x->n_on_ev[ev];
		(void)path_sched_stats(&x->sched, ev, &path->stats);
	}
	return 0;
}

void tp_qp_plain(struct tp *tp, struct tp_qp *qp)
{
	(void)tp;
	if (qp->ext == NULL)
		return;
	/* What is outstanding is for the ACK timer, which runs. */
	tp_ext_stop(qp);
	tp_activate(qp);
}

void tp_ext_stop(struct tp_qp *qp)
{
	if (qp->ext == NULL)
		return;
	base_timer_stop(&qp->tp->wheel, &qp->ext->timer);
	base_timer_stop(&qp->tp->wheel, &qp->ext->merge_timer);
	tp_sack_clear(qp->ext);
	qp->ext->n_planes = 0;
	qp->ext = NULL;
	tp_hold_limit(&qp->resp.hold, qp->init.reorder_pkts, qp->init.reorder_ns);
	tp_hold_limit(&qp->req.hold, qp->init.reorder_pkts, qp->init.reorder_ns);
}
