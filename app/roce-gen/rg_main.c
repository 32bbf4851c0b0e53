/* SPDX-License-Identifier: BSD-3-Clause */
/* roce-gen: reads its arguments, starts the parts, sends and receives, tells what was, stops the parts in reverse. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rte_eal.h>

#include "eal.h"
#include "guard.h"
#include "log.h"
#include "prompt.h"
#include "rg_run.h"

enum status { STATUS_OK, STATUS_NOT_STARTED, STATUS_USAGE, STATUS_NOT_CLEAN };

struct app {
	struct rg_config config;
	struct rg_run run;
	bool eal_started;
	int signal_fd;
};

struct options {
	const char *file, *role, *results;
	bool check, print_help, markdown, json;
};

static const char usage[] =
	"usage: roce-gen FILE [--role tx|rx|both] [--json] [--results FILE]\n"
	"       roce-gen --check FILE              say what is wrong in FILE and end\n"
	"       roce-gen --print-help [--markdown] the keys of FILE\n"
	"Sends and receives RoCE v2 on DPDK ports. \"roce-gen: ready\" on standard error says that it begins; SIGINT\n"
	"and SIGTERM end it. Results go to standard output, or with --results to a file; as text, with --json as JSON.\n"
	"\n"
	"  --role     another role than the file's\n"
	"\n"
	"Status: 0 done, 1 not started, 2 wrong usage, 3 the sink saw what `strict = true` does not allow.\n";

/* ---- start and stop ---- */

static int start_eal(struct app *app)
{
	struct eal_config eal = {
		.program = "roce-gen",
		.n_args = app->config.n_eal_args,
		.args = app->config.eal_args,
		.main_cpus = app->config.main_cpus,
		.n_devices = app->config.n_ports,
	};
	int rc;

	for (uint32_t p = 0; p < app->config.n_ports; p++)
		eal.devices[p] = app->config.ports[p].port.device;
	rc = eal_start(&eal);
	app->eal_started = rc == 0;
	return rc;
}

/* Before the first thread, so that all threads leave these signals to the signalfd. */
static int take_signals(struct app *app)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	app->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return app->signal_fd < 0 ? -errno : 0;
}

static int start(struct app *app)
{
	struct guard guard;
	int rc = guard_start(&guard);

	if (rc != 0)
		return rc;
	rc = start_eal(app);
	if (rc == 0)
		rc = rg_run_init(&app->run, &app->config, app->signal_fd);
	guard_stop(&guard);
	return rc == 0 ? rg_run_wait(&app->run) : rc;
}

/* The file is there before anything is sent, so that no results are lost for want of it. */
static int open_results(const struct options *o, FILE **out)
{
	*out = stdout;
	if (o->results == NULL)
		return 0;
	*out = fopen(o->results, "we");
	if (*out != NULL)
		return 0;
	log_line(LOG_ERR, "%s: %s", o->results, strerror(errno));
	return -errno;
}

static enum status tell_results(struct app *app, const struct options *o, FILE *out)
{
	struct rg_results results;

	rg_run_results(&app->run, &results);
	rg_report(&results, out, o->json);
	return !app->config.strict || rg_report_clean(&results) ? STATUS_OK : STATUS_NOT_CLEAN;
}

static enum status serve(struct app *app, const struct options *o)
{
	enum status status = STATUS_NOT_STARTED;
	FILE *out;
	int rc = open_results(o, &out);

	if (rc != 0)
		return STATUS_NOT_STARTED;
	rc = take_signals(app);
	if (rc == 0)
		rc = start(app);
	if (rc == 0) {
		fputs("roce-gen: ready\n", stderr);
		prompt_thread();
		rg_run(&app->run);
		status = tell_results(app, o, out);
	} else {
		log_line(LOG_ERR, "not started: %s", strerror(-rc));
	}
	rg_run_fini(&app->run);
	if (app->eal_started)
		rte_eal_cleanup();
	if (app->signal_fd >= 0)
		close(app->signal_fd);
	if (out != stdout && fclose(out) != 0)
		status = STATUS_NOT_STARTED;
	return status;
}

/* ---- command line ---- */

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"check", no_argument, NULL, 'k'}, {"role", required_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},
		{"results", required_argument, NULL, 'o'}, {"print-help", no_argument, NULL, 'p'},
		{"markdown", no_argument, NULL, 'm'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h' || c == '?') {
			fputs(usage, c == 'h' ? stdout : stderr);
			exit(c == 'h' ? STATUS_OK : STATUS_USAGE);
		}
		if (c == 'r')
			o->role = optarg;
		if (c == 'o')
			o->results = optarg;
		o->check |= c == 'k';
		o->print_help |= c == 'p';
		o->markdown |= c == 'm';
		o->json |= c == 'j';
	}
	if (o->print_help)
		return;
	if (optind + 1 != argc) {
		fputs(usage, stderr);
		exit(STATUS_USAGE);
	}
	o->file = argv[optind];
}

int main(int argc, char **argv)
{
	struct options o = {0};
	enum status status;
	unsigned n_errors;
	struct app *app;

	log_name("roce-gen");
	parse(argc, argv, &o);
	if (o.print_help) {
		rg_config_help(stdout, o.markdown);
		return STATUS_OK;
	}
	app = calloc(1, sizeof(*app));
	if (app == NULL)
		return STATUS_NOT_STARTED;
	app->signal_fd = -1;
	n_errors = rg_config_load(o.file, o.role, &app->config, stderr);
	if (n_errors != 0)
		fprintf(stderr, "roce-gen: %u error%s in %s\n", n_errors, n_errors == 1 ? "" : "s", o.file);
	else if (o.check)
		printf("%s: ok\n", o.file);
	status = n_errors != 0 ? STATUS_NOT_STARTED : o.check ? STATUS_OK : serve(app, &o);
	free(app);
	return (int)status;
}
