/* SPDX-License-Identifier: BSD-3-Clause */
/* By which device, address and way a host is reached. Looks at the configuration only. */
#include <string.h>

#include "link_route.h"
#include "reach.h"
#include "tp.h"
#include "wire_addr.h"

#define RDMA_MTU_LEAST 256u
#define RDMA_MTU_MOST  4096u
#define VD_HEADERS     80u /* that vd_device_mtu() leaves room for */
#define TRANSPORT      44u /* UDP, BTH, RETH, ImmDt, ICRC: the most that goes with a full payload */
#define IP4_BYTES      20u
#define IP6_BYTES      40u

static bool is_link_local(const struct wire_addr *addr)
{
	return addr->b[0] == 0xfe && (addr->b[1] & 0xc0) == 0x80;
}

/* How good the address is for packets to dst; REACH_NO_ROUTE: not at all. */
static enum reach_route rate(const struct roced *roced, const struct port *port, const struct port_addr *addr,
	const struct wire_addr *dst, struct wire_addr *hop)
{
	if (wire_addr_is_v4(&addr->addr) != wire_addr_is_v4(dst) || is_link_local(&addr->addr) != is_link_local(dst))
		return REACH_NO_ROUTE;
	if (port_find_addr(port, dst, addr->has_vlan, addr->vlan_tci) != NULL) {
		*hop = *dst;
		return REACH_OURS;
	}
	if (link_next_hop(roced, port, addr->device, dst, hop) != 0)
		return REACH_NO_ROUTE;
	if (memcmp(hop, dst, sizeof(*hop)) != 0)
		return REACH_BY_ROUTER;
	return is_link_local(dst) || wire_addr_same_network(&addr->addr, dst, addr->prefix_len) ? REACH_ON_LINK
												: REACH_NO_ROUTE;
}

void reach_find_way(const struct roced *roced, const struct wire_addr *dst, struct reach *out)
{
	/* our own first, then its own network, then a router */
	static const uint8_t rank[] = {
		[REACH_NO_ROUTE] = 0, [REACH_BY_ROUTER] = 1, [REACH_ON_LINK] = 2, [REACH_OURS] = 3};

	memset(out, 0, sizeof(*out));
	out->addr = *dst;
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		const struct port *port = &roced->ports[p];

		for (uint32_t i = 0; i < port->n_addrs; i++) {
			const struct port_addr *addr = &port->addrs[i];
			struct wire_addr hop;
			enum reach_route route = rate(roced, port, addr, dst, &hop);

			if (rank[route] <= rank[out->route])
				continue;
			out->route = route;
			out->local = addr->addr;
			out->next_hop = hop;
			out->device = addr->device;
			out->port = p;
		}
	}
	if (out->route != REACH_NO_ROUTE)
		out->long_bytes = reach_long_bytes(roced, out->device, &roced->ports[out->port], wire_addr_is_v4(dst));
}

uint32_t reach_long_bytes(const struct roced *roced, uint32_t device, const struct port *port, bool v4)
{
	const struct vd_device *dev = &roced->devices[device];
	uint32_t most = dev->max_mtu_bytes != 0 ? dev->max_mtu_bytes : RDMA_MTU_MOST, mtu = RDMA_MTU_MOST, bytes;

	while (mtu > RDMA_MTU_LEAST && (mtu > most || mtu + VD_HEADERS > dev->port_mtu_bytes))
		mtu /= 2;
	bytes = mtu + (v4 ? IP4_BYTES : IP6_BYTES) + TRANSPORT + config_protection_bytes(&roced->config, device);
	/* a gateway's hosts send what they like */
	if (roced->gateway != NULL && roced->config.gateway.device_index == device)
		bytes = RDMA_MTU_MOST + IP6_BYTES + TRANSPORT;
	return RTE_MIN(bytes, port->config->mtu);
}
