/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run showed, as numbers, text, CSV, JSON and a picture. */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "sim_flow.h"

/* Of a set of numbers; nothing of the sort: all 0. */
struct sim_spread {
	double mean, p50, p95, p99, max;
};

/* Share of their rate that links used, over the whole run. */
struct sim_use {
	double mean, min, max;
};

enum sim_tier { SIM_TIER_HOST, SIM_TIER_LEAF, SIM_TIER_CORE, SIM_TIER_COUNT }; /* links above hosts, leaves, spines */

struct sim_result {
	uint64_t seed;
	const char *service, *recovery, *scheduler, *congestion;
	uint32_t n_evs;
	uint32_t n_flows, n_ok, n_failed;   /* the rest was not done in time, or lost a message */
	uint64_t end_ns, bound_ns;
	bool together;                      /* all flows began at the same time, so the bound is one for each */
	uint64_t bytes;                     /* of flows that are done */
	struct sim_spread fct_us, slowdown;
	double goodput_gbps;                /* of all hosts together */
	struct tp_counters tp;
	struct fabric_port_stats fabric;
	uint64_t queue_p50_bytes, queue_p99_bytes; /* that packets found at switches */
	uint64_t bad_frames, delivered, digest;
	struct sim_use use[SIM_TIER_COUNT][2]; /* up, down */
	uint64_t *fct_ns;                   /* n_ok, sorted */
	uint32_t n_spines;                  /* of all pods */
	struct sim_use (*spines)[2];        /* links between leaves and each of them: up, down */
};

/* Takes what a run left. 0 or -ENOMEM; free with sim_result_free(). */
int sim_result_take(const struct sim_run *run, struct sim_result *result);
void sim_result_free(struct sim_result *result);

void sim_report_text(FILE *out, const struct sim_result *result);
/* A row a flow; the header once. */
void sim_report_csv_head(FILE *out);
void sim_report_csv(FILE *out, const struct sim_run *run, const struct sim_result *result);
void sim_report_json(FILE *out, const char *scenario, const struct sim_result *results, uint32_t n);

/* sim_svg.c: sorted completion times of all runs, and the use of links in the first. */
void sim_svg(FILE *out, const char *title, const struct sim_result *results, uint32_t n);

#endif
