/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * BTH opcodes as a table: which headers follow in which order, how long they are, and what the opcode
 * does (IBTA vol. 1, 9.2 and tables 38, 39; annexes A14, A17 and A19). Opcodes from 0xc0 on are left to
 * manufacturers; ours are described in docs/wire.md and sent only to a peer that has agreed to them. The flags are a
 * type of their own so that they can never be or-ed into an opcode number.
 */
#ifndef WIRE_OPCODE_H
#define WIRE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

enum wire_opcode {
	WIRE_RC_SEND_FIRST = 0x00,
	WIRE_RC_SEND_MIDDLE = 0x01,
	WIRE_RC_SEND_LAST = 0x02,
	WIRE_RC_SEND_LAST_IMM = 0x03,
	WIRE_RC_SEND_ONLY = 0x04,
	WIRE_RC_SEND_ONLY_IMM = 0x05,
	WIRE_RC_WRITE_FIRST = 0x06,
	WIRE_RC_WRITE_MIDDLE = 0x07,
	WIRE_RC_WRITE_LAST = 0x08,
	WIRE_RC_WRITE_LAST_IMM = 0x09,
	WIRE_RC_WRITE_ONLY = 0x0a,
	WIRE_RC_WRITE_ONLY_IMM = 0x0b,
	WIRE_RC_READ_REQUEST = 0x0c,
	WIRE_RC_READ_RESP_FIRST = 0x0d,
	WIRE_RC_READ_RESP_MIDDLE = 0x0e,
	WIRE_RC_READ_RESP_LAST = 0x0f,
	WIRE_RC_READ_RESP_ONLY = 0x10,
	WIRE_RC_ACK = 0x11,
	WIRE_RC_ATOMIC_ACK = 0x12,
	WIRE_RC_COMPARE_SWAP = 0x13,
	WIRE_RC_FETCH_ADD = 0x14,
	WIRE_RC_SEND_LAST_INV = 0x16,
	WIRE_RC_SEND_ONLY_INV = 0x17,
	WIRE_RC_FLUSH = 0x1c,
	WIRE_RC_ATOMIC_WRITE = 0x1d,
	WIRE_UC_SEND_FIRST = 0x20,
	WIRE_UC_WRITE_ONLY_IMM = 0x2b,
	WIRE_UD_SEND_ONLY = 0x64,
	WIRE_UD_SEND_ONLY_IMM = 0x65,
	WIRE_CNP = 0x81,
	WIRE_XRC_SEND_FIRST = 0xa0,
	WIRE_XRC_ACK = 0xb1,
	WIRE_XRC_SEND_ONLY_INV = 0xb7,
	WIRE_RC_SACK = 0xc0,
	WIRE_RC_MERGED = 0xc1,
};

/* Transport service: the upper three bits of an opcode. */
enum wire_service {
	WIRE_SERVICE_RC = 0,
	WIRE_SERVICE_UC = 1,
	WIRE_SERVICE_RD = 2,
	WIRE_SERVICE_UD = 3,
	WIRE_SERVICE_CNP = 4,
	WIRE_SERVICE_XRC = 5,
	WIRE_SERVICE_EXT = 6,      /* manufacturer opcodes 0xc0 to 0xdf, ours: of reliable connections */
};

/* The operation: the lower five bits, the same in RC, XRC and where they have it UC. */
#define WIRE_OPERATION_MASK 0x1f

/* Extended headers, as a set. */
enum wire_hdr {
	WIRE_HDR_RDETH = 1 << 0,
	WIRE_HDR_XRCETH = 1 << 1,
	WIRE_HDR_DETH = 1 << 2,
	WIRE_HDR_FETH = 1 << 3,
	WIRE_HDR_RETH = 1 << 4,
	WIRE_HDR_ATOMICETH = 1 << 5,
	WIRE_HDR_AETH = 1 << 6,
	WIRE_HDR_ATOMICACKETH = 1 << 7,
	WIRE_HDR_IMMDT = 1 << 8,
	WIRE_HDR_IETH = 1 << 9,
	WIRE_HDR_SACKETH = 1 << 10, /* ours: docs/wire.md */
	WIRE_HDR_MERGETH = 1 << 11, /* ours too */
};

/* Of the word wire_pkt.sack_echo: flags, and the PSN of the packet that the acknowledgement answers. */
enum {
	WIRE_SACK_MARKED = 1u << 31,   /* it came with ECN Congestion Experienced (RFC 3168) */
	WIRE_SACK_REFUSED = 1u << 30,  /* it came and was not taken */
	WIRE_SACK_BLOCK_SHIFT = 24,    /* two bits: which 64 PSNs the map is about */
	WIRE_SACK_BLOCK_MASK = 3,
	WIRE_SACK_BLOCK_PSNS = 64,
};

/* What an opcode is; one set of flags a table row. */
struct wire_opflags {
	uint16_t bits;
};

enum {
	WIRE_OP_START = 1 << 0,        /* first or only packet of a message */
	WIRE_OP_MIDDLE = 1 << 1,       /* neither first nor last */
	WIRE_OP_END = 1 << 2,          /* last or only packet of a message */
	WIRE_OP_SEND = 1 << 3,
	WIRE_OP_WRITE = 1 << 4,
	WIRE_OP_READ = 1 << 5,         /* READ request */
	WIRE_OP_ATOMIC = 1 << 6,       /* CmpSwap, FetchAdd */
	WIRE_OP_RESPONSE = 1 << 7,     /* acknowledge or READ response: goes to the requester */
	WIRE_OP_READ_RESP = 1 << 8,
	WIRE_OP_RECV_START = 1 << 9,   /* consumes a receive work request when it starts */
	WIRE_OP_COMPLETES = 1 << 10,   /* makes a receive completion */
	WIRE_OP_PAYLOAD = 1 << 11,     /* may carry payload */
	WIRE_OP_FLUSH = 1 << 12,
	WIRE_OP_ATOMIC_WRITE = 1 << 13,
};

struct wire_opinfo {
	const char *name;          /* IBTA style, for example "RC_RDMA_WRITE_FIRST"; NULL: unknown opcode */
	uint16_t hdrs;             /* set of enum wire_hdr */
	uint8_t hdr_bytes;         /* BTH and extended headers */
	enum wire_service service;
	struct wire_opflags flags;
};

/* The row of an opcode; never NULL, name is NULL where the opcode is not defined. */
extern const struct wire_opinfo wire_opinfo_table[256];

static inline const struct wire_opinfo *wire_opinfo(uint8_t opcode)
{
	return &wire_opinfo_table[opcode];
}

static inline bool wire_op_is(const struct wire_opinfo *info, uint16_t any_of)
{
	return info->flags.bits & any_of;
}

#endif
