/* SPDX-License-Identifier: BSD-3-Clause */
/* roced: reads its arguments, starts the parts in order, serves, stops them in reverse. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_eal.h>

#include "capture.h"
#include "claim.h"
#include "clock.h"
#include "fault.h"
#include "group.h"
#include "guard.h"
#include "log.h"
#include "metrics.h"
#include "net_memif.h"
#include "nodes.h"
#include "notify.h"
#include "gateway.h"
#include "protect.h"
#include "rights.h"
#include "reach.h"
#include "shape.h"
#include "telemetry.h"
#include "tuning.h"

#define DRAIN_NS 200000000u

struct options {
	const char *file;
	bool check, foreground, daemon, help_config, help_metrics, markdown;
};

static const char usage[] =
	"usage: roced -c FILE [-f | -d]     run; in the foreground (default) or as a daemon\n"
	"       roced -c FILE --check       say what is wrong in FILE and end\n"
	"       roced --print-config-help [--markdown]\n"
	"       roced --print-metrics [--markdown]\n"
	"\n"
	"  -c, --config FILE    configuration, see --print-config-help and config/\n"
	"  -f, --foreground     stay; prints \"roced: ready\" when it serves\n"
	"  -d, --daemon         go to the background; returns when it serves, with status 0, or 1\n"
	"  -k, --check          check FILE only\n"
	"  -V, --version\n"
	"  -h, --help\n"
	"\n"
	"SIGTERM and SIGINT end it, SIGUSR1 writes all counters to the log, SIGHUP has it read FILE again.\n";

/* 0: go on; 1: done; 2: wrong. */
static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'}, {"check", no_argument, NULL, 'k'},
		{"foreground", no_argument, NULL, 'f'}, {"daemon", no_argument, NULL, 'd'},
		{"print-config-help", no_argument, NULL, 'p'}, {"print-metrics", no_argument, NULL, 'M'}, {"markdown", no_argument, NULL, 'm'},
		{"version", no_argument, NULL, 'V'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "c:kfdVh", longs, NULL)) != -1) {
		if (c == 'h' || c == 'V') {
			fputs(c == 'h' ? usage : "roced " ROCED_VERSION "\n", stdout);
			return 1;
		}
		if (c == 'c')
			options->file = optarg;
		options->check |= c == 'k';
		options->foreground |= c == 'f';
		options->daemon |= c == 'd';
		options->help_config |= c == 'p';
		options->help_metrics |= c == 'M';
		options->markdown |= c == 'm';
		if (c == '?')
			return 2;
	}
	if (options->help_config || options->help_metrics)
		return 0;
	if (optind < argc || options->file == NULL || (options->foreground && options->daemon)) {
		fputs(usage, stderr);
		return 2;
	}
	return 0;
}

/* ---- what lib/verbs asks for ---- */

static void env_worker_call(void *arg, uint32_t worker, void (*fn)(void *fn_arg), void *fn_arg)
{
	struct roced *roced = arg;

	worker_call(roced->workers[worker], fn, fn_arg);
}

static struct tp *env_tp(void *arg, uint32_t worker)
{
	struct roced *roced = arg;

	return roced->workers[worker]->tp;
}

static void env_resolve(void *arg, uint32_t device, const struct wire_addr *src, const struct wire_addr *dst,
	vd_resolved_fn cb, void *cb_arg)
{
	link_resolve(arg, device, src, dst, cb, cb_arg);
}

static void *env_hold_link(void *arg, uint32_t device, uint32_t plane, const struct wire_addr *src,
	const struct wire_addr *dst)
{
	return link_hold(arg, device, plane, src, dst);
}

static void env_release_link(void *arg, void *link)
{
	link_release(arg, link);
}

static void env_send_mad(void *arg, uint32_t device, const struct wire_addr *src, const struct wire_addr *dst,
	const uint8_t mad[VD_MAD_BYTES])
{
	link_send_mad(arg, device, src, dst, mad);
}

static int env_join_group(void *arg, uint32_t device, const struct wire_addr *group)
{
	return group_join(arg, device, group);
}

static void env_leave_group(void *arg, uint32_t device, const struct wire_addr *group)
{
	group_leave(arg, device, group);
}

static int env_map_watch(void *arg, void *base, uint64_t bytes, uint64_t page_bytes, uint32_t *fault)
{
	(void)arg;
	return fault_watch(base, bytes, page_bytes, fault);
}

static void env_map_forget(void *arg, void *base)
{
	(void)arg;
	fault_forget(base);
}

static struct tp_shaper *env_channel(void *arg, uint32_t worker, const void *link, const struct tp_av *av)
{
	const struct roced *roced = arg;

	return shape_channel(roced->workers[worker], link, av);
}

static uint64_t env_now_ns(void *arg)
{
	(void)arg;
	return clock_now_ns();
}

static void env_log(void *arg, int level, const char *line)
{
	(void)arg;
	log_fields("event=verbs");
	log_line(level, "%s", line);
}

static int start_verbs(struct roced *roced)
{
	static const struct vd_env env = {env_worker_call, env_tp, env_resolve, env_hold_link, env_release_link, env_send_mad,
		env_join_group, env_leave_group, env_map_watch, env_map_forget, env_channel, env_now_ns, env_log};
	const struct config *config = &roced->config;
	struct vd_config vd_config = {
		.socket_path = config->control.socket,
		.socket_mode = (mode_t)config->control.mode,
		.socket_gid = config->control.group.given ? (gid_t)config->control.group.gid : (gid_t)-1,
		.limits = config->limits,
		.user_limits = config->user_limits,
		.n_workers = roced->n_workers,
		.n_devices = roced->n_devices,
		.devices = roced->devices,
		.seed = roced->seed,
	};
	char why[RIGHTS_TEXT_BYTES];
	int rc;

	rc = fault_start();
	if (rc != 0)
		return rc;
	if (!rights_socket(&config->control.group, why)) {
		log_line(LOG_ERR, "%s", why);
		return -EPERM;
	}
	rc = vd_create(&vd_config, &env, roced, &roced->vd);
	if (rc != 0) {
		log_line(LOG_ERR, "control socket %s: %s%s", config->control.socket, strerror(-rc),
			rc == -EADDRINUSE ? " (another roced serves it: give control.socket)" : "");
		return rc;
	}
	vd_set_multipath(roced->vd, &roced->tuning->multipath);
	for (uint32_t w = 0; w < roced->n_workers; w++)
		roced->workers[w]->vd = vd_worker(roced->vd, w);
	return 0;
}

/* ---- start and stop ---- */

static int start_workers(struct roced *roced)
{
	int rc = nodes_register();

	roced->n_workers = roced->config.n_workers;
	if (rc == 0)
		rc = controllers_init(roced);
	if (rc == 0)
		rc = gateway_init(roced);
	for (uint32_t w = 0; w < roced->n_workers && rc == 0; w++)
		rc = worker_create(roced, w);
	if (rc == 0)
		rc = protect_init(roced);
	if (rc == 0)
		gateway_find_remotes(roced);
	if (rc == 0)
		rc = start_verbs(roced);
	for (uint32_t w = 0; w < roced->n_workers && rc == 0; w++)
		rc = worker_start(roced->workers[w]);
	return rc;
}

static int start(struct roced *roced)
{
	int rc;

	if (getrandom(&roced->seed, sizeof(roced->seed), 0) != (ssize_t)sizeof(roced->seed))
		return -errno;
	roced->started_ns = clock_now_ns();
	rc = main_loop_init(roced);
	if (rc == 0)
		rc = claim_socket(roced->config.control.socket, "roced", &roced->claim_fd);
	if (rc == 0)
		rc = dpdk_start(roced);
	if (rc == 0)
		rc = dpdk_start_ports(roced);
	if (rc == 0)
		rc = link_init(roced);
	if (rc == 0)
		rc = start_workers(roced);
	if (rc != 0)
		return rc;
	rc = stall_watch_start(roced);
	if (rc == 0)
		rc = telemetry_start(roced);
	if (rc == 0)
		rc = metrics_start(roced);
	if (rc != 0)
		return rc;
	for (uint32_t d = 0; d < roced->n_devices; d++)
		vd_set_port_state(roced->vd, d, device_is_up(roced, d));
	for (uint32_t p = 0; p < roced->n_ports; p++)
		link_announce(roced, &roced->ports[p]);
	return 0;
}

static void be_quiet(void *arg)
{
	struct worker *worker = arg;

	if (worker->vd != NULL && worker->vd_asleep)
		vd_worker_sleep(worker->vd, false);
	worker->vd_asleep = false;
	atomic_store(&worker->quiet, true);
}

/* The last datagrams (disconnects) should still leave. */
static void drain(struct roced *roced)
{
	uint64_t end_ns = clock_now_ns() + DRAIN_NS;
	struct worker *worker = roced->workers[0];

	while (atomic_load(&worker->running) && !rte_ring_empty(worker->from_main) && clock_now_ns() < end_ns)
		usleep(1000);
}

static void stop(struct roced *roced)
{
	telemetry_stop();
	metrics_stop(roced);
	if (roced->vd != NULL) {
		link_cancel_all(roced);
		for (uint32_t w = 0; w < roced->n_workers; w++)
			worker_call(roced->workers[w], be_quiet, roced->workers[w]);
		vd_end_sessions(roced->vd);
	}
	stall_watch_stop(roced);
	if (roced->vd != NULL) {
		vd_destroy(roced->vd);
		drain(roced);
	}
	link_cancel_all(roced);
	for (uint32_t w = 0; w < roced->n_workers; w++)
		worker_stop(roced->workers[w]);
	capture_fini(roced);
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		if (roced->ports[p].started)
			(void)rte_eth_dev_stop(roced->ports[p].id);
		roced->ports[p].started = false;
	}
	protect_fini(roced);
	gateway_fini(roced);
	for (uint32_t w = 0; w < roced->n_workers; w++)
		worker_destroy(roced->workers[w]);
	reach_fini(roced);
	tuning_free(roced->tuning);
	link_fini(roced);
	for (uint32_t p = 0; p < roced->n_ports; p++)
		port_close(&roced->ports[p]);
	net_memif_destroy(roced->port_owner.memif);
	rte_mempool_free(roced->tx_pool);
	if (roced->eal_started)
		rte_eal_cleanup();
	claim_release(&roced->claim_fd);
	main_loop_fini(roced);
}

/* ---- the background ---- */

/* The parent waits for the child's byte and ends with its verdict. Returns in the child only, with the pipe. */
static int go_background(void)
{
	int fds[2], status;
	char byte = 1;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0) {
		close(fds[1]);
		if (read(fds[0], &byte, 1) == 1 && byte == 0)
			_exit(0);
		waitpid(pid, &status, 0);
		_exit(1);
	}
	close(fds[0]);
	setsid();
	return fds[1];
}

/* Errors up to here were for the terminal; what follows is for the system's log. The working directory stays: the
 * configuration may have relative paths, and drivers open theirs again when a peer comes back. */
static void tell_ready(struct roced *roced)
{
	int null_fd;

	if (roced->ready_fd < 0) {
		puts("roced: ready");
		fflush(stdout);
		return;
	}
	log_to_syslog();
	log_fields("event=ready");
	log_line(LOG_NOTICE, "ready");
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null_fd >= 0 && fd < 3; fd++)
		dup2(null_fd, fd);
	if (null_fd > 2)
		close(null_fd);
	if (write(roced->ready_fd, "", 1) != 1)
		log_line(LOG_WARNING, "the parent has gone");
	close(roced->ready_fd);
	roced->ready_fd = -1;
}

/* Before the first thread, so that all threads leave these signals to the signalfd. */
static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Each client takes five descriptors and more with every channel, so a few could use up the usual 1024. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int guarded_start(struct roced *roced)
{
	struct guard guard;
	int rc = guard_start(&guard);

	if (rc != 0)
		return rc;
	rc = start(roced);
	guard_stop(&guard);
	return rc;
}

static int run(struct roced *roced, bool background)
{
	int rc;

	roced->ready_fd = -1;
	roced->claim_fd = -1;
	if (background) {
		roced->ready_fd = go_background();
		if (roced->ready_fd < 0) {
			log_line(LOG_ERR, "cannot go to the background: %s", strerror(-roced->ready_fd));
			return 1;
		}
	}
	block_signals();
	raise_descriptors();
	rc = guarded_start(roced);
	if (rc == 0) {
		tell_ready(roced);
		notify_ready(roced);
		main_loop_run(roced);
		notify_stopping();
	} else {
		log_line(LOG_ERR, "not started: %s", strerror(-rc));
	}
	stop(roced);
	return rc == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct roced *roced;
	unsigned n_errors;
	int rc = parse_options(argc, argv, &options);

	if (rc != 0)
		return rc == 1 ? 0 : 2;
	log_start();
	if (options.help_config)
		config_print_help(stdout, options.markdown);
	if (options.help_metrics)
		watch_print_metrics(stdout, options.markdown);
	if (options.help_config || options.help_metrics)
		return 0;
	roced = calloc(1, sizeof(*roced));
	if (roced == NULL)
		return 1;
	roced->config_path = options.file;
	n_errors = config_load(options.file, &roced->config, log_stream());
	if (n_errors != 0)
		fprintf(log_stream(), "roced: %u error%s in %s\n", n_errors, n_errors == 1 ? "" : "s", options.file);
	else if (options.check)
		printf("%s: ok\n", options.file);
	if (n_errors == 0 && roced->config.control.log == CONFIG_LOG_FIELDS)
		log_as_fields();
	rc = n_errors != 0 ? 1 : options.check ? 0 : run(roced, options.daemon);
	free(roced);
	return rc;
}
