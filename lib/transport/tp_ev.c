/* SPDX-License-Identifier: BSD-3-Clause */
/* Entropy values (EVs): which one a packet takes, and what acknowledgements tell of them. */
#include "tp_ext.h"
#include "tp_recovery.h"

#define PICK_TRIES   4u
#define SLOW_NS      10000000u
#define SLOW_RTTS    100u
#define QUEUED_RTTS  3u   /* smoothed round trip in least ones */

uint16_t tp_ev_port(const struct tp_ext *x, uint8_t ev)
{
	return tp_port_of(x->port0, ev);
}

void tp_ev_route(const struct tp_ext *x, struct wire_pkt *pkt, uint8_t ev)
{
	pkt->udp_sport = tp_ev_port(x, ev);
	pkt->plane = (uint8_t)(ev % (1 + x->n_planes));
}

uint8_t tp_ev_of_port(const struct tp_ext *x, uint16_t port)
{
	uint32_t ev = tp_port_ev(x->port0, port);

	return ev < x->sched.config->n_evs ? (uint8_t)ev : PATH_SCHED_NO_EV;
}

uint8_t tp_ev_pick(struct tp_ext *x, uint32_t wr, uint32_t psn, uint8_t but)
{
	const struct tp_swr *swr = tp_req_swr(x->qp, wr);
	const struct path_sched_view view = {
		.now_ns = x->qp->tp->now_ns,
		.last_send_ns = x->last_send_ns,
		.in_flight_bytes = x->n_sent * x->qp->mtu,
		.message_packets = swr->n_psn,
		/* What is sent again is not of a message that stays together. */
		.message_at = but == PATH_SCHED_NO_EV ? tp_psn_dist(psn, swr->psn) : 0,
	};
	uint8_t ev = path_sched_pick(&x->sched, &view);

	for (uint32_t i = 0; ev == but && i < PICK_TRIES; i++)
		ev = path_sched_pick(&x->sched, &view);
	x->last_send_ns = view.now_ns;
	return ev;
}

/* Answers are not acknowledged, so nothing is learnt by them: they go round over all that is not dead, but on the plane
 * that the latest request came by, which works; who misses an answer asks for it again by another one. */
void tp_ev_route_answer(struct tp_ext *x, struct wire_pkt *pkt)
{
	uint8_t n = x->sched.config->n_evs, planes = (uint8_t)(1 + x->n_planes);

	for (uint8_t i = 0; i < n; i++) {
		x->answer_ev = (uint8_t)(x->answer_ev + 1 < n ? x->answer_ev + 1 : 0);
		if (path_sched_alive(&x->sched, x->answer_ev) && x->answer_ev % planes == x->rx_plane)
			break;
	}
	tp_ev_route(x, pkt, x->answer_ev);
}

/* The largest round trip of the last one or two periods: slow paths are used seldom, so it must not fade by what
 * others say. */
static void learn_slow(struct tp_ext *x, uint32_t rtt_ns)
{
	uint64_t now_ns = x->qp->tp->now_ns;

	if (now_ns >= x->slow_until_ns) {
		x->slow_ns = x->slow_new_ns;
		x->slow_new_ns = 0;
		x->slow_until_ns = now_ns + RTE_MAX((uint64_t)SLOW_NS, (uint64_t)x->srtt_ns * SLOW_RTTS);
	}
	x->slow_new_ns = RTE_MAX(x->slow_new_ns, rtt_ns);
	x->slow_ns = RTE_MAX(x->slow_ns, rtt_ns);
}

/* RFC 6298, 2, with all paths in one. Its variance would be that between the paths, so slow_ns stands for it. */
static void learn_rtt(struct tp_ext *x, uint32_t rtt_ns)
{
	if (x->srtt_ns == 0)
		x->srtt_ns = x->least_ns = rtt_ns;
	x->least_ns = RTE_MIN(x->least_ns, rtt_ns);
	x->srtt_ns = (uint32_t)(((uint64_t)x->srtt_ns * 7 + rtt_ns) / 8);
}

/* Karn's rule: what was sent more than once tells no time, but when the EV says which sending it was. Taken as lost too
 * early, it must: else the timeout would stay too short, and each round would send all again. Nor does a copy that was
 * sent for a probe tell any. TP_EV_NEVER_NS: not known. */
static uint64_t sent_at(const struct tp_sr_pkt *e, uint8_t ev)
{
	if (e->times == 0 || (e->times != 1 && e->first_ev == e->ev))
		return TP_EV_NEVER_NS;
	if (e->first_ev == ev)
		return e->first_ns;
	return e->times == 2 && e->ev == ev ? e->sent_ns : TP_EV_NEVER_NS;
}

void tp_ev_echo(struct tp_ext *x, uint8_t ev, const struct tp_sr_pkt *e, uint32_t psn, bool marked, uint64_t wait_ns)
{
	uint64_t now_ns = x->qp->tp->now_ns, rtt_ns = 0, sent_ns;

	if (ev == PATH_SCHED_NO_EV)
		return;
	sent_ns = e->psn == psn ? sent_at(e, ev) : TP_EV_NEVER_NS;
	if (sent_ns < now_ns && now_ns - sent_ns > wait_ns)
		rtt_ns = RTE_MIN(now_ns - sent_ns - wait_ns, (uint64_t)INT32_MAX);
	if (rtt_ns != 0) {
		learn_rtt(x, (uint32_t)rtt_ns);
		learn_slow(x, (uint32_t)rtt_ns);
		x->qp->req.hold.wait_ns = RTE_MAX(x->qp->init.reorder_ns, (uint64_t)x->slow_ns * 3 / 2);
	}
	path_sched_acked(&x->sched, ev, marked, (uint32_t)rtt_ns, now_ns);
	tp_recovery_acked(x->qp, (uint32_t)rtt_ns, marked, tp_ev_congested(x, ev));
}

uint64_t tp_ev_guard_ns(const struct tp_ext *x, uint8_t ev, bool many)
{
	/* With few to go by, no path that was seen lately may be so slow. */
	uint64_t all_ns = many ? x->srtt_ns : (uint64_t)x->slow_ns * 5 / 4;
	struct path_sched_stats stats;

	if (path_sched_stats(&x->sched, ev, &stats) != 0 || !stats.alive)
		return all_ns;
	/* Nothing is known of it: it may be slower than any other. */
	if (stats.srtt_ns == 0)
		return TP_EV_NEVER_NS;
	/* Some schedulers let what they know of a slow path fade, so that it is tried again. */
	return RTE_MAX((uint64_t)RTE_MAX(stats.srtt_ns, stats.min_rtt_ns) * 2, all_ns);
}

bool tp_ev_congested(const struct tp_ext *x, uint8_t ev)
{
	struct path_sched_stats stats;

	/* A queue that all share, at the receiver: an EV that was seldom used says nothing of it. */
	if (x->srtt_ns / QUEUED_RTTS > x->least_ns)
		return true;
	if (path_sched_stats(&x->sched, ev, &stats) != 0)
		return false;
	return stats.ecn_percent >= 10 || stats.srtt_ns / 3 > stats.min_rtt_ns / 2;
}
