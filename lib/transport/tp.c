/* SPDX-License-Identifier: BSD-3-Clause */
/* The endpoint of one worker: life, receive bursts, turns at sending, timers. */
#include <stdlib.h>

#include <rte_prefetch.h>

#include "tp_ext.h"
#include "tp_hold.h"
#include "tp_pace.h"
#include "tp_internal.h"
#include "wire_ecn.h"

#define TURN_PKTS       TP_BURST_PKTS  /* a queue pair sends at most this much before the next one may */
#define PREFETCH_AHEAD  4
#define TURNS_AHEAD     2
#define PKEY_BASE_MASK  0x7fff
#define IP4_MAPPED_OFF  12

static bool alloc_tables(struct tp *tp)
{
	tp->qps = calloc(tp->config.max_qps, sizeof(struct tp_qp *));
	tp->xrc_srqs = calloc(tp->config.max_qps, sizeof(struct tp_srq *));
	tp->mrs = calloc(tp->config.max_mrs, sizeof(struct tp_mr));
	tp->ahs = calloc(tp->config.max_ahs, sizeof(struct tp_ah));
	tp->scratch = malloc(TP_SCRATCH_BYTES);
	tp->stage.buf = malloc(TP_SCRATCH_BYTES);
	if (tp->ahs == NULL && tp->config.max_ahs != 0)
		return false;
	return tp->qps != NULL && tp->xrc_srqs != NULL && tp->mrs != NULL &&
		tp->scratch != NULL && tp->stage.buf != NULL;
}

static uint32_t index_mask(uint32_t entries)
{
	uint32_t mask = 1;

	while (mask < entries)
		mask <<= 1;
	return mask - 1;
}

static uint8_t some_generation(uint64_t *state)
{
	uint64_t z;

	*state += 0x9e3779b97f4a7c15u;
	z = (*state ^ (*state >> 30)) * 0xbf58476d1ce4e5b9u;
	return (uint8_t)(z >> 56);
}

/* Keys of an earlier life of the daemon should fail, so generations start anywhere (splitmix64 steps). */
static void scatter_generations(struct tp *tp)
{
	uint64_t state = tp->config.seed;

	for (uint32_t i = 0; i < tp->config.max_mrs; i++)
		tp->mrs[i].gen = some_generation(&state);
	for (uint32_t i = 0; i < tp->config.max_ahs; i++)
		tp->ahs[i].gen = some_generation(&state);
}

static bool plain_ok(const struct path_sched_config *plain)
{
	return plain == NULL || (path_sched_config_check(plain) == 0 && plain->keep_order && plain->no_probes &&
		plain->n_evs <= TP_PLAIN_EVS);
}

struct tp *tp_create(const struct tp_config *config, const struct tp_ops *ops, void *env, uint64_t now_ns)
{
	struct tp *tp;

	if (config->max_qps == 0 || config->max_mrs == 0 || config->max_mrs >= 1u << 24 || config->max_ahs >= 1u << 24)
		return NULL;
	if (!plain_ok(config->plain))
		return NULL;
	tp = calloc(1, sizeof(*tp));
	if (tp == NULL)
		return NULL;
	tp->config = *config;
	if (tp->config.window_pkts == 0)
		tp->config.window_pkts = TP_DEFAULT_WINDOW;
	if (tp->config.max_held == 0)
		tp->config.max_held = TP_DEFAULT_HELD;
	path_sched_config_default(&tp->sched);
	tp->index_mask = index_mask(config->max_qps);
	tp->ops = *ops;
	tp->env = env;
	tp->now_ns = now_ns;
	base_wheel_init(&tp->wheel, now_ns);
	TAILQ_INIT(&tp->active);
	TAILQ_INIT(&tp->rx);
	TAILQ_INIT(&tp->held);
	base_timer_init(&tp->held_timer, tp_sack_fired, tp);
	LIST_INIT(&tp->srqs);
	LIST_INIT(&tp->shapers);
	if (!alloc_tables(tp)) {
		tp_destroy(tp);
		return NULL;
	}
	scatter_generations(tp);
	return tp;
}

void tp_destroy(struct tp *tp)
{
	struct tp_shaper *shaper;
	struct tp_srq *srq;

	if (tp == NULL)
		return;
	for (uint32_t i = 0; tp->qps != NULL && i < tp->config.max_qps; i++) {
		if (tp->qps[i] != NULL)
			tp_qp_destroy(tp, tp->qps[i]);
	}
	while ((srq = LIST_FIRST(&tp->srqs)) != NULL)
		(void)tp_srq_destroy(tp, srq);
	while ((shaper = LIST_FIRST(&tp->shapers)) != NULL)
		(void)tp_shaper_destroy(tp, shaper);
	free(tp->qps);
	free(tp->xrc_srqs);
	free(tp->mrs);
	free(tp->ahs);
	free(tp->scratch);
	free(tp->stage.buf);
	free(tp);
}

void tp_activate(struct tp_qp *qp)
{
	if (qp->active)
		return;
	qp->active = true;
	TAILQ_INSERT_TAIL(&qp->tp->active, qp, active_link);
}

/* ---- receive ---- */

static bool state_takes(enum tp_qp_state state, bool response)
{
	if (response)
		return state == TP_QPS_RTS || state == TP_QPS_SQD;
	return state == TP_QPS_RTR || state == TP_QPS_RTS || state == TP_QPS_SQD || state == TP_QPS_SQE;
}

static bool is_between(const struct wire_pkt *pkt, const uint8_t *frame, const struct wire_l2l3 *net)
{
	const uint8_t *ip = frame + pkt->l3_off;

	if (pkt->l3_version == 4)
		return memcmp(ip + 12, net->dst.b + IP4_MAPPED_OFF, 4) == 0 &&
			memcmp(ip + 16, net->src.b + IP4_MAPPED_OFF, 4) == 0;
	return memcmp(ip + 8, net->dst.b, 16) == 0 && memcmp(ip + 24, net->src.b, 16) == 0;
}

/* IBTA annex A17.3.1: only the peer of the address vector, or of one of the planes, may talk to a connected queue pair. */
static bool from_peer(const struct tp_qp *qp, struct wire_pkt *pkt, const uint8_t *frame)
{
	const struct tp_ext *x = qp->ext;

	pkt->plane = 0;
	if (pkt->l3_version != qp->attr.av.l3_version)
		return false;
	if (is_between(pkt, frame, &qp->attr.av.net))
		return true;
	for (uint8_t i = 0; x != NULL && i < x->n_planes; i++) {
		pkt->plane = (uint8_t)(i + 1);
		if (is_between(pkt, frame, &x->plane[i].net))
			return true;
	}
	return false;
}

/* docs/wire.md: whether the peer has agreed to packets of that opcode. */
static bool agreed(const struct tp_qp *qp, uint8_t opcode)
{
	return qp->ext != NULL && (opcode != WIRE_RC_MERGED || (qp->attr.ext & TP_EXT_MERGE) != 0);
}

/* The checks that requests and responses share (IBTA vol. 1, 9.6.1), in the order in which Soft-RoCE makes them. */
static enum base_drop check_header(const struct tp_qp *qp, struct wire_pkt *pkt, const uint8_t *frame)
{
	const struct wire_opinfo *info = wire_opinfo(pkt->opcode);
	bool response = wire_op_is(info, WIRE_OP_RESPONSE);

	if (info->service == WIRE_SERVICE_CNP) {
		if (!qp->type->connected)
			return BASE_DROP_UNSUPPORTED;
	} else if (info->service != qp->type->service) {
		if (info->service != WIRE_SERVICE_EXT)
			return BASE_DROP_QP_TYPE;
		if (!agreed(qp, pkt->opcode)) {
			qp->tp->counters.unagreed += state_takes(qp->attr.state, response);
			return BASE_DROP_UNSUPPORTED;
		}
	}
	if (info->service != WIRE_SERVICE_CNP && (response ? qp->type->send == NULL : qp->type->rx == NULL))
		return BASE_DROP_QP_TYPE;
	if (!state_takes(qp->attr.state, response))
		return BASE_DROP_QP_STATE;
	if (qp->type->connected && !from_peer(qp, pkt, frame))
		return BASE_DROP_QP_ADDRESS;
	/* Ours is a full member of the default partition, so a limited one may talk to us. */
	if ((pkt->pkey & PKEY_BASE_MASK) != (TP_DEFAULT_PKEY & PKEY_BASE_MASK))
		return BASE_DROP_PKEY;
	if ((pkt->hdrs & WIRE_HDR_DETH) != 0 && pkt->qkey != qp->attr.qkey)
		return BASE_DROP_QKEY;
	return BASE_DROP_NONE;
}

static void rx_request(struct tp_qp *qp, struct rte_mbuf *m)
{
	if (qp->type->connected && qp->attr.state == TP_QPS_RTR && !qp->comm_est) {
		qp->comm_est = true;
		tp_qp_event(qp, TP_EVENT_COMM_EST);
	}
	if (qp->type->acknowledged && !qp->listed) {
		qp->listed = true;
		TAILQ_INSERT_TAIL(&qp->tp->rx, qp, rx_link);
	}
	if (qp->resp.hold.room == 0 || !tp_hold_request(qp, m)) {
		qp->type->rx(qp, TP_PKT(m), rte_pktmbuf_mtod(m, const uint8_t *));
		if (qp->resp.hold.n != 0)
			tp_hold_requests(qp);
	}
	if (qp->ext != NULL)
		tp_sack_note(qp, TP_PKT(m));
}

static void rx_answer(struct tp_qp *qp, struct rte_mbuf *m)
{
	const struct wire_pkt *pkt = TP_PKT(m);
	const uint8_t *payload = rte_pktmbuf_mtod(m, const uint8_t *) + pkt->payload_off;

	if (pkt->opcode == WIRE_RC_SACK)
		tp_sr_rx(qp, pkt, payload);
	else if (!tp_hold_answer(qp, m))
		tp_comp_rx(qp, pkt, payload);
	tp_hold_answers(qp);
}

static void rx_one(struct tp *tp, struct rte_mbuf *m)
{
	struct wire_pkt *pkt = TP_PKT(m);
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct tp_qp *qp = tp_qp_find(tp, pkt->dqpn);
	enum base_drop drop = BASE_DROP_QPN;

	tp->counters.rx_pkts++;
	tp->counters.rx_bytes += pkt->frame_bytes;
	if (qp != NULL)
		drop = check_header(qp, pkt, frame);
	if (drop != BASE_DROP_NONE) {
		tp_drop(tp, drop);
		return;
	}
	qp->counters.rx_pkts++;
	qp->counters.rx_bytes += pkt->frame_bytes;
	if (pkt->opcode == WIRE_CNP) {
		tp_cnp_rx(qp);
		return;
	}
	if ((pkt->tos & WIRE_ECN_MASK) == WIRE_ECN_MASK)
		tp_cnp_note(qp, pkt);
	if (wire_op_is(wire_opinfo(pkt->opcode), WIRE_OP_RESPONSE))
		rx_answer(qp, m);
	else
		rx_request(qp, m);
}

/* Packets have been parsed, so they are in the cache; their queue pairs need not be. */
static inline void prefetch_qp(const struct tp *tp, const struct wire_pkt *pkt, uint32_t *last_qpn)
{
	const struct tp_qp *qp;

	if (pkt->dqpn == *last_qpn)
		return;
	*last_qpn = pkt->dqpn;
	qp = tp_qp_find(tp, pkt->dqpn);
	if (qp == NULL)
		return;
	if (wire_op_is(wire_opinfo(pkt->opcode), WIRE_OP_RESPONSE))
		tp_prefetch_requester(qp);
	else
		tp_prefetch_responder(qp);
}

void tp_rx(struct tp *tp, struct rte_mbuf **pkts, uint32_t n, uint64_t now_ns)
{
	uint32_t last_qpn = UINT32_MAX;
	struct tp_qp *qp;

	tp->now_ns = now_ns;
	for (uint32_t i = 0; i < n && i < PREFETCH_AHEAD; i++)
		prefetch_qp(tp, TP_PKT(pkts[i]), &last_qpn);
	for (uint32_t i = 0; i < n; i++) {
		if (i + PREFETCH_AHEAD < n)
			prefetch_qp(tp, TP_PKT(pkts[i + PREFETCH_AHEAD]), &last_qpn);
		rx_one(tp, pkts[i]);
	}
	/* What is acknowledged must be in memory. */
	tp_mem_flush(tp);
	while ((qp = TAILQ_FIRST(&tp->rx)) != NULL) {
		TAILQ_REMOVE(&tp->rx, qp, rx_link);
		qp->listed = false;
		tp_answer_now(qp);
	}
	tp_sack_flush(tp);
}

/* ---- send ---- */

/* Answers and requests of one queue pair share its turn; which goes first alternates. */
static uint32_t take_turn(struct tp_qp *qp, uint32_t budget, bool *more)
{
	uint64_t bytes = qp->tp->counters.tx_bytes;
	uint32_t n;

	if (qp->attr.state == TP_QPS_ERR || qp->attr.state == TP_QPS_SQE) {
		*more = tp_qp_flush(qp);
		return 0;
	}
	budget = tp_pace_budget(qp, budget);
	if (budget == 0)
		return 0;
	qp->answers_first = !qp->answers_first;
	if (qp->answers_first) {
		n = tp_answer_tx(qp, (budget + 1) / 2, more);
		n += tp_req_tx(qp, budget - n, more);
	} else {
		n = tp_req_tx(qp, (budget + 1) / 2, more);
		n += tp_answer_tx(qp, budget - n, more);
	}
	tp_pace_sent(qp, qp->tp->counters.tx_bytes - bytes);
	return n;
}

/* The next one. */
static const struct tp_qp *prefetch_turn(const struct tp_qp *qp)
{
	tp_prefetch_requester(qp);
	return TAILQ_NEXT(qp, active_link);
}

/* One turn for each queue pair that is active now, while the budget lasts. */
static uint32_t tx_round(struct tp *tp, uint32_t budget)
{
	const struct tp_qp *last = TAILQ_LAST(&tp->active, tp_qp_list);
	const struct tp_qp *turn = NULL, *ahead = TAILQ_FIRST(&tp->active);
	uint32_t sent = 0;

	for (uint32_t i = 0; i < TURNS_AHEAD && ahead != NULL; i++)
		ahead = prefetch_turn(ahead);
	while (sent < budget && turn != last) {
		struct tp_qp *qp = TAILQ_FIRST(&tp->active);
		bool more = false;

		if (ahead != NULL)
			ahead = prefetch_turn(ahead);
		turn = qp;
		TAILQ_REMOVE(&tp->active, qp, active_link);
		qp->active = false;
		sent += take_turn(qp, tp_min(budget - sent, TURN_PKTS), &more);
		if (more)
			tp_activate(qp);
	}
	return sent;
}

uint32_t tp_tx(struct tp *tp, uint32_t budget, uint64_t now_ns)
{
	uint32_t sent = 0, n;

	tp->now_ns = now_ns;
	do {
		n = tx_round(tp, budget - sent);
		sent += n;
	} while (n > 0 && sent < budget && !TAILQ_EMPTY(&tp->active));
	return sent;
}

bool tp_has_work(const struct tp *tp)
{
	return !TAILQ_EMPTY(&tp->active);
}

void tp_qp_kick(struct tp *tp, struct tp_qp *qp)
{
	(void)tp;
	tp_activate(qp);
}

/* ---- time ---- */

void tp_advance(struct tp *tp, uint64_t now_ns)
{
	tp->now_ns = now_ns;
	base_wheel_advance(&tp->wheel, now_ns);
}

uint64_t tp_next_ns(const struct tp *tp)
{
	return base_wheel_next_ns(&tp->wheel);
}

const struct tp_counters *tp_counters(const struct tp *tp)
{
	return &tp->counters;
}
