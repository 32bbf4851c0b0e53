/* SPDX-License-Identifier: BSD-3-Clause */
#include "tp_ext.h"
#include "tp_pace.h"
#include "tp_recovery.h"

#include <errno.h>
#include <stdlib.h>

#define HEADER_BYTES  ((uint32_t)WIRE_MAX_HDR_BYTES)
#define BITS          8u
#define PER_TIMEOUT   16u     /* packets */
#define ACK_TIMEOUT_UNIT_NS 4096ull

static uint32_t packet_bytes(uint32_t mtu)
{
	return mtu + HEADER_BYTES;
}

/* ---- shared ---- */

/* All that wait take their turns in the order in which they began to wait; for whom it is not enough waits again,
 * before those that have had a turn. */
static void wake_all(struct tp_shaper *s)
{
	struct tp_qp *qp;

	while ((qp = TAILQ_FIRST(&s->waiting)) != NULL) {
		TAILQ_REMOVE(&s->waiting, qp, pace.link);
		qp->pace.waits = NULL;
		tp_activate(qp);
	}
}

static void shaper_fired(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct tp_shaper *s = arg;

	(void)timer;
	(void)now_ns;
	if (!s->closed)
		wake_all(s);
}

int tp_shaper_create(struct tp *tp, uint64_t rate_bps, struct tp_shaper **out)
{
	struct tp_shaper *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	TAILQ_INIT(&s->waiting);
	base_timer_init(&s->timer, shaper_fired, s);
	LIST_INSERT_HEAD(&tp->shapers, s, link);
	tp_shaper_set(tp, s, rate_bps);
	*out = s;
	return 0;
}

void tp_shaper_set(struct tp *tp, struct tp_shaper *s, uint64_t rate_bps)
{
	qos_bucket_set(&s->bucket, rate_bps, qos_burst_bytes(rate_bps, packet_bytes(TP_MAX_MTU), tp->config.burst_ns));
	/* Those that wait find out what the new rate says. */
	if (!TAILQ_EMPTY(&s->waiting))
		base_timer_start(&tp->wheel, &s->timer, tp->now_ns);
}

void tp_shaper_close(struct tp *tp, struct tp_shaper *s, bool closed)
{
	(void)tp;
	s->closed = closed;
	if (!closed)
		wake_all(s);
}

int tp_shaper_destroy(struct tp *tp, struct tp_shaper *s)
{
	if (s->n_qps != 0)
		return -EBUSY;
	base_timer_stop(&tp->wheel, &s->timer);
	LIST_REMOVE(s, link);
	free(s);
	return 0;
}

/* Whether s lets qp send now; else it waits there. */
static bool lets(struct tp_qp *qp, struct tp_shaper *s)
{
	if (s == NULL || (!s->closed && qos_bucket_ready(&s->bucket, qp->tp->now_ns)))
		return true;
	TAILQ_INSERT_TAIL(&s->waiting, qp, pace.link);
	qp->pace.waits = s;
	if (!s->closed && !s->timer.armed)
		base_timer_start(&qp->tp->wheel, &s->timer, qos_bucket_ready_ns(&s->bucket));
	return false;
}

/* ---- its own ---- */

static void own_fired(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	(void)timer;
	(void)now_ns;
	tp_activate(arg);
}

int tp_pace_init(struct tp_qp *qp)
{
	base_timer_init(&qp->pace.timer, own_fired, qp);
	if (qp->tp->config.plain_cc == NULL || !qp->type->connected)
		return 0;
	qp->plain_cc = calloc(1, sizeof(*qp->plain_cc));
	return qp->plain_cc != NULL ? 0 : -ENOMEM;
}

void tp_pace_free(struct tp_qp *qp)
{
	free(qp->plain_cc);
}

void tp_pace_start(struct tp_qp *qp)
{
	if (qp->plain_cc == NULL)
		return;
	qp->plain_cc->config = NULL;
	if (qp->tp->config.plain_cc != NULL)
		cc_init(qp->plain_cc, qp->tp->config.plain_cc);
}

struct cc *tp_pace_cc(const struct tp_qp *qp)
{
	if (qp->ext != NULL)
		return qp->ext->cc.config != NULL ? &qp->ext->cc : NULL;
	return qp->plain_cc != NULL && qp->plain_cc->config != NULL ? qp->plain_cc : NULL;
}

void tp_pace_stop(struct tp_qp *qp)
{
	base_timer_stop(&qp->tp->wheel, &qp->pace.timer);
	if (qp->pace.waits == NULL)
		return;
	TAILQ_REMOVE(&qp->pace.waits->waiting, qp, pace.link);
	qp->pace.waits = NULL;
}

void tp_pace_join(struct tp_qp *qp, struct tp_shaper *channel)
{
	if (channel == qp->pace.channel)
		return;
	/* It may be that one that it waits for. */
	if (qp->pace.waits != NULL) {
		tp_pace_stop(qp);
		tp_activate(qp);
	}
	if (qp->pace.channel != NULL)
		qp->pace.channel->n_qps--;
	if (channel != NULL)
		channel->n_qps++;
	qp->pace.channel = channel;
}

/* What was sent and is not paid for is as many bytes as before, not as much time: at a rate that has risen from very
 * little it would hold up what may go now. */
static void apply_rate(struct tp_qp *qp, uint64_t rate_bps)
{
	struct qos_bucket *b = &qp->pace.bucket;
	uint64_t now_ns = qp->tp->now_ns, before = b->byte_cost;

	if (rate_bps == qp->pace.rate_bps || qp->mtu == 0)
		return;
	qp->pace.rate_bps = rate_bps;
	qos_bucket_set(b, rate_bps, qos_burst_bytes(rate_bps, packet_bytes(qp->mtu), qp->tp->config.burst_ns));
	if (b->even_ns > now_ns && before != 0 && b->byte_cost != 0)
		b->even_ns = now_ns + (uint64_t)((unsigned __int128)(b->even_ns - now_ns) * b->byte_cost / before);
}

/* A few packets in an ACK timeout: slower, the timer would take for lost what only waits here. */
static uint64_t least_bps(const struct tp_qp *qp)
{
	uint64_t bits = (uint64_t)PER_TIMEOUT * packet_bytes(qp->mtu) * BITS;

	if (qp->attr.timeout == 0)
		return 0;
	return bits * NS_PER_S / (ACK_TIMEOUT_UNIT_NS << qp->attr.timeout);
}

/* Answers of READs wait, and the controller is none that CNPs tell of them: nothing acknowledges them, so what it knows
 * is of requests alone, and the peer's timer runs for them. */
static bool unheard(const struct tp_qp *qp, const struct cc *cc)
{
	return !TAILQ_EMPTY(&qp->resp.answers) && cc->config->kind != CC_DCQCN;
}

/* The lower of what is set and what a congestion controller says; 0: no limit. */
static uint64_t rate_of(struct tp_qp *qp)
{
	uint64_t limit_bps = qp->pace.limit_bps, rate_bps;
	struct cc *cc = tp_pace_cc(qp);

	if (cc == NULL || unheard(qp, cc))
		return limit_bps;
	cc_timer(cc, qp->tp->now_ns);
	rate_bps = RTE_MAX(cc_rate_bps(cc), least_bps(qp));
	if (rate_bps == CC_UNLIMITED || (limit_bps != 0 && limit_bps < rate_bps))
		return limit_bps;
	return rate_bps;
}

/* Looks again when it may send, or when the controller's rate rises before. */
static void wait_own(struct tp_qp *qp)
{
	uint64_t at_ns = qos_bucket_ready_ns(&qp->pace.bucket);
	const struct cc *cc = tp_pace_cc(qp);

	if (cc != NULL)
		at_ns = RTE_MIN(at_ns, cc_next_ns(cc));
	base_timer_start(&qp->tp->wheel, &qp->pace.timer, at_ns);
}

void tp_qp_set_rate(struct tp *tp, struct tp_qp *qp, uint64_t rate_bps)
{
	(void)tp;
	qp->pace.limit_bps = rate_bps;
	/* If it waits by a lower rate, it need not any more. */
	base_timer_stop(&qp->tp->wheel, &qp->pace.timer);
	tp_activate(qp);
}

uint32_t tp_pace_budget(struct tp_qp *qp, uint32_t max)
{
	struct tp_shaper *client = qp->init.shaper, *channel = qp->pace.channel;
	uint64_t now_ns = qp->tp->now_ns;
	uint32_t bytes;

	apply_rate(qp, rate_of(qp));
	if (!qos_bucket_limits(&qp->pace.bucket) && client == NULL && channel == NULL)
		return max;
	if (qp->pace.waits != NULL)
		return 0;
	if (!qos_bucket_ready(&qp->pace.bucket, now_ns)) {
		wait_own(qp);
		return 0;
	}
	if (!lets(qp, client) || !lets(qp, channel))
		return 0;
	bytes = qos_bucket_bytes(&qp->pace.bucket, now_ns);
	if (client != NULL)
		bytes = tp_min(bytes, qos_bucket_bytes(&client->bucket, now_ns));
	if (channel != NULL)
		bytes = tp_min(bytes, qos_bucket_bytes(&channel->bucket, now_ns));
	return tp_min(max, bytes / packet_bytes(qp->mtu) + 1);
}

void tp_pace_sent(struct tp_qp *qp, uint64_t bytes)
{
	uint64_t now_ns = qp->tp->now_ns;
	struct cc *cc = tp_pace_cc(qp);

	if (bytes != 0 && cc != NULL)
		cc_sent(cc, (uint32_t)bytes, now_ns);
	qos_bucket_take(&qp->pace.bucket, (uint32_t)bytes, now_ns);
	if (qp->init.shaper != NULL)
		qos_bucket_take(&qp->init.shaper->bucket, (uint32_t)bytes, now_ns);
	if (qp->pace.channel != NULL)
		qos_bucket_take(&qp->pace.channel->bucket, (uint32_t)bytes, now_ns);
}

void tp_pace_tell(const struct tp_qp *qp, struct tp_paths *paths)
{
	const struct cc *cc = tp_pace_cc(qp);

	paths->controller = cc != NULL ? cc_name(cc->config->kind) : "window";
	paths->window_bytes = qp->req.window * packet_bytes(qp->mtu);
	if (tp_recovery_controlled(qp))
		paths->window_bytes = tp_min(cc_window_bytes(cc), qp->tp->config.window_pkts * cc->config->packet_bytes);
	paths->rate_bps = qp->pace.rate_bps;
}
