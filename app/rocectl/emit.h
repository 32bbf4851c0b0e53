/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One record a line on stdout, as text ("key=value key=value") or as a JSON object. The describing code
 * names each field once and does not know which of the two is written.
 */
#ifndef EMIT_H
#define EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wire_frame.h"

struct emit {
	FILE *out;
	bool json;
	bool first; /* next field is the first of its object */
};

void emit_begin(struct emit *e);
void emit_end(struct emit *e);

/* Nested object: "key":{...} or key={...}. */
void emit_open(struct emit *e, const char *key);
void emit_close(struct emit *e);

/* value must be plain ASCII without quotes and backslashes. */
void emit_str(struct emit *e, const char *key, const char *value);

/* A string that text shows without its key. */
void emit_word(struct emit *e, const char *key, const char *value);

/* Decimal in both. */
void emit_num(struct emit *e, const char *key, uint64_t value);

/* Decimal, in text without its key. */
void emit_count(struct emit *e, const char *key, uint64_t value);

/* Seconds with nine decimals, a string in JSON, in text without its key. */
void emit_time(struct emit *e, const char *key, int64_t ns);

/* 0x... of the given number of digits in text; in JSON a decimal number, or the same as a string if
 * it may have more than 32 bits. */
void emit_hex(struct emit *e, const char *key, uint64_t value, int digits);

/* Bytes as a hex string. */
void emit_bytes(struct emit *e, const char *key, const uint8_t *data, size_t n);

/* true or false in JSON; in text the bare key, or nothing when value is false. */
void emit_flag(struct emit *e, const char *key, bool value);

void emit_mac(struct emit *e, const char *key, const uint8_t *mac);

/* IPv4 in dotted form, IPv6 in RFC 5952's. */
void emit_addr(struct emit *e, const char *key, const struct wire_addr *addr);

#endif
