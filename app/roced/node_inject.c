/* SPDX-License-Identifier: BSD-3-Clause */
/* Source: frames of the main thread, and packets that arrived at other workers. */
#include "nodes.h"

enum { EDGE_EGRESS, EDGE_DELIVER };

static uint32_t take(struct rte_graph *graph, struct rte_node *node, struct rte_ring *ring, rte_edge_t edge)
{
	void *objs[WORKER_BURST];
	uint32_t n = rte_ring_sc_dequeue_burst(ring, objs, WORKER_BURST, NULL);

	if (n != 0)
		rte_node_enqueue(graph, node, edge, objs, (uint16_t)n);
	return n;
}

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n_objs)
{
	struct worker *worker = worker_of(node);
	uint32_t n = take(graph, node, worker->from_main, EDGE_EGRESS);

	(void)objs;
	(void)n_objs;
	for (uint32_t w = 0; w < worker->roced->n_workers; w++) {
		if (worker->from_worker[w] == NULL)
			continue;
		n += take(graph, node, worker->from_worker[w], EDGE_DELIVER);
	}
	worker->counters.ring_in += n;
	worker->work += n;
	return (uint16_t)n;
}

struct rte_node_register node_inject = {
	.name = "inject",
	.flags = RTE_NODE_SOURCE_F,
	.process = process,
	.nb_edges = 2,
	.next_nodes = {[EDGE_EGRESS] = "egress", [EDGE_DELIVER] = "deliver"},
};
