/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What roce-gen writes at the start of a payload that has room for it, so that the sink can tell how long a packet took
 * and which of its queue pair it was. 24 bytes, in network order: docs/roce-gen.md.
 */
#ifndef RG_STAMP_H
#define RG_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <endian.h>

#define RG_STAMP_BYTES 24u
#define RG_STAMP_MAGIC 0x52474e31u /* "RGN1" */

struct rg_stamp {
	uint32_t flow;
	uint64_t number;   /* of the stamps of its queue pair, from 0 on */
	uint64_t sent_ns;  /* of the sender's clock */
};

static inline void rg_stamp_write(uint8_t at[RG_STAMP_BYTES], const struct rg_stamp *stamp)
{
	const uint32_t words[2] = {htobe32(RG_STAMP_MAGIC), htobe32(stamp->flow)};
	const uint64_t longs[2] = {htobe64(stamp->number), htobe64(stamp->sent_ns)};

	memcpy(at, words, sizeof(words));
	memcpy(at + sizeof(words), longs, sizeof(longs));
}

/* Whether there is one in the n bytes of a payload. */
static inline bool rg_stamp_read(const uint8_t *payload, uint32_t n, struct rg_stamp *stamp)
{
	uint32_t words[2];
	uint64_t longs[2];

	if (n < RG_STAMP_BYTES)
		return false;
	memcpy(words, payload, sizeof(words));
	memcpy(longs, payload + sizeof(words), sizeof(longs));
	if (be32toh(words[0]) != RG_STAMP_MAGIC)
		return false;
	*stamp = (struct rg_stamp){be32toh(words[1]), be64toh(longs[0]), be64toh(longs[1])};
	return true;
}

#endif
