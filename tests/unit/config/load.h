/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the text of a configuration as the daemon reads its file. */
#ifndef LOAD_H
#define LOAD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

/* What was said of it, "" for nothing; the caller frees it. n: how many errors. */
static inline char *load(const char *text, struct config *config, unsigned *n)
{
	char path[] = "/tmp/roced-config-XXXXXX", *out = NULL;
	size_t bytes;
	FILE *err = open_memstream(&out, &bytes);
	int fd = mkstemp(path);

	assert_true(fd >= 0 && err != NULL);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	*n = config_load(path, config, err);
	fclose(err);
	unlink(path);
	return out;
}

#endif
