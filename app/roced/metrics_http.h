/* SPDX-License-Identifier: BSD-3-Clause */
/* As much of HTTP/1.1 (RFC 9112) as serving one document takes: requests for /metrics, each on a connection of its own. */
#ifndef METRICS_HTTP_H
#define METRICS_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define METRICS_HTTP_REQUEST_BYTES 4096 /* longest head of a request */
#define METRICS_HTTP_HEADER_BYTES  512  /* longest head of an answer, and the whole of one that is an error */

/* What to answer a request that has come so far, n bytes: 0: more is to come; 200: the document; 400 malformed, 404 no such document,
 * 405 no such method here, 414 and 431 too long, 505 not HTTP/1. *head: the client wants no body. Nothing after the
 * head of the request is read. */
int metrics_http_parse(const char *text, size_t n, bool *head);

/* The answer's head into header, with a body that tells an error; with_body: of body_bytes follow. Returns its length. */
size_t metrics_http_answer(char header[METRICS_HTTP_HEADER_BYTES], int status, bool head, const char *type, size_t body_bytes);

#endif
