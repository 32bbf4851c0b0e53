/* SPDX-License-Identifier: BSD-3-Clause */
#include "rg_op.h"

#include <errno.h>
#include <string.h>

#include "wire_opcode.h"

#define SEND(name, base)  {name, {RG_OP_MESSAGE, base, base + 1, base + 2, base + 4}}
#define WRITE(name, base) {name, {RG_OP_MESSAGE, base + 6, base + 7, base + 8, base + 0xa}}

static const struct {
	const char *name;
	struct rg_op op;
} messages[] = {
	SEND("RC_SEND", WIRE_RC_SEND_FIRST),
	WRITE("RC_RDMA_WRITE", WIRE_RC_SEND_FIRST),
	{"RC_RDMA_READ_RESPONSE", {RG_OP_MESSAGE, WIRE_RC_READ_RESP_FIRST, WIRE_RC_READ_RESP_MIDDLE,
		WIRE_RC_READ_RESP_LAST, WIRE_RC_READ_RESP_ONLY}},
	SEND("UC_SEND", WIRE_UC_SEND_FIRST),
	WRITE("UC_RDMA_WRITE", WIRE_UC_SEND_FIRST),
	SEND("XRC_SEND", WIRE_XRC_SEND_FIRST),
	WRITE("XRC_RDMA_WRITE", WIRE_XRC_SEND_FIRST),
	{"PFC", {.kind = RG_OP_PFC}},
};

int rg_op_find(const char *name, struct rg_op *op)
{
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		if (strcmp(name, messages[i].name) != 0)
			continue;
		*op = messages[i].op;
		return 0;
	}
	for (unsigned code = 0; code <= UINT8_MAX; code++) {
		const char *known = wire_opinfo((uint8_t)code)->name;

		if (known == NULL || strcmp(name, known) != 0)
			continue;
		*op = (struct rg_op){RG_OP_PACKET, (uint8_t)code, (uint8_t)code, (uint8_t)code, (uint8_t)code};
		return 0;
	}
	return -ENOENT;
}

/* A CNP carries 16 reserved bytes and an ATOMIC WRITE 8 (IBTA annexes A17 and A19). */
bool rg_op_sized(const struct rg_op *op)
{
	return op->kind != RG_OP_PFC && op->only != WIRE_CNP && op->only != WIRE_RC_ATOMIC_WRITE &&
		wire_op_is(wire_opinfo(op->only), WIRE_OP_PAYLOAD);
}

bool rg_op_reads(const struct rg_op *op)
{
	return op->kind == RG_OP_PACKET && wire_op_is(wire_opinfo(op->only), WIRE_OP_READ);
}
