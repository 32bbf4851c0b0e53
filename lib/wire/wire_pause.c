/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_pause.h"

#include <string.h>

#include "wire_bytes.h"

#define OP_PAUSE    0x0001
#define OP_PFC      0x0101
#define PAUSE_BYTES 4
#define PFC_BYTES   (4 + 2 * WIRE_PAUSE_PRIORITIES)

enum base_drop wire_pause_parse(const uint8_t *control, size_t n, struct wire_pause *pause)
{
	*pause = (struct wire_pause){.kind = WIRE_PAUSE_UNKNOWN};
	if (n < PAUSE_BYTES)
		return BASE_DROP_TRUNCATED;
	pause->opcode = get16(control);
	if (pause->opcode == OP_PAUSE) {
		pause->kind = WIRE_PAUSE_LINK;
		pause->named = UINT8_MAX;
		for (int p = 0; p < WIRE_PAUSE_PRIORITIES; p++)
			pause->quanta[p] = get16(control + 2);
	} else if (pause->opcode == OP_PFC) {
		if (n < PFC_BYTES)
			return BASE_DROP_TRUNCATED;
		pause->kind = WIRE_PAUSE_PRIORITY;
		pause->named = control[3]; /* the upper byte of the vector is reserved */
		for (int p = 0; p < WIRE_PAUSE_PRIORITIES; p++)
			pause->quanta[p] = get16(control + 4 + 2 * p);
	}
	return BASE_DROP_NONE;
}

void wire_pause_write(uint8_t frame[WIRE_PAUSE_FRAME_BYTES], const uint8_t smac[6], uint8_t named,
	const uint16_t quanta[WIRE_PAUSE_PRIORITIES])
{
	static const uint8_t dmac[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

	memset(frame, 0, WIRE_PAUSE_FRAME_BYTES);
	memcpy(frame, dmac, sizeof(dmac));
	memcpy(frame + 6, smac, 6);
	put16(frame + 12, WIRE_ETHERTYPE_CONTROL);
	put16(frame + ETH_BYTES, OP_PFC);
	put16(frame + ETH_BYTES + 2, named);
	for (int p = 0; p < WIRE_PAUSE_PRIORITIES; p++)
		put16(frame + ETH_BYTES + 4 + 2 * p, (named & 1u << p) != 0 ? quanta[p] : 0);
}
