/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK telemetry: /roced/paths and /roced/counters (docs/multipath.md). DPDK calls back from threads of its own, which
 * must not touch what belongs to the main thread or to workers; so they leave a question, wake the main thread and wait
 * for the answer, for a bounded time.
 */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include "roced.h"

/* Registers the commands, if the configuration wants telemetry. Main thread, before the loop. */
int telemetry_start(struct roced *roced);
/* Nobody is answered from now on. */
void telemetry_stop(void);
/* Readable when somebody asks; -1: telemetry is off. */
int telemetry_fd(void);
/* Answers. Main thread. */
void telemetry_serve(struct roced *roced);

#endif
