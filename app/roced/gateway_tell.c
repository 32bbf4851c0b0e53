/* SPDX-License-Identifier: BSD-3-Clause */
/* What a gateway counted, of all workers; theirs are read as they are. Main thread. */
#include <inttypes.h>
#include <string.h>

#include "gateway.h"
#include "log.h"
#include "watch.h"

static void add_worker(struct watch_gateway *sums, const struct gateway_worker *gw)
{
	struct gateway_reorder_stats reorder;
	struct gateway_flows_stats flows;

	gateway_flows_get_stats(gw->flows, &flows);
	gateway_reorder_get_stats(gw->reorder, &reorder);
	sums->tunnelled += gw->counters.tunnelled;
	sums->delivered += gw->counters.came;
	sums->bridged += gw->counters.bridged;
	sums->flooded += gw->counters.flooded;
	sums->unordered += gw->counters.unordered;
	sums->reports_sent += gw->counters.reports_sent;
	sums->reports_received += gw->counters.reports_received;
	sums->probes += gw->counters.probes;
	sums->hosts_asked += gw->counters.asked;
	sums->direct += gw->counters.direct;
	sums->cnps_sent += gw->counters.cnps_sent;
	sums->cnps_held_back += gw->counters.cnps_held_back;
	sums->cnps_unknown += gw->counters.cnps_unknown;
	sums->flows += flows.flows;
	sums->flows_made += flows.made;
	sums->flows_aged += flows.aged;
	sums->flows_refused += flows.at_limit + flows.at_host_limit;
	sums->held += reorder.held;
	sums->most_held += reorder.most_held;
	sums->in_order += reorder.in_order;
	sums->ahead += reorder.ahead;
	sums->late += reorder.late;
	sums->missing += reorder.missing;
	sums->waits_over += reorder.waits_over;
	sums->not_held += reorder.no_room;
	gateway_direct_sum(sums, gw);
}

void gateway_sum(const struct roced *roced, struct watch_gateway *sums)
{
	memset(sums, 0, sizeof(*sums));
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		if (roced->workers[w]->gateway != NULL)
			add_worker(sums, roced->workers[w]->gateway);
	}
}

static void add_path(struct gateway_told_path *told, const struct gateway_tx *tx, uint8_t p)
{
	struct path_sched_stats stats;

	if (path_sched_stats(&tx->sched, p, &stats) != 0)
		return;
	told->sent += tx->path[p].sent;
	told->lost += tx->path[p].lost;
	told->rtt_ns = RTE_MAX(told->rtt_ns, stats.srtt_ns);
	told->ecn_percent = RTE_MAX(told->ecn_percent, (uint32_t)stats.ecn_percent);
	told->dead_at += !stats.alive;
}

void gateway_tell_remote(const struct roced *roced, uint32_t r, struct gateway_told_remote *told)
{
	const struct gateway_remote *remote = &roced->gateway->remotes[r];
	uint8_t mac[6];

	memset(told, 0, sizeof(*told));
	told->addr = remote->addr;
	told->room = remote->room;
	told->n_paths = roced->gateway->sched.n_evs;
	told->sport = remote->sport;
	told->reachable = gateway_remote_mac(remote, mac);
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		const struct gateway_worker *gw = roced->workers[w]->gateway;

		for (uint8_t p = 0; p < told->n_paths; p++)
			add_path(&told->paths[p], &gw->tx[r], p);
		told->bad_reports += gw->tx[r].bad_reports;
	}
	for (uint32_t p = 0; p < told->n_paths; p++) {
		told->sent += told->paths[p].sent;
		told->lost += told->paths[p].lost;
		told->dead += told->paths[p].dead_at != 0;
	}
}

void gateway_dump(const struct roced *roced)
{
	const struct watch_table *table = &watch_tables[WATCH_ID_GATEWAY];
	char text[WIRE_ADDR_TEXT_BYTES];
	struct watch_gateway sums;

	if (roced->gateway == NULL)
		return;
	gateway_sum(roced, &sums);
	for (uint32_t c = 0; c < table->n_columns; c++)
		log_line(LOG_NOTICE, "gateway: %s %" PRIu64, table->columns[c].name, watch_number(&table->columns[c], &sums));
	for (uint32_t r = 0; r < roced->gateway->n_remotes; r++) {
		struct gateway_told_remote told;

		if (!gateway_has_remote(roced->gateway, r))
			continue;
		gateway_tell_remote(roced, r, &told);
		log_line(LOG_NOTICE,
			"gateway: far gateway %s: %s, room %u, paths %u, dead %u, sent %" PRIu64 ", lost %" PRIu64
			", bad_reports %" PRIu64, wire_addr_print(&told.addr, text),
			told.reachable ? "reachable" : "not reachable", told.room, told.n_paths, told.dead, told.sent,
			told.lost, told.bad_reports);
	}
	gateway_direct_dump(roced);
}
