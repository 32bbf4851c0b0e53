/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports and sockets: where the driver is sent instead, who is let in, whom a client dials. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "net_memif_relay.h"
#include "net_memif_socket.h"

#define MAX_EVENTS    16
#define TIMER_NS      1000000
#define MAX_SHAKING_S 10u

/* ---- events ---- */

void net_memif_watch(struct net_memif *memif, int fd, uint32_t want, uint32_t *have, uint32_t kind, uint32_t index)
{
	struct epoll_event event = {.events = want, .data.u64 = (uint64_t)index << 8 | kind};
	int op = *have == 0 ? EPOLL_CTL_ADD : want == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;

	if (want == *have)
		return;
	(void)epoll_ctl(memif->epoll_fd, op, fd, &event);
	*have = want;
}

static void set_timer(struct net_memif *memif, bool run)
{
	struct itimerspec spec = {{0, run ? TIMER_NS : 0}, {0, run ? TIMER_NS : 0}};

	if (memif->timer_runs != run)
		(void)timerfd_settime(memif->timer_fd, 0, &spec, NULL);
	memif->timer_runs = run;
}

void net_memif_timer(struct net_memif *memif)
{
	set_timer(memif, true);
}

static void listen_again(struct net_memif_socket *socket, struct net_memif *memif, bool yes)
{
	uint32_t have = yes ? 0 : EPOLLIN;

	if (socket->args.client || socket->paused != yes)
		return;
	net_memif_watch(memif, socket->listen_fd, yes ? EPOLLIN : 0, &have, NET_MEMIF_ON_SOCKET,
		(uint32_t)(socket - memif->sockets));
	socket->paused = !yes;
	if (!yes)
		net_memif_timer(memif);
}

static void on_timer(struct net_memif *memif)
{
	bool again = false;
	uint64_t times;

	if (read(memif->timer_fd, &times, sizeof(times)) < 0)
		return;
	for (uint32_t s = 0; s < memif->n_sockets; s++)
		listen_again(&memif->sockets[s], memif, true);
	for (uint32_t c = 0; c < NET_MEMIF_MAX_CONNS; c++) {
		net_memif_settle(&memif->conns[c]);
		again |= memif->conns[c].phase == NET_MEMIF_SETTLING;
	}
	set_timer(memif, again);
}

/* The driver's end first: it takes few at a time, and until then the peer waits where it is. */
static bool accept_one(struct net_memif *memif, struct net_memif_socket *socket)
{
	int driver_fd = net_memif_connect(socket->path, false), peer_fd;

	if (driver_fd < 0) {
		listen_again(socket, memif, false);
		return false;
	}
	peer_fd = net_memif_accept(socket->listen_fd);
	if (peer_fd < 0) {
		close(driver_fd);
		if (peer_fd != -EAGAIN)
			listen_again(socket, memif, false);
		return false;
	}
	return net_memif_join(memif, socket, NULL, peer_fd, driver_fd) != NULL;
}

/* Those whose peers came for a port before its last connection had ended. */
static void wake_waiting(struct net_memif *memif)
{
	while (memif->freed) {
		memif->freed = false;
		for (uint32_t c = 0; c < NET_MEMIF_MAX_CONNS; c++) {
			if (memif->conns[c].phase == NET_MEMIF_SHAKING && memif->conns[c].waits)
				net_memif_move(&memif->conns[c]);
		}
	}
}

int net_memif_fd(const struct net_memif *memif)
{
	return memif->epoll_fd;
}

void net_memif_serve(struct net_memif *memif)
{
	struct epoll_event events[MAX_EVENTS];
	int n = epoll_wait(memif->epoll_fd, events, MAX_EVENTS, 0);

	/* a connection of this number may be another by now; it is only looked at */
	for (int i = 0; i < n; i++) {
		uint32_t index = (uint32_t)(events[i].data.u64 >> 8);

		switch (events[i].data.u64 & 0xff) {
		case NET_MEMIF_ON_TIMER:
			on_timer(memif);
			break;
		case NET_MEMIF_ON_SOCKET:
			(void)accept_one(memif, &memif->sockets[index]);
			break;
		default:
			net_memif_move(&memif->conns[index]);
		}
	}
	wake_waiting(memif);
}

void net_memif_tick(struct net_memif *memif)
{
	for (uint32_t c = 0; c < NET_MEMIF_MAX_CONNS; c++) {
		struct net_memif_conn *conn = &memif->conns[c];

		if (conn->phase == NET_MEMIF_SHAKING && ++conn->age_s > MAX_SHAKING_S)
			net_memif_end(conn, "Handshake takes too long");
	}
	for (uint32_t p = 0; p < memif->n_ports; p++) {
		memif->ports[p].said = false;
		if (memif->ports[p].args.client)
			(void)net_memif_dial(&memif->ports[p]);
	}
}

/* ---- ports ---- */

bool net_memif_is_client(const struct net_memif_port *port)
{
	return port->args.client;
}

int net_memif_dial(struct net_memif_port *port)
{
	struct net_memif *memif = port->memif;
	int peer_fd, driver_fd, rc;

	if (port->conn != NULL)
		return -EISCONN;
	peer_fd = net_memif_connect(port->args.name, port->args.abstract);
	if (peer_fd < 0)
		return peer_fd;
	rc = memif->ops->start(port->arg);
	driver_fd = rc == 0 ? net_memif_accept(port->socket->listen_fd) : rc;
	if (driver_fd < 0) {
		close(peer_fd);
		return driver_fd;
	}
	return net_memif_join(memif, port->socket, port, peer_fd, driver_fd) != NULL ? 0 : -EMFILE;
}

/* Servers with the same socket share it, with the driver too, which tells them apart by their id. */
static struct net_memif_socket *find_socket(struct net_memif *memif, const struct net_memif_args *args)
{
	for (uint32_t s = 0; s < memif->n_sockets; s++) {
		const struct net_memif_args *other = &memif->sockets[s].args;

		if (!args->client && !other->client && args->abstract == other->abstract &&
			strcmp(args->name, other->name) == 0)
			return &memif->sockets[s];
	}
	return NULL;
}

/* The driver's path goes through our descriptor of the directory, so that it is short, whatever the directory's is. */
static int make_socket(struct net_memif *memif, const struct net_memif_args *args, struct net_memif_socket **out)
{
	struct net_memif_socket *socket = &memif->sockets[memif->n_sockets];
	struct net_memif_args own = {.uid = UINT32_MAX, .gid = UINT32_MAX};
	char file[sizeof(socket->file)];

	socket->args = *args;
	snprintf(file, sizeof(file), "%c%u", args->client ? 'c' : 's', memif->n_sockets);
	memcpy(socket->file, file, sizeof(file));
	snprintf(socket->path, sizeof(socket->path), "/proc/self/fd/%d/%s", memif->dir_fd, file);
	memcpy(own.name, socket->path, sizeof(socket->path));
	/* of a process that was killed, and the directory is ours */
	(void)unlinkat(memif->dir_fd, socket->file, 0);
	socket->listen_fd = net_memif_listen(args->client ? &own : args);
	if (socket->listen_fd < 0)
		return socket->listen_fd;
	memif->n_sockets++;
	socket->paused = !args->client;
	listen_again(socket, memif, true);
	*out = socket;
	return 0;
}

int net_memif_add(struct net_memif *memif, const char *device, uint32_t n_rx, uint32_t n_tx, void *arg,
	char *driver_device, size_t n, struct net_memif_port **out)
{
	struct net_memif_port *port = &memif->ports[memif->n_ports];
	int rc = 0;

	if (memif->n_ports == NET_MEMIF_MAX_PORTS || n_rx > 64 || n_tx > 64)
		return -E2BIG;
	memset(port, 0, sizeof(*port));
	if (!net_memif_args(device, &port->args))
		return -EINVAL;
	port->memif = memif;
	port->n_rx = n_rx;
	port->n_tx = n_tx;
	port->arg = arg;
	port->socket = find_socket(memif, &port->args);
	if (port->socket == NULL)
		rc = make_socket(memif, &port->args, &port->socket);
	if (rc == 0)
		rc = net_memif_redirect(device, port->socket->path, driver_device, n);
	if (rc != 0)
		return rc;
	memif->n_ports++;
	*out = port;
	return 0;
}

/* ---- making and freeing ---- */

/* Whoever could reach the driver's sockets could talk to it past us. */
static int open_dir(struct net_memif *memif)
{
	struct stat st;

	if (mkdir(memif->dir, 0700) != 0 && errno != EEXIST)
		return -errno;
	memif->dir_fd = open(memif->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (memif->dir_fd < 0 || fstat(memif->dir_fd, &st) != 0)
		return -errno;
	return st.st_uid == geteuid() && (st.st_mode & 077) == 0 ? 0 : -EPERM;
}

int net_memif_create(const char *dir, const struct net_memif_ops *ops, struct net_memif **out)
{
	struct net_memif *memif = calloc(1, sizeof(*memif));
	uint32_t have = 0;
	int rc;

	if (memif == NULL)
		return -ENOMEM;
	memif->ops = ops;
	memif->dir_fd = -1;
	memif->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	memif->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	rc = memif->epoll_fd < 0 || memif->timer_fd < 0 ? -errno : 0;
	if (rc == 0 && (size_t)snprintf(memif->dir, sizeof(memif->dir), "%s", dir) >= sizeof(memif->dir))
		rc = -ENAMETOOLONG;
	if (rc == 0)
		rc = open_dir(memif);
	if (rc != 0) {
		net_memif_destroy(memif);
		return rc;
	}
	net_memif_watch(memif, memif->timer_fd, EPOLLIN, &have, NET_MEMIF_ON_TIMER, 0);
	*out = memif;
	return 0;
}

static void close_socket(struct net_memif *memif, struct net_memif_socket *socket)
{
	close(socket->listen_fd);
	if (!socket->args.client && !socket->args.abstract)
		(void)unlink(socket->args.name);
	(void)unlinkat(memif->dir_fd, socket->file, 0);
}

void net_memif_destroy(struct net_memif *memif)
{
	if (memif == NULL)
		return;
	for (uint32_t c = 0; c < NET_MEMIF_MAX_CONNS; c++)
		net_memif_close(&memif->conns[c]);
	for (uint32_t s = 0; s < memif->n_sockets; s++)
		close_socket(memif, &memif->sockets[s]);
	if (memif->dir_fd >= 0) {
		close(memif->dir_fd);
		(void)rmdir(memif->dir);
	}
	if (memif->timer_fd >= 0)
		close(memif->timer_fd);
	if (memif->epoll_fd >= 0)
		close(memif->epoll_fd);
	free(memif);
}
