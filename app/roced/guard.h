/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets a signal end a start. Signals that end the daemon are blocked before its first thread, for the main loop
 * takes them; but a device or the EAL may keep the main thread waiting long before there is a main loop.
 */
#ifndef ROCED_GUARD_H
#define ROCED_GUARD_H

#include <pthread.h>

struct guard {
	pthread_t thread;
	int signal_fd, done_fd;
};

/* From now on SIGTERM and SIGINT, which are blocked, end the process with status 1. 0 or a negative errno. */
int guard_start(struct guard *guard);
/* The main loop takes over; a signal that came meanwhile is there for it. */
void guard_stop(struct guard *guard);

#endif
