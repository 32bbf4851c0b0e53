/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective acknowledgements, the responder's side. Every request packet is acknowledged by an RC_SACK of its own, from
 * the UDP source port that it came from, at the end of the burst that it came in: the requester learns of each
 * path what became of its packets, and a lost RC_SACK is made up for by the next one. They do not wait for answers
 * of READs and atomics: they tell what has come, not what has been answered.
 */
#include "tp_ext.h"
#include "tp_hold.h"

#define ECN_MASK 3u
#define ECN_CE   3u

static bool answering(const struct tp_qp *qp)
{
	/* What failed is told by a NAK. */
	return !qp->resp.failed &&
		(qp->attr.state == TP_QPS_RTR || qp->attr.state == TP_QPS_RTS || qp->attr.state == TP_QPS_SQD);
}

static bool is_marked(const struct wire_pkt *pkt)
{
	return (pkt->tos & ECN_MASK) == ECN_CE;
}

/* All of it. */
static bool was_taken(const struct tp_resp *resp, uint32_t psn, uint32_t n_psn)
{
	return base_psn_diff(base_psn_add(psn, n_psn), resp->epsn) <= 0 || tp_hold_has(&resp->hold, psn);
}

/* Whether the sender waits for it: the end of a message, or what tells it to do otherwise. */
static bool needed(const struct tp_qp *qp, const struct wire_pkt *pkt)
{
	return pkt->ack_req || qp->resp.msn != qp->ext->told_msn || is_marked(pkt) ||
		!was_taken(&qp->resp, pkt->psn, tp_merge_psns(pkt));
}

void tp_sack_note(struct tp_qp *qp, const struct wire_pkt *pkt)
{
	struct tp_ext *x = qp->ext;

	if (x == NULL || !answering(qp))
		return;
	x->rx_plane = pkt->plane;
	if (pkt->payload_bytes != 0)
		tp_senders_note(qp);
	if (x->n_echo == TP_SACK_ECHOES && tp_mem_flush_for(qp) == 0)
		tp_sack_send(qp);
	if (x->n_echo == TP_SACK_ECHOES) {
		tp_drop(qp->tp, BASE_DROP_NO_MBUF);
		return;
	}
	x->echo_now |= needed(qp, pkt);
	x->echo[x->n_echo++] = (struct tp_echo){
		.came_ns = qp->tp->now_ns,
		.psn = pkt->psn,
		.udp_sport = pkt->udp_sport,
		.n_psn = (uint8_t)tp_merge_psns(pkt),
		.plane = pkt->plane,
		.marked = is_marked(pkt),
	};
}

/* Which 64 PSNs the map is about: those around the packet that is acknowledged, so that far ahead of a hole as well
 * each packet is told of by several acknowledgements. */
static uint32_t block_of(const struct tp_resp *resp, uint32_t psn)
{
	int32_t ahead = base_psn_diff(psn, resp->epsn) - 1;

	return ahead < 0 ? 0 : tp_min((uint32_t)ahead / WIRE_SACK_BLOCK_PSNS, WIRE_SACK_BLOCK_MASK);
}

static uint64_t map_of(const struct tp_hold *hold, uint32_t psn)
{
	uint64_t map = 0;

	for (uint32_t i = 0; hold->n != 0 && i < WIRE_SACK_BLOCK_PSNS; i++)
		map |= (uint64_t)tp_hold_has(hold, base_psn_add(psn, i)) << i;
	return map;
}

static struct wire_sack_echo tell(const struct tp_qp *qp, const struct tp_echo *echo)
{
	return (struct wire_sack_echo){
		.echo = echo->psn | (echo->marked ? WIRE_SACK_MARKED : 0) |
			(was_taken(&qp->resp, echo->psn, echo->n_psn) ? 0 : WIRE_SACK_REFUSED),
		.udp_sport = echo->udp_sport,
		.wait = wire_sack_wait(qp->tp->now_ns - echo->came_ns),
	};
}

/* Tells of echo[pick[0..n)]. It goes back by the way of the latest without a mark, if there is one. */
static bool send_one(struct tp_qp *qp, const struct tp_echo *echo, const uint8_t *pick, uint32_t n)
{
	uint8_t more[WIRE_SACK_MORE * WIRE_SACK_ECHO_BYTES], *at = more;
	const struct tp_resp *resp = &qp->resp;
	struct rte_mbuf *m = tp_pkt_begin(qp, WIRE_RC_SACK, base_psn_add(resp->epsn, BASE_PSN_MASK));
	struct wire_sack_echo first, other;
	uint32_t k = n - 1, block;
	struct wire_pkt *pkt;

	if (m == NULL)
		return false;
	while (k != 0 && echo[pick[k]].marked)
		k--;
	first = tell(qp, &echo[pick[k]]);
	for (uint32_t i = 0; i < n; i++) {
		if (i == k)
			continue;
		other = tell(qp, &echo[pick[i]]);
		wire_sack_put(at, &other);
		at += WIRE_SACK_ECHO_BYTES;
	}
	block = block_of(resp, echo[pick[k]].psn);
	pkt = TP_PKT(m);
	pkt->udp_sport = first.udp_sport;
	pkt->plane = echo[pick[k]].plane;
	pkt->syndrome = TP_SYN_ACK;
	pkt->msn = qp->ext->told_msn = resp->msn;
	pkt->sack_map = map_of(&resp->hold, base_psn_add(resp->epsn, 1 + block * WIRE_SACK_BLOCK_PSNS));
	pkt->sack_echo = first.echo | block << WIRE_SACK_BLOCK_SHIFT;
	pkt->sack_wait = first.wait;
	pkt->sack_senders = tp_senders(qp->tp);
	pkt->sack_more = (uint8_t)(n - 1);
	tp_pkt_send(qp, m, more, (uint32_t)(at - more));
	qp->tp->counters.sacks_sent++;
	return true;
}

/* ---- together ---- */

/* Of one plane, since they are told of on it: the oldest, and those after it that came by the same one. */
static uint32_t pick_some(const struct tp_ext *x, uint8_t pick[TP_SACK_FULL])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->n_echo && n < TP_SACK_FULL; i++) {
		if (x->echo[i].plane == x->echo[0].plane)
			pick[n++] = (uint8_t)i;
	}
	return n;
}

static void remove_some(struct tp_ext *x, const uint8_t *pick, uint32_t n)
{
	uint32_t left = 0;

	for (uint32_t i = 0, k = 0; i < x->n_echo; i++) {
		if (k < n && pick[k] == i)
			k++;
		else
			x->echo[left++] = x->echo[i];
	}
	x->n_echo = left;
}

static void release(struct tp_ext *x)
{
	if (x->held)
		TAILQ_REMOVE(&x->qp->tp->held, x, held_link);
	x->held = false;
}

void tp_sack_clear(struct tp_ext *x)
{
	release(x);
	x->n_echo = 0;
	x->echo_now = false;
}

static uint64_t due_ns(const struct tp_ext *x)
{
	return x->echo[0].came_ns + x->qp->tp->config.sack_wait_ns;
}

bool tp_sack_is_due(const struct tp_qp *qp)
{
	const struct tp_ext *x = qp->ext;

	return x->n_echo != 0 && (x->echo_now || x->n_echo >= TP_SACK_FULL || qp->tp->now_ns >= due_ns(x));
}

/* The timer may fire for one that was sent meanwhile, and is started again then. */
static void hold(struct tp_ext *x)
{
	struct tp *tp = x->qp->tp;

	if (x->held || x->n_echo == 0)
		return;
	x->held = true;
	TAILQ_INSERT_TAIL(&tp->held, x, held_link);
	if (!tp->held_timer.armed)
		base_timer_start(&tp->wheel, &tp->held_timer, due_ns(x));
}

void tp_sack_send(struct tp_qp *qp)
{
	struct tp_ext *x = qp->ext;
	uint8_t pick[TP_SACK_FULL];

	/* They take the place of what is due otherwise. */
	qp->resp.ack_pending = false;
	qp->resp.since_ack = 0;
	if (!answering(qp)) {
		tp_sack_clear(x);
		return;
	}
	if (!tp_sack_is_due(qp)) {
		hold(x);
		return;
	}
	release(x);
	x->echo_now = true;
	while (x->n_echo != 0) {
		uint32_t n = pick_some(x, pick);

		if (!send_one(qp, x->echo, pick, n))
			return;
		remove_some(x, pick, n);
	}
	x->echo_now = false;
}

void tp_sack_flush(struct tp *tp)
{
	struct tp_ext *x;

	while ((x = TAILQ_FIRST(&tp->held)) != NULL && tp->now_ns >= due_ns(x)) {
		tp_sack_send(x->qp);
		if (tp_sack_is_due(x->qp))
			tp_activate(x->qp);
	}
}

void tp_sack_fired(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct tp *tp = arg;

	(void)now_ns;
	tp_sack_flush(tp);
	if (!TAILQ_EMPTY(&tp->held))
		base_timer_start(&tp->wheel, timer, due_ns(TAILQ_FIRST(&tp->held)));
}

struct tp_saved *tp_sack_replay(struct tp_qp *qp, const struct tp_saved *saved)
{
	struct tp_ext *x = qp->ext;

	for (uint32_t i = 0; i < TP_SACK_REPLAYS; i++) {
		if (x->replay[i].queued)
			continue;
		x->replay[i] = *saved;
		x->replay[i].queued = false;
		return &x->replay[i];
	}
	return NULL;
}
