/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listing.h"
#include "telemetry.h"

#define MAX_ROWS    65536u /* whatever a daemon says */
#define MAX_COLUMNS 24u
#define CELL_BYTES  WATCH_TEXT_BYTES

/* ---- asking ---- */

static int make_room(struct table *table, size_t n)
{
	char *rows = realloc(table->rows, (table->n + n) * table->what->row_bytes);

	if (rows == NULL)
		return -ENOMEM;
	table->rows = rows;
	memset(rows + table->n * table->what->row_bytes, 0, n * table->what->row_bytes);
	return 0;
}

static char *cell_at(const struct table *table, size_t row, const struct watch_column *column)
{
	return table->rows + row * table->what->row_bytes + column->at;
}

/* Rows of which some column is missing are none. */
static size_t take_column(struct table *table, const struct watch_column *column, const char *at, const char *end)
{
	static char texts[LISTING_ROWS][TELEMETRY_TEXT_BYTES];
	uint64_t numbers[LISTING_ROWS];
	size_t n;

	if (watch_is_text(column)) {
		n = telemetry_texts(at, end, column->name, texts, LISTING_ROWS);
		for (size_t i = 0; i < n; i++)
			memcpy(cell_at(table, table->n + i, column), texts[i], WATCH_TEXT_BYTES);
		return n;
	}
	n = telemetry_numbers(at, end, column->name, numbers, LISTING_ROWS);
	for (size_t i = 0; i < n; i++)
		memcpy(cell_at(table, table->n + i, column), &numbers[i], sizeof(numbers[i]));
	return n;
}

static int take_page(struct table *table, const char *at, const char *end, size_t *n)
{
	int rc = make_room(table, LISTING_ROWS);

	*n = LISTING_ROWS;
	for (uint32_t c = 0; rc == 0 && c < table->what->n_columns; c++) {
		size_t k = take_column(table, &table->what->columns[c], at, end);

		*n = k < *n ? k : *n;
	}
	return rc;
}

int table_read(int fd, enum watch_id id, bool json, struct table *table)
{
	static char answer[TELEMETRY_ANSWER_BYTES];
	size_t all, n;

	*table = (struct table){.what = &watch_tables[id]};
	do {
		char question[64];
		const char *end;
		int rc;

		/* ports are all in one answer; what may be behind the question there is a name */
		snprintf(question, sizeof(question), table->n != 0 ? "%s,%zu" : "%s", table->what->question, table->n);
		rc = telemetry_ask(fd, question, answer);
		if (rc != 0)
			return rc;
		end = answer + strlen(answer);
		if (telemetry_member(answer, end, table->what->name) == NULL)
			return -ENOTSUP;
		all = (size_t)telemetry_number(answer, end, table->what->name);
		if (json)
			puts(answer);
		rc = take_page(table, answer, end, &n);
		if (rc != 0)
			return rc;
		table->n += n;
	} while (n != 0 && table->n < all && table->n < MAX_ROWS);
	return 0;
}

void table_free(struct table *table)
{
	free(table->rows);
	table->rows = NULL;
}

/* ---- printing ---- */

static void number_cell(const struct table_column *as, const struct watch_column *column, uint64_t number, char cell[CELL_BYTES])
{
	if (as->form == TABLE_YES)
		snprintf(cell, CELL_BYTES, "%s", number != 0 ? "yes" : "no");
	else if (as->form == TABLE_HEX)
		snprintf(cell, CELL_BYTES, "%#" PRIx64, number);
	else if (column->unit == WATCH_NS && number == 0)
		snprintf(cell, CELL_BYTES, "-");
	else if (column->unit == WATCH_NS)
		snprintf(cell, CELL_BYTES, "%.1f", (double)number / 1000);
	else
		snprintf(cell, CELL_BYTES, "%" PRIu64, number);
}

static void put_cell(const struct table *table, size_t i, const struct table_column *as, char cell[CELL_BYTES])
{
	const struct watch_column *column = watch_find_column(table->what, as->name);
	const void *row = watch_row(table->what, table->rows, i);
	uint64_t number, other;

	if (watch_is_text(column)) {
		snprintf(cell, CELL_BYTES, "%s", watch_text(column, row)[0] != '\0' ? watch_text(column, row) : "-");
		return;
	}
	number = watch_number(column, row);
	if (as->form != TABLE_PER && as->form != TABLE_SHARE) {
		number_cell(as, column, number, cell);
		return;
	}
	other = watch_number(watch_find_column(table->what, as->other), row);
	if (as->form == TABLE_PER && other == 0)
		snprintf(cell, CELL_BYTES, "-");
	else if (as->form == TABLE_PER)
		snprintf(cell, CELL_BYTES, "%" PRIu64, number / other);
	else
		snprintf(cell, CELL_BYTES, "%.1f", number + other != 0 ? 100.0 * (double)number / (double)(number + other) : 0.0);
}

static bool is_left(const struct table *table, const struct table_column *as)
{
	return watch_is_text(watch_find_column(table->what, as->name)) || as->form == TABLE_YES;
}

static void print_cell(const char *cell, int width, bool left, bool last)
{
	if (left && last)
		printf("%s\n", cell);
	else
		printf(left ? "%-*s%s" : "%*s%s", width, cell, last ? "\n" : "  ");
}

static bool is_shown(const struct table *table, size_t i, const char *skip_zero)
{
	return skip_zero == NULL || watch_number(watch_find_column(table->what, skip_zero), watch_row(table->what, table->rows, i)) != 0;
}

void table_print(const struct table *table, const struct table_column *columns, const char *skip_zero)
{
	int width[MAX_COLUMNS];
	char cell[CELL_BYTES];
	uint32_t n = 0;

	for (; n < MAX_COLUMNS && columns[n].name != NULL; n++) {
		width[n] = (int)strlen(columns[n].title);
		for (size_t i = 0; i < table->n; i++) {
			put_cell(table, i, &columns[n], cell);
			if (is_shown(table, i, skip_zero) && (int)strlen(cell) > width[n])
				width[n] = (int)strlen(cell);
		}
	}
	for (uint32_t c = 0; c < n; c++)
		print_cell(columns[c].title, width[c], is_left(table, &columns[c]), c + 1 == n);
	for (size_t i = 0; i < table->n; i++) {
		for (uint32_t c = 0; c < n && is_shown(table, i, skip_zero); c++) {
			put_cell(table, i, &columns[c], cell);
			print_cell(cell, width[c], is_left(table, &columns[c]), c + 1 == n);
		}
	}
}

void table_print_all(const struct table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		for (uint32_t c = 0; c < table->what->n_columns; c++) {
			const struct watch_column *column = &table->what->columns[c];
			struct table_column as = {.name = column->name};
			char cell[CELL_BYTES];

			if (watch_is_text(column))
				put_cell(table, i, &as, cell);
			else
				snprintf(cell, sizeof(cell), "%" PRIu64, watch_number(column, watch_row(table->what, table->rows, i)));
			printf("%-20s %-18s  %s\n", column->name, cell, column->help);
		}
		if (i + 1 < table->n)
			putchar('\n');
	}
}
