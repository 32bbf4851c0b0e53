/* SPDX-License-Identifier: BSD-3-Clause */
/* Reload of devices: their addresses at the ports, and what programs see of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reload.h"
#include "worker.h"

/* The tables are made in a daemon that has nothing else. */
static struct roced *make_next(const struct roced *roced, const struct config *config)
{
	struct roced *next = calloc(1, sizeof(*next));

	if (next == NULL)
		return NULL;
	config_copy(&next->config, config);
	next->n_ports = roced->n_ports;
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		next->ports[p] = roced->ports[p];
		next->ports[p].n_addrs = 0;
		next->ports[p].config = &next->config.ports[p];
	}
	devices_init(next, roced);
	return next;
}

static void refuse_used(struct reload *reload)
{
	struct roced *roced = reload->roced;

	for (uint32_t i = 0; i < reload->changes.n; i++) {
		const struct config_change *change = &reload->changes.change[i];
		pid_t pid = 0;
		uint32_t n;

		if (change->when != CONFIG_WHEN_UNUSED || change->device < 0)
			continue;
		n = vd_device_users(roced->vd, (uint32_t)change->device, &pid);
		if (n != 0)
			reload_refuse(reload, "%s: the device is used by %u program%s, process %d among them: end them first", change->where, n,
				n == 1 ? "" : "s", (int)pid);
		if (roced->gateway != NULL && roced->config.gateway.device_index == (uint32_t)change->device)
			reload_refuse(reload, "%s: the device is that of the gateway: needs a restart", change->where);
	}
}

/* Protection takes of the room of packets, and queue pairs that are there would go on sending ones that do not fit. */
static void refuse_shrunk(struct reload *reload, const struct roced *next)
{
	const struct roced *roced = reload->roced;

	for (uint32_t d = 0; d < roced->n_devices && d < next->n_devices; d++) {
		pid_t pid = 0;
		uint32_t n = vd_device_users(roced->vd, d, &pid), before = vd_device_room(&roced->devices[d]), after = vd_device_room(&next->devices[d]);

		if (n != 0 && next->devices[d].name[0] != '\0' && after < before)
			reload_refuse(reload,
				"protection.peers: leaves device \"%s\" a path MTU of %u, and %u program%s may use %u, process %d among them: end them first",
				next->devices[d].name, after, n, n == 1 ? "" : "s", before, (int)pid);
	}
}

static int prepare(struct reload *reload, void **prepared)
{
	struct roced *next;

	if (!reload_touches(reload, "devices") && !reload_touches(reload, "protection.peers"))
		return 0;
	next = make_next(reload->roced, reload->config);
	if (next == NULL)
		return -ENOMEM;
	*prepared = next;
	refuse_used(reload);
	refuse_shrunk(reload, next);
	return 0;
}

static void commit(struct reload *reload, void *prepared)
{
	struct roced *roced = reload->roced;
	const struct roced *next = prepared;

	if (next == NULL)
		return;
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		roced->ports[p].n_addrs = next->ports[p].n_addrs;
		memcpy(roced->ports[p].addrs, next->ports[p].addrs, sizeof(roced->ports[p].addrs));
	}
	roced->n_devices = next->n_devices;
	for (uint32_t d = 0; d < next->n_devices; d++) {
		const struct cc_config *cc = roced->devices[d].cc;

		roced->devices[d] = next->devices[d];
		roced->devices[d].cc = cc;
		roced->devices[d].speed_mbps = roced->ports[reload->config->devices[d].port_index].speed_mbps;
		vd_set_device(roced->vd, d, &roced->devices[d]);
	}
}

static void finish(struct reload *reload, void *prepared)
{
	struct roced *roced = reload->roced;

	if (prepared == NULL)
		return;
	for (uint32_t d = 0; d < roced->n_devices; d++)
		vd_set_port_state(roced->vd, d, device_is_up(roced, d));
	for (uint32_t p = 0; p < roced->n_ports && reload_touches(reload, "devices"); p++) {
		if (roced->ports[p].started)
			port_set_macs(&roced->ports[p]);
		link_announce(roced, &roced->ports[p]);
	}
}

static void undo(struct reload *reload, void *prepared)
{
	(void)reload;
	free(prepared);
}

const struct reload_part reload_devices = {prepare, commit, finish, undo};
