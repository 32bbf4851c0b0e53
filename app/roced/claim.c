/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One daemon a control socket. The lock is taken before anything else is touched, since a second daemon that
 * opens the same tap interface and then gives up takes the interface down for the first.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "roced.h"

static int make_directory(const char *path)
{
	char copy[sizeof(((struct roced *)0)->config.control.socket)];

	snprintf(copy, sizeof(copy), "%s", path);
	if (mkdir(dirname(copy), 0755) != 0 && errno != EEXIST)
		return -errno;
	return 0;
}

int claim_socket(struct roced *roced)
{
	const char *socket = roced->config.control.socket;
	char path[sizeof(roced->config.control.socket) + sizeof(".lock")];
	int rc = make_directory(socket);

	snprintf(path, sizeof(path), "%s.lock", socket);
	if (rc == 0) {
		roced->claim_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (roced->claim_fd < 0 || flock(roced->claim_fd, LOCK_EX | LOCK_NB) != 0)
			rc = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	}
	if (rc != 0)
		log_line(LOG_ERR, "control socket %s: %s%s", socket, strerror(-rc),
			rc == -EADDRINUSE ? " (another roced serves it: give control.socket)" : "");
	return rc;
}

/* The file stays: removing it would let two daemons lock two files of one name. */
void claim_release(struct roced *roced)
{
	if (roced->claim_fd >= 0)
		close(roced->claim_fd);
	roced->claim_fd = -1;
}
