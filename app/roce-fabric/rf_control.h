/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control socket: a Unix stream; a line is a command, and its answer a line. A client is read from when its
 * last answer has gone, so each takes the memory of one line and one answer.
 */
#ifndef RF_CONTROL_H
#define RF_CONTROL_H

#include <sys/types.h>

#include "rf_command.h"

#define RF_MAX_CLIENTS 16

struct rf_client {
	int fd;                  /* -1: free */
	char line[RF_LINE_BYTES];
	size_t n;
	char *answer;            /* what is to be written yet */
	size_t answer_bytes, written;
	bool ended;              /* it is closed when the answer is written */
	uint64_t order;          /* of its last command among all */
};

struct rf_control {
	int epoll_fd, listen_fd; /* epoll_fd is readable when rf_control_serve() has something to do */
	bool made;               /* the socket's file */
	char path[108];
	uint64_t n_commands;
	/* Carries out a command of n bytes and writes a line to out. */
	void (*command)(void *arg, const char *line, size_t n, FILE *out);
	void *arg;
	struct rf_client clients[RF_MAX_CLIENTS];
};

/* Listens at path, whose lock is held (claim.h); what a dead process left there is removed. gid (gid_t)-1: the
 * process's. rf_control_fini() is due either way. 0 or a negative errno. */
int rf_control_init(struct rf_control *control, const char *path, mode_t mode, gid_t gid);
void rf_control_fini(struct rf_control *control);

/* Serves all clients that have something to say or can be written to; does not wait. */
void rf_control_serve(struct rf_control *control);

/* The other side: says a command and copies the answer to out. 0: it was carried out; 1: it was not; a negative
 * errno: there was no answer. */
int rf_control_ask(const char *path, const char *command, FILE *out);

#endif
