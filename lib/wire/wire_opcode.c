/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_opcode.h"

#define BTH        12
#define RDETH      4
#define DETH       8
#define FETH       4
#define RETH       16
#define ATOMICETH  28
#define AETH       4
#define ATOMICACK  8
#define IMMDT      4
#define IETH       4
#define XRCETH     4
#define SACKETH    16
#define MERGETH    4

#define S WIRE_OP_START
#define M WIRE_OP_MIDDLE
#define E WIRE_OP_END
#define P WIRE_OP_PAYLOAD
#define C WIRE_OP_COMPLETES
#define R WIRE_OP_RECV_START
#define SEND (WIRE_OP_SEND | P)
#define WRITE (WIRE_OP_WRITE | P)
#define RESP WIRE_OP_RESPONSE
#define READ_RESP (RESP | WIRE_OP_READ_RESP | P)

#define ROW(op, text, svc, set, bytes, fl)                                                         \
	[op] = {.name = text,                                                                      \
		.hdrs = (set),                                                                     \
		.hdr_bytes = (uint8_t)(BTH + (bytes)),                                             \
		.service = WIRE_SERVICE_##svc,                                                     \
		.flags = {(uint16_t)(fl)}}

/* The SEND and WRITE rows that RC, UC and RD share; base is the service's first opcode. */
#define SEND_WRITE_ROWS(base, svc, set, bytes)                                                     \
	ROW(base + 0x00, #svc "_SEND_FIRST", svc, set, bytes, S | SEND | R),                       \
		ROW(base + 0x01, #svc "_SEND_MIDDLE", svc, set, bytes, M | SEND),                  \
		ROW(base + 0x02, #svc "_SEND_LAST", svc, set, bytes, E | SEND | C),                \
		ROW(base + 0x03, #svc "_SEND_LAST_WITH_IMMEDIATE", svc, (set) | WIRE_HDR_IMMDT,    \
			(bytes) + IMMDT, E | SEND | C),                                            \
		ROW(base + 0x04, #svc "_SEND_ONLY", svc, set, bytes, S | E | SEND | C | R),        \
		ROW(base + 0x05, #svc "_SEND_ONLY_WITH_IMMEDIATE", svc, (set) | WIRE_HDR_IMMDT,    \
			(bytes) + IMMDT, S | E | SEND | C | R),                                    \
		ROW(base + 0x06, #svc "_RDMA_WRITE_FIRST", svc, (set) | WIRE_HDR_RETH,             \
			(bytes) + RETH, S | WRITE),                                                \
		ROW(base + 0x07, #svc "_RDMA_WRITE_MIDDLE", svc, set, bytes, M | WRITE),           \
		ROW(base + 0x08, #svc "_RDMA_WRITE_LAST", svc, set, bytes, E | WRITE),             \
		ROW(base + 0x09, #svc "_RDMA_WRITE_LAST_WITH_IMMEDIATE", svc,                      \
			(set) | WIRE_HDR_IMMDT, (bytes) + IMMDT, E | WRITE | C | R),               \
		ROW(base + 0x0a, #svc "_RDMA_WRITE_ONLY", svc, (set) | WIRE_HDR_RETH,              \
			(bytes) + RETH, S | E | WRITE),                                            \
		ROW(base + 0x0b, #svc "_RDMA_WRITE_ONLY_WITH_IMMEDIATE", svc,                      \
			(set) | WIRE_HDR_RETH | WIRE_HDR_IMMDT, (bytes) + RETH + IMMDT,            \
			S | E | WRITE | C | R)

/* Annex A14: a request tells which shared receive queue it is for, a response is that of RC. */
#define XRC_SET WIRE_HDR_XRCETH
#define XRC_ROWS                                                                                   \
	SEND_WRITE_ROWS(0xa0, XRC, XRC_SET, XRCETH),                                               \
		ROW(0xac, "XRC_RDMA_READ_REQUEST", XRC, XRC_SET | WIRE_HDR_RETH, XRCETH + RETH,    \
			S | E | WIRE_OP_READ),                                                     \
		ROW(0xad, "XRC_RDMA_READ_RESPONSE_FIRST", XRC, WIRE_HDR_AETH, AETH, S | READ_RESP), \
		ROW(0xae, "XRC_RDMA_READ_RESPONSE_MIDDLE", XRC, 0, 0, M | READ_RESP),              \
		ROW(0xaf, "XRC_RDMA_READ_RESPONSE_LAST", XRC, WIRE_HDR_AETH, AETH, E | READ_RESP), \
		ROW(0xb0, "XRC_RDMA_READ_RESPONSE_ONLY", XRC, WIRE_HDR_AETH, AETH,                 \
			S | E | READ_RESP),                                                        \
		ROW(0xb1, "XRC_ACKNOWLEDGE", XRC, WIRE_HDR_AETH, AETH, S | E | RESP),              \
		ROW(0xb2, "XRC_ATOMIC_ACKNOWLEDGE", XRC, WIRE_HDR_AETH | WIRE_HDR_ATOMICACKETH,    \
			AETH + ATOMICACK, S | E | RESP),                                           \
		ROW(0xb3, "XRC_COMPARE_SWAP", XRC, XRC_SET | WIRE_HDR_ATOMICETH,                   \
			XRCETH + ATOMICETH, S | E | WIRE_OP_ATOMIC),                               \
		ROW(0xb4, "XRC_FETCH_ADD", XRC, XRC_SET | WIRE_HDR_ATOMICETH, XRCETH + ATOMICETH,  \
			S | E | WIRE_OP_ATOMIC),                                                   \
		ROW(0xb6, "XRC_SEND_LAST_WITH_INVALIDATE", XRC, XRC_SET | WIRE_HDR_IETH,           \
			XRCETH + IETH, E | SEND | C),                                              \
		ROW(0xb7, "XRC_SEND_ONLY_WITH_INVALIDATE", XRC, XRC_SET | WIRE_HDR_IETH,           \
			XRCETH + IETH, S | E | SEND | C | R)

#define RD_SET (WIRE_HDR_RDETH | WIRE_HDR_DETH)

const struct wire_opinfo wire_opinfo_table[256] = {
	SEND_WRITE_ROWS(0x00, RC, 0, 0),
	ROW(0x0c, "RC_RDMA_READ_REQUEST", RC, WIRE_HDR_RETH, RETH, S | E | WIRE_OP_READ),
	ROW(0x0d, "RC_RDMA_READ_RESPONSE_FIRST", RC, WIRE_HDR_AETH, AETH, S | READ_RESP),
	ROW(0x0e, "RC_RDMA_READ_RESPONSE_MIDDLE", RC, 0, 0, M | READ_RESP),
	ROW(0x0f, "RC_RDMA_READ_RESPONSE_LAST", RC, WIRE_HDR_AETH, AETH, E | READ_RESP),
	ROW(0x10, "RC_RDMA_READ_RESPONSE_ONLY", RC, WIRE_HDR_AETH, AETH, S | E | READ_RESP),
	ROW(0x11, "RC_ACKNOWLEDGE", RC, WIRE_HDR_AETH, AETH, S | E | RESP),
	ROW(0x12, "RC_ATOMIC_ACKNOWLEDGE", RC, WIRE_HDR_AETH | WIRE_HDR_ATOMICACKETH,
		AETH + ATOMICACK, S | E | RESP),
	ROW(0x13, "RC_COMPARE_SWAP", RC, WIRE_HDR_ATOMICETH, ATOMICETH, S | E | WIRE_OP_ATOMIC),
	ROW(0x14, "RC_FETCH_ADD", RC, WIRE_HDR_ATOMICETH, ATOMICETH, S | E | WIRE_OP_ATOMIC),
	ROW(0x16, "RC_SEND_LAST_WITH_INVALIDATE", RC, WIRE_HDR_IETH, IETH, E | SEND | C),
	ROW(0x17, "RC_SEND_ONLY_WITH_INVALIDATE", RC, WIRE_HDR_IETH, IETH, S | E | SEND | C | R),
	ROW(0x1c, "RC_FLUSH", RC, WIRE_HDR_FETH | WIRE_HDR_RETH, FETH + RETH, S | E | WIRE_OP_FLUSH),
	ROW(0x1d, "RC_ATOMIC_WRITE", RC, WIRE_HDR_RETH, RETH, S | E | P | WIRE_OP_ATOMIC_WRITE),

	SEND_WRITE_ROWS(0x20, UC, 0, 0),

	SEND_WRITE_ROWS(0x40, RD, RD_SET, RDETH + DETH),
	ROW(0x4c, "RD_RDMA_READ_REQUEST", RD, RD_SET | WIRE_HDR_RETH, RDETH + DETH + RETH,
		S | E | WIRE_OP_READ),
	ROW(0x4d, "RD_RDMA_READ_RESPONSE_FIRST", RD, WIRE_HDR_RDETH | WIRE_HDR_AETH, RDETH + AETH,
		S | READ_RESP),
	ROW(0x4e, "RD_RDMA_READ_RESPONSE_MIDDLE", RD, WIRE_HDR_RDETH, RDETH, M | READ_RESP),
	ROW(0x4f, "RD_RDMA_READ_RESPONSE_LAST", RD, WIRE_HDR_RDETH | WIRE_HDR_AETH, RDETH + AETH,
		E | READ_RESP),
	ROW(0x50, "RD_RDMA_READ_RESPONSE_ONLY", RD, WIRE_HDR_RDETH | WIRE_HDR_AETH, RDETH + AETH,
		S | E | READ_RESP),
	ROW(0x51, "RD_ACKNOWLEDGE", RD, WIRE_HDR_RDETH | WIRE_HDR_AETH, RDETH + AETH, S | E | RESP),
	ROW(0x52, "RD_ATOMIC_ACKNOWLEDGE", RD,
		WIRE_HDR_RDETH | WIRE_HDR_AETH | WIRE_HDR_ATOMICACKETH, RDETH + AETH + ATOMICACK,
		S | E | RESP),
	ROW(0x53, "RD_COMPARE_SWAP", RD, RD_SET | WIRE_HDR_ATOMICETH, RDETH + DETH + ATOMICETH,
		S | E | WIRE_OP_ATOMIC),
	ROW(0x54, "RD_FETCH_ADD", RD, RD_SET | WIRE_HDR_ATOMICETH, RDETH + DETH + ATOMICETH,
		S | E | WIRE_OP_ATOMIC),

	ROW(0x64, "UD_SEND_ONLY", UD, WIRE_HDR_DETH, DETH, S | E | SEND | C | R),
	ROW(0x65, "UD_SEND_ONLY_WITH_IMMEDIATE", UD, WIRE_HDR_DETH | WIRE_HDR_IMMDT, DETH + IMMDT,
		S | E | SEND | C | R),

	/* 16 reserved bytes follow; they are carried as payload. */
	ROW(0x81, "CNP", CNP, 0, 0, S | E | P),

	XRC_ROWS,

	ROW(0xc0, "RC_SACK", EXT, WIRE_HDR_AETH | WIRE_HDR_SACKETH, AETH + SACKETH, S | E | RESP),
	ROW(0xc1, "RC_MERGED", EXT, WIRE_HDR_MERGETH, MERGETH, S | E | P),
};
