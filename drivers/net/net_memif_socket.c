/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net_memif_socket.h"

#define BACKLOG 16

/* The driver gives all of the structure for a file, and an abstract name without an end. */
static socklen_t make_addr(const char *name, bool abstract, struct sockaddr_un *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	memcpy(addr->sun_path + abstract, name, strnlen(name, sizeof(addr->sun_path) - 2));
	return abstract ? (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(addr->sun_path + 1)) :
			  (socklen_t)sizeof(*addr);
}

static int make_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int net_memif_connect(const char *name, bool abstract)
{
	struct sockaddr_un addr;
	socklen_t len = make_addr(name, abstract, &addr);
	int fd = make_socket(), rc;

	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, len) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* Whether the file is a socket that nobody serves. */
static bool is_left_over(const char *name)
{
	struct stat st;
	int fd;

	if (lstat(name, &st) != 0 || !S_ISSOCK(st.st_mode))
		return false;
	fd = net_memif_connect(name, false);
	if (fd >= 0)
		close(fd);
	return fd == -ECONNREFUSED;
}

static int bind_to(int fd, const struct net_memif_args *args)
{
	struct sockaddr_un addr;
	socklen_t len = make_addr(args->name, args->abstract, &addr);

	if (bind(fd, (struct sockaddr *)&addr, len) == 0)
		return 0;
	if (errno != EADDRINUSE || args->abstract || !is_left_over(args->name))
		return -errno;
	if (unlink(args->name) != 0 || bind(fd, (struct sockaddr *)&addr, len) != 0)
		return -errno;
	return 0;
}

int net_memif_listen(const struct net_memif_args *args)
{
	int fd = make_socket(), rc;

	if (fd < 0)
		return fd;
	rc = bind_to(fd, args);
	if (rc == 0 && !args->abstract && (args->uid != UINT32_MAX || args->gid != UINT32_MAX) &&
		chown(args->name, args->uid, args->gid) != 0)
		rc = -errno;
	if (rc == 0 && listen(fd, BACKLOG) != 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int net_memif_accept(int listen_fd)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int net_memif_recv(int from, struct net_memif_msg *msg, int *fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {msg, sizeof(*msg)};
	/* the length without padding, which has room for a second descriptor */
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = CMSG_LEN(sizeof(int))};
	ssize_t n = recvmsg(from, &mh, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	const struct cmsghdr *cmsg;

	*fd = -1;
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	cmsg = CMSG_FIRSTHDR(&mh);
	if (cmsg != NULL && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS &&
		cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(cmsg), sizeof(int));
	if (n == (ssize_t)sizeof(*msg) && (mh.msg_flags & MSG_TRUNC) == 0)
		return 1;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return n == 0 ? 0 : -EBADMSG;
}

int net_memif_send(int to, const struct net_memif_msg *msg, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)msg, sizeof(*msg)};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		mh.msg_control = &control;
		mh.msg_controllen = sizeof(control.room);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(int));
	}
	if (sendmsg(to, &mh, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EINTR ? -EAGAIN : -errno;
}
