/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading the configuration again, as a transaction: the file is read and checked, compared with what runs, and all that can
 * fail is prepared, before anything changes; then the workers stand still for a moment and everything changes at once, or
 * nothing does. What keys may change: config_when(). Main thread.
 */
#ifndef RELOAD_H
#define RELOAD_H

#include "config_diff.h"

struct roced;

enum reload_outcome {
	RELOAD_UNCHANGED,  /* the file says what runs */
	RELOAD_APPLIED,
	RELOAD_POSSIBLE,   /* a dry run: it could be applied */
	RELOAD_REFUSED,    /* something needs a restart, or cannot be now; nothing has changed */
	RELOAD_WRONG,      /* the file has errors; nothing has changed */
};

struct reload_result {
	enum reload_outcome outcome;
	uint32_t changes, refused, errors;
	char *text;                /* lines for people; free() is due; NULL: no memory */
};

/* Reads the file at path, NULL: the one that the daemon was started with. dry: changes nothing in any case. */
void reload(struct roced *roced, const char *path, bool dry, struct reload_result *result);
/* The same, told to the log. */
void reload_by_signal(struct roced *roced);
const char *reload_outcome_name(enum reload_outcome outcome);

/* ---- for those who change something: reload_*.c ---- */

#define RELOAD_PARTS 8

struct reload {
	struct roced *roced;
	const char *path;
	struct config *config;     /* the new one */
	struct config_changes changes;
	FILE *out;                 /* lines for people */
	uint32_t refused;
	uint32_t files;            /* that the configuration names, and that are others now */
	void *prepared[RELOAD_PARTS]; /* a part's own */
};

/* What a subject does. All are called in their order, but for undo(). */
struct reload_part {
	/* Takes all memory and reads all files that are needed, and refuses what cannot be; changes nothing. 0 or -ENOMEM. */
	int (*prepare)(struct reload *reload, void **prepared);
	/* The workers stand still; roced->config is the old one and has the new one behind it. Cannot fail. */
	void (*commit)(struct reload *reload, void *prepared);
	/* The workers run again and roced->config is new. */
	void (*finish)(struct reload *reload, void *prepared);
	/* Gives back what was prepared; after finish(), or in the place of commit(). */
	void (*undo)(struct reload *reload, void *prepared);
};

extern const struct reload_part reload_devices, reload_channels, reload_protect, reload_gateway, reload_verbs;

/* Something that differs is at or below that key. */
bool reload_touches(const struct reload *reload, const char *path);
/* The whole is refused; one line why. */
__attribute__((format(printf, 2, 3))) void reload_refuse(struct reload *reload, const char *fmt, ...);

#endif
