/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path schedulers: how long a message takes in a random permutation on the fabric model, all links whole and with some
 * spines slow, and what a decision costs. One "name value unit" a line for tools/bench; with -t a table.
 */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sched_sim.h"

#define SLOW_SPINES 4
#define MAX_SEEDS   1000u
#define IN_FLIGHT   32u
#define BASE_NS     10000u
#define SAMPLES     2001u

struct options {
	uint32_t seeds;
	bool table, only_cost;
};

struct row {
	double worst_us, mean_worst_us, mean_us, acked_us;
	uint64_t packets, resent;
	bool complete;
};

static void run(const struct options *o, enum path_sched_kind kind, uint32_t slow_spines, bool idle_core,
	struct row *row)
{
	*row = (struct row){.complete = true};
	for (uint64_t seed = 1; seed <= o->seeds; seed++) {
		struct sched_sim_config config;
		struct sched_sim_result result;
		double max_us;

		sched_sim_default(&config);
		config.sched.kind = kind;
		config.slow_spines = slow_spines;
		config.idle_core = idle_core;
		config.seed = seed;
		sched_sim_run(&config, &result);
		max_us = (double)result.max_ns / 1000;
		row->worst_us = max_us > row->worst_us ? max_us : row->worst_us;
		row->mean_worst_us += max_us / o->seeds;
		row->mean_us += (double)result.mean_ns / 1000 / o->seeds;
		if ((double)result.acked_max_ns / 1000 > row->acked_us)
			row->acked_us = (double)result.acked_max_ns / 1000;
		row->packets += result.packets;
		row->resent += result.resent;
		row->complete &= result.complete;
	}
}

static void print(const struct options *o, const char *what, const char *name, const struct row *row)
{
	if (!row->complete)
		fprintf(stderr, "bench_sched: %s %s did not end\n", what, name);
	if (o->table)
		printf("%-12s %-12s %8.1f %8.1f %8.1f %8.1f %7.2f %%\n", what, name, row->worst_us,
			row->mean_worst_us, row->mean_us, row->acked_us,
			100.0 * (double)row->resent / (double)row->packets);
	else
		printf("sched_%s_%s_max %.1f us\n", what, name, row->worst_us);
	fflush(stdout);
}

static void completion(const struct options *o)
{
	struct row row;

	if (o->table)
		printf("%-12s %-12s %8s %8s %8s %8s %9s\n", "traffic", "scheduler", "max us", "per seed", "mean",
			"acked", "resent");
	run(o, PATH_SCHED_ROUND_ROBIN, 0, true, &row);
	print(o, "permutation", "bound", &row);
	for (unsigned int kind = 0; kind < PATH_SCHED_KINDS; kind++) {
		run(o, (enum path_sched_kind)kind, 0, false, &row);
		print(o, "permutation", path_sched_name((enum path_sched_kind)kind), &row);
	}
	for (unsigned int kind = 0; kind < PATH_SCHED_KINDS; kind++) {
		run(o, (enum path_sched_kind)kind, SLOW_SPINES, false, &row);
		print(o, "degraded", path_sched_name((enum path_sched_kind)kind), &row);
	}
}

/* ---- cost ---- */

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(uint64_t *sample, uint32_t n)
{
	qsort(sample, n, sizeof(*sample), compare);
	return (double)sample[n / 2] / IN_FLIGHT;
}

/* A window of packets leaves, then its acknowledgements come, some of them marked or late. */
static void cost(enum path_sched_kind kind)
{
	struct path_sched_config config;
	struct path_sched s;
	struct path_sched_view view = {.now_ns = 1, .in_flight_bytes = 1};
	uint64_t picks_ns[SAMPLES], acks_ns[SAMPLES];
	uint8_t ev[IN_FLIGHT];

	path_sched_config_default(&config);
	config.kind = kind;
	path_sched_init(&s, &config, 1);
	for (uint32_t round = 0; round < SAMPLES; round++) {
		uint64_t t0 = clock_ns(), t1;

		for (uint32_t i = 0; i < IN_FLIGHT; i++) {
			view.last_send_ns = view.now_ns;
			view.now_ns += 300;
			ev[i] = path_sched_pick(&s, &view);
		}
		t1 = clock_ns();
		for (uint32_t i = 0; i < IN_FLIGHT; i++)
			path_sched_acked(&s, ev[i], (i + round) % 5 == 0, BASE_NS + (ev[i] & 7u) * 1000, view.now_ns);
		acks_ns[round] = clock_ns() - t1;
		picks_ns[round] = t1 - t0;
	}
	printf("sched_%s_pick %.1f ns\n", path_sched_name(kind), median(picks_ns, SAMPLES));
	printf("sched_%s_ack %.1f ns\n", path_sched_name(kind), median(acks_ns, SAMPLES));
}

static void usage(FILE *out)
{
	fputs("usage: bench_sched [-s SEEDS] [-c] [-t]\n"
	      "Path schedulers on the fabric model: 128 hosts send 2 MB each in a random permutation.\n"
	      "  -s N   seeds, 1..1000 (default 5): the worst completion of all is printed\n"
	      "  -c     only the cost\n"
	      "  -t     a table with the mean over the seeds, the mean completion, the last acknowledgement\n",
		out);
}

int main(int argc, char **argv)
{
	struct options o = {.seeds = 5};
	int opt;

	while ((opt = getopt(argc, argv, "s:cth")) != -1) {
		switch (opt) {
		case 's':
			o.seeds = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'c':
			o.only_cost = true;
			break;
		case 't':
			o.table = true;
			break;
		default:
			usage(opt == 'h' ? stdout : stderr);
			return opt == 'h' ? 0 : 2;
		}
	}
	if (o.seeds == 0 || o.seeds > MAX_SEEDS) {
		usage(stderr);
		return 2;
	}
	if (!o.only_cost)
		completion(&o);
	for (unsigned int kind = 0; kind < PATH_SCHED_KINDS; kind++)
		cost((enum path_sched_kind)kind);
	return 0;
}
