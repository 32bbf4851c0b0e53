/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of the daemon (app/roced/watch.h), asked for and printed. */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>

#include "watch.h"

struct table {
	const struct watch_table *what;
	char *rows;                /* as what->row_bytes says; table_free() */
	size_t n;
};

/* All rows of a table that can be asked for. json: the answers go to standard output as they come. 0 or a negative errno: -ENOTSUP: the
 * daemon has no such table. */
int table_read(int fd, enum watch_id id, bool json, struct table *table);
void table_free(struct table *table);

enum table_form {
	TABLE_PLAIN,
	TABLE_PER,                 /* by `other`, a whole number; "-": that is 0 */
	TABLE_SHARE,               /* percent of it and `other` together */
	TABLE_YES,                 /* "yes" or "no" */
	TABLE_HEX,
};

/* A column as it is printed; round trips in microseconds. */
struct table_column {
	const char *name;          /* NULL: the end */
	const char *title;
	enum table_form form;
	const char *other;
};

/* Prints the rows in columns as wide as they have to be; skip_zero: without those in which this column is 0, NULL: all. */
void table_print(const struct table *table, const struct table_column *columns, const char *skip_zero);
/* Prints every column of every row, with what it means. */
void table_print_all(const struct table *table);

#endif
