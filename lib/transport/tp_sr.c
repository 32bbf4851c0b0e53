/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective repeat, the requester's side: which packets are on their way, which have arrived, which are lost. A packet
 * is lost when three that were sent later on its EV have arrived, for one path keeps the order; or when some sent
 * later on others have and it is older than the round trips explain, its EV's if they are a window and a half, those
 * of all paths if they are a few; or when its time is over (tp_rto.c). It is sent again alone, on another EV.
 * Why a few: the hole itself stops the sending after TP_SR_SPAN, and a window and a half may never come.
 */
#include "tp_ext.h"
#include "tp_hold.h"
#include "tp_recovery.h"

#define PASSED_LOST   3
#define DETECT_MOST   32u  /* packets that are too young are looked at no further than this */
#define PROBE_LOOK    8u
#define SYN_OTHER     0xe0 /* bits of a syndrome that is none of an ACK */

static uint16_t index_of(uint32_t psn)
{
	return (uint16_t)(psn % TP_SR_RING);
}

/* ---- sending ---- */

uint32_t tp_sr_room(const struct tp_qp *qp)
{
	const struct tp_ext *x = qp->ext;
	uint32_t span = tp_psn_dist(qp->req.snd_psn, qp->req.una), out = x->n_sent + x->n_asked;

	if (span >= TP_SR_SPAN || out >= qp->req.window)
		return 0;
	return tp_min(TP_SR_SPAN - span, qp->req.window - out);
}

void tp_sr_stamp(struct tp_qp *qp, struct wire_pkt *pkt, uint32_t end)
{
	struct tp_ext *x = qp->ext;
	uint16_t i = index_of(pkt->psn);
	struct tp_sr_pkt *e = &x->pkt[i];

	if (x->probe_ev != PATH_SCHED_NO_EV) {
		tp_ev_route(x, pkt, x->probe_ev);
		x->n_on_ev[x->probe_ev]++;
		return;
	}
	if (e->state == TP_SR_LOST) {
		tp_ring_idle(x, i);
		e->ev = tp_ev_pick(x, qp->req.snd, pkt->psn, e->ev);
		e->times = (uint8_t)(e->times < UINT8_MAX ? e->times + 1 : UINT8_MAX);
		e->n_psn = (uint16_t)tp_psn_dist(end, pkt->psn);
		TP_COUNT(qp, retransmits);
	} else {
		*e = (struct tp_sr_pkt){.psn = pkt->psn, .wr = qp->req.snd, .times = 1};
		e->n_psn = (uint16_t)tp_psn_dist(end, pkt->psn);
		e->ev = tp_ev_pick(x, e->wr, pkt->psn, PATH_SCHED_NO_EV);
		if (tp_req_swr(qp, e->wr)->answered)
			x->n_asked += e->n_psn;
		x->merge_due_ns = 0;
	}
	e->merged = pkt->opcode == WIRE_RC_MERGED;
	e->passed = 0;
	e->seq = ++x->seq;
	e->sent_ns = qp->tp->now_ns;
	if (e->times == 1) {
		e->first_ns = e->sent_ns;
		e->first_ev = e->ev;
	}
	tp_ev_route(x, pkt, e->ev);
	x->n_on_ev[e->ev]++;
	tp_ring_sent(x, i);
}

uint32_t tp_sr_tx(struct tp_qp *qp, uint32_t budget, bool *more)
{
	struct tp_ext *x = qp->ext;
	uint32_t sent = 0;
	uint16_t i, next;

	for (i = x->lost.head; i != TP_SR_NONE && x->n_sent < qp->req.window; i = next) {
		const struct tp_sr_pkt *e = &x->pkt[i];
		const struct tp_swr *swr = tp_req_swr(qp, e->wr);

		next = e->in[TP_SR_ALL].next;
		if (e->answers && tp_hold_has(&qp->req.hold, e->psn)) {
			tp_ring_idle(x, i);
			continue;
		}
		if (swr->err != TP_WC_SUCCESS) {
			/* Completions come in order: what is before it has its answer first. */
			if (e->wr != qp->req.head)
				continue;
			tp_qp_send_error(qp, (enum tp_wc_status)swr->err);
			break;
		}
		if (sent == budget) {
			*more = true;
			break;
		}
		if (tp_req_resend(qp, e->wr, e->psn, base_psn_add(e->psn, e->n_psn))) {
			sent++;
		} else if (swr->err == TP_WC_SUCCESS) {
			*more = true;
			break;
		}
	}
	return sent;
}

/* The latest that costs the peer little: not a READ, if there is something else. */
static const struct tp_sr_pkt *to_copy(struct tp_ext *x)
{
	uint16_t i = x->sent.tail;

	for (uint32_t n = 0; i != TP_SR_NONE && n < PROBE_LOOK; n++, i = x->pkt[i].in[TP_SR_ALL].prev) {
		if (!tp_req_swr(x->qp, x->pkt[i].wr)->answered)
			return &x->pkt[i];
	}
	return &x->pkt[x->sent.tail];
}

void tp_sr_probe(struct tp_qp *qp)
{
	struct tp_ext *x = qp->ext;
	const struct tp_sr_pkt *e;
	uint8_t ev;

	if (x->n_sent == 0 || !path_sched_probe(&x->sched, qp->tp->now_ns, &ev))
		return;
	e = to_copy(x);
	if (tp_req_swr(qp, e->wr)->err != TP_WC_SUCCESS)
		return;
	x->probe_ev = ev;
	/* It may arrive before the one that it is a copy of, so it asks for no less. */
	if (tp_req_resend(qp, e->wr, e->psn, base_psn_add(e->psn, e->n_psn)))
		qp->tp->counters.probes++;
	x->probe_ev = PATH_SCHED_NO_EV;
}

void tp_sr_again(struct tp_ext *x, uint32_t wr, uint32_t psn, uint32_t end, bool answers)
{
	uint16_t i = index_of(psn);
	struct tp_sr_pkt *e = &x->pkt[i];

	if (e->psn != psn || e->times == 0) {
		tp_ring_idle(x, i);
		*e = (struct tp_sr_pkt){.ev = PATH_SCHED_NO_EV};
	}
	e->psn = psn;
	e->wr = wr;
	e->n_psn = (uint16_t)tp_psn_dist(end, psn);
	e->answers = answers;
	tp_ring_lost(x, i);
}

/* ---- what is lost ---- */

void tp_sr_lost(struct tp_ext *x, uint16_t i)
{
	uint8_t ev = x->pkt[i].ev;

	tp_ring_lost(x, i);
	tp_recovery_lost(x->qp, tp_ev_congested(x, ev));
}

static void lost_on_way(struct tp_ext *x, uint16_t i)
{
	tp_sr_lost(x, i);
	path_sched_lost(&x->sched, x->pkt[i].ev, x->qp->tp->now_ns);
}

static void detect_on(struct tp_ext *x, uint8_t ev)
{
	uint16_t next;

	for (uint16_t i = x->on_ev[ev].head; i != TP_SR_NONE; i = next) {
		next = x->pkt[i].in[TP_SR_ON_EV].next;
		if (x->pkt[i].passed < PASSED_LOST)
			return;
		lost_on_way(x, i);
	}
}

void tp_sr_detect(struct tp_ext *x)
{
	uint64_t now_ns = x->qp->tp->now_ns;
	int32_t many = (int32_t)tp_min(x->qp->req.window + x->qp->req.window / 2, TP_SR_SPAN);
	uint16_t i, next;

	for (; x->suspects != 0; x->suspects &= x->suspects - 1)
		detect_on(x, (uint8_t)__builtin_ctzll(x->suspects));
	i = x->sent.head;
	for (uint32_t n = 0; i != TP_SR_NONE && n < DETECT_MOST; n++, i = next) {
		const struct tp_sr_pkt *e = &x->pkt[i];

		next = e->in[TP_SR_ALL].next;
		/* Those after it were sent later, and are passed by fewer. */
		if (tp_sr_passed(x, e) < TP_SR_PASSED || now_ns - e->sent_ns < x->srtt_ns)
			return;
		if (now_ns - e->sent_ns >= tp_ev_guard_ns(x, e->ev, tp_sr_passed(x, e) >= many))
			lost_on_way(x, i);
	}
}

/* ---- what has arrived ---- */

/* It has come to the responder, whether it was kept or not. */
static void came(struct tp_ext *x, const struct tp_sr_pkt *e)
{
	if ((int32_t)(e->seq - x->acked_seq) > 0)
		x->acked_seq = e->seq;
}

static void pass(struct tp_ext *x, uint16_t i)
{
	uint8_t ev = x->pkt[i].ev;

	for (uint16_t k = x->on_ev[ev].head; k != i; k = x->pkt[k].in[TP_SR_ON_EV].next) {
		if (++x->pkt[k].passed >= PASSED_LOST) {
			x->pkt[k].passed = PASSED_LOST;
			x->suspects |= (uint64_t)1 << ev;
		}
	}
	came(x, &x->pkt[i]);
}

/* ours: it was the latest sending that has arrived, not one before or a copy. */
static void arrived(struct tp_ext *x, uint32_t psn, bool ours)
{
	uint16_t i = index_of(psn);
	const struct tp_sr_pkt *e = &x->pkt[i];

	if (e->psn != psn || e->state == TP_SR_IDLE)
		return;
	if (e->state == TP_SR_SENT && ours)
		pass(x, i);
	if (e->merged)
		x->merged_psns += e->n_psn - 1u;
	tp_ring_idle(x, i);
	x->backoff = 0;
}

static void arrived_some(struct tp_ext *x, uint32_t psn)
{
	const struct tp_sr_pkt *e = tp_sr_at(x, psn);

	/* A request that asks for answers that are missing has the PSN of one that has arrived. */
	if (!e->answers)
		arrived(x, psn, e->times == 1);
}

void tp_sr_moved(struct tp_qp *qp, uint32_t psn)
{
	struct tp_ext *x = qp->ext;

	for (uint32_t at = qp->req.una; at != psn; at = base_psn_add(at, 1))
		arrived(x, at, tp_sr_at(x, at)->times == 1 && !tp_sr_at(x, at)->answers);
	/* Left behind by answers and plain acknowledgements it would be ahead some day: PSNs wrap. */
	if (base_psn_diff(x->cum, psn) < 0)
		x->cum = psn;
}

static uint32_t map_psn(const struct wire_pkt *pkt)
{
	uint32_t block = pkt->sack_echo >> WIRE_SACK_BLOCK_SHIFT & WIRE_SACK_BLOCK_MASK;

	return base_psn_add(pkt->psn, 2 + block * WIRE_SACK_BLOCK_PSNS);
}

/* The first echo and the further ones; how many. -1: their number is not that of the bytes. */
static int read_echoes(const struct wire_pkt *pkt, const uint8_t *payload, struct wire_sack_echo echo[TP_SACK_FULL])
{
	if (pkt->pad != 0 || pkt->sack_more > WIRE_SACK_MORE || pkt->payload_bytes != pkt->sack_more * WIRE_SACK_ECHO_BYTES)
		return -1;
	echo[0] = wire_sack_first(pkt);
	for (uint32_t i = 0; i < pkt->sack_more; i++)
		wire_sack_get(payload + (size_t)i * WIRE_SACK_ECHO_BYTES, &echo[1 + i]);
	return 1 + pkt->sack_more;
}

/* Tells of nothing that was not sent. An old one may come late. */
static enum base_drop check(const struct tp_qp *qp, const struct wire_pkt *pkt, const struct wire_sack_echo *echo, int n)
{
	uint32_t end = qp->req.snd_max, last = pkt->psn;

	if ((pkt->syndrome & SYN_OTHER) != 0 || n < 0)
		return BASE_DROP_UNSUPPORTED;
	if (pkt->sack_map != 0)
		last = base_psn_add(map_psn(pkt), 63 - (uint32_t)__builtin_clzll(pkt->sack_map));
	if (base_psn_diff(pkt->psn, end) >= 0 || base_psn_diff(last, end) >= 0)
		return BASE_DROP_ACK_WINDOW;
	for (int i = 0; i < n; i++) {
		if (base_psn_diff(echo[i].echo & BASE_PSN_MASK, end) >= 0)
			return BASE_DROP_ACK_WINDOW;
	}
	return BASE_DROP_NONE;
}

static void take_echo(struct tp_ext *x, const struct wire_sack_echo *echo)
{
	uint64_t wait_ns = echo->wait == WIRE_SACK_WAIT_MAX ? UINT64_MAX : (uint64_t)echo->wait * WIRE_SACK_WAIT_UNIT_NS;
	uint32_t psn = echo->echo & BASE_PSN_MASK;
	bool marked = (echo->echo & WIRE_SACK_MARKED) != 0;
	uint8_t ev = tp_ev_of_port(x, echo->udp_sport);
	const struct tp_sr_pkt *e = tp_sr_at(x, psn);

	tp_ev_echo(x, ev, e, psn, marked, wait_ns);
	if ((echo->echo & WIRE_SACK_REFUSED) == 0)
		arrived(x, psn, e->ev == ev);
	else if (e->psn == psn && e->ev == ev)
		came(x, e);
}

static void take_map(struct tp_ext *x, const struct wire_pkt *pkt)
{
	uint32_t first = map_psn(pkt);
	uint64_t map = pkt->sack_map & tp_ring_open(x, first);

	for (; map != 0; map &= map - 1)
		arrived_some(x, base_psn_add(first, (uint32_t)__builtin_ctzll(map)));
}

static void take_cum(struct tp_qp *qp, uint32_t end)
{
	struct tp_ext *x = qp->ext;
	uint32_t at = base_psn_diff(x->cum, qp->req.una) > 0 ? x->cum : qp->req.una;

	if (base_psn_diff(end, at) <= 0)
		return;
	for (; at != end; at = base_psn_add(at, 1))
		arrived_some(x, at);
	x->cum = end;
}

void tp_sr_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *payload)
{
	struct tp_ext *x = qp->ext;
	struct wire_sack_echo echo[TP_SACK_FULL];
	int n = read_echoes(pkt, payload, echo);
	enum base_drop drop = check(qp, pkt, echo, n);
	uint32_t n_sent = x->n_sent;

	if (drop != BASE_DROP_NONE) {
		tp_drop(qp->tp, drop);
		return;
	}
	qp->tp->counters.sacks_received++;
	x->senders = pkt->sack_senders;
	for (int i = 0; i < n; i++)
		take_echo(x, &echo[i]);
	take_map(x, pkt);
	take_cum(qp, base_psn_add(pkt->psn, 1));
	if (base_psn_diff(x->cum, qp->req.una) > 0)
		tp_comp_received(qp, x->cum);
	if (qp->attr.state == TP_QPS_ERR)
		return;
	tp_sr_detect(x);
	if (x->n_sent != 0)
		tp_rto_arm(x);
	if (x->n_sent != n_sent)
		tp_activate(qp);
}
