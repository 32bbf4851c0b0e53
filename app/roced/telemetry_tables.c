/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of watch.h: /roced/ports and so on. An answer has the number of all rows, and an array for each column. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "telemetry.h"
#include "watch_fill.h"

#define MAX_ROWS     64u    /* of one answer */
#define ANSWER_BYTES 15000u /* of one answer: DPDK's have at most 16 KiB */

struct answer {
	enum watch_id id;
	uint32_t from, n, all;
	char *rows;
};

static void fill(struct roced *roced, void *arg)
{
	struct answer *answer = arg;

	answer->n = watch_fill(roced, answer->id, answer->from, answer->rows, MAX_ROWS, &answer->all);
}

/* ---- DPDK's threads ---- */

/* What a text takes in JSON at most: some characters are written as six. */
static size_t text_bytes(const char *text)
{
	size_t n = 3;

	for (; *text != '\0'; text++)
		n += *text < ' ' || *text == '"' || *text == '\\' ? 6 : 1;
	return n;
}

static size_t number_bytes(uint64_t number)
{
	char text[24];

	return (size_t)snprintf(text, sizeof(text), "%" PRIu64 ",", number);
}

/* How many of the rows go into one answer. */
static uint32_t that_fit(const struct watch_table *table, const void *rows, uint32_t n)
{
	size_t bytes = 0;
	uint32_t i;

	for (uint32_t c = 0; c < table->n_columns; c++)
		bytes += strlen(table->columns[c].name) + 8;
	for (i = 0; i < n && bytes < ANSWER_BYTES; i++) {
		const void *row = watch_row(table, rows, i);

		for (uint32_t c = 0; c < table->n_columns; c++) {
			const struct watch_column *column = &table->columns[c];

			bytes += watch_is_text(column) ? text_bytes(watch_text(column, row)) : number_bytes(watch_number(column, row));
		}
	}
	return bytes < ANSWER_BYTES ? i : i - 1;
}

int telemetry_put_column(struct rte_tel_data *d, const struct watch_table *table, const struct watch_column *column, const void *rows,
	uint32_t n)
{
	struct rte_tel_data *array = rte_tel_data_alloc();

	if (array == NULL)
		return -ENOMEM;
	rte_tel_data_start_array(array, watch_is_text(column) ? RTE_TEL_STRING_VAL : RTE_TEL_U64_VAL);
	for (uint32_t i = 0; i < n; i++) {
		const void *row = watch_row(table, rows, i);

		if (watch_is_text(column))
			rte_tel_data_add_array_string(array, watch_text(column, row));
		else
			rte_tel_data_add_array_u64(array, watch_number(column, row));
	}
	return rte_tel_data_add_dict_container(d, column->name, array, 0);
}

static int put(struct rte_tel_data *d, const struct watch_table *table, const struct answer *answer)
{
	uint32_t n = that_fit(table, answer->rows, answer->n);
	int rc = 0;

	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_u64(d, table->name, answer->all);
	for (uint32_t c = 0; c < table->n_columns && rc == 0; c++)
		rc = telemetry_put_column(d, table, &table->columns[c], answer->rows, n);
	return rc;
}

int telemetry_answer_table(enum watch_id id, uint32_t from, struct rte_tel_data *info)
{
	const struct watch_table *table = &watch_tables[id];
	struct answer answer = {.id = id, .from = from, .rows = calloc(MAX_ROWS, table->row_bytes)};
	int rc = answer.rows != NULL ? telemetry_ask(fill, &answer) : -ENOMEM;

	if (rc == 0)
		rc = put(info, table, &answer);
	free(answer.rows);
	return rc;
}

static int on_table(const char *cmd, const char *params, struct rte_tel_data *info)
{
	uint32_t from;
	int id = 0, rc = telemetry_read_number(params, UINT16_MAX, &from);

	while (id < WATCH_TABLES && (watch_tables[id].question == NULL || strcmp(watch_tables[id].question, cmd) != 0))
		id++;
	if (rc == 0 && id == WATCH_TABLES)
		rc = -EINVAL;
	return rc == 0 ? telemetry_answer_table((enum watch_id)id, from, info) : rc;
}

int telemetry_tables_start(void)
{
	char help[128];
	int rc = 0;

	for (int id = 0; id < WATCH_TABLES && rc == 0; id++) {
		const struct watch_table *table = &watch_tables[id];

		/* telemetry_ports.c answers for ports */
		if (table->question == NULL || id == WATCH_ID_PORTS)
			continue;
		snprintf(help, sizeof(help), "Table of %s; with a number: without so many of its rows", table->help);
		rc = rte_telemetry_register_cmd(table->question, on_table, help);
	}
	return rc;
}
