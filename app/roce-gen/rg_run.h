/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows out of the ports and frames from them into the sink, until it is time to end. One thread. */
#ifndef RG_RUN_H
#define RG_RUN_H

#include "rg_port.h"

enum rg_end { RG_GOES_ON, RG_END_COUNT, RG_END_DURATION, RG_END_SIGNAL };

struct rg_run {
	const struct rg_config *config;
	struct port_owner owner;
	uint32_t n_ports;
	struct rg_port ports[RG_MAX_PORTS];
	struct rg_tx_stats tx[RG_MAX_PORTS];
	struct rg_sink_port rx[RG_MAX_PORTS];
	struct rte_mempool *pool;          /* of what is sent */
	uint32_t room;                     /* of a buffer there, for a frame */
	uint32_t n_flows;                  /* that are sent */
	struct rg_flow flows[RG_MAX_FLOWS];
	struct rg_pace paces[RG_MAX_FLOWS];
	uint64_t flow_ns[RG_MAX_FLOWS];    /* how long each was sent */
	uint32_t first;                    /* flow that is looked at first */
	struct rg_sink sink;
	bool receives;
	uint64_t began_ns, now_ns;         /* of clock_now_ns() */
	uint64_t ended_ns;                 /* when the last flow had gone; 0: not yet */
	uint64_t slow_ns, second_ns, report_ns; /* when that is due */
	uint64_t idle_since_ns, sleep_ns;
	int signal_fd;
	enum rg_end end;
};

/* Opens and starts the ports; DPDK is running. Logs why not. rg_run_fini() is due either way. */
int rg_run_init(struct rg_run *run, const struct rg_config *config, int signal_fd);
/* Waits for the links of all ports. 0, -ENETDOWN or -EINTR. */
int rg_run_wait(struct rg_run *run);
/* Until a signal, the duration or the flows' counts end it. */
void rg_run(struct rg_run *run);
void rg_run_results(struct rg_run *run, struct rg_results *results);
void rg_run_fini(struct rg_run *run);

#endif
