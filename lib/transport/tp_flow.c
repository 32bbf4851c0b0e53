/* SPDX-License-Identifier: BSD-3-Clause */
#include "tp_flow.h"
#include "tp_pace.h"

#include <errno.h>
#include <stdlib.h>

int tp_flow_init(struct tp_qp *qp)
{
	const struct path_sched_config *plain = qp->tp->config.plain;

	if (plain == NULL || !qp->type->acknowledged || qp->type->send == NULL)
		return 0;
	/* It may be another configuration by the time that it is connected. */
	qp->flow = calloc(1, offsetof(struct tp_flow, sched) + path_sched_bytes(TP_PLAIN_EVS));
	return qp->flow != NULL ? 0 : -ENOMEM;
}

void tp_flow_free(struct tp_qp *qp)
{
	free(qp->flow);
}

void tp_flow_reset(struct tp_qp *qp)
{
	struct tp_flow *f = qp->flow;

	if (f == NULL)
		return;
	if (qp->tp->config.plain == NULL) {
		free(f);
		qp->flow = NULL;
		return;
	}
	f->last_send_ns = 0;
	memset(f->sent, 0, sizeof(f->sent));
	f->ev = 0;
	f->timing = false;
	path_sched_init(&f->sched, qp->tp->config.plain, qp->tp->config.seed ^ (uint64_t)qp->qpn << 32);
}

static uint32_t in_flight(const struct tp_qp *qp)
{
	return tp_min(tp_psn_dist(qp->req.snd_max, qp->req.una), UINT16_MAX) * qp->mtu;
}

void tp_flow_route(struct tp_qp *qp, struct wire_pkt *pkt)
{
	struct tp_flow *f = qp->flow;
	const struct path_sched_view view = {
		.now_ns = qp->tp->now_ns,
		.last_send_ns = f->last_send_ns,
		.in_flight_bytes = in_flight(qp),
	};
	uint8_t ev = path_sched_pick(&f->sched, &view);

	if (ev != f->ev)
		TP_COUNT(qp, moves);
	f->ev = ev;
	f->sent[ev]++;
	f->last_send_ns = view.now_ns;
	pkt->udp_sport = tp_port_of(qp->attr.av.udp_sport, ev);
	if (f->timing || !pkt->ack_req || pkt->psn != qp->req.snd_max)
		return;
	f->timing = true;
	f->timed_ev = ev;
	f->timed_psn = pkt->psn;
	f->timed_ns = view.now_ns;
}

void tp_flow_acked(struct tp_qp *qp, uint32_t psn)
{
	struct tp_flow *f = qp->flow;
	uint64_t rtt_ns = qp->tp->now_ns - f->timed_ns;

	if (!f->timing || tp_psn_dist(f->timed_psn, qp->req.una) >= tp_psn_dist(psn, qp->req.una))
		return;
	f->timing = false;
	if (rtt_ns != 0)
		path_sched_acked(&f->sched, f->timed_ev, false, (uint32_t)RTE_MIN(rtt_ns, (uint64_t)INT32_MAX),
			qp->tp->now_ns);
}

void tp_flow_went_back(struct tp_qp *qp)
{
	if (qp->flow != NULL)
		qp->flow->timing = false;
}

void tp_flow_timeout(struct tp_qp *qp)
{
	if (qp->flow != NULL && qp->ext == NULL && qp->tp->config.move_on_timeout)
		path_sched_timeout(&qp->flow->sched, qp->flow->ev, qp->tp->now_ns);
}

bool tp_flow_holds(const struct tp_qp *qp)
{
	return qp->ext == NULL && path_sched_holds(&qp->flow->sched, in_flight(qp));
}

int tp_flow_paths(const struct tp_qp *qp, struct tp_paths *paths)
{
	const struct tp_flow *f = qp->flow;
	struct path_sched_stats now;

	if (f == NULL || (qp->attr.state != TP_QPS_RTS && qp->attr.state != TP_QPS_SQD))
		return -ENOTSUP;
	(void)path_sched_stats(&f->sched, f->ev, &now);
	paths->scheduler = path_sched_name(f->sched.config->kind);
	paths->in_order = true;
	paths->srtt_ns = now.srtt_ns;
	paths->window = qp->req.window;
	tp_pace_tell(qp, paths);
	paths->n = f->sched.config->n_evs;
	for (uint8_t ev = 0; ev < paths->n; ev++) {
		paths->path[ev].udp_sport = tp_port_of(qp->attr.av.udp_sport, ev);
		paths->path[ev].sent = f->sent[ev];
		(void)path_sched_stats(&f->sched, ev, &paths->path[ev].stats);
	}
	return 0;
}
