/* SPDX-License-Identifier: BSD-3-Clause */
#include "listing.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rocectl.h"

/* 1: help is wanted; -1: bad usage, and getopt has said what. */
static int parse(struct listing_opts *opts, const char *more, int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{"watch", no_argument, NULL, 'w'},
		{"all", no_argument, NULL, 'a'},
		{NULL, 0, NULL, 0},
	};
	int c;

	memset(opts, 0, sizeof(*opts));
	optind = 1;
	while ((c = getopt_long(argc, argv, "js:hwa", longs, NULL)) != -1) {
		if (c == 'j')
			opts->json = true;
		else if (c == 's')
			opts->socket = optarg;
		else if (c == 'h')
			return 1;
		else if ((c == 'w' || c == 'a') && strchr(more, c) != NULL)
			*(c == 'w' ? &opts->watch : &opts->all) = true;
		else
			return -1;
	}
	opts->args = argv + optind;
	opts->n_args = argc - optind;
	return 0;
}

int listing_begin(struct listing_opts *opts, const char *usage, const char *more, int least_args, int most_args, int argc, char **argv,
	int *status)
{
	int rc = parse(opts, more, argc, argv);

	if (rc == 1) {
		fputs(usage, stdout);
		*status = ROCECTL_OK;
		return -1;
	}
	*status = ROCECTL_UNUSABLE;
	if (rc != 0 || opts->n_args < least_args || opts->n_args > most_args) {
		fputs(usage, stderr);
		return -1;
	}
	return telemetry_connect(opts->socket);
}

int listing_end(int fd, int rc)
{
	close(fd);
	if (rc < 0)
		fprintf(stderr, "rocectl: the daemon does not answer: %s\n", strerror(-rc));
	return rc == 0 ? ROCECTL_OK : ROCECTL_UNUSABLE;
}

int listing_watch(const char *usage, int (*show)(int fd, const struct listing_opts *opts), int argc, char **argv)
{
	struct listing_opts opts;
	int rc, status, fd = listing_begin(&opts, usage, "w", 0, INT_MAX, argc, argv, &status);

	if (fd < 0)
		return status;
	while ((rc = show(fd, &opts)) == 0 && opts.watch)
		sleep(1);
	return listing_end(fd, rc);
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
		if (rc != 0)
			return rc;
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
	return 0;
}

int listing_run(const struct listing *listing, int argc, char **argv)
{
	struct listing_opts opts;
	int status, fd = listing_begin(&opts, listing->usage, "", 0, 0, argc, argv, &status);

	return fd < 0 ? status : listing_end(fd, show(fd, listing, opts.json));
}
