/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of configuration keys and what its readers share; private to config*.c. */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include "config.h"

enum config_type {
	CONFIG_GROUP_OF,  /* { ... } at most once */
	CONFIG_LIST_OF,   /* ( { ... }, ... ) */
	CONFIG_UINT,
	CONFIG_BOOLEAN,
	CONFIG_TEXT,
	CONFIG_NAME,      /* letters, digits, '-', '_', '.' */
	CONFIG_TEXTS,     /* [ "...", ... ] */
	CONFIG_PREFIXES,  /* [ "10.0.0.1/24", "fd00::1/64" ] */
	CONFIG_ADDR4,
	CONFIG_ADDR6,
	CONFIG_MAC,
	CONFIG_CPUS,      /* "0-3,7" */
	CONFIG_GID,       /* group of users: a name the system knows, or a number */
	CONFIG_MODE,      /* file mode in octal, as text */
	CONFIG_RDMA_MTU,
};

/* One key. Numbers of a list or an array are bounded by min..max, as values of a number are. */
struct config_key {
	const char *path;       /* "workers[].rx[].port" */
	enum config_type type;
	uint32_t off;           /* in the struct of the enclosing list element, else in struct config */
	uint32_t bytes;         /* of the field; of one element for lists and arrays */
	uint32_t count_off;     /* lists and arrays: where their uint32_t count is */
	uint64_t min, max;
	const char *dflt;       /* as text; NULL: must be given */
	const char *unit;
	const char *help;
};

extern const struct config_key config_keys[];
extern const size_t config_n_keys;

/* Whether key is a direct child of the group whose path pattern is given ("" for the top). */
bool config_key_is_child(const struct config_key *key, const char *group);
/* Last component of the path, without "[]"; n_bytes its length. */
const char *config_key_name(const struct config_key *key, size_t *n_bytes);
const char *config_type_name(enum config_type type);

/* Reads text of a type into the key's field at dst. Returns NULL or what would have been right. */
const char *config_value_parse(const struct config_key *key, const char *text, void *dst);

/* Reading state; errors are printed as they are found and counted. */
struct config_reader {
	const char *path;
	struct config *config;
	FILE *err;
	unsigned n_errors;
};

__attribute__((format(printf, 3, 4))) void config_error(
	struct config_reader *reader, const struct config_at *at, const char *fmt, ...);

/* Finds what libconfig would pass over, or not survive. */
void config_text_check(struct config_reader *reader);

/* Checks what no single key shows: references, uniqueness, sizes that belong together. */
void config_check(struct config_reader *reader);

#endif
