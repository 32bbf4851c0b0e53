/* SPDX-License-Identifier: BSD-3-Clause */
/* A scenario: what is built, what is sent over it and what goes wrong, as read from a file. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdio.h>

#include "fabric_keys.h"
#include "sim.h"
#include "sim_congestion.h"

#define SIM_MAX_WORKLOADS 16
#define SIM_WORD_BYTES    24
#define SIM_MAX_SEEDS     1000000u
#define SIM_MAX_HOSTS     65536u
#define SIM_MAX_FLOWS     (1u << 24)
#define SIM_MAX_BASE_NS   500000000u  /* delays of the longest way there and back; times are within seconds */

enum sim_pattern { SIM_PERMUTATION, SIM_INCAST, SIM_ALL_TO_ALL, SIM_RING, SIM_POISSON, SIM_MOE };
enum sim_op { SIM_WRITE, SIM_SEND, SIM_READ };
enum sim_placement { SIM_PACKED, SIM_STRIDED, SIM_SHUFFLED };

struct sim_workload {
	struct config_at at;
	char pattern_name[SIM_WORD_BYTES], op_name[SIM_WORD_BYTES], sizes_name[SIM_WORD_BYTES],
		placement_name[SIM_WORD_BYTES];
	enum sim_pattern pattern;
	enum sim_op op;
	enum sim_placement placement;
	const struct sim_sizes *sizes;    /* poisson; NULL: all flows have `bytes` */
	uint64_t bytes;                   /* of a flow */
	uint64_t message_bytes;           /* a flow is cut into messages of at most so many; 0: one message */
	uint64_t start_us;
	uint32_t senders;                 /* incast: of a group */
	uint32_t group_size;              /* all-to-all, ring, moe; 0: all hosts */
	uint32_t groups;                  /* incast, and those; 0: as many as there is room for */
	uint32_t steps;                   /* ring; 0: 2 (n - 1) */
	uint32_t load_percent;            /* poisson: of the hosts' links */
	uint64_t duration_us;             /* poisson: flows begin within it */
	uint32_t tokens, token_bytes, top_k, zipf_permille; /* moe */
};

struct sim_scenario {
	struct fk_fabric fabric;
	struct {
		char service_name[SIM_WORD_BYTES], recovery_name[SIM_WORD_BYTES], scheduler_name[SIM_WORD_BYTES],
			congestion_name[SIM_WORD_BYTES];
		enum tp_qp_type service;
		bool selective;               /* RC: selective repeat; else go-back-N, and one EV */
		enum path_sched_kind scheduler;
		uint32_t n_evs;
		bool controlled;              /* by congestion control; else a window of packets, halved on a loss */
		enum cc_kind congestion;
		uint32_t mtu, window_pkts, timeout, retry_cnt, rd_atomic, priority, ack_priority, max_buffers, sack_wait_ns;
		bool ecn;
		uint64_t poll_ns;
	} transport;
	struct sim_congestion congestion;
	uint64_t seed, limit_us;
	uint32_t n_seeds;
	uint32_t n_workloads;
	struct sim_workload workloads[SIM_MAX_WORKLOADS];
	uint32_t n_faults;
	struct fk_fault faults[FK_MAX_FAULTS];
	char files[CONFIG_MAX_FILES][CONFIG_TEXT_BYTES]; /* names the config_at point to */
};

static inline uint64_t sim_scenario_hosts(const struct sim_scenario *scenario)
{
	return (uint64_t)scenario->fabric.pods * scenario->fabric.leaves * scenario->fabric.hosts_per_leaf;
}

/* Reads and checks a file. Writes one line per error to err, "FILE:LINE: where: what"; returns their number. */
unsigned sim_scenario_load(const char *path, struct sim_scenario *scenario, FILE *err);
/* Prints the table of keys. */
void sim_scenario_help(FILE *out, bool markdown);

#endif
