/* SPDX-License-Identifier: BSD-3-Clause */
/* What most tests need: a fake daemon, an open device, and two connected queue pairs. */
#ifndef ENV_H
#define ENV_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "fake.h"

#define ENV_SQ_DEPTH 4
#define ENV_RQ_DEPTH 8

struct env {
	struct fake *fake;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *a, *b;              /* both complete to cq */
	char buf[4096];
};

int env_setup(void **state);
/* Destroys what is there and checks that the daemon has nothing left. */
int env_teardown(void **state);
void env_to_state(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t dest_qpn);
/* Posts a receive for buf[offset, offset + 8) at qp. */
int env_post_recv(struct env *env, struct ibv_qp *qp, uint64_t wr_id, uint32_t offset);
/* Polls until n completions are there, or fails. */
void env_poll(struct ibv_cq *cq, struct ibv_wc *wc, int n);
/* n messages from a to b, one by one, with both sides' completions and the data checked. */
void env_exchange(struct env *env, uint32_t n);

#endif
