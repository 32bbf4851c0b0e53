/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon's log: lines "roced: level: text" on stderr; "<N>text" with the number of the level where stderr is systemd's journal,
 * which knows the rest; or syslog(3) once it is in the background.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>
#include <stdio.h>
#include <syslog.h>

/* Finds out whether stderr is the journal (JOURNAL_STREAM, systemd.exec(5)). Without a call it is not. Before the EAL starts:
 * DPDK's lines then go the same way, with their levels. */
void log_start(void);
/* level is that of syslog(3). */
__attribute__((format(printf, 2, 3))) void log_line(int level, const char *fmt, ...);
/* The program's name, which stays the caller's; "roced" when it is not told. */
void log_name(const char *name);
/* From now on to syslog(3). */
void log_to_syslog(void);
/* For who prints lines himself, all of them errors: stderr, or its way to the journal. Never to be closed. */
FILE *log_stream(void);

#endif
