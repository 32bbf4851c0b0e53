/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the log: how many of a kind, and as fields that programs read. Pure. */
#ifndef LOG_TEXT_H
#define LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_SITES        256u         /* places that log */
#define LOG_SITE_LINES   100u         /* of one place in LOG_WINDOW_NS */
#define LOG_WINDOW_NS    10000000000ull

struct log_site {
	const void *who;           /* NULL: free */
	uint64_t since_ns;
	uint32_t n;                /* since then */
	uint64_t left_out;
};

/* All zero at first. */
struct log_limit {
	struct log_site sites[LOG_SITES];
};

enum log_verdict {
	LOG_SAY,
	LOG_SAY_LAST,              /* and no more of these for a while */
	LOG_LEAVE_OUT,
};

/* Whether a line of that place may be written. *left_out: lines of it that were left out before this one and were not told of. Places
 * beyond LOG_SITES are not limited. */
enum log_verdict log_limit_take(struct log_limit *limit, const void *who, uint64_t now_ns, uint64_t *left_out);

/* `level=warning port=p0 msg="..."` into n bytes of out; fields: "key=value key=value" or NULL. Quotes, backslashes and line ends of the
 * text are escaped; what does not fit is cut, and the quote closed. n: 64 or more. */
void log_put_fields(char *out, size_t n, const char *level, const char *fields, const char *text);

#endif
