/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serves the tables of watch.h as OpenMetrics over HTTP (docs/metrics.md), if metrics.listen says where. Main thread. What somebody
 * can have it do is bounded: connections and the time of each, the length of a request, how often the text is made, and the
 * rows of each table.
 */
#ifndef METRICS_H
#define METRICS_H

#include "roced.h"
#include "watch.h"

struct metrics;

/* Listens. 0, also when nobody wants that; a negative errno, told to the log. */
int metrics_start(struct roced *roced);
/* NULL in roced->metrics is fine. */
void metrics_stop(struct roced *roced);
/* An epoll descriptor, readable when metrics_serve() has work; -1: nobody is served. */
int metrics_fd(const struct roced *roced);
/* Serves what is ready, without blocking. */
void metrics_serve(struct roced *roced);
/* Closes what takes too long; every second or so. */
void metrics_tick(struct roced *roced, uint64_t now_ns);
/* What it has counted. */
void metrics_tell(const struct metrics *metrics, struct watch_metrics *told);

#endif
