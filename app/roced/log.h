/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon's log: lines "roced: level: text" on stderr, or syslog(3) once it is in the background. */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>
#include <syslog.h>

/* level is that of syslog(3). */
__attribute__((format(printf, 2, 3))) void log_line(int level, const char *fmt, ...);
/* The program's name, which stays the caller's; "roced" when it is not told. */
void log_name(const char *name);
/* From now on to syslog(3). */
void log_to_syslog(void);

#endif
