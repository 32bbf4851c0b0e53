/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "vcl_conn.h"

/* A reply takes at most the time of an address resolution; a daemon silent for longer is dead. */
#define REPLY_TIMEOUT_S 60

const char *vcl_socket_path(void)
{
	const char *path = secure_getenv(VC_SOCKET_ENV);

	return path != NULL && path[0] != '\0' ? path : VC_DEFAULT_SOCKET;
}

static int connect_daemon(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval timeout = {.tv_sec = REPLY_TIMEOUT_S};
	const char *path = vcl_socket_path();
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) != 0 ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) != 0 ||
		connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int vcl_conn_open(struct vcl_conn *conn)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = connect_daemon();

	if (fd < 0)
		return fd;
	conn->alive = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (conn->alive == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	(void)madvise(conn->alive, page, MADV_WIPEONFORK);
	*conn->alive = 1;
	conn->fd = fd;
	conn->seq = 0;
	pthread_mutex_init(&conn->lock, NULL);
	return 0;
}

void vcl_conn_close(struct vcl_conn *conn)
{
	close(conn->fd);
	conn->fd = -1;
	munmap(conn->alive, (size_t)sysconf(_SC_PAGESIZE));
	conn->alive = NULL;
	/* The mutex stays as it is: in a forked child a thread that is not there may hold it. */
}

void vcl_conn_kill(struct vcl_conn *conn)
{
	__atomic_store_n(conn->alive, 0, __ATOMIC_RELAXED);
}

/* Takes the descriptors out of a message; those over max are closed. Returns how many came. */
static uint32_t take_fds(struct msghdr *msg, int *fds, uint32_t max)
{
	struct cmsghdr *c;
	uint32_t n = 0, i, count;
	int fd;

	for (c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		for (i = 0; i < count; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (n < max)
				fds[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

static int receive_reply(int fd, struct vc_reply *reply, int *fds, uint32_t *n_fds)
{
	union {
		char bytes[CMSG_SPACE(VCL_MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = reply, .iov_len = sizeof(*reply)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t n;

	memset(reply, 0, sizeof(*reply));
	/* A daemon that closes with our request unread leaves an error before what it said. */
	for (int resets = 0;;) {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
		if (n >= 0 || (errno != EINTR && (errno != ECONNRESET || resets++ != 0)))
			break;
	}
	if (n <= 0)
		return -EIO;
	*n_fds = take_fds(&msg, fds, VCL_MAX_FDS);
	if ((size_t)n < offsetof(struct vc_reply, object) || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return -EIO;
	return 0;
}

static int exchange(struct vcl_conn *conn, struct vc_request *req, struct vc_reply *reply, int *fds, uint32_t *n_fds)
{
	ssize_t n;
	int err;

	req->seq = ++conn->seq;
	do
		n = send(conn->fd, req, sizeof(*req), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	/* Also when nobody takes it: one who takes no session says why and hangs up. */
	err = n == (ssize_t)sizeof(*req) || errno == EPIPE ? receive_reply(conn->fd, reply, fds, n_fds) : -EIO;
	if (err == 0 && reply->op == VC_REFUSED && reply->status < 0)
		return reply->status;
	if (err == 0 && (reply->seq != req->seq || reply->op != req->op || reply->status > 0))
		err = -EIO;
	return err;
}

int vcl_call_fds(struct vcl_conn *conn, struct vc_request *req, struct vc_reply *reply, int *fds, uint32_t n_fds)
{
	int got[VCL_MAX_FDS], cancel, err = -EIO;
	uint32_t i, n_got = 0;

	if (!vcl_conn_alive(conn))
		return -EIO;
	/* A thread cancelled between request and reply would leave the lock held and the reply unread. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&conn->lock);
	if (vcl_conn_alive(conn)) {
		err = exchange(conn, req, reply, got, &n_got);
		if (err != 0)
			vcl_conn_kill(conn);
	}
	pthread_mutex_unlock(&conn->lock);
	pthread_setcancelstate(cancel, NULL);
	if (err == 0)
		err = reply->status;
	if (err == 0 && n_got == n_fds) {
		if (n_fds != 0)
			memcpy(fds, got, n_fds * sizeof(int));
		return 0;
	}
	for (i = 0; i < n_got; i++)
		close(got[i]);
	return err != 0 ? err : -EPROTO;
}

int vcl_call(struct vcl_conn *conn, struct vc_request *req, struct vc_reply *reply)
{
	struct vc_reply own;

	return vcl_call_fds(conn, req, reply != NULL ? reply : &own, NULL, 0);
}

int vcl_call_handle(struct vcl_conn *conn, enum vc_op op, uint32_t handle, struct vc_reply *reply)
{
	struct vc_request req = {.op = (uint32_t)op};

	req.object.handle = handle;
	return vcl_call(conn, &req, reply);
}

/* Returns only when the daemon is gone. */
static void wait_end(int control_fd)
{
	struct pollfd p = {.fd = control_fd, .events = POLLRDHUP};

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	/* Closed by the program too: it will not come back to this thread. */
	while ((p.revents & POLLNVAL) != 0)
		pause();
}

int vcl_read_event(int fd, int control_fd, void *msg, size_t n)
{
	ssize_t got = recv(fd, msg, n, 0);

	if (got < 0)
		return -1;
	if ((size_t)got == n)
		return 1;
	wait_end(control_fd);
	return 0;
}
