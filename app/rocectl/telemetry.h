/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's telemetry, as a client: DPDK's socket, one question a packet, answers in JSON. */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include <stddef.h>
#include <stdint.h>

#define TELEMETRY_ANSWER_BYTES 65536
#define TELEMETRY_PATH_BYTES   108

/* Connects to the socket at path. A descriptor or a negative errno. */
int telemetry_open(const char *path);
/* The one socket below the runtime directories of DPDK that a roced answers on. 0; -ENOENT: there is none,
 * -EEXIST: there are several, all of which were named on standard error. */
int telemetry_find(char path[TELEMETRY_PATH_BYTES]);
/* Connects to that socket, or to the one that is found when path is NULL. A descriptor or a negative errno, told on standard
 * error. */
int telemetry_connect(const char *path);
/* Asks; the answer is a text. 0 or a negative errno. */
int telemetry_ask(int fd, const char *question, char answer[TELEMETRY_ANSWER_BYTES]);

/* Just as much JSON as these answers are: a place behind "name": between at and end, NULL: it is not there. */
const char *telemetry_member(const char *at, const char *end, const char *name);
/* A number there. */
uint64_t telemetry_number(const char *at, const char *end, const char *name);
/* A text there, cut to n bytes. */
void telemetry_text(const char *at, const char *end, const char *name, char *out, size_t n);
/* The same of text i of the array there. */
void telemetry_text_at(const char *at, const char *end, const char *name, size_t i, char *out, size_t n);
/* Up to n numbers of the array there; how many. */
size_t telemetry_numbers(const char *at, const char *end, const char *name, uint64_t *out, size_t n);

#endif
