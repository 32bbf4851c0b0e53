/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames on their way out, link addresses filled in: to the port, by its channels if it has some, or back in when they are for ourselves. */
#include "nodes.h"

enum { EDGE_PORT_TX, EDGE_CLASSIFY, EDGE_SHAPE, EDGE_PROTECT };

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	const struct worker *worker = worker_of(node);
	rte_edge_t out = worker->crypt != NULL ? EDGE_PROTECT : worker->shaped ? EDGE_SHAPE : EDGE_PORT_TX;
	uint16_t run = 0;

	for (uint16_t i = 0; i < n; i++) {
		if (*roced_route(objs[i]) != ROUTE_LOOP)
			continue;
		if (i > run)
			rte_node_enqueue(graph, node, out, &objs[run], (uint16_t)(i - run));
		rte_node_enqueue_x1(graph, node, EDGE_CLASSIFY, objs[i]);
		run = (uint16_t)(i + 1);
	}
	if (n > run)
		rte_node_enqueue(graph, node, out, &objs[run], (uint16_t)(n - run));
	return n;
}

struct rte_node_register node_egress = {
	.name = "egress",
	.process = process,
	.nb_edges = 4,
	.next_nodes = {[EDGE_PORT_TX] = "port_tx", [EDGE_CLASSIFY] = "classify", [EDGE_SHAPE] = "shape",
		[EDGE_PROTECT] = "protect"},
};
