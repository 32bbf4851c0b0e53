/* SPDX-License-Identifier: BSD-3-Clause */
#include "rg_config.h"

#include <string.h>

static void other_role(struct config_reader *reader, struct rg_config *config, const char *role)
{
	const struct config_at at = {0};

	for (size_t i = 0; i < rg_n_keys; i++) {
		const char *want;

		if (strcmp(rg_keys[i].path, "role") != 0)
			continue;
		want = config_value_parse(&rg_keys[i], role, &config->role);
		if (want != NULL)
			config_error(reader, &at, "role: \"%s\" is wrong, must be %s", role, want);
	}
}

unsigned rg_config_load(const char *path, const char *role, struct rg_config *config, FILE *err)
{
	struct config_reader reader = {
		.path = path,
		.keys = rg_keys,
		.n_keys = rg_n_keys,
		.base = config,
		.files = config->files,
		.err = err,
	};

	memset(config, 0, sizeof(*config));
	if (config_read_table(&reader)) {
		if (role != NULL)
			other_role(&reader, config, role);
		rg_check(&reader, config);
	}
	return reader.n_errors;
}
