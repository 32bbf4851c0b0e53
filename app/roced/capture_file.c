/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture_file.h"

#include <string.h>

#define BLOCK_SECTION   0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_STATS     5u
#define BLOCK_PACKET    6u
#define BYTE_ORDER      0x1a2b3c4du
#define LINK_ETHERNET   1u

#define OPT_END        0u
#define OPT_COMMENT    1u
#define SHB_USERAPPL   4u
#define IF_NAME        2u
#define IF_DESCRIPTION 3u
#define IF_MAC         6u
#define IF_TSRESOL     9u
#define NANOSECONDS    9u /* 10^-9 s */
#define EPB_FLAGS      2u
#define EPB_QUEUE      6u
#define FLAG_IN        1u
#define FLAG_OUT       2u
#define ISB_START      2u
#define ISB_END        3u
#define ISB_IFRECV     4u
#define ISB_IFDROP     5u

static uint8_t *put16(uint8_t *to, uint32_t v)
{
	uint16_t v16 = (uint16_t)v;

	memcpy(to, &v16, sizeof(v16));
	return to + sizeof(v16);
}

static uint8_t *put32(uint8_t *to, uint32_t v)
{
	memcpy(to, &v, sizeof(v));
	return to + sizeof(v);
}

/* A time is two words, the upper one first, whatever the order of bytes. */
static uint8_t *put_time(uint8_t *to, uint64_t ns)
{
	return put32(put32(to, (uint32_t)(ns >> 32)), (uint32_t)ns);
}

static uint8_t *pad(uint8_t *to, size_t n)
{
	size_t more = -n & 3;

	memset(to, 0, more);
	return to + more;
}

static uint8_t *put_option(uint8_t *to, uint32_t code, const void *value, size_t n)
{
	to = put16(put16(to, code), (uint32_t)n);
	memcpy(to, value, n);
	return pad(to + n, n);
}

static uint8_t *put_text(uint8_t *to, uint32_t code, const char *text)
{
	size_t n = strnlen(text, CAPTURE_FILE_TEXT);

	return n != 0 ? put_option(to, code, text, n) : to;
}

/* Where the block's body begins. */
static uint8_t *begin(uint8_t *out, uint32_t type)
{
	return put32(out, type) + 4;
}

/* Ends the options and the block. */
static size_t end(uint8_t *out, uint8_t *to)
{
	uint32_t n;

	to = put16(put16(to, OPT_END), 0);
	n = (uint32_t)(to - out) + 4;
	put32(out + 4, n);
	put32(to, n);
	return n;
}

size_t capture_file_section(uint8_t *out, const char *application, const char *comment)
{
	uint8_t *to = begin(out, BLOCK_SECTION);

	to = put16(put16(put32(to, BYTE_ORDER), 1), 0);
	memset(to, 0xff, 8); /* length of the section: not said */
	to = put_text(to + 8, OPT_COMMENT, comment);
	return end(out, put_text(to, SHB_USERAPPL, application));
}

size_t capture_file_interface(
	uint8_t *out, const char *name, const char *description, const uint8_t mac[6], uint32_t snaplen)
{
	static const uint8_t resolution = NANOSECONDS;
	uint8_t *to = begin(out, BLOCK_INTERFACE);

	to = put32(put16(put16(to, LINK_ETHERNET), 0), snaplen);
	to = put_text(put_text(to, IF_NAME, name), IF_DESCRIPTION, description);
	to = put_option(to, IF_MAC, mac, 6);
	return end(out, put_option(to, IF_TSRESOL, &resolution, sizeof(resolution)));
}

size_t capture_file_packet(uint8_t *out, const struct capture_file_packet *packet, const void *data)
{
	uint8_t *to = put_time(put32(begin(out, BLOCK_PACKET), packet->iface), packet->ns), option[4];

	to = put32(put32(to, packet->bytes), packet->wire_bytes);
	if (data != NULL)
		memcpy(to, data, packet->bytes);
	to = pad(to + packet->bytes, packet->bytes);
	put32(option, packet->out ? FLAG_OUT : FLAG_IN);
	to = put_option(to, EPB_FLAGS, option, sizeof(option));
	put32(option, packet->queue);
	return end(out, put_option(to, EPB_QUEUE, option, sizeof(option)));
}

static uint8_t *put_time_option(uint8_t *to, uint32_t code, uint64_t ns)
{
	uint8_t value[8];

	put_time(value, ns);
	return put_option(to, code, value, sizeof(value));
}

size_t capture_file_stats(uint8_t *out, const struct capture_file_stats *stats, const char *comment)
{
	uint8_t *to = put_time(put32(begin(out, BLOCK_STATS), stats->iface), stats->end_ns);

	to = put_text(to, OPT_COMMENT, comment);
	to = put_time_option(put_time_option(to, ISB_START, stats->start_ns), ISB_END, stats->end_ns);
	to = put_option(to, ISB_IFRECV, &stats->taken, sizeof(stats->taken));
	return end(out, put_option(to, ISB_IFDROP, &stats->missed, sizeof(stats->missed)));
}
