/* SPDX-License-Identifier: BSD-3-Clause */
/* Frees what nobody wants; the reason was counted where it was found. */
#include "nodes.h"

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	(void)graph;
	(void)node;
	rte_pktmbuf_free_bulk((struct rte_mbuf **)objs, n);
	return n;
}

struct rte_node_register node_drop = {
	.name = "drop",
	.process = process,
};
