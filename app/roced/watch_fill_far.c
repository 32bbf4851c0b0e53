/* SPDX-License-Identifier: BSD-3-Clause */
/* Protected peers and far gateways, for watch_fill.h. */
#include <stdlib.h>

#include "gateway.h"
#include "protect.h"
#include "watch_fill.h"

/* ---- associations ---- */

static void fill_association(const struct protect_told *told, struct watch_associations *row)
{
	const struct protect_counts *c = &told->counts;

	watch_set_addr(row->peer, &told->peer);
	watch_set_addr(row->local, &told->local);
	watch_set_text(row->device, told->device);
	watch_set_text(row->state, told->state);
	watch_set_text(row->suite, told->suite);
	watch_set_text(row->method, told->method);
	watch_set_text(row->why, told->why);
	row->established = told->suite[0] != '\0';
	row->tx_epoch = told->tx_epoch;
	row->rx_epoch = told->rx_epoch;
	row->tx_spi = told->tx_spi;
	row->rx_spi = told->rx_spi;
	row->lanes = told->lanes;
	row->peer_lanes = told->peer_lanes;
	row->age_s = told->age_s;
	row->tx_packets = c->tx_packets;
	row->tx_bytes = c->tx_bytes;
	row->rx_packets = c->rx_packets;
	row->rx_bytes = c->rx_bytes;
	row->wrong_tags = c->wrong_tags;
	row->replayed = c->replayed;
	row->too_old = c->too_old;
	row->handshakes = told->handshakes;
	row->rekeys = told->rekeys;
	row->refused = told->refused;
	row->ignored = told->ignored;
}

void watch_fill_associations(struct watch_page *page)
{
	struct protect_told *told = calloc(page->most, sizeof(*told));
	struct watch_associations *rows = (void *)page->rows;

	if (told == NULL)
		return;
	page->n = protect_tell(page->roced, page->from, told, page->most, &page->all);
	for (uint32_t i = 0; i < page->n; i++) {
		memset(&rows[i], 0, sizeof(rows[i]));
		fill_association(&told[i], &rows[i]);
	}
	free(told);
}

/* ---- the gateway ---- */

void watch_fill_gateway(struct watch_page *page)
{
	struct watch_gateway *row = page->roced->gateway != NULL ? watch_next(page) : NULL;

	if (row != NULL)
		gateway_sum(page->roced, row);
}

static uint32_t n_remotes(const struct watch_page *page)
{
	return page->roced->gateway != NULL ? page->roced->gateway->n_remotes : 0;
}

void watch_fill_far_gateways(struct watch_page *page)
{
	for (uint32_t r = 0; r < n_remotes(page); r++) {
		bool there = gateway_has_remote(page->roced->gateway, r);
		struct watch_far_gateways *row = there ? watch_next(page) : NULL;
		struct gateway_told_remote told;

		if (row == NULL)
			continue;
		gateway_tell_remote(page->roced, r, &told);
		watch_set_addr(row->far_gateway, &told.addr);
		row->reachable = told.reachable;
		row->room_bytes = told.room;
		row->paths = told.n_paths;
		row->dead_paths = told.dead;
		row->sent_packets = told.sent;
		row->lost_packets = told.lost;
		row->bad_reports = told.bad_reports;
	}
}

static void fill_gateway_path(const struct gateway_told_remote *told, uint32_t p, struct watch_gateway_paths *row)
{
	const struct gateway_told_path *path = &told->paths[p];

	watch_set_addr(row->far_gateway, &told->addr);
	row->path = p;
	row->udp_port = told->sport + p;
	row->sent = path->sent;
	row->lost = path->lost;
	row->rtt_ns = path->rtt_ns;
	row->ecn_percent = path->ecn_percent;
	row->dead_at_workers = path->dead_at;
}

void watch_fill_gateway_paths(struct watch_page *page)
{
	for (uint32_t r = 0; r < n_remotes(page); r++) {
		struct gateway_told_remote told;

		if (!gateway_has_remote(page->roced->gateway, r))
			continue;
		gateway_tell_remote(page->roced, r, &told);
		for (uint32_t p = 0; p < told.n_paths; p++) {
			struct watch_gateway_paths *row = watch_next(page);

			if (row != NULL)
				fill_gateway_path(&told, p, row);
		}
	}
}
