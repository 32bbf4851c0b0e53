/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two endpoints of the transport back to back in one thread, packets in plain memory: what messages cost without a
 * network. End 0 sends to end 1 by any number of queue pairs.
 */
#ifndef TP_WORLD_H
#define TP_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_clock.h"
#include "tp.h"

#define TW_DEPTH 128 /* work requests in flight */
#define TW_BURST 32

struct tw_options {
	uint32_t msg_bytes;
	enum tp_wr_opcode opcode; /* TP_WR_WRITE or TP_WR_SEND */
	bool by_syscall;          /* client memory by /proc/self/mem, as the daemon reaches it */
	uint32_t ext;             /* set of enum tp_ext_flag that both ends agree to */
	uint32_t burst_ns;        /* of tp_config */
	uint32_t n_qps;           /* 0: one */
	uint32_t depth;           /* of a queue, 0: TW_DEPTH */
	uint32_t burst;           /* of many queue pairs, how many post in a turn, 0: TW_BURST */
	/* What the link does with frames when they leave an end and before they are read at the other; NULL: nothing.
	 */
	void (*leave)(void *arg, struct rte_mbuf **pkts, uint32_t n);
	void (*arrive)(void *arg, struct rte_mbuf **pkts, uint32_t n);
	void *link_arg;
};

/* Of one round, for a message: cycles of the core, and messages a second while this one core runs both ends. */
struct tw_round {
	double requester, responder, per_second;
};

struct tw_world;

/* Ends the program when something cannot be had. */
struct tw_world *tw_new(const struct tw_options *options);
void tw_free(struct tw_world *w);

/* Cycles are those of the median burst, so that bursts in which others had the core do not count.
 *
 * The requester's are tp_tx() and the receipt of acknowledgements, the responder's are parsing, ICRC check, delivery
 * and the making of acknowledgements. Many queue pairs take turns, with one message each. */
void tw_move(struct tw_world *w, uint32_t messages, struct tw_round *round);
/* What no implementation gets below: copy and CRC-32 of the same bytes at either end, through the same buffers and
 * regions in bursts of the same size. Cycles of a message. */
double tw_bound(struct tw_world *w, uint32_t messages);
/* Ends the program unless every message went once and arrived as it was sent. */
void tw_check(const struct tw_world *w);
/* For a time, by the clock of the machine and with the pace rate_bps at queue pair 0: what went of it, and for which
 * part of the time the machine took the thread away for longer than away_ns. */
void tw_pace(
	struct tw_world *w, uint64_t rate_bps, uint64_t lasts_ns, uint64_t away_ns, double *of_limit, double *away);

/* Cycles of the core in a tick of the time stamp counter now. */
double tw_cycles_per_tick(void);
_Noreturn void tw_die(const char *what);

#endif
