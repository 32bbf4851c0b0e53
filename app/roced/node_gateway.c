/* SPDX-License-Identifier: BSD-3-Clause */
/* The gateway's nodes: into tunnels, out of them, past them, and what is done by time. */
#include <string.h>

#include "gateway.h"
#include "nodes.h"

enum { EDGE_EGRESS };
enum { BRIDGE_EGRESS, BRIDGE_PUNT };

static uint16_t encap(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);

	(void)graph;
	worker_enter(worker, node, EDGE_EGRESS);
	for (uint16_t i = 0; i < n; i++)
		gateway_encap(worker, objs[i]);
	worker_flush_emit(worker);
	return n;
}

static uint16_t decap(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);

	(void)graph;
	worker_enter(worker, node, EDGE_EGRESS);
	for (uint16_t i = 0; i < n; i++)
		gateway_decap(worker, objs[i]);
	worker_flush_emit(worker);
	return n;
}

/* The main thread answers for our own addresses and learns of neighbours. */
static bool is_for_main(const struct rte_mbuf *m)
{
	struct wire_pkt *pkt = TP_PKT((struct rte_mbuf *)(uintptr_t)m);

	(void)wire_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, pkt);
	return pkt->kind == WIRE_KIND_ARP || pkt->kind == WIRE_KIND_ICMP4 || pkt->kind == WIRE_KIND_ICMP6;
}

static uint16_t bridge(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);

	worker_enter(worker, node, BRIDGE_EGRESS);
	for (uint16_t i = 0; i < n; i++) {
		if (TP_PKT((struct rte_mbuf *)objs[i])->kind == WIRE_KIND_DIRECT)
			gateway_direct_pass(worker, objs[i]);
		if (!gateway_bridge(worker, objs[i]))
			continue;
		if (is_for_main(objs[i]))
			rte_node_enqueue_x1(graph, node, BRIDGE_PUNT, objs[i]);
		else
			rte_pktmbuf_free(objs[i]);
	}
	worker_flush_emit(worker);
	return n;
}

static uint16_t timer(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);

	(void)graph;
	(void)objs;
	(void)n;
	if (worker->gateway == NULL)
		return 0;
	worker_enter(worker, node, EDGE_EGRESS);
	gateway_tick(worker);
	worker_flush_emit(worker);
	return 0;
}

struct rte_node_register node_encap = {
	.name = "encap",
	.process = encap,
	.nb_edges = 1,
	.next_nodes = {[EDGE_EGRESS] = "egress"},
};

struct rte_node_register node_decap = {
	.name = "decap",
	.process = decap,
	.nb_edges = 1,
	.next_nodes = {[EDGE_EGRESS] = "egress"},
};

struct rte_node_register node_bridge = {
	.name = "bridge",
	.process = bridge,
	.nb_edges = 2,
	.next_nodes = {[BRIDGE_EGRESS] = "egress", [BRIDGE_PUNT] = "punt"},
};

struct rte_node_register node_timer = {
	.name = "timer",
	.flags = RTE_NODE_SOURCE_F,
	.process = timer,
	.nb_edges = 1,
	.next_nodes = {[EDGE_EGRESS] = "egress"},
};
