/* SPDX-License-Identifier: BSD-3-Clause */
/* What is no RoCE for a far gateway goes on as through a learning bridge (IEEE 802.1Q, 8.7 and 8.8), between the hosts' ports and the fabric's. */
#include <string.h>

#include "gateway.h"

/* 01-80-C2-00-00-00 to -0F are for the neighbour only: table 8-1. */
static bool is_reserved(const uint8_t *mac)
{
	static const uint8_t prefix[5] = {0x01, 0x80, 0xc2, 0x00, 0x00};

	return memcmp(mac, prefix, sizeof(prefix)) == 0 && mac[5] < 16;
}

static bool is_ours(const struct gateway *gateway, const struct port *port)
{
	return port == gateway->fabric || gateway_is_host_port(gateway, port);
}

static void send_to(struct worker *worker, struct rte_mbuf *m, const struct port *port)
{
	m->port = port->id;
	m->ol_flags = 0;
	worker_emit(worker, m, ROUTE_TX);
}

/* A copy for each other port. */
static void flood(struct worker *worker, struct rte_mbuf *m, const struct port *from)
{
	const struct gateway *gateway = worker->gateway->shared;

	for (uint32_t p = 0; p < worker->roced->n_ports; p++) {
		const struct port *port = &worker->roced->ports[p];
		struct rte_mbuf *copy;

		if (port == from || !is_ours(gateway, port))
			continue;
		copy = worker_copy(worker, m);
		if (copy == NULL) {
			worker_drop(worker, BASE_DROP_NO_MBUF);
			continue;
		}
		worker->gateway->counters.flooded++;
		send_to(worker, copy, port);
	}
}

bool gateway_bridge(struct worker *worker, struct rte_mbuf *m)
{
	struct gateway_worker *gw = worker->gateway;
	const struct port *from = worker->roced->port_by_id[m->port];
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	bool group = (frame[0] & 1) != 0;
	uint32_t to;

	if (is_reserved(frame)) {
		worker_discard(worker, m, BASE_DROP_NOT_OURS);
		return false;
	}
	gateway_macs_learn(&gw->macs, frame + 6, from->index, worker->now_ns);
	to = gateway_macs_find(&gw->macs, frame, worker->now_ns);
	if (to == from->index) {
		rte_pktmbuf_free(m);
		return false;
	}
	gw->counters.bridged++;
	if (to != GATEWAY_NO_PORT) {
		send_to(worker, m, &worker->roced->ports[to]);
		return false;
	}
	flood(worker, m, from);
	if (group && from == gw->shared->fabric)
		return true;
	rte_pktmbuf_free(m);
	return false;
}
