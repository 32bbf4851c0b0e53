/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the transport costs, without a network: two endpoints back to back in one thread, packets in
 * plain memory. Next to it, in turns in the same run, what no implementation that copies and then checks gets
 * below: a memcpy and a CRC-32 of the same bytes at either end. Nothing is printed before the end, then one "name value
 * unit" a line, for tools/bench to read.
 *
 * The requester's cycles are tp_tx() and the receipt of acknowledgements, the responder's are
 * parsing, ICRC check, the delivery and the making of acknowledgements. Bursts are timed one by one, and figures are
 * lower deciles of all of them: a shared machine takes the thread away and its caches and half of its core too, for less
 * than nine bursts in ten. Cycles are those of the time stamp counter, and core_cycles those of the core's own clock.
 */
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <x86intrin.h>

#include <isa-l/crc.h>

#include "bench_clock.h"
#include "bench_world.h"

#define STEP_NS     2000 /* the clock of the transport goes on by this much a burst */
#define MAX_ROUNDS  64
#define AWAY_NS     14000 /* about the burst of a queue pair at 10 Gb/s */
#define STUCK_NS    20e9
#define WARM_UP     (DEPTH + 512)
#define IDLE        1000u /* queue pairs, regions */
#define QUIET       10    /* one in so many bursts was not disturbed by whatever else the machine does */

enum { REQUESTER, RESPONDER, BASE, N_SAMPLES };

/* Of each burst, in cycles a message. */
struct samples {
	double *of[N_SAMPLES];
	size_t n[N_SAMPLES];
};

struct options {
	uint32_t messages, rounds;
	double core_per_tsc;
};

static struct samples samples_make(const struct options *o)
{
	struct samples s = {0};

	for (uint32_t i = 0; i < N_SAMPLES; i++) {
		s.of[i] = malloc(((size_t)o->messages / 8 + 2) * o->rounds * sizeof(double));
		if (s.of[i] == NULL)
			bench_die("no memory");
	}
	return s;
}

static void samples_free(struct samples *s)
{
	for (uint32_t i = 0; i < N_SAMPLES; i++)
		free(s->of[i]);
}

static void note(struct samples *s, uint32_t which, uint64_t cycles, uint64_t messages)
{
	if (s != NULL)
		s->of[which][s->n[which]++] = (double)cycles / (double)messages;
}

static double quiet(struct samples *s, uint32_t which)
{
	qsort(s->of[which], s->n[which], sizeof(double), compare_doubles);
	return s->n[which] != 0 ? s->of[which][s->n[which] / QUIET] : 0;
}

/* ---- one queue pair ---- */

/* Not inline, here and below, so that profilers tell it apart: callgrind --toggle-collect=measure_tp */
__attribute__((noinline)) static void measure_tp(struct world *w, uint32_t messages, struct samples *s)
{
	struct end *a = &w->end[0], *b = &w->end[1];
	uint64_t target = a->retired + messages, before;
	uint64_t t0, t1, t2, t3;
	double began_ns = now_ns();

	while (a->retired < target) {
		before = a->retired;
		a->flow->posted = a->flow->retired + w->config.depth;
		t0 = __rdtsc();
		tp_qp_kick(a->tp, a->flow->qp);
		tp_tx(a->tp, BURST, w->now_ns);
		t1 = __rdtsc();
		world_deliver(w, a, b);
		t2 = __rdtsc();
		world_deliver(w, b, a);
		t3 = __rdtsc();
		w->now_ns += STEP_NS;
		if (a->retired != before) {
			note(s, REQUESTER, (t1 - t0) + (t3 - t2), a->retired - before);
			note(s, RESPONDER, t2 - t1, a->retired - before);
		} else if (now_ns() - began_ns > STUCK_NS) {
			bench_die("no progress");
		}
	}
}

/* A copy and a CRC of the bytes of a message at either end, between the same regions by way of packet buffers. */
static void measure_base(struct world *w, uint32_t messages, struct samples *s)
{
	const uint32_t bytes = w->config.msg_bytes;
	volatile uint32_t sink;
	uint32_t crc = 0;

	for (uint32_t done = 0; done < messages; done += BURST) {
		uint64_t t0 = __rdtsc();

		for (uint32_t i = 0; i < BURST; i++) {
			uint8_t *to = (uint8_t *)w->free[i]->buf_addr + HEADROOM;

			memcpy(to, w->end[0].mem + (uint64_t)(done + i) * bytes % REGION, bytes);
			crc = crc32_gzip_refl(crc, to, bytes);
		}
		for (uint32_t i = 0; i < BURST; i++) {
			const uint8_t *from = (const uint8_t *)w->free[i]->buf_addr + HEADROOM;

			crc = crc32_gzip_refl(crc, from, bytes);
			memcpy(w->end[1].mem + (uint64_t)(done + i) * bytes % REGION, from, bytes);
		}
		note(s, BASE, __rdtsc() - t0, 2 * BURST);
	}
	sink = crc;
	(void)sink;
}

static void check_world(const struct world *w)
{
	const struct end *a = &w->end[0], *b = &w->end[1];

	if (a->failed != 0 || tp_counters(a->tp)->retransmits != 0)
		bench_die("a message failed or was sent again");
	if (a->retired >= REGION / w->config.msg_bytes && memcmp(a->mem, b->mem, REGION) != 0)
		bench_die("the data is wrong");
}

static double tsc_hz(void)
{
	double began_ns = now_ns();
	uint64_t t0 = __rdtsc();

	while (now_ns() - began_ns < 20e6)
		;
	return (double)(__rdtsc() - t0) * 1e9 / (now_ns() - began_ns);
}

static void run(const struct options *o, const char *name, const struct world_config *config)
{
	struct world *w = world_make(config);
	struct samples s = samples_make(o);
	double requester, responder, base;

	measure_tp(w, o->messages / 10 + WARM_UP, NULL);
	for (uint32_t i = 0; i < o->rounds; i++) {
		measure_tp(w, o->messages, &s);
		measure_base(w, o->messages, &s);
	}
	check_world(w);
	requester = quiet(&s, REQUESTER);
	responder = quiet(&s, RESPONDER);
	base = quiet(&s, BASE);
	printf("%s_requester_cycles %.1f cycles\n", name, requester);
	printf("%s_responder_cycles %.1f cycles\n", name, responder);
	printf("%s_memcpy_crc_cycles %.1f cycles\n", name, base);
	printf("%s_messages_per_second %.0f 1/s\n", name, tsc_hz() / (requester + responder));
	printf("%s_both_ends %.0f core_cycles\n", name, (requester + responder) * o->core_per_tsc);
	printf("%s_bound %.0f core_cycles\n", name, 2 * base * o->core_per_tsc);
	printf("%s_beyond_300_per_bound %.2f x\n", name,
		((requester + responder) * o->core_per_tsc - 300) / (2 * base * o->core_per_tsc));
	printf("%s_messages_per_second_at_3ghz %.0f 1/s\n", name, 3e9 / ((requester + responder) * o->core_per_tsc));
	samples_free(&s);
	world_free(w);
}

static void run_all(const struct options *o, const char *only)
{
	static const struct {
		const char *name;
		struct world_config config;
	} runs[] = {
		{"write_4k", {.msg_bytes = 4096}},
		{"write_1k", {.msg_bytes = 1024}},
		{"write_256b", {.msg_bytes = 256}},
		{"send_4k", {.msg_bytes = 4096, .opcode = TP_WR_SEND}},
		{"send_1k", {.msg_bytes = 1024, .opcode = TP_WR_SEND}},
		{"send_256b", {.msg_bytes = 256, .opcode = TP_WR_SEND}},
		{"write_4k_syscall", {.msg_bytes = 4096, .by_syscall = true}},
		{"write_8b", {.msg_bytes = 8}},
		{"send_8b", {.msg_bytes = 8, .opcode = TP_WR_SEND}},
		{"write_8b_sack", {.msg_bytes = 8, .ext = TP_EXT_SACK}},
		{"write_8b_merged", {.msg_bytes = 8, .ext = TP_EXT_SACK | TP_EXT_MERGE}},
		{"write_256b_sack", {.msg_bytes = 256, .ext = TP_EXT_SACK}},
		{"write_256b_merged", {.msg_bytes = 256, .ext = TP_EXT_SACK | TP_EXT_MERGE}},
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		if (only == NULL || strcmp(only, runs[i].name) == 0)
			run(o, runs[i].name, &runs[i].config);
	}
}

/* ---- many queue pairs ---- */

/* One message of each in turn, `burst` of them at a time, each with an acknowledgement of its own. */
__attribute__((noinline)) static void measure_turns(struct world *w, uint32_t messages, uint32_t burst, struct samples *s)
{
	struct end *a = &w->end[0], *b = &w->end[1];
	uint32_t q = 0;

	for (uint32_t done = 0; done < messages; done += burst) {
		uint64_t t0 = __rdtsc(), before = a->retired;

		tp_advance(a->tp, w->now_ns);
		for (uint32_t i = 0; i < burst; i++) {
			struct flow *f = &a->flow[q];

			f->posted++;
			tp_qp_kick(a->tp, f->qp);
			q = q + 1 < w->config.n_qps ? q + 1 : 0;
		}
		tp_tx(a->tp, burst, w->now_ns);
		world_deliver(w, a, b);
		world_deliver(w, b, a);
		w->now_ns += STEP_NS;
		if (a->retired - before != burst)
			bench_die("not all of a burst came");
		note(s, REQUESTER, __rdtsc() - t0, burst);
	}
}

static void run_turns(const struct options *o, uint32_t msg_bytes)
{
	static const uint32_t counts[] = {10, 1000, 10000};
	double first = 0;

	for (uint32_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		uint32_t n = counts[c], burst = n < BURST ? n : BURST;
		struct world *w = world_make(&(struct world_config){.msg_bytes = msg_bytes, .n_qps = n, .depth = 16});
		struct samples s = samples_make(o);
		double cycles;

		measure_turns(w, 4 * n, burst, NULL);
		for (uint32_t i = 0; i < o->rounds; i++)
			measure_turns(w, o->messages, burst, &s);
		check_world(w);
		cycles = quiet(&s, REQUESTER);
		if (c == 0)
			first = cycles;
		printf("write_%ub_%u_qps_cycles %.1f cycles\n", msg_bytes, n, cycles);
		printf("write_%ub_%u_qps_per_10 %.2f x\n", msg_bytes, n, cycles / first);
		samples_free(&s);
		world_free(w);
	}
}

/* ---- memory ---- */

static size_t heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static struct tp *make_idle(uint32_t max_mrs)
{
	static const struct tp_ops none;
	struct tp *tp = tp_create(&(struct tp_config){.max_qps = IDLE + 2, .max_mrs = max_mrs, .qpn_base = 0x100000}, &none,
		NULL, 0);

	if (tp == NULL)
		bench_die("no memory");
	return tp;
}

/* What the allocator gave for queue pairs, of which none has anything to do, and for regions. */
static void run_memory(void)
{
	const struct tp_qp_init init = {.type = TP_QPT_RC, .pd = 1, .sq_depth = DEPTH, .rq_depth = 512, .max_send_sge = 1,
		.max_recv_sge = 1, .max_inline_bytes = 64};
	size_t before = heap_bytes(), few, many;
	struct tp *tp = make_idle(IDLE);
	struct tp_qp *qp;
	uint32_t qpn;

	few = heap_bytes() - before;
	tp_destroy(tp);
	before = heap_bytes();
	tp = make_idle(2 * IDLE);
	many = heap_bytes() - before;
	before = heap_bytes();
	for (uint32_t i = 0; i < IDLE; i++) {
		if (tp_qp_create(tp, &init, &qp, &qpn) != 0)
			bench_die("cannot make a queue pair");
	}
	printf("mr_bytes %.0f bytes\n", (double)(many - few) / IDLE);
	printf("idle_qp_bytes %.0f bytes\n", (double)(heap_bytes() - before) / IDLE);
	tp_destroy(tp);
}

/* ---- pace ---- */

/*
 * What a queue pair with a limit sends in some time by the clock of the machine, by what it may. Timers and pace are those of
 * a worker; the link is as fast as both ends are. A pace makes up for no more than its burst, so what the machine takes
 * the thread away for longer than that is missing, and told.
 */
static void run_rate(const char *name, uint64_t rate_bps, uint32_t burst_ns)
{
	const uint64_t lasts_ns = rate_bps < 100000000 ? 2000000000 : 500000000;
	struct world *w = world_make(&(struct world_config){.msg_bytes = 4096, .burst_ns = burst_ns});
	struct end *a = &w->end[0], *b = &w->end[1];
	uint64_t began_ns, bytes, last_ns, away_ns = 0;

	w->now_ns = (uint64_t)now_ns();
	tp_advance(a->tp, w->now_ns);
	tp_advance(b->tp, w->now_ns);
	tp_qp_set_rate(a->tp, a->flow->qp, rate_bps);
	began_ns = w->now_ns;
	bytes = tp_counters(a->tp)->tx_bytes;
	do {
		last_ns = w->now_ns;
		w->now_ns = (uint64_t)now_ns();
		if (w->now_ns - last_ns > AWAY_NS)
			away_ns += w->now_ns - last_ns;
		tp_advance(a->tp, w->now_ns);
		tp_advance(b->tp, w->now_ns);
		a->flow->posted = a->flow->retired + w->config.depth;
		tp_qp_kick(a->tp, a->flow->qp);
		tp_tx(a->tp, BURST, w->now_ns);
		world_deliver(w, a, b);
		world_deliver(w, b, a);
	} while (w->now_ns - began_ns < lasts_ns);
	bytes = tp_counters(a->tp)->tx_bytes - bytes;
	printf("rate_%s_in_memory %.4f of_limit\n", name,
		(double)bytes * 8e9 / (double)(w->now_ns - began_ns) / (double)rate_bps);
	printf("rate_%s_away %.4f of_time\n", name, (double)away_ns / (double)(w->now_ns - began_ns));
	world_free(w);
}

static void run_rates(void)
{
	run_rate("10m", 10000000, 0);
	run_rate("1g", 1000000000, 0);
	run_rate("10g", 10000000000, 0);
	run_rate("10g_burst_1ms", 10000000000, 1000000);
	run_rate("10g_burst_4ms", 10000000000, 4000000);
}

static void usage(FILE *out)
{
	fputs("usage: bench_tp [-n MESSAGES] [-r ROUNDS] [-o RUN]\n"
	      "Two transport endpoints back to back in this thread, against memcpy + CRC-32.\n"
	      "  -n N     messages a round (default 100000)\n"
	      "  -r N     rounds, 1..64 (default 11)\n"
	      "  -o RUN   only that one: messages, turns (many queue pairs), memory, rates, or one of the messages,\n"
	      "           for example write_4k (default: all)\n",
		out);
}

static bool is_wanted(const char *only, const char *name)
{
	return only == NULL || strcmp(only, name) == 0;
}

static void run_wanted(const struct options *o, const char *only)
{
	bool known = false;

	if (is_wanted(only, "turns")) {
		run_turns(o, 8);
		run_turns(o, 1024);
		known = true;
	}
	if (is_wanted(only, "memory")) {
		run_memory();
		known = true;
	}
	if (is_wanted(only, "rates")) {
		run_rates();
		known = true;
	}
	if (only == NULL || !known)
		run_all(o, only == NULL || strcmp(only, "messages") == 0 ? NULL : only);
}

int main(int argc, char **argv)
{
	struct options o = {.messages = 100000, .rounds = 11};
	const char *only = NULL;
	int opt;

	while ((opt = getopt(argc, argv, "n:r:o:h")) != -1) {
		switch (opt) {
		case 'n':
			o.messages = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'r':
			o.rounds = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'o':
			only = optarg;
			break;
		default:
			usage(opt == 'h' ? stdout : stderr);
			return opt == 'h' ? 0 : 2;
		}
	}
	if (o.messages == 0 || o.rounds == 0 || o.rounds > MAX_ROUNDS) {
		usage(stderr);
		return 2;
	}
	o.core_per_tsc = clock_ghz() * 1e9 / tsc_hz();
	printf("core_ghz %.3f GHz\n", o.core_per_tsc * tsc_hz() / 1e9);
	run_wanted(&o, only);
	return 0;
}
