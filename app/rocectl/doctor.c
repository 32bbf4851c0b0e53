/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl doctor: gathers facts, has them checked, and prints what was found. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "rocectl.h"
#include "telemetry.h"
#include "wire_addr.h"

#define SAMPLE_MS    500
#define DEFAULT_FILE "/etc/roced/roced.cfg"

static const char usage[] =
	"usage: rocectl doctor [-c FILE] [--json] [--socket PATH] [ADDRESS...]\n"
	"\n"
	"Looks for what is wrong here: in the configuration, the daemon, its interfaces, CPUs and memory, and on the "
	"way to peers. Each finding\n"
	"says what was seen, why it matters and what to do. ADDRESS...: hosts that should be reached; those that queue "
	"pairs here talk to are tried\n"
	"too. The daemon asks for their link addresses and sends them six echo requests. docs/doctor.md has the "
	"checks.\n"
	"\n"
	"  -c, --config FILE    configuration; default: that of the daemon that answers, else " DEFAULT_FILE "\n"
	"  -j, --json           one JSON object\n"
	"  -s, --socket PATH    DPDK's telemetry socket; default: the one that is found\n"
	"  -h, --help           this text\n"
	"\n"
	"Exit status: 0: nothing, or notes only; 1: warnings; 3: problems; 2: bad usage, or neither a configuration "
	"nor a daemon.\n";

struct options {
	bool json;
	const char *file, *socket;
};

static const char *const severities[] = {
	[DOCTOR_NOTE] = "note", [DOCTOR_WARNING] = "warning", [DOCTOR_PROBLEM] = "problem"};

/* 0: go on; 1: help is wanted; -1: bad usage. */
static int parse(int argc, char **argv, struct options *options, struct doctor_facts *facts)
{
	static const struct option longs[] = {{"config", required_argument, NULL, 'c'},
		{"json", no_argument, NULL, 'j'}, {"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "c:js:h", longs, NULL)) != -1) {
		if (c == 'h')
			return 1;
		if (c == '?')
			return -1;
		options->json |= c == 'j';
		if (c == 'c')
			options->file = optarg;
		if (c == 's')
			options->socket = optarg;
	}
	for (; optind < argc && facts->n_hosts < DOCTOR_MAX_HOSTS; optind++) {
		struct doctor_host *host = &facts->hosts[facts->n_hosts++];

		host->named = true;
		snprintf(host->address, sizeof(host->address), "%s", argv[optind]);
		if (!wire_addr_read(argv[optind], &host->addr)) {
			fprintf(stderr, "rocectl: \"%s\" is no IP address\n", argv[optind]);
			return -1;
		}
	}
	if (optind == argc)
		return 0;
	fprintf(stderr, "rocectl: %d addresses at most\n", DOCTOR_MAX_HOSTS);
	return -1;
}

/* ---- facts ---- */

/* Whether it was started with that file. */
static bool runs_with(long pid, const char *file)
{
	char own[CONFIG_TEXT_BYTES];
	struct stat a, b;

	return pid != 0 && doctor_find_file(pid, own, sizeof(own)) && stat(own, &a) == 0 && stat(file, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Who names a file, and no socket, means the daemon of that file and no other. */
static int connect_to(const char *file)
{
	static char paths[TELEMETRY_DAEMONS][TELEMETRY_PATH_BYTES];
	size_t n = telemetry_list(paths, TELEMETRY_DAEMONS);

	for (size_t i = 0; i < n; i++) {
		int fd = telemetry_open(paths[i]);

		if (fd >= 0 && runs_with(doctor_find_pid(fd), file))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ENOENT;
}

/* -ENOENT: none answers, which is not told, for a doctor works without a daemon. Other errors were told. */
static int connect_daemon(const struct options *options)
{
	char found[TELEMETRY_PATH_BYTES];
	int rc;

	if (options->socket != NULL)
		return telemetry_connect(options->socket);
	if (options->file != NULL)
		return connect_to(options->file);
	rc = telemetry_find(found);
	return rc == 0 ? telemetry_open(found) : rc;
}

static void load(struct doctor_facts *facts)
{
	static struct config config;
	char *errors = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&errors, &n);

	if (f == NULL)
		return;
	facts->config_errors = config_load(facts->file, &config, f);
	fclose(f);
	if (facts->config_errors == 0)
		facts->config = &config;
	else
		snprintf(facts->config_error, sizeof(facts->config_error), "%.*s", (int)strcspn(errors, "\n"), errors);
	free(errors);
}

static void find_file(const char *wanted, struct doctor_facts *facts)
{
	if (wanted != NULL)
		snprintf(facts->file, sizeof(facts->file), "%s", wanted);
	else if ((facts->pid == 0 || !doctor_find_file(facts->pid, facts->file, sizeof(facts->file))))
		snprintf(facts->file, sizeof(facts->file), "%s", access(DEFAULT_FILE, F_OK) == 0 ? DEFAULT_FILE : "");
	if (facts->file[0] != '\0')
		load(facts);
}

/* ---- printing ---- */

/* Findings of a kind stay in the order of the checks. */
static void sort(struct doctor_report *report)
{
	static struct doctor_finding sorted[DOCTOR_MAX_FINDINGS];
	uint32_t n = 0;

	for (int severity = DOCTOR_PROBLEM; severity >= DOCTOR_NOTE; severity--) {
		for (uint32_t i = 0; i < report->n; i++) {
			if ((int)report->findings[i].severity == severity)
				sorted[n++] = report->findings[i];
		}
	}
	memcpy(report->findings, sorted, n * sizeof(sorted[0]));
}

static int worst_of(const struct doctor_report *report, const char *check)
{
	int worst = -1;

	for (uint32_t i = 0; i < report->n; i++) {
		if ((check == NULL || !strcmp(report->findings[i].check, check)) &&
			(int)report->findings[i].severity > worst)
			worst = (int)report->findings[i].severity;
	}
	return worst;
}

static void print_json_text(const char *name, const char *text, bool last)
{
	printf("\"%s\":\"", name);
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			printf("\\%c", *c);
		else if ((unsigned char)*c < 0x20)
			printf("\\u%04x", (unsigned)*c);
		else
			putchar(*c);
	}
	printf("\"%s", last ? "" : ",");
}

static const char *result_of(
	const struct doctor_facts *facts, const struct doctor_report *report, const struct doctor_check *check)
{
	int worst = worst_of(report, check->name);

	if ((check->needs & ~doctor_has(facts)) != 0)
		return "not_checked";
	return worst < 0 ? "ok" : severities[worst];
}

static void print_json(const struct doctor_facts *facts, const struct doctor_report *report)
{
	int worst = worst_of(report, NULL);

	putchar('{');
	print_json_text("config", facts->file, false);
	printf("\"daemon\":%s,\"pid\":%ld,", facts->daemon ? "true" : "false", facts->pid);
	print_json_text("worst", worst < 0 ? "ok" : severities[worst], false);
	printf("\"left_out\":%u,\"checks\":{", report->left_out);
	for (size_t i = 0; i < doctor_n_checks; i++)
		print_json_text(
			doctor_checks[i].name, result_of(facts, report, &doctor_checks[i]), i + 1 == doctor_n_checks);
	fputs("},\"findings\":[", stdout);
	for (uint32_t i = 0; i < report->n; i++) {
		const struct doctor_finding *finding = &report->findings[i];

		fputs(i != 0 ? ",{" : "{", stdout);
		print_json_text("check", finding->check, false);
		print_json_text("severity", severities[finding->severity], false);
		print_json_text("subject", finding->subject, false);
		print_json_text("saw", finding->saw, false);
		print_json_text("why", finding->why, false);
		print_json_text("do", finding->todo, true);
		putchar('}');
	}
	puts("]}");
}

static void print_checks(const struct doctor_facts *facts, const struct doctor_report *report, const char *result,
	const char *head, const char *tail)
{
	unsigned n = 0;

	for (size_t i = 0; i < doctor_n_checks; i++) {
		if (!strcmp(result_of(facts, report, &doctor_checks[i]), result))
			printf("%s%s", n++ == 0 ? head : ", ", doctor_checks[i].name);
	}
	if (n != 0)
		puts(tail);
}

static void print_text(const struct doctor_facts *facts, const struct doctor_report *report)
{
	unsigned count[3] = {0};

	for (uint32_t i = 0; i < report->n; i++) {
		const struct doctor_finding *finding = &report->findings[i];

		count[finding->severity]++;
		printf("%-8s %s: %s: %s\n    why: %s\n    do:  %s\n", severities[finding->severity], finding->check,
			finding->subject, finding->saw, finding->why, finding->todo);
	}
	for (uint32_t i = 0; i < facts->n_hosts; i++) {
		const struct doctor_host *host = &facts->hosts[i];

		if (host->long_answered != 0)
			printf("reached  %s by %s, port %s, packets of %lu bytes too, %.1f us\n", host->address,
				host->device, host->port, (unsigned long)host->long_bytes, (double)host->rtt_ns / 1000);
	}
	print_checks(facts, report, "ok", "ok:      ", "");
	print_checks(facts, report, "not_checked", "not checked: ",
		facts->config == NULL ? facts->daemon ? " (no configuration)" : " (no configuration, no daemon)"
				      : " (no daemon answers)");
	if (report->left_out != 0)
		printf("%u more findings are left out\n", report->left_out);
	printf("%u problem%s, %u warning%s, %u note%s\n", count[DOCTOR_PROBLEM], count[DOCTOR_PROBLEM] == 1 ? "" : "s",
		count[DOCTOR_WARNING], count[DOCTOR_WARNING] == 1 ? "" : "s", count[DOCTOR_NOTE],
		count[DOCTOR_NOTE] == 1 ? "" : "s");
}

int rocectl_doctor(int argc, char **argv)
{
	static struct doctor_facts facts;
	static struct doctor_report report;
	struct options options = {0};
	int rc = parse(argc, argv, &options, &facts), fd, worst;

	if (rc != 0) {
		fputs(usage, rc == 1 ? stdout : stderr);
		return rc == 1 ? ROCECTL_OK : ROCECTL_UNUSABLE;
	}
	fd = connect_daemon(&options);
	if (fd < 0 && (options.socket != NULL || fd == -EEXIST))
		return ROCECTL_UNUSABLE;
	facts.pid = fd >= 0 ? doctor_find_pid(fd) : 0;
	find_file(options.file, &facts);
	if (fd < 0 && facts.file[0] == '\0') {
		fputs("rocectl: neither a daemon answers nor is there " DEFAULT_FILE
		      "; give -c FILE, or --socket PATH\n",
			stderr);
		return ROCECTL_UNUSABLE;
	}
	if (fd >= 0) {
		doctor_ask(fd, &facts);
		close(fd);
	}
	doctor_look(&facts, SAMPLE_MS);
	doctor_run(&facts, &report);
	sort(&report);
	if (options.json)
		print_json(&facts, &report);
	else
		print_text(&facts, &report);
	worst = worst_of(&report, NULL);
	return worst == DOCTOR_PROBLEM   ? ROCECTL_FOUND_PROBLEM
	       : worst == DOCTOR_WARNING ? ROCECTL_FOUND_BAD
					 : ROCECTL_OK;
}
