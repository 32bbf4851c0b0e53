/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl capture: gives the daemon the end of a pipe, and writes what comes out of the other one to a file. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rocectl.h"
#include "telemetry.h"

#define PIPE_BYTES   (1 << 20)
#define BUFFER_BYTES 65536
#define LOOK_MS      200 /* after an interruption, at most */
#define QPN_MOST     0xfffffful
#define SNAPLEN_MOST 65535ul
#define PORTS_BYTES  512

static const char usage[] = "usage: rocectl capture [OPTIONS] FILE\n"
			    "\n"
			    "Writes packets that the daemon receives and sends to FILE, as pcapng; \"-\" is standard "
			    "output (| tshark -r -). Ends after the time or the\n"
			    "number of packets below, or when interrupted, and says how many packets there are and how "
			    "many are missing. docs/capture.md says more.\n"
			    "\n"
			    "  -p, --port NAME      of this port only; may be given several times\n"
			    "  -q, --qp QPN         of this queue pair only\n"
			    "  -t, --seconds N      so long; default 60, 0: until interrupted\n"
			    "  -c, --count N        so many packets; default 10000, 0: any number\n"
			    "  -l, --snaplen BYTES  of each packet, 1 to 65535; default 256: headers, and little of "
			    "what programs send; 0: all\n"
			    "  -d, --decrypt        packets as they are before protection and tunnels are put on, and "
			    "after they are taken off\n"
			    "  -s, --socket PATH    DPDK's telemetry socket; default: the one that is found\n"
			    "  -h, --help           this text\n"
			    "\n"
			    "Exit status: 0; 1: packets are missing; 2: no daemon answers, it cannot, or bad usage.\n";

struct options {
	const char *socket, *file;
	char ports[PORTS_BYTES];
	unsigned long seconds, count, snaplen;
	bool by_qp, decrypt;
	unsigned long qpn;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static bool read_number(const char *what, const char *text, unsigned long most, unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(text, &end, 0);
	if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *out <= most)
		return true;
	fprintf(stderr, "rocectl: %s: \"%s\" is no number up to %lu\n", what, text, most);
	return false;
}

static bool add_port(struct options *options, const char *name)
{
	size_t at = strlen(options->ports);

	if (name[0] != '\0' && strpbrk(name, "+,") == NULL &&
		snprintf(options->ports + at, PORTS_BYTES - at, "%s%s", at != 0 ? "+" : "", name) <
			(int)(PORTS_BYTES - at))
		return true;
	fprintf(stderr, "rocectl: \"%s\" is no name of a port\n", name);
	return false;
}

static bool take_option(struct options *options, int c)
{
	switch (c) {
	case 'p':
		return add_port(options, optarg);
	case 'q':
		options->by_qp = true;
		return read_number("--qp", optarg, QPN_MOST, &options->qpn);
	case 't':
		return read_number("--seconds", optarg, 31536000, &options->seconds);
	case 'c':
		return read_number("--count", optarg, UINT32_MAX, &options->count);
	case 'l':
		return read_number("--snaplen", optarg, SNAPLEN_MOST, &options->snaplen);
	case 'd':
		options->decrypt = true;
		return true;
	case 's':
		options->socket = optarg;
		return true;
	default:
		return false;
	}
}

/* 0: go on; 1: help is wanted; -1: bad usage. */
static int parse(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {{"port", required_argument, NULL, 'p'},
		{"qp", required_argument, NULL, 'q'}, {"seconds", required_argument, NULL, 't'},
		{"count", required_argument, NULL, 'c'}, {"snaplen", required_argument, NULL, 'l'},
		{"decrypt", no_argument, NULL, 'd'}, {"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	*options = (struct options){.seconds = 60, .count = 10000, .snaplen = 256};
	optind = 1;
	while ((c = getopt_long(argc, argv, "p:q:t:c:l:ds:h", longs, NULL)) != -1) {
		if (c == 'h')
			return 1;
		if (!take_option(options, c))
			return -1;
	}
	if (options->snaplen == 0)
		options->snaplen = SNAPLEN_MOST;
	options->file = argv[optind];
	return optind + 1 == argc ? 0 : -1;
}

/* Packets are nobody else's business. */
static int open_file(const char *name)
{
	int fd = strcmp(name, "-") != 0 ? open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : STDOUT_FILENO;

	if (fd < 0)
		fprintf(stderr, "rocectl: %s: %s\n", name, strerror(errno));
	if (fd == STDOUT_FILENO && isatty(fd)) {
		fputs("rocectl: not to a terminal: name a file, or | tshark -r -\n", stderr);
		return -1;
	}
	return fd;
}

static bool ask(int socket, const char *question, char answer[TELEMETRY_ANSWER_BYTES])
{
	int rc = telemetry_ask(socket, question, answer);

	if (rc != 0)
		fprintf(stderr, "rocectl: the daemon does not answer: %s\n", strerror(-rc));
	return rc == 0;
}

static bool begin(int socket, const struct options *options, int fd)
{
	static char answer[TELEMETRY_ANSWER_BYTES];
	char question[PORTS_BYTES + 200], qpn[16] = "-", why[TELEMETRY_TEXT_BYTES];
	const char *end;

	if (options->by_qp)
		snprintf(qpn, sizeof(qpn), "%#lx", options->qpn);
	snprintf(question, sizeof(question), "/roced/capture,begin,%ld,%d,%lu,%lu,%lu,%d,%s,%s", (long)getpid(), fd,
		options->seconds, options->count, options->snaplen, options->decrypt, qpn, options->ports);
	if (!ask(socket, question, answer))
		return false;
	end = answer + strlen(answer);
	if (telemetry_number(answer, end, "begun") != 1) {
		telemetry_text(answer, end, "error", why, sizeof(why));
		fprintf(stderr, "rocectl: no capture: %s\n", why[0] != '\0' ? why : "this daemon knows of none");
		return false;
	}
	if (options->by_qp && telemetry_number(answer, end, "qp_is_ours") == 0)
		fprintf(stderr, "rocectl: %#lx is no queue pair here, so this is what goes to any of that number\n",
			options->qpn);
	if (options->decrypt)
		fputs("rocectl: packets of interfaces called \"plain\" are not as on the wire: protection and tunnels "
		      "are taken off\n",
			stderr);
	return true;
}

static bool write_all(int fd, const char *data, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, data, n);

		if (done < 0 && errno != EINTR)
			return false;
		data += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

/* Until the daemon closes its end. False: the file takes no more. */
static bool copy(int socket, int from, int to)
{
	static char buffer[BUFFER_BYTES], answer[TELEMETRY_ANSWER_BYTES];
	struct pollfd ready = {.fd = from, .events = POLLIN};
	bool asked = false;
	ssize_t n;

	for (;;) {
		if (interrupted && !asked)
			asked = ask(socket, "/roced/capture,end", answer);
		if (poll(&ready, 1, LOOK_MS) <= 0)
			continue;
		n = read(from, buffer, sizeof(buffer));
		if (n == 0 || (n < 0 && errno != EINTR))
			return true;
		if (n > 0 && !write_all(to, buffer, (size_t)n)) {
			if (errno != EPIPE)
				perror("rocectl: write");
			return errno == EPIPE; /* who reads has enough, as head(1) does */
		}
	}
}

static int tell(int socket)
{
	static char answer[TELEMETRY_ANSWER_BYTES];
	uint64_t packets, missed;
	char why[TELEMETRY_TEXT_BYTES];
	const char *end;

	if (!ask(socket, "/roced/capture", answer))
		return ROCECTL_UNUSABLE;
	end = answer + strlen(answer);
	packets = telemetry_number(answer, end, "packets");
	missed = telemetry_number(answer, end, "missed");
	telemetry_text(answer, end, "end", why, sizeof(why));
	fprintf(stderr, "%" PRIu64 " packet%s, %" PRIu64 " missing%s%s\n", packets, packets == 1 ? "" : "s", missed,
		why[0] != '\0' ? ": " : "", why);
	return missed != 0 ? ROCECTL_FOUND_BAD : ROCECTL_OK;
}

static int run(int socket, const struct options *options, int file)
{
	const struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART: read() returns */
	int fds[2], rc;
	bool begun;

	if (pipe2(fds, O_CLOEXEC) != 0) {
		perror("rocectl: pipe");
		return ROCECTL_UNUSABLE;
	}
	(void)fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	begun = begin(socket, options, fds[1]);
	/* the daemon has its own now, so the end of that is the end of the pipe */
	close(fds[1]);
	rc = begun && copy(socket, fds[0], file) ? ROCECTL_OK : ROCECTL_UNUSABLE;
	close(fds[0]);
	return rc == ROCECTL_OK ? tell(socket) : rc;
}

int rocectl_capture(int argc, char **argv)
{
	struct options options;
	int rc = parse(argc, argv, &options), socket, file;

	if (rc != 0) {
		fputs(usage, rc == 1 ? stdout : stderr);
		return rc == 1 ? ROCECTL_OK : ROCECTL_UNUSABLE;
	}
	socket = telemetry_connect(options.socket);
	if (socket < 0)
		return ROCECTL_UNUSABLE;
	file = open_file(options.file);
	rc = file >= 0 ? run(socket, &options, file) : ROCECTL_UNUSABLE;
	if (file >= 0 && close(file) != 0) {
		perror("rocectl: close");
		rc = ROCECTL_UNUSABLE;
	}
	close(socket);
	return rc;
}
