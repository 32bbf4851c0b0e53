/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/gateway: what a gateway counted, its far gateways, and the paths to one of them: tables of watch.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "path_sched.h"
#include "telemetry.h"
#include "watch_fill.h"

#define MAX_PATHS ((uint32_t)PATH_SCHED_MAX_EVS)

struct answer {
	bool one;                  /* only the far gateway number */
	uint32_t number;
	uint32_t n_sums, n, n_paths;
	struct watch_gateway sums;
	struct watch_far_gateways remotes[CONFIG_MAX_REMOTES];
	struct watch_gateway_paths paths[PATH_SCHED_MAX_EVS];
};

static void fill(struct roced *roced, void *arg)
{
	struct answer *answer = arg;
	uint32_t all, each;

	answer->n_sums = watch_fill(roced, WATCH_ID_GATEWAY, 0, &answer->sums, 1, &all);
	answer->n = watch_fill(roced, WATCH_ID_FAR_GATEWAYS, 0, answer->remotes, CONFIG_MAX_REMOTES, &all);
	if (!answer->one || answer->number >= answer->n)
		return;
	each = (uint32_t)answer->remotes[answer->number].paths;
	answer->n_paths = watch_fill(roced, WATCH_ID_GATEWAY_PATHS, answer->number * each, answer->paths, RTE_MIN(each, MAX_PATHS), &all);
}

/* ---- DPDK's threads ---- */

static int put_columns(struct rte_tel_data *d, enum watch_id id, const void *rows, uint32_t n)
{
	const struct watch_table *table = &watch_tables[id];
	int rc = 0;

	for (uint32_t c = 0; c < table->n_columns && rc == 0; c++) {
		/* the paths to one are those from 0 on, to that one */
		if (id != WATCH_ID_GATEWAY_PATHS || !watch_is_label(&table->columns[c]))
			rc = telemetry_put_column(d, table, &table->columns[c], rows, n);
	}
	return rc;
}

static int put_all(struct rte_tel_data *d, const struct answer *answer)
{
	const struct watch_table *table = &watch_tables[WATCH_ID_GATEWAY];

	for (uint32_t c = 0; c < table->n_columns; c++)
		rte_tel_data_add_dict_u64(d, table->columns[c].name, watch_number(&table->columns[c], &answer->sums));
	return put_columns(d, WATCH_ID_FAR_GATEWAYS, answer->remotes, answer->n);
}

static int put(struct rte_tel_data *d, const struct answer *answer)
{
	rte_tel_data_start_dict(d);
	if (answer->n_sums == 0 || (answer->one && answer->n_paths == 0))
		return 0;
	if (!answer->one)
		return put_all(d, answer);
	rte_tel_data_add_dict_string(d, "far_gateway", answer->remotes[answer->number].far_gateway);
	return put_columns(d, WATCH_ID_GATEWAY_PATHS, answer->paths, answer->n_paths);
}

static int on_gateway(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	int rc = answer != NULL ? telemetry_read_number(params, CONFIG_MAX_REMOTES - 1, &answer->number) : -ENOMEM;

	(void)cmd;
	if (rc == 0) {
		answer->one = params != NULL && params[0] != '\0';
		rc = telemetry_ask(fill, answer);
	}
	if (rc == 0)
		rc = put(info, answer);
	free(answer);
	return rc;
}

int telemetry_gateway_start(void)
{
	return rte_telemetry_register_cmd("/roced/gateway", on_gateway,
		"Counters of the gateway and its far gateways; with the number of one: the paths to it");
}
