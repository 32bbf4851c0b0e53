/* SPDX-License-Identifier: BSD-3-Clause */
/* memif's arguments: which socket, which end of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_memif.h"

#define DEFAULT_SOCKET "/run/memif.sock"

static const char *const socket_args[] = {"socket", "socket-abstract", "owner-uid", "owner-gid"};

static uint32_t number(const char *device, const char *arg, uint32_t dflt)
{
	char text[32];

	return net_driver_arg(device, arg, text, sizeof(text)) ? (uint32_t)strtoul(text, NULL, 10) : dflt;
}

/* A port is a client when it does not say otherwise. */
static bool is_client(const char *device)
{
	char role[32];

	return !net_driver_arg(device, "role", role, sizeof(role)) || strcmp(role, "client") == 0 ||
	       strcmp(role, "slave") == 0;
}

bool net_memif_args(const char *device, struct net_memif_args *args)
{
	char yes[32];

	if (strncmp(device, "net_memif", strlen("net_memif")) != 0)
		return false;
	if (!net_driver_arg(device, "socket", args->name, sizeof(args->name)))
		snprintf(args->name, sizeof(args->name), "%s", DEFAULT_SOCKET);
	args->abstract = !net_driver_arg(device, "socket-abstract", yes, sizeof(yes)) || strcmp(yes, "no") != 0;
	args->client = is_client(device);
	args->id = number(device, "id", 0);
	args->uid = number(device, "owner-uid", UINT32_MAX);
	args->gid = number(device, "owner-gid", UINT32_MAX);
	return true;
}

int net_memif_check(const char *device, char msg[NET_MSG_BYTES])
{
	struct net_memif_args args;
	char text[32];

	if (!net_memif_args(device, &args))
		return 0;
	if (net_driver_arg(device, "role", text, sizeof(text)) && strcmp(text, "server") != 0 &&
		strcmp(text, "client") != 0 && strcmp(text, "master") != 0 && strcmp(text, "slave") != 0) {
		snprintf(msg, NET_MSG_BYTES, "role=%s must be server or client", text);
		return -EINVAL;
	}
	if (net_driver_arg(device, "socket-abstract", text, sizeof(text)) && strcmp(text, "yes") != 0 &&
		strcmp(text, "no") != 0) {
		snprintf(msg, NET_MSG_BYTES, "socket-abstract=%s must be yes or no", text);
		return -EINVAL;
	}
	if (args.name[0] == '\0' || strlen(args.name) > NET_MEMIF_NAME_BYTES - 2) {
		snprintf(msg, NET_MSG_BYTES, "socket= must have 1 to %zu characters", NET_MEMIF_NAME_BYTES - 2);
		return -EINVAL;
	}
	return 0;
}

bool net_memif_same(const char *device_a, const char *device_b)
{
	struct net_memif_args a, b;

	return net_memif_args(device_a, &a) && net_memif_args(device_b, &b) && a.client == b.client && a.id == b.id &&
	       a.abstract == b.abstract && strcmp(a.name, b.name) == 0;
}

static bool is_of_socket(const char *arg)
{
	size_t len = strcspn(arg, "=,");

	for (size_t i = 0; i < sizeof(socket_args) / sizeof(socket_args[0]); i++) {
		if (strlen(socket_args[i]) == len && strncmp(arg, socket_args[i], len) == 0)
			return true;
	}
	return false;
}

int net_memif_redirect(const char *device, const char *socket, char *out, size_t n)
{
	size_t used = strcspn(device, ",");

	if (used >= n)
		return -ENAMETOOLONG;
	memcpy(out, device, used);
	for (const char *c = strchr(device, ','); c != NULL; c = strchr(c, ',')) {
		size_t len = 1 + strcspn(c + 1, ",");

		if (!is_of_socket(c + 1)) {
			if (used + len >= n)
				return -ENAMETOOLONG;
			memcpy(out + used, c, len);
			used += len;
		}
		c += len;
	}
	if ((size_t)snprintf(out + used, n - used, ",socket=%s,socket-abstract=no", socket) >= n - used)
		return -ENAMETOOLONG;
	return 0;
}
