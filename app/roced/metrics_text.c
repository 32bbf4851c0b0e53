/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics_text.h"

#include <stdlib.h>

#include "openmetrics.h"
#include "watch_fill.h"

#define MAX_BYTES (64u << 20) /* far above what CONFIG_MAX_METRICS_ROWS rows of every table take */

struct left_out {
	uint32_t n;
	struct watch_left_out rows[WATCH_TABLES];
};

/* As many rows as programs and peers like; of what the configuration names all rows are told. */
static bool is_long(enum watch_id id)
{
	return id == WATCH_ID_QPS || id == WATCH_ID_PATHS || id == WATCH_ID_CLIENTS || id == WATCH_ID_PROTECTION || id == WATCH_ID_GATEWAY_PATHS;
}

static void put_table(struct roced *roced, enum watch_id id, struct openmetrics *out, struct left_out *left)
{
	const struct watch_table *table = &watch_tables[id];
	uint32_t most = is_long(id) ? roced->config.metrics.max_rows : CONFIG_MAX_METRICS_ROWS, n, all;
	void *rows = calloc(most + 1, table->row_bytes);

	if (rows == NULL) {
		out->failed = true;
		return;
	}
	n = watch_fill(roced, id, 0, rows, most, &all);
	openmetrics_table(out, table, rows, n);
	free(rows);
	if (!is_long(id))
		return;
	watch_set_text(left->rows[left->n].of, table->name);
	left->rows[left->n++].rows = all - n;
}

struct metrics_text *metrics_text_make(struct roced *roced, uint64_t now_ns)
{
	struct metrics_text *made = calloc(1, sizeof(*made));
	struct openmetrics out = {.most = MAX_BYTES};
	struct left_out left = {0};

	for (int id = 0; made != NULL && id < WATCH_ID_LEFT_OUT; id++)
		put_table(roced, (enum watch_id)id, &out, &left);
	openmetrics_table(&out, &watch_tables[WATCH_ID_LEFT_OUT], left.rows, left.n);
	openmetrics_end(&out);
	if (made == NULL || out.failed) {
		free(out.text);
		free(made);
		return NULL;
	}
	*made = (struct metrics_text){.refs = 1, .made_ns = now_ns, .text = out.text, .n = out.n};
	return made;
}

void metrics_text_release(struct metrics_text *text)
{
	if (text == NULL || --text->refs != 0)
		return;
	free(text->text);
	free(text);
}
