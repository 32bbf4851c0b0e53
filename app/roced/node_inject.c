/* SPDX-License-Identifier: BSD-3-Clause */
/* Source: frames of the main thread, and packets that arrived at other workers. */
#include "group.h"
#include "nodes.h"
#include "rx_watch.h"

enum { EDGE_EGRESS, EDGE_DELIVER, EDGE_GROUP, EDGE_PFC, EDGE_UNPROTECT, EDGE_DECAP, EDGE_BRIDGE };

/* From the main thread: to be sent. */
static uint32_t take_frames(struct rte_graph *graph, struct rte_node *node, struct rte_ring *ring)
{
	void *objs[WORKER_BURST];
	uint32_t n = rte_ring_sc_dequeue_burst(ring, objs, WORKER_BURST, NULL);

	if (n != 0)
		rte_node_enqueue(graph, node, EDGE_EGRESS, objs, (uint16_t)n);
	return n;
}

static rte_edge_t edge_of(const struct wire_pkt *pkt)
{
	if (pkt->kind == WIRE_KIND_PFC)
		return EDGE_PFC;
	if (pkt->kind == WIRE_KIND_PSP)
		return EDGE_UNPROTECT;
	if (pkt->kind == WIRE_KIND_TUNNEL)
		return EDGE_DECAP;
	if (pkt->kind == WIRE_KIND_DIRECT)
		return EDGE_BRIDGE;
	return pkt->dqpn == GROUP_QPN ? EDGE_GROUP : EDGE_DELIVER;
}

/* From another worker: for a queue pair of ours, or a copy for a group's members or of a pause. */
static uint32_t take_passed(struct rte_graph *graph, struct rte_node *node, struct rte_ring *ring)
{
	struct worker *worker = worker_of(node);
	void *objs[WORKER_BURST];
	uint32_t n = rte_ring_sc_dequeue_burst(ring, objs, WORKER_BURST, NULL);

	for (uint32_t i = 0; worker->watches != NULL && i < n; i++)
		rx_watch_took(worker, objs[i]);
	for (uint32_t i = 0, run = 0; i < n; i++) {
		rte_edge_t edge = edge_of(TP_PKT((struct rte_mbuf *)objs[i]));
		bool last = i + 1 == n || edge_of(TP_PKT((struct rte_mbuf *)objs[i + 1])) != edge;

		if (!last)
			continue;
		rte_node_enqueue(graph, node, edge, &objs[run], (uint16_t)(i + 1 - run));
		run = i + 1;
	}
	return n;
}

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n_objs)
{
	struct worker *worker = worker_of(node);
	uint32_t n = take_frames(graph, node, worker->from_main);

	(void)objs;
	(void)n_objs;
	for (uint32_t w = 0; w < worker->roced->n_workers; w++) {
		if (worker->from_worker[w] == NULL)
			continue;
		n += take_passed(graph, node, worker->from_worker[w]);
	}
	worker->counters.ring_in += n;
	worker->work += n;
	return (uint16_t)n;
}

struct rte_node_register node_inject = {
	.name = "inject",
	.flags = RTE_NODE_SOURCE_F,
	.process = process,
	.nb_edges = 7,
	.next_nodes = {[EDGE_EGRESS] = "egress", [EDGE_DELIVER] = "deliver", [EDGE_GROUP] = "group", [EDGE_PFC] = "pfc",
		[EDGE_UNPROTECT] = "unprotect", [EDGE_DECAP] = "decap", [EDGE_BRIDGE] = "bridge"},
};
