/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of RoCE packets by what they are: opcodes and kinds of acknowledgement. Pure. */
#ifndef RF_OPSET_H
#define RF_OPSET_H

#include <stdbool.h>

#include "wire_frame.h"

#define RF_OPSET_WANTED \
	"opcodes like SEND_LAST or classes (any, request, response, send, write, read, atomic, read_response, " \
	"atomic_response, ack, nak, rnr, nak_sequence, nak_invalid, nak_access, nak_operation, ud, cnp), with commas between"

struct rf_opset {
	uint64_t ops[4];         /* bit per BTH opcode */
	uint8_t acks;            /* of acknowledgements, by their syndrome: see rf_opset.c */
};

/*
 * Reads names with commas between: opcodes as IBTA vol. 1, table 38 has them ("RC_RDMA_READ_RESPONSE_LAST"), without
 * the service for that of all connected services, and without "RDMA_" if one likes; or classes. Upper or lower case.
 * False: one is unknown.
 */
bool rf_opset_parse(const char *text, struct rf_opset *out);
bool rf_opset_has(const struct rf_opset *set, const struct wire_pkt *pkt);

#endif
