/* SPDX-License-Identifier: BSD-3-Clause */
/* The RDMA devices as lib/verbs sees them, and the ports' tables of our addresses. */
#include <string.h>

#include "roced.h"
#include "wire_arp_nd.h"

static const uint8_t no_mac[6];
static const struct wire_addr no_addr;

/* fe80:: and the modified EUI-64 of the link address (RFC 4291, appendix A). A second device with the same
 * link address gets another number in the place of ff:fe: nth. */
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

static bool has_addr(const struct port *port, const struct wire_addr *addr)
{
	for (uint32_t i = 0; i < port->n_addrs; i++) {
		if (memcmp(&port->addrs[i].addr, addr, sizeof(*addr)) == 0)
			return true;
	}
	return false;
}

/* The device as it runs, if its link address and port are the same: then so is its link-local address, which is GID 0. */
static const struct vd_device *same_link(const struct roced *roced, uint32_t d, const struct roced *running)
{
	const struct config_device *config = &roced->config.devices[d], *before;

	if (running == NULL || d >= running->n_devices)
		return NULL;
	before = &running->config.devices[d];
	if (strcmp(config->name, before->name) != 0 || config->port_index != before->port_index ||
		memcmp(roced->devices[d].mac, running->devices[d].mac, 6) != 0)
		return NULL;
	return &running->devices[d];
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

static void choose_link_local(const struct roced *roced, uint32_t d, const struct vd_device *before, struct wire_addr *addr)
{
	const struct port *port = &roced->ports[roced->config.devices[d].port_index];

	if (before != NULL) {
		*addr = before->gids[0].addr;
		return;
	}
	for (uint32_t nth = 0; nth <= VD_MAX_DEVICES; nth++) {
		link_local(roced->devices[d].mac, nth, addr);
		if (!has_addr(port, addr))
			return;
	}
}

static void set_device(struct roced *roced, uint32_t d)
{
	const struct config_device *config = &roced->config.devices[d];
	const struct port *port = &roced->ports[config->port_index];
	struct vd_device *device = &roced->devices[d];

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
}

static void add_addrs(struct roced *roced, uint32_t d, const struct vd_device *before)
{
	const struct config_device *config = &roced->config.devices[d];
	struct vd_device *device = &roced->devices[d];
	struct wire_addr addr;

	choose_link_local(roced, d, before, &addr);
	add_gid(roced, d, &addr, 64);
	for (uint32_t i = 0; i < config->n_addrs; i++) {
		if (memcmp(&config->addrs[i].addr, &addr, sizeof(addr)) != 0)
			add_gid(roced, d, &config->addrs[i].addr, config->addrs[i].len);
	}
	device->n_planes = config->n_planes;
	for (uint32_t p = 0; p < config->n_planes; p++)
		init_plane(roced, d, p);
}

/* First those that keep their link-local address, then those that get one that is left. */
void devices_init(struct roced *roced, const struct roced *running)
{
	roced->n_devices = roced->config.n_devices;
	for (uint32_t d = 0; d < roced->n_devices; d++) {
		if (roced->config.devices[d].name[0] != '\0')
			set_device(roced, d);
	}
	for (uint32_t turn = 0; turn < 2; turn++) {
		for (uint32_t d = 0; d < roced->n_devices; d++) {
			const struct vd_device *before = same_link(roced, d, running);

			if (roced->config.devices[d].name[0] != '\0' && (before != NULL) == (turn == 0))
				add_addrs(roced, d, before);
		}
	}
}

bool device_is_up(const struct roced *roced, uint32_t d)
{
	const struct config_device *config = &roced->config.devices[d];
	bool up = roced->ports[config->port_index].up;

	for (uint32_t p = 0; p < config->n_planes; p++)
		up = up || roced->ports[config->planes[p].port_index].up;
	return up;
}
