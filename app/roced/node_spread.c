/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams for a multicast group: every worker may have members, so each gets a copy. */
#include "nodes.h"

enum { EDGE_GROUP };

static void pass(struct worker *worker, struct worker *other, struct rte_mbuf *m)
{
	struct rte_mbuf *copy = worker_copy(worker, m);

	if (copy == NULL || rte_ring_sp_enqueue(other->from_worker[worker->index], copy) != 0) {
		worker_drop(worker, BASE_DROP_RING_FULL);
		rte_pktmbuf_free(copy);
		return;
	}
	worker->counters.ring_out++;
	worker_wake(other);
}

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);

	for (uint16_t i = 0; i < n; i++) {
		for (uint32_t w = 0; w < worker->roced->n_workers; w++) {
			if (w != worker->index)
				pass(worker, worker->roced->workers[w], objs[i]);
		}
	}
	rte_node_enqueue(graph, node, EDGE_GROUP, objs, n);
	return n;
}

struct rte_node_register node_spread = {
	.name = "spread",
	.process = process,
	.nb_edges = 1,
	.next_nodes = {[EDGE_GROUP] = "group"},
};
