/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two transport endpoints back to back in one thread, packets in plain memory: end 0 asks, end 1 answers. The program of a
 * queue pair keeps as many work requests posted as it is told to, through its region in steps.
 */
#ifndef BENCH_WORLD_H
#define BENCH_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "tp.h"

#define HEADROOM    128
#define BUF_BYTES   (HEADROOM + WIRE_MAX_HDR_BYTES + 4096 + 8)
#define N_BUFS      512
#define BURST       32
#define DEPTH       128        /* work requests in flight */
#define REGION      (1u << 20) /* stays in the cache of a core or near it, like a busy buffer */

struct end;

/* A queue pair and its program. */
struct flow {
	struct end *end;
	struct tp_qp *qp;
	uint32_t qpn;
	uint32_t posted, fetched, retired;
};

struct end {
	struct world *world;
	struct tp *tp;
	struct flow *flow;         /* n_qps of the world; the i-th ones of both ends are connected */
	uint32_t key;
	uint8_t *mem;
	struct rte_mbuf *out[N_BUFS];
	uint32_t n_out;
	uint64_t fetched, received, retired, completed, failed;
};

struct world_config {
	uint32_t msg_bytes;
	enum tp_wr_opcode opcode;  /* TP_WR_WRITE or TP_WR_SEND */
	bool by_syscall;           /* client memory by /proc/self/mem, as the daemon reaches it */
	uint32_t ext;              /* set of enum tp_ext_flag that both ends agree to */
	uint32_t burst_ns;
	uint32_t n_qps, depth;     /* 0: 1 and DEPTH */
};

struct world {
	struct end end[2];
	struct world_config config;
	uint64_t now_ns;
	int mem_fd;
	struct tp_send_wqe wqe;    /* what all work requests have in common */
	struct rte_mbuf *free[N_BUFS];
	uint32_t n_free;
};

/* Says what is wrong and ends the program. */
__attribute__((noreturn)) void bench_die(const char *what);

/* Two connected ends; never NULL. */
struct world *world_make(const struct world_config *config);
void world_free(struct world *w);
/* Hands all that one end has sent to the other, as a worker does: parse, check the ICRC, deliver. */
void world_deliver(struct world *w, struct end *from, struct end *to);

#endif
