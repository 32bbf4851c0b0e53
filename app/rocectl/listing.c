/* SPDX-License-Identifier: BSD-3-Clause */
#include "listing.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rocectl.h"

int listing_parse(struct listing_opts *opts, int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c;

	memset(opts, 0, sizeof(*opts));
	optind = 1;
	while ((c = getopt_long(argc, argv, "js:h", longs, NULL)) != -1) {
		if (c == 'j')
			opts->json = true;
		else if (c == 's')
			opts->socket = optarg;
		else if (c == 'h')
			opts->help = true;
		else
			return -1;
	}
	opts->args = argv + optind;
	opts->n_args = argc - optind;
	return 0;
}

size_t listing_read(const char *at, const char *end, const char *const *text_names, size_t n_texts,
	char (*texts)[LISTING_ROWS][TELEMETRY_TEXT_BYTES], const char *const *number_names, size_t n_numbers,
	uint64_t (*numbers)[LISTING_ROWS])
{
	size_t n = LISTING_ROWS, k;

	for (size_t t = 0; t < n_texts; t++) {
		k = telemetry_texts(at, end, text_names[t], texts[t], LISTING_ROWS);
		n = k < n ? k : n;
	}
	for (size_t i = 0; i < n_numbers; i++) {
		k = telemetry_numbers(at, end, number_names[i], numbers[i], LISTING_ROWS);
		n = k < n ? k : n;
	}
	return n;
}

/* The pages of a list that may change meanwhile. */
static int show(int fd, const struct listing *listing, bool json)
{
	static char answer[TELEMETRY_ANSWER_BYTES];
	size_t from = 0, all, n;

	do {
		char question[64];
		const char *end;
		int rc;

		snprintf(question, sizeof(question), "%s,%zu", listing->question, from);
		rc = telemetry_ask(fd, question, answer);
		if (rc != 0) {
			fprintf(stderr, "rocectl: the daemon does not answer: %s\n", strerror(-rc));
			return ROCECTL_UNUSABLE;
		}
		end = answer + strlen(answer);
		all = (size_t)telemetry_number(answer, end, listing->count);
		if (json) {
			uint64_t count[LISTING_ROWS];

			puts(answer);
			n = telemetry_numbers(answer, end, listing->column, count, LISTING_ROWS);
		} else {
			if (from == 0)
				puts(all != 0 ? listing->title : listing->none);
			n = listing->print(answer, end);
		}
		from += n;
	} while (n != 0 && from < all);
	return ROCECTL_OK;
}

int listing_run(const struct listing *listing, int argc, char **argv)
{
	struct listing_opts opts;
	int fd, rc;

	if (listing_parse(&opts, argc, argv) != 0 || opts.n_args != 0) {
		fputs(listing->usage, stderr);
		return ROCECTL_UNUSABLE;
	}
	if (opts.help) {
		fputs(listing->usage, stdout);
		return ROCECTL_OK;
	}
	fd = telemetry_connect(opts.socket);
	if (fd < 0)
		return ROCECTL_UNUSABLE;
	rc = show(fd, listing, opts.json);
	close(fd);
	return rc;
}
