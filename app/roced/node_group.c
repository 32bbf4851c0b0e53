/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands a group's datagrams to the transport, once for each of the worker's members, as if sent to it alone. */
#include "group.h"
#include "nodes.h"

enum { EDGE_EGRESS };

struct copy {
	struct worker *worker;
	struct rte_mbuf *m;
};

static void deliver(void *arg, uint32_t qpn)
{
	struct copy *copy = arg;

	TP_PKT(copy->m)->dqpn = qpn;
	tp_rx(copy->worker->tp, &copy->m, 1, copy->worker->now_ns);
}

static void deliver_all(struct worker *worker, struct rte_mbuf *m)
{
	const struct port *port = worker->roced->port_by_id[m->port];
	const struct wire_pkt *pkt = TP_PKT(m);
	struct copy copy = {worker, m};
	const struct worker_group *group;
	struct wire_addr dst;
	uint32_t i = 0;

	/* Once clients are gone, lib/verbs' state may be, too. */
	if (atomic_load_explicit(&worker->quiet, memory_order_relaxed))
		return;
	wire_dst(rte_pktmbuf_mtod(m, const uint8_t *), pkt, &dst);
	while ((group = group_find(worker, port, &dst, pkt->has_vlan, pkt->vlan_tci, &i)) != NULL)
		(void)vd_worker_members(worker->vd, group->device, &dst, deliver, &copy);
}

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);

	(void)graph;
	worker_enter(worker, node, EDGE_EGRESS);
	worker->work += n;
	for (uint16_t i = 0; i < n; i++)
		deliver_all(worker, objs[i]);
	rte_pktmbuf_free_bulk((struct rte_mbuf **)objs, n);
	worker_flush_emit(worker);
	return n;
}

struct rte_node_register node_group = {
	.name = "group",
	.process = process,
	.nb_edges = 1,
	.next_nodes = {[EDGE_EGRESS] = "egress"},
};
