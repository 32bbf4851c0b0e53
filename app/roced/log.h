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
/* level is that of syslog(3). Of one place in the program 100 lines in 10 seconds are written, and then how many were left out. */
__attribute__((format(printf, 2, 3))) void log_line(int level, const char *fmt, ...);
/* What the next line of this thread is about, "event=link port=p0 up=1": fields in front of the text where lines are fields. Values have
 * no spaces and no quotes. */
__attribute__((format(printf, 1, 2))) void log_fields(const char *fmt, ...);
/* From now on lines are fields, "level=notice event=link port=p0 up=1 msg=...", on stderr after the time in UTC. */
void log_as_fields(void);
/* While somebody has asked for many lines there is no limit. */
void log_unlimited(bool on);
/* The program's name, which stays the caller's; "roced" when it is not told. */
void log_name(const char *name);
/* From now on to syslog(3). */
void log_to_syslog(void);
/* For who prints lines himself, all of them errors: stderr, or its way to the journal. Never to be closed. */
FILE *log_stream(void);

#endif
