/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl paths: queue pairs that may use several paths, and what they know of them. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listing.h"
#include "rocectl.h"

#define MAX_PATHS 64
#define MAX_QPS   64
#define US(ns)    ((double)(ns) / 1000)

static const char usage[] =
	"usage: rocectl paths [--watch] [--json] [--socket PATH] [QPN...]\n"
	"\n"
	"Prints the queue pairs that spray packets over several paths, or use one at a time and may go to another one\n"
	"(\"in order\"; docs/multipath.md), and for each what it knows of its paths: UDP source port, packets sent, round\n"
	"trip, marks, losses; and how much congestion control lets it have on its way, and how fast (docs/congestion.md). The\n"
	"daemon has to serve telemetry (control.telemetry), and its socket is for root only.\n"
	"\n"
	"  -w, --watch          again every second, with packets per second, until it is interrupted\n"
	LISTING_OPTIONS;

/* Packets on each path as they were at the last look. */
struct last {
	unsigned qpn;
	size_t n;
	uint64_t sent[MAX_PATHS];
};

static struct last lasts[MAX_QPS];

/* Of a queue pair; one that was not seen before has sent nothing. */
static struct last *last_of(unsigned qpn)
{
	struct last *free_one = &lasts[0];

	for (size_t i = 0; i < MAX_QPS; i++) {
		if (lasts[i].n != 0 && lasts[i].qpn == qpn)
			return &lasts[i];
		if (lasts[i].n == 0)
			free_one = &lasts[i];
	}
	memset(free_one, 0, sizeof(*free_one));
	free_one->qpn = qpn;
	return free_one;
}

static void print_qp(const char *at, const char *end)
{
	char peer[64], device[40], scheduler[24], controller[24];
	uint64_t rate_bps = telemetry_number(at, end, "rate_bps");

	telemetry_text(at, end, "peer", peer, sizeof(peer));
	telemetry_text(at, end, "device", device, sizeof(device));
	telemetry_text(at, end, "scheduler", scheduler, sizeof(scheduler));
	telemetry_text(at, end, "controller", controller, sizeof(controller));
	printf("qp %#" PRIx64 " of %s, process %" PRIu64 ", to %s qp %#" PRIx64 ": %s%s, %" PRIu64 " of %" PRIu64
		" EVs used, %" PRIu64 " alive, rtt %.1f us, window %" PRIu64 ", %" PRIu64 " packets\n"
		"   congestion control %s, window %" PRIu64 " bytes, ",
		telemetry_number(at, end, "qpn"), device, telemetry_number(at, end, "pid"), peer,
		telemetry_number(at, end, "peer_qpn"), scheduler,
		telemetry_number(at, end, "in_order") != 0 ? " in order" : "", telemetry_number(at, end, "evs_used"),
		telemetry_number(at, end, "evs"), telemetry_number(at, end, "evs_alive"),
		US(telemetry_number(at, end, "rtt_ns")), telemetry_number(at, end, "window_packets"),
		telemetry_number(at, end, "sent_packets"), controller, telemetry_number(at, end, "window_bytes"));
	if (rate_bps != 0)
		printf("pace %.1f Mb/s\n", (double)rate_bps / 1e6);
	else
		puts("no pace");
}

static void print_paths(const char *at, const char *end, bool watch)
{
	static const char *const names[] = {
		"udp_port", "sent", "path_rtt_ns", "min_rtt_ns", "ecn_percent", "loss_percent", "alive"};
	enum { PORT, SENT, RTT, MIN_RTT, ECN, LOSS, ALIVE, COLUMNS };
	static uint64_t v[COLUMNS][MAX_PATHS];
	struct last *last = last_of((unsigned)telemetry_number(at, end, "qpn"));
	size_t n = MAX_PATHS;

	for (int c = 0; c < COLUMNS; c++) {
		size_t k = telemetry_numbers(at, end, names[c], v[c], MAX_PATHS);

		n = k < n ? k : n;
	}
	printf("   ev  port      packets%s   rtt us   min us  ecn %%  loss %%\n", watch ? "      per s" : "");
	for (size_t i = 0; i < n; i++) {
		if (v[SENT][i] == 0)
			continue;
		printf("  %3zu %5" PRIu64 " %12" PRIu64, i, v[PORT][i], v[SENT][i]);
		if (watch)
			printf(" %10" PRIu64, v[SENT][i] - last->sent[i]);
		printf(" %8.1f %8.1f %6" PRIu64 " %7" PRIu64 "%s\n", v[ALIVE][i] != 0 ? US(v[RTT][i]) : 0.0,
			US(v[MIN_RTT][i]), v[ECN][i], v[LOSS][i], v[ALIVE][i] != 0 ? "" : "  dead");
	}
	memcpy(last->sent, v[SENT], sizeof(last->sent));
	last->n = n;
}

static int show_one(int fd, const char *qpn, const struct listing_opts *opts)
{
	static char answer[TELEMETRY_ANSWER_BYTES];
	char question[64];
	const char *end;
	int rc;

	snprintf(question, sizeof(question), "/roced/paths,%s", qpn);
	rc = telemetry_ask(fd, question, answer);
	if (rc != 0)
		return rc;
	end = answer + strlen(answer);
	if (opts->json)
		puts(answer);
	else if (telemetry_member(answer, end, "qpn") == NULL)
		printf("qp %s uses one path, or is none\n", qpn);
	else {
		print_qp(answer, end);
		print_paths(answer, end, opts->watch);
	}
	return 0;
}

/* All of them: each by its number, which the list tells. */
static int show_all(int fd, const struct listing_opts *opts)
{
	static char list[TELEMETRY_ANSWER_BYTES];
	int rc = telemetry_ask(fd, "/roced/paths", list);
	uint64_t qpns[MAX_QPS];
	char qpn[16];
	size_t n;

	if (rc != 0 || opts->json) {
		if (rc == 0)
			puts(list);
		return rc;
	}
	n = telemetry_numbers(list, list + strlen(list), "qpn", qpns, MAX_QPS);
	if (n == 0)
		puts("no queue pair uses several paths");
	for (size_t i = 0; i < n && rc == 0; i++) {
		snprintf(qpn, sizeof(qpn), "%" PRIu64, qpns[i]);
		rc = show_one(fd, qpn, opts);
	}
	return rc;
}

static int show(int fd, const struct listing_opts *opts)
{
	int rc = 0;

	if (opts->watch)
		fputs("\033[H\033[J", stdout);
	if (opts->n_args == 0)
		rc = show_all(fd, opts);
	for (int i = 0; i < opts->n_args && rc == 0; i++)
		rc = show_one(fd, opts->args[i], opts);
	fflush(stdout);
	return rc;
}

int rocectl_paths(int argc, char **argv)
{
	return listing_watch(usage, show, argc, argv);
}
