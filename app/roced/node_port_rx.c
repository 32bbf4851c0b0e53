/* SPDX-License-Identifier: BSD-3-Clause */
/* Source: takes frames from the worker's receive queues. */
#include "capture.h"
#include "nodes.h"
#include "rx_watch.h"

enum { EDGE_CLASSIFY };

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n_objs)
{
	struct worker *worker = worker_of(node);
	uint16_t n = 0;

	(void)n_objs;
	for (uint32_t q = 0; q < worker->n_rxq && n + WORKER_BURST <= RTE_GRAPH_BURST_SIZE; q++) {
		struct worker_rxq *rxq = &worker->rxq[q];
		uint16_t k = 0;

		if (!atomic_load_explicit(&rxq->port->off, memory_order_relaxed))
			k = rte_eth_rx_burst(rxq->port_id, rxq->queue, (struct rte_mbuf **)&objs[n], WORKER_BURST);
		if (worker->watches != NULL)
			rx_watch_burst(worker, rxq, k);
		if (unlikely(worker->capture != NULL))
			capture_take(worker, CAPTURE_CAME, rxq->queue, (struct rte_mbuf **)&objs[n], k);
		n = (uint16_t)(n + k);
	}
	if (n == 0)
		return 0;
	/* None of them has been opened yet. */
	for (uint16_t i = 0; (worker->crypt != NULL || worker->gateway != NULL) && i < n; i++)
		*roced_route(objs[i]) = ROUTE_TX;
	worker->work += n;
	node->idx = n;
	rte_node_next_stream_move(graph, node, EDGE_CLASSIFY);
	return n;
}

struct rte_node_register node_port_rx = {
	.name = "port_rx",
	.flags = RTE_NODE_SOURCE_F,
	.process = process,
	.nb_edges = 1,
	.next_nodes = {[EDGE_CLASSIFY] = "classify"},
};
