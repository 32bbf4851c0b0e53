/* SPDX-License-Identifier: BSD-3-Clause */
/* roce-fabric: reads its arguments, starts the parts, moves packets, stops them in reverse; or asks one that runs. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_pause.h>

#include "claim.h"
#include "clock.h"
#include "guard.h"
#include "log.h"
#include "prompt.h"
#include "rf_answer.h"
#include "rf_control.h"

/* When nothing moves it spins this long and then sleeps, longer each time. */
#define SPIN_NS       30000u
#define SLEEP_MIN_NS  10000u
#define CONTROL_NS    1000000u    /* between two looks at the control socket while packets move */
#define LINK_NS       1000000000u

struct app {
	struct rf_config config;
	struct rf_net net;
	struct rf_control control;
	bool eal_started;
	int claim_fd, signal_fd;
	uint64_t idle_since_ns, sleep_ns, control_ns, link_ns;
};

struct options {
	const char *file, *socket;
	bool check, print_help, markdown;
};

static const char usage[] =
	"usage: roce-fabric FILE                       run; prints \"roce-fabric: ready\" when packets flow\n"
	"       roce-fabric FILE --check               say what is wrong in FILE and end\n"
	"       roce-fabric --control SOCKET COMMAND   say a command to one that runs, and print the answer\n"
	"       roce-fabric --print-help [--markdown]  the keys of FILE\n"
	"A leaf-spine fabric in real time between DPDK ports. SIGTERM and SIGINT end it.\n"
	"\n"
	"Commands:\n";

/* ---- moving packets ---- */

static bool signalled(const struct app *app)
{
	struct signalfd_siginfo info;

	if (read(app->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return false;
	log_line(LOG_INFO, "ending on signal %u", info.ssi_signo);
	return true;
}

static void sleep_now(struct app *app)
{
	uint64_t ns = app->sleep_ns, max_ns = (uint64_t)app->config.idle_sleep_us * 1000;
	uint64_t next_ns = rf_net_next_ns(&app->net);
	struct pollfd fds[2] = {
		{.fd = app->signal_fd, .events = POLLIN},
		{.fd = app->control.epoll_fd, .events = POLLIN},
	};
	struct timespec ts = {0};

	if (ns > max_ns)
		ns = max_ns;
	if (next_ns <= app->net.now_ns)
		return;
	if (next_ns - app->net.now_ns < ns)
		ns = next_ns - app->net.now_ns;
	ts.tv_nsec = (long)ns;
	if (ppoll(fds, 2, &ts, NULL) > 0)
		app->control_ns = 0;
	if (app->sleep_ns < max_ns)
		app->sleep_ns *= 2;
}

static void back_off(struct app *app, bool moved)
{
	if (moved) {
		app->idle_since_ns = app->net.now_ns;
		app->sleep_ns = SLEEP_MIN_NS;
	} else if (app->net.now_ns - app->idle_since_ns < SPIN_NS || app->config.idle_sleep_us == 0) {
		rte_pause();
	} else {
		sleep_now(app);
	}
}

static void run(struct app *app)
{
	app->sleep_ns = SLEEP_MIN_NS;
	for (;;) {
		back_off(app, rf_net_step(&app->net));
		if (app->net.now_ns < app->control_ns)
			continue;
		app->control_ns = app->net.now_ns + CONTROL_NS;
		if (signalled(app))
			return;
		rf_control_serve(&app->control);
		rf_net_serve(&app->net);
		if (app->net.now_ns < app->link_ns)
			continue;
		app->link_ns = app->net.now_ns + LINK_NS;
		rf_net_poll_links(&app->net);
	}
}

/* ---- start and stop ---- */

static int start_eal(struct app *app)
{
	struct eal_config eal = {
		.program = "roce-fabric",
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

static void on_command(void *arg, const char *line, size_t n, FILE *out)
{
	rf_answer(arg, line, n, out);
}

static int start_control(struct app *app)
{
	const struct config_group *group = &app->config.control.group;
	int rc = rf_control_init(&app->control, app->config.control.socket, (mode_t)app->config.control.mode,
		group->given ? (gid_t)group->gid : (gid_t)-1);

	app->control.command = on_command;
	app->control.arg = &app->net;
	if (rc != 0)
		log_line(LOG_ERR, "control socket %s: %s", app->config.control.socket, strerror(-rc));
	return rc;
}

static int start(struct app *app)
{
	int rc = claim_socket(app->config.control.socket, "roce-fabric", &app->claim_fd);

	if (rc == 0)
		rc = start_eal(app);
	if (rc == 0)
		rc = rf_net_init(&app->net, &app->config);
	if (rc == 0)
		rc = start_control(app);
	return rc;
}

static void stop(struct app *app)
{
	rf_control_fini(&app->control);
	rf_net_fini(&app->net);
	if (app->eal_started)
		rte_eal_cleanup();
	claim_release(&app->claim_fd);
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

static int serve(struct app *app)
{
	struct guard guard;
	int rc = take_signals(app);

	app->claim_fd = app->control.epoll_fd = app->control.listen_fd = -1;
	for (int i = 0; i < RF_MAX_CLIENTS; i++)
		app->control.clients[i].fd = -1;
	if (rc == 0)
		rc = guard_start(&guard);
	if (rc == 0) {
		rc = start(app);
		guard_stop(&guard);
	}
	if (rc == 0) {
		puts("roce-fabric: ready");
		fflush(stdout);
		prompt_thread();
		run(app);
	} else {
		log_line(LOG_ERR, "not started: %s", strerror(-rc));
	}
	stop(app);
	if (app->signal_fd >= 0)
		close(app->signal_fd);
	return rc == 0 ? 0 : 1;
}

/* ---- command line ---- */

static void print_usage(FILE *out)
{
	fputs(usage, out);
	rf_command_help(out, false);
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"control", required_argument, NULL, 's'}, {"check", no_argument, NULL, 'k'},
		{"print-help", no_argument, NULL, 'p'}, {"markdown", no_argument, NULL, 'm'},
		{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h' || c == '?') {
			print_usage(c == 'h' ? stdout : stderr);
			exit(c == 'h' ? 0 : 2);
		}
		if (c == 's')
			o->socket = optarg;
		o->check |= c == 'k';
		o->print_help |= c == 'p';
		o->markdown |= c == 'm';
	}
	if (o->print_help)
		return;
	if (o->socket != NULL ? optind == argc : optind + 1 != argc) {
		print_usage(stderr);
		exit(2);
	}
	o->file = argv[optind];
}

/* The words of a command may be one argument or several. */
static int ask(const char *socket, char **words, int n)
{
	char line[RF_LINE_BYTES] = "";
	int rc;

	for (int i = 0; i < n; i++) {
		size_t used = strlen(line);

		snprintf(line + used, sizeof(line) - used, "%s%s", i == 0 ? "" : " ", words[i]);
	}
	rc = strlen(line) + 1 < sizeof(line) ? rf_control_ask(socket, line, stdout) : -E2BIG;
	if (rc < 0)
		fprintf(stderr, "roce-fabric: %s: %s\n", socket, strerror(-rc));
	return rc == 0 ? 0 : 1;
}

static int load_and_serve(const struct options *o)
{
	struct app *app = calloc(1, sizeof(*app));
	unsigned n_errors;
	int status;

	if (app == NULL)
		return 1;
	n_errors = rf_config_load(o->file, &app->config, stderr);
	if (n_errors != 0)
		fprintf(stderr, "roce-fabric: %u error%s in %s\n", n_errors, n_errors == 1 ? "" : "s", o->file);
	else if (o->check)
		printf("%s: ok\n", o->file);
	status = n_errors != 0 ? 1 : o->check ? 0 : serve(app);
	free(app);
	return status;
}

int main(int argc, char **argv)
{
	struct options o = {0};

	log_name("roce-fabric");
	parse(argc, argv, &o);
	if (o.print_help) {
		rf_config_help(stdout, o.markdown);
		return 0;
	}
	return o.socket != NULL ? ask(o.socket, argv + optind, argc - optind) : load_and_serve(&o);
}
