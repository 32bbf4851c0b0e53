/* SPDX-License-Identifier: BSD-3-Clause */
/* Source: frames of channels whose time has come, as long as their port takes them. */
#include "nodes.h"
#include "shape.h"

enum { EDGE_PORT_TX };

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n_objs)
{
	struct worker *worker = worker_of(node);
	struct rte_mbuf *pkts[WORKER_BURST];
	uint32_t total = 0;

	(void)objs;
	(void)n_objs;
	for (uint32_t p = 0; worker->shaped && p < worker->roced->n_ports; p++) {
		struct shape *shape = &worker->shapes[p];
		uint32_t n;

		/* What waits for the port itself is before them; one that is away would only make that longer. */
		if (shape->egress == NULL || worker->txq[p].count != 0 ||
			atomic_load_explicit(&worker->txq[p].port->off, memory_order_relaxed))
			continue;
		n = shape_get(worker, shape, pkts, WORKER_BURST);
		if (n != 0)
			rte_node_enqueue(graph, node, EDGE_PORT_TX, (void **)pkts, (uint16_t)n);
		total += n;
	}
	worker->work += total;
	return (uint16_t)total;
}

struct rte_node_register node_release = {
	.name = "release",
	.flags = RTE_NODE_SOURCE_F,
	.process = process,
	.nb_edges = 1,
	.next_nodes = {[EDGE_PORT_TX] = "port_tx"},
};
