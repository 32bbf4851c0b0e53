/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends frames on the worker's own transmit queue of their port. */
#include "capture.h"
#include "nodes.h"

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);
	struct rte_mbuf **pkts = (struct rte_mbuf **)objs;
	uint16_t run = 0;

	(void)graph;
	if (unlikely(worker->capture != NULL))
		capture_take(worker, CAPTURE_GOES, worker->index, pkts, n);
	for (uint16_t i = 1; i <= n; i++) {
		if (i < n && pkts[i]->port == pkts[run]->port)
			continue;
		worker_tx(worker, worker->roced->port_by_id[pkts[run]->port], &pkts[run], (uint32_t)(i - run));
		run = i;
	}
	return n;
}

struct rte_node_register node_port_tx = {
	.name = "port_tx",
	.process = process,
};
