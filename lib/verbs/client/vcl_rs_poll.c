/* SPDX-License-Identifier: BSD-3-Clause */
/* rpoll() and rselect(): over sockets of ours and any other descriptors at once. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vcl_rs.h"

#define FDS_EACH 2 /* descriptors of a socket to sleep on, at most */
#define MAX_FDS  65536

struct poller {
	struct pollfd *fds; /* the caller's */
	nfds_t n;
	struct rs_sock **socks; /* referenced; NULL: any other descriptor */
	struct rs_waiter *waiters;
	struct pollfd *sleep; /* what poll() gets; the thread's own descriptor is the first */
	nfds_t n_sleep;
	bool any_sock, any_other;
	int64_t deadline_ns;
};

static short stream_events(struct rs_sock *rs)
{
	/* With bytes still to be read the end is not there yet. */
	bool over = rs->state >= RS_ENDED && rs_recv_avail(&rs->st.in) == 0;
	short ev = 0;

	if (rs->state == RS_LISTENING)
		return rs->st.requests != NULL ? POLLIN : 0;
	if (rs->state < RS_CONNECTED)
		return rs_is_connecting(rs) ? 0 : POLLOUT | POLLHUP;
	ev |= rs_readable(rs) ? POLLIN | POLLRDNORM : 0;
	ev |= rs_writable(rs) ? POLLOUT | POLLWRNORM : 0;
	ev |= rs->st.peer_done ? POLLRDHUP : 0;
	ev |= over ? POLLHUP : 0;
	ev |= over && rs->state == RS_FAILED ? POLLERR : 0;
	return ev;
}

/* What there is of the wished events; errors are always told. The caller holds the lock. */
static short events_of(struct rs_sock *rs, short wish)
{
	short ev;

	if (rs->closing)
		return POLLNVAL;
	if (rs->type == SOCK_STREAM)
		ev = stream_events(rs);
	else
		ev = (short)((rs_dgram_readable(rs) ? POLLIN | POLLRDNORM : 0) |
			     (rs_dgram_writable(rs) ? POLLOUT | POLLWRNORM : 0));
	return (short)(ev & (wish | POLLERR | POLLHUP | POLLNVAL));
}

/* ---- one look ---- */

static int look_at_sock(struct rs_sock *rs, struct pollfd *fd, bool arm)
{
	pthread_mutex_lock(&rs->lock);
	rs_process(rs, true);
	fd->revents = events_of(rs, fd->events);
	if (fd->revents == 0 && arm && rs_arm(rs)) {
		rs_process(rs, true);
		fd->revents = events_of(rs, fd->events);
	}
	pthread_mutex_unlock(&rs->lock);
	return fd->revents != 0;
}

/* Numbers that are ready, or a negative errno. */
static int look(struct poller *p, bool arm)
{
	int ready = 0, rc = 0;
	struct pollfd one;
	nfds_t i;

	for (i = 0; i < p->n; i++) {
		p->fds[i].revents = 0;
		if (p->socks[i] != NULL) {
			ready += look_at_sock(p->socks[i], &p->fds[i], arm);
			continue;
		}
		one = p->fds[i];
		rc = one.fd >= 0 ? poll(&one, 1, 0) : 0;
		if (rc < 0 && errno != EINTR)
			return -errno;
		p->fds[i].revents = rc > 0 ? one.revents : 0;
		ready += rc > 0;
	}
	return ready;
}

/* ---- sleep ---- */

static void enter(struct poller *p, int event_fd)
{
	nfds_t i;

	p->sleep[0] = (struct pollfd){.fd = event_fd, .events = POLLIN};
	p->n_sleep = 1;
	for (i = 0; i < p->n; i++) {
		if (p->socks[i] == NULL) {
			p->sleep[p->n_sleep++] = p->fds[i];
			continue;
		}
		pthread_mutex_lock(&p->socks[i]->lock);
		p->waiters[i].event_fd = event_fd;
		rs_waiter_add(p->socks[i], &p->waiters[i]);
		p->n_sleep += (nfds_t)rs_fds(p->socks[i], &p->sleep[p->n_sleep]);
		pthread_mutex_unlock(&p->socks[i]->lock);
	}
}

static void leave(struct poller *p)
{
	nfds_t i;

	for (i = 0; i < p->n; i++) {
		if (p->socks[i] == NULL)
			continue;
		pthread_mutex_lock(&p->socks[i]->lock);
		rs_waiter_remove(p->socks[i], &p->waiters[i]);
		rs_disarm(p->socks[i]);
		rs_keepalive(p->socks[i]);
		pthread_mutex_unlock(&p->socks[i]->lock);
	}
}

static int64_t wake_ns(const struct poller *p)
{
	int64_t until = p->deadline_ns, due;
	nfds_t i;

	for (i = 0; i < p->n; i++) {
		if (p->socks[i] == NULL)
			continue;
		pthread_mutex_lock(&p->socks[i]->lock);
		due = rs_keepalive_due_ns(p->socks[i]);
		pthread_mutex_unlock(&p->socks[i]->lock);
		until = due < until ? due : until;
	}
	return until;
}

static int sleep_in(struct poller *p)
{
	int event_fd = rs_thread_event(), rc, err;
	struct timespec t, *timeout = NULL;
	int64_t until = wake_ns(p), left;
	uint64_t count;

	if (event_fd < 0)
		return event_fd;
	if (until != RS_NEVER) {
		left = until - rs_now_ns();
		left = left > 0 ? left : 0;
		t = (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
		timeout = &t;
	}
	enter(p, event_fd);
	rc = ppoll(p->sleep, p->n_sleep, timeout, NULL);
	err = rc < 0 ? -errno : 0;
	if (rc > 0 && p->sleep[0].revents != 0)
		(void)!read(event_fd, &count, sizeof(count));
	leave(p);
	return err;
}

/* ---- the calls ---- */

static int prepare(struct poller *p)
{
	nfds_t i;

	p->socks = calloc(p->n + 1, sizeof(*p->socks));
	p->waiters = calloc(p->n + 1, sizeof(*p->waiters));
	p->sleep = calloc(p->n * FDS_EACH + 1, sizeof(*p->sleep));
	if (p->socks == NULL || p->waiters == NULL || p->sleep == NULL)
		return -ENOMEM;
	for (i = 0; i < p->n; i++) {
		p->socks[i] = rs_get(p->fds[i].fd);
		p->any_sock = p->any_sock || p->socks[i] != NULL;
	}
	return 0;
}

static void release(struct poller *p)
{
	nfds_t i;

	for (i = 0; p->socks != NULL && i < p->n; i++)
		if (p->socks[i] != NULL)
			rs_put(p->socks[i]);
	free(p->socks);
	free(p->waiters);
	free(p->sleep);
}

static int run(struct poller *p)
{
	int rc = look(p, false), err;

	while (rc == 0 && (p->deadline_ns == RS_NEVER || rs_now_ns() < p->deadline_ns)) {
		rc = look(p, true);
		if (rc != 0)
			break;
		err = sleep_in(p);
		if (err != 0)
			return err;
		rc = look(p, false);
	}
	return rc;
}

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	struct poller p = {.fds = fds, .n = nfds, .deadline_ns = RS_NEVER};
	int rc;

	if (nfds > MAX_FDS)
		return (int)rs_result(-EINVAL);
	if (timeout >= 0)
		p.deadline_ns = rs_now_ns() + timeout * 1000000ll;
	rc = prepare(&p);
	if (rc == 0)
		rc = p.any_sock ? run(&p) : poll(fds, nfds, timeout) >= 0 ? 0 : -errno;
	if (rc == 0 && !p.any_sock)
		for (nfds_t i = 0; i < nfds; i++)
			rc += fds[i].revents != 0;
	release(&p);
	return (int)rs_result(rc);
}

static bool in_set(int fd, const fd_set *set)
{
	return set != NULL && FD_ISSET(fd, set);
}

/* What the sets ask for. Number of descriptors. */
static nfds_t from_sets(int nfds, const fd_set *r, const fd_set *w, const fd_set *e, struct pollfd *fds)
{
	nfds_t n = 0;
	short ev;
	int fd;

	for (fd = 0; fd < nfds; fd++) {
		ev = (short)((in_set(fd, r) ? POLLIN : 0) | (in_set(fd, w) ? POLLOUT : 0) |
			     (in_set(fd, e) ? POLLPRI : 0));
		if (ev != 0)
			fds[n++] = (struct pollfd){.fd = fd, .events = ev};
	}
	return n;
}

static int keep(int fd, fd_set *set, bool is_ready)
{
	if (set == NULL || !FD_ISSET(fd, set))
		return 0;
	if (!is_ready)
		FD_CLR(fd, set);
	return is_ready;
}

int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout)
{
	int timeout_ms = -1, rc, bits = 0;
	struct pollfd fds[FD_SETSIZE];
	nfds_t i, n;
	short got;

	if (nfds < 0 || nfds > FD_SETSIZE || (timeout != NULL && (timeout->tv_sec < 0 || timeout->tv_usec < 0)))
		return (int)rs_result(-EINVAL);
	if (timeout != NULL)
		timeout_ms = timeout->tv_sec < INT32_MAX / 1000 - 1
				     ? (int)(timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000)
				     : INT32_MAX;
	n = from_sets(nfds, readfds, writefds, exceptfds, fds);
	rc = rpoll(fds, n, timeout_ms);
	if (rc < 0)
		return rc;
	for (i = 0; i < n; i++) {
		got = fds[i].revents;
		bits += keep(fds[i].fd, readfds, (got & (POLLIN | POLLHUP | POLLERR)) != 0);
		bits += keep(fds[i].fd, writefds, (got & (POLLOUT | POLLERR)) != 0);
		bits += keep(fds[i].fd, exceptfds, (got & POLLPRI) != 0);
	}
	return bits;
}
