/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a libconfig file into structs by a table of keys, which says of each its type, range, unit and default. All
 * errors are told at once, each with file and line and what would be right. The daemon's configuration and the
 * simulator's scenarios are such tables.
 */
#ifndef CONFIG_READ_H
#define CONFIG_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CONFIG_TEXT_BYTES 256
#define CONFIG_MAX_FILES  8

/* Elements of lists start with the place they were read from. */
struct config_at {
	const char *file;          /* lives as long as the reader's files */
	unsigned line;
};

enum config_type {
	CONFIG_GROUP_OF,  /* { ... } at most once */
	CONFIG_LIST_OF,   /* ( { ... }, ... ) */
	CONFIG_UINT,
	CONFIG_BOOLEAN,
	CONFIG_TEXT,
	CONFIG_NAME,      /* letters, digits, '-', '_', '.' */
	CONFIG_TEXTS,     /* [ "...", ... ] */
	CONFIG_NAMES,     /* the same, of names */
	CONFIG_NETWORKS,  /* and of networks */
	CONFIG_PREFIXES,  /* [ "10.0.0.1/24", "fd00::1/64" ] */
	CONFIG_ADDR4,
	CONFIG_ADDR6,
	CONFIG_MAC,
	CONFIG_CPUS,      /* "0-3,7" */
	CONFIG_GID,       /* group of users: a name the system knows, or a number */
	CONFIG_MODE,      /* file mode in octal, as text */
	CONFIG_RDMA_MTU,
	CONFIG_PEERS_OF,  /* the same as CONFIG_LIST_OF; a text stands for a group with nothing but its first key */
	CONFIG_NETWORK,   /* "10.0.0.0/24", "fd00::/64", "10.1.0.7" */
	CONFIG_SCHEDULER, /* name of an enum path_sched_kind */
	CONFIG_POLICY,    /* "off", "optional" or "required" */
	CONFIG_SUITE,     /* name of an enum crypt_suite; as an array */
	CONFIG_CONTROLLER, /* "window" or name of an enum cc_kind */
	CONFIG_PFC_MODE,  /* name of an enum config_pfc_mode */
	CONFIG_XDP,       /* name of an enum config_xdp_mode */
	CONFIG_LISTEN,    /* "9464", "127.0.0.1:9464", "[::1]:9464"; an address of this machine, loopback's without one */
	CONFIG_BITS,      /* [ 3, 26 ]: a set of numbers, each a bit of an uint64_t, or of an array of these */
	CONFIG_CHOICE,    /* one of the names in `unit`, "this|that"; an uint32_t, its place there from 0 on */
};

/* One key. Numbers of a list or an array are bounded by min..max, as values of a number are. */
struct config_key {
	const char *path;       /* "workers[].rx[].port" */
	enum config_type type;
	uint32_t off;           /* in the struct of the enclosing list element, else of the whole file */
	uint32_t bytes;         /* of the field; of one element for lists and arrays */
	uint32_t count_off;     /* lists and arrays: where their uint32_t count is */
	uint64_t min, max;
	const char *dflt;       /* as text; NULL: must be given */
	const char *unit;       /* or the names of a CONFIG_CHOICE */
	const char *help;
};

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
	const struct config_key *keys;
	size_t n_keys;
	void *base;                /* the struct that is filled in; all zero before */
	char (*files)[CONFIG_TEXT_BYTES]; /* CONFIG_MAX_FILES names for struct config_at to point to */
	FILE *err;
	unsigned n_errors;
};

__attribute__((format(printf, 3, 4))) void config_error(
	struct config_reader *reader, const struct config_at *at, const char *fmt, ...);

/* Reads the file. Whether all of it was looked at, right or wrong: then what no single key shows may be checked. */
bool config_read_table(struct config_reader *reader);

/* Finds what libconfig would pass over, or not survive. */
void config_text_check(struct config_reader *reader);

/* Prints a table of keys; markdown: as a table of a document. */
void config_print_keys(FILE *out, const struct config_key *keys, size_t n_keys, bool markdown);
/* The same with what when() says of each: whether it may change while the program runs. */
void config_print_keys_when(FILE *out, const struct config_key *keys, size_t n_keys, bool markdown,
	const char *(*when)(const struct config_key *key));

#endif
