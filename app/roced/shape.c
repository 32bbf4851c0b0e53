/* SPDX-License-Identifier: BSD-3-Clause */
#include "shape.h"

#include <errno.h>
#include <stdlib.h>

#include "wire_ecn.h"

#define MAX_PACKETS   4096u    /* of a queue, */
#define MIN_PACKETS   64u
#define POOL_PART     2u       /* and all of them have so much of the buffers at most */
#define QUEUE_NS      1000000u /* queue pairs wait while their queue is longer than that, */
#define QUEUE_BYTES   32768u   /* and than this, */
#define CLOSE_PART    2u       /* or half full: in bytes or in packets */
#define OPEN_PART     2u       /* until it is half of that */
#define DEFAULT_MBPS  10000u   /* of ports that know no speed */
#define MBPS          ((uint64_t)1000000)
#define MS_NS         ((uint64_t)1000000)
#define LOOKS         8u       /* in the watchdog's time */

/* Long enough that a port never lacks packets between two walks, and no longer. */
static uint32_t close_fill(const struct shape *shape, const struct qos_class *class)
{
	uint64_t rate_bps = RTE_MIN(class->ceiling_bps != 0 ? class->ceiling_bps : UINT64_MAX,
		shape->config.rate_bps != 0 ? shape->config.rate_bps : shape->rate_bps);
	uint64_t bytes = RTE_MAX(rate_bps / 8 * QUEUE_NS / NS_PER_S, (uint64_t)QUEUE_BYTES);

	return (uint32_t)RTE_MIN(bytes * QOS_FULL / class->queue_bytes, (uint64_t)QOS_FULL / CLOSE_PART);
}

/* However many frames wait, others find buffers for theirs. */
static uint32_t queue_packets(const struct worker *worker, const struct shape *shape)
{
	const struct roced *roced = worker->roced;
	uint32_t n = roced->config.tx_mbufs / POOL_PART / (roced->n_workers * roced->n_ports * shape->config.n_classes);

	return rte_align32prevpow2(RTE_MIN(RTE_MAX(n, MIN_PACKETS), MAX_PACKETS));
}

static int init_one(struct worker *worker, const struct config *config, struct shape *shape, const struct port *port)
{
	const struct config_port *config_port = &config->ports[port->index];
	uint32_t mbps = config_port->rate_mbps != 0 ? config_port->rate_mbps : port->speed_mbps;

	if (!channels_init(config, config_port, worker->roced->n_workers, &shape->config))
		return 0;
	shape->pfc = port->pfc.hardware ? 0 : (uint8_t)config_port->pfc;
	shape->rate_bps = (mbps != 0 ? mbps : DEFAULT_MBPS) * MBPS;
	shape->storm_config.detect_ns = config->pfc.detect_ms * MS_NS;
	shape->storm_config.restore_ns = config->pfc.restore_ms * MS_NS;
	shape->forward = config->pfc.forward;
	shape->egress = qos_egress_create(&shape->config, queue_packets(worker, shape), worker->roced->seed + worker->index);
	if (shape->egress == NULL)
		return -ENOMEM;
	for (uint32_t c = 0; c < shape->config.n_classes; c++) {
		/* Paced where they send, queue pairs have no queue here to wait in, which their peers' timers would feel. */
		int rc = tp_shaper_create(worker->tp, shape->config.classes[c].ceiling_bps, &shape->gate[c]);

		if (rc != 0)
			return rc;
		shape->close_fill[c] = close_fill(shape, &shape->config.classes[c]);
	}
	return 0;
}

int shapes_new(struct worker *worker, const struct config *config, struct shape **shapes)
{
	struct roced *roced = worker->roced;

	*shapes = calloc(roced->n_ports, sizeof(**shapes));
	if (*shapes == NULL)
		return -ENOMEM;
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		int rc = init_one(worker, config, &(*shapes)[p], &roced->ports[p]);

		if (rc != 0)
			return rc;
	}
	return 0;
}

void shapes_free(struct worker *worker, struct shape *shapes)
{
	for (uint32_t p = 0; shapes != NULL && p < worker->roced->n_ports; p++) {
		qos_egress_destroy(shapes[p].egress);
		/* One that queue pairs have goes with the transport. */
		for (uint32_t c = 0; c < QOS_MAX_CLASSES; c++) {
			if (shapes[p].gate[c] != NULL)
				(void)tp_shaper_destroy(worker->tp, shapes[p].gate[c]);
		}
	}
	free(shapes);
}

void shapes_use(struct worker *worker, struct shape *shapes)
{
	worker->shapes = shapes;
	worker->shaped = false;
	for (uint32_t p = 0; p < worker->roced->n_ports; p++)
		worker->shaped |= shapes[p].egress != NULL;
}

int shape_init(struct worker *worker)
{
	struct shape *shapes;
	int rc = shapes_new(worker, &worker->roced->config, &shapes);

	if (shapes != NULL)
		shapes_use(worker, shapes);
	return rc;
}

void shape_fini(struct worker *worker)
{
	shapes_free(worker, worker->shapes);
	worker->shapes = NULL;
}

struct tp_shaper *shape_gate(const struct worker *worker, const struct port *port, uint8_t tos, bool has_vlan,
	uint16_t vlan_tci)
{
	const struct shape *shape = &worker->shapes[port->index];

	return shape->egress != NULL ? shape->gate[qos_class_of(&shape->config, tos, has_vlan, vlan_tci)] : NULL;
}

struct tp_shaper *shape_channel(const struct worker *worker, const struct link *link, const struct tp_av *av)
{
	/* what goes to ourselves goes by no port */
	if (link == NULL || link->entry == NULL)
		return NULL;
	return shape_gate(worker, link->port, av->tos, av->net.has_vlan, av->net.vlan_tci);
}

/* Queue pairs of a channel whose queue is long wait, so that nothing of theirs is lost here. */
static void move_gates(struct worker *worker, struct shape *shape)
{
	for (uint8_t c = 0; c < shape->config.n_classes; c++) {
		bool closed = (shape->closed & 1u << c) != 0;
		bool close = qos_egress_fill(shape->egress, c) > shape->close_fill[c] / (closed ? OPEN_PART : 1);

		if (close == closed)
			continue;
		shape->closed ^= (uint8_t)(1u << c);
		tp_shaper_close(worker->tp, shape->gate[c], close);
	}
}

static void put_one(struct worker *worker, struct shape *shape, struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	const uint8_t *ip;
	uint8_t version, class = channels_class(&shape->config, frame, m->data_len, &ip, &version);

	if ((shape->storm.storming & 1u << shape->config.classes[class].priority) != 0 && !shape->forward) {
		worker_drop(worker, BASE_DROP_PFC_STORM);
		rte_pktmbuf_free(m);
		return;
	}
	channels_tag(&shape->config.classes[class], frame, m->data_len);
	switch (qos_egress_put(shape->egress, class, m)) {
	case QOS_PUT_QUEUED:
		break;
	case QOS_PUT_MARK:
		if (ip != NULL && wire_is_ect(wire_traffic_class(ip, version)))
			wire_set_ce(frame + (ip - frame), version);
		break;
	case QOS_PUT_FULL:
		worker_drop(worker, BASE_DROP_CHANNEL_FULL);
		rte_pktmbuf_free(m);
		break;
	}
}

void shape_put(struct worker *worker, struct shape *shape, struct rte_mbuf **pkts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		put_one(worker, shape, pkts[i]);
	move_gates(worker, shape);
}

void shape_drop(struct worker *worker, struct shape *shape)
{
	if (shape->egress == NULL)
		return;
	worker->counters.drops[BASE_DROP_TX_FULL] += qos_egress_queued(shape->egress);
	qos_egress_flush(shape->egress, UINT8_MAX);
	move_gates(worker, shape);
}

void shape_flush(struct worker *worker, struct shape *shape, uint8_t priority)
{
	qos_egress_flush(shape->egress, (uint8_t)(1u << priority));
	move_gates(worker, shape);
}

uint8_t shape_priority(const struct shape *shape, const struct rte_mbuf *m)
{
	const uint8_t *ip;
	uint8_t version;

	return shape->config.classes[channels_class(&shape->config, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &ip,
		&version)].priority;
}

/* ---- pauses ---- */

void shape_apply_pauses(struct shape *shape)
{
	qos_egress_pause(shape->egress, (uint8_t)((shape->pause.paused & ~shape->storm.storming) | shape->held));
}

void shape_hold(struct shape *shape, uint8_t priority, bool hold)
{
	uint8_t bit = (uint8_t)(1u << priority);

	shape->held = (uint8_t)(hold ? shape->held | bit : shape->held & ~bit);
	shape_apply_pauses(shape);
}

void shape_pause(struct worker *worker, struct shape *shape, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	uint16_t off = TP_PKT(m)->l3_off;
	struct wire_pause pause;

	if (off > m->data_len || wire_pause_parse(frame + off, (size_t)(m->data_len - off), &pause) != BASE_DROP_NONE) {
		worker_drop(worker, BASE_DROP_TRUNCATED);
		return;
	}
	if (qos_pause_take(&shape->pause, &pause, shape->pfc, shape->rate_bps, worker->now_ns))
		shape_apply_pauses(shape);
}

static void watch(struct worker *worker, struct shape *shape)
{
	uint8_t changed;

	if (qos_pause_expire(&shape->pause, worker->now_ns))
		shape_apply_pauses(shape);
	if (worker->now_ns - shape->look_ns < shape->storm_config.detect_ns / LOOKS)
		return;
	shape->look_ns = worker->now_ns;
	changed = qos_storm_look(&shape->storm, &shape->storm_config, &shape->pause, qos_egress_backlog(shape->egress),
		qos_egress_sent(shape->egress), worker->now_ns);
	if (changed == 0)
		return;
	if (!shape->forward) {
		uint32_t queued = qos_egress_queued(shape->egress);

		qos_egress_flush(shape->egress, changed & shape->storm.storming);
		worker->counters.drops[BASE_DROP_PFC_STORM] += queued - qos_egress_queued(shape->egress);
	}
	shape_apply_pauses(shape);
}

uint32_t shape_get(struct worker *worker, struct shape *shape, struct rte_mbuf **pkts, uint32_t max)
{
	uint32_t n;

	if (shape->pfc != 0)
		watch(worker, shape);
	n = qos_egress_get(shape->egress, pkts, max, worker->now_ns);
	if (n != 0 || shape->closed != 0)
		move_gates(worker, shape);
	return n;
}

uint64_t shape_next_ns(const struct worker *worker)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t p = 0; worker->shaped && p < worker->roced->n_ports; p++) {
		const struct shape *shape = &worker->shapes[p];

		if (shape->egress == NULL)
			continue;
		next_ns = RTE_MIN(next_ns, qos_egress_next_ns(shape->egress, worker->now_ns));
		next_ns = RTE_MIN(next_ns, qos_pause_next_ns(&shape->pause));
	}
	return next_ns;
}
