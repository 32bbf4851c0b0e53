/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "metrics_http.h"
#include "metrics_text.h"
#include "openmetrics.h"
#include "wire_addr.h"

#define MAX_CLIENTS 8
#define BACKLOG     16
#define TURNS       16                /* of connections, before the rest of the main thread has its own */
#define ACCEPTS     4                 /* in one turn: fewer than MAX_CLIENTS, so that those who came first are heard */
#define TIME_NS     UINT64_C(5000000000) /* of a connection */
#define FRESH_NS    UINT64_C(100000000)  /* so long a text is good enough for others who ask */
#define SEND_BYTES  262144            /* in one turn */
#define DRAIN_BYTES 65536             /* that a client may send behind its request */

enum stage { STAGE_REQUEST, STAGE_ANSWER, STAGE_DRAIN };

struct client {
	int fd;                    /* -1: free */
	enum stage stage;
	uint64_t since_ns;
	size_t n_request, n_header, sent, drained;
	struct metrics_text *body; /* NULL: none */
	char request[METRICS_HTTP_REQUEST_BYTES];
	char header[METRICS_HTTP_HEADER_BYTES];
};

struct metrics {
	struct roced *roced;
	int listen_fd, epoll_fd;
	struct metrics_text *latest;
	bool paused;               /* nobody is accepted */
	struct watch_metrics counts;
	struct client clients[MAX_CLIENTS];
};

/* ---- connections ---- */

static void close_client(struct metrics *m, struct client *client)
{
	close(client->fd);
	metrics_text_release(client->body);
	client->body = NULL;
	client->fd = -1;
	m->counts.connections--;
}

/* A free place, or that of who has been here longest: those who dawdle keep nobody out. */
static struct client *place(struct metrics *m)
{
	struct client *oldest = &m->clients[0];

	for (int i = 0; i < MAX_CLIENTS; i++) {
		if (m->clients[i].fd < 0)
			return &m->clients[i];
		if (m->clients[i].since_ns < oldest->since_ns)
			oldest = &m->clients[i];
	}
	m->counts.evicted++;
	close_client(m, oldest);
	return oldest;
}

/* Without a descriptor for one, who waits goes on waiting: the next tick looks again. */
static void pause_listening(struct metrics *m)
{
	m->paused = epoll_ctl(m->epoll_fd, EPOLL_CTL_DEL, m->listen_fd, NULL) == 0;
}

static int go_on_listening(struct metrics *m)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = m};

	m->paused = false;
	return epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, m->listen_fd, &event);
}

static void accept_clients(struct metrics *m, uint64_t now_ns)
{
	for (int i = 0; i < ACCEPTS; i++) {
		struct epoll_event event = {.events = EPOLLIN};
		int fd = accept4(m->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct client *client;

		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
				pause_listening(m);
			return;
		}
		client = place(m);
		*client = (struct client){.fd = fd, .since_ns = now_ns};
		m->counts.connections++;
		event.data.ptr = client;
		if (epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
			close_client(m, client);
	}
}

static void wait_for(struct metrics *m, struct client *client, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = client};

	(void)epoll_ctl(m->epoll_fd, EPOLL_CTL_MOD, client->fd, &event);
}

/* ---- answers ---- */

static struct metrics_text *text_now(struct metrics *m, uint64_t now_ns)
{
	if (m->latest == NULL || now_ns - m->latest->made_ns >= FRESH_NS) {
		metrics_text_release(m->latest);
		m->latest = metrics_text_make(m->roced, now_ns);
	}
	if (m->latest != NULL)
		m->latest->refs++;
	return m->latest;
}

static void begin_answer(struct metrics *m, struct client *client, int status, bool head, uint64_t now_ns)
{
	if (status == 200) {
		m->counts.scrapes++;
		client->body = text_now(m, now_ns);
	} else {
		m->counts.bad_requests++;
	}
	if (status == 200 && client->body == NULL) {
		m->counts.failures++;
		status = 503;
	}
	client->n_header =
		metrics_http_answer(client->header, status, head, OPENMETRICS_TYPE, client->body != NULL ? client->body->n : 0);
	if (head) {
		metrics_text_release(client->body);
		client->body = NULL;
	}
	client->stage = STAGE_ANSWER;
	wait_for(m, client, EPOLLOUT);
}

/* ---- stages; false: the connection is done ---- */

static bool take_request(struct metrics *m, struct client *client, uint64_t now_ns)
{
	ssize_t n = recv(client->fd, client->request + client->n_request, sizeof(client->request) - client->n_request, 0);
	bool head;
	int status;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	client->n_request += (size_t)n;
	status = metrics_http_parse(client->request, client->n_request, &head);
	if (status != 0)
		begin_answer(m, client, status, head, now_ns);
	return true;
}

static bool send_answer(struct metrics *m, struct client *client)
{
	size_t all = client->n_header + (client->body != NULL ? client->body->n : 0), n;
	const char *from = client->header + client->sent;
	ssize_t sent;

	if (client->sent < client->n_header) {
		n = client->n_header - client->sent;
	} else {
		n = all - client->sent;
		from = client->body->text + (client->sent - client->n_header);
	}
	sent = send(client->fd, from, RTE_MIN(n, (size_t)SEND_BYTES), MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	client->sent += (size_t)sent;
	if (client->sent < all)
		return true;
	/* what it still sends is read, else it might see an error in place of the answer (RFC 9112, 9.6) */
	client->stage = STAGE_DRAIN;
	if (shutdown(client->fd, SHUT_WR) != 0)
		return false;
	wait_for(m, client, EPOLLIN);
	return true;
}

static bool drain(struct client *client)
{
	char rest[4096];
	ssize_t n = recv(client->fd, rest, sizeof(rest), 0);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	client->drained += (size_t)n;
	return client->drained < DRAIN_BYTES;
}

static void serve_client(struct metrics *m, struct client *client, uint64_t now_ns)
{
	bool goes_on;

	if (client->fd < 0)
		return;
	if (client->stage == STAGE_REQUEST)
		goes_on = take_request(m, client, now_ns);
	else
		goes_on = client->stage == STAGE_ANSWER ? send_answer(m, client) : drain(client);
	if (!goes_on)
		close_client(m, client);
}

/* ---- main loop ---- */

void metrics_serve(struct roced *roced)
{
	struct metrics *m = roced->metrics;
	struct epoll_event events[TURNS];
	uint64_t now_ns = clock_now_ns();
	int n = epoll_wait(m->epoll_fd, events, TURNS, 0);
	bool some_wait = false;

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == m)
			some_wait = true;
		else
			serve_client(m, events[i].data.ptr, now_ns);
	}
	/* last, for it may give a place to another one */
	if (some_wait)
		accept_clients(m, now_ns);
}

void metrics_tick(struct roced *roced, uint64_t now_ns)
{
	struct metrics *m = roced->metrics;

	if (m == NULL)
		return;
	for (int i = 0; i < MAX_CLIENTS; i++) {
		struct client *client = &m->clients[i];

		if (client->fd < 0 || now_ns - client->since_ns < TIME_NS)
			continue;
		if (client->stage != STAGE_DRAIN)
			m->counts.timeouts++;
		close_client(m, client);
	}
	if (m->paused)
		(void)go_on_listening(m);
	if (m->latest != NULL && now_ns - m->latest->made_ns >= TIME_NS) {
		metrics_text_release(m->latest);
		m->latest = NULL;
	}
}

int metrics_fd(const struct roced *roced)
{
	return roced->metrics != NULL ? roced->metrics->epoll_fd : -1;
}

void metrics_tell(const struct metrics *m, struct watch_metrics *told)
{
	*told = m->counts;
}

/* ---- start and stop ---- */

static int listen_at(struct metrics *m, const struct config_listen *at)
{
	struct sockaddr_in6 addr = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)at->port)};
	struct sockaddr_in addr4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)at->port)};
	bool v4 = wire_addr_is_v4(&at->addr);
	const int on = 1;
	int rc;

	memcpy(&addr.sin6_addr, at->addr.b, sizeof(addr.sin6_addr));
	memcpy(&addr4.sin_addr, at->addr.b + 12, sizeof(addr4.sin_addr));
	m->listen_fd = socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (m->listen_fd < 0 || m->epoll_fd < 0 || setsockopt(m->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0)
		return -errno;
	if (!v4 && setsockopt(m->listen_fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0)
		return -errno;
	rc = v4 ? bind(m->listen_fd, (const struct sockaddr *)&addr4, sizeof(addr4)) :
		  bind(m->listen_fd, (const struct sockaddr *)&addr, sizeof(addr));
	if (rc != 0 || listen(m->listen_fd, BACKLOG) != 0 || go_on_listening(m) != 0)
		return -errno;
	return 0;
}

int metrics_start(struct roced *roced)
{
	const struct config_listen *at = &roced->config.metrics.listen;
	struct metrics *m = at->port != 0 ? calloc(1, sizeof(*m)) : NULL;
	char text[WIRE_ADDR_TEXT_BYTES];
	int rc;

	if (at->port == 0)
		return 0;
	if (m == NULL)
		return -ENOMEM;
	m->roced = roced;
	m->listen_fd = -1;
	m->epoll_fd = -1;
	for (int i = 0; i < MAX_CLIENTS; i++)
		m->clients[i].fd = -1;
	roced->metrics = m;
	rc = listen_at(m, at);
	if (rc != 0)
		log_line(LOG_ERR, "metrics.listen: %s port %u: %s", wire_addr_print(&at->addr, text), at->port, strerror(-rc));
	return rc;
}

void metrics_stop(struct roced *roced)
{
	struct metrics *m = roced->metrics;

	if (m == NULL)
		return;
	for (int i = 0; i < MAX_CLIENTS; i++) {
		if (m->clients[i].fd >= 0)
			close_client(m, &m->clients[i]);
	}
	if (m->listen_fd >= 0)
		close(m->listen_fd);
	if (m->epoll_fd >= 0)
		close(m->epoll_fd);
	metrics_text_release(m->latest);
	free(m);
	roced->metrics = NULL;
}
