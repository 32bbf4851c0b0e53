/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK telemetry: what is asked of the daemon while it runs (docs/telemetry.md). DPDK calls back from threads of its own,
 * which must not touch what belongs to the main thread or to workers; so they leave a question, wake the main thread and
 * wait for the answer, for a bounded time. Each telemetry_*.c has the commands of one subject.
 */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include "roced.h"
#include "watch.h"

struct rte_tel_data;

/* Registers the commands, if the configuration wants telemetry. Main thread, before the loop. */
int telemetry_start(struct roced *roced);
/* Nobody is answered from now on. */
void telemetry_stop(void);
/* Readable when somebody asks; -1: telemetry is off. */
int telemetry_fd(void);
/* Answers. Main thread. */
void telemetry_serve(struct roced *roced);

/* ---- in DPDK's threads ---- */

/* Has the main thread call fill(roced, answer) and waits for it. 0; -ESHUTDOWN, -ETIMEDOUT: it was not called, nor will be. */
int telemetry_ask(void (*fill)(struct roced *roced, void *answer), void *answer);

/* What stands behind a command: a number of most at most, or nothing, which is 0. 0 or -EINVAL. */
int telemetry_read_number(const char *params, uint32_t most, uint32_t *number);

/* An array of the object d, under that name. 0 or -ENOMEM. */
int telemetry_put_numbers(struct rte_tel_data *d, const char *name, const uint64_t *numbers, uint32_t n);
int telemetry_put_texts(struct rte_tel_data *d, const char *name, const char *const *texts, uint32_t n);

/* A column of rows as an array of the object d. 0 or -ENOMEM. */
int telemetry_put_column(struct rte_tel_data *d, const struct watch_table *table, const struct watch_column *column, const void *rows,
	uint32_t n);
/* Answers with a table, without the first `from` of its rows, as many as fit. 0 or a negative errno. */
int telemetry_answer_table(enum watch_id id, uint32_t from, struct rte_tel_data *info);

/* ---- commands: 0 or what registering them said ---- */
int telemetry_paths_start(void);
int telemetry_counters_start(void);
int telemetry_ports_start(void);
int telemetry_protect_start(void);
int telemetry_xdp_start(void);
int telemetry_gateway_start(void);
int telemetry_reach_start(void);
int telemetry_tables_start(void);
int telemetry_reload_start(void);
int telemetry_capture_start(void);

#endif
