/* SPDX-License-Identifier: BSD-3-Clause */
#include "log_text.h"

#include <stdio.h>
#include <string.h>

/* ---- how many ---- */

static struct log_site *find(struct log_limit *limit, const void *who)
{
	uint32_t at = (uint32_t)((uintptr_t)who >> 3) % LOG_SITES;

	for (uint32_t i = 0; i < LOG_SITES; i++) {
		struct log_site *site = &limit->sites[(at + i) % LOG_SITES];

		if (site->who == NULL)
			site->who = who;
		if (site->who == who)
			return site;
	}
	return NULL;
}

enum log_verdict log_limit_take(struct log_limit *limit, const void *who, uint64_t now_ns, uint64_t *left_out)
{
	struct log_site *site = find(limit, who);

	*left_out = 0;
	if (site == NULL)
		return LOG_SAY;
	if (site->n == 0 || now_ns - site->since_ns >= LOG_WINDOW_NS) {
		site->since_ns = now_ns;
		site->n = 0;
	}
	if (site->n == LOG_SITE_LINES) {
		site->left_out++;
		return LOG_LEAVE_OUT;
	}
	*left_out = site->left_out;
	site->left_out = 0;
	return ++site->n == LOG_SITE_LINES ? LOG_SAY_LAST : LOG_SAY;
}

/* ---- fields ---- */

void log_put_fields(char *out, size_t n, const char *level, const char *fields, const char *text)
{
	int at = snprintf(out, n, "level=%s %s%smsg=\"", level, fields != NULL ? fields : "", fields != NULL ? " " : "");
	size_t used = (size_t)at;

	/* fields that take all the room leave none for what they are about */
	if (used + 2 > n)
		used = (size_t)snprintf(out, n, "level=%s msg=\"", level);
	for (; *text != '\0' && used + 4 <= n; text++) {
		char c = *text == '\n' ? 'n' : *text;

		if (*text == '"' || *text == '\\' || *text == '\n')
			out[used++] = '\\';
		out[used++] = (unsigned char)c < ' ' ? '?' : c;
	}
	out[used++] = '"';
	out[used] = '\0';
}
