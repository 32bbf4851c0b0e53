/* SPDX-License-Identifier: BSD-3-Clause */
/* What is for all workers, each of which gets a copy: datagrams for a multicast group, whose members may be at any, and
 * pauses. */
#include "nodes.h"

enum { EDGE_GROUP, EDGE_PFC };

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
		rte_node_enqueue_x1(graph, node, TP_PKT((struct rte_mbuf *)objs[i])->kind == WIRE_KIND_PFC ? EDGE_PFC : EDGE_GROUP,
			objs[i]);
	}
	return n;
}

struct rte_node_register node_spread = {
	.name = "spread",
	.process = process,
	.nb_edges = 2,
	.next_nodes = {[EDGE_GROUP] = "group", [EDGE_PFC] = "pfc"},
};
