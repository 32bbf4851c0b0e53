/* SPDX-License-Identifier: BSD-3-Clause */
#include "openmetrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 65536u
#define NAME_BYTES 128

/* ---- text ---- */

static bool has_room(struct openmetrics *out, size_t n)
{
	size_t room = out->room != 0 ? out->room : FIRST_ROOM;
	char *text;

	if (out->failed)
		return false;
	if (out->n + n <= out->room)
		return true;
	while (room < out->n + n)
		room *= 2;
	text = room <= out->most ? realloc(out->text, room) : NULL;
	if (text == NULL) {
		out->failed = true;
		return false;
	}
	out->text = text;
	out->room = room;
	return true;
}

static void put(struct openmetrics *out, const char *text)
{
	size_t n = strlen(text);

	if (!has_room(out, n))
		return;
	memcpy(out->text + out->n, text, n);
	out->n += n;
}

/* As a label's value: what is no printable ASCII might be no UTF-8 either. */
static void put_escaped(struct openmetrics *out, const char *text)
{
	size_t n = strlen(text);

	if (!has_room(out, 2 * n))
		return;
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '\\' || c == '"' || c == '\n')
			out->text[out->n++] = '\\';
		out->text[out->n++] = c == '\n' ? 'n' : c < ' ' || c > '~' ? '?' : (char)c;
	}
}

/* ---- families ---- */

static void put_head(struct openmetrics *out, const char *name, const char *type, const char *unit, const char *help)
{
	put(out, "# TYPE ");
	put(out, name);
	put(out, " ");
	put(out, type);
	if (unit[0] != '\0') {
		put(out, "\n# UNIT ");
		put(out, name);
		put(out, " ");
		put(out, unit);
	}
	put(out, "\n# HELP ");
	put(out, name);
	put(out, " ");
	put_escaped(out, help);
	put(out, "\n");
}

static bool is_info(const struct watch_column *column)
{
	return column->kind == WATCH_TEXT || column->kind == WATCH_FACT;
}

static void put_label(struct openmetrics *out, const struct watch_column *column, const void *row, bool first)
{
	char number[24];

	put(out, first ? "{" : ",");
	put(out, column->name);
	put(out, "=\"");
	if (watch_is_text(column)) {
		put_escaped(out, watch_text(column, row));
	} else {
		snprintf(number, sizeof(number), "%" PRIu64, watch_number(column, row));
		put(out, number);
	}
	put(out, "\"");
}

static void put_labels(struct openmetrics *out, const struct watch_table *table, const void *row, bool info)
{
	bool first = true;

	for (uint32_t c = 0; c < table->n_columns; c++) {
		const struct watch_column *column = &table->columns[c];

		if (!watch_is_label(column) && !(info && is_info(column)))
			continue;
		put_label(out, column, row, first);
		first = false;
	}
	if (!first)
		put(out, "}");
}

/* Whether it is of the same thing as the row before it. */
static bool is_again(const struct watch_table *table, const void *rows, uint32_t i)
{
	for (uint32_t c = 0; i > 0 && c < table->n_columns; c++) {
		const struct watch_column *column = &table->columns[c];
		const void *row = watch_row(table, rows, i), *before = watch_row(table, rows, i - 1);

		if (column->kind == WATCH_LABEL && strcmp(watch_text(column, row), watch_text(column, before)) != 0)
			return false;
		if (column->kind == WATCH_NUMBER && watch_number(column, row) != watch_number(column, before))
			return false;
	}
	return i > 0;
}

static void put_info(struct openmetrics *out, const struct watch_table *table, const void *rows, uint32_t n)
{
	char name[NAME_BYTES];
	bool any = false;

	for (uint32_t c = 0; c < table->n_columns; c++)
		any |= is_info(&table->columns[c]);
	if (!any)
		return;
	snprintf(name, sizeof(name), "roced_%s", table->thing);
	put_head(out, name, "info", "", table->help);
	for (uint32_t i = 0; i < n; i++) {
		if (is_again(table, rows, i))
			continue;
		put(out, name);
		put(out, "_info");
		put_labels(out, table, watch_row(table, rows, i), true);
		put(out, " 1\n");
	}
}

static void put_family(struct openmetrics *out, const struct watch_table *table, const struct watch_column *column, const void *rows,
	uint32_t n)
{
	bool counter = column->kind == WATCH_COUNTER;
	char name[NAME_BYTES], value[WATCH_VALUE_BYTES];

	watch_metric_name(table, column, name, sizeof(name));
	put_head(out, name, counter ? "counter" : "gauge", watch_metric_unit(column), column->help);
	for (uint32_t i = 0; i < n; i++) {
		const void *row = watch_row(table, rows, i);

		if (is_again(table, rows, i))
			continue;
		put(out, name);
		if (counter)
			put(out, "_total");
		put_labels(out, table, row, false);
		watch_metric_value(column, watch_number(column, row), value);
		put(out, " ");
		put(out, value);
		put(out, "\n");
	}
}

void openmetrics_table(struct openmetrics *out, const struct watch_table *table, const void *rows, uint32_t n)
{
	if (n == 0)
		return;
	put_info(out, table, rows, n);
	for (uint32_t c = 0; c < table->n_columns; c++) {
		if (watch_is_metric(&table->columns[c]))
			put_family(out, table, &table->columns[c], rows, n);
	}
}

void openmetrics_end(struct openmetrics *out)
{
	put(out, "# EOF\n");
}
