/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective repeat, what only time tells: packets after which nothing was heard, and answers that did not come though
 * their request was acknowledged. The ACK timer of tp_recovery.c bounds all of it, with the timeout and the retries
 * of the queue pair.
 */
#include "tp_ext.h"
#include "tp_hold.h"
#include "tp_recovery.h"

#define FEW_PKTS      3u
#define FEW_RTO_NS    100000u
#define RTO_NS        320000u
#define FIRST_RTO_NS  1000000u  /* no round trip was seen yet */
#define RTO_RTTS      4u
#define BACKOFF_MAX   6u        /* as a power of two */

static uint64_t at_least(const struct tp_ext *x, uint64_t rto_ns)
{
	rto_ns = RTE_MAX(rto_ns, (uint64_t)x->slow_ns * 2);
	if (x->srtt_ns == 0)
		rto_ns = RTE_MAX(rto_ns, (uint64_t)FIRST_RTO_NS);
	return RTE_MAX(rto_ns, x->qp->tp->config.min_rto_ns) << x->backoff;
}

static uint64_t answer_rto_ns(const struct tp_ext *x)
{
	return at_least(x, RTE_MAX((uint64_t)RTO_NS, (uint64_t)x->srtt_ns * RTO_RTTS));
}

/* With few packets on their way there are none that could pass a lost one. */
static uint64_t rto_ns(const struct tp_ext *x)
{
	return x->n_sent <= FEW_PKTS ? at_least(x, FEW_RTO_NS) : answer_rto_ns(x);
}

/* When the oldest packet on its way will be lost, if it does not come. */
static uint64_t due_ns(const struct tp_ext *x)
{
	const struct tp_sr_pkt *e = &x->pkt[x->sent.head];
	uint64_t after_ns = rto_ns(x);

	if (tp_sr_passed(x, e) >= TP_SR_PASSED)
		after_ns = RTE_MIN(after_ns, tp_ev_guard_ns(x, e->ev, false));
	return e->sent_ns + after_ns;
}

void tp_rto_arm(struct tp_ext *x)
{
	struct tp *tp = x->qp->tp;
	uint64_t at_ns = x->sent.head != TP_SR_NONE ? due_ns(x) : tp->now_ns + answer_rto_ns(x);

	if (!x->timer.armed || x->timer.expiry_ns > at_ns)
		base_timer_start(&tp->wheel, &x->timer, at_ns);
}

/* Whether what una waits for is an answer to a request that has arrived. */
static bool waits_for_answer(const struct tp_qp *qp)
{
	return qp->req.una != qp->req.snd_max && qp->ext->n_asked != 0 && tp_req_swr(qp, qp->req.head)->answered;
}

/* Whether the responder said that it has una's packet, but does not go on: it has forgotten it (TP_SR_FORGET_NS). */
static bool forgotten(const struct tp_qp *qp)
{
	const struct tp_req *req = &qp->req;

	return req->una != req->snd_max && (tp_ring_open(qp->ext, req->una) & 1) == 0 &&
		!tp_req_swr(qp, req->head)->answered;
}

/*
 * A path that is cut takes some packets while others that were sent later arrive. When none does, either all paths are cut
 * or they are so full that the timeout was too short: sending as much again would only add to that, so it starts over
 * gently (RFC 5681, 3.1). If more are on their way than the window has room for, what was sent within a round trip of one
 * whose time is over shares its fate: one by one each would double the time of the next, and nothing could be sent.
 */
static bool expire(struct tp_ext *x, uint64_t now_ns)
{
	uint64_t older_ns = rto_ns(x), until_ns = 0;
	bool some = false;

	if (x->sent.head != TP_SR_NONE && now_ns - x->pkt[x->sent.head].sent_ns >= older_ns &&
		tp_sr_passed(x, &x->pkt[x->sent.head]) <= 0)
		tp_recovery_silent(x->qp);

	while (x->sent.head != TP_SR_NONE) {
		uint16_t i = x->sent.head;

		if (now_ns - x->pkt[i].sent_ns >= older_ns) {
			path_sched_timeout(&x->sched, x->pkt[i].ev, now_ns);
			until_ns = x->pkt[i].sent_ns + x->srtt_ns;
		} else if (x->pkt[i].sent_ns >= until_ns || x->n_sent <= x->qp->req.window) {
			break;
		}
		tp_sr_lost(x, i);
		some = true;
	}
	return some;
}

static bool running(const struct tp_qp *qp)
{
	return (qp->attr.state == TP_QPS_RTS || qp->attr.state == TP_QPS_SQD) && !qp->req.rnr_wait &&
		qp->req.una != qp->req.snd_max;
}

void tp_rto_fired(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct tp_ext *x = arg;
	struct tp_qp *qp = x->qp;
	uint64_t next_ns = UINT64_MAX;
	bool some;

	(void)timer;
	if (!running(qp))
		return;
	tp_sr_detect(x);
	some = expire(x, now_ns);
	if (waits_for_answer(qp) && now_ns - x->progress_ns >= answer_rto_ns(x)) {
		x->progress_ns = now_ns;
		tp_rto_ask(qp, true);
		some = true;
	}
	if (forgotten(qp) && now_ns - x->progress_ns >= answer_rto_ns(x)) {
		x->progress_ns = now_ns;
		tp_rto_all_again(qp);
		some = true;
	}
	if (some && x->backoff < BACKOFF_MAX)
		x->backoff++;
	if (x->sent.head != TP_SR_NONE)
		next_ns = due_ns(x);
	if (waits_for_answer(qp) || forgotten(qp))
		next_ns = RTE_MIN(next_ns, x->progress_ns + answer_rto_ns(x));
	/* If there is neither, something is lost and will be sent, which starts it again. */
	if (next_ns != UINT64_MAX)
		base_timer_start(&qp->tp->wheel, &x->timer, next_ns);
}

/* ---- answers ---- */

/* The first PSN of the request that has asked for psn. */
static uint32_t piece_start(const struct tp_swr *swr, uint32_t psn)
{
	return base_psn_add(swr->psn, tp_psn_dist(psn, swr->psn) / TP_READ_PKTS * TP_READ_PKTS);
}

/* [psn, end) of one request is missing. A request that is on its way, or to be sent anyway, will bring it. */
static void ask(struct tp_ext *x, uint32_t wr, uint32_t psn, uint32_t end)
{
	uint32_t start = piece_start(tp_req_swr(x->qp, wr), psn);

	if (tp_sr_at(x, psn)->psn == psn && tp_sr_at(x, psn)->state != TP_SR_IDLE)
		return;
	if (tp_sr_is(x, start, TP_SR_LOST))
		return;
	tp_sr_again(x, wr, psn, end, true);
}

static void ask_within(struct tp_ext *x, uint32_t wr, uint32_t psn, uint32_t to)
{
	const struct tp_hold *hold = &x->qp->req.hold;
	const struct tp_swr *swr = tp_req_swr(x->qp, wr);

	while (psn != to) {
		uint32_t stop = tp_piece_end(swr, psn), end = base_psn_add(psn, 1);

		if (!tp_hold_has(hold, psn)) {
			while (end != stop && end != to && !tp_hold_has(hold, end))
				end = base_psn_add(end, 1);
			ask(x, wr, psn, end);
		}
		psn = end;
	}
}

void tp_rto_ask(struct tp_qp *qp, bool all)
{
	const struct tp_req *req = &qp->req;
	uint32_t n = tp_psn_dist(req->snd_max, req->una), psn = req->una;

	while (!all && n > 0 && !tp_hold_has(&req->hold, base_psn_add(req->una, n - 1)))
		n--;
	for (uint32_t wr = req->head; wr != req->tail && tp_psn_dist(psn, req->una) < n; wr++) {
		const struct tp_swr *swr = tp_req_swr(qp, wr);
		uint32_t end = base_psn_add(swr->psn, swr->n_psn);

		if (tp_psn_dist(end, req->una) > n)
			end = base_psn_add(req->una, n);
		if (swr->answered)
			ask_within(qp->ext, wr, psn, end);
		psn = end;
	}
}

/* ---- from the oldest on ---- */

static void again(struct tp_qp *qp)
{
	const struct tp_req *req = &qp->req;
	uint32_t psn = req->una;

	for (uint32_t wr = req->head; wr != req->tail && psn != req->snd_max; wr++) {
		const struct tp_swr *swr = tp_req_swr(qp, wr);
		uint32_t stop = base_psn_add(swr->psn, swr->n_psn);

		while (psn != stop && psn != req->snd_max) {
			uint32_t end = swr->answered ? tp_piece_end(swr, psn) : base_psn_add(psn, 1);

			tp_sr_again(qp->ext, wr, psn, end, swr->answered && psn != piece_start(swr, psn));
			psn = end;
		}
	}
}

void tp_rto_all_again(struct tp_qp *qp)
{
	qp->ext->cum = qp->req.una;
	again(qp);
}

void tp_rto_first_again(struct tp_qp *qp)
{
	const struct tp_swr *swr = tp_req_swr(qp, qp->req.head);
	uint32_t psn = qp->req.una;

	if (swr->answered)
		tp_sr_again(qp->ext, qp->req.head, psn, tp_piece_end(swr, psn), psn != piece_start(swr, psn));
	else
		tp_sr_again(qp->ext, qp->req.head, psn, tp_merge_end(qp->ext, psn), false);
}
