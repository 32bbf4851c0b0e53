/* SPDX-License-Identifier: BSD-3-Clause */
#include "tp_hold.h"

#include <errno.h>
#include <stdlib.h>

#define HOLD_SHARE       16u  /* of the room, if it is scarce: 1/16 */
#define HOLD_SCARCE_FROM 256u /* less room is not worth shares */

static uint32_t room_for(uint32_t reorder_pkts)
{
	uint32_t room = 1;

	if (reorder_pkts == 0)
		return 0;
	while (room <= reorder_pkts)
		room <<= 1;
	return room;
}

int tp_hold_init(struct tp_hold *hold, struct tp_qp *qp, uint32_t reorder_pkts, base_timer_fn gave_up)
{
	hold->qp = qp;
	hold->wait_ns = qp->init.reorder_ns;
	base_timer_init(&hold->timer, gave_up, qp);
	if (reorder_pkts == 0)
		return 0;
	hold->ring = calloc(room_for(reorder_pkts), sizeof(struct rte_mbuf *));
	if (hold->ring == NULL)
		return -ENOMEM;
	hold->size = room_for(reorder_pkts);
	hold->room = hold->size;
	return 0;
}

void tp_hold_free(struct tp_hold *hold)
{
	free(hold->ring);
	hold->ring = NULL;
}

static struct rte_mbuf **slot(const struct tp_hold *hold, uint32_t psn)
{
	return &hold->ring[psn & (hold->room - 1)];
}

bool tp_hold_has(const struct tp_hold *hold, uint32_t psn)
{
	return hold->n != 0 && *slot(hold, psn) != NULL && TP_PKT(*slot(hold, psn))->psn == psn;
}

static void start_timer(struct tp_hold *hold)
{
	struct tp *tp = hold->qp->tp;

	if (hold->wait_ns != UINT64_MAX)
		base_timer_start(&tp->wheel, &hold->timer, tp->now_ns + hold->wait_ns);
}

void tp_hold_done(struct tp_hold *hold, struct rte_mbuf *m)
{
	struct tp *tp = hold->qp->tp;

	tp->n_held--;
	tp->ops.pkt_free(tp->env, m);
}

void tp_hold_take(struct tp_hold *hold, struct rte_mbuf *m)
{
	*slot(hold, TP_PKT(m)->psn) = NULL;
	hold->n--;
}

static void forget(struct tp_hold *hold, uint32_t psn)
{
	struct rte_mbuf *m = *slot(hold, psn);

	if (m == NULL)
		return;
	tp_hold_take(hold, m);
	tp_hold_done(hold, m);
}

void tp_hold_move(struct tp_hold *hold, uint32_t psn)
{
	uint32_t steps = tp_min(tp_psn_dist(psn, hold->base), hold->room);

	if (psn == hold->base)
		return;
	for (uint32_t i = 0; i < steps && hold->n != 0; i++)
		forget(hold, base_psn_add(hold->base, i));
	hold->base = psn;
	base_timer_stop(&hold->qp->tp->wheel, &hold->timer);
	if (hold->n != 0)
		start_timer(hold);
}

void tp_hold_clear(struct tp_hold *hold, uint32_t psn)
{
	for (uint32_t i = 0; i < hold->room && hold->n != 0; i++)
		forget(hold, i);
	hold->base = psn;
	base_timer_stop(&hold->qp->tp->wheel, &hold->timer);
}

void tp_hold_limit(struct tp_hold *hold, uint32_t reorder_pkts, uint64_t wait_ns)
{
	tp_hold_clear(hold, hold->base);
	hold->room = tp_min(room_for(reorder_pkts), hold->size);
	hold->wait_ns = wait_ns;
}

/* When half of the room is taken no queue pair gets more than its share: else a few with a hole that is never filled
 * would have all of it. */
static bool scarce(const struct tp *tp)
{
	return tp->config.max_held >= HOLD_SCARCE_FROM && tp->n_held >= tp->config.max_held / 2;
}

bool tp_hold_put(struct tp_hold *hold, struct rte_mbuf *m)
{
	struct tp *tp = hold->qp->tp;
	uint32_t psn = TP_PKT(m)->psn;

	if (tp_psn_dist(psn, hold->base) >= hold->room)
		return false;
	if (*slot(hold, psn) != NULL) {
		TP_COUNT(hold->qp, duplicates);
		return true;
	}
	if (tp->n_held >= tp->config.max_held || (scarce(tp) && hold->n >= tp->config.max_held / HOLD_SHARE))
		return false;
	tp->ops.pkt_keep(tp->env, m);
	*slot(hold, psn) = m;
	hold->n++;
	tp->n_held++;
	TP_COUNT(hold->qp, reordered);
	hold->qp->counters.most_ahead = RTE_MAX(hold->qp->counters.most_ahead, tp_psn_dist(psn, hold->base));
	if (!hold->timer.armed)
		start_timer(hold);
	return true;
}

struct rte_mbuf *tp_hold_first(const struct tp_hold *hold)
{
	for (uint32_t i = 0; hold->n != 0 && i < hold->room; i++) {
		struct rte_mbuf *m = *slot(hold, base_psn_add(hold->base, i));

		if (m != NULL)
			return m;
	}
	return NULL;
}

/* ---- requests ---- */

/* Without acknowledgements a message may begin at any PSN, but one that was before the last is not a new one. */
static bool came_too_late(const struct tp_qp *qp, int32_t ahead)
{
	return !qp->type->acknowledged && ahead < 0 && -ahead < (int32_t)qp->resp.hold.room;
}

bool tp_hold_request(struct tp_qp *qp, struct rte_mbuf *m)
{
	struct tp_hold *hold = &qp->resp.hold;
	int32_t ahead = base_psn_diff(TP_PKT(m)->psn, qp->resp.epsn);

	if (qp->resp.failed)
		return false;
	if (came_too_late(qp, ahead)) {
		TP_COUNT(qp, duplicates);
		return true;
	}
	if (ahead <= 0)
		return false;
	tp_hold_move(hold, qp->resp.epsn);
	if (tp_hold_put(hold, m))
		return true;
	/* Nobody sends again what is missing; so for this one to have room, what waits goes on without it. */
	while (!qp->type->acknowledged && hold->n != 0) {
		tp_uc_gave_up(qp);
		if (base_psn_diff(TP_PKT(m)->psn, qp->resp.epsn) <= 0)
			return false;
		if (tp_hold_put(hold, m))
			return true;
	}
	return false;
}

static void take_request(struct tp_hold *hold, struct rte_mbuf *m)
{
	tp_hold_take(hold, m);
	hold->qp->type->rx(hold->qp, TP_PKT(m), rte_pktmbuf_mtod(m, const uint8_t *));
	tp_hold_done(hold, m);
}

void tp_hold_requests(struct tp_qp *qp)
{
	struct tp_hold *hold = &qp->resp.hold;
	struct rte_mbuf *m;

	if (hold->n == 0)
		return;
	while (tp_resp_takes(qp)) {
		tp_hold_move(hold, qp->resp.epsn);
		m = hold->n != 0 ? *slot(hold, hold->base) : NULL;
		if (m == NULL)
			return;
		take_request(hold, m);
	}
}

/* ---- answers ---- */

/* A repeated request may be acknowledged with the PSN of an answer, which says more. */
static void prefer_answer(struct tp_hold *hold, const struct wire_pkt *pkt)
{
	struct rte_mbuf *kept = *slot(hold, pkt->psn);

	if (kept != NULL && TP_PKT(kept)->psn == pkt->psn && tp_is_ack(TP_PKT(kept)))
		forget(hold, pkt->psn);
}

bool tp_hold_answer(struct tp_qp *qp, struct rte_mbuf *m)
{
	struct tp_hold *hold = &qp->req.hold;

	if (hold->room == 0 || !tp_comp_waits(qp, TP_PKT(m)))
		return false;
	tp_hold_move(hold, qp->req.una);
	if (!tp_is_ack(TP_PKT(m)))
		prefer_answer(hold, TP_PKT(m));
	return tp_hold_put(hold, m);
}

void tp_hold_answers(struct tp_qp *qp)
{
	struct tp_hold *hold = &qp->req.hold;

	while (hold->n != 0 && qp->attr.state != TP_QPS_ERR) {
		struct rte_mbuf *m;

		tp_hold_move(hold, qp->req.una);
		m = tp_hold_first(hold);
		if (m == NULL || tp_comp_waits(qp, TP_PKT(m)))
			return;
		tp_hold_take(hold, m);
		tp_comp_rx(qp, TP_PKT(m), rte_pktmbuf_mtod(m, const uint8_t *) + TP_PKT(m)->payload_off);
		tp_hold_done(hold, m);
	}
}
