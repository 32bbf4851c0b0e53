/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl top: ports, workers, the busiest queue pairs and their paths, again and again, by rates. */
#include "top.h"

#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "listing.h"
#include "rocectl.h"
#include "telemetry.h"

static const char usage[] =
	"usage: rocectl top [--once | --count N] [--interval SECONDS] [--qps N] [--paths N] [--json] [--socket PATH]\n"
	"\n"
	"Shows rates of ports, how busy workers are, and the queue pairs that move most: what they sent at the last looks, most on the\n"
	"right, and how their packets go over their paths. The daemon has to serve telemetry (control.telemetry), and its socket is\n"
	"for root only.\n"
	"\n"
	"  -1, --once           one picture, after one interval\n"
	"  -n, --count N        so many pictures; default: until it is interrupted\n"
	"  -i, --interval S     seconds between two looks, 0.1 to 3600; default: 1\n"
	"  -q, --qps N          queue pairs, 0 to 32; default: 4\n"
	"  -p, --paths N        paths of each, 0 to 64; default: 8\n"
	"  -j, --json           a picture is an object in a line\n"
	"  -s, --socket PATH    DPDK's telemetry socket; default: the one that is found\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: 0; 2: no daemon answers, or bad usage.\n";

struct options {
	uint32_t count;            /* 0: no end */
	double interval_s;
	uint32_t qps, paths;
	bool json;
	const char *socket;
};

/* ---- options ---- */

static bool read_count(const char *text, uint32_t least, uint32_t most, uint32_t *n)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	*n = (uint32_t)value;
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && value >= least && value <= most;
}

static bool read_interval(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	return end != text && *end == '\0' && *seconds >= 0.1 && *seconds <= 3600;
}

static bool take_option(struct options *o, int c)
{
	switch (c) {
	case '1':
		o->count = 1;
		return true;
	case 'n':
		return read_count(optarg, 1, 1000000, &o->count);
	case 'i':
		return read_interval(optarg, &o->interval_s);
	case 'q':
		return read_count(optarg, 0, TOP_MAX_QPS, &o->qps);
	case 'p':
		return read_count(optarg, 0, TOP_MAX_PATHS, &o->paths);
	case 'j':
		o->json = true;
		return true;
	case 's':
		o->socket = optarg;
		return true;
	default:
		return false;
	}
}

/* 0; 1: help is wanted; -1: bad usage. */
static int parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {{"once", no_argument, NULL, '1'}, {"count", required_argument, NULL, 'n'},
		{"interval", required_argument, NULL, 'i'}, {"qps", required_argument, NULL, 'q'}, {"paths", required_argument, NULL, 'p'},
		{"json", no_argument, NULL, 'j'}, {"socket", required_argument, NULL, 's'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	*o = (struct options){.interval_s = 1, .qps = 4, .paths = 8};
	optind = 1;
	while ((c = getopt_long(argc, argv, "1n:i:q:p:js:h", longs, NULL)) != -1) {
		if (c == 'h')
			return 1;
		if (!take_option(o, c)) {
			if (c != '?')
				fprintf(stderr, "rocectl top: -%c: out of range or no number: %s\n", c, optarg);
			return -1;
		}
	}
	return optind == argc ? 0 : -1;
}

/* ---- pictures ---- */

static void show(const struct top_picture *picture, const struct options *o, bool utf8)
{
	if (o->json) {
		top_print_json(picture);
	} else {
		if (o->count == 0 || isatty(STDOUT_FILENO))
			fputs("\033[H\033[J", stdout);
		top_draw(picture, utf8, o->paths);
	}
	fflush(stdout);
}

static void pass(double seconds)
{
	struct timespec ts = {.tv_sec = (time_t)seconds};

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static int watch(struct top *top, const struct options *o)
{
	static struct top_picture picture;
	bool utf8 = setlocale(LC_ALL, "") != NULL && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	int rc = top_begin(top);

	for (uint32_t i = 0; rc == 0 && (o->count == 0 || i < o->count); i++) {
		pass(o->interval_s);
		rc = top_look(top, o->qps, &picture);
		if (rc == 0)
			show(&picture, o, utf8);
	}
	top_end(top);
	return rc;
}

int rocectl_top(int argc, char **argv)
{
	static struct top top;
	struct options o;
	int rc = parse(&o, argc, argv);

	if (rc != 0) {
		fputs(usage, rc == 1 ? stdout : stderr);
		return rc == 1 ? ROCECTL_OK : ROCECTL_UNUSABLE;
	}
	top.fd = telemetry_connect(o.socket);
	return top.fd < 0 ? ROCECTL_UNUSABLE : listing_end(top.fd, watch(&top, &o));
}
