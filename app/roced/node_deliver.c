/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands RoCE packets to the transport; acknowledgements go on to egress. */
#include "nodes.h"

enum { EDGE_EGRESS };

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);

	(void)graph;
	worker_enter(worker, node, EDGE_EGRESS);
	worker->work += n;
	tp_rx(worker->tp, (struct rte_mbuf **)objs, n, worker->now_ns);
	rte_pktmbuf_free_bulk((struct rte_mbuf **)objs, n);
	worker_flush_emit(worker);
	return n;
}

struct rte_node_register node_deliver = {
	.name = "deliver",
	.process = process,
	.nb_edges = 1,
	.next_nodes = {[EDGE_EGRESS] = "egress"},
};
