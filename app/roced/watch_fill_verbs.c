/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices, clients and all their objects together, for watch_fill.h. */
#include <stdlib.h>

#include "vd.h"
#include "watch_fill.h"

/* All of them, to be freed; NULL: none, or no memory. */
static struct vd_client_told *all_clients(const struct roced *roced, uint32_t *n)
{
	struct vd_client_told *clients;

	vd_tell_clients(roced->vd, 0, NULL, 0, n);
	clients = calloc(*n, sizeof(*clients));
	*n = clients != NULL ? vd_tell_clients(roced->vd, 0, clients, *n, n) : 0;
	return clients;
}

static void fill_device(const struct roced *roced, uint32_t d, struct watch_devices *row)
{
	const struct vd_device *device = &roced->devices[d];
	const struct config_device *config = &roced->config.devices[d];

	watch_set_text(row->device, device->name);
	watch_set_text(row->port, config->port);
	watch_set_mac(row->mac, device->mac);
	if (device->n_gids > 1)
		watch_set_addr(row->address, &device->gids[1].addr);
	row->vlan = config->vlan;
	row->gids = device->n_gids;
	row->planes = device->n_planes + 1;
	row->up = device_is_up(roced, d);
	row->mtu_bytes = 128u << vd_device_mtu(device);
}

void watch_fill_devices(struct watch_page *page)
{
	const struct roced *roced = page->roced;
	uint32_t n;
	struct vd_client_told *clients = all_clients(roced, &n);

	for (uint32_t d = 0; d < roced->n_devices; d++) {
		struct watch_devices *row = watch_next(page);

		if (row == NULL)
			continue;
		fill_device(roced, d, row);
		for (uint32_t i = 0; i < n; i++) {
			if (strcmp(clients[i].device, roced->devices[d].name) != 0)
				continue;
			row->clients++;
			row->qps += clients[i].qps;
		}
	}
	free(clients);
}

static void fill_client(const struct vd_client_told *client, struct watch_clients *row)
{
	row->client = client->number;
	row->pid = (uint64_t)client->pid;
	row->uid = client->uid;
	watch_set_text(row->kind, client->cm ? "cm" : "verbs");
	watch_set_text(row->device, client->device);
	row->worker = client->worker;
	row->qps = client->qps;
	row->cqs = client->cqs;
	row->srqs = client->srqs;
	row->mrs = client->mrs;
	row->mws = client->mws;
	row->pds = client->pds;
	row->ahs = client->ahs;
	row->cm_ids = client->cm_ids;
	row->registered_bytes = client->registered_bytes;
	row->mapped_bytes = client->mapped_bytes;
	row->ring_bytes = client->ring_bytes;
}

void watch_fill_clients(struct watch_page *page)
{
	uint32_t n;
	struct vd_client_told *clients = all_clients(page->roced, &n);

	for (uint32_t i = 0; i < n; i++) {
		struct watch_clients *row = watch_next(page);

		if (row != NULL)
			fill_client(&clients[i], row);
	}
	free(clients);
}

#define COPY_GAUGE(field)                row->field = stats.field;
#define COPY_COUNTER(field)              row->field = stats.field;
#define COPY(S, kind, field, unit, help) COPY_##kind(field)

void watch_fill_verbs(struct watch_page *page)
{
	struct watch_verbs *row = watch_next(page);
	struct vd_stats stats;

	if (row == NULL)
		return;
	vd_stats(page->roced->vd, &stats);
	WATCH_VERBS(COPY, )
}
