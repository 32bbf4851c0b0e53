/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs between the configuration that runs and another one, key by key, and what may change while the daemon runs.
 * Elements of lists are the same if their first keys are (names of ports and devices, networks of peers, ...).
 */
#ifndef CONFIG_DIFF_H
#define CONFIG_DIFF_H

#include "config.h"

#define CONFIG_WHERE_BYTES 160
#define CONFIG_VALUE_BYTES 128

/* When a key may change. */
enum config_when {
	CONFIG_WHEN_RESTART, /* the daemon starts anew */
	CONFIG_WHEN_LIVE,
	CONFIG_WHEN_UNUSED,  /* while no program uses the device; a device may be added at any time */
};

enum config_change_kind { CONFIG_CHANGED, CONFIG_ADDED, CONFIG_REMOVED };

struct config_change {
	enum config_change_kind kind;
	enum config_when when;
	const char *path;          /* of the key, as in the table of keys */
	char where[CONFIG_WHERE_BYTES]; /* devices["roced1"].mtu */
	char from[CONFIG_VALUE_BYTES], to[CONFIG_VALUE_BYTES]; /* as in a file, cut; "": none */
	struct config_at at;       /* where the new file has it, as far as is known; file NULL: not */
	int device;                /* place in devices; -1: of none */
};

struct config_changes {
	uint32_t n, room;
	struct config_change *change;
};

/* When the key of that path may change. */
enum config_when config_when(const char *path);
/* "restart", "live" or "unused device". */
const char *config_when_name(enum config_when when);

/*
 * Gives ports, devices and far gateways of `config`, which was loaded without errors, the places that those of the same names or
 * addresses have in `running`, and all others free ones. A place that nobody has any more stays, without name and address. What refers to places is set
 * anew. 0 or a negative errno.
 */
int config_align(struct config *config, const struct config *running);
/* The same configuration in another place. */
void config_copy(struct config *to, const struct config *from);

/* All that differs, in the order of the table of keys. 0 or -ENOMEM; config_changes_free() is due. */
int config_compare(const struct config *running, const struct config *config, struct config_changes *changes);
void config_changes_free(struct config_changes *changes);
/* One line about a change, without its end. */
void config_change_print(const struct config_change *change, FILE *out);

/* ---- config_print.c ---- */
/* A value as a file has it, in n bytes of out, cut. base: the struct that the key's offset is in. */
void config_print_value(const struct config_key *key, const void *base, char *out, size_t n);

#endif
