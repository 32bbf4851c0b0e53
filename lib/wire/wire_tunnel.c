/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_tunnel.h"

#include "wire_bytes.h"

#define VERSION 0

void wire_tunnel_write(uint8_t *to, const struct wire_tunnel *t)
{
	put32(to, (uint32_t)(VERSION << 4 | t->type) << 24 | (uint32_t)t->path << 16 | t->path_seq);
	put32(to + 4, t->sent);
	put32(to + 8, t->flow << 8 | t->generation);
	put32(to + 12, t->seq);
}

bool wire_tunnel_read(const uint8_t *from, size_t n, struct wire_tunnel *t)
{
	if (n < WIRE_TUNNEL_BYTES || from[0] >> 4 != VERSION)
		return false;
	t->type = from[0] & 15;
	t->path = from[1];
	t->path_seq = (uint16_t)(from[2] << 8 | from[3]);
	t->sent = get32(from + 4);
	t->flow = get32(from + 8) >> 8;
	t->generation = from[11];
	t->seq = get32(from + 12);
	if (t->type == WIRE_TUNNEL_REPORT)
		return n - WIRE_TUNNEL_BYTES >= t->path * (size_t)WIRE_TUNNEL_REPORT_BYTES;
	return t->type < WIRE_TUNNEL_TYPES;
}

void wire_tunnel_write_report(uint8_t *to, const struct wire_tunnel_report *r)
{
	put32(to, (uint32_t)r->path << 24 | r->path_seq);
	put32(to + 4, r->packets);
	put32(to + 8, r->marked);
	put32(to + 12, r->echo);
	put32(to + 16, r->held);
}

void wire_tunnel_read_report(const uint8_t *from, struct wire_tunnel_report *r)
{
	r->path = from[0];
	r->path_seq = (uint16_t)(from[2] << 8 | from[3]);
	r->packets = get32(from + 4);
	r->marked = get32(from + 8);
	r->echo = get32(from + 12);
	r->held = get32(from + 16);
}
