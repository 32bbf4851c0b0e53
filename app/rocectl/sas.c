/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl sas and rocectl rekey: security associations; never a key. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "listing.h"
#include "rocectl.h"

static const char sas_usage[] =
	"usage: rocectl sas [--json] [--socket PATH]\n"
	"\n"
	"Prints the peers with which packets are protected, or are to be (docs/protection.md): suite, how the ends proved who they\n"
	"are, how many times keys were changed in each direction (epochs), SPIs of the first worker, age of the handshake in seconds,\n"
	"packets sent and received, and those with a wrong tag, repeated, or too late. Without keys: the last reason.\n"
	"\n" LISTING_OPTIONS;

static const char rekey_usage[] =
	"usage: rocectl rekey [--json] [--socket PATH] PEER...|all\n"
	"\n"
	"Has keys changed in both directions now, with the peers of these addresses or with all. No packet is lost by that.\n"
	"\n" LISTING_OPTIONS
	"              1: one of the peers has no keys to change\n";

enum { PEER, LOCAL, DEVICE, STATE, SUITE, METHOD, WHY, TEXTS };
enum { TX_EPOCH, RX_EPOCH, TX_SPI, RX_SPI, AGE, TX, RX, WRONG, REPLAYED, OLD, NUMBERS };

static void print_row(char texts[TEXTS][LISTING_ROWS][TELEMETRY_TEXT_BYTES], uint64_t numbers[NUMBERS][LISTING_ROWS], size_t i)
{
	printf("%-39s %-11s %-12s %-11s", texts[PEER][i], texts[STATE][i], texts[SUITE][i], texts[METHOD][i]);
	if (texts[SUITE][i][0] != '\0')
		printf(" %4" PRIu64 "/%-4" PRIu64 " %08" PRIx64 "/%08" PRIx64 " %7" PRIu64, numbers[TX_EPOCH][i], numbers[RX_EPOCH][i],
			numbers[TX_SPI][i], numbers[RX_SPI][i], numbers[AGE][i]);
	else
		printf(" %9s %17s %7s", "-", "-", "-");
	printf(" %12" PRIu64 " %12" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n", numbers[TX][i], numbers[RX][i], numbers[WRONG][i],
		numbers[REPLAYED][i], numbers[OLD][i]);
	if (texts[WHY][i][0] != '\0')
		printf("    %s\n", texts[WHY][i]);
}

static size_t print_page(const char *at, const char *end)
{
	static const char *const text_names[TEXTS] = {"peer", "local", "device", "state", "suite", "method", "why"};
	static const char *const number_names[NUMBERS] = {"tx_epoch", "rx_epoch", "tx_spi", "rx_spi", "age_s", "tx_packets", "rx_packets",
		"wrong_tags", "replayed", "too_old"};
	static char texts[TEXTS][LISTING_ROWS][TELEMETRY_TEXT_BYTES];
	static uint64_t numbers[NUMBERS][LISTING_ROWS];
	size_t n = listing_read(at, end, text_names, TEXTS, texts, number_names, NUMBERS, numbers);

	for (size_t i = 0; i < n; i++)
		print_row(texts, numbers, i);
	return n;
}

int rocectl_sas(int argc, char **argv)
{
	static const struct listing listing = {
		.usage = sas_usage,
		.question = "/roced/protection",
		.count = "associations",
		.column = "tx_epoch",
		.title = "peer                                    state       suite        method      epochs    SPIs              age (s)"
			"         sent     received  bad tag repeated  too old",
		.none = "no peer is protected",
		.print = print_page,
	};

	return listing_run(&listing, argc, argv);
}

/* ---- new keys ---- */

static int rekey_one(int fd, const char *peer, bool json)
{
	static char answer[TELEMETRY_ANSWER_BYTES];
	uint64_t started, under_way, without;
	char question[128];
	const char *end;
	int rc;

	snprintf(question, sizeof(question), "/roced/rekey,%s", peer);
	rc = telemetry_ask(fd, question, answer);
	end = answer + strlen(answer);
	if (rc != 0) {
		fprintf(stderr, "rocectl: the daemon does not answer: %s\n", strerror(-rc));
		return ROCECTL_UNUSABLE;
	}
	if (telemetry_member(answer, end, "started") == NULL) {
		fprintf(stderr, "rocectl: %s: not an IP address, and not \"all\"\n", peer);
		return ROCECTL_UNUSABLE;
	}
	started = telemetry_number(answer, end, "started");
	under_way = telemetry_number(answer, end, "under_way");
	without = telemetry_number(answer, end, "without_keys");
	if (json)
		puts(answer);
	else
		printf("%s: %" PRIu64 " begun, %" PRIu64 " under way already, %" PRIu64 " without keys\n", peer, started, under_way, without);
	return without != 0 || started + under_way == 0 ? ROCECTL_FOUND_BAD : ROCECTL_OK;
}

int rocectl_rekey(int argc, char **argv)
{
	struct listing_opts opts;
	int worst, fd = listing_begin(&opts, rekey_usage, "", 1, INT_MAX, argc, argv, &worst);

	if (fd < 0)
		return worst;
	worst = ROCECTL_OK;
	for (int i = 0; i < opts.n_args; i++) {
		int rc = rekey_one(fd, opts.args[i], opts.json);

		worst = rc > worst ? rc : worst;
	}
	close(fd);
	return worst;
}
