/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "log.h"

static bool use_syslog;
static const char *program = "roced";

void log_name(const char *name)
{
	program = name;
}

void log_to_syslog(void)
{
	openlog(program, LOG_PID, LOG_DAEMON);
	use_syslog = true;
}

void log_line(int level, const char *fmt, ...)
{
	static const char *const names[] = {"emergency", "alert", "critical", "error", "warning", "notice", "info",
		"debug"};
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (use_syslog)
		syslog(level, "%s", line);
	else
		fprintf(stderr, "%s: %s: %s\n", program, names[level & 7], line);
}
