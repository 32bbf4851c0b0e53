/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/gateway: what a gateway counted, its far gateways, and the paths to one of them. */
#include <errno.h>
#include <stdlib.h>

#include <rte_telemetry.h>

#include "gateway.h"
#include "telemetry.h"
#include "wire_addr.h"

struct answer {
	bool one, there;           /* only the far gateway number */
	uint32_t number;
	uint32_t n;
	struct gateway_sums sums;
	struct gateway_told_remote remotes[CONFIG_MAX_REMOTES];
};

static void fill(struct roced *roced, void *arg)
{
	struct answer *answer = arg;

	answer->there = roced->gateway != NULL;
	if (!answer->there)
		return;
	gateway_sum(roced, &answer->sums);
	answer->n = roced->gateway->n_remotes;
	for (uint32_t r = 0; r < answer->n; r++)
		gateway_tell_remote(roced, r, &answer->remotes[r]);
}

/* ---- DPDK's threads ---- */

enum remote_column { REACHABLE, ROOM, PATHS, DEAD, SENT, LOST, BAD_REPORTS, REMOTE_COLUMNS };

static const char *const remote_names[REMOTE_COLUMNS] = {
	"reachable", "room_bytes", "paths", "dead_paths", "sent_packets", "lost_packets", "bad_reports"};

static uint64_t remote_cell(const struct gateway_told_remote *remote, enum remote_column column)
{
	switch (column) {
	case REACHABLE:
		return remote->reachable;
	case ROOM:
		return remote->room;
	case PATHS:
		return remote->n_paths;
	case DEAD:
		return remote->dead;
	case SENT:
		return remote->sent;
	case LOST:
		return remote->lost;
	default:
		return remote->bad_reports;
	}
}

static int put_all(struct rte_tel_data *d, const struct answer *answer)
{
	char bufs[CONFIG_MAX_REMOTES][WIRE_ADDR_TEXT_BYTES];
	const char *texts[CONFIG_MAX_REMOTES];
	uint64_t cells[CONFIG_MAX_REMOTES];
	int rc;

	for (int i = 0; i < GATEWAY_SUMS; i++)
		rte_tel_data_add_dict_u64(d, gateway_sum_name((enum gateway_sum)i), answer->sums.n[i]);
	for (uint32_t r = 0; r < answer->n; r++)
		texts[r] = wire_addr_print(&answer->remotes[r].addr, bufs[r]);
	rc = telemetry_put_texts(d, "far_gateway", texts, answer->n);
	for (int column = 0; column < REMOTE_COLUMNS && rc == 0; column++) {
		for (uint32_t r = 0; r < answer->n; r++)
			cells[r] = remote_cell(&answer->remotes[r], (enum remote_column)column);
		rc = telemetry_put_numbers(d, remote_names[column], cells, answer->n);
	}
	return rc;
}

enum path_column { UDP_PORT, PATH_SENT, PATH_LOST, RTT, ECN, DEAD_AT, PATH_COLUMNS };

static const char *const path_names[PATH_COLUMNS] = {
	"udp_port", "sent", "lost", "rtt_ns", "ecn_percent", "dead_at_workers"};

static uint64_t path_cell(const struct gateway_told_remote *remote, uint32_t p, enum path_column column)
{
	const struct gateway_told_path *path = &remote->paths[p];

	switch (column) {
	case UDP_PORT:
		return remote->sport + p;
	case PATH_SENT:
		return path->sent;
	case PATH_LOST:
		return path->lost;
	case RTT:
		return path->rtt_ns;
	case ECN:
		return path->ecn_percent;
	default:
		return path->dead_at;
	}
}

static int put_paths(struct rte_tel_data *d, const struct gateway_told_remote *remote)
{
	uint64_t cells[PATH_SCHED_MAX_EVS];
	char text[WIRE_ADDR_TEXT_BYTES];
	int rc = 0;

	rte_tel_data_add_dict_string(d, "far_gateway", wire_addr_print(&remote->addr, text));
	for (int column = 0; column < PATH_COLUMNS && rc == 0; column++) {
		for (uint32_t p = 0; p < remote->n_paths; p++)
			cells[p] = path_cell(remote, p, (enum path_column)column);
		rc = telemetry_put_numbers(d, path_names[column], cells, remote->n_paths);
	}
	return rc;
}

static int put(struct rte_tel_data *d, const struct answer *answer)
{
	rte_tel_data_start_dict(d);
	if (!answer->there || (answer->one && answer->number >= answer->n))
		return 0;
	return answer->one ? put_paths(d, &answer->remotes[answer->number]) : put_all(d, answer);
}

static int on_gateway(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	int rc = answer != NULL ? telemetry_read_number(params, CONFIG_MAX_REMOTES - 1, &answer->number) : -ENOMEM;

	(void)cmd;
	if (rc == 0) {
		answer->one = params != NULL && params[0] != '\0';
		rc = telemetry_ask(fill, answer);
	}
	if (rc == 0)
		rc = put(info, answer);
	free(answer);
	return rc;
}

int telemetry_gateway_start(void)
{
	return rte_telemetry_register_cmd("/roced/gateway", on_gateway,
		"Counters of the gateway and its far gateways; with the number of one: the paths to it");
}
