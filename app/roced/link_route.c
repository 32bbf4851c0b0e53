/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "link_route.h"
#include "wire_addr.h"
#include "wire_arp_nd.h"

static bool is_link_scope(const struct wire_addr *addr)
{
	return addr->b[0] == 0xff || (addr->b[0] == 0xfe && (addr->b[1] & 0xc0) == 0x80);
}

const struct port_addr *link_source(const struct port *port, uint32_t device, const struct wire_addr *src)
{
	for (uint32_t i = 0; i < port->n_addrs; i++) {
		if (port->addrs[i].device == device && memcmp(&port->addrs[i].addr, src, sizeof(*src)) == 0)
			return &port->addrs[i];
	}
	return NULL;
}

int link_next_hop(const struct roced *roced, const struct port *port, uint32_t device, const struct wire_addr *dst,
	struct wire_addr *hop)
{
	const struct config_device *config = &roced->config.devices[device];
	const struct vd_device *dev = &roced->devices[device];
	bool v4 = wire_addr_is_v4(dst);
	uint8_t mac[6];

	*hop = *dst;
	if (is_link_scope(dst) || wire_mcast_mac(dst, mac))
		return 0;
	if (port_find_addr(port, dst, dev->has_vlan, dev->vlan_tci) != NULL)
		return 0;
	for (uint32_t i = 0; i < port->n_addrs; i++) {
		const struct port_addr *addr = &port->addrs[i];

		if (addr->device == device && wire_addr_is_v4(&addr->addr) == v4 &&
			wire_addr_same_network(&addr->addr, dst, addr->prefix_len))
			return 0;
	}
	if (v4 ? !dev->has_gw4 : !dev->has_gw6)
		return -ENETUNREACH;
	*hop = v4 ? config->gateway4 : config->gateway6;
	return 0;
}
