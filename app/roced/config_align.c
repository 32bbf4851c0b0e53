/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports and devices of a new configuration at the places that they have while the daemon runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config_diff.h"
#include "config_schema.h"

static void swap(void *a, void *b, size_t n)
{
	uint8_t *x = a, *y = b;

	for (size_t i = 0; i < n; i++) {
		uint8_t t = x[i];

		x[i] = y[i];
		y[i] = t;
	}
}

/* With other ports than before the daemon has to start anew, so those that are left only need some place. */
static void align_ports(struct config *config, const struct config *running)
{
	for (uint32_t p = 0; p < running->n_ports && p < config->n_ports; p++) {
		int at = config_find_port(config, running->ports[p].name);

		if (at > (int)p)
			swap(&config->ports[p], &config->ports[at], sizeof(config->ports[0]));
	}
}

static int find_device(const struct config_device *devices, uint32_t n, const char *name)
{
	for (uint32_t d = 0; d < n; d++) {
		if (strcmp(devices[d].name, name) == 0)
			return (int)d;
	}
	return -1;
}

/* A place that nobody has and nobody had; else one that nobody has any more. */
static int free_place(const struct config *config, const struct config *running)
{
	int gone = -1;

	for (uint32_t d = 0; d < VD_MAX_DEVICES; d++) {
		bool had = d < running->n_devices && running->devices[d].name[0] != '\0';

		if (config->devices[d].name[0] != '\0')
			continue;
		if (!had)
			return (int)d;
		if (gone < 0)
			gone = (int)d;
	}
	return gone;
}

static int align_devices(struct config *config, const struct config *running)
{
	static const size_t bytes = sizeof(config->devices);
	struct config_device *given = malloc(bytes);
	uint32_t n = config->n_devices;

	if (given == NULL)
		return -ENOMEM;
	memcpy(given, config->devices, bytes);
	memset(config->devices, 0, bytes);
	config->n_devices = running->n_devices;
	for (uint32_t d = 0; d < n; d++) {
		int at = find_device(running->devices, running->n_devices, given[d].name);

		if (at >= 0)
			config->devices[at] = given[d];
	}
	for (uint32_t d = 0; d < n; d++) {
		int at = find_device(running->devices, running->n_devices, given[d].name) < 0 ? free_place(config, running) : -1;

		if (at < 0)
			continue;
		config->devices[at] = given[d];
		if ((uint32_t)at >= config->n_devices)
			config->n_devices = (uint32_t)at + 1;
	}
	free(given);
	return 0;
}

static int find_remote(const struct config_gateway *gateway, const struct config_remote *remote)
{
	for (uint32_t r = 0; r < gateway->n_remotes; r++) {
		if (config_same_network(&gateway->remotes[r].address, &remote->address))
			return (int)r;
	}
	return -1;
}

/* As with devices; which of the free places does not matter. */
static int align_remotes(struct config_gateway *gateway, const struct config_gateway *running)
{
	static const size_t bytes = sizeof(gateway->remotes);
	struct config_remote *given = malloc(bytes);
	uint32_t n = gateway->n_remotes, next = 0;

	if (given == NULL)
		return -ENOMEM;
	memcpy(given, gateway->remotes, bytes);
	memset(gateway->remotes, 0, bytes);
	gateway->n_remotes = running->n_remotes;
	for (uint32_t r = 0; r < n; r++) {
		int at = find_remote(running, &given[r]);

		if (at >= 0)
			gateway->remotes[at] = given[r];
	}
	for (uint32_t r = 0; r < n; r++) {
		if (find_remote(running, &given[r]) >= 0)
			continue;
		while (gateway->remotes[next].n_networks != 0)
			next++;
		gateway->remotes[next] = given[r];
		if (next >= gateway->n_remotes)
			gateway->n_remotes = next + 1;
	}
	free(given);
	return 0;
}

/* It was right before, so there is nothing to say. */
static int check_again(struct config *config)
{
	struct config_reader reader = {.path = "", .keys = config_keys, .n_keys = config_n_keys, .base = config, .files = config->files};

	reader.err = fopen("/dev/null", "we");
	if (reader.err == NULL)
		return -errno;
	config->gateway.device_index = 0;
	config->gateway.host_mask = 0;
	config_check(&reader);
	fclose(reader.err);
	return reader.n_errors == 0 ? 0 : -EINVAL;
}

int config_align(struct config *config, const struct config *running)
{
	int rc;

	align_ports(config, running);
	rc = align_devices(config, running);
	if (rc == 0)
		rc = align_remotes(&config->gateway, &running->gateway);
	return rc == 0 ? check_again(config) : rc;
}

/* ---- another place ---- */

static void move_at(struct config_at *at, const struct config *to, const struct config *from)
{
	if (at->file != NULL)
		at->file = to->files[0] + (at->file - from->files[0]);
}

static void move_list(const struct config_key *key, void *base, const char *pattern, const struct config *to, const struct config *from)
{
	uint32_t n;

	memcpy(&n, (uint8_t *)base + key->count_off, sizeof(n));
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *element = (uint8_t *)base + key->off + (size_t)i * key->bytes;

		move_at((void *)element, to, from);
		for (size_t k = 0; k < config_n_keys; k++) {
			const struct config_key *inner = &config_keys[k];
			char below[CONFIG_WHERE_BYTES];

			if (inner->type != CONFIG_LIST_OF || !config_key_is_child(inner, pattern))
				continue;
			(void)snprintf(below, sizeof(below), "%s[]", inner->path);
			move_list(inner, element, below, to, from);
		}
	}
}

void config_copy(struct config *to, const struct config *from)
{
	memcpy(to, from, sizeof(*to));
	for (size_t k = 0; k < config_n_keys; k++) {
		const struct config_key *key = &config_keys[k];
		char pattern[CONFIG_WHERE_BYTES];

		/* Lists in lists are those of their elements. */
		if ((key->type != CONFIG_LIST_OF && key->type != CONFIG_PEERS_OF) || strchr(key->path, '[') != NULL)
			continue;
		(void)snprintf(pattern, sizeof(pattern), "%s[]", key->path);
		move_list(key, to, pattern, to, from);
	}
}
