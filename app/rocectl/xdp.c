/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl xdp: what the XDP programs of ports on AF_XDP saw, and who got it. */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rocectl.h"
#include "telemetry.h"
#include "xdp_roce.h"

#define MAX_PORTS 16

static const char usage[] =
	"usage: rocectl xdp [--json] [--socket PATH]\n"
	"\n"
	"Prints for each port on AF_XDP the frames that its XDP program saw, by kind, and who got them (docs/af_xdp.md). The\n"
	"daemon has to serve telemetry (control.telemetry), and its socket is for root only.\n"
	"\n"
	"  -j, --json           what the daemon answers\n"
	"  -s, --socket PATH    DPDK's telemetry socket; default: the one that is found\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: 0; 2: no daemon answers.\n";

struct opts {
	bool json, help;
	const char *socket;
};

static int parse_args(int argc, char **argv, struct opts *opts)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c;

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
	return optind == argc ? 0 : -1;
}

static const char *goes_to(uint32_t kind, bool all)
{
	if (kind == XDP_ROCE_NO_SOCKET)
		return "of these passed, no socket has their queue";
	if (kind == XDP_ROCE_COPY_LOST)
		return "copies lost";
	if (all || kind < XDP_ROCE_REDIRECTED)
		return "to roced";
	return kind < XDP_ROCE_COPIED ? "to the kernel, copied to roced" : "to the kernel";
}

static void print_port(const char *at, const char *end, size_t i)
{
	char port[40], mode[16];
	uint64_t n[MAX_PORTS];

	telemetry_text_at(at, end, "port", i, port, sizeof(port));
	telemetry_text_at(at, end, "mode", i, mode, sizeof(mode));
	printf("port %s: %s\n", port, mode);
	for (uint32_t kind = 0; kind < XDP_ROCE_KINDS; kind++) {
		if (telemetry_numbers(at, end, xdp_roce_kind_name(kind), n, MAX_PORTS) > i)
			printf("  %-12s %14" PRIu64 "  %s\n", xdp_roce_kind_name(kind), n[i],
				goes_to(kind, strcmp(mode, "all") == 0));
	}
}

static int show(int fd, bool json)
{
	static char answer[TELEMETRY_ANSWER_BYTES];
	uint64_t any[MAX_PORTS];
	const char *end;
	size_t n;
	int rc = telemetry_ask(fd, "/roced/xdp", answer);

	if (rc != 0 || json) {
		if (rc == 0)
			puts(answer);
		return rc;
	}
	end = answer + strlen(answer);
	n = telemetry_numbers(answer, end, xdp_roce_kind_name(0), any, MAX_PORTS);
	if (n == 0)
		puts("no port has an XDP program of ours");
	for (size_t i = 0; i < n; i++)
		print_port(answer, end, i);
	return 0;
}

int rocectl_xdp(int argc, char **argv)
{
	struct opts opts = {0};
	int fd, rc;

	if (parse_args(argc, argv, &opts) != 0) {
		fputs(usage, stderr);
		return ROCECTL_UNUSABLE;
	}
	if (opts.help) {
		fputs(usage, stdout);
		return ROCECTL_OK;
	}
	fd = telemetry_connect(opts.socket);
	if (fd < 0)
		return ROCECTL_UNUSABLE;
	rc = show(fd, opts.json);
	close(fd);
	if (rc != 0)
		fprintf(stderr, "rocectl: the daemon does not answer: %s\n", strerror(-rc));
	return rc == 0 ? ROCECTL_OK : ROCECTL_UNUSABLE;
}
