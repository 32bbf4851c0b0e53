/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work requests and completions as the transport sees them. The same layouts lie in the memory shared
 * with clients (see verbs_contract.h), so this header is plain C and its structs are fixed. Numbers of
 * opcodes, flags and statuses equal those of <infiniband/verbs.h>, which makes them part of its ABI.
 */
#ifndef TP_WQE_H
#define TP_WQE_H

#include <assert.h>
#include <stdint.h>

#define TP_MAX_SGE          16
#define TP_MAX_INLINE_BYTES 256
#define TP_MAX_MSG_BYTES    (1u << 31)
#define TP_ATOMIC_BYTES     8

/* enum ibv_wr_opcode */
enum tp_wr_opcode {
	TP_WR_WRITE = 0,
	TP_WR_WRITE_IMM = 1,
	TP_WR_SEND = 2,
	TP_WR_SEND_IMM = 3,
	TP_WR_READ = 4,
	TP_WR_CMP_SWAP = 5,
	TP_WR_FETCH_ADD = 6,
	TP_WR_LOCAL_INV = 7,
	TP_WR_BIND_MW = 8,
	TP_WR_SEND_INV = 9,
	TP_WR_ATOMIC_WRITE = 15,
};

/* enum ibv_send_flags */
enum tp_send_flags {
	TP_SEND_FENCE = 1 << 0,
	TP_SEND_SIGNALED = 1 << 1,
	TP_SEND_SOLICITED = 1 << 2,
	TP_SEND_INLINE = 1 << 3,
};

/* enum ibv_wc_status */
enum tp_wc_status {
	TP_WC_SUCCESS = 0,
	TP_WC_LOC_LEN_ERR = 1,
	TP_WC_LOC_QP_OP_ERR = 2,
	TP_WC_LOC_PROT_ERR = 4,
	TP_WC_WR_FLUSH_ERR = 5,
	TP_WC_MW_BIND_ERR = 6,
	TP_WC_BAD_RESP_ERR = 7,
	TP_WC_LOC_ACCESS_ERR = 8,
	TP_WC_REM_INV_REQ_ERR = 9,
	TP_WC_REM_ACCESS_ERR = 10,
	TP_WC_REM_OP_ERR = 11,
	TP_WC_RETRY_EXC_ERR = 12,
	TP_WC_RNR_RETRY_EXC_ERR = 13,
	TP_WC_REM_INV_RD_REQ_ERR = 16,
	TP_WC_GENERAL_ERR = 21,
};

/* enum ibv_wc_opcode */
enum tp_wc_opcode {
	TP_WC_OP_SEND = 0,
	TP_WC_OP_WRITE = 1,
	TP_WC_OP_READ = 2,
	TP_WC_OP_CMP_SWAP = 3,
	TP_WC_OP_FETCH_ADD = 4,
	TP_WC_OP_BIND_MW = 5,
	TP_WC_OP_LOCAL_INV = 6,
	TP_WC_OP_ATOMIC_WRITE = 9,
	TP_WC_OP_RECV = 128,
	TP_WC_OP_RECV_WRITE_IMM = 129,
};

/* enum ibv_wc_flags */
enum tp_wc_flags {
	TP_WC_GRH = 1 << 0,
	TP_WC_WITH_IMM = 1 << 1,
	TP_WC_WITH_INV = 1 << 3,
};

/*
 * The header that stands where the GRH would be, in the numbers of Mellanox's hardware, which reports them in
 * the service level that RoCE v2 has no use for. UCX reads them there to know the form of the address.
 */
enum tp_wc_l3 {
	TP_WC_L3_GRH = 0,
	TP_WC_L3_IP6 = 1,
	TP_WC_L3_IP4 = 2,
};

/* enum ibv_access_flags */
enum tp_access {
	TP_ACCESS_LOCAL_WRITE = 1 << 0,
	TP_ACCESS_REMOTE_WRITE = 1 << 1,
	TP_ACCESS_REMOTE_READ = 1 << 2,
	TP_ACCESS_REMOTE_ATOMIC = 1 << 3,
	TP_ACCESS_MW_BIND = 1 << 4,
	TP_ACCESS_ZERO_BASED = 1 << 5,
};

struct tp_sge {
	uint64_t addr;
	uint32_t bytes;
	uint32_t lkey;
};
static_assert(sizeof(struct tp_sge) == 16, "shared layout");

/* Header of a send work request; num_sge entries of struct tp_sge or inline_bytes of data follow. */
struct tp_send_wqe {
	uint64_t wr_id;
	uint8_t opcode;          /* enum tp_wr_opcode */
	uint8_t num_sge;         /* 0 with TP_SEND_INLINE */
	uint16_t flags;          /* enum tp_send_flags */
	uint32_t inline_bytes;   /* with TP_SEND_INLINE */
	uint64_t remote_addr;    /* WRITE, READ, atomics; BIND_MW: where the window starts in the region */
	uint32_t rkey;           /* BIND_MW: the new R_Key of the window, whose upper 24 bits name it */
	uint32_t imm;            /* immediate data as on the wire, or the R_Key to invalidate (also LOCAL_INV) */
	union {
		struct {
			uint64_t compare_add;
			uint64_t swap;
		} atomic;
		struct {
			uint32_t ah;
			uint32_t qpn;
			uint32_t qkey;
			uint32_t resv;
		} ud;
		struct {
			uint64_t bytes;  /* 0: unbinds a window of type 1 */
			uint32_t mr_key;
			uint32_t access; /* enum tp_access: remote rights, zero based */
		} bind;
	};
	uint32_t srqn;           /* XRC: number of the peer's shared receive queue */
	uint32_t resv0;
	uint64_t resv;
};
static_assert(sizeof(struct tp_send_wqe) == 64, "shared layout");

/* Header of a receive work request; num_sge entries of struct tp_sge follow. */
struct tp_recv_wqe {
	uint64_t wr_id;
	uint32_t num_sge;
	uint32_t resv;
};
static_assert(sizeof(struct tp_recv_wqe) == 16, "shared layout");

/* A completion. */
struct tp_cqe {
	uint64_t wr_id;
	uint32_t qpn;
	uint32_t bytes;
	uint32_t imm;            /* immediate data as on the wire, or the invalidated R_Key */
	uint32_t src_qpn;
	uint16_t status;         /* enum tp_wc_status */
	uint16_t opcode;         /* enum tp_wc_opcode; undefined by the API unless status is success, set anyway */
	uint16_t flags;          /* enum tp_wc_flags */
	uint16_t vendor_err;
	uint16_t pkey_index;
	uint8_t solicited;       /* the message asked for a solicited event, or the status is an error */
	uint8_t l3;              /* enum tp_wc_l3, of datagrams */
	uint32_t seq;            /* written last by the producer of a shared ring: see verbs_contract.h */
	uint64_t timestamp_ns;
	uint64_t resv1[2];
};
static_assert(sizeof(struct tp_cqe) == 64, "shared layout");

/* Bytes of a ring slot that holds the largest work request of a queue. */
static inline uint32_t tp_send_slot_bytes(uint32_t max_sge, uint32_t max_inline_bytes)
{
	uint32_t body = max_sge * (uint32_t)sizeof(struct tp_sge);

	if (body < max_inline_bytes)
		body = max_inline_bytes;
	return ((uint32_t)sizeof(struct tp_send_wqe) + body + 63) & ~63u;
}

static inline uint32_t tp_recv_slot_bytes(uint32_t max_sge)
{
	return ((uint32_t)(sizeof(struct tp_recv_wqe) + max_sge * sizeof(struct tp_sge)) + 15) & ~15u;
}

#endif
