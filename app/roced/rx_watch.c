/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx_watch.h"

#include <errno.h>
#include <stdlib.h>

#include "log.h"
#include "shape.h"

/* ---- set-up ---- */

/* The worker that polls the port's first queue. */
static uint32_t asker_of(const struct config *config, const struct port *port)
{
	for (uint32_t w = 0; w < config->n_workers; w++) {
		for (uint32_t r = 0; r < config->workers[w].n_rx; r++) {
			const struct config_rx *rx = &config->workers[w].rx[r];

			if (rx->queue == 0 && config_find_port(config, rx->port) == (int)port->index)
				return w;
		}
	}
	return 0;
}

static void warn_of_headroom(const struct config_port *port, const struct rx_pause *pause, uint64_t rate_bps)
{
	log_line(LOG_WARNING,
		"port \"%s\": pfc_send: %u bytes a priority for packets that come before a pause is obeyed, %u are needed:"
		" more %s, or less %s",
		port->name, pause->config.headroom_bytes, rx_pause_headroom(port, rate_bps),
		port->pfc_buffer_kbytes != 0 ? "pfc_buffer_kbytes" : "rx_descriptors and mbufs",
		port->pfc_headroom_kbytes != 0 ? "pfc_headroom_kbytes" : "pfc_response_us");
}

static int init_pause(struct worker *worker, struct rx_watch *watch, const struct port *port)
{
	struct rx_room room = {
		.queue = port->rx_room,
		.ring = WORKER_RING - 1,
		.spare = port->rx_pool->size - port->config->n_rx_queues * port->rx_room,
	};
	int rc;

	watch->pause = calloc(1, sizeof(*watch->pause));
	if (watch->pause == NULL)
		return -ENOMEM;
	rc = rx_pause_init(watch->pause, port->config, worker->shapes[port->index].rate_bps, &room);
	if (rc < 0)
		log_line(LOG_ERR,
			"port \"%s\": pfc_send: there is no room for what comes during a pause: more rx_descriptors or"
			" pfc_buffer_kbytes",
			port->config->name);
	else if (rc > 0)
		warn_of_headroom(port->config, watch->pause, worker->shapes[port->index].rate_bps);
	return rc < 0 ? rc : 0;
}

static bool asks(const struct port *port)
{
	return port->config->pfc_send != 0 && !port->pfc.hardware;
}

int rx_watch_init(struct worker *worker)
{
	struct roced *roced = worker->roced;
	bool any = false;

	for (uint32_t p = 0; p < roced->n_ports; p++)
		any |= asks(&roced->ports[p]);
	if (!any)
		return 0;
	worker->watches = calloc(roced->n_ports, sizeof(worker->watches[0]));
	if (worker->watches == NULL)
		return -ENOMEM;
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		const struct port *port = &roced->ports[p];
		struct rx_watch *watch = &worker->watches[p];
		int rc = 0;

		watch->on = asks(port);
		watch->queue_room = port->rx_room;
		watch->asker = asker_of(&roced->config, port);
		if (watch->on && watch->asker == worker->index)
			rc = init_pause(worker, watch, port);
		if (rc != 0)
			return rc;
	}
	return 0;
}

void rx_watch_fini(struct worker *worker)
{
	for (uint32_t p = 0; worker->watches != NULL && p < worker->roced->n_ports; p++)
		free(worker->watches[p].pause);
	free(worker->watches);
	worker->watches = NULL;
}

/* ---- what waits ---- */

void rx_watch_burst(struct worker *worker, struct worker_rxq *rxq, uint32_t n)
{
	struct rx_watch *watch = &worker->watches[rxq->port->index];

	if (watch->on)
		rx_fill_burst(&watch->fill, &rxq->run, n, WORKER_BURST, watch->queue_room,
			n == WORKER_BURST ? rte_eth_rx_queue_count(rxq->port_id, rxq->queue) : -1);
}

/* The watch of the port that m came from; NULL: none, or m is a copy or one of our own. */
static struct rx_watch *watch_of(struct worker *worker, struct rte_mbuf *m, uint8_t *priority)
{
	const struct port *port = worker->roced->port_by_id[m->port];
	const struct qos_config *config = &worker->shapes[port->index].config;
	struct rx_watch *watch = &worker->watches[port->index];
	const struct wire_pkt *pkt = TP_PKT(m);

	if (!watch->on || m->pool != port->rx_pool)
		return NULL;
	*priority = config->classes[qos_class_of(config, pkt->tos, pkt->has_vlan, pkt->vlan_tci)].priority;
	return watch;
}

void rx_watch_saw(struct worker *worker, struct rte_mbuf *m)
{
	uint8_t p;
	struct rx_watch *watch = watch_of(worker, m, &p);

	if (watch != NULL)
		rx_fill_saw(&watch->fill, p);
}

void rx_watch_gave(struct worker *worker, struct rte_mbuf *m, bool undo)
{
	uint8_t p;
	struct rx_watch *watch = watch_of(worker, m, &p);

	if (watch != NULL)
		rx_fill_add(&watch->fill.given[p], undo ? UINT32_MAX : 1);
}

void rx_watch_took(struct worker *worker, struct rte_mbuf *m)
{
	uint8_t p;
	struct rx_watch *watch = watch_of(worker, m, &p);

	if (watch != NULL)
		rx_fill_add(&watch->fill.taken[p], 1);
}

void rx_watch_kept(struct worker *worker, struct rte_mbuf *m, bool kept)
{
	uint8_t p;
	struct rx_watch *watch = watch_of(worker, m, &p);

	if (watch != NULL)
		rx_fill_add(&watch->fill.kept, kept ? 1 : UINT32_MAX);
}

/* ---- pauses ---- */

/* Before what waits for the port: that is not in the neighbour's way. */
static bool send_pause(struct worker *worker, const struct port *port, uint8_t named, const uint16_t quanta[QOS_PRIORITIES])
{
	struct rte_mbuf *m;
	char *at;

	if (atomic_load_explicit(&port->off, memory_order_relaxed))
		return false;
	m = rte_pktmbuf_alloc(worker->roced->tx_pool);
	at = m != NULL ? rte_pktmbuf_append(m, WIRE_PAUSE_FRAME_BYTES) : NULL;
	if (at != NULL) {
		wire_pause_write((uint8_t *)at, port->mac, named, quanta);
		m->port = port->id;
		if (rte_eth_tx_burst(port->id, (uint16_t)worker->index, &m, 1) == 1)
			return true;
	}
	rte_pktmbuf_free(m);
	return false;
}

static void ask(struct worker *worker, const struct port *port, struct rx_pause *pause)
{
	const struct rx_fill *fills[VD_MAX_WORKERS];
	uint16_t quanta[QOS_PRIORITIES];
	uint8_t named;

	for (uint32_t w = 0; w < worker->roced->n_workers; w++)
		fills[w] = &worker->roced->workers[w]->watches[port->index].fill;
	rx_pause_look(pause, fills, worker->roced->n_workers);
	/* Who cannot be told now is told when it can. */
	if (qos_pfc_due(&pause->pfc, worker->now_ns, &named, quanta) && !send_pause(worker, port, named, quanta))
		qos_pfc_untold(&pause->pfc, named);
}

void rx_watch_look(struct worker *worker)
{
	const struct roced *roced = worker->roced;

	for (uint32_t p = 0; worker->watches != NULL && p < roced->n_ports; p++) {
		struct rx_watch *watch = &worker->watches[p];
		bool more = watch->on && rx_fill_settle(&watch->fill);

		if (watch->pause != NULL)
			ask(worker, &roced->ports[p], watch->pause);
		else if (more)
			worker_wake(roced->workers[watch->asker]);
	}
}

uint64_t rx_watch_next_ns(const struct worker *worker)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t p = 0; worker->watches != NULL && p < worker->roced->n_ports; p++) {
		if (worker->watches[p].pause != NULL)
			next_ns = RTE_MIN(next_ns, qos_pfc_next_ns(&worker->watches[p].pause->pfc));
	}
	return next_ns;
}
