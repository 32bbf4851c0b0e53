/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes parsed packets to the worker that owns their queue pair, by a ring of this pair of workers. */
#include "nodes.h"
#include "rx_watch.h"

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);

	(void)graph;
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = objs[i];
		struct worker *owner = worker->roced->workers[TP_PKT(m)->dqpn >> WORKER_QPN_SHIFT];

		if (worker->watches != NULL)
			rx_watch_gave(worker, m, false);
		if (rte_ring_sp_enqueue(owner->from_worker[worker->index], m) != 0) {
			if (worker->watches != NULL)
				rx_watch_gave(worker, m, true);
			worker_drop(worker, BASE_DROP_RING_FULL);
			rte_pktmbuf_free(m);
			continue;
		}
		worker->counters.ring_out++;
		worker_wake(owner);
	}
	return n;
}

struct rte_node_register node_handoff = {
	.name = "handoff",
	.process = process,
};
