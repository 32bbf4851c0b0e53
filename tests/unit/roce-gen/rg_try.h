/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration from text, for the tests of roce-gen. */
#ifndef RG_TRY_H
#define RG_TRY_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rg_config.h"

static char rg_told[8192];

/* How many errors there are; what was said is in rg_told. */
static inline unsigned rg_try(const char *text, const char *role, struct rg_config *config)
{
	char path[] = "/tmp/rg-config-XXXXXX";
	int fd = mkstemp(path);
	FILE *err;
	unsigned errors;

	memset(rg_told, 0, sizeof(rg_told));
	err = fmemopen(rg_told, sizeof(rg_told), "w");
	if (fd < 0 || err == NULL || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
	errors = rg_config_load(path, role, config, err);
	fclose(err);
	unlink(path);
	return errors;
}

/* A file with one flow of these keys, which are right. */
static inline const struct rg_flow_config *rg_try_flow(const char *keys, struct rg_config *config)
{
	char text[4096];

	snprintf(text, sizeof(text),
		"role = \"both\"; ports = ( { name = \"a\"; device = \"net_ring0\"; mtu = 9000; } ); flows = ( { name = \"f\"; "
		"dmac = \"02:00:00:00:00:02\"; smac = \"02:00:00:00:00:01\"; %s } );", keys);
	if (rg_try(text, NULL, config) != 0) {
		fputs(rg_told, stderr);
		abort();
	}
	return &config->flows[0];
}

#define RG_V4 "src = \"10.0.0.1\"; dst = \"10.0.0.2\"; "
#define RG_V6 "src = \"fd00::1\"; dst = \"fd00::2\"; "

#endif
