/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames for ports with channels wait there in their queues; the others go on. */
#include "nodes.h"
#include "shape.h"

enum { EDGE_PORT_TX };

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);
	struct rte_mbuf **pkts = (struct rte_mbuf **)objs;
	uint16_t run = 0;

	for (uint16_t i = 1; i <= n; i++) {
		struct shape *shape = &worker->shapes[worker->roced->port_by_id[pkts[run]->port]->index];

		if (i < n && pkts[i]->port == pkts[run]->port)
			continue;
		if (shape->egress != NULL)
			shape_put(worker, shape, &pkts[run], (uint32_t)(i - run));
		else
			rte_node_enqueue(graph, node, EDGE_PORT_TX, &objs[run], (uint16_t)(i - run));
		run = i;
	}
	return n;
}

struct rte_node_register node_shape = {
	.name = "shape",
	.process = process,
	.nb_edges = 1,
	.next_nodes = {[EDGE_PORT_TX] = "port_tx"},
};
