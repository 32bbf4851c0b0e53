/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes parsed packets to the main thread: management datagrams, ARP, neighbour discovery, echo. */
#include <sys/eventfd.h>

#include "nodes.h"

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);
	uint32_t done = rte_ring_sp_enqueue_burst(worker->to_main, objs, n, NULL);

	(void)graph;
	for (uint32_t i = done; i < n; i++) {
		worker_drop(worker, BASE_DROP_RING_FULL);
		rte_pktmbuf_free(objs[i]);
	}
	eventfd_write(worker->roced->punt_fd, 1);
	return n;
}

struct rte_node_register node_punt = {
	.name = "punt",
	.process = process,
};
