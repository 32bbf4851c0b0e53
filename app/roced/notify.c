/* SPDX-License-Identifier: BSD-3-Clause */
#include "notify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <systemd/sd-daemon.h>

#include "clock.h"
#include "log.h"
#include "roced.h"

#define STATUS_BYTES 256
#define LEAST_WATCHDOG_US (3ull * NOTIFY_TICK_NS / 1000)

static char told[STATUS_BYTES]; /* the last status */

/* "2 of 2 ports up, 1 device, 3 connections of programs" */
static void make_status(const struct roced *roced, char status[STATUS_BYTES])
{
	struct vd_stats stats;
	uint32_t up = 0;

	for (uint32_t p = 0; p < roced->n_ports; p++)
		up += roced->ports[p].up ? 1 : 0;
	vd_stats(roced->vd, &stats);
	snprintf(status, STATUS_BYTES, "%u of %u port%s up, %u device%s, %u connection%s of programs", up, roced->n_ports,
		roced->n_ports == 1 ? "" : "s", roced->n_devices, roced->n_devices == 1 ? "" : "s", stats.sessions,
		stats.sessions == 1 ? "" : "s");
}

/* A watchdog that bites between two ticks would end a daemon that is well. */
static void check_watchdog(void)
{
	uint64_t period_us;

	if (sd_watchdog_enabled(0, &period_us) > 0 && period_us < LEAST_WATCHDOG_US)
		log_line(LOG_WARNING, "the service's watchdog wants a sign of life every %" PRIu64
			" us, which comes once a second: give WatchdogSec=%llu or more",
			period_us, LEAST_WATCHDOG_US / 1000000);
}

void notify_ready(const struct roced *roced)
{
	check_watchdog();
	make_status(roced, told);
	(void)sd_notifyf(0, "READY=1\nSTATUS=%s", told);
}

void notify_reloading(void)
{
	/* the time is what Type=notify-reload compares */
	(void)sd_notifyf(0, "RELOADING=1\nSTATUS=reading the configuration again\nMONOTONIC_USEC=%" PRIu64,
		clock_now_ns() / 1000);
}

void notify_stopping(void)
{
	(void)sd_notify(0, "STOPPING=1\nSTATUS=ending the connections");
}

void notify_tick(const struct roced *roced)
{
	char status[STATUS_BYTES];

	if (sd_watchdog_enabled(0, NULL) > 0)
		(void)sd_notify(0, "WATCHDOG=1");
	make_status(roced, status);
	if (strcmp(status, told) == 0)
		return;
	memcpy(told, status, sizeof(told));
	(void)sd_notifyf(0, "STATUS=%s", told);
}
