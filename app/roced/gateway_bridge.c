/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is no RoCE for a far gateway goes on as through a learning bridge (IEEE 802.1Q, 8.7 and 8.8), between the hosts'
 * ports and the fabric's. A hosts' VLAN of the fabric's port is a port of the bridge by itself: frames lose its tag
 * when they come and get it when they leave.
 */
#include <string.h>

#include "gateway.h"

#define MACS_BYTES 12u
#define TAG_BYTES  4u
#define ETH_MIN_BYTES 60u /* without FCS */
#define FIRST_VLAN ((uint32_t)CONFIG_MAX_PORTS) /* numbers below are ports' */

/* A port of the bridge. */
struct side {
	const struct port *port;
	uint16_t vlan;             /* hosts' VLAN; 0: frames are as they are */
	uint16_t priority;         /* of a frame that came in that VLAN, as in its tag: it keeps it in another */
};

/* The number that link addresses are learnt with. */
static uint32_t number_of(const struct side *side)
{
	return side->vlan != 0 ? FIRST_VLAN + side->vlan : side->port->index;
}

static struct side side_of(const struct gateway *gateway, const struct roced *roced, uint32_t number)
{
	if (number >= FIRST_VLAN)
		return (struct side){.port = gateway->fabric, .vlan = (uint16_t)(number - FIRST_VLAN)};
	return (struct side){.port = &roced->ports[number]};
}

/* 01-80-C2-00-00-00 to -0F are for the neighbour only: table 8-1. */
static bool is_reserved(const uint8_t *mac)
{
	static const uint8_t prefix[5] = {0x01, 0x80, 0xc2, 0x00, 0x00};

	return memcmp(mac, prefix, sizeof(prefix)) == 0 && mac[5] < 16;
}

static void untag(struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint16_t missing;
	char *pad;

	memmove(frame + TAG_BYTES, frame, MACS_BYTES);
	rte_pktmbuf_adj(m, TAG_BYTES);
	missing = m->data_len < ETH_MIN_BYTES ? (uint16_t)(ETH_MIN_BYTES - m->data_len) : 0;
	/* It was long enough with its tag only: IEEE 802.1Q, G.2.3. */
	pad = missing != 0 ? rte_pktmbuf_append(m, missing) : NULL;
	if (pad != NULL)
		memset(pad, 0, missing);
}

static bool tag(struct rte_mbuf *m, uint16_t tci)
{
	uint8_t *frame = (uint8_t *)rte_pktmbuf_prepend(m, TAG_BYTES);

	if (frame == NULL)
		return false;
	memmove(frame, frame + TAG_BYTES, MACS_BYTES);
	frame[12] = 0x81;
	frame[13] = 0;
	frame[14] = (uint8_t)(tci >> 8);
	frame[15] = (uint8_t)tci;
	return true;
}

/* Where a frame has come from; it loses its tag there. */
static struct side come_by(const struct worker *worker, struct rte_mbuf *m)
{
	const struct gateway *gateway = worker->gateway->shared;
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct side from = {.port = worker->roced->port_by_id[m->port]};

	if (from.port == gateway->fabric)
		from.vlan = gateway_host_vlan(gateway, frame, m->data_len);
	if (from.vlan != 0) {
		from.priority = (uint16_t)((frame[14] & 0xf0) << 8);
		untag(m);
	}
	return from;
}

static void send_to(struct worker *worker, struct rte_mbuf *m, const struct side *from, const struct side *to)
{
	const struct gateway *gateway = worker->gateway->shared;
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	/* A tag that a host made is no way into others' VLAN. */
	if (to->port == gateway->fabric && to->vlan == 0 && gateway_host_vlan(gateway, frame, m->data_len) != 0) {
		worker_discard(worker, m, BASE_DROP_NOT_OURS);
		return;
	}
	if (to->vlan != 0 && !tag(m, to->vlan | from->priority)) {
		worker_discard(worker, m, BASE_DROP_NO_ROOM);
		return;
	}
	m->port = to->port->id;
	m->ol_flags = 0;
	worker_emit(worker, m, ROUTE_TX);
}

static void flood_to(struct worker *worker, struct rte_mbuf *m, const struct side *from, const struct side *to)
{
	struct rte_mbuf *copy;

	if (number_of(to) == number_of(from))
		return;
	copy = worker_copy(worker, m);
	if (copy == NULL) {
		worker_drop(worker, BASE_DROP_NO_MBUF);
		return;
	}
	worker->gateway->counters.flooded++;
	send_to(worker, copy, from, to);
}

/* A copy for each other port. */
static void flood(struct worker *worker, struct rte_mbuf *m, const struct side *from)
{
	const struct gateway *gateway = worker->gateway->shared;

	for (uint32_t p = 0; p < worker->roced->n_ports; p++) {
		const struct side to = {.port = &worker->roced->ports[p]};

		if (to.port == gateway->fabric || gateway_is_host_port(gateway, to.port))
			flood_to(worker, m, from, &to);
	}
	for (uint32_t i = 0; i < gateway->n_host_vlans; i++)
		flood_to(worker, m, from, &(struct side){.port = gateway->fabric, .vlan = gateway->host_vlans[i]});
}

bool gateway_bridge(struct worker *worker, struct rte_mbuf *m)
{
	struct gateway_worker *gw = worker->gateway;
	struct side from = come_by(worker, m), to;
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	bool group = (frame[0] & 1) != 0;
	uint32_t number;

	if (is_reserved(frame)) {
		worker_discard(worker, m, BASE_DROP_NOT_OURS);
		return false;
	}
	gateway_macs_learn(&gw->macs, frame + 6, number_of(&from), worker->now_ns);
	number = gateway_macs_find(&gw->macs, frame, worker->now_ns);
	if (number == number_of(&from)) {
		rte_pktmbuf_free(m);
		return false;
	}
	gw->counters.bridged++;
	if (number != GATEWAY_NO_PORT) {
		to = side_of(gw->shared, worker->roced, number);
		send_to(worker, m, &from, &to);
		return false;
	}
	flood(worker, m, &from);
	if (group && from.port == gw->shared->fabric && from.vlan == 0)
		return true;
	rte_pktmbuf_free(m);
	return false;
}
