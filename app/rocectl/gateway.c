/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl gateway: what a gateway counted, its far gateways, and the paths to them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listing.h"
#include "rocectl.h"

#define MAX_PATHS 64
#define PER_LINE  3

static const char usage[] =
	"usage: rocectl gateway [--watch] [--json] [--socket PATH] [ADDRESS...]\n"
	"\n"
	"Prints what a gateway has counted, and its far gateways: whether their link address is known, the longest IP packet\n"
	"of a host, paths and those that are dead, packets sent and lost. With addresses of far gateways: the paths to these, by UDP\n"
	"source port, with packets sent and lost, round trip, marks, and at how many workers they are dead. docs/gateway.md says\n"
	"what counters mean. The daemon has to serve telemetry (control.telemetry), and its socket is for root only.\n"
	"\n"
	"  -w, --watch          again every second, until it is interrupted\n"
	LISTING_OPTIONS;

/* All members of the answer that are numbers by themselves, so that a counter the daemon has is one that is shown. */
static void print_counters(const char *at, const char *end)
{
	unsigned int n = 0;

	while ((at = memchr(at, '"', (size_t)(end - at))) != NULL) {
		const char *name = at + 1, *quote = memchr(name, '"', (size_t)(end - name));

		if (quote == NULL)
			break;
		at = quote + 1;
		if (end - at < 2 || at[0] != ':' || !isdigit((unsigned char)at[1]))
			continue;
		printf("%s%-17.*s %12" PRIu64, n % PER_LINE == 0 ? "" : "   ", (int)(quote - name), name,
			(uint64_t)strtoull(at + 1, NULL, 10));
		if (++n % PER_LINE == 0)
			putchar('\n');
	}
	if (n % PER_LINE != 0)
		putchar('\n');
}

static void print_remotes(const char *at, const char *end)
{
	static const char *const texts[] = {"far_gateway"};
	static const char *const names[] = {"reachable", "room_bytes", "paths", "dead_paths", "sent_packets", "lost_packets", "bad_reports"};
	enum { REACHABLE, ROOM, PATHS, DEAD, SENT, LOST, BAD, COLUMNS };
	static char far[1][LISTING_ROWS][TELEMETRY_TEXT_BYTES];
	static uint64_t v[COLUMNS][LISTING_ROWS];
	size_t n = listing_read(at, end, texts, 1, far, names, COLUMNS, v);

	if (n == 0)
		return;
	printf("\n%-39s %-11s %6s %6s %5s %14s %12s %12s\n", "far gateway", "", "room", "paths", "dead", "sent", "lost", "bad reports");
	for (size_t i = 0; i < n; i++)
		printf("%-39s %-11s %6" PRIu64 " %6" PRIu64 " %5" PRIu64 " %14" PRIu64 " %12" PRIu64 " %12" PRIu64 "\n", far[0][i],
			v[REACHABLE][i] != 0 ? "reachable" : "unreachable", v[ROOM][i], v[PATHS][i], v[DEAD][i], v[SENT][i], v[LOST][i],
			v[BAD][i]);
}

static void print_paths(const char *far, const char *at, const char *end)
{
	static const char *const names[] = {"udp_port", "sent", "lost", "rtt_ns", "ecn_percent", "dead_at_workers"};
	enum { PORT, SENT, LOST, RTT, ECN, DEAD, COLUMNS };
	static uint64_t v[COLUMNS][MAX_PATHS];
	size_t n = MAX_PATHS;

	for (int c = 0; c < COLUMNS; c++) {
		size_t k = telemetry_numbers(at, end, names[c], v[c], MAX_PATHS);

		n = k < n ? k : n;
	}
	printf("paths to %s\n path  port           sent         lost   rtt us  ecn %%  dead\n", far);
	for (size_t i = 0; i < n; i++)
		printf("%5zu %5" PRIu64 " %14" PRIu64 " %12" PRIu64 " %8.1f %6" PRIu64 " %5" PRIu64 "\n", i, v[PORT][i], v[SENT][i], v[LOST][i],
			(double)v[RTT][i] / 1000, v[ECN][i], v[DEAD][i]);
}

/* As show(). */
static int show_paths(int fd, const char *all, const char *far, bool json)
{
	static char texts[LISTING_ROWS][TELEMETRY_TEXT_BYTES], answer[TELEMETRY_ANSWER_BYTES];
	size_t n = telemetry_texts(all, all + strlen(all), "far_gateway", texts, LISTING_ROWS), i = 0;
	char question[64];
	int rc;

	while (i < n && strcmp(texts[i], far) != 0)
		i++;
	if (i == n) {
		fprintf(stderr, "rocectl: %s: no far gateway has that address; rocectl gateway lists them\n", far);
		return 1;
	}
	snprintf(question, sizeof(question), "/roced/gateway,%zu", i);
	rc = telemetry_ask(fd, question, answer);
	if (rc == 0 && json)
		puts(answer);
	else if (rc == 0)
		print_paths(far, answer, answer + strlen(answer));
	return rc;
}

/* 0; a negative errno; 1: there is no such far gateway. */
static int show(int fd, const struct listing_opts *opts)
{
	static char answer[TELEMETRY_ANSWER_BYTES];
	const char *end;
	int rc = telemetry_ask(fd, "/roced/gateway", answer);

	if (rc != 0)
		return rc;
	end = answer + strlen(answer);
	if (opts->watch)
		fputs("\033[H\033[J", stdout);
	for (int i = 0; i < opts->n_args && rc == 0; i++)
		rc = show_paths(fd, answer, opts->args[i], opts->json);
	if (opts->n_args == 0 && opts->json) {
		puts(answer);
	} else if (opts->n_args == 0 && telemetry_member(answer, end, "tunnelled") == NULL) {
		puts("the daemon is no gateway");
	} else if (opts->n_args == 0) {
		print_counters(answer, end);
		print_remotes(answer, end);
	}
	fflush(stdout);
	return rc;
}

int rocectl_gateway(int argc, char **argv)
{
	return listing_watch(usage, show, argc, argv);
}
