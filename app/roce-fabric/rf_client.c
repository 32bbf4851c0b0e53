/* SPDX-License-Identifier: BSD-3-Clause */
/* The side of the control socket that asks. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "rf_control.h"

#define PATIENCE_S 10

static int dial(const char *path)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, rc;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
		connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static int say(int fd, const char *text, size_t n)
{
	while (n != 0) {
		ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			return -errno;
		if (sent > 0) {
			text += sent;
			n -= (size_t)sent;
		}
	}
	return 0;
}

/* Copies a line and looks how it begins. */
static int hear(int fd, FILE *out)
{
	static const char good[] = "{\"ok\":true";
	char part[4096], head[sizeof(good)] = "";
	size_t n_head = 0;

	for (;;) {
		ssize_t n = recv(fd, part, sizeof(part), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? -ECONNRESET : errno == EAGAIN ? -ETIMEDOUT : -errno;
		for (ssize_t i = 0; i < n && n_head < sizeof(good) - 1; i++)
			head[n_head++] = part[i];
		if (fwrite(part, 1, (size_t)n, out) != (size_t)n)
			return -EIO;
		if (part[n - 1] == '\n')
			return strcmp(head, good) == 0 ? 0 : 1;
	}
}

int rf_control_ask(const char *path, const char *command, FILE *out)
{
	int fd, rc;

	if (strchr(command, '\n') != NULL)
		return -EINVAL;
	fd = dial(path);
	if (fd < 0)
		return fd;
	rc = say(fd, command, strlen(command));
	if (rc == 0)
		rc = say(fd, "\n", 1);
	if (rc == 0)
		rc = hear(fd, out);
	close(fd);
	return rc;
}
