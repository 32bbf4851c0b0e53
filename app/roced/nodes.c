/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <rte_errno.h>

#include "nodes.h"

struct rte_node_register *const nodes_all[] = {&node_requester, &node_inject, &node_port_rx, &node_classify,
	&node_deliver, &node_handoff, &node_punt, &node_drop, &node_egress, &node_port_tx, &node_spread,
	&node_group, &node_shape, &node_release, &node_pfc, &node_protect, &node_unprotect, &node_encap, &node_decap, &node_bridge,
	&node_timer};
const uint32_t nodes_count = sizeof(nodes_all) / sizeof(nodes_all[0]);
_Static_assert(sizeof(nodes_all) / sizeof(nodes_all[0]) == NODES_MAX, "NODES_MAX is how many there are");

int nodes_register(void)
{
	for (uint32_t i = 0; i < nodes_count; i++) {
		nodes_all[i]->id = __rte_node_register(nodes_all[i]);
		if (nodes_all[i]->id == RTE_NODE_ID_INVALID)
			return rte_errno != 0 ? -rte_errno : -ENOMEM;
	}
	return 0;
}
