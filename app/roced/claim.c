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

#include "claim.h"
#include "log.h"

#define PATH_BYTES 108 /* of a Unix socket */

static int make_directory(const char *path)
{
	char copy[PATH_BYTES];

	snprintf(copy, sizeof(copy), "%s", path);
	if (mkdir(dirname(copy), 0755) != 0 && errno != EEXIST)
		return -errno;
	return 0;
}

int claim_socket(const char *socket, const char *program, int *fd)
{
	char path[PATH_BYTES + sizeof(".lock")];
	int rc = make_directory(socket);

	snprintf(path, sizeof(path), "%s.lock", socket);
	if (rc == 0) {
		*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (*fd < 0 || flock(*fd, LOCK_EX | LOCK_NB) != 0)
			rc = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	}
	if (rc != 0)
		log_line(LOG_ERR, "control socket %s: %s%s%s%s", socket, strerror(-rc),
			rc == -EADDRINUSE ? " (another " : "", rc == -EADDRINUSE ? program : "",
			rc == -EADDRINUSE ? " serves it: give control.socket)" : "");
	return rc;
}

/* The file stays: removing it would let two daemons lock two files of one name. */
void claim_release(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
