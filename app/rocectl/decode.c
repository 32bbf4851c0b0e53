/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl decode: one line for each packet of a capture file. */
#include <getopt.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "emit.h"
#include "rocectl.h"

static const char usage[] =
	"usage: rocectl decode FILE [--json]\n"
	"\n"
	"Prints one line for each packet of a pcap or pcapng file (- is standard input): addresses,\n"
	"opcode, QPN, PSN, the fields of all headers, CM messages, and whether the ICRC is right.\n"
	"\n"
	"  -j, --json   one JSON object a line\n"
	"  -h, --help   this text\n"
	"\n"
	"Exit code: 0 all read and no ICRC bad, 1 an ICRC is bad, 2 not a capture or not readable.\n";

struct decode_opts {
	const char *file;
	bool json;
	bool help;
};

static int parse_args(int argc, char **argv, struct decode_opts *opts)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "jh", longs, NULL)) != -1) {
		if (c == 'j')
			opts->json = true;
		else if (c == 'h')
			opts->help = true;
		else
			return -1;
	}
	if (opts->help)
		return 0;
	if (argc - optind != 1)
		return -1;
	opts->file = argv[optind];
	return 0;
}

static void emit_time(struct emit *e, const struct pcap_pkthdr *hdr)
{
	/* With nanosecond precision asked for, tv_usec holds nanoseconds. */
	uint64_t sec = (uint64_t)hdr->ts.tv_sec;
	uint64_t nsec = (uint64_t)hdr->ts.tv_usec;
	char text[48];

	if (e->json) {
		emit_num(e, "time_ns", sec * 1000000000u + nsec);
		return;
	}
	snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, sec, nsec);
	emit_word(e, "time", text);
}

static enum describe_icrc decode_record(
	struct emit *e, uint64_t number, const struct pcap_pkthdr *hdr, const uint8_t *data)
{
	struct describe_frame frame = {
		.data = data,
		.bytes = hdr->caplen,
		.wire_bytes = hdr->len > hdr->caplen ? hdr->len : hdr->caplen,
	};
	enum describe_icrc icrc;

	emit_begin(e);
	emit_num(e, "number", number);
	emit_time(e, hdr);
	icrc = describe(e, &frame);
	emit_end(e);
	return icrc;
}

/* Bounded by the file. */
static int decode_all(pcap_t *pcap, const struct decode_opts *opts)
{
	struct emit e = {.out = stdout, .json = opts->json};
	struct pcap_pkthdr *hdr;
	uint64_t number = 0;
	const uint8_t *data;
	int code = ROCECTL_OK;
	int rc;

	while ((rc = pcap_next_ex(pcap, &hdr, &data)) == 1) {
		if (decode_record(&e, ++number, hdr, data) == DESCRIBE_ICRC_BAD)
			code = ROCECTL_FOUND_BAD;
	}
	if (fflush(stdout)) {
		perror("rocectl: standard output");
		return ROCECTL_UNUSABLE;
	}
	if (rc == PCAP_ERROR) {
		fprintf(stderr, "rocectl: %s: damaged after packet %" PRIu64 ": %s\n", opts->file,
			number, pcap_geterr(pcap));
		return ROCECTL_UNUSABLE;
	}
	return code;
}

int rocectl_decode(int argc, char **argv)
{
	struct decode_opts opts = {0};
	char err[PCAP_ERRBUF_SIZE] = "";
	int code = ROCECTL_UNUSABLE;
	int link;
	pcap_t *pcap;

	if (parse_args(argc, argv, &opts)) {
		fputs(usage, stderr);
		return ROCECTL_UNUSABLE;
	}
	if (opts.help) {
		fputs(usage, stdout);
		return ROCECTL_OK;
	}
	pcap = pcap_open_offline_with_tstamp_precision(opts.file, PCAP_TSTAMP_PRECISION_NANO, err);
	if (!pcap) {
		fprintf(stderr, "rocectl: %s: not a capture file or not readable: %s\n", opts.file, err);
		return ROCECTL_UNUSABLE;
	}
	link = pcap_datalink(pcap);
	if (link == DLT_EN10MB) {
		code = decode_all(pcap, &opts);
	} else {
		const char *name = pcap_datalink_val_to_name(link);

		fprintf(stderr, "rocectl: %s: link type %s (%d), only Ethernet is decoded\n",
			opts.file, name ? name : "unknown", link);
	}
	pcap_close(pcap);
	return code;
}
