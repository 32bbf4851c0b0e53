/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be watched of the daemon, as tables: the one description of what is counted, from which telemetry, OpenMetrics, rocectl
 * and docs/metrics.md have names, units and explanations. A table has a struct for its rows (watch_tables.h), and columns: those that
 * say which thing a row is of, what is told of it, and numbers.
 */
#ifndef WATCH_H
#define WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "watch_tables.h"

enum watch_kind {
	WATCH_LABEL,       /* text: of which thing the row is; no two rows have the same labels */
	WATCH_NUMBER,      /* the same, a number */
	WATCH_TEXT,        /* what is told of the thing and seldom changes */
	WATCH_FACT,        /* the same, a number */
	WATCH_NOTE,        /* text that changes, for people: in no metric */
	WATCH_AGE,         /* the same, a number */
	WATCH_COUNTER,     /* only grows */
	WATCH_GAUGE,
};

/* A column's name ends in its unit: _ns, _s, _bytes, _percent, _bps, _mbps. */
enum watch_unit { WATCH_NONE, WATCH_NS, WATCH_SECONDS, WATCH_BYTES, WATCH_PERCENT, WATCH_BPS, WATCH_MBPS };

struct watch_column {
	const char *name;
	enum watch_kind kind;
	enum watch_unit unit;
	const char *help;
	size_t at;                 /* in the row: text of WATCH_TEXT_BYTES, or an uint64_t */
};

struct watch_table {
	const char *name;          /* "ports"; also how an answer calls the number of all rows */
	const char *thing;         /* "port": roced_port_... */
	const char *question;      /* "/roced/ports"; NULL: none asks for the table as such */
	const char *help;
	const struct watch_column *columns;
	uint32_t n_columns;
	size_t row_bytes;
};

extern const struct watch_table watch_tables[WATCH_TABLES];

static inline int watch_is_text(const struct watch_column *column)
{
	return column->kind == WATCH_LABEL || column->kind == WATCH_TEXT || column->kind == WATCH_NOTE;
}

static inline int watch_is_label(const struct watch_column *column)
{
	return column->kind == WATCH_LABEL || column->kind == WATCH_NUMBER;
}

static inline int watch_is_metric(const struct watch_column *column)
{
	return column->kind == WATCH_COUNTER || column->kind == WATCH_GAUGE;
}

/* A row's text, its number. */
static inline const char *watch_text(const struct watch_column *column, const void *row)
{
	return (const char *)row + column->at;
}

static inline uint64_t watch_number(const struct watch_column *column, const void *row)
{
	uint64_t n;

	__builtin_memcpy(&n, (const char *)row + column->at, sizeof(n));
	return n;
}

/* Row i of many. */
static inline const void *watch_row(const struct watch_table *table, const void *rows, size_t i)
{
	return (const char *)rows + i * table->row_bytes;
}

/* The table of that name, the column of that name; NULL: there is none. */
const struct watch_table *watch_find(const char *name);
const struct watch_column *watch_find_column(const struct watch_table *table, const char *name);

/* Name of a column's metric family, "roced_port_rx_bytes", cut to n bytes: base units as OpenMetrics wants them, seconds for _ns. The
 * sample of a counter has _total behind it. */
void watch_metric_name(const struct watch_table *table, const struct watch_column *column, char *name, size_t n);
/* "seconds", "bytes", ...; "": none. */
const char *watch_metric_unit(const struct watch_column *column);
/* A number in that unit, as text. */
#define WATCH_VALUE_BYTES 40
void watch_metric_value(const struct watch_column *column, uint64_t number, char text[WATCH_VALUE_BYTES]);

/* All metrics, a line each; markdown: as the tables of docs/metrics.md. */
void watch_print_metrics(FILE *out, int markdown);

#endif
