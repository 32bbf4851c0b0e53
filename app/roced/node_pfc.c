/* SPDX-License-Identifier: BSD-3-Clause */
/* The neighbour's pauses, each at every worker: all of them send by the port. */
#include "nodes.h"
#include "shape.h"

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);

	(void)graph;
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = objs[i];

		shape_pause(worker, &worker->shapes[worker->roced->port_by_id[m->port]->index], m);
		rte_pktmbuf_free(m);
	}
	return n;
}

struct rte_node_register node_pfc = {
	.name = "pfc",
	.process = process,
};
