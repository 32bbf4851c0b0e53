/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes of a worker's graph, one file each:
 *
 *   port_rx ─► classify ─► deliver ─► egress ─► port_tx
 *                          release ─► port_tx   egress ─► shape (ports with channels) ─► port_tx
 *   inject ──► egress  ├─► handoff (to another worker)
 *      └─────► deliver ├─► punt (to the main thread)
 *   requester ► egress ├─► drop          egress ─► classify (to ourselves)
 *   classify ─► unprotect ─► classify    egress ─► protect ─► shape or port_tx (where peers are protected)
 *   inject ──► group   ├─► spread ─► group ─► egress (multicast)
 *                          └─► spread ─► pfc
 *   classify ─► encap, decap or bridge ─► egress (a gateway)     timer ─► egress
 */
#ifndef NODES_H
#define NODES_H

#include "worker.h"

#define NODES_MAX 21

/* The registrations, in the order in which the graph lists them. */
extern struct rte_node_register *const nodes_all[];
extern const uint32_t nodes_count;

/* Registers all nodes with DPDK; once. */
int nodes_register(void);

extern struct rte_node_register node_port_rx, node_classify, node_deliver, node_handoff, node_punt, node_drop;
extern struct rte_node_register node_requester, node_inject, node_egress, node_port_tx;
extern struct rte_node_register node_protect, node_unprotect;
extern struct rte_node_register node_encap, node_decap, node_bridge, node_timer;
extern struct rte_node_register node_spread, node_group, node_shape, node_release, node_pfc;

#endif
