/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sim_check.c and sim_check_work.c share. An end's memory: SRC is read by its own work and by the other's READs
 * and never written. WRITE i of the other goes to slot i of DST, READ i of its own to slot i of READ, receive request r
 * is slot r of RECV. One counter is for the other's atomics, RESULT for the answers to its own. All but SRC starts as
 * zeros, which SRC has none of.
 */
#ifndef SIM_CHECK_INTERNAL_H
#define SIM_CHECK_INTERNAL_H

#include "sim_check.h"

#define SIM_CHECK_GRH   40u
#define SIM_CHECK_RECVS (3 * SIM_CHECK_OPS) /* repeated packets of UC and UD take receive requests too */

enum area { AREA_SRC, AREA_DST, AREA_READ, AREA_RECV, AREA_RESULT, AREA_COUNTER, AREA_END };

static inline struct sim_check_pair *sim_check_pair_of(const struct sim_check_end *end)
{
	return end->qp->owner;
}

static inline bool sim_check_takes_recv(const struct sim_check_op *op)
{
	return op->opcode == TP_WR_SEND || op->opcode == TP_WR_SEND_IMM || op->opcode == TP_WR_WRITE_IMM;
}

/* sim_check.c */

/* A slot of an area: offset in the host's memory, and that memory. */
uint64_t sim_check_off(const struct sim_check_end *end, enum area area, uint32_t slot);
uint8_t *sim_check_at(const struct sim_check_end *end, enum area area, uint32_t slot);
/* Notes what did not hold, unless something else did not before. */
__attribute__((format(printf, 2, 3))) void sim_check_breach(const struct sim_check_end *end, const char *fmt, ...);

/* sim_check_work.c */

extern const struct sim_user sim_check_user;
/* Draws a work request of an end. */
void sim_check_plan(struct sim_check_end *end, struct sim_check_op *op);

#endif
