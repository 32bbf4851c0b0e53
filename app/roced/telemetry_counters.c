/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/counters: the transport's of all workers together, those of programs, and drops: tables of watch.h as one object. */
#include <errno.h>
#include <stdlib.h>

#include <rte_telemetry.h>

#include "telemetry.h"
#include "watch_fill.h"

struct answer {
	uint32_t n_workers, n_verbs, n_drops;
	struct watch_transport transport[VD_MAX_WORKERS];
	struct watch_verbs verbs;
	struct watch_drops drops[BASE_DROP_COUNT];
};

static void fill(struct roced *roced, void *arg)
{
	struct answer *answer = arg;
	uint32_t all;

	answer->n_workers = watch_fill(roced, WATCH_ID_TRANSPORT, 0, answer->transport, VD_MAX_WORKERS, &all);
	answer->n_verbs = watch_fill(roced, WATCH_ID_VERBS, 0, &answer->verbs, 1, &all);
	answer->n_drops = watch_fill(roced, WATCH_ID_DROPS, 0, answer->drops, BASE_DROP_COUNT, &all);
}

/* The sum of each number over the rows. */
static void put_sums(struct rte_tel_data *d, enum watch_id id, const void *rows, uint32_t n)
{
	const struct watch_table *table = &watch_tables[id];

	for (uint32_t c = 0; c < table->n_columns; c++) {
		uint64_t sum = 0;

		if (!watch_is_metric(&table->columns[c]))
			continue;
		for (uint32_t i = 0; i < n; i++)
			sum += watch_number(&table->columns[c], watch_row(table, rows, i));
		rte_tel_data_add_dict_u64(d, table->columns[c].name, sum);
	}
}

static void put(struct rte_tel_data *d, const struct answer *answer)
{
	rte_tel_data_start_dict(d);
	put_sums(d, WATCH_ID_TRANSPORT, answer->transport, answer->n_workers);
	put_sums(d, WATCH_ID_VERBS, &answer->verbs, answer->n_verbs);
	for (uint32_t i = 0; i < answer->n_drops; i++) {
		if (answer->drops[i].packets != 0)
			rte_tel_data_add_dict_u64(d, answer->drops[i].reason, answer->drops[i].packets);
	}
}

static int on_counters(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	int rc = answer != NULL ? telemetry_ask(fill, answer) : -ENOMEM;

	(void)cmd;
	(void)params;
	if (rc == 0)
		put(info, answer);
	free(answer);
	return rc;
}

int telemetry_counters_start(void)
{
	return rte_telemetry_register_cmd("/roced/counters", on_counters, "Counters of all workers together");
}
