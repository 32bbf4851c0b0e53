/* SPDX-License-Identifier: BSD-3-Clause */
#include "rf_control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64

/* ---- clients ---- */

static void close_client(struct rf_client *client)
{
	close(client->fd);
	free(client->answer);
	*client = (struct rf_client){.fd = -1};
}

static void watch(struct rf_control *control, struct rf_client *client)
{
	struct epoll_event event = {.events = client->answer != NULL ? EPOLLOUT : EPOLLIN, .data.ptr = client};

	if (epoll_ctl(control->epoll_fd, EPOLL_CTL_MOD, client->fd, &event) != 0)
		close_client(client);
}

/* A free place, or that of the client that has been silent for longest. */
static struct rf_client *place_for_client(struct rf_control *control)
{
	struct rf_client *at = &control->clients[0];

	for (int i = 0; i < RF_MAX_CLIENTS; i++) {
		if (control->clients[i].fd < 0)
			return &control->clients[i];
		if (control->clients[i].order < at->order)
			at = &control->clients[i];
	}
	close_client(at);
	return at;
}

static void add_client(struct rf_control *control, int fd)
{
	struct rf_client *client = place_for_client(control);
	struct epoll_event event = {.events = EPOLLIN};

	event.data.ptr = client;
	client->fd = fd;
	client->order = ++control->n_commands;
	if (epoll_ctl(control->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		close_client(client);
}

static void accept_clients(struct rf_control *control)
{
	for (int i = 0; i < RF_MAX_CLIENTS; i++) {
		int fd = accept4(control->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		add_client(control, fd);
	}
}

/* ---- lines ---- */

static void carry_out(struct rf_control *control, struct rf_client *client, size_t n)
{
	FILE *out = open_memstream(&client->answer, &client->answer_bytes);

	client->order = ++control->n_commands;
	client->written = 0;
	if (out != NULL) {
		control->command(control->arg, client->line, n, out);
		if (fclose(out) == 0)
			return;
	}
	free(client->answer);
	client->answer = NULL;
	client->ended = true;
}

static void refuse_line(struct rf_client *client)
{
	int n = asprintf(&client->answer, "{\"ok\":false,\"error\":\"the line is too long, must be %d bytes at most\"}\n",
		RF_LINE_BYTES - 1);

	if (n < 0)
		client->answer = NULL;
	client->answer_bytes = n < 0 ? 0 : (size_t)n;
	client->written = 0;
}

/* Bytes of the first line and its end; 0: it is not whole yet. */
static size_t whole_line(const struct rf_client *client)
{
	const char *end = memchr(client->line, '\n', client->n);

	return end != NULL ? (size_t)(end - client->line) + 1 : 0;
}

/* Whether there was a command: the next whole line, or what is left when nothing more comes. */
static bool next_command(struct rf_control *control, struct rf_client *client)
{
	size_t used = whole_line(client);

	if (used != 0) {
		carry_out(control, client, used - 1);
	} else if (client->ended && client->n != 0) {
		used = client->n;
		carry_out(control, client, used);
	} else if (client->n == sizeof(client->line)) {
		refuse_line(client);
		client->ended = true;
		used = client->n;
	} else {
		return false;
	}
	client->n -= used;
	memmove(client->line, client->line + used, client->n);
	return true;
}

static void read_some(struct rf_client *client)
{
	ssize_t n = read(client->fd, client->line + client->n, sizeof(client->line) - client->n);

	if (n > 0)
		client->n += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		client->ended = true;
}

static void write_some(struct rf_client *client)
{
	size_t left = client->answer_bytes - client->written;
	ssize_t n = send(client->fd, client->answer + client->written, left, MSG_NOSIGNAL);

	if (n >= 0) {
		client->written += (size_t)n;
	} else if (errno != EAGAIN && errno != EINTR) {
		/* it has gone, and asks nothing more */
		client->written = client->answer_bytes;
		client->ended = true;
		client->n = 0;
	}
	if (client->written < client->answer_bytes)
		return;
	free(client->answer);
	client->answer = NULL;
}

/* One command and its answer at a time, so that no client keeps the others, or the packets, waiting. */
static void serve_client(struct rf_control *control, struct rf_client *client, uint32_t events)
{
	if (client->answer == NULL && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		read_some(client);
	if (client->answer == NULL)
		(void)next_command(control, client);
	if (client->answer != NULL)
		write_some(client);
	/* what came with the last command waits for its turn as something to be written */
	if (client->answer == NULL && whole_line(client) != 0)
		(void)next_command(control, client);
	if (client->answer == NULL && client->ended && client->n == 0)
		close_client(client);
	else
		watch(control, client);
}

void rf_control_serve(struct rf_control *control)
{
	struct epoll_event events[RF_MAX_CLIENTS + 1];
	int n = epoll_wait(control->epoll_fd, events, RF_MAX_CLIENTS + 1, 0);
	bool asked = false;

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == NULL)
			asked = true;
		else
			serve_client(control, events[i].data.ptr, events[i].events);
	}
	/* last, since they may take the places of those that were served */
	if (asked)
		accept_clients(control);
}

/* ---- life ---- */

static int make_addr(const char *path, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	memcpy(addr->sun_path, path, strlen(path) + 1);
	return 0;
}

/* Whether somebody answers there; if not, the socket that a dead process left is removed. Other files refuse
 * connections too. */
static int remove_stale(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, rc = 0;

	if (lstat(addr->sun_path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 || errno == EAGAIN || errno == EPROTOTYPE)
		rc = -EADDRINUSE;
	else if (errno == ECONNREFUSED && unlink(addr->sun_path) != 0)
		rc = -errno;
	close(fd);
	return rc;
}

static int listen_at(struct rf_control *control, mode_t mode, gid_t gid)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct sockaddr_un addr;
	int rc = make_addr(control->path, &addr);

	if (rc == 0)
		rc = remove_stale(&addr);
	if (rc != 0)
		return rc;
	control->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	control->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	/* Made for nobody: its group and mode are right before it is for anybody. */
	if (control->listen_fd < 0 || control->epoll_fd < 0 || fchmod(control->listen_fd, 0) != 0 ||
		bind(control->listen_fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0)
		return -errno;
	control->made = true;
	if ((gid != (gid_t)-1 && chown(control->path, (uid_t)-1, gid) != 0) || chmod(control->path, mode) != 0 ||
		listen(control->listen_fd, BACKLOG) != 0 ||
		epoll_ctl(control->epoll_fd, EPOLL_CTL_ADD, control->listen_fd, &event) != 0)
		return -errno;
	return 0;
}

int rf_control_init(struct rf_control *control, const char *path, mode_t mode, gid_t gid)
{
	control->listen_fd = control->epoll_fd = -1;
	control->made = false;
	for (int i = 0; i < RF_MAX_CLIENTS; i++)
		control->clients[i] = (struct rf_client){.fd = -1};
	snprintf(control->path, sizeof(control->path), "%s", path);
	return listen_at(control, mode, gid);
}

void rf_control_fini(struct rf_control *control)
{
	for (int i = 0; i < RF_MAX_CLIENTS; i++) {
		if (control->clients[i].fd >= 0)
			close_client(&control->clients[i]);
	}
	if (control->listen_fd >= 0)
		close(control->listen_fd);
	if (control->epoll_fd >= 0)
		close(control->epoll_fd);
	if (control->made)
		(void)unlink(control->path);
	control->made = false;
}
