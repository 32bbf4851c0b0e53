/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast groups of ports, see group.c. In the main thread but for group_find(). */
#ifndef GROUP_H
#define GROUP_H

#include "worker.h"

#define GROUP_QPN 0xffffffu        /* IBTA vol. 1, 10.5.2: the destination of all of a group's datagrams */

/* For lib/verbs: see struct vd_env. -EADDRNOTAVAIL: the device has no address of that family, -ENOSPC. */
int group_join(struct roced *roced, uint32_t device, const struct wire_addr *addr);
void group_leave(struct roced *roced, uint32_t device, const struct wire_addr *addr);
/* Sends the reports that are due; about once a second. */
void group_advance(struct roced *roced, uint64_t now_ns);

/* Whether a frame is a router's question for listeners (IGMP, MLD). Any thread. */
bool group_is_query(const uint8_t *frame, size_t n);
void group_rx_query(struct roced *roced, const struct port *port, const uint8_t *frame, size_t n);

/* Whether a device is on the port and in the VLAN of a packet. */
static inline bool group_device_has(
	const struct roced *roced, uint32_t device, const struct port *port, bool has_vlan, uint16_t vlan_tci)
{
	const struct vd_device *dev = &roced->devices[device];

	return roced->config.devices[device].port_index == port->index &&
		(dev->has_vlan ? dev->vlan_tci & 0xfff : 0) == (has_vlan ? vlan_tci & 0xfff : 0);
}

/* The first group at or behind *i that is dst in the VLAN of the packet, NULL: none; *i becomes the place
 * behind it. In the worker's thread. */
static inline const struct worker_group *group_find(const struct worker *worker, const struct port *port,
	const struct wire_addr *dst, bool has_vlan, uint16_t vlan_tci, uint32_t *i)
{
	while (*i < worker->n_groups) {
		const struct worker_group *group = &worker->groups[(*i)++];

		if (__builtin_memcmp(&group->addr, dst, sizeof(*dst)) == 0 &&
			group_device_has(worker->roced, group->device, port, has_vlan, vlan_tci))
			return group;
	}
	return NULL;
}

#endif
