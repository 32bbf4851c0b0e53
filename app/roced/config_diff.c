/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config_schema.h"

#define TEXT_BYTES 16384 /* the longest value: an array of texts */
#define NAME_BYTES 32    /* of a key, without its groups */

/* A walk through two configurations side by side. */
struct walk {
	struct config_changes *changes;
	struct config_at at;       /* of the innermost element of the new one */
	int device;
	int rc;
	char from[TEXT_BYTES], to[TEXT_BYTES];
};

/* A list or group: its pattern in the table, and as it is shown. */
struct level {
	const char *pattern;
	char shown[CONFIG_WHERE_BYTES];
};

static void compare_group(struct walk *walk, const struct level *level, const void *from, const void *to);

static void place(const struct level *level, const struct config_key *key, struct level *child)
{
	size_t n;
	const char *name = config_key_name(key, &n);

	child->pattern = key->path;
	if (n > NAME_BYTES)
		n = NAME_BYTES;
	(void)snprintf(child->shown, sizeof(child->shown), "%.*s%s%.*s", CONFIG_WHERE_BYTES - NAME_BYTES - 2, level->shown,
		level->shown[0] != '\0' ? "." : "", (int)n, name);
}

static struct config_change *add(struct walk *walk, enum config_change_kind kind, const struct config_key *key, const char *shown)
{
	struct config_changes *c = walk->changes;
	struct config_change *more = c->change;

	if (c->n == c->room) {
		more = realloc(c->change, (c->room * 2 + 16) * sizeof(*more));
		if (more == NULL) {
			walk->rc = -ENOMEM;
			return NULL;
		}
		c->change = more;
		c->room = c->room * 2 + 16;
	}
	more = &c->change[c->n++];
	*more = (struct config_change){.kind = kind, .when = config_when(key->path), .path = key->path, .at = walk->at, .device = walk->device};
	(void)snprintf(more->where, sizeof(more->where), "%s", shown);
	return more;
}

/* ---- values ---- */

static bool is_array_of_addresses(const struct config_key *key)
{
	return key->type == CONFIG_PREFIXES && strcmp(key->path, "devices[].addresses") == 0;
}

/* Those that were there stay what and where they are, and have others behind them. */
static bool only_appended(const struct config_key *key, const void *from, const void *to)
{
	uint32_t before, after;

	memcpy(&before, (const uint8_t *)from + key->count_off, sizeof(before));
	memcpy(&after, (const uint8_t *)to + key->count_off, sizeof(after));
	return after > before &&
		memcmp((const uint8_t *)from + key->off, (const uint8_t *)to + key->off, (size_t)before * key->bytes) == 0;
}

static void compare_value(struct walk *walk, const struct level *level, const struct config_key *key, const void *from, const void *to)
{
	struct config_change *change;
	struct level here;

	config_print_value(key, from, walk->from, sizeof(walk->from));
	config_print_value(key, to, walk->to, sizeof(walk->to));
	if (strcmp(walk->from, walk->to) == 0)
		return;
	place(level, key, &here);
	change = add(walk, CONFIG_CHANGED, key, here.shown);
	if (change == NULL)
		return;
	(void)snprintf(change->from, sizeof(change->from), "%.*s", CONFIG_VALUE_BYTES - 1, walk->from);
	(void)snprintf(change->to, sizeof(change->to), "%.*s", CONFIG_VALUE_BYTES - 1, walk->to);
	/* GIDs keep their numbers, so programs need not know. */
	if (change->when == CONFIG_WHEN_UNUSED && is_array_of_addresses(key) && only_appended(key, from, to))
		change->when = CONFIG_WHEN_LIVE;
}

/* ---- lists ---- */

/* A list of one of the configurations. */
struct list {
	const struct config_key *key, *id;
	const uint8_t *elements;
	uint32_t n;
};

static const struct config_key *first_child(const char *pattern)
{
	for (size_t i = 0; i < config_n_keys; i++) {
		if (config_key_is_child(&config_keys[i], pattern))
			return &config_keys[i];
	}
	return NULL;
}

static void list_pattern(const struct config_key *key, char out[CONFIG_WHERE_BYTES])
{
	(void)snprintf(out, CONFIG_WHERE_BYTES, "%s[]", key->path);
}

static struct list list_of(const struct config_key *key, const char *pattern, const void *base)
{
	struct list list = {.key = key, .id = first_child(pattern), .elements = (const uint8_t *)base + key->off};

	memcpy(&list.n, (const uint8_t *)base + key->count_off, sizeof(list.n));
	return list;
}

static const void *element(const struct list *list, uint32_t i)
{
	return list->elements + (size_t)i * list->key->bytes;
}

static void id_of(const struct list *list, uint32_t i, char out[CONFIG_VALUE_BYTES])
{
	config_print_value(list->id, element(list, i), out, CONFIG_VALUE_BYTES);
}

/* A place of a device or far gateway that is gone: see config_align(). */
static bool is_hole(const struct list *list, uint32_t i)
{
	static const struct wire_addr none;
	const uint8_t *id = (const uint8_t *)element(list, i) + list->id->off;

	if (list->id->type == CONFIG_NAME)
		return id[0] == '\0';
	return list->id->type == CONFIG_NETWORK && strcmp(list->key->path, "gateway.remotes") == 0 && memcmp(id, &none, sizeof(none)) == 0;
}

/* How many of those before i have the same id. */
static uint32_t nth(const struct list *list, uint32_t i)
{
	char mine[CONFIG_VALUE_BYTES], other[CONFIG_VALUE_BYTES];
	uint32_t n = 0;

	id_of(list, i, mine);
	for (uint32_t k = 0; k < i; k++) {
		id_of(list, k, other);
		n += strcmp(mine, other) == 0;
	}
	return n;
}

/* The element of `in` that is element i of `list`; -1: there is none. */
static int find(const struct list *in, const struct list *list, uint32_t i)
{
	char mine[CONFIG_VALUE_BYTES], other[CONFIG_VALUE_BYTES];
	uint32_t left = nth(list, i);

	id_of(list, i, mine);
	for (uint32_t k = 0; k < in->n; k++) {
		id_of(in, k, other);
		if (strcmp(mine, other) == 0 && left-- == 0)
			return (int)k;
	}
	return -1;
}

static bool is_devices(const struct list *list)
{
	return strcmp(list->key->path, "devices") == 0;
}

static void show(const struct level *here, const struct list *list, uint32_t i, const char *pattern, struct level *child)
{
	char id[CONFIG_VALUE_BYTES];

	id_of(list, i, id);
	child->pattern = pattern;
	(void)snprintf(child->shown, sizeof(child->shown), "%.60s[%.80s]", here->shown, id);
}

static void compare_element(struct walk *walk, const struct level *child, const struct list *from, const struct list *to, int old, uint32_t i)
{
	struct config_at at = walk->at;
	int device = walk->device;

	memcpy(&walk->at, element(to, i), sizeof(walk->at));
	if (is_devices(to))
		walk->device = (int)i;
	if (old >= 0) {
		compare_group(walk, child, element(from, (uint32_t)old), element(to, i));
	} else {
		struct config_change *change = add(walk, CONFIG_ADDED, to->key, child->shown);

		if (change != NULL && change->when == CONFIG_WHEN_UNUSED && is_devices(to))
			change->when = CONFIG_WHEN_LIVE;
	}
	walk->at = at;
	walk->device = device;
}

/* Which is before which counts for channels and workers; elsewhere it is nobody's business. */
static bool has_order(const struct config_key *key)
{
	return strcmp(key->path, "channels") == 0 || strcmp(key->path, "workers") == 0;
}

static void compare_list(struct walk *walk, const struct level *level, const struct config_key *key, const void *from_base, const void *to_base)
{
	char pattern[CONFIG_WHERE_BYTES];
	struct level here, child;
	struct list from, to;
	bool moved = false;
	int last = -1;

	list_pattern(key, pattern);
	place(level, key, &here);
	from = list_of(key, pattern, from_base);
	to = list_of(key, pattern, to_base);
	for (uint32_t i = 0; i < from.n; i++) {
		if (is_hole(&from, i) || find(&to, &from, i) >= 0)
			continue;
		show(&here, &from, i, pattern, &child);
		if (is_devices(&from))
			walk->device = (int)i;
		(void)add(walk, CONFIG_REMOVED, key, child.shown);
		if (is_devices(&from))
			walk->device = -1;
	}
	for (uint32_t i = 0; i < to.n; i++) {
		int old = find(&from, &to, i);

		if (is_hole(&to, i))
			continue;
		moved |= old >= 0 && old < last;
		last = old >= 0 ? old : last;
		show(&here, &to, i, pattern, &child);
		compare_element(walk, &child, &from, &to, old, i);
	}
	if (moved && has_order(key)) {
		struct config_change *change = add(walk, CONFIG_CHANGED, key, here.shown);

		if (change != NULL)
			(void)snprintf(change->to, sizeof(change->to), "another order");
	}
}

static void compare_group(struct walk *walk, const struct level *level, const void *from, const void *to)
{
	for (size_t i = 0; i < config_n_keys && walk->rc == 0; i++) {
		const struct config_key *key = &config_keys[i];
		struct level child;

		if (!config_key_is_child(key, level->pattern))
			continue;
		switch (key->type) {
		case CONFIG_GROUP_OF:
			place(level, key, &child);
			compare_group(walk, &child, from, to);
			break;
		case CONFIG_LIST_OF:
		case CONFIG_PEERS_OF:
			compare_list(walk, level, key, from, to);
			break;
		default:
			compare_value(walk, level, key, from, to);
		}
	}
}

int config_compare(const struct config *running, const struct config *config, struct config_changes *changes)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	const struct level top = {.pattern = ""};
	int rc;

	*changes = (struct config_changes){0};
	if (walk == NULL)
		return -ENOMEM;
	walk->changes = changes;
	walk->device = -1;
	compare_group(walk, &top, running, config);
	rc = walk->rc;
	free(walk);
	return rc;
}

void config_changes_free(struct config_changes *changes)
{
	free(changes->change);
	*changes = (struct config_changes){0};
}

void config_change_print(const struct config_change *change, FILE *out)
{
	if (change->at.file != NULL && change->at.line != 0)
		fprintf(out, "%s:%u: ", change->at.file, change->at.line);
	switch (change->kind) {
	case CONFIG_ADDED:
		fprintf(out, "%s: added", change->where);
		break;
	case CONFIG_REMOVED:
		fprintf(out, "%s: removed", change->where);
		break;
	case CONFIG_CHANGED:
		if (change->from[0] != '\0')
			fprintf(out, "%s: %s becomes %s", change->where, change->from, change->to);
		else
			fprintf(out, "%s: %s", change->where, change->to);
		break;
	}
}
