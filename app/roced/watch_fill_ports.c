/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports, their pauses, channels, buffers and XDP programs, for watch_fill.h. */
#include <rte_ethdev.h>

#include "path_neigh.h"
#include "rx_watch.h"
#include "shape.h"
#include "watch_fill.h"
#include "worker.h"

/* ---- ports ---- */

static void fill_port(const struct port *port, struct watch_ports *row)
{
	struct path_neigh_stats neigh;
	struct rte_eth_stats stats;

	watch_set_text(row->port, port->config->name);
	watch_set_text(row->pfc, port_pfc_name(port));
	watch_set_mac(row->mac, port->mac);
	row->mtu = port->config->mtu;
	row->up = port->up;
	row->speed_mbps = port->speed_mbps;
	path_neigh_get_stats(port->neigh, &neigh);
	row->neighbours = neigh.entries;
	row->neighbours_asked = neigh.tx_requests;
	row->neighbours_learned = neigh.rx_used;
	row->neighbours_failed = neigh.failures;
	if (rte_eth_stats_get(port->id, &stats) != 0)
		return;
	row->rx_packets = stats.ipackets;
	row->rx_bytes = stats.ibytes;
	row->tx_packets = stats.opackets;
	row->tx_bytes = stats.obytes;
	row->rx_missed = stats.imissed;
	row->rx_errors = stats.ierrors;
	row->rx_nombuf = stats.rx_nombuf;
	row->tx_errors = stats.oerrors;
}

void watch_fill_ports(struct watch_page *page)
{
	for (uint32_t p = 0; p < page->roced->n_ports; p++) {
		struct watch_ports *row = watch_next(page);

		if (row != NULL)
			fill_port(&page->roced->ports[p], row);
	}
}

void watch_fill_pools(struct watch_page *page)
{
	const struct roced *roced = page->roced;

	for (uint32_t i = 0; i <= roced->n_ports; i++) {
		const struct rte_mempool *pool = i == 0 ? roced->tx_pool : roced->ports[i - 1].rx_pool;
		struct watch_pools *row = pool != NULL ? watch_next(page) : NULL;

		if (row == NULL)
			continue;
		watch_set_text(row->pool, pool->name);
		row->buffers = pool->size;
		row->used = rte_mempool_in_use_count(pool);
	}
}

/* ---- pauses ---- */

/* Every worker hears of each pause, and follows it by itself; one asks for all. Times are the first worker's. */
static void fill_priority(const struct roced *roced, uint32_t p, uint32_t priority, struct watch_pfc *row)
{
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		const struct worker *worker = roced->workers[w];
		const struct shape *shape = &worker->shapes[p];
		const struct rx_pause *asked = worker->watches != NULL ? worker->watches[p].pause : NULL;

		row->paused += shape->pause.paused >> priority & 1;
		row->storms = RTE_MAX(row->storms, shape->storm.detected[priority]);
		if (w == 0) {
			row->pauses = shape->pause.frames[priority];
			row->paused_ns = shape->pause.paused_ns[priority];
		}
		if (asked == NULL)
			continue;
		row->xoff_sent = asked->pfc.xoff_sent[priority];
		row->xon_sent = asked->pfc.xon_sent[priority];
		row->waiting_bytes = asked->pfc.bytes[priority];
		row->headroom_bytes = (asked->config.priorities >> priority & 1) != 0 ? asked->config.headroom_bytes : 0;
	}
}

void watch_fill_pfc(struct watch_page *page)
{
	const struct roced *roced = page->roced;

	for (uint32_t i = 0; i < roced->n_ports * QOS_PRIORITIES; i++) {
		uint32_t p = i / QOS_PRIORITIES, priority = i % QOS_PRIORITIES;
		struct watch_pfc *row = watch_next(page);

		if (row == NULL)
			continue;
		watch_set_text(row->port, roced->ports[p].config->name);
		row->priority = priority;
		fill_priority(roced, p, priority, row);
	}
}

/* ---- channels ---- */

static void fill_channel(const struct roced *roced, uint32_t p, uint8_t class, struct watch_channels *row)
{
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		const struct shape *shape = &roced->workers[w]->shapes[p];
		struct qos_class_stats stats;

		row->priority = shape->config.classes[class].priority;
		qos_egress_stats(shape->egress, class, &stats);
		row->sent_packets += stats.sent_packets;
		row->sent_bytes += stats.sent_bytes;
		row->marked += stats.marked;
		row->dropped += stats.dropped;
		row->delayed += stats.delayed;
		row->queued_packets += stats.queued_packets;
		row->queued_bytes += stats.queued_bytes;
	}
}

void watch_fill_channels(struct watch_page *page)
{
	const struct roced *roced = page->roced;

	for (uint32_t p = 0; p < roced->n_ports; p++) {
		const struct shape *shape = &roced->workers[0]->shapes[p];

		for (uint8_t class = 0; shape->egress != NULL && class < shape->config.n_classes; class++) {
			struct watch_channels *row = watch_next(page);

			if (row == NULL)
				continue;
			watch_set_text(row->port, roced->ports[p].config->name);
			/* a port may have a rate and no channels */
			watch_set_text(row->channel, roced->config.n_channels != 0 ? roced->config.channels[class].name : "");
			fill_channel(roced, p, class, row);
		}
	}
}

/* ---- XDP programs ---- */

void watch_fill_xdp(struct watch_page *page)
{
	uint64_t counts[XDP_ROCE_KINDS];

	for (uint32_t p = 0; p < page->roced->n_ports; p++) {
		const struct port *port = &page->roced->ports[p];

		if (port->xdp == NULL || xdp_roce_counts(port->xdp, counts) != 0)
			continue;
		for (uint32_t kind = 0; kind < XDP_ROCE_KINDS; kind++) {
			struct watch_xdp *row = watch_next(page);

			if (row == NULL)
				continue;
			watch_set_text(row->port, port->config->name);
			watch_set_text(row->kind, xdp_roce_kind_name(kind));
			watch_set_text(row->mode, port_xdp_name(port));
			row->frames = counts[kind];
		}
	}
}
