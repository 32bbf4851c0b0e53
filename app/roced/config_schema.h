/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of configuration keys; private to config*.c. */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include "config.h"

extern const struct config_key config_keys[];
extern const size_t config_n_keys;

static inline struct config *config_of(const struct config_reader *reader)
{
	return reader->base;
}

/* Checks what no single key shows: references, uniqueness, sizes that belong together. */
void config_check(struct config_reader *reader);
/* The parts of it that are about XDP programs, whose defaults it sets, about channels, and about protection. */
void config_check_xdp(struct config_reader *reader);
void config_check_channels(struct config_reader *reader);
/* Also finds the devices of peers: before config_protection_bytes(). */
void config_check_protected_peers(struct config_reader *reader);
void config_check_protection(struct config_reader *reader);

/* Whether two prefixes that could be read are one. */
bool config_same_network(const struct config_prefix *a, const struct config_prefix *b);

/* And the gateway. */
void config_check_gateway(struct config_reader *reader);

#endif
