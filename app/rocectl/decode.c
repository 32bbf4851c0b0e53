/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl decode: one line for each packet of a capture file. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "emit.h"
#include "link.h"
#include "rocectl.h"

#define NS_PER_S 1000000000u

static const char usage[] =
	"usage: rocectl decode [--json] FILE\n"
	"\n"
	"Prints one line for each packet of a pcap or pcapng file (- is standard input): number, seconds\n"
	"since the first packet, addresses, opcode, QPN, PSN, the fields of the headers that follow, CM\n"
	"messages, and whether the ICRC is right. A summary goes to standard error.\n"
	"\n"
	"  -j, --json   one JSON object a line, with all fields\n"
	"  -h, --help   this text\n"
	"\n"
	"Exit status: 0 no ICRC is bad, 1 an ICRC is bad, 2 not a capture or not readable.\n";

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

/* Of one run. */
struct decode {
	struct emit e;
	struct link_frame frame;
	int dlt;
	int64_t first_ns;
	uint64_t packets;
	uint64_t roce;
	uint64_t bad_icrc;
	uint64_t malformed;
	uint64_t truncated;
};

/* With nanosecond precision asked for, tv_usec holds nanoseconds. */
static int64_t time_ns(const struct pcap_pkthdr *hdr)
{
	return (int64_t)((uint64_t)hdr->ts.tv_sec * NS_PER_S + (uint64_t)hdr->ts.tv_usec);
}

static void decode_record(struct decode *dec, const struct pcap_pkthdr *hdr, const uint8_t *data)
{
	int64_t at_ns = time_ns(hdr);
	struct describe_result result;
	struct emit *e = &dec->e;

	if (!dec->packets++)
		dec->first_ns = at_ns;
	link_to_ethernet(dec->dlt, data, hdr->caplen, hdr->len, &dec->frame);
	emit_begin(e);
	emit_count(e, "number", dec->packets);
	if (e->json)
		emit_time(e, "time", at_ns);
	emit_time(e, "rel_time", (int64_t)((uint64_t)at_ns - (uint64_t)dec->first_ns));
	result = describe(e, &dec->frame);
	emit_end(e);
	dec->roce += result.roce;
	dec->bad_icrc += result.icrc == DESCRIBE_ICRC_BAD;
	dec->malformed += result.malformed;
	dec->truncated += result.truncated;
}

static void print_summary(const struct decode *dec)
{
	fprintf(stderr,
		"%" PRIu64 " packets, %" PRIu64 " RoCE, %" PRIu64 " bad ICRC, %" PRIu64 " malformed",
		dec->packets, dec->roce, dec->bad_icrc, dec->malformed);
	if (dec->truncated)
		fprintf(stderr, ", %" PRIu64 " truncated by the capture", dec->truncated);
	fputc('\n', stderr);
}

/* Flushes; a reader who left, as head does, is no error, and nothing more is to be said. */
static int output_error(void)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	if (errno != EPIPE && errno)
		perror("rocectl: standard output");
	return errno == EPIPE ? EPIPE : EIO;
}

/* Bounded by the file. */
static int decode_all(pcap_t *pcap, struct decode *dec, const char *file)
{
	struct pcap_pkthdr *hdr;
	const uint8_t *data;
	int rc = 1;
	int code;

	while (!ferror(stdout) && (rc = pcap_next_ex(pcap, &hdr, &data)) == 1)
		decode_record(dec, hdr, data);
	code = dec->bad_icrc ? ROCECTL_FOUND_BAD : ROCECTL_OK;
	switch (output_error()) {
	case 0:
		break;
	case EPIPE:
		return code;
	default:
		return ROCECTL_UNUSABLE;
	}
	print_summary(dec);
	if (rc == PCAP_ERROR) {
		fprintf(stderr, "rocectl: %s: damaged after packet %" PRIu64 ": %s\n", file, dec->packets,
			pcap_geterr(pcap));
		return ROCECTL_UNUSABLE;
	}
	return code;
}

static int decode_file(pcap_t *pcap, const struct decode_opts *opts)
{
	int dlt = pcap_datalink(pcap);
	const char *name = pcap_datalink_val_to_name(dlt);
	struct decode *dec;
	int code;

	if (!link_supported(dlt)) {
		fprintf(stderr,
			"rocectl: %s: link type %s (%d); Ethernet, Linux cooked and raw IP are decoded\n",
			opts->file, name ? name : "unknown", dlt);
		return ROCECTL_UNUSABLE;
	}
	dec = calloc(1, sizeof(*dec));
	if (!dec) {
		perror("rocectl");
		return ROCECTL_UNUSABLE;
	}
	dec->e.out = stdout;
	dec->e.json = opts->json;
	dec->dlt = dlt;
	code = decode_all(pcap, dec, opts->file);
	free(dec);
	return code;
}

int rocectl_decode(int argc, char **argv)
{
	struct decode_opts opts = {0};
	char err[PCAP_ERRBUF_SIZE] = "";
	pcap_t *pcap;
	int code;

	if (parse_args(argc, argv, &opts)) {
		fputs(usage, stderr);
		return ROCECTL_UNUSABLE;
	}
	if (opts.help) {
		fputs(usage, stdout);
		return ROCECTL_OK;
	}
	signal(SIGPIPE, SIG_IGN);
	pcap = pcap_open_offline_with_tstamp_precision(opts.file, PCAP_TSTAMP_PRECISION_NANO, err);
	if (!pcap) {
		fprintf(stderr, "rocectl: %s: not a capture file or not readable: %s\n", opts.file, err);
		return ROCECTL_UNUSABLE;
	}
	code = decode_file(pcap, &opts);
	pcap_close(pcap);
	return code;
}
