/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl xdp: what the XDP programs of ports on AF_XDP saw, and who got it. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "listing.h"
#include "rocectl.h"
#include "xdp_roce.h"

#define MAX_PORTS 16

static const char usage[] =
	"usage: rocectl xdp [--json] [--socket PATH]\n"
	"\n"
	"Prints for each port on AF_XDP the frames that its XDP program saw, by kind, and who got them (docs/af_xdp.md). The\n"
	"daemon has to serve telemetry (control.telemetry), and its socket is for root only.\n"
	"\n"
	LISTING_OPTIONS;

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
	static char ports[MAX_PORTS][TELEMETRY_TEXT_BYTES], modes[MAX_PORTS][TELEMETRY_TEXT_BYTES];
	uint64_t n[MAX_PORTS];

	if (telemetry_texts(at, end, "port", ports, MAX_PORTS) <= i || telemetry_texts(at, end, "mode", modes, MAX_PORTS) <= i)
		return;
	printf("port %s: %s\n", ports[i], modes[i]);
	for (uint32_t kind = 0; kind < XDP_ROCE_KINDS; kind++) {
		if (telemetry_numbers(at, end, xdp_roce_kind_name(kind), n, MAX_PORTS) > i)
			printf("  %-12s %14" PRIu64 "  %s\n", xdp_roce_kind_name(kind), n[i],
				goes_to(kind, strcmp(modes[i], "all") == 0));
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
	struct listing_opts opts;
	int status, fd = listing_begin(&opts, usage, "", 0, 0, argc, argv, &status);

	return fd < 0 ? status : listing_end(fd, show(fd, opts.json));
}
