/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_log.h>

static bool use_syslog, use_journal;
static const char *program = "roced";
static FILE *errors;

void log_name(const char *name)
{
	program = name;
}

void log_to_syslog(void)
{
	openlog(program, LOG_PID, LOG_DAEMON);
	use_syslog = true;
}

/* ---- the journal ---- */

/* Others have set the variable for their own stderr, so it counts only if it names ours. */
static bool stderr_is_journal(void)
{
	const char *text = getenv("JOURNAL_STREAM");
	uint64_t device, inode;
	struct stat st;

	return text != NULL && sscanf(text, "%" SCNu64 ":%" SCNu64, &device, &inode) == 2 &&
		fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

/* Each line gets its level in front. */
static void write_lines(int level, const char *text, size_t bytes)
{
	while (bytes > 0) {
		const char *end = memchr(text, '\n', bytes);
		size_t n = end != NULL ? (size_t)(end - text) : bytes;

		if (n > 0)
			fprintf(stderr, "<%d>%.*s\n", level, (int)n, text);
		n += end != NULL ? 1 : 0;
		text += n;
		bytes -= n;
	}
}

static ssize_t write_error(void *cookie, const char *text, size_t bytes)
{
	(void)cookie;
	write_lines(LOG_ERR, text, bytes);
	return (ssize_t)bytes;
}

/* DPDK's levels are those of syslog(3), one more each. */
static ssize_t write_dpdk(void *cookie, const char *text, size_t bytes)
{
	int level = rte_log_cur_msg_loglevel() - 1;

	(void)cookie;
	write_lines(level < LOG_EMERG ? LOG_EMERG : level > LOG_DEBUG ? LOG_DEBUG : level, text, bytes);
	return (ssize_t)bytes;
}

static FILE *open_stream(cookie_write_function_t *write)
{
	FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write});

	if (stream != NULL)
		setvbuf(stream, NULL, _IOLBF, 0);
	return stream;
}

void log_start(void)
{
	FILE *dpdk;

	use_journal = stderr_is_journal();
	if (!use_journal)
		return;
	errors = open_stream(write_error);
	dpdk = open_stream(write_dpdk);
	/* without it DPDK writes each line twice: to stderr, and to syslog, which is the journal too */
	if (dpdk != NULL)
		(void)rte_openlog_stream(dpdk);
}

FILE *log_stream(void)
{
	return errors != NULL ? errors : stderr;
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
	else if (use_journal)
		write_lines(level & 7, line, strlen(line));
	else
		fprintf(stderr, "%s: %s: %s\n", program, names[level & 7], line);
}
