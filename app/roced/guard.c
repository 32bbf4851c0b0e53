/* SPDX-License-Identifier: BSD-3-Clause */
#include "guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "log.h"

static void *watch(void *arg)
{
	const struct guard *guard = arg;
	struct pollfd fds[2] = {
		{.fd = guard->done_fd, .events = POLLIN},
		{.fd = guard->signal_fd, .events = POLLIN},
	};

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	if (fds[0].revents != 0 || fds[1].revents == 0)
		return NULL;
	log_line(LOG_ERR, "not started: ended by a signal");
	_exit(1);
}

int guard_start(struct guard *guard)
{
	sigset_t set;
	int rc = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	guard->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	guard->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (guard->signal_fd < 0 || guard->done_fd < 0)
		rc = -errno;
	if (rc == 0)
		rc = -pthread_create(&guard->thread, NULL, watch, guard);
	if (rc == 0)
		return 0;
	if (guard->signal_fd >= 0)
		close(guard->signal_fd);
	if (guard->done_fd >= 0)
		close(guard->done_fd);
	return rc;
}

void guard_stop(struct guard *guard)
{
	eventfd_write(guard->done_fd, 1);
	pthread_join(guard->thread, NULL);
	close(guard->signal_fd);
	close(guard->done_fd);
}
