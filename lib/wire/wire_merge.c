/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_merge.h"

#include <string.h>

#include "base_psn.h"

#define BTH_BYTES 12u
#define SOLICITED 0x80

static uint32_t round4(uint32_t bytes)
{
	return (bytes + 3) & ~3u;
}

/* Head and extended headers. */
static uint32_t hdr_bytes(uint8_t opcode)
{
	return WIRE_MERGE_HEAD_BYTES + wire_opinfo(opcode)->hdr_bytes - BTH_BYTES;
}

bool wire_merge_may(uint8_t opcode)
{
	const struct wire_opinfo *info = wire_opinfo(opcode);
	const uint16_t whole = WIRE_OP_START | WIRE_OP_END;

	return info->service == WIRE_SERVICE_RC && (info->flags.bits & whole) == whole &&
		wire_op_is(info, WIRE_OP_SEND | WIRE_OP_WRITE);
}

uint32_t wire_merge_bytes(uint8_t opcode, uint32_t payload_bytes)
{
	return hdr_bytes(opcode) + round4(payload_bytes);
}

uint32_t wire_merge_put(uint8_t *p, const struct wire_pkt *part, const uint8_t *payload)
{
	uint32_t head = hdr_bytes(part->opcode), end = wire_merge_bytes(part->opcode, part->payload_bytes);

	p[0] = part->opcode;
	p[1] = part->solicited ? SOLICITED : 0;
	p[2] = (uint8_t)(part->payload_bytes >> 8);
	p[3] = (uint8_t)part->payload_bytes;
	wire_write_ext(p + WIRE_MERGE_HEAD_BYTES, part->opcode, part);
	if (part->payload_bytes != 0)
		memcpy(p + head, payload, part->payload_bytes);
	memset(p + head + part->payload_bytes, 0, end - head - part->payload_bytes);
	return end;
}

static uint32_t bytes_at(const uint8_t *p)
{
	return (uint32_t)p[2] << 8 | p[3];
}

bool wire_merge_ok(const uint8_t *frame, const struct wire_pkt *pkt)
{
	const uint8_t *p = frame + pkt->payload_off;
	uint32_t left = pkt->payload_bytes;

	if (pkt->pad != 0 || pkt->merged < 2 || pkt->merged > WIRE_MERGE_MOST)
		return false;
	for (uint32_t i = 0; i < pkt->merged; i++) {
		uint32_t bytes;

		if (left < WIRE_MERGE_HEAD_BYTES || !wire_merge_may(p[0]))
			return false;
		bytes = wire_merge_bytes(p[0], bytes_at(p));
		if (bytes > left)
			return false;
		p += bytes;
		left -= bytes;
	}
	return left == 0;
}

/* `at` is where its head begins. */
static void read_part(const uint8_t *frame, uint32_t at, struct wire_pkt *part)
{
	const uint8_t *p = frame + at;

	part->opcode = p[0];
	part->solicited = (p[1] & SOLICITED) != 0;
	part->payload_bytes = (uint16_t)bytes_at(p);
	part->pad = (uint8_t)(-part->payload_bytes & 3);
	part->payload_off = (uint16_t)(at + hdr_bytes(p[0]));
	part->hdrs = wire_opinfo(p[0])->hdrs;
	wire_parse_ext(p + WIRE_MERGE_HEAD_BYTES, part);
}

void wire_merge_first(const uint8_t *frame, const struct wire_pkt *pkt, struct wire_pkt *part)
{
	*part = *pkt;
	part->merged = 0;
	part->merge_resv = 0;
	read_part(frame, pkt->payload_off, part);
}

void wire_merge_next(const uint8_t *frame, struct wire_pkt *part)
{
	part->psn = base_psn_add(part->psn, 1);
	read_part(frame, (uint32_t)part->payload_off + part->payload_bytes + part->pad, part);
}
