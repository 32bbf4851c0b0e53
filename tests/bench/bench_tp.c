/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the transport costs, without a network: see tp_world.h. Each part prints a line "name value unit" for each
 * round, for tools/bench to read; what stands beside a figure is measured in turn with it.
 */
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp_protected.h"
#include "tp_world.h"

#define AWAY_NS     14000 /* about the burst of a queue pair at 10 Gb/s */
#define IDLE        4096u /* objects of which memory is measured */
#define MAX_WORKERS 2u

struct options {
	uint32_t messages, rounds;
};

/* ---- parts ---- */

static void one(const struct options *o, const char *name, struct tw_options how)
{
	struct tw_world *w = tw_new(&how);
	struct tw_round r;

	tw_move(w, o->messages / 10 + TW_DEPTH, &r); /* warm up */
	for (uint32_t i = 0; i < o->rounds; i++) {
		tw_move(w, o->messages, &r);
		printf("%s_requester %.1f cycles\n%s_responder %.1f cycles\n", name, r.requester, name, r.responder);
		printf("%s_bound %.1f cycles\n", name, tw_bound(w, o->messages));
		printf("%s_per_second %.0f 1/s\n", name, r.per_second);
	}
	tw_check(w);
	tw_free(w);
}

static void part_rc(const struct options *o)
{
	static const uint32_t sizes[] = {4096, 1024, 256};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char name[32];

		snprintf(name, sizeof(name), "write_%u", sizes[i]);
		one(o, name, (struct tw_options){.opcode = TP_WR_WRITE, .msg_bytes = sizes[i]});
		snprintf(name, sizeof(name), "send_%u", sizes[i]);
		one(o, name, (struct tw_options){.opcode = TP_WR_SEND, .msg_bytes = sizes[i]});
	}
	one(o, "write_4096_syscall", (struct tw_options){.msg_bytes = 4096, .by_syscall = true});
}

static void part_messages(const struct options *o)
{
	one(o, "write_8", (struct tw_options){.msg_bytes = 8});
	one(o, "write_8_sack", (struct tw_options){.msg_bytes = 8, .ext = TP_EXT_SACK});
	one(o, "write_8_merged", (struct tw_options){.msg_bytes = 8, .ext = TP_EXT_SACK | TP_EXT_MERGE});
	one(o, "write_256_sack", (struct tw_options){.msg_bytes = 256, .ext = TP_EXT_SACK});
	one(o, "write_256_merged", (struct tw_options){.msg_bytes = 256, .ext = TP_EXT_SACK | TP_EXT_MERGE});
}

/* The link is as fast as both ends are. A pace makes up for no more than its burst, so what the machine takes the
 * thread away for longer than that is missing, and told. */
static void pace(const char *name, uint64_t rate_bps, uint32_t burst_ns)
{
	struct tw_world *w = tw_new(&(struct tw_options){.msg_bytes = 4096, .burst_ns = burst_ns});
	double of_limit, away;

	tw_pace(w, rate_bps, rate_bps < 100000000 ? 2000000000 : 500000000, AWAY_NS, &of_limit, &away);
	printf("rate_%s %.4f of_limit\nrate_%s_away %.4f of_time\n", name, of_limit, name, away);
	tw_free(w);
}

static void part_rates(const struct options *o)
{
	(void)o;
	pace("10m", 10000000, 0);
	pace("1g", 1000000000, 0);
	pace("10g", 10000000000, 0);
	pace("10g_burst_1ms", 10000000000, 1000000);
	pace("10g_burst_4ms", 10000000000, 4000000);
}

/* With any number of queue pairs, as many of them post a message each and get an acknowledgement each. */
static void part_qps(const struct options *o)
{
	static const uint32_t counts[] = {10, 1000, 10000};
	struct tw_world *w[3];
	struct tw_round r;

	for (int i = 0; i < 3; i++) {
		w[i] = tw_new(
			&(struct tw_options){.msg_bytes = 256, .n_qps = counts[i], .burst = counts[0], .depth = 16});
		tw_move(w[i], 2 * counts[i], &r);
	}
	for (uint32_t round = 0; round < o->rounds; round++) {
		for (int i = 0; i < 3; i++) {
			tw_move(w[i], o->messages, &r);
			printf("qps_%u %.1f cycles\n", counts[i], r.requester + r.responder);
		}
	}
	for (int i = 0; i < 3; i++) {
		tw_check(w[i]);
		tw_free(w[i]);
	}
}

/* ---- memory ---- */

static size_t taken(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Of connected queue pairs that have not sent anything, with queues so deep. */
static void qp_memory(uint32_t depth)
{
	struct tw_options how = {.msg_bytes = 256, .n_qps = 1, .depth = depth};
	size_t before = taken(), with_one;
	struct tw_world *w = tw_new(&how);

	with_one = taken() - before;
	tw_free(w);
	before = taken();
	how.n_qps += IDLE;
	w = tw_new(&how);
	printf("idle_qp_%u %.1f B\n", depth, (double)(taken() - before - with_one) / IDLE / 2);
	tw_free(w);
}

/* The table of regions is taken when an endpoint is made. */
static void region_memory(void)
{
	size_t taken_by[2];

	for (uint32_t i = 0; i < 2; i++) {
		struct tp_config config = {.max_qps = 4, .max_mrs = 4 + i * IDLE};
		size_t before = taken();
		struct tp *tp = tp_create(&config, &(struct tp_ops){.pkt_alloc = NULL}, NULL, 0);

		if (tp == NULL)
			tw_die("no memory");
		taken_by[i] = taken() - before;
		tp_destroy(tp);
	}
	printf("region %.1f B\n", (double)(taken_by[1] - taken_by[0]) / IDLE);
}

static void part_memory(const struct options *o)
{
	(void)o;
	qp_memory(16);
	qp_memory(TW_DEPTH);
	region_memory();
}

/* ---- workers ---- */

struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	size_t cpu;
	uint32_t messages;
	double per_second;
};

static void *worker_main(void *arg)
{
	struct worker *me = arg;
	struct tw_round r;
	cpu_set_t set;
	struct tw_world *w;

	CPU_ZERO(&set);
	CPU_SET(me->cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0)
		tw_die("a worker cannot have its CPU");
	w = tw_new(&(struct tw_options){.msg_bytes = 4096});
	tw_move(w, me->messages / 10 + TW_DEPTH, &r);
	pthread_barrier_wait(me->start);
	tw_move(w, me->messages, &r);
	me->per_second = r.per_second;
	pthread_barrier_wait(me->start);
	tw_free(w);
	return NULL;
}

static double workers(uint32_t n, uint32_t messages, const size_t *cpus)
{
	struct worker all[MAX_WORKERS];
	pthread_barrier_t start;
	double sum = 0;

	pthread_barrier_init(&start, NULL, n);
	for (uint32_t i = 0; i < n; i++) {
		all[i] = (struct worker){.start = &start, .cpu = cpus[i], .messages = messages};
		if (pthread_create(&all[i].thread, NULL, worker_main, &all[i]) != 0)
			tw_die("no thread");
	}
	for (uint32_t i = 0; i < n; i++) {
		pthread_join(all[i].thread, NULL);
		sum += all[i].per_second;
	}
	pthread_barrier_destroy(&start);
	return sum;
}

/* Workers share nothing, so each has a world of its own. */
static void part_workers(const struct options *o)
{
	size_t cpus[MAX_WORKERS];
	uint32_t n = 0;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		tw_die("which CPUs may be used is unknown");
	for (size_t i = 0; i < CPU_SETSIZE && n < MAX_WORKERS; i++) {
		if (CPU_ISSET(i, &allowed))
			cpus[n++] = i;
	}
	if (n < MAX_WORKERS)
		tw_die("two workers need two CPUs");
	for (uint32_t r = 0; r < o->rounds; r++) {
		for (uint32_t w = 1; w <= MAX_WORKERS; w++)
			printf("workers_%u %.0f 1/s\n", w, workers(w, o->messages, cpus));
	}
}

/* ---- protected ---- */

static void part_protected(const struct options *o)
{
	for (unsigned int suite = 0; suite < CRYPT_SUITES; suite++)
		tp_protected((enum crypt_suite)suite, o->messages, o->rounds);
}

/* ---- main ---- */

static const struct part {
	const char *name;
	void (*run)(const struct options *o);
} parts[] = {
	{"rc", part_rc},
	{"messages", part_messages},
	{"rates", part_rates},
	{"qps", part_qps},
	{"memory", part_memory},
	{"workers", part_workers},
	{"protected", part_protected},
};
#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

static int usage(FILE *out)
{
	fputs("usage: bench_tp [-n MESSAGES] [-r ROUNDS] PART...\n"
	      "Two transport endpoints back to back in this thread. Parts:",
		out);
	for (size_t i = 0; i < N_PARTS; i++)
		fprintf(out, " %s", parts[i].name);
	fputs("\n  -n N   messages a round (default 100000)\n"
	      "  -r N   rounds, a line of each is printed (default 11)\n",
		out);
	return out == stdout ? 0 : 2;
}

static const struct part *find(const char *name)
{
	for (size_t i = 0; i < N_PARTS; i++) {
		if (strcmp(parts[i].name, name) == 0)
			return &parts[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct options o = {.messages = 100000, .rounds = 11};
	int opt;

	while ((opt = getopt(argc, argv, "n:r:h")) != -1) {
		if (opt == 'n')
			o.messages = (uint32_t)strtoul(optarg, NULL, 0);
		else if (opt == 'r')
			o.rounds = (uint32_t)strtoul(optarg, NULL, 0);
		else
			return usage(opt == 'h' ? stdout : stderr);
	}
	if (o.messages == 0 || o.rounds == 0 || optind == argc)
		return usage(stderr);
	for (int i = optind; i < argc; i++) {
		if (find(argv[i]) == NULL)
			return usage(stderr);
	}
	for (int i = optind; i < argc; i++)
		find(argv[i])->run(&o);
	return 0;
}
