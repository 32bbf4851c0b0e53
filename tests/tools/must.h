/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs that end with a word about the first thing that is not as it has to be. */
#ifndef MUST_H
#define MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#define MUST(cond) must((cond), #cond, __FILE__, __LINE__)

static inline void must(int ok, const char *what, const char *file, int line)
{
	if (ok)
		return;
	fprintf(stderr, "%s:%d: failed: %s (%s)\n", file, line, what, strerror(errno));
	exit(1);
}

/* The device of that name, opened. */
static inline struct ibv_context *must_open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	MUST(list != NULL);
	for (int i = 0; list[i] != NULL && context == NULL; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	}
	ibv_free_device_list(list);
	MUST(context != NULL);
	return context;
}

#endif
