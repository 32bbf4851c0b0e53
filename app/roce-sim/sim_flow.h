/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows: data that one host has for another, cut into messages, on a queue pair of its own or behind earlier flows
 * of the same. Flows that continue a chain start when the one before them has arrived.
 */
#ifndef SIM_FLOW_H
#define SIM_FLOW_H

#include "sim_scenario.h"

#define SIM_NONE UINT32_MAX

struct sim_conn {
	struct sim_qp ends[2];    /* of the flows' source and destination */
	uint32_t src, dst;
	uint32_t first, last;     /* its flows that have started and are not wholly posted, by sim_flow.behind */
	uint32_t n_left;          /* flows not done */
	bool open;
	bool closing;
	struct sim_run *run;
};

struct sim_flow {
	uint32_t src, dst, conn, workload;
	uint64_t bytes;
	uint64_t at_ns;           /* starts then, unless another starts it */
	uint32_t then;            /* starts when this one has arrived; SIM_NONE */
	bool follows;             /* is another's `then` */
	uint32_t behind;          /* next in its connection's queue */
	uint32_t n_msgs, posted, sent, arrived;
	bool started, done, failed;
	uint64_t start_ns, end_ns;
	uint64_t ideal_ns;        /* alone on the fabric */
};

struct sim_run {
	const struct sim_scenario *scenario;
	uint64_t seed;
	struct sim_net *net;
	struct path_sched_config sched; /* of all queue pairs with selective repeat */
	struct cc_config cc;
	struct sim_flow *flows;
	uint32_t n_flows, flow_room;
	struct sim_conn *conns;
	uint32_t n_conns, conn_room;
	uint32_t n_done, n_failed;
	uint64_t total_bytes;         /* of frames, about, if none has to be sent twice */
	uint64_t end_ns;              /* of the last flow */
	uint64_t bound_ns;            /* no way of sending ends earlier */
	int error;                    /* negative errno: ran out of something */
};

/* sim_workload.c */

/* Makes flows and connections of all workloads; the net exists. 0, -ENOMEM. */
int sim_workload_make(struct sim_run *run);
/* How many flows a workload has, about, before the net exists. */
double sim_workload_flows(const struct sim_scenario *scenario, const struct sim_workload *w);
/* Most queue pairs that one host may have at a time, before the net exists. */
uint32_t sim_workload_qps(const struct sim_scenario *scenario);

/* sim_bound.c */

/* Sets ideal_ns of all flows, and the run's bound_ns. */
void sim_bound(struct sim_run *run);

/* sim_flow.c */

/* Has all flows start at their times. 0 or -ENOMEM. */
int sim_flow_begin(struct sim_run *run);
/* Whether nothing more is to be expected. */
bool sim_flow_over(const struct sim_run *run);

/* sim_run.c */

/* Runs one seed of a scenario; progress(arg, share done in permille) is called now and then, may be NULL. 0 or
 * -errno. The result is there until sim_run_free(). */
int sim_run(struct sim_run *run, const struct sim_scenario *scenario, uint64_t seed,
	void (*progress)(void *arg, uint32_t permille), void *arg);
void sim_run_free(struct sim_run *run);

#endif
