/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a libconfig file by the table of keys. */
#include <libconfig.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config_read.h"

/* Where the reader is: the group's path with "[]" for the table and with indices for people. */
struct place {
	char pattern[96];
	char shown[96];
	void *base;                /* struct that the keys' offsets are in */
};

void config_error(struct config_reader *reader, const struct config_at *at, const char *fmt, ...)
{
	va_list ap;

	fprintf(reader->err, "%s:", at->file != NULL ? at->file : reader->path);
	if (at->line != 0)
		fprintf(reader->err, "%u:", at->line);
	fputc(' ', reader->err);
	va_start(ap, fmt);
	vfprintf(reader->err, fmt, ap);
	va_end(ap);
	fputc('\n', reader->err);
	reader->n_errors++;
}

/* The file's name, kept by the reader since libconfig's goes away. */
static const char *keep_file(struct config_reader *reader, const char *file)
{
	if (file == NULL)
		file = reader->path;
	for (size_t i = 0; i < CONFIG_MAX_FILES; i++) {
		char *slot = reader->files[i];

		if (slot[0] == '\0')
			snprintf(slot, CONFIG_TEXT_BYTES, "%s", file);
		if (!strncmp(slot, file, CONFIG_TEXT_BYTES - 1))
			return slot;
	}
	return NULL;
}

static struct config_at at_of(struct config_reader *reader, const config_setting_t *setting)
{
	struct config_at at = {
		.file = keep_file(reader, config_setting_source_file(setting)),
		.line = config_setting_source_line(setting),
	};

	return at;
}

/* parent + "." + name + suffix; the table's paths are short enough for out. */
static void join(char *out, size_t n, const char *parent, const char *name, size_t name_bytes, const char *suffix)
{
	int used = snprintf(out, n, "%s%s", parent, parent[0] != '\0' ? "." : "");

	if (used < 0 || (size_t)used + name_bytes + strlen(suffix) >= n)
		return;
	memcpy(out + used, name, name_bytes);
	strcpy(out + (size_t)used + name_bytes, suffix);
}

/* index < 0: the key itself, else an entry of it. */
static void place_child(const struct place *parent, const char *name, size_t n, int index, struct place *child)
{
	char suffix[16] = "";

	child->base = parent->base;
	if (index >= 0)
		snprintf(suffix, sizeof(suffix), "[%d]", index);
	join(child->pattern, sizeof(child->pattern), parent->pattern, name, n, index >= 0 ? "[]" : "");
	join(child->shown, sizeof(child->shown), parent->shown, name, n, suffix);
}

/* Edits (insert, delete, replace) between two short words. */
static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t row[64];

	if (nb >= sizeof(row) / sizeof(row[0]))
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[nb];
}

static void unknown_key(struct config_reader *reader, const struct place *place, const config_setting_t *setting)
{
	const char *given = config_setting_name(setting);
	struct config_at at = at_of(reader, setting);
	const struct config_key *best = NULL;
	size_t n, least = SIZE_MAX, given_bytes = strlen(given);
	char list[1024] = "";

	for (size_t i = 0; i < reader->n_keys; i++) {
		const char *name;
		size_t d, used = strlen(list);

		if (!config_key_is_child(&reader->keys[i], place->pattern))
			continue;
		name = config_key_name(&reader->keys[i], &n);
		d = edit_distance(given, given_bytes, name, n);
		if (d < least) {
			least = d;
			best = &reader->keys[i];
		}
		snprintf(list + used, sizeof(list) - used, "%s%.*s", used == 0 ? "" : ", ", (int)n, name);
	}
	if (best != NULL && least <= 2 + given_bytes / 4) {
		const char *name = config_key_name(best, &n);

		config_error(reader, &at, "%s%sunknown key '%s', did you mean '%.*s'?", place->shown,
			place->shown[0] != '\0' ? ": " : "", given, (int)n, name);
	} else {
		config_error(reader, &at, "%s%sunknown key '%s', known are: %s", place->shown,
			place->shown[0] != '\0' ? ": " : "", given, list);
	}
}

static void wrong_type(struct config_reader *reader, const struct place *place, const struct config_key *key,
	const config_setting_t *setting)
{
	struct config_at at = at_of(reader, setting);

	config_error(reader, &at, "%s: must be %s", place->shown, config_type_name(key->type));
}

static void store_uint(const struct config_key *key, void *dst, uint64_t value)
{
	if (key->bytes == sizeof(uint64_t)) {
		memcpy(dst, &value, sizeof(value));
	} else {
		uint32_t narrow = (uint32_t)value;

		memcpy(dst, &narrow, sizeof(narrow));
	}
}

static void read_uint(struct config_reader *reader, const struct place *place, const struct config_key *key,
	const config_setting_t *setting, void *dst)
{
	struct config_at at = at_of(reader, setting);
	int type = config_setting_type(setting);
	long long value;

	if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64) {
		wrong_type(reader, place, key, setting);
		return;
	}
	value = config_setting_get_int64(setting);
	if (type == CONFIG_TYPE_INT)
		value = config_setting_get_int(setting);
	if (value < 0 || (uint64_t)value < key->min || (uint64_t)value > key->max)
		config_error(reader, &at, "%s: %lld is out of range, must be %llu to %llu%s%s", place->shown, value,
			(unsigned long long)key->min, (unsigned long long)key->max,
			key->unit[0] != '\0' ? " " : "", key->unit);
	else if (key->type == CONFIG_RDMA_MTU && (value & (value - 1)) != 0)
		config_error(reader, &at, "%s: %lld is no RDMA MTU, must be 256, 512, 1024, 2048 or 4096", place->shown,
			value);
	else
		store_uint(key, dst, (uint64_t)value);
}

static void read_text(struct config_reader *reader, const struct place *place, const struct config_key *key,
	const config_setting_t *setting, void *dst)
{
	struct config_at at = at_of(reader, setting);
	const char *text = config_setting_get_string(setting), *want;

	if (text == NULL) {
		wrong_type(reader, place, key, setting);
		return;
	}
	want = config_value_parse(key, text, dst);
	if (want != NULL)
		config_error(reader, &at, "%s: \"%s\" is wrong, must be %s", place->shown, text, want);
}

static void read_group(struct config_reader *reader, const struct place *place, const config_setting_t *group);
static void set_group_defaults(const struct config_reader *reader, const char *pattern, void *base);

static bool count_ok(struct config_reader *reader, const struct place *place, const struct config_key *key,
	const config_setting_t *setting)
{
	struct config_at at = at_of(reader, setting);
	int n = config_setting_length(setting);

	if ((uint64_t)n >= key->min && (uint64_t)n <= key->max)
		return true;
	config_error(reader, &at, "%s: has %d entries, must have %llu to %llu", place->shown, n,
		(unsigned long long)key->min, (unsigned long long)key->max);
	return false;
}

/* A text in the place of a group is its first key, and the others have their defaults. */
static void read_short(struct config_reader *reader, const struct place *place, const config_setting_t *text)
{
	const struct config_key *key = reader->keys;

	while (!config_key_is_child(key, place->pattern))
		key++;
	set_group_defaults(reader, place->pattern, place->base);
	read_text(reader, place, key, text, (uint8_t *)place->base + key->off);
}

static void read_element(struct config_reader *reader, const struct place *place, const struct config_key *key,
	const config_setting_t *element)
{
	struct config_at at = at_of(reader, element);

	memcpy(place->base, &at, sizeof(at));
	if (config_setting_is_group(element))
		read_group(reader, place, element);
	else if (key->type == CONFIG_PEERS_OF)
		read_short(reader, place, element);
	else
		config_error(reader, &at, "%s: must be a group { ... }", place->shown);
}

static void read_list(struct config_reader *reader, const struct place *parent, const struct place *place,
	const struct config_key *key, const config_setting_t *setting)
{
	int n = config_setting_length(setting);
	size_t name_bytes;
	const char *name = config_key_name(key, &name_bytes);
	uint8_t *elements = (uint8_t *)parent->base + key->off;
	uint32_t count = 0;

	if (!config_setting_is_list(setting) && !(key->type == CONFIG_PEERS_OF && config_setting_is_array(setting))) {
		wrong_type(reader, place, key, setting);
		return;
	}
	if (!count_ok(reader, place, key, setting))
		return;
	for (; count < (uint32_t)n; count++) {
		struct place child;

		place_child(parent, name, name_bytes, (int)count, &child);
		child.base = elements + (size_t)count * key->bytes;
		read_element(reader, &child, key, config_setting_get_elem(setting, count));
	}
	memcpy((uint8_t *)parent->base + key->count_off, &count, sizeof(count));
}

/* As [ ] or ( ). */
static bool is_array(struct config_reader *reader, const struct place *place, const struct config_key *key,
	const config_setting_t *setting)
{
	if (config_setting_is_array(setting) || config_setting_is_list(setting))
		return true;
	wrong_type(reader, place, key, setting);
	return false;
}

/* What an array of that type is made of. */
static enum config_type item_type(enum config_type type)
{
	switch (type) {
	case CONFIG_TEXTS:
		return CONFIG_TEXT;
	case CONFIG_NAMES:
		return CONFIG_NAME;
	case CONFIG_NETWORKS:
		return CONFIG_NETWORK;
	default:
		return type;
	}
}

/* An array of texts. */
static void read_array(struct config_reader *reader, const struct place *parent, const struct place *place,
	const struct config_key *key, const config_setting_t *setting)
{
	uint32_t count = (uint32_t)config_setting_length(setting);
	size_t name_bytes;
	const char *name = config_key_name(key, &name_bytes);

	if (!is_array(reader, place, key, setting) || !count_ok(reader, place, key, setting))
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct config_key item = *key;
		struct place child;

		place_child(parent, name, name_bytes, (int)i, &child);
		item.type = item_type(key->type);
		item.min = 1;
		read_text(reader, &child, &item, config_setting_get_elem(setting, i),
			(uint8_t *)parent->base + key->off + (size_t)i * key->bytes);
	}
	memcpy((uint8_t *)parent->base + key->count_off, &count, sizeof(count));
}

/* An array of numbers. */
static void read_bits(struct config_reader *reader, const struct place *parent, const struct place *place,
	const struct config_key *key, const config_setting_t *setting, uint64_t *bits)
{
	uint32_t count = (uint32_t)config_setting_length(setting);
	size_t name_bytes;
	const char *name = config_key_name(key, &name_bytes);

	if (!is_array(reader, place, key, setting))
		return;
	memset(bits, 0, key->bytes);
	for (uint32_t i = 0; i < count; i++) {
		struct config_key item = *key;
		struct place child;
		uint64_t bit = 0;

		place_child(parent, name, name_bytes, (int)i, &child);
		item.type = CONFIG_UINT;
		item.bytes = sizeof(bit);
		read_uint(reader, &child, &item, config_setting_get_elem(setting, i), &bit);
		bits[bit / 64] |= 1ull << bit % 64;
	}
}

static void read_value(struct config_reader *reader, const struct place *parent, const struct config_key *key,
	const config_setting_t *setting)
{
	uint8_t *dst = (uint8_t *)parent->base + key->off;
	size_t n;
	const char *name = config_key_name(key, &n);
	struct place place;

	place_child(parent, name, n, -1, &place);
	switch (key->type) {
	case CONFIG_GROUP_OF:
		if (config_setting_is_group(setting))
			read_group(reader, &place, setting);
		else
			wrong_type(reader, &place, key, setting);
		break;
	case CONFIG_LIST_OF:
	case CONFIG_PEERS_OF:
		read_list(reader, parent, &place, key, setting);
		break;
	case CONFIG_TEXTS:
	case CONFIG_NAMES:
	case CONFIG_NETWORKS:
	case CONFIG_PREFIXES:
	case CONFIG_SUITE:
		read_array(reader, parent, &place, key, setting);
		break;
	case CONFIG_BITS:
		read_bits(reader, parent, &place, key, setting, (uint64_t *)(void *)dst);
		break;
	case CONFIG_UINT:
	case CONFIG_RDMA_MTU:
		read_uint(reader, &place, key, setting, dst);
		break;
	case CONFIG_BOOLEAN:
		if (config_setting_type(setting) == CONFIG_TYPE_BOOL)
			*(bool *)dst = config_setting_get_bool(setting) != 0;
		else
			wrong_type(reader, &place, key, setting);
		break;
	default:
		read_text(reader, &place, key, setting, dst);
	}
}

/* Defaults are text in the table, so they pass the same parser as what users write. */
static void set_default(const struct config_key *key, void *base)
{
	void *dst = (uint8_t *)base + key->off;

	if (key->dflt == NULL || key->dflt[0] == '\0')
		return;
	if (key->type == CONFIG_UINT || key->type == CONFIG_RDMA_MTU)
		store_uint(key, dst, strtoull(key->dflt, NULL, 10));
	else if (key->type == CONFIG_BOOLEAN)
		*(bool *)dst = !strcmp(key->dflt, "true");
	else
		config_value_parse(key, key->dflt, dst);
}

static void missing_key(struct config_reader *reader, const struct place *place, const struct config_key *key,
	const config_setting_t *group)
{
	struct config_at at = at_of(reader, group);
	size_t n;
	const char *name = config_key_name(key, &n);

	if (at.line == 0)
		at.line = 1;
	config_error(reader, &at, "%s%skey '%.*s' is missing: %s, %s", place->shown,
		place->shown[0] != '\0' ? ": " : "", (int)n, name, config_type_name(key->type), key->help);
}

static const config_setting_t *find_member(const config_setting_t *group, const struct config_key *key)
{
	size_t n;
	const char *name = config_key_name(key, &n);

	for (int i = 0; group != NULL && i < config_setting_length(group); i++) {
		const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);

		if (!strncmp(config_setting_name(member), name, n) && config_setting_name(member)[n] == '\0')
			return member;
	}
	return NULL;
}

static void set_group_defaults(const struct config_reader *reader, const char *pattern, void *base)
{
	for (size_t i = 0; i < reader->n_keys; i++) {
		if (!config_key_is_child(&reader->keys[i], pattern))
			continue;
		set_default(&reader->keys[i], base);
		if (reader->keys[i].type == CONFIG_GROUP_OF)
			set_group_defaults(reader, reader->keys[i].path, base);
	}
}

static void read_group(struct config_reader *reader, const struct place *place, const config_setting_t *group)
{
	set_group_defaults(reader, place->pattern, place->base);
	for (size_t i = 0; i < reader->n_keys; i++) {
		const struct config_key *key = &reader->keys[i];
		const config_setting_t *member;

		if (!config_key_is_child(key, place->pattern))
			continue;
		member = find_member(group, key);
		if (member != NULL)
			read_value(reader, place, key, member);
		else if (key->dflt == NULL)
			missing_key(reader, place, key, group);
	}
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
		bool known = false;

		for (size_t k = 0; k < reader->n_keys && !known; k++)
			known = config_key_is_child(&reader->keys[k], place->pattern) &&
				find_member(group, &reader->keys[k]) == member;
		if (!known)
			unknown_key(reader, place, member);
	}
}

bool config_read_table(struct config_reader *reader)
{
	struct place top = {.base = reader->base};
	bool whole = false;
	config_t file;

	config_text_check(reader);
	if (reader->n_errors != 0)
		return false;
	config_init(&file);
	if (config_read_file(&file, reader->path) != CONFIG_TRUE) {
		struct config_at at = {
			.file = config_error_file(&file),
			.line = (unsigned)config_error_line(&file),
		};

		config_error(reader, &at, "%s", config_error_text(&file));
	} else {
		read_group(reader, &top, config_root_setting(&file));
		whole = true;
	}
	config_destroy(&file);
	return whole;
}
