/* SPDX-License-Identifier: BSD-3-Clause */
#include "tp_recovery.h"
#include "tp_ext.h"
#include "tp_pace.h"
#include "tp_flow.h"

#define ACK_TIMEOUT_UNIT_NS 4096u
#define RNR_RETRY_ENDLESS   7
#define ACK_BACKOFF_MAX     2    /* as a power of two */
#define WINDOW_START        32
#define WINDOW_MIN          4
#define CUT_MARK            2    /* by 1/4 */
#define CUT_LOSS            1    /* by 1/2 */

/* IBTA vol. 1, table 46, in units of 10 us. */
static const uint32_t rnr_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

uint64_t tp_recovery_rnr_ns(uint8_t code)
{
	return (uint64_t)rnr_10us[code & 31] * 10000;
}

/* ---- window ---- */

bool tp_recovery_controlled(const struct tp_qp *qp)
{
	return qp->ext != NULL && qp->ext->cc.config != NULL;
}

static void window_take(struct tp_qp *qp)
{
	const struct cc *cc = &qp->ext->cc;
	uint32_t pkts = cc_window_bytes(cc) / cc->config->packet_bytes;

	qp->req.window = tp_min(RTE_MAX(pkts, 1u), qp->tp->config.window_pkts);
}

/*
 * Go-back-N sends a whole window for one lost packet, so on a path that loses by overflow a fixed window feeds
 * the overflow. Additive increase, multiplicative decrease (RFC 5681, in packets) keeps it off. A congestion
 * controller may lower what this allows.
 */
static void window_reset(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;

	req->window_goal = qp->tp->config.window_pkts;
	req->window = tp_min(WINDOW_START, req->window_goal);
	req->window_part = 0;
	req->window_una = req->una;
	if (tp_recovery_controlled(qp))
		window_take(qp);
}

/* Packets, and PSNs of answers: several messages in a packet count as one. */
static uint32_t acked_pkts(struct tp_qp *qp)
{
	uint32_t psns = tp_psn_dist(qp->req.una, qp->req.window_una), less;

	if (qp->ext == NULL)
		return psns;
	less = tp_min(psns, qp->ext->merged_psns);
	qp->ext->merged_psns -= less;
	return psns - less;
}

static void window_grow(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;
	uint32_t max = qp->tp->config.window_pkts, acked;

	if (tp_recovery_controlled(qp))
		return;
	acked = tp_min(acked_pkts(qp), req->window);
	req->window_una = req->una;
	if (req->window < req->window_goal) {
		req->window = tp_min(req->window + acked, req->window_goal);
		return;
	}
	req->window_part += acked;
	if (req->window_part < req->window)
		return;
	req->window_part -= req->window;
	req->window = tp_min(req->window + 1, max);
}

static void window_shrink(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;

	if (tp_recovery_controlled(qp))
		return;
	req->window_goal = tp_min(RTE_MAX(req->window / 2, (uint32_t)WINDOW_MIN), qp->tp->config.window_pkts);
	req->window = req->window_goal;
	req->window_part = 0;
	req->window_una = req->una;
}

/*
 * One lost packet costs one packet with selective repeat, so a loss alone is no reason to send less: only if there is a
 * queue as well. Else a path that loses one packet in a hundred for other reasons would have a window of a dozen.
 */
static void window_cut(struct tp_qp *qp, uint32_t shift)
{
	struct tp_req *req = &qp->req;
	struct tp_ext *x = qp->ext;

	if (qp->tp->now_ns - x->cut_ns < x->srtt_ns)
		return;
	x->cut_ns = qp->tp->now_ns;
	req->window_goal = RTE_MAX(req->window - (req->window >> shift), (uint32_t)WINDOW_MIN);
	req->window_goal = tp_min(req->window_goal, qp->tp->config.window_pkts);
	req->window = req->window_goal;
	req->window_part = 0;
	req->window_una = req->una;
}

/* Again and again without anything that arrives, it is still the window from before that it comes back to. */
void tp_recovery_silent(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;

	if (tp_recovery_controlled(qp)) {
		cc_silent(&qp->ext->cc, qp->tp->now_ns);
		window_take(qp);
		return;
	}
	if (req->window > WINDOW_MIN)
		req->window_goal = RTE_MAX(req->window / 2, (uint32_t)WINDOW_MIN);
	req->window = tp_min(req->window, WINDOW_MIN);
	req->window_part = 0;
	req->window_una = req->una;
	qp->ext->cut_ns = qp->tp->now_ns;
}

void tp_recovery_acked(struct tp_qp *qp, uint32_t rtt_ns, bool marked, bool queued)
{
	if (!tp_recovery_controlled(qp)) {
		if (marked && queued)
			window_cut(qp, CUT_MARK);
		return;
	}
	cc_acked(&qp->ext->cc, &(struct cc_ack){
		.now_ns = qp->tp->now_ns,
		.rtt_ns = rtt_ns,
		.bytes = qp->ext->cc.config->packet_bytes,
		.marked = marked,
		.senders = qp->ext->senders,
	});
	window_take(qp);
}

void tp_recovery_lost(struct tp_qp *qp, bool queued)
{
	if (!tp_recovery_controlled(qp)) {
		if (queued)
			window_cut(qp, CUT_LOSS);
		return;
	}
	cc_lost(&qp->ext->cc, qp->ext->cc.config->packet_bytes, queued, qp->tp->now_ns);
	window_take(qp);
}

/* ---- going back ---- */

static bool outstanding(const struct tp_qp *qp)
{
	return qp->req.una != qp->req.snd_max;
}

/* Sends again from una on. */
static void go_back(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;
	uint32_t again = tp_psn_dist(req->snd_psn, req->una);

	if (qp->ext != NULL) {
		tp_rto_all_again(qp);
		return;
	}
	tp_flow_went_back(qp);
	again = tp_min(again, qp->tp->config.window_pkts);
	qp->tp->counters.retransmits += again;
	qp->counters.retransmits += again;
	req->snd_psn = req->una;
	req->snd = req->head;
	req->rd_out = 0;
	req->since_ackreq = 0;
	tp_activate(qp);
}

static void retry(struct tp_qp *qp)
{
	if (qp->req.retry_left == 0) {
		tp_qp_error(qp, TP_WC_RETRY_EXC_ERR, TP_WC_SUCCESS);
		return;
	}
	qp->req.retry_left--;
	window_shrink(qp);
	go_back(qp);
}

/*
 * The time may lie between the interval asked for and four times that (IBTA vol. 1, 9.7.6.1.3). Each
 * timeout in a row doubles it up to there: when the peer or the path is slower than the interval, asking again
 * at the same pace only adds to its work and uses up the retries.
 */
static void set_deadline(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;
	struct tp *tp = qp->tp;

	if (qp->attr.timeout == 0)
		return;
	req->deadline_ns = tp->now_ns +
		((uint64_t)ACK_TIMEOUT_UNIT_NS << (qp->attr.timeout + tp_min(req->timeouts, ACK_BACKOFF_MAX)));
	if (!req->ack_timer.armed || req->ack_timer.expiry_ns > req->deadline_ns)
		base_timer_start(&tp->wheel, &req->ack_timer, req->deadline_ns);
}

static void ack_timer_fired(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct tp_qp *qp = arg;

	(void)timer;
	if (!outstanding(qp) || qp->req.rnr_wait || qp->attr.timeout == 0)
		return;
	if (now_ns < qp->req.deadline_ns) {
		base_timer_start(&qp->tp->wheel, &qp->req.ack_timer, qp->req.deadline_ns);
		return;
	}
	TP_COUNT(qp, ack_timeouts);
	qp->req.gap_taken = false;
	tp_flow_timeout(qp);
	if (qp->req.timeouts < ACK_BACKOFF_MAX)
		qp->req.timeouts++;
	set_deadline(qp);
	retry(qp);
	/* Nothing is known to get through: start over gently. */
	qp->req.window = tp_min(qp->req.window, WINDOW_MIN);
}

static void rnr_timer_fired(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct tp_qp *qp = arg;

	(void)timer;
	(void)now_ns;
	qp->req.rnr_wait = false;
	/* Those that fired meanwhile are not armed any more. */
	if (outstanding(qp)) {
		set_deadline(qp);
		if (qp->ext != NULL)
			tp_rto_arm(qp->ext);
	}
	tp_activate(qp);
}

void tp_recovery_reset(struct tp_qp *qp)
{
	tp_recovery_stop(qp);
	base_timer_init(&qp->req.ack_timer, ack_timer_fired, qp);
	base_timer_init(&qp->req.rnr_timer, rnr_timer_fired, qp);
	qp->req.retry_left = qp->attr.retry_cnt;
	qp->req.rnr_left = qp->attr.rnr_retry;
	qp->req.rnr_wait = false;
	qp->req.gap_taken = false;
	qp->req.timeouts = 0;
	window_reset(qp);
}

void tp_recovery_progress(struct tp_qp *qp)
{
	qp->req.retry_left = qp->attr.retry_cnt;
	qp->req.rnr_left = qp->attr.rnr_retry;
	qp->req.gap_taken = false;
	qp->req.timeouts = 0;
	window_grow(qp);
	if (outstanding(qp))
		set_deadline(qp);
	if (qp->ext != NULL) {
		qp->ext->progress_ns = qp->tp->now_ns;
		qp->ext->backoff = 0;
		qp->ext->waiting = outstanding(qp);
	}
	tp_activate(qp);
}

void tp_recovery_sent(struct tp_qp *qp)
{
	if (qp->ext == NULL) {
		set_deadline(qp);
		return;
	}
	tp_rto_arm(qp->ext);
	/* What is sent again does not put off the time at which nothing has helped. */
	if (qp->ext->waiting)
		return;
	qp->ext->waiting = true;
	qp->ext->progress_ns = qp->tp->now_ns;
	set_deadline(qp);
}

void tp_recovery_seq_nak(struct tp_qp *qp)
{
	struct cc *cc;

	/* Who has agreed to take packets in any order never sends one. */
	if (qp->ext != NULL) {
		qp->tp->counters.unagreed++;
		tp_ext_stop(qp);
	}
	/* A repeated NAK finds the queue pair gone back already and not yet sending. */
	if (qp->req.rnr_wait || qp->req.snd_psn == qp->req.una)
		return;
	cc = tp_pace_cc(qp);
	if (cc != NULL)
		cc_lost(cc, cc->config->packet_bytes, true, qp->tp->now_ns);
	retry(qp);
}

void tp_recovery_gap(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;

	/* The rest of the burst tells the same again; once is enough, then the timer decides. */
	if (req->gap_taken || req->rnr_wait || qp->ext != NULL)
		return;
	req->gap_taken = true;
	retry(qp);
}

void tp_recovery_rnr(struct tp_qp *qp, uint8_t code)
{
	struct tp_req *req = &qp->req;

	if (req->rnr_wait)
		return;
	if (req->rnr_left == 0) {
		tp_qp_error(qp, TP_WC_RNR_RETRY_EXC_ERR, TP_WC_SUCCESS);
		return;
	}
	if (qp->attr.rnr_retry != RNR_RETRY_ENDLESS)
		req->rnr_left--;
	/* The peer answers, so nothing is wrong with the path: what comes late of this round costs no retry of the next. */
	req->retry_left = qp->attr.retry_cnt;
	if (qp->ext != NULL)
		tp_rto_first_again(qp);
	else
		go_back(qp);
	req->rnr_wait = true;
	base_timer_start(&qp->tp->wheel, &req->rnr_timer, qp->tp->now_ns + tp_recovery_rnr_ns(code));
}

void tp_recovery_stop(struct tp_qp *qp)
{
	base_timer_stop(&qp->tp->wheel, &qp->req.ack_timer);
	base_timer_stop(&qp->tp->wheel, &qp->req.rnr_timer);
	if (qp->ext == NULL)
		return;
	base_timer_stop(&qp->tp->wheel, &qp->ext->timer);
	base_timer_stop(&qp->tp->wheel, &qp->ext->merge_timer);
}
