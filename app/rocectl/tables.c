/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl ports, workers, qps and so on: which columns of the daemon's tables they print. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "listing.h"
#include "rocectl.h"
#include "table.h"

struct view {
	const char *noun;
	enum watch_id id;
	const struct table_column *columns;
	const char *skip_zero;     /* rows in which this is 0 are shown with --all only; NULL: all are */
	const char *none;          /* to say of no row */
	const struct view *more;   /* behind it */
};

#define AS(column, text)           {.name = (column), .title = (text)}
#define FORM(column, text, how)    {.name = (column), .title = (text), .form = (how)}
#define WITH(column, text, how, o) {.name = (column), .title = (text), .form = (how), .other = (o)}
#define END                        {.name = NULL}

static const struct table_column port_columns[] = {AS("port", "port"), FORM("up", "up", TABLE_YES), AS("speed_mbps", "Mb/s"),
	AS("mtu", "mtu"), AS("mac", "link address"), AS("pfc", "pfc"), AS("rx_packets", "received"), AS("rx_bytes", "bytes"), AS("tx_packets", "sent"),
	AS("tx_bytes", "bytes"), AS("rx_missed", "missed"), AS("rx_errors", "rx errors"), AS("rx_nombuf", "no buffer"), AS("tx_errors", "tx errors"),
	AS("neighbours", "neighbours"), END};

static const struct table_column pfc_columns[] = {AS("port", "port"), AS("priority", "priority"), AS("pauses", "pauses"),
	AS("paused_ns", "paused us"), AS("paused", "paused now"), AS("storms", "storms"), AS("xoff_sent", "xoff sent"), AS("xon_sent", "xon sent"),
	AS("waiting_bytes", "waiting bytes"), AS("headroom_bytes", "headroom bytes"), END};

static const struct table_column channel_columns[] = {AS("port", "port"), AS("channel", "channel"), AS("priority", "priority"),
	AS("sent_packets", "sent"), AS("sent_bytes", "bytes"), AS("marked", "marked"), AS("dropped", "dropped"), AS("delayed", "delayed"),
	AS("queued_packets", "queued"), AS("queued_bytes", "queued bytes"), END};

static const struct table_column worker_columns[] = {AS("worker", "worker"), AS("lcore", "lcore"),
	WITH("idle_ns", "idle %", TABLE_SHARE, "busy_ns"), AS("walks", "walks"), AS("sleeps", "sleeps"), AS("calls", "calls"),
	AS("ring_in", "ring in"), AS("ring_out", "ring out"), AS("backlogged", "backlogged"), END};

static const struct table_column node_columns[] = {AS("worker", "worker"), AS("node", "node"), AS("calls", "calls"), AS("packets", "packets"),
	AS("cycles", "cycles"), WITH("cycles", "cycles/packet", TABLE_PER, "packets"),
	WITH("cycles", "cycles/call", TABLE_PER, "calls"), END};

static const struct table_column device_columns[] = {AS("device", "device"), AS("port", "port"), FORM("up", "up", TABLE_YES),
	AS("address", "address"), AS("mac", "link address"), AS("vlan", "vlan"), AS("mtu_bytes", "mtu"), AS("gids", "gids"), AS("planes", "ports"),
	AS("clients", "clients"), AS("qps", "qps"), END};

static const struct table_column qp_columns[] = {FORM("qpn", "qp", TABLE_HEX), AS("device", "device"), AS("type", "type"),
	AS("state", "state"), AS("pid", "pid"), AS("peer", "peer"), FORM("peer_qpn", "qp there", TABLE_HEX), AS("rx_packets", "received"),
	AS("tx_packets", "sent"), AS("retransmits", "resent"), AS("ack_timeouts", "timeouts"), AS("rnr_naks_received", "rnr"),
	AS("rnr_naks_sent", "rnr sent"), AS("cnps_received", "cnp"), AS("cnps_sent", "cnp sent"), AS("ce_percent", "ce %"),
	AS("reorder_depth", "depth"), AS("rtt_ns", "rtt us"), AS("evs_alive", "paths"), END};

static const struct table_column client_columns[] = {AS("client", "client"), AS("pid", "pid"), AS("uid", "uid"), AS("kind", "kind"),
	AS("device", "device"), AS("worker", "worker"), AS("qps", "qps"), AS("cqs", "cqs"), AS("srqs", "srqs"), AS("mrs", "mrs"), AS("ahs", "ahs"),
	AS("cm_ids", "cm ids"), AS("registered_bytes", "registered bytes"), AS("mapped_bytes", "mapped bytes"), AS("ring_bytes", "queue bytes"), END};

static const struct table_column drop_columns[] = {AS("reason", "reason"), AS("packets", "packets"), AS("what", "what that means"), END};

static const struct table_column pool_columns[] = {AS("pool", "pool"), AS("buffers", "buffers"), AS("used", "used"), END};

static const struct view nodes = {"nodes", WATCH_ID_NODES, node_columns, "calls", "no node", NULL};

static const struct view views[] = {
	{"ports", WATCH_ID_PORTS, port_columns, NULL, "no port", NULL},
	{"pfc", WATCH_ID_PFC, pfc_columns, NULL, "no port", NULL},
	{"channels", WATCH_ID_CHANNELS, channel_columns, NULL, "no port has channels or a rate", NULL},
	{"workers", WATCH_ID_WORKERS, worker_columns, NULL, "no worker", &nodes},
	{"devices", WATCH_ID_DEVICES, device_columns, NULL, "no device", NULL},
	{"qps", WATCH_ID_QPS, qp_columns, NULL, "no queue pair", NULL},
	{"clients", WATCH_ID_CLIENTS, client_columns, NULL, "no client", NULL},
	{"drops", WATCH_ID_DROPS, drop_columns, "packets", "no reason", NULL},
	{"pools", WATCH_ID_POOLS, pool_columns, NULL, "no pool", NULL},
};

/* ---- commands ---- */

static void print_usage(const struct view *view, FILE *out)
{
	fprintf(out, "usage: rocectl %s [--all] [--watch] [--json] [--socket PATH]\n\nPrints %s", view->noun, watch_tables[view->id].help);
	for (const struct view *v = view->more; v != NULL; v = v->more)
		fprintf(out, ", and %s", watch_tables[v->id].help);
	fputs(". The daemon has to serve telemetry (control.telemetry), and its socket is for root only.\n"
		"\n"
		"  -a, --all            every column of every row, with what it means\n"
		"  -w, --watch          again every second, until it is interrupted\n" LISTING_OPTIONS, out);
	for (const struct view *v = view; v != NULL; v = v->more) {
		fprintf(out, "\nColumns of %s:\n", watch_tables[v->id].name);
		for (uint32_t c = 0; c < watch_tables[v->id].n_columns; c++)
			fprintf(out, "  %-20s %s\n", watch_tables[v->id].columns[c].name, watch_tables[v->id].columns[c].help);
	}
}

static int show_view(int fd, const struct view *view, const struct listing_opts *opts)
{
	struct table table;
	int rc = table_read(fd, view->id, opts->json, &table);

	if (rc == 0 && !opts->json && table.n == 0)
		puts(view->none);
	else if (rc == 0 && !opts->json && opts->all)
		table_print_all(&table);
	else if (rc == 0 && !opts->json)
		table_print(&table, view->columns, view->skip_zero);
	table_free(&table);
	return rc;
}

static int show(int fd, const struct view *view, const struct listing_opts *opts)
{
	int rc = 0;

	if (opts->watch && !opts->json)
		fputs("\033[H\033[J", stdout);
	for (const struct view *v = view; v != NULL && rc == 0; v = v->more) {
		if (v != view && !opts->json)
			putchar('\n');
		rc = show_view(fd, v, opts);
	}
	fflush(stdout);
	return rc;
}

static int run(const struct view *view, int argc, char **argv)
{
	static char usage[8192];
	struct listing_opts opts;
	FILE *out = fmemopen(usage, sizeof(usage), "w");
	int fd, rc, status;

	if (out == NULL)
		return ROCECTL_UNUSABLE;
	print_usage(view, out);
	fclose(out);
	fd = listing_begin(&opts, usage, "wa", 0, 0, argc, argv, &status);
	if (fd < 0)
		return status;
	while ((rc = show(fd, view, &opts)) == 0 && opts.watch)
		sleep(1);
	return listing_end(fd, rc);
}

/* A noun that main.c has and the table here has not is a mistake of ours. */
int rocectl_table(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		if (strcmp(views[i].noun, argv[0]) == 0)
			return run(&views[i], argc, argv);
	}
	fprintf(stderr, "rocectl: no table \"%s\"\n", argv[0]);
	return ROCECTL_UNUSABLE;
}
