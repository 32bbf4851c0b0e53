/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that print a list which the daemon tells page by page, in columns. */
#ifndef LISTING_H
#define LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include "telemetry.h"

#define LISTING_ROWS 64 /* of a page, more than the daemon ever tells */

#define LISTING_OPTIONS                                                                       \
	"  -j, --json           what the daemon answers\n"                                    \
	"  -s, --socket PATH    DPDK's telemetry socket; default: the one that is found\n"    \
	"  -h, --help           this text\n"                                                  \
	"\n"                                                                                  \
	"Exit status: 0; 2: no daemon answers, or bad usage.\n"

struct listing_opts {
	bool json;
	bool watch, all;           /* only of commands that have them */
	const char *socket;
	char **args;
	int n_args;
};

/* What such a command begins with: reads its options (and those of -w, --watch and -a, --all that are letters of more) and connects. A descriptor; -1: the command is
 * done, *status is its exit code. most_args: how many arguments there may be behind the options, least_args how many there must. */
int listing_begin(struct listing_opts *opts, const char *usage, const char *more, int least_args, int most_args, int argc, char **argv,
	int *status);
/* What it ends with: rc is what asking came to; above 0: what is wrong was said already. The exit code. */
int listing_end(int fd, int rc);

/* A command that shows what its arguments name, once or, with --watch, every second. show: 0, or as rc of listing_end(). The exit code. */
int listing_watch(const char *usage, int (*show)(int fd, const struct listing_opts *opts), int argc, char **argv);

struct listing {
	const char *usage;
	const char *question;      /* "/roced/..." */
	const char *count;         /* how the answer calls the number of all rows */
	const char *column;        /* one of its columns of numbers */
	const char *title, *none;  /* above the rows, and what to say of an empty list */
	size_t (*print)(const char *at, const char *end); /* a page; how many rows */
};

/* Does all of it. The exit code. */
int listing_run(const struct listing *listing, int argc, char **argv);

/* Reads columns of a page. How many rows all of them have. */
size_t listing_read(const char *at, const char *end, const char *const *text_names, size_t n_texts,
	char (*texts)[LISTING_ROWS][TELEMETRY_TEXT_BYTES], const char *const *number_names, size_t n_numbers,
	uint64_t (*numbers)[LISTING_ROWS]);

#endif
