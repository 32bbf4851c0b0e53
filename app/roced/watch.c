/* SPDX-License-Identifier: BSD-3-Clause */
#include "watch.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define COLUMN(S, k, field, u, text) \
	{.name = #field, .kind = WATCH_##k, .unit = WATCH_##u, .help = (text), .at = offsetof(S, field)},

#define COLUMNS(id, name, thing, question, help) \
	static const struct watch_column name##_columns[] = {WATCH_##id(COLUMN, struct watch_##name)};
WATCH_TABLE_LIST(COLUMNS)

#define TABLE(id, n, t, q, text)                                                            \
	[WATCH_ID_##id] = {.name = #n,                                                      \
		.thing = (t),                                                               \
		.question = (q),                                                            \
		.help = (text),                                                             \
		.columns = n##_columns,                                                     \
		.n_columns = sizeof(n##_columns) / sizeof(n##_columns[0]),                  \
		.row_bytes = sizeof(struct watch_##n)},

const struct watch_table watch_tables[WATCH_TABLES] = {WATCH_TABLE_LIST(TABLE)};

/* How a unit ends a column's name and a metric's. */
static const struct {
	const char *suffix, *metric;
} units[] = {
	[WATCH_NONE] = {"", ""},
	[WATCH_NS] = {"_ns", "seconds"},
	[WATCH_SECONDS] = {"_s", "seconds"},
	[WATCH_BYTES] = {"_bytes", "bytes"},
	[WATCH_PERCENT] = {"_percent", "ratio"},
	[WATCH_BPS] = {"_bps", "bytes_per_second"},
	[WATCH_MBPS] = {"_mbps", "bytes_per_second"},
};

const struct watch_table *watch_find(const char *name)
{
	for (int i = 0; i < WATCH_TABLES; i++) {
		if (strcmp(watch_tables[i].name, name) == 0)
			return &watch_tables[i];
	}
	return NULL;
}

const struct watch_column *watch_find_column(const struct watch_table *table, const char *name)
{
	for (uint32_t c = 0; c < table->n_columns; c++) {
		if (strcmp(table->columns[c].name, name) == 0)
			return &table->columns[c];
	}
	return NULL;
}

const char *watch_metric_unit(const struct watch_column *column)
{
	return units[column->unit].metric;
}

void watch_metric_name(const struct watch_table *table, const struct watch_column *column, char *name, size_t n)
{
	const char *unit = watch_metric_unit(column);
	int stem = (int)(strlen(column->name) - strlen(units[column->unit].suffix));

	snprintf(name, n, "roced_%s_%.*s%s%s", table->thing, stem, column->name, unit[0] != '\0' ? "_" : "", unit);
}

/* number / 10^digits, without zeros at the end. */
static void decimal(char text[WATCH_VALUE_BYTES], uint64_t number, unsigned digits)
{
	uint64_t one = 1;
	size_t n;

	for (unsigned i = 0; i < digits; i++)
		one *= 10;
	snprintf(text, WATCH_VALUE_BYTES, "%" PRIu64 ".%0*" PRIu64, number / one, (int)digits, number % one);
	n = strlen(text);
	while (text[n - 1] == '0')
		n--;
	text[text[n - 1] == '.' ? n - 1 : n] = '\0';
}

void watch_metric_value(const struct watch_column *column, uint64_t number, char text[WATCH_VALUE_BYTES])
{
	if (column->unit == WATCH_NS)
		decimal(text, number, 9);
	else if (column->unit == WATCH_PERCENT)
		decimal(text, number, 2);
	else if (column->unit == WATCH_BPS)
		decimal(text, number / 8 * 1000 + number % 8 * 125, 3);
	else
		snprintf(text, WATCH_VALUE_BYTES, "%" PRIu64, column->unit == WATCH_MBPS ? number * 125000 : number);
}

/* ---- the list of metrics ---- */

static void print_labels(FILE *out, const struct watch_table *table)
{
	const char *separator = "";

	for (uint32_t c = 0; c < table->n_columns; c++) {
		if (!watch_is_label(&table->columns[c]))
			continue;
		fprintf(out, "%s%s", separator, table->columns[c].name);
		separator = ",";
	}
}

static void print_metric(FILE *out, const struct watch_table *table, const struct watch_column *column, int markdown)
{
	bool counter = column->kind == WATCH_COUNTER;
	char name[128];

	watch_metric_name(table, column, name, sizeof(name));
	if (markdown)
		fprintf(out, "| `%s%s` | %s |\n", name, counter ? "_total" : "", column->help);
	else
		fprintf(out, "%s%s %s {", name, counter ? "_total" : "", counter ? "counter" : "gauge");
	if (markdown)
		return;
	print_labels(out, table);
	fprintf(out, "} %s\n", column->help);
}

/* What is told of a thing and is no number that changes. */
static void print_info(FILE *out, const struct watch_table *table, int markdown)
{
	const char *separator = "";
	bool any = false;

	for (uint32_t c = 0; c < table->n_columns; c++)
		any |= table->columns[c].kind == WATCH_TEXT || table->columns[c].kind == WATCH_FACT;
	if (!any)
		return;
	fprintf(out, markdown ? "| `roced_%s_info` | 1, with the labels " : "roced_%s_info info {", table->thing);
	if (!markdown)
		print_labels(out, table);
	for (uint32_t c = 0; c < table->n_columns; c++) {
		const struct watch_column *column = &table->columns[c];

		if (column->kind != WATCH_TEXT && column->kind != WATCH_FACT)
			continue;
		if (markdown)
			fprintf(out, "%s`%s` (%s)", separator, column->name, column->help);
		else
			fprintf(out, ",%s", column->name);
		separator = ", ";
	}
	fprintf(out, markdown ? " |\n" : "} what is told of it\n");
}

static void print_table(FILE *out, const struct watch_table *table, int markdown)
{
	if (markdown) {
		const char *separator = ", with the labels ";

		fprintf(out, "\n%c%s", (char)(table->help[0] - 'a' + 'A'), table->help + 1);
		for (uint32_t c = 0; c < table->n_columns; c++) {
			if (!watch_is_label(&table->columns[c]))
				continue;
			fprintf(out, "%s`%s` (%s)", separator, table->columns[c].name, table->columns[c].help);
			separator = ", ";
		}
		fputs(":\n\n| metric | what |\n| --- | --- |\n", out);
	}
	print_info(out, table, markdown);
	for (uint32_t c = 0; c < table->n_columns; c++) {
		if (watch_is_metric(&table->columns[c]))
			print_metric(out, table, &table->columns[c], markdown);
	}
}

void watch_print_metrics(FILE *out, int markdown)
{
	for (int i = 0; i < WATCH_TABLES; i++)
		print_table(out, &watch_tables[i], markdown);
}
