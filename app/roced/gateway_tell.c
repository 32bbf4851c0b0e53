/* SPDX-License-Identifier: BSD-3-Clause */
/* What a gateway counted, of all workers; theirs are read as they are. Main thread. */
#include <inttypes.h>
#include <string.h>

#include "gateway.h"
#include "log.h"

static void add_worker(struct gateway_sums *sums, const struct gateway_worker *gw)
{
	struct gateway_reorder_stats reorder;
	struct gateway_flows_stats flows;

	gateway_flows_get_stats(gw->flows, &flows);
	gateway_reorder_get_stats(gw->reorder, &reorder);
	sums->n[GATEWAY_SUM_TUNNELLED] += gw->counters.tunnelled;
	sums->n[GATEWAY_SUM_CAME] += gw->counters.came;
	sums->n[GATEWAY_SUM_BRIDGED] += gw->counters.bridged;
	sums->n[GATEWAY_SUM_FLOODED] += gw->counters.flooded;
	sums->n[GATEWAY_SUM_UNORDERED] += gw->counters.unordered;
	sums->n[GATEWAY_SUM_REPORTS_SENT] += gw->counters.reports_sent;
	sums->n[GATEWAY_SUM_REPORTS_RECEIVED] += gw->counters.reports_received;
	sums->n[GATEWAY_SUM_PROBES] += gw->counters.probes;
	sums->n[GATEWAY_SUM_ASKED] += gw->counters.asked;
	sums->n[GATEWAY_SUM_DIRECT] += gw->counters.direct;
	sums->n[GATEWAY_SUM_CNPS_SENT] += gw->counters.cnps_sent;
	sums->n[GATEWAY_SUM_CNPS_HELD_BACK] += gw->counters.cnps_held_back;
	sums->n[GATEWAY_SUM_CNPS_UNKNOWN] += gw->counters.cnps_unknown;
	sums->n[GATEWAY_SUM_FLOWS] += flows.flows;
	sums->n[GATEWAY_SUM_FLOWS_MADE] += flows.made;
	sums->n[GATEWAY_SUM_FLOWS_AGED] += flows.aged;
	sums->n[GATEWAY_SUM_FLOWS_REFUSED] += flows.at_limit + flows.at_host_limit;
	sums->n[GATEWAY_SUM_HELD] += reorder.held;
	sums->n[GATEWAY_SUM_MOST_HELD] += reorder.most_held;
	sums->n[GATEWAY_SUM_IN_ORDER] += reorder.in_order;
	sums->n[GATEWAY_SUM_AHEAD] += reorder.ahead;
	sums->n[GATEWAY_SUM_LATE] += reorder.late;
	sums->n[GATEWAY_SUM_MISSING] += reorder.missing;
	sums->n[GATEWAY_SUM_WAITS_OVER] += reorder.waits_over;
	sums->n[GATEWAY_SUM_NOT_HELD] += reorder.no_room;
	gateway_direct_sum(sums, gw);
}

const char *gateway_sum_name(enum gateway_sum sum)
{
	static const char *const names[GATEWAY_SUMS] = {
		[GATEWAY_SUM_TUNNELLED] = "tunnelled", [GATEWAY_SUM_CAME] = "delivered",
		[GATEWAY_SUM_BRIDGED] = "bridged",
		[GATEWAY_SUM_FLOODED] = "flooded", [GATEWAY_SUM_UNORDERED] = "unordered",
		[GATEWAY_SUM_REPORTS_SENT] = "reports_sent", [GATEWAY_SUM_REPORTS_RECEIVED] = "reports_received",
		[GATEWAY_SUM_PROBES] = "probes", [GATEWAY_SUM_ASKED] = "hosts_asked",
		[GATEWAY_SUM_FLOWS] = "flows", [GATEWAY_SUM_FLOWS_MADE] = "flows_made",
		[GATEWAY_SUM_FLOWS_AGED] = "flows_aged", [GATEWAY_SUM_FLOWS_REFUSED] = "flows_refused",
		[GATEWAY_SUM_HELD] = "held", [GATEWAY_SUM_MOST_HELD] = "most_held", [GATEWAY_SUM_IN_ORDER] = "in_order",
		[GATEWAY_SUM_AHEAD] = "ahead", [GATEWAY_SUM_LATE] = "late", [GATEWAY_SUM_MISSING] = "missing",
		[GATEWAY_SUM_WAITS_OVER] = "waits_over", [GATEWAY_SUM_NOT_HELD] = "not_held",
		[GATEWAY_SUM_DIRECT] = "direct", [GATEWAY_SUM_DIRECT_PAIRS] = "direct_pairs",
		[GATEWAY_SUM_DIRECT_FLOWS] = "direct_flows",
		[GATEWAY_SUM_DIRECT_REFUSED] = "direct_refused", [GATEWAY_SUM_DIRECT_OWN] = "direct_own",
		[GATEWAY_SUM_DIRECT_MOVES] = "direct_moves",
		[GATEWAY_SUM_DIRECT_TRIALS] = "direct_trials", [GATEWAY_SUM_DIRECT_LEARNED] = "direct_learned",
		[GATEWAY_SUM_DIRECT_UNLEARNED] = "direct_unlearned", [GATEWAY_SUM_DIRECT_MATCHED] = "direct_matched",
		[GATEWAY_SUM_DIRECT_UNMATCHED] = "direct_unmatched", [GATEWAY_SUM_DIRECT_MARKS] = "direct_marks",
		[GATEWAY_SUM_DIRECT_LOSSES] = "direct_losses", [GATEWAY_SUM_DIRECT_SILENCES] = "direct_silences",
		[GATEWAY_SUM_CNPS_SENT] = "cnps_sent", [GATEWAY_SUM_CNPS_HELD_BACK] = "cnps_held_back",
		[GATEWAY_SUM_CNPS_UNKNOWN] = "cnps_unknown",
	};

	return names[sum];
}

void gateway_sum(const struct roced *roced, struct gateway_sums *sums)
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
	char text[WIRE_ADDR_TEXT_BYTES];
	struct gateway_sums sums;

	if (roced->gateway == NULL)
		return;
	gateway_sum(roced, &sums);
	for (int i = 0; i < GATEWAY_SUMS; i++)
		log_line(LOG_NOTICE, "gateway: %s %" PRIu64, gateway_sum_name((enum gateway_sum)i), sums.n[i]);
	for (uint32_t r = 0; r < roced->gateway->n_remotes; r++) {
		struct gateway_told_remote told;

		gateway_tell_remote(roced, r, &told);
		log_line(LOG_NOTICE,
			"gateway: far gateway %s: %s, room %u, paths %u, dead %u, sent %" PRIu64 ", lost %" PRIu64
			", bad_reports %" PRIu64, wire_addr_print(&told.addr, text),
			told.reachable ? "reachable" : "not reachable", told.room, told.n_paths, told.dead, told.sent,
			told.lost, told.bad_reports);
	}
	gateway_direct_dump(roced);
}
