/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_S 3

/* ---- the socket ---- */

int telemetry_open(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const struct timeval wait = {.tv_sec = WAIT_S};
	char greeting[1024];
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0 &&
		connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0 &&
		recv(fd, greeting, sizeof(greeting), 0) > 0)
		return fd;
	err = errno != 0 ? errno : EPROTO;
	close(fd);
	return -err;
}

int telemetry_ask(int fd, const char *question, char answer[TELEMETRY_ANSWER_BYTES])
{
	ssize_t n;

	if (send(fd, question, strlen(question), MSG_NOSIGNAL) < 0)
		return -errno;
	n = recv(fd, answer, TELEMETRY_ANSWER_BYTES - 1, 0);
	if (n <= 0)
		return n == 0 ? -EPIPE : -errno;
	answer[n] = '\0';
	return 0;
}

/* What is no roced answers null. */
static int is_roced(const char *path)
{
	static char answer[TELEMETRY_ANSWER_BYTES];
	int fd = telemetry_open(path), rc;

	if (fd < 0)
		return 0;
	rc = telemetry_ask(fd, "/roced/paths", answer);
	close(fd);
	return rc == 0 && strstr(answer, "\"/roced/paths\":{") != NULL;
}

size_t telemetry_list(char (*paths)[TELEMETRY_PATH_BYTES], size_t most)
{
	const char *own = getenv("XDG_RUNTIME_DIR");
	char pattern[256];
	glob_t found = {0};
	size_t n = 0;

	glob("/run/dpdk/*/dpdk_telemetry.v2*", 0, NULL, &found);
	glob("/run/roced/dpdk/*/dpdk_telemetry.v2*", GLOB_APPEND, NULL, &found); /* of the systemd unit */
	glob("/tmp/dpdk/*/dpdk_telemetry.v2*", GLOB_APPEND, NULL, &found);
	if (own != NULL &&
		snprintf(pattern, sizeof(pattern), "%s/dpdk/*/dpdk_telemetry.v2*", own) < (int)sizeof(pattern))
		glob(pattern, GLOB_APPEND, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && n < most; i++) {
		const char *name = found.gl_pathv[i];

		if (strlen(name) < TELEMETRY_PATH_BYTES && is_roced(name))
			snprintf(paths[n++], TELEMETRY_PATH_BYTES, "%s", name);
	}
	globfree(&found);
	return n;
}

int telemetry_find(char path[TELEMETRY_PATH_BYTES])
{
	static char paths[TELEMETRY_DAEMONS][TELEMETRY_PATH_BYTES];
	size_t n = telemetry_list(paths, TELEMETRY_DAEMONS);

	if (n == 0)
		return -ENOENT;
	memcpy(path, paths[0], TELEMETRY_PATH_BYTES);
	if (n == 1)
		return 0;
	fputs("rocectl: several daemons answer, say which:\n", stderr);
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "  --socket %s\n", paths[i]);
	return -EEXIST;
}

int telemetry_connect(const char *path)
{
	char found[TELEMETRY_PATH_BYTES];
	int fd, rc = path != NULL ? 0 : telemetry_find(found);

	if (rc == -ENOENT)
		fputs("rocectl: no roced serves telemetry here; set control.telemetry = true\n", stderr);
	if (rc != 0)
		return -1;
	path = path != NULL ? path : found;
	fd = telemetry_open(path);
	if (fd < 0)
		fprintf(stderr, "rocectl: %s: %s\n", path, strerror(-fd));
	return fd < 0 ? -1 : fd;
}

/* ---- JSON ---- */

const char *telemetry_member(const char *at, const char *end, const char *name)
{
	size_t n = strlen(name);

	for (const char *c = at; c + n + 3 <= end; c++) {
		if (c[0] == '"' && !memcmp(c + 1, name, n) && c[n + 1] == '"' && c[n + 2] == ':')
			return c + n + 3;
	}
	return NULL;
}

uint64_t telemetry_number(const char *at, const char *end, const char *name)
{
	const char *c = telemetry_member(at, end, name);

	return c != NULL ? strtoull(c, NULL, 10) : 0;
}

/* Copies the text that begins behind its quote, cut to n bytes; where its end quote is. */
static const char *copy_text(const char *c, const char *end, char *out, size_t n)
{
	size_t i = 0;

	for (; c < end && *c != '"'; c++) {
		bool escaped = *c == '\\' && c + 1 < end;

		c += escaped;
		if (i + 1 < n)
			out[i++] = escaped && *c == 'n' ? '\n' : *c;
	}
	out[i] = '\0';
	return c;
}

void telemetry_text(const char *at, const char *end, const char *name, char *out, size_t n)
{
	const char *c = telemetry_member(at, end, name);

	out[0] = '\0';
	if (c != NULL && c < end && *c == '"')
		(void)copy_text(c + 1, end, out, n);
}

size_t telemetry_texts(const char *at, const char *end, const char *name, char (*out)[TELEMETRY_TEXT_BYTES], size_t n)
{
	const char *c = telemetry_member(at, end, name);
	size_t i = 0;

	if (c == NULL || c >= end || *c != '[')
		return 0;
	for (c++; c < end && *c == '"' && i < n; c += *c == ',')
		c = copy_text(c + 1, end, out[i++], TELEMETRY_TEXT_BYTES) + 1;
	return i;
}

size_t telemetry_numbers(const char *at, const char *end, const char *name, uint64_t *out, size_t n)
{
	const char *c = telemetry_member(at, end, name);
	size_t i = 0;

	if (c == NULL || c >= end || *c != '[')
		return 0;
	for (c++; c < end && *c >= '0' && *c <= '9' && i < n; c += *c == ',') {
		char *next;

		out[i++] = strtoull(c, &next, 10);
		c = next;
	}
	return i;
}
