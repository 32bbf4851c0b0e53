/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl alarms: conditions that somebody should look at. */
#include <inttypes.h>
#include <stdio.h>

#include "listing.h"
#include "rocectl.h"

static const char usage[] =
	"usage: rocectl alarms [--json] [--socket PATH]\n"
	"\n"
	"Prints what is wrong, or was: with whom, how often, and how many seconds ago first and last. An alarm is over (\"past\") when\n"
	"what it tells of has worked again, or after a minute of silence.\n"
	"\n" LISTING_OPTIONS
	"              1: some are not over\n";

enum { ALARM, SUBJECT, TEXT, TEXTS };
enum { ACTIVE, COUNT, FIRST, LAST, NUMBERS };

static bool any_active;

static size_t print_page(const char *at, const char *end)
{
	static const char *const text_names[TEXTS] = {"alarm", "subject", "text"};
	static const char *const number_names[NUMBERS] = {"active", "count", "first_s_ago", "last_s_ago"};
	static char texts[TEXTS][LISTING_ROWS][TELEMETRY_TEXT_BYTES];
	static uint64_t numbers[NUMBERS][LISTING_ROWS];
	size_t n = listing_read(at, end, text_names, TEXTS, texts, number_names, NUMBERS, numbers);

	for (size_t i = 0; i < n; i++) {
		printf("%-6s %-18s %-39s %10" PRIu64 " %7" PRIu64 " %7" PRIu64 "  %s\n", numbers[ACTIVE][i] != 0 ? "ACTIVE" : "past",
			texts[ALARM][i], texts[SUBJECT][i], numbers[COUNT][i], numbers[FIRST][i], numbers[LAST][i], texts[TEXT][i]);
		any_active |= numbers[ACTIVE][i] != 0;
	}
	return n;
}

int rocectl_alarms(int argc, char **argv)
{
	static const struct listing listing = {
		.usage = usage,
		.question = "/roced/alarms",
		.count = "alarms",
		.column = "count",
		.title = "       alarm              with                                         times   first    last  what",
		.none = "no alarm",
		.print = print_page,
	};
	int rc = listing_run(&listing, argc, argv);

	return rc == ROCECTL_OK && any_active ? ROCECTL_FOUND_BAD : rc;
}
