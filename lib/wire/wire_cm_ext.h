/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one roced tells another in the last bytes of the private data of REQ and REP (docs/wire.md): that it can do more
 * than the specification has. To all others they are bytes behind the consumer's, where zeros would be.
 */
#ifndef WIRE_CM_EXT_H
#define WIRE_CM_EXT_H

#include "wire_cm.h"

#define WIRE_CM_EXT_BYTES 16
#define WIRE_CM_EXT_SACK  0x01 /* flag: selective repeat, and packets sprayed over UDP source ports */
#define WIRE_CM_EXT_MERGE 0x02 /* flag: several short messages in a packet */

struct wire_cm_ext {
	uint8_t flags;
	uint16_t psn_ring; /* PSNs that may be between the oldest and the newest packet on its way */
	uint8_t planes;    /* beyond the one that the message came by */
};

/* Whether `bytes` of private data, the hello among them, leave room for it in a message of that type. */
bool wire_cm_ext_fits(enum wire_cm_type type, size_t bytes);
/* Puts it into a REQ or REP whose other fields are set and whose private data leaves room; what is between is zero. */
void wire_cm_ext_put(struct wire_cm_msg *msg, const struct wire_cm_ext *ext);
/* Reads it from a decoded REQ or REP. -ENOENT: there is none that is right, *ext is all zero. */
int wire_cm_ext_get(const struct wire_cm_msg *msg, struct wire_cm_ext *ext);

#endif
