/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses each frame, once; checks that it is for us and whole; says who handles it. */
#include <rte_prefetch.h>

#include "crypt_msg.h"
#include "gateway.h"
#include "group.h"
#include "nodes.h"
#include "rx_watch.h"
#include "shape.h"
#include "wire_arp_nd.h"
#include "wire_cm.h"
#include "wire_frame.h"
#include "worker_crypt.h"

#define PREFETCH_AHEAD 4

enum { EDGE_DELIVER, EDGE_PUNT, EDGE_HANDOFF, EDGE_DROP, EDGE_SPREAD, EDGE_UNPROTECT, EDGE_ENCAP, EDGE_DECAP, EDGE_BRIDGE };

static rte_edge_t drop(struct worker *worker, enum base_drop reason)
{
	worker_drop(worker, reason);
	return EDGE_DROP;
}

static bool is_group(const uint8_t mac[6])
{
	return (mac[0] & 1) != 0;
}

/* A datagram for a multicast group: only such have that destination (IBTA vol. 1, 9.6.1.3). */
static rte_edge_t to_group(struct worker *worker, const struct port *port, const uint8_t *frame,
	const struct wire_pkt *pkt, const struct wire_addr *dst)
{
	uint8_t mac[6];
	uint32_t i = 0;

	if (group_find(worker, port, dst, pkt->has_vlan, pkt->vlan_tci, &i) == NULL ||
		!wire_mcast_mac(dst, mac) || __builtin_memcmp(frame, mac, sizeof(mac)) != 0)
		return drop(worker, BASE_DROP_NOT_OURS);
	return wire_icrc_ok(frame, pkt) ? EDGE_SPREAD : drop(worker, BASE_DROP_ICRC);
}

static rte_edge_t roce(struct worker *worker, const struct port *port, const uint8_t *frame, const struct wire_pkt *pkt)
{
	const struct port_addr *addr;
	struct wire_addr dst;
	uint32_t owner;

	wire_dst(frame, pkt, &dst);
	if (pkt->dqpn == GROUP_QPN)
		return to_group(worker, port, frame, pkt, &dst);
	addr = port_find_addr(port, &dst, pkt->has_vlan, pkt->vlan_tci);
	if (addr == NULL || __builtin_memcmp(frame, addr->mac, sizeof(addr->mac)) != 0)
		return drop(worker, BASE_DROP_NOT_OURS);
	if (!wire_icrc_ok(frame, pkt))
		return drop(worker, BASE_DROP_ICRC);
	if (pkt->dqpn == WIRE_GSI_QPN)
		return EDGE_PUNT;
	owner = pkt->dqpn >> WORKER_QPN_SHIFT;
	if (owner == worker->index)
		return EDGE_DELIVER;
	return owner < worker->roced->n_workers ? EDGE_HANDOFF : drop(worker, BASE_DROP_QPN);
}

/* ARP, neighbour discovery and echo: the main thread finds out whether one of our addresses is meant. */
static rte_edge_t host(struct worker *worker, const struct port *port, const uint8_t *frame)
{
	if (is_group(frame))
		return EDGE_PUNT;
	for (uint32_t i = 0; i < port->n_addrs; i++) {
		if (__builtin_memcmp(frame, port->addrs[i].mac, 6) == 0)
			return EDGE_PUNT;
	}
	return drop(worker, BASE_DROP_NOT_OURS);
}

/* The neighbour's own: switches do not forward frames with that address (IEEE 802.1Q, table 8-1), and so nobody else pauses
 * us. */
static rte_edge_t mac_control(struct worker *worker, const struct port *port, const uint8_t *frame,
	const struct wire_pkt *pkt)
{
	static const uint8_t dmac[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

	if (pkt->has_vlan || __builtin_memcmp(frame, dmac, sizeof(dmac)) != 0)
		return drop(worker, BASE_DROP_NOT_OURS);
	return shape_is_paused_by(worker, port) ? EDGE_SPREAD : drop(worker, BASE_DROP_UNSUPPORTED);
}

/* Of the ports that protection uses. A lane's packets are all for one worker, which knows the numbers that have come. */
static bool of_protection(struct worker *worker, struct rte_mbuf *m, rte_edge_t *edge)
{
	const struct config_protection *config = &worker->roced->config.protection;
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct wire_pkt *pkt = TP_PKT(m);
	uint32_t port = wire_udp_dport(frame, m->data_len), owner;

	if (port == config->control_port) {
		pkt->kind = WIRE_KIND_KEYS;
		*edge = EDGE_PUNT;
		return true;
	}
	if (port - config->port >= CRYPT_MSG_LANES)
		return false;
	owner = (port - config->port) % worker->roced->n_workers;
	pkt->kind = WIRE_KIND_PSP;
	pkt->dqpn = owner << WORKER_QPN_SHIFT;
	*edge = owner == worker->index ? EDGE_UNPROTECT : EDGE_HANDOFF;
	return true;
}

/* Nothing plain is taken from a peer with which protection is required; what we send to ourselves is not on any wire. */
static bool must_be_protected(const struct worker *worker, struct rte_mbuf *m, const uint8_t *frame, const struct wire_pkt *pkt)
{
	struct wire_addr src, dst;

	if (*roced_route(m) != ROUTE_TX)
		return false;
	wire_src(frame, pkt, &src);
	wire_dst(frame, pkt, &dst);
	return worker_crypt_required(worker, worker->roced->port_by_id[m->port], &dst, &src);
}

/* By enum gateway_verdict. */
static const rte_edge_t gateway_edges[] = {
	[GATEWAY_DROP] = EDGE_DROP, [GATEWAY_ENCAP] = EDGE_ENCAP, [GATEWAY_DECAP] = EDGE_DECAP, [GATEWAY_BRIDGE] = EDGE_BRIDGE,
	[GATEWAY_HANDOFF] = EDGE_HANDOFF};

static rte_edge_t classify(struct worker *worker, struct rte_mbuf *m)
{
	const struct port *port = worker->roced->port_by_id[m->port];
	struct wire_pkt *pkt = TP_PKT(m);
	const uint8_t *frame;
	enum base_drop reason;
	rte_edge_t edge;

	if (m->nb_segs > 1 && rte_pktmbuf_linearize(m) != 0)
		return drop(worker, BASE_DROP_TRUNCATED);
	frame = rte_pktmbuf_mtod(m, const uint8_t *);
	if (worker->gateway != NULL) {
		enum gateway_verdict verdict = gateway_classify(worker, m);

		if (verdict != GATEWAY_NOT)
			return gateway_edges[verdict];
	}
	if (worker->crypt != NULL && *roced_route(m) == ROUTE_TX && of_protection(worker, m, &edge))
		return edge;
	reason = wire_parse(frame, m->data_len, pkt);
	if (worker->watches != NULL)
		rx_watch_saw(worker, m);
	if (reason != BASE_DROP_NONE && worker->n_groups != 0 && is_group(frame) &&
		group_is_query(frame, m->data_len)) {
		pkt->kind = WIRE_KIND_OTHER;
		return EDGE_PUNT;
	}
	if (reason != BASE_DROP_NONE)
		return drop(worker, reason);
	switch (pkt->kind) {
	case WIRE_KIND_ROCE_V2:
		if (worker->crypt != NULL && must_be_protected(worker, m, frame, pkt))
			return drop(worker, BASE_DROP_PLAIN);
		return roce(worker, port, frame, pkt);
	case WIRE_KIND_ARP:
	case WIRE_KIND_ICMP4:
	case WIRE_KIND_ICMP6:
		return host(worker, port, frame);
	case WIRE_KIND_PFC:
		return mac_control(worker, port, frame, pkt);
	default:
		return drop(worker, BASE_DROP_NOT_ROCE);
	}
}

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);
	rte_edge_t run_edge = 0;
	uint16_t run = 0;

	for (uint16_t i = 0; i < n; i++) {
		rte_edge_t edge;

		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod((struct rte_mbuf *)objs[i + PREFETCH_AHEAD], void *));
		edge = classify(worker, objs[i]);
		if (edge != run_edge && i > run) {
			rte_node_enqueue(graph, node, run_edge, &objs[run], (uint16_t)(i - run));
			run = i;
		}
		run_edge = edge;
	}
	rte_node_enqueue(graph, node, run_edge, &objs[run], (uint16_t)(n - run));
	return n;
}

struct rte_node_register node_classify = {
	.name = "classify",
	.process = process,
	.nb_edges = 9,
	.next_nodes = {[EDGE_DELIVER] = "deliver", [EDGE_PUNT] = "punt", [EDGE_HANDOFF] = "handoff",
		[EDGE_DROP] = "drop", [EDGE_SPREAD] = "spread",
		[EDGE_UNPROTECT] = "unprotect", [EDGE_ENCAP] = "encap", [EDGE_DECAP] = "decap", [EDGE_BRIDGE] = "bridge"},
};
