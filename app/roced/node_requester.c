/* SPDX-License-Identifier: BSD-3-Clause */
/* Source: doorbells, timers, and the queue pairs' turns at sending. */
#include "nodes.h"

#define TX_BUDGET     128
#define SHAPED_BUDGET 8 /* so that the queues' lengths are seen often */

enum { EDGE_EGRESS };

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n_objs)
{
	struct worker *worker = worker_of(node);
	uint32_t n = 0;

	(void)graph;
	(void)objs;
	(void)n_objs;
	worker_enter(worker, node, EDGE_EGRESS);
	worker_tx_retry(worker);
	if (!atomic_load_explicit(&worker->quiet, memory_order_relaxed))
		worker->work += vd_worker_poll(worker->vd, worker->tp);
	tp_advance(worker->tp, worker->now_ns);
	/* A full port slows the queue pairs down instead of losing their packets. */
	if (worker->backlog == 0 && tp_has_work(worker->tp))
		n = tp_tx(worker->tp, worker->shaped ? SHAPED_BUDGET : TX_BUDGET, worker->now_ns);
	worker->work += n;
	worker_flush_emit(worker);
	return (uint16_t)n;
}

struct rte_node_register node_requester = {
	.name = "requester",
	.flags = RTE_NODE_SOURCE_F,
	.process = process,
	.nb_edges = 1,
	.next_nodes = {[EDGE_EGRESS] = "egress"},
};
