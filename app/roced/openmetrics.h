/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables as OpenMetrics 1.0 text (https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md). What is told of
 * a thing goes into an info metric, each number of a table into a metric family of its own.
 */
#ifndef OPENMETRICS_H
#define OPENMETRICS_H

#include <stdbool.h>

#include "watch.h"

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Text that grows, up to most bytes; all zero but for most before. */
struct openmetrics {
	char *text;                /* whoever made it frees it */
	size_t n, room, most;
	bool failed;               /* there was no memory, or no room: text is not whole */
};

/* All metrics of a table's rows; nothing of a table without rows. Of rows in a row with the same labels only the first counts: an XRC
 * target that several processes have open is told for each. */
void openmetrics_table(struct openmetrics *out, const struct watch_table *table, const void *rows, uint32_t n);
/* Ends the text. */
void openmetrics_end(struct openmetrics *out);

#endif
