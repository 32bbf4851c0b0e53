/* SPDX-License-Identifier: BSD-3-Clause */
/* What a flow may send, by name: an opcode of lib/wire's table, a message that is cut into packets, or PFC frames. */
#ifndef RG_OP_H
#define RG_OP_H

#include <stdbool.h>
#include <stdint.h>

enum rg_op_kind {
	RG_OP_PACKET,     /* each packet has the same opcode, and is a message of its own */
	RG_OP_MESSAGE,    /* FIRST, MIDDLE ... LAST, or ONLY */
	RG_OP_PFC,        /* no RoCE: pause frames of IEEE 802.1Qbb */
};

struct rg_op {
	enum rg_op_kind kind;
	uint8_t first, middle, last, only; /* opcodes; RG_OP_PACKET: all the same */
};

/* Finds "RC_RDMA_WRITE_ONLY" (an opcode as in enum wire_opcode), "RC_RDMA_WRITE" (a message) or "PFC". 0 or -ENOENT. */
int rg_op_find(const char *name, struct rg_op *op);

/* Whether it carries payload whose size a flow may choose. */
bool rg_op_sized(const struct rg_op *op);
/* Whether it asks for data, so that a size is that of the answers. */
bool rg_op_reads(const struct rg_op *op);

#endif
