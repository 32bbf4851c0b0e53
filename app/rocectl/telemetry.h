/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's telemetry, as a client: DPDK's socket, one question a packet, answers in JSON. */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include <stddef.h>
#include <stdint.h>

#define TELEMETRY_ANSWER_BYTES 65536
#define TELEMETRY_PATH_BYTES   108
#define TELEMETRY_TEXT_BYTES   128
#define TELEMETRY_DAEMONS      64 /* that are looked for at most */

/* Connects to the socket at path. A descriptor or a negative errno. */
int telemetry_open(const char *path);
/* The sockets below the runtime directories of DPDK that a roced answers on, up to `most`. How many. */
size_t telemetry_list(char (*paths)[TELEMETRY_PATH_BYTES], size_t most);
/* The only one of these. 0; -ENOENT: there is none, -EEXIST: there are several, all of which were named on standard error. */
int telemetry_find(char path[TELEMETRY_PATH_BYTES]);
/* Connects to that socket, or to the one that telemetry_find() finds if socket is NULL. A descriptor; -1: standard error says why
 * not. */
int telemetry_connect(const char *socket);
/* Asks; the answer is a text. 0 or a negative errno. */
int telemetry_ask(int fd, const char *question, char answer[TELEMETRY_ANSWER_BYTES]);

/* Just as much JSON as these answers are: a place behind "name": between at and end, NULL: it is not there. */
const char *telemetry_member(const char *at, const char *end, const char *name);
/* A number there. */
uint64_t telemetry_number(const char *at, const char *end, const char *name);
/* A text there, cut to n bytes. */
void telemetry_text(const char *at, const char *end, const char *name, char *out, size_t n);
/* Up to n numbers of the array there; how many. */
size_t telemetry_numbers(const char *at, const char *end, const char *name, uint64_t *out, size_t n);
/* Up to n texts of the array there, each cut to TELEMETRY_TEXT_BYTES; how many. */
size_t telemetry_texts(const char *at, const char *end, const char *name, char (*out)[TELEMETRY_TEXT_BYTES], size_t n);

#endif
