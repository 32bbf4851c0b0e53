/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config_schema.h"

int config_find_port(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->n_ports; i++) {
		if (name[0] != '\0' && !strcmp(config->ports[i].name, name))
			return (int)i;
	}
	return -1;
}

unsigned config_load(const char *path, struct config *config, FILE *err)
{
	struct config_reader reader = {
		.path = path,
		.keys = config_keys,
		.n_keys = config_n_keys,
		.base = config,
		.files = config->files,
		.err = err,
	};

	memset(config, 0, sizeof(*config));
	if (config_read_table(&reader))
		config_check(&reader);
	return reader.n_errors;
}
