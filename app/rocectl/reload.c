/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl reload: the daemon reads its configuration again. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "listing.h"
#include "rocectl.h"

#define PIECES 128

static const char usage[] =
	"usage: rocectl reload [--dry-run] [--json] [--socket PATH] [FILE]\n"
	"\n"
	"Has the daemon read its configuration again, or FILE in its place, and change what differs, all of it or nothing: a file with\n"
	"errors, or one with something that needs a restart, changes nothing, and it is said what that is. Queue pairs go on.\n"
	"docs/configuration.md says of each key whether it may change while the daemon runs.\n"
	"\n"
	"  -n, --dry-run        say what differs and what would be done, and change nothing\n"
	"  -j, --json           what the daemon answers\n"
	"  -s, --socket PATH    DPDK's telemetry socket; default: the one that is found\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: 0: done, or (--dry-run) it could be; 1: refused or wrong, nothing has changed; 2: no daemon answers, or bad usage.\n";

struct options {
	bool dry, json;
	const char *socket, *file;
};

/* 1: help is wanted; -1: bad usage. */
static int parse(struct options *options, int argc, char **argv)
{
	static const struct option longs[] = {{"dry-run", no_argument, NULL, 'n'}, {"json", no_argument, NULL, 'j'},
		{"socket", required_argument, NULL, 's'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "njs:h", longs, NULL)) != -1) {
		if (c == 'h')
			return 1;
		if (c == '?')
			return -1;
		options->dry |= c == 'n';
		options->json |= c == 'j';
		if (c == 's')
			options->socket = optarg;
	}
	options->file = optind < argc ? argv[optind] : NULL;
	return argc - optind <= 1 ? 0 : -1;
}

static void print_text(const char *answer, const char *end)
{
	static char pieces[PIECES][TELEMETRY_TEXT_BYTES];
	size_t n = telemetry_texts(answer, end, "text", pieces, PIECES);

	for (size_t i = 0; i < n; i++)
		fputs(pieces[i], stdout);
}

/* outcome: "unchanged", "applied", "possible", "refused" or "wrong". */
static int tell(const char *answer, bool json)
{
	const char *end = answer + strlen(answer);
	char outcome[TELEMETRY_TEXT_BYTES];
	bool good;

	telemetry_text(answer, end, "outcome", outcome, sizeof(outcome));
	if (outcome[0] == '\0') {
		fputs("rocectl: the daemon did not understand: it may be of another version, or too busy\n", stderr);
		return ROCECTL_UNUSABLE;
	}
	good = strcmp(outcome, "refused") != 0 && strcmp(outcome, "wrong") != 0;
	if (json) {
		puts(answer);
	} else {
		print_text(answer, end);
		printf("%s: %llu differences%s\n", outcome, (unsigned long long)telemetry_number(answer, end, "differences"),
			good ? "" : ", nothing has changed");
	}
	return good ? ROCECTL_OK : ROCECTL_FOUND_BAD;
}

int rocectl_reload(int argc, char **argv)
{
	static char answer[TELEMETRY_ANSWER_BYTES], question[PATH_MAX + 64];
	struct options options = {0};
	int rc = parse(&options, argc, argv), fd;
	char file[PATH_MAX] = "";

	if (rc != 0) {
		fputs(usage, rc == 1 ? stdout : stderr);
		return rc == 1 ? ROCECTL_OK : ROCECTL_UNUSABLE;
	}
	/* The daemon has another working directory. */
	if (options.file != NULL && realpath(options.file, file) == NULL) {
		fprintf(stderr, "rocectl: %s: %s\n", options.file, strerror(errno));
		return ROCECTL_UNUSABLE;
	}
	fd = telemetry_connect(options.socket);
	if (fd < 0)
		return ROCECTL_UNUSABLE;
	snprintf(question, sizeof(question), "/roced/reload,%s%s%s", options.dry ? "check" : "apply", file[0] != '\0' ? ":" : "", file);
	rc = telemetry_ask(fd, question, answer);
	close(fd);
	if (rc != 0) {
		fprintf(stderr, "rocectl: the daemon does not answer: %s\n", strerror(-rc));
		return ROCECTL_UNUSABLE;
	}
	return tell(answer, options.json);
}
