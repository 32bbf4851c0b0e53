/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rte_log.h>

#include "log_text.h"

static bool use_syslog, use_journal;
static const char *program = "roced";
static FILE *errors;
static bool as_fields, unlimited;

/* Any thread may log. */
static pthread_mutex_t limit_lock = PTHREAD_MUTEX_INITIALIZER;
static struct log_limit limit;
static __thread char next_fields[256];

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

/* ---- lines ---- */

void log_as_fields(void)
{
	as_fields = true;
}

void log_unlimited(bool on)
{
	unlimited = on;
}

void log_fields(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(next_fields, sizeof(next_fields), fmt, ap);
	va_end(ap);
}

static enum log_verdict may_write(const void *who, uint64_t *left_out)
{
	enum log_verdict verdict;
	struct timespec now;

	*left_out = 0;
	if (unlimited)
		return LOG_SAY;
	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&limit_lock);
	verdict = log_limit_take(&limit, who, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, left_out);
	pthread_mutex_unlock(&limit_lock);
	return verdict;
}

/* What is in front of a line on stderr. */
static void put_prefix(char *out, size_t n, const char *level)
{
	struct timespec now;
	struct tm tm;

	if (!as_fields) {
		snprintf(out, n, "%s: %s: ", program, level);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	snprintf(out, n, "time=%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
		tm.tm_sec, now.tv_nsec / 1000000);
}

static void write_line(int level, const char *name, const char *line)
{
	char prefix[64];

	if (use_syslog) {
		syslog(level, "%s", line);
	} else if (use_journal) {
		write_lines(level & 7, line, strlen(line));
	} else {
		put_prefix(prefix, sizeof(prefix), name);
		fprintf(stderr, "%s%s\n", prefix, line);
	}
}

void log_line(int level, const char *fmt, ...)
{
	static const char *const names[] = {"emergency", "alert", "critical", "error", "warning", "notice", "info",
		"debug"};
	char text[1024], line[1400];
	uint64_t left_out;
	enum log_verdict verdict = may_write(fmt, &left_out);
	va_list ap;
	size_t n;

	if (verdict != LOG_LEAVE_OUT) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text) - 64, fmt, ap);
		va_end(ap);
		n = strlen(text);
		if (verdict == LOG_SAY_LAST)
			snprintf(text + n, sizeof(text) - n, " (no more of these for a while)");
		else if (left_out != 0)
			snprintf(text + n, sizeof(text) - n, " (%" PRIu64 " of these were left out)", left_out);
		if (as_fields)
			log_put_fields(line, sizeof(line), names[level & 7], next_fields[0] != '\0' ? next_fields : NULL, text);
		write_line(level, names[level & 7], as_fields ? line : text);
	}
	next_fields[0] = '\0';
}
