/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pairs of queue pairs that exchange random work both ways over a checked net, and what must hold whatever the
 * fabric does: every completion once and in order, every byte right, errors only where they are allowed, and in the
 * end nothing left over. The first breach is told and ends the run.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "sim.h"

#define SIM_CHECK_OPS 32

struct sim_check;

struct sim_check_op {
	uint8_t opcode;           /* enum tp_wr_opcode */
	bool fence;
	uint32_t src, bytes;      /* offset in the area that is read */
	bool arrived;             /* its receive completion came */
};

/* One end: what it posts, and what it has of its host's memory. */
struct sim_check_end {
	struct sim_check *check;
	struct sim_check_end *other;
	struct sim_qp *qp;
	uint64_t base;            /* of its memory in its host's */
	uint32_t n_ops, n_posted, n_sent;
	struct sim_check_op ops[SIM_CHECK_OPS];
	uint32_t n_recvs, n_taken, n_received; /* receive requests that may be fetched, were, and are complete */
	uint32_t n_expected;      /* receives that the other end's work takes */
	uint32_t next_recv_op;    /* RC: of the other end, whose receive comes next */
	uint64_t n_added;         /* RC: atomics that were answered */
	bool failed;
};

struct sim_check_pair {
	struct sim_qp qps[2];
	struct sim_check_end ends[2];
	enum tp_qp_type type;
	uint32_t mtu, max_bytes;  /* of a message */
	uint64_t min_fail_ns;     /* RC: it may fail from then on; UINT64_MAX: never */
};

struct sim_check {
	struct sim_net *net;
	struct sim_check_pair *pairs;
	uint32_t n_pairs;
	uint64_t *used_bytes;     /* of each host's memory */
	uint64_t n_lost, n_arrived, n_failed; /* for who wants to know that something happened */
	char breach[200];         /* "": none */
};

/* Memory that a pair takes of each of its hosts. */
uint64_t sim_check_mem_bytes(uint32_t max_bytes);

/* 0 or -ENOMEM. The net is checked and has memory for the pairs; it stays the caller's. */
int sim_check_create(struct sim_net *net, uint32_t n_pairs, struct sim_check *check);
void sim_check_destroy(struct sim_check *check);
/* Makes pair i between two hosts, with up to n_ops work requests each way drawn from the net's seed. 0, -ENOMEM or
 * -EINVAL. */
int sim_check_pair(struct sim_check *check, uint32_t i, uint32_t a, uint32_t b, const struct sim_qp_config *config,
	uint32_t n_ops, uint32_t max_bytes);
/* Posts all work now, and half of the receive requests; the rest at that time, so that RNR NAKs have their part. */
int sim_check_start(struct sim_check *check, uint64_t rest_ns);
/* Runs until nothing is left to happen, for limit_ns at most. Whether all held; else check->breach tells. */
bool sim_check_run(struct sim_check *check, uint64_t limit_ns);

#endif
