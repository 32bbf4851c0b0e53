/* SPDX-License-Identifier: BSD-3-Clause */
/* The main thread: clients, timers, packets from the workers, signals, links. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"
#include "gateway.h"
#include "group.h"
#include "log.h"
#include "metrics.h"
#include "net_memif.h"
#include "notify.h"
#include "protect.h"
#include "reload.h"
#include "roced.h"
#include "telemetry.h"
#include "worker.h"

#define LINK_POLL_NS  NOTIFY_TICK_NS
#define MAX_EVENTS    8

int main_loop_init(struct roced *roced)
{
	sigset_t set;
	int fds[2];

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGHUP);
	roced->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	roced->punt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	roced->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (roced->signal_fd < 0 || roced->punt_fd < 0 || roced->epoll_fd < 0)
		return -errno;
	fds[0] = roced->signal_fd;
	fds[1] = roced->punt_fd;
	for (int i = 0; i < 2; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[i]};

		if (epoll_ctl(roced->epoll_fd, EPOLL_CTL_ADD, fds[i], &event) != 0)
			return -errno;
	}
	return 0;
}

void main_loop_fini(struct roced *roced)
{
	if (roced->signal_fd >= 0)
		close(roced->signal_fd);
	if (roced->punt_fd >= 0)
		close(roced->punt_fd);
	if (roced->epoll_fd >= 0)
		close(roced->epoll_fd);
}

/* True when it is time to end. */
static bool take_signals(struct roced *roced)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (read(roced->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGUSR1) {
			log_unlimited(true);
			dump_counters(roced);
			log_unlimited(false);
		} else if (info.ssi_signo == SIGHUP) {
			notify_reloading();
			reload_by_signal(roced);
			notify_ready(roced);
		} else {
			log_fields("event=end signal=%u", info.ssi_signo);
			log_line(LOG_INFO, "ending on signal %u", info.ssi_signo);
			end = true;
		}
	}
	return end;
}

void main_loop_follow_link(struct roced *roced, struct port *port)
{
	if (!port_poll_link(port))
		return;
	log_fields("event=link port=%s up=%d", port->config->name, port->up);
	log_line(LOG_NOTICE, "port \"%s\" is %s", port->config->name, port->up ? "up" : "down");
	if (port->up)
		link_announce(roced, port);
	for (uint32_t d = 0; d < roced->n_devices; d++)
		vd_set_port_state(roced->vd, d, device_is_up(roced, d));
}

static void poll_links(struct roced *roced)
{
	for (uint32_t p = 0; p < roced->n_ports; p++)
		main_loop_follow_link(roced, &roced->ports[p]);
	if (roced->port_owner.memif != NULL)
		net_memif_tick(roced->port_owner.memif);
}

/* Each worker's count is read as it is. */
static void tell_unagreed(struct roced *roced)
{
	for (uint32_t w = 0; w < roced->n_workers && !roced->told_unagreed; w++) {
		if (tp_counters(roced->workers[w]->tp)->unagreed == 0)
			continue;
		log_line(LOG_WARNING,
			"a peer uses several paths and its queue pair here does not, or the other way round: compare"
			" multipath.peers of both daemons; not told again, SIGUSR1 shows how often (unagreed)");
		roced->told_unagreed = true;
	}
}

static int timeout_ms(const struct roced *roced, uint64_t now_ns, uint64_t due_ns)
{
	uint64_t ns = vd_timeout_ns(roced->vd), wait_ns = due_ns > now_ns ? due_ns - now_ns : 0;

	if (ns < wait_ns)
		wait_ns = ns;
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		uint64_t next_ns = path_neigh_next_ns(roced->ports[p].neigh);

		ns = next_ns > now_ns ? next_ns - now_ns : 0;
		if (ns < wait_ns)
			wait_ns = ns;
	}
	return (int)((wait_ns + 999999) / 1000000);
}

static bool serve_events(struct roced *roced, const struct epoll_event *events, int n)
{
	bool end = false;
	eventfd_t count;

	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == roced->signal_fd) {
			end |= take_signals(roced);
		} else if (events[i].data.fd == roced->punt_fd) {
			eventfd_read(roced->punt_fd, &count);
			punt_handle_all(roced);
		} else if (events[i].data.fd == stall_watch_fd(roced)) {
			stall_watch_serve(roced);
		} else if (roced->port_owner.memif != NULL && events[i].data.fd == net_memif_fd(roced->port_owner.memif)) {
			net_memif_serve(roced->port_owner.memif);
		} else if (events[i].data.fd == metrics_fd(roced)) {
			metrics_serve(roced);
		} else if (events[i].data.fd == telemetry_fd()) {
			telemetry_serve(roced);
		} else if (capture_is_pipe(roced, events[i].data.fd)) {
			capture_reader_gone(roced);
		} else if (!punt_handle_copies(roced, events[i].data.fd)) {
			vd_dispatch(roced->vd);
		}
	}
	return end;
}

static int add_fd(const struct roced *roced, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(roced->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int add_copies(const struct roced *roced)
{
	int rc = 0;

	for (uint32_t p = 0; p < roced->n_ports && rc == 0; p++) {
		if (roced->ports[p].xdp != NULL)
			rc = add_fd(roced, xdp_roce_fd(roced->ports[p].xdp));
	}
	return rc;
}

void main_loop_run(struct roced *roced)
{
	struct epoll_event events[MAX_EVENTS];
	uint64_t now_ns = clock_now_ns(), link_ns = now_ns + LINK_POLL_NS, due_ns = link_ns;
	bool end = false;

	if (add_fd(roced, vd_fd(roced->vd)) != 0 || add_fd(roced, stall_watch_fd(roced)) != 0 ||
		(roced->port_owner.memif != NULL && add_fd(roced, net_memif_fd(roced->port_owner.memif)) != 0) ||
		(telemetry_fd() >= 0 && add_fd(roced, telemetry_fd()) != 0) ||
		(metrics_fd(roced) >= 0 && add_fd(roced, metrics_fd(roced)) != 0) || add_copies(roced) != 0) {
		log_line(LOG_ERR, "epoll: %s", strerror(errno));
		return;
	}
	while (!end) {
		int n = epoll_wait(roced->epoll_fd, events, MAX_EVENTS, timeout_ms(roced, now_ns, due_ns));

		if (n > 0)
			end = serve_events(roced, events, n);
		now_ns = clock_now_ns();
		for (uint32_t p = 0; p < roced->n_ports; p++)
			path_neigh_advance(roced->ports[p].neigh, now_ns);
		vd_advance(roced->vd);
		due_ns = RTE_MIN(protect_tick(roced, now_ns), capture_tick(roced, now_ns));
		if (now_ns >= link_ns) {
			poll_links(roced);
			tell_unagreed(roced);
			group_advance(roced, now_ns);
			gateway_watch(roced, now_ns);
			notify_tick(roced);
			metrics_tick(roced, now_ns);
			link_ns = now_ns + LINK_POLL_NS;
		}
		due_ns = RTE_MIN(due_ns, link_ns);
	}
	epoll_ctl(roced->epoll_fd, EPOLL_CTL_DEL, vd_fd(roced->vd), NULL);
}
