/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics_http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Where the empty line behind the head ends; NULL: it has not come. A line ends in LF, with or without CR (RFC 9112, 2.2). */
static const char *end_of_head(const char *text, const char *end)
{
	const char *line = text, *lf;

	while ((lf = memchr(line, '\n', (size_t)(end - line))) != NULL) {
		size_t n = (size_t)(lf - line);

		if (n == 0 || (n == 1 && line[0] == '\r'))
			return lf + 1;
		line = lf + 1;
	}
	return NULL;
}

/* The line's end, without CR; *next: the next line. There is a LF. */
static const char *end_of_line(const char *line, const char *end, const char **next)
{
	const char *lf = memchr(line, '\n', (size_t)(end - line));

	*next = lf + 1;
	return lf > line && lf[-1] == '\r' ? lf - 1 : lf;
}

static bool is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_text(const char *at, const char *end)
{
	for (; at < end; at++) {
		unsigned char c = (unsigned char)*at;

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static bool is_word(const char *at, const char *end, const char *word)
{
	return (size_t)(end - at) == strlen(word) && memcmp(at, word, strlen(word)) == 0;
}

/* RFC 9112, 5: "name:" and text; no folded lines. *n_hosts: fields of that name. */
static bool check_fields(const char *at, const char *end, unsigned *n_hosts)
{
	*n_hosts = 0;
	while (at < end) {
		const char *next, *stop = end_of_line(at, end, &next), *name = at;

		if (stop == at)
			return true;
		while (at < stop && is_token_char(*at))
			at++;
		if (at == name || at == stop || *at != ':' || !is_text(at, stop))
			return false;
		*n_hosts += at - name == 4 && strncasecmp(name, "host", 4) == 0;
		at = next;
	}
	return true;
}

/* RFC 9112, 3.2: "/metrics", or with "http://host" in front; behind a "?" may be anything. */
static bool is_metrics(const char *at, const char *end)
{
	static const char scheme[] = "http://";
	const char *query;

	if ((size_t)(end - at) > sizeof(scheme) - 1 && strncasecmp(at, scheme, sizeof(scheme) - 1) == 0) {
		at = memchr(at + sizeof(scheme) - 1, '/', (size_t)(end - at) - (sizeof(scheme) - 1));
		if (at == NULL)
			return false;
	}
	query = memchr(at, '?', (size_t)(end - at));
	return is_word(at, query != NULL ? query : end, "/metrics");
}

static int check_version(const char *at, const char *end)
{
	if (end - at != 8 || memcmp(at, "HTTP/", 5) != 0 || at[5] < '0' || at[5] > '9' || at[6] != '.' || at[7] < '0' || at[7] > '9')
		return 400;
	return at[5] == '1' ? 0 : 505;
}

static int check_request(const char *text, const char *end, bool *head)
{
	const char *fields, *stop = end_of_line(text, end, &fields), *target, *version;
	unsigned n_hosts;
	int status;

	target = memchr(text, ' ', (size_t)(stop - text));
	version = target != NULL ? memchr(target + 1, ' ', (size_t)(stop - target - 1)) : NULL;
	if (version == NULL || target == text || version == target + 1 || !is_text(text, stop))
		return 400;
	for (const char *c = text; c < target; c++) {
		if (!is_token_char(*c))
			return 400;
	}
	status = check_version(version + 1, stop);
	if (status != 0)
		return status;
	if (!check_fields(fields, end, &n_hosts) || n_hosts > 1 || (n_hosts == 0 && version[8] == '1'))
		return 400;
	*head = is_word(text, target, "HEAD");
	if (!is_metrics(target + 1, version))
		return 404;
	return *head || is_word(text, target, "GET") ? 200 : 405;
}

int metrics_http_parse(const char *text, size_t n, bool *head)
{
	const char *start = text, *end = text + n, *stop;

	*head = false;
	/* a client may send an empty line before its request (2.2) */
	if (n >= 2 && start[0] == '\r' && start[1] == '\n')
		start += 2;
	stop = end_of_head(start, end);
	if (stop != NULL)
		return check_request(start, stop, head);
	if (n < METRICS_HTTP_REQUEST_BYTES)
		return 0;
	return memchr(start, '\n', (size_t)(end - start)) == NULL ? 414 : 431;
}

static const char *reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} reasons[] = {{200, "OK"}, {400, "Bad Request"}, {404, "Not Found: see /metrics"}, {405, "Method Not Allowed"}, {414, "URI Too Long"},
		{431, "Request Header Fields Too Large"}, {503, "Service Unavailable"}, {505, "HTTP Version Not Supported"}};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].status == status)
			return reasons[i].text;
	}
	return "Internal Server Error";
}

size_t metrics_http_answer(char header[METRICS_HTTP_HEADER_BYTES], int status, bool head, const char *type, size_t body_bytes)
{
	const char *text = reason(status), *body = status == 200 || head ? "" : text, *newline = body[0] != '\0' ? "\n" : "";

	if (status != 200) {
		type = "text/plain; charset=utf-8";
		body_bytes = strlen(text) + 1;
	}
	return (size_t)snprintf(header, METRICS_HTTP_HEADER_BYTES,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sCache-Control: no-store\r\nConnection: close\r\n\r\n%s%s",
		status, text, type, body_bytes, status == 405 ? "Allow: GET, HEAD\r\n" : "", body, newline);
}
