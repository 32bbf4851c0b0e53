/* SPDX-License-Identifier: BSD-3-Clause */
#include "qos_egress.h"

#include <stdlib.h>
#include <string.h>

#define PPM 1000000u

struct queue {
	const struct qos_class *class;
	struct qos_bucket guarantee, ceiling;
	int64_t deficit_bytes;     /* of its round, >= 0 while it is its turn */
	uint32_t head, count;
	struct qos_class_stats stats;
	struct rte_mbuf **ring;
};

struct qos_egress {
	const struct qos_config *config;
	struct qos_bucket rate;
	uint64_t random;
	uint32_t mask;             /* of a ring's index */
	uint32_t queued;
	uint8_t paused, sent;
	uint8_t turn;              /* class whose round it is */
	struct queue queues[QOS_MAX_CLASSES];
};

static void set_rate(struct qos_bucket *b, const struct qos_config *config, uint64_t rate_bps)
{
	qos_bucket_init(b, rate_bps, qos_burst_bytes(rate_bps, config->packet_bytes, config->burst_ns));
}

struct qos_egress *qos_egress_create(const struct qos_config *config, uint32_t packets, uint64_t seed)
{
	struct qos_egress *e = calloc(1, sizeof(*e));
	struct rte_mbuf **rings = calloc((size_t)config->n_classes * packets, sizeof(*rings));

	if (e == NULL || rings == NULL) {
		free(e);
		free(rings);
		return NULL;
	}
	e->config = config;
	e->mask = packets - 1;
	e->random = seed | 1;
	set_rate(&e->rate, config, config->rate_bps);
	for (uint32_t i = 0; i < config->n_classes; i++) {
		struct queue *q = &e->queues[i];

		q->class = &config->classes[i];
		q->ring = rings + (size_t)i * packets;
		set_rate(&q->guarantee, config, q->class->guaranteed_bps);
		set_rate(&q->ceiling, config, q->class->ceiling_bps);
	}
	return e;
}

void qos_egress_destroy(struct qos_egress *e)
{
	if (e == NULL)
		return;
	qos_egress_flush(e, UINT8_MAX);
	free(e->queues[0].ring);
	free(e);
}

/* ---- in ---- */

/* xorshift64: marks need no better. */
static bool chance(struct qos_egress *e, uint32_t ppm)
{
	if (ppm == 0 || ppm >= PPM)
		return ppm != 0;
	e->random ^= e->random << 13;
	e->random ^= e->random >> 7;
	e->random ^= e->random << 17;
	return (e->random >> 32) * PPM >> 32 < ppm;
}

static bool fits(const struct qos_egress *e, const struct queue *q, uint32_t bytes)
{
	return q->count <= e->mask && q->stats.queued_bytes + bytes <= q->class->queue_bytes;
}

bool qos_egress_has_room(const struct qos_egress *e, uint8_t class, uint32_t bytes)
{
	return fits(e, &e->queues[class], bytes);
}

uint32_t qos_egress_fill(const struct qos_egress *e, uint8_t class)
{
	const struct queue *q = &e->queues[class];
	uint64_t bytes = q->stats.queued_bytes * QOS_FULL / q->class->queue_bytes;
	uint32_t packets = (uint32_t)((uint64_t)q->count * QOS_FULL / (e->mask + 1));

	return bytes > packets ? (uint32_t)bytes : packets;
}

enum qos_put qos_egress_put(struct qos_egress *e, uint8_t class, struct rte_mbuf *m)
{
	struct queue *q = &e->queues[class];
	bool mark;

	if (!fits(e, q, m->pkt_len)) {
		q->stats.dropped++;
		return QOS_PUT_FULL;
	}
	mark = chance(e, qos_red_ppm(&q->class->red, q->stats.queued_bytes));
	q->ring[(q->head + q->count++) & e->mask] = m;
	q->stats.queued_bytes += m->pkt_len;
	q->stats.marked += mark;
	e->queued++;
	return mark ? QOS_PUT_MARK : QOS_PUT_QUEUED;
}

/* ---- out ---- */

static bool may_send(const struct qos_egress *e, struct queue *q, uint64_t now_ns)
{
	if (q->count == 0 || (e->paused & 1u << q->class->priority) != 0)
		return false;
	if (qos_bucket_ready(&q->ceiling, now_ns))
		return true;
	q->stats.delayed++;
	return false;
}

static uint32_t head_bytes(const struct qos_egress *e, const struct queue *q)
{
	return q->ring[q->head & e->mask]->pkt_len;
}

static struct rte_mbuf *take(struct qos_egress *e, struct queue *q, uint64_t now_ns)
{
	struct rte_mbuf *m = q->ring[q->head++ & e->mask];

	q->count--;
	q->stats.queued_bytes -= m->pkt_len;
	q->stats.sent_packets++;
	q->stats.sent_bytes += m->pkt_len;
	e->queued--;
	e->sent = (uint8_t)(e->sent | 1u << q->class->priority);
	qos_bucket_take(&q->ceiling, m->pkt_len, now_ns);
	qos_bucket_take(&e->rate, m->pkt_len, now_ns);
	return m;
}

static struct rte_mbuf *guaranteed(struct qos_egress *e, uint32_t ready, uint64_t now_ns)
{
	for (uint32_t i = 0; i < e->config->n_classes; i++) {
		struct queue *q = &e->queues[i];
		struct rte_mbuf *m;

		if ((ready & 1u << i) == 0 || !qos_bucket_limits(&q->guarantee) || !qos_bucket_ready(&q->guarantee, now_ns))
			continue;
		m = take(e, q, now_ns);
		qos_bucket_take(&q->guarantee, m->pkt_len, now_ns);
		return m;
	}
	return NULL;
}

static struct rte_mbuf *strict(struct qos_egress *e, uint32_t ready, uint64_t now_ns)
{
	for (uint32_t i = 0; i < e->config->n_classes; i++) {
		if ((ready & 1u << i) != 0 && e->queues[i].class->strict)
			return take(e, &e->queues[i], now_ns);
	}
	return NULL;
}

/* A class sends while its deficit lasts; then the next one's round begins with what its weight gives. A round gives a
 * weight of 1 the largest packet, so that whoever is ready sends in its round. */
static struct rte_mbuf *weighted(struct qos_egress *e, uint32_t ready, uint64_t now_ns)
{
	for (uint32_t i = 0; i <= e->config->n_classes; i++) {
		struct queue *q = &e->queues[e->turn];

		if ((ready & 1u << e->turn) != 0 && !q->class->strict && q->deficit_bytes >= head_bytes(e, q)) {
			q->deficit_bytes -= head_bytes(e, q);
			return take(e, q, now_ns);
		}
		if (q->count == 0)
			q->deficit_bytes = 0;
		e->turn = (uint8_t)(e->turn + 1 < e->config->n_classes ? e->turn + 1 : 0);
		q = &e->queues[e->turn];
		if ((ready & 1u << e->turn) != 0)
			q->deficit_bytes += (int64_t)q->class->weight * e->config->packet_bytes;
	}
	return NULL;
}

static uint32_t ready_classes(struct qos_egress *e, uint64_t now_ns)
{
	uint32_t ready = 0;

	for (uint32_t i = 0; i < e->config->n_classes; i++)
		ready |= (uint32_t)may_send(e, &e->queues[i], now_ns) << i;
	return ready;
}

uint32_t qos_egress_get(struct qos_egress *e, struct rte_mbuf **pkts, uint32_t max, uint64_t now_ns)
{
	uint32_t n = 0;

	while (n < max && e->queued != 0 && qos_bucket_ready(&e->rate, now_ns)) {
		uint32_t ready = ready_classes(e, now_ns);
		struct rte_mbuf *m = guaranteed(e, ready, now_ns);

		if (m == NULL)
			m = strict(e, ready, now_ns);
		if (m == NULL)
			m = weighted(e, ready, now_ns);
		if (m == NULL)
			break;
		pkts[n++] = m;
	}
	return n;
}

void qos_egress_pause(struct qos_egress *e, uint8_t priorities)
{
	e->paused = priorities;
}

void qos_egress_flush(struct qos_egress *e, uint8_t priorities)
{
	for (uint32_t i = 0; i < e->config->n_classes; i++) {
		struct queue *q = &e->queues[i];

		if ((priorities & 1u << q->class->priority) == 0)
			continue;
		q->stats.dropped += q->count;
		e->queued -= q->count;
		for (; q->count != 0; q->count--)
			rte_pktmbuf_free(q->ring[q->head++ & e->mask]);
		q->stats.queued_bytes = 0;
	}
}

/* ---- another one in its place ---- */

struct rte_mbuf *qos_egress_pull(struct qos_egress *e, uint8_t class)
{
	struct queue *q = &e->queues[class];
	struct rte_mbuf *m;

	if (q->count == 0)
		return NULL;
	m = q->ring[q->head++ & e->mask];
	q->count--;
	q->stats.queued_bytes -= m->pkt_len;
	e->queued--;
	return m;
}

void qos_egress_count_on(struct qos_egress *e, uint8_t class, const struct qos_egress *from, uint8_t was)
{
	struct qos_class_stats *to = &e->queues[class].stats;
	const struct qos_class_stats *before = &from->queues[was].stats;

	to->sent_packets += before->sent_packets;
	to->sent_bytes += before->sent_bytes;
	to->marked += before->marked;
	to->dropped += before->dropped;
	to->delayed += before->delayed;
}

/* ---- looking at it ---- */

uint32_t qos_egress_queued(const struct qos_egress *e)
{
	return e->queued;
}

uint8_t qos_egress_backlog(const struct qos_egress *e)
{
	uint32_t backlog = 0;

	for (uint32_t i = 0; i < e->config->n_classes; i++) {
		if (e->queues[i].count != 0)
			backlog |= 1u << e->queues[i].class->priority;
	}
	return (uint8_t)backlog;
}

uint8_t qos_egress_sent(struct qos_egress *e)
{
	uint8_t sent = e->sent;

	e->sent = 0;
	return sent;
}

uint64_t qos_egress_next_ns(const struct qos_egress *e, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX, rate_ns = qos_bucket_ready_ns(&e->rate);

	for (uint32_t i = 0; e->queued != 0 && i < e->config->n_classes; i++) {
		const struct queue *q = &e->queues[i];
		uint64_t ready_ns = qos_bucket_ready_ns(&q->ceiling);

		if (q->count == 0 || (e->paused & 1u << q->class->priority) != 0)
			continue;
		ready_ns = ready_ns > rate_ns ? ready_ns : rate_ns;
		next_ns = ready_ns < next_ns ? ready_ns : next_ns;
	}
	return next_ns <= now_ns ? 0 : next_ns;
}

void qos_egress_stats(const struct qos_egress *e, uint8_t class, struct qos_class_stats *stats)
{
	*stats = e->queues[class].stats;
	stats->queued_packets = e->queues[class].count;
}
