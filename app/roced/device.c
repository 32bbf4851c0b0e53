/* SPDX-License-Identifier: BSD-3-Clause */
/* The RDMA devices as lib/verbs sees them, and the ports' tables of our addresses. */
#include <errno.h>
#include <string.h>

#include "roced.h"
#include "wire_arp_nd.h"

static const uint8_t no_mac[6];
static const struct wire_addr no_addr;

/* fe80:: and the modified EUI-64 of the link address (RFC 4291, appendix A). A second device with the same
 * link address gets another number in the place of ff:fe. */
static void link_local(const uint8_t mac[6], uint32_t nth, struct wire_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->b[0] = 0xfe;
	addr->b[1] = 0x80;
	memcpy(&addr->b[8], mac, 3);
	addr->b[8] ^= 2;
	addr->b[11] = 0xff;
	addr->b[12] = (uint8_t)(0xfe - nth);
	memcpy(&addr->b[13], mac + 3, 3);
}

static uint32_t same_before(const struct roced *roced, uint32_t d)
{
	uint32_t n = 0;

	for (uint32_t e = 0; e < d; e++) {
		if (roced->config.devices[e].port_index == roced->config.devices[d].port_index &&
			memcmp(roced->devices[e].mac, roced->devices[d].mac, 6) == 0)
			n++;
	}
	return n;
}

static void add_addr(struct port *port, uint32_t d, const struct vd_gid *gid, const uint8_t mac[6], bool has_vlan,
	uint16_t vlan_tci)
{
	struct port_addr *entry = &port->addrs[port->n_addrs++];

	entry->addr = gid->addr;
	entry->prefix_len = wire_addr_prefix(&gid->addr, gid->prefix_len);
	entry->device = d;
	memcpy(entry->mac, mac, sizeof(entry->mac));
	entry->has_vlan = has_vlan;
	entry->vlan_tci = vlan_tci;
}

static void add_gid(struct roced *roced, uint32_t d, const struct wire_addr *addr, uint32_t prefix_len)
{
	struct vd_device *device = &roced->devices[d];
	struct vd_gid *gid = &device->gids[device->n_gids++];

	gid->addr = *addr;
	gid->prefix_len = prefix_len;
	add_addr(&roced->ports[roced->config.devices[d].port_index], d, gid, device->mac, device->has_vlan,
		device->vlan_tci);
}

static void init_plane(struct roced *roced, uint32_t d, uint32_t p)
{
	const struct config_plane *config = &roced->config.devices[d].planes[p];
	struct port *port = &roced->ports[config->port_index];
	struct vd_device *device = &roced->devices[d];
	struct vd_plane *plane = &device->planes[p];

	memcpy(plane->mac, port->mac, sizeof(plane->mac));
	plane->has_vlan = device->has_vlan;
	plane->vlan_tci = device->vlan_tci;
	plane->n_addrs = config->n_addrs;
	for (uint32_t i = 0; i < config->n_addrs; i++) {
		plane->addrs[i] = (struct vd_gid){config->addrs[i].addr, config->addrs[i].len};
		add_addr(port, d, &plane->addrs[i], plane->mac, plane->has_vlan, plane->vlan_tci);
	}
}

static void init_device(struct roced *roced, uint32_t d)
{
	const struct config_device *config = &roced->config.devices[d];
	const struct port *port = &roced->ports[config->port_index];
	struct vd_device *device = &roced->devices[d];
	struct wire_addr addr;

	memcpy(device->name, config->name, sizeof(device->name));
	memcpy(device->netdev, config->netdev[0] != '\0' ? config->netdev : port->netdev, sizeof(device->netdev));
	memcpy(device->mac, memcmp(config->mac, no_mac, 6) != 0 ? config->mac : port->mac, 6);
	device->has_vlan = config->vlan != 0;
	device->vlan_tci = (uint16_t)(config->priority << 13 | config->vlan);
	device->port_mtu_bytes = port->config->mtu - config_protection_bytes(&roced->config, d);
	device->max_mtu_bytes = config->mtu;
	device->reorder_pkts = config->reorder_packets;
	device->reorder_ns = (uint64_t)config->reorder_us * 1000;
	device->multipath = config->multipath;
	device->speed_mbps = port->speed_mbps;
	device->has_gw4 = memcmp(&config->gateway4, &no_addr, sizeof(no_addr)) != 0;
	device->has_gw6 = memcmp(&config->gateway6, &no_addr, sizeof(no_addr)) != 0;
	link_local(device->mac, same_before(roced, d), &addr);
	add_gid(roced, d, &addr, 64);
	for (uint32_t i = 0; i < config->n_addrs; i++) {
		if (memcmp(&config->addrs[i].addr, &addr, sizeof(addr)) != 0)
			add_gid(roced, d, &config->addrs[i].addr, config->addrs[i].len);
	}
	device->n_planes = config->n_planes;
	for (uint32_t p = 0; p < config->n_planes; p++)
		init_plane(roced, d, p);
}

int devices_init(struct roced *roced)
{
	roced->n_devices = roced->config.n_devices;
	for (uint32_t d = 0; d < roced->n_devices; d++)
		init_device(roced, d);
	return 0;
}

bool device_is_up(const struct roced *roced, uint32_t d)
{
	const struct config_device *config = &roced->config.devices[d];
	bool up = roced->ports[config->port_index].up;

	for (uint32_t p = 0; p < config->n_planes; p++)
		up = up || roced->ports[config->planes[p].port_index].up;
	return up;
}
