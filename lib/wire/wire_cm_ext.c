/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_cm_ext.h"

#include <errno.h>
#include <string.h>

#include "wire_bytes.h"

#define VERSION   1
#define FNV_BASIS 0x811c9dc5u
#define FNV_PRIME 0x01000193u

/* Where each field lies. */
enum { MAGIC = 0, MAGIC_BYTES = 4, VERSION_AT = 4, FLAGS_AT = 5, RING_AT = 6, PLANES_AT = 8, RESERVED_AT = 9, CHECK_AT = 12 };

static const uint8_t magic[MAGIC_BYTES] = {'r', 'c', 'e', 'd'};

static uint32_t fnv(uint32_t hash, const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ data[i]) * FNV_PRIME;
	return hash;
}

/* Over the numbers of the message it is in too, so that private data that is echoed or sent again in another message
 * says nothing there. */
static uint32_t check_of(const struct wire_cm_msg *msg, const uint8_t *ext)
{
	bool req = msg->type == WIRE_CM_REQ;
	const uint32_t numbers[] = {
		msg->type,
		msg->ids.local_comm_id,
		req ? 0 : msg->ids.remote_comm_id,
		req ? msg->req.local_qpn : msg->rep.local_qpn,
		req ? msg->req.starting_psn : msg->rep.starting_psn,
	};
	uint32_t hash = FNV_BASIS;
	uint8_t bytes[4];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		put32(bytes, numbers[i]);
		hash = fnv(hash, bytes, sizeof(bytes));
	}
	return fnv(hash, ext, CHECK_AT);
}

/* Place of it in a message's private data, 0: such messages have none. */
static size_t place_of(enum wire_cm_type type)
{
	if (type != WIRE_CM_REQ && type != WIRE_CM_REP)
		return 0;
	return wire_cm_private_bytes(type) - WIRE_CM_EXT_BYTES;
}

bool wire_cm_ext_fits(enum wire_cm_type type, size_t bytes)
{
	size_t at = place_of(type);

	return at != 0 && bytes <= at;
}

void wire_cm_ext_put(struct wire_cm_msg *msg, const struct wire_cm_ext *ext)
{
	size_t at = place_of(msg->type);
	uint8_t *p = msg->private_data + at;

	memset(msg->private_data + msg->private_bytes, 0, at - msg->private_bytes);
	memset(p, 0, WIRE_CM_EXT_BYTES);
	memcpy(p + MAGIC, magic, sizeof(magic));
	p[VERSION_AT] = VERSION;
	p[FLAGS_AT] = ext->flags;
	p[RING_AT] = (uint8_t)(ext->psn_ring >> 8);
	p[RING_AT + 1] = (uint8_t)ext->psn_ring;
	p[PLANES_AT] = ext->planes;
	put32(p + CHECK_AT, check_of(msg, p));
	msg->private_bytes = (uint16_t)(at + WIRE_CM_EXT_BYTES);
}

int wire_cm_ext_get(const struct wire_cm_msg *msg, struct wire_cm_ext *ext)
{
	size_t at = place_of(msg->type);
	const uint8_t *p = msg->private_data + at;

	*ext = (struct wire_cm_ext){0};
	if (at == 0 || msg->private_bytes < at + WIRE_CM_EXT_BYTES)
		return -ENOENT;
	if (memcmp(p + MAGIC, magic, sizeof(magic)) != 0 || p[VERSION_AT] != VERSION ||
		get32(p + CHECK_AT) != check_of(msg, p))
		return -ENOENT;
	ext->flags = p[FLAGS_AT];
	ext->psn_ring = (uint16_t)(p[RING_AT] << 8 | p[RING_AT + 1]);
	ext->planes = p[PLANES_AT];
	return 0;
}
