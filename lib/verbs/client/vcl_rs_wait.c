/* SPDX-License-Identifier: BSD-3-Clause */
/* How threads wait for a socket, and how one that moves it wakes the others. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "vcl_rs.h"

#define NS_PER_MS  1000000
#define IDLE_LOOKS 64 /* looks without result between two at the connection manager */

int64_t rs_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* ---- a thread's own eventfd ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static __thread int thread_fd = -1;

/* Closed when the thread ends. */
static void close_thread_fd(void *plus_one)
{
	close((int)(intptr_t)plus_one - 1);
}

/* A child shares no wake-ups with its parent. */
static void forked(void)
{
	if (thread_fd >= 0)
		close(thread_fd);
	thread_fd = -1;
	(void)pthread_setspecific(key, NULL);
}

static void make_key(void)
{
	(void)pthread_key_create(&key, close_thread_fd);
	(void)pthread_atfork(NULL, NULL, forked);
}

int rs_thread_event(void)
{
	if (thread_fd >= 0)
		return thread_fd;
	pthread_once(&once, make_key);
	thread_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (thread_fd < 0)
		return -errno;
	(void)pthread_setspecific(key, (void *)(intptr_t)(thread_fd + 1));
	return thread_fd;
}

void rs_waiter_add(struct rs_sock *rs, struct rs_waiter *w)
{
	w->next = rs->waiters;
	rs->waiters = w;
}

void rs_waiter_remove(struct rs_sock *rs, struct rs_waiter *w)
{
	struct rs_waiter **at = &rs->waiters;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

void rs_wake(struct rs_sock *rs)
{
	uint64_t one = 1;
	struct rs_waiter *w;

	for (w = rs->waiters; w != NULL; w = w->next)
		if (write(w->event_fd, &one, sizeof(one)) < 0 && errno != EAGAIN) /* EAGAIN: awake anyway */
			abort();
}

/* ---- what moves a socket ---- */

void rs_fail(struct rs_sock *rs, int err)
{
	if (rs->state == RS_FAILED || rs->state == RS_ENDED)
		return;
	rs->state = RS_FAILED;
	rs->err = err;
	rs_wake(rs);
}

void rs_process(struct rs_sock *rs, bool thoroughly)
{
	if (rs->type == SOCK_DGRAM) {
		rs_dgram_process(rs, thoroughly);
		return;
	}
	if (rs->st.send_cq != NULL)
		rs_cq_process(rs);
	if (thoroughly || rs_is_connecting(rs) || rs->st.idle++ % IDLE_LOOKS == 0)
		rs_cm_process(rs);
}

static bool arm_cq(struct rs_sock *rs, struct ibv_cq *cq)
{
	if (ibv_req_notify_cq(cq, 0) != 0)
		rs_fail(rs, EIO);
	return true;
}

bool rs_arm(struct rs_sock *rs)
{
	bool any = false;

	if (rs->type == SOCK_DGRAM)
		return rs_dgram_arm(rs);
	if (rs->st.send_cq == NULL)
		return false;
	if (!rs->st.recv_armed)
		any = rs->st.recv_armed = arm_cq(rs, rs->st.recv_cq);
	if (!rs->st.send_armed && rs_awaits_sends(rs))
		any = rs->st.send_armed = arm_cq(rs, rs->st.send_cq);
	return any;
}

void rs_disarm(struct rs_sock *rs)
{
	struct ibv_cq *cq;
	void *context;

	if (rs->type == SOCK_DGRAM) {
		rs_dgram_disarm(rs);
		return;
	}
	while (rs->st.comp != NULL && ibv_get_cq_event(rs->st.comp, &cq, &context) == 0) {
		ibv_ack_cq_events(cq, 1);
		if (cq == rs->st.recv_cq)
			rs->st.recv_armed = false;
		else
			rs->st.send_armed = false;
	}
}

int rs_fds(const struct rs_sock *rs, struct pollfd *fds)
{
	if (rs->type == SOCK_DGRAM) {
		fds[0] = (struct pollfd){.fd = rs_dgram_fd(rs), .events = POLLIN};
		return 1;
	}
	fds[0] = (struct pollfd){.fd = rs->st.channel->fd, .events = POLLIN};
	if (rs->st.comp == NULL)
		return 1;
	fds[1] = (struct pollfd){.fd = rs->st.comp->fd, .events = POLLIN};
	return 2;
}

/* ---- sleep ---- */

static int poll_timeout_ms(int64_t until_ns)
{
	int64_t left;

	if (until_ns == RS_NEVER)
		return -1;
	left = until_ns - rs_now_ns();
	if (left <= 0)
		return 0;
	left = (left + NS_PER_MS - 1) / NS_PER_MS;
	return left < 60000 ? (int)left : 60000;
}

/* Sleeps without the lock until a descriptor of the socket or another thread says that something happened. */
static int sleep_on(struct rs_sock *rs, int64_t deadline_ns)
{
	struct rs_waiter w = {.event_fd = rs_thread_event()};
	int64_t keepalive_ns = rs_keepalive_due_ns(rs);
	struct pollfd fds[3];
	uint64_t count;
	int n, rc, err;

	if (w.event_fd < 0)
		return w.event_fd;
	n = rs_fds(rs, fds);
	fds[n] = (struct pollfd){.fd = w.event_fd, .events = POLLIN};
	rs_waiter_add(rs, &w);
	pthread_mutex_unlock(&rs->lock);
	rc = poll(fds, (nfds_t)n + 1, poll_timeout_ms(keepalive_ns < deadline_ns ? keepalive_ns : deadline_ns));
	err = rc < 0 ? -errno : 0;
	if (rc > 0 && fds[n].revents != 0 && read(w.event_fd, &count, sizeof(count)) < 0)
		err = -errno;
	pthread_mutex_lock(&rs->lock);
	rs_waiter_remove(rs, &w);
	rs_disarm(rs);
	rs_keepalive(rs);
	return err == -EAGAIN ? 0 : err;
}

int rs_wait_until(struct rs_sock *rs, bool (*ready)(struct rs_sock *), bool nonblock, int64_t deadline_ns)
{
	bool woken = false;
	int err;

	for (;;) {
		rs_process(rs, woken);
		if (rs->closing)
			return -EBADF;
		if (ready(rs))
			return 0;
		if (nonblock)
			return -EAGAIN;
		if (rs_arm(rs)) {
			rs_process(rs, true);
			if (ready(rs))
				return 0;
		}
		if (deadline_ns != RS_NEVER && rs_now_ns() >= deadline_ns)
			return -ETIMEDOUT;
		err = sleep_on(rs, deadline_ns);
		if (err != 0)
			return err;
		woken = true;
	}
}
