/* SPDX-License-Identifier: BSD-3-Clause */
#include "emit.h"

#include <arpa/inet.h>
#include <inttypes.h>

#include "wire_arp_nd.h"

/* Hex digits of the largest field that is a number in JSON: readers keep 53 bits of a number. */
#define EMIT_NUMBER_DIGITS 8
#define NS_PER_S           1000000000u

static void separate(struct emit *e)
{
	if (!e->first)
		fputc(e->json ? ',' : ' ', e->out);
	e->first = false;
}

static void key_of(struct emit *e, const char *key)
{
	separate(e);
	fprintf(e->out, e->json ? "\"%s\":" : "%s=", key);
}

void emit_begin(struct emit *e)
{
	e->first = true;
	if (e->json)
		fputc('{', e->out);
}

void emit_end(struct emit *e)
{
	fputs(e->json ? "}\n" : "\n", e->out);
}

void emit_open(struct emit *e, const char *key)
{
	key_of(e, key);
	fputc('{', e->out);
	e->first = true;
}

void emit_close(struct emit *e)
{
	fputc('}', e->out);
	e->first = false;
}

void emit_str(struct emit *e, const char *key, const char *value)
{
	key_of(e, key);
	fprintf(e->out, e->json ? "\"%s\"" : "%s", value);
}

void emit_word(struct emit *e, const char *key, const char *value)
{
	if (e->json) {
		emit_str(e, key, value);
		return;
	}
	separate(e);
	fputs(value, e->out);
}

void emit_num(struct emit *e, const char *key, uint64_t value)
{
	key_of(e, key);
	fprintf(e->out, "%" PRIu64, value);
}

void emit_count(struct emit *e, const char *key, uint64_t value)
{
	if (e->json)
		key_of(e, key);
	else
		separate(e);
	fprintf(e->out, "%" PRIu64, value);
}

void emit_time(struct emit *e, const char *key, int64_t ns)
{
	const char *quote = e->json ? "\"" : "";
	uint64_t abs_ns = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	if (e->json)
		key_of(e, key);
	else
		separate(e);
	fprintf(e->out, "%s%s%" PRIu64 ".%09" PRIu64 "%s", quote, ns < 0 ? "-" : "",
		abs_ns / NS_PER_S, abs_ns % NS_PER_S, quote);
}

void emit_hex(struct emit *e, const char *key, uint64_t value, int digits)
{
	key_of(e, key);
	if (e->json && digits > EMIT_NUMBER_DIGITS)
		fprintf(e->out, "\"0x%0*" PRIx64 "\"", digits, value);
	else if (e->json)
		fprintf(e->out, "%" PRIu64, value);
	else
		fprintf(e->out, "0x%0*" PRIx64, digits, value);
}

void emit_bytes(struct emit *e, const char *key, const uint8_t *data, size_t n)
{
	size_t i;

	key_of(e, key);
	if (e->json)
		fputc('"', e->out);
	for (i = 0; i < n; i++)
		fprintf(e->out, "%02x", data[i]);
	if (e->json)
		fputc('"', e->out);
}

void emit_flag(struct emit *e, const char *key, bool value)
{
	if (e->json) {
		key_of(e, key);
		fputs(value ? "true" : "false", e->out);
		return;
	}
	if (!value)
		return;
	separate(e);
	fputs(key, e->out);
}

void emit_mac(struct emit *e, const char *key, const uint8_t *mac)
{
	char text[18];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		mac[3], mac[4], mac[5]);
	emit_str(e, key, text);
}

void emit_addr(struct emit *e, const char *key, const struct wire_addr *addr)
{
	char text[WIRE_ADDR_TEXT_BYTES];

	emit_str(e, key, wire_addr_print(addr, text));
}
