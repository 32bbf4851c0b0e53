/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the daemon tells a service manager that started it (sd_notify(3)). Where there is none, nobody is told and nothing fails.
 * One thread.
 */
#ifndef ROCED_NOTIFY_H
#define ROCED_NOTIFY_H

#include <stdint.h>

#define NOTIFY_TICK_NS 1000000000u /* how often notify_tick() is to be called, about */

struct roced;

/* It serves: at the start, and after each notify_reloading(). */
void notify_ready(const struct roced *roced);
/* A new configuration is being read; notify_ready() follows, whatever becomes of it. */
void notify_reloading(void);
/* It is about to end. */
void notify_stopping(void);
/* The main thread lives, which satisfies a watchdog (WatchdogSec=), and what the daemon does, if that has changed. */
void notify_tick(const struct roced *roced);

#endif
