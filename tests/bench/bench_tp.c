/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the transport costs, without a network: two endpoints back to back in one thread, packets in
 * plain memory. Next to it, in turns in the same run, what no implementation gets below: one memcpy
 * and one CRC-32 of the same bytes. Each round prints nothing; the medians over all rounds come at
 * the end, one "name value unit" a line, for tools/bench to read.
 *
 * The requester's cycles are tp_tx() and the receipt of acknowledgements, the responder's are
 * parsing, ICRC check, the delivery and the making of acknowledgements.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <isa-l/crc.h>

#include "tp.h"
#include "wire_icrc.h"

#define HEADROOM    128
#define BUF_BYTES   (HEADROOM + WIRE_MAX_HDR_BYTES + 4096 + 8)
#define N_BUFS      512
#define BURST       32
#define DEPTH       128        /* work requests in flight */
#define SIGNAL_EACH 32         /* every n-th work request asks for a completion */
#define REGION      (1u << 20) /* stays in the cache of a core or near it, like a busy buffer */
#define IOVA        0x10000
#define PD          1
#define STEP_NS     2000 /* the clock of the transport goes on by this much a burst */
#define MAX_ROUNDS  64
#define AWAY_NS     14000 /* about the burst of a queue pair at 10 Gb/s */

struct world;

struct end {
	struct world *world;
	struct tp *tp;
	struct tp_qp *qp;
	uint32_t qpn, key;
	uint8_t *mem;
	struct rte_mbuf *out[N_BUFS];
	uint32_t n_out;
	uint64_t fetched, retired, completed, failed;
};

struct world {
	struct end end[2];
	uint32_t msg_bytes;
	bool by_syscall; /* client memory by /proc/self/mem, as the daemon reaches it */
	uint32_t ext;    /* set of enum tp_ext_flag that both ends agree to */
	uint64_t now_ns;
	int mem_fd;
	struct rte_mbuf *free[N_BUFS];
	uint32_t n_free;
};

struct round {
	double requester, responder, base; /* cycles a message */
	double per_second;                 /* messages, both ends on this one core */
};

struct options {
	uint32_t messages, rounds;
};

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "bench_tp: %s\n", what);
	exit(1);
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- what the transport asks of its environment ---- */

static struct rte_mbuf *op_alloc(void *env)
{
	struct world *w = ((struct end *)env)->world;
	struct rte_mbuf *m;

	if (w->n_free == 0)
		return NULL;
	m = w->free[--w->n_free];
	m->data_off = HEADROOM;
	m->data_len = 0;
	m->pkt_len = 0;
	return m;
}

static void op_emit(void *env, const struct tp_av *av, struct rte_mbuf *m)
{
	struct end *e = env;

	(void)av;
	e->out[e->n_out++] = m;
}

static int op_read(void *env, void *as, uint64_t va, void *dst, size_t bytes)
{
	struct world *w = ((struct end *)env)->world;

	(void)as;
	return pread(w->mem_fd, dst, bytes, (off_t)va) == (ssize_t)bytes ? 0 : -EFAULT;
}

static int op_write(void *env, void *as, uint64_t va, const void *src, size_t bytes)
{
	struct world *w = ((struct end *)env)->world;

	(void)as;
	return pwrite(w->mem_fd, src, bytes, (off_t)va) == (ssize_t)bytes ? 0 : -EFAULT;
}

/* The work requests of a program that keeps DEPTH WRITEs in flight, through its region in steps. */
static int op_send_fetch(void *env, void *cookie, struct tp_send_wqe *slot, uint32_t slot_bytes)
{
	struct end *e = cookie;
	struct world *w = e->world;
	struct tp_sge *sge = (struct tp_sge *)(slot + 1);
	uint64_t at;

	(void)env;
	(void)slot_bytes;
	if (e->fetched - e->retired >= DEPTH)
		return 0;
	at = e->fetched * w->msg_bytes % REGION;
	memset(slot, 0, sizeof(*slot));
	slot->wr_id = e->fetched++;
	slot->opcode = TP_WR_WRITE;
	slot->flags = e->fetched % SIGNAL_EACH == 0 ? TP_SEND_SIGNALED : 0;
	slot->remote_addr = IOVA + at;
	slot->rkey = w->end[1].key;
	if (w->msg_bytes <= 64) {
		slot->flags |= TP_SEND_INLINE;
		slot->inline_bytes = w->msg_bytes;
		memcpy(sge, e->mem + at, w->msg_bytes);
		return 1;
	}
	slot->num_sge = 1;
	*sge = (struct tp_sge){.addr = IOVA + at, .bytes = w->msg_bytes, .lkey = e->key};
	return 1;
}

static int op_recv_fetch(void *env, void *cookie, struct tp_recv_wqe *slot, uint32_t slot_bytes)
{
	(void)env;
	(void)cookie;
	(void)slot;
	(void)slot_bytes;
	return 0;
}

static void op_retire(void *env, void *cookie, uint32_t count)
{
	(void)env;
	((struct end *)cookie)->retired += count;
}

static int op_complete(void *env, void *cq_cookie, const struct tp_cqe *cqe)
{
	struct end *e = cq_cookie;

	(void)env;
	e->completed++;
	if (cqe->status != TP_WC_SUCCESS)
		e->failed++;
	return 0;
}

static void op_event(void *env, void *cookie, enum tp_event event)
{
	(void)env;
	(void)cookie;
	(void)event;
}

static const struct tp_ops ops = {
	.pkt_alloc = op_alloc,
	.pkt_emit = op_emit,
	.mem_read = op_read,
	.mem_write = op_write,
	.send_fetch = op_send_fetch,
	.recv_fetch = op_recv_fetch,
	.send_retire = op_retire,
	.complete = op_complete,
	.event = op_event,
};

/* ---- set-up ---- */

static void *take(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

	if (p == NULL)
		die("no memory");
	memset(p, 0x5a, bytes);
	return p;
}

static void make_bufs(struct world *w)
{
	for (uint32_t i = 0; i < N_BUFS; i++) {
		struct rte_mbuf *m = take(sizeof(*m) + sizeof(struct wire_pkt));

		memset(m, 0, sizeof(*m) + sizeof(struct wire_pkt));
		m->priv_size = sizeof(struct wire_pkt);
		m->buf_addr = take(BUF_BYTES);
		m->buf_len = BUF_BYTES;
		w->free[w->n_free++] = m;
	}
}

static void make_end(struct world *w, uint32_t i, uint32_t burst_ns)
{
	struct end *e = &w->end[i];
	struct tp_config config = {
		.max_qps = 4, .max_mrs = 4, .qpn_base = 0x100 << i, .burst_ns = burst_ns, .seed = 1 + i};
	struct tp_mr_attr mr = {.pd = PD,
		.access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE,
		.iova = IOVA,
		.bytes = REGION,
		.as = w};
	struct tp_qp_init init = {.type = TP_QPT_RC,
		.pd = PD,
		.sq_depth = DEPTH,
		.rq_depth = 16,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline_bytes = 64,
		.ext = w->ext,
		.send_cq = e,
		.recv_cq = e,
		.cookie = e};

	e->world = w;
	e->mem = take(REGION);
	for (uint32_t at = 0; at < REGION; at++) /* other bytes on either end */
		e->mem[at] = (uint8_t)((at * 2654435761u) >> 11) ^ (uint8_t)(0xff * i);
	mr.addr = (uintptr_t)e->mem;
	mr.direct = w->by_syscall ? NULL : e->mem;
	e->tp = tp_create(&config, &ops, e, w->now_ns);
	if (e->tp == NULL || tp_mr_create(e->tp, &mr, &e->key) != 0 ||
		tp_qp_create(e->tp, &init, &e->qp, &e->qpn) != 0)
		die("cannot make an endpoint");
}

static void address(struct wire_addr *a, uint32_t i)
{
	const uint8_t v4[16] = {
		[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = (uint8_t)(i + 1)};

	memcpy(a->b, v4, sizeof(v4));
}

static void connect_end(struct world *w, uint32_t i)
{
	static const struct {
		enum tp_qp_state state;
		uint32_t mask;
	} steps[] = {{TP_QPS_INIT, TP_QP_PKEY_INDEX | TP_QP_PORT | TP_QP_ACCESS_FLAGS},
		{TP_QPS_RTR, TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN |
				     TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER},
		{TP_QPS_RTS, TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY | TP_QP_SQ_PSN |
				     TP_QP_MAX_QP_RD_ATOMIC}};
	struct tp_qp_attr attr = {.access = TP_ACCESS_REMOTE_WRITE,
		.mtu_bytes = 4096,
		.dest_qpn = w->end[!i].qpn,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.port = 1,
		.ext = w->ext,
		.merge = {.max_bytes = (w->ext & TP_EXT_MERGE) != 0 ? 256 : 0},
		.av = {.l3_version = 4, .ttl = 64, .udp_sport = 0xc000}};

	address(&attr.av.net.src, i);
	address(&attr.av.net.dst, !i);
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		uint32_t mask = steps[s].mask | TP_QP_STATE;

		attr.state = steps[s].state;
		if (attr.state == TP_QPS_RTR && w->ext != 0)
			mask |= TP_QP_EXT;
		if (tp_qp_modify(w->end[i].tp, w->end[i].qp, &attr, mask, w->now_ns) != 0)
			die("cannot connect the queue pairs");
	}
}

static struct world *make_world(uint32_t msg_bytes, bool by_syscall, uint32_t ext, uint32_t burst_ns)
{
	struct world *w = calloc(1, sizeof(*w));

	if (w == NULL)
		die("no memory");
	w->msg_bytes = msg_bytes;
	w->by_syscall = by_syscall;
	w->ext = ext;
	w->now_ns = 1000000;
	w->mem_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (w->mem_fd < 0)
		die("cannot open /proc/self/mem");
	make_bufs(w);
	make_end(w, 0, burst_ns);
	make_end(w, 1, burst_ns);
	connect_end(w, 0);
	connect_end(w, 1);
	return w;
}

static void free_world(struct world *w)
{
	for (int i = 0; i < 2; i++) {
		tp_destroy(w->end[i].tp);
		free(w->end[i].mem);
	}
	while (w->n_free > 0) {
		struct rte_mbuf *m = w->free[--w->n_free];

		free(m->buf_addr);
		free(m);
	}
	close(w->mem_fd);
	free(w);
}

/* ---- measuring ---- */

/* Hands all that one end has sent to the other, as a worker does: parse, check the ICRC, deliver.
 */
static void deliver(struct world *w, struct end *from, struct end *to)
{
	uint32_t n = from->n_out;

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = from->out[i];
		const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

		if (wire_parse(frame, m->data_len, TP_PKT(m)) != BASE_DROP_NONE ||
			!wire_icrc_ok(frame, TP_PKT(m)))
			die("a frame is not well-formed");
	}
	from->n_out = 0;
	for (uint32_t i = 0; i < n; i += BURST)
		tp_rx(to->tp, from->out + i, n - i < BURST ? n - i : BURST, w->now_ns);
	/* tp_rx of `to` emits into its own list, so the buffers may go back now */
	memcpy(w->free + w->n_free, from->out, n * sizeof(from->out[0]));
	w->n_free += n;
}

static void measure_tp(struct world *w, uint32_t messages, struct round *r)
{
	struct end *a = &w->end[0], *b = &w->end[1];
	uint64_t requester = 0, responder = 0, target = a->retired + messages, first = a->retired;
	uint64_t t0, t1, t2, t3, began_ns = clock_ns();

	while (a->retired < target) {
		t0 = __rdtsc();
		tp_qp_kick(a->tp, a->qp);
		tp_tx(a->tp, BURST, w->now_ns);
		t1 = __rdtsc();
		deliver(w, a, b);
		t2 = __rdtsc();
		deliver(w, b, a);
		t3 = __rdtsc();
		requester += (t1 - t0) + (t3 - t2);
		responder += t2 - t1;
		w->now_ns += STEP_NS;
		if (clock_ns() - began_ns > 20000000000u)
			die("no progress");
	}
	r->per_second = (double)(a->retired - first) * 1e9 / (double)(clock_ns() - began_ns);
	r->requester = (double)requester / (double)(a->retired - first);
	r->responder = (double)responder / (double)(a->retired - first);
}

/* One copy and one CRC of the bytes of a message, through the same buffers and region. */
static void measure_base(struct world *w, uint32_t messages, struct round *r)
{
	volatile uint32_t sink;
	uint32_t crc = 0;
	uint64_t t0 = __rdtsc();

	for (uint32_t i = 0; i < messages; i++) {
		uint8_t *to = (uint8_t *)w->free[i % N_BUFS]->buf_addr + HEADROOM;

		memcpy(to, w->end[0].mem + (uint64_t)i * w->msg_bytes % REGION, w->msg_bytes);
		crc = crc32_gzip_refl(crc, to, w->msg_bytes);
	}
	r->base = (double)(__rdtsc() - t0) / messages;
	sink = crc;
	(void)sink;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(const struct round *r, uint32_t n, size_t offset)
{
	double v[MAX_ROUNDS];

	for (uint32_t i = 0; i < n; i++)
		memcpy(&v[i], (const char *)&r[i] + offset, sizeof(v[i]));
	qsort(v, n, sizeof(v[0]), compare);
	return v[n / 2];
}

static void run(const struct options *o, const char *name, uint32_t msg_bytes, bool by_syscall, uint32_t ext)
{
	struct world *w = make_world(msg_bytes, by_syscall, ext, 0);
	struct round rounds[MAX_ROUNDS];
	double requester, responder, base;

	measure_tp(w, o->messages / 10 + DEPTH, &rounds[0]); /* warm up */
	for (uint32_t i = 0; i < o->rounds; i++) {
		measure_tp(w, o->messages, &rounds[i]);
		measure_base(w, o->messages, &rounds[i]);
	}
	if (w->end[0].failed != 0 || tp_counters(w->end[0].tp)->retransmits != 0)
		die("a message failed or was sent again");
	if (w->end[0].retired >= REGION / msg_bytes &&
		memcmp(w->end[0].mem, w->end[1].mem, REGION) != 0)
		die("the data is wrong");
	requester = median(rounds, o->rounds, offsetof(struct round, requester));
	responder = median(rounds, o->rounds, offsetof(struct round, responder));
	base = median(rounds, o->rounds, offsetof(struct round, base));
	printf("%s_requester_cycles %.1f cycles\n", name, requester);
	printf("%s_responder_cycles %.1f cycles\n", name, responder);
	printf("%s_memcpy_crc_cycles %.1f cycles\n", name, base);
	printf("%s_messages_per_second %.0f 1/s\n", name,
		median(rounds, o->rounds, offsetof(struct round, per_second)));
	free_world(w);
}

/*
 * What a queue pair with a limit sends in some time by the clock of the machine, by what it may. Timers and pace are those of
 * a worker; the link is as fast as both ends are. A pace makes up for no more than its burst, so what the machine takes
 * the thread away for longer than that is missing, and told.
 */
static void run_rate(const char *name, uint64_t rate_bps, uint32_t burst_ns)
{
	const uint64_t lasts_ns = rate_bps < 100000000 ? 2000000000 : 500000000;
	struct world *w = make_world(4096, false, 0, burst_ns);
	struct end *a = &w->end[0], *b = &w->end[1];
	uint64_t began_ns, bytes, last_ns, away_ns = 0;

	w->now_ns = clock_ns();
	tp_advance(a->tp, w->now_ns);
	tp_advance(b->tp, w->now_ns);
	tp_qp_set_rate(a->tp, a->qp, rate_bps);
	began_ns = w->now_ns;
	bytes = tp_counters(a->tp)->tx_bytes;
	do {
		last_ns = w->now_ns;
		w->now_ns = clock_ns();
		if (w->now_ns - last_ns > AWAY_NS)
			away_ns += w->now_ns - last_ns;
		tp_advance(a->tp, w->now_ns);
		tp_advance(b->tp, w->now_ns);
		tp_qp_kick(a->tp, a->qp);
		tp_tx(a->tp, BURST, w->now_ns);
		deliver(w, a, b);
		deliver(w, b, a);
	} while (w->now_ns - began_ns < lasts_ns);
	bytes = tp_counters(a->tp)->tx_bytes - bytes;
	printf("rate_%s_in_memory %.4f of_limit\n", name,
		(double)bytes * 8e9 / (double)(w->now_ns - began_ns) / (double)rate_bps);
	printf("rate_%s_away %.4f of_time\n", name, (double)away_ns / (double)(w->now_ns - began_ns));
	free_world(w);
}

static void usage(FILE *out)
{
	fputs("usage: bench_tp [-n MESSAGES] [-r ROUNDS]\n"
	      "Two transport endpoints back to back in this thread, against memcpy + CRC-32.\n"
	      "  -n N   messages a round (default 100000)\n"
	      "  -r N   rounds, 1..64; medians are printed (default 11)\n",
		out);
}

int main(int argc, char **argv)
{
	struct options o = {.messages = 100000, .rounds = 11};
	int opt;

	while ((opt = getopt(argc, argv, "n:r:h")) != -1) {
		switch (opt) {
		case 'n':
			o.messages = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'r':
			o.rounds = (uint32_t)strtoul(optarg, NULL, 0);
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
	run(&o, "write_4k", 4096, false, 0);
	run(&o, "write_4k_syscall", 4096, true, 0);
	run(&o, "write_8b", 8, false, 0);
	run(&o, "write_8b_sack", 8, false, TP_EXT_SACK);
	run(&o, "write_8b_merged", 8, false, TP_EXT_SACK | TP_EXT_MERGE);
	run(&o, "write_256b_sack", 256, false, TP_EXT_SACK);
	run(&o, "write_256b_merged", 256, false, TP_EXT_SACK | TP_EXT_MERGE);
	run_rate("10m", 10000000, 0);
	run_rate("1g", 1000000000, 0);
	run_rate("10g", 10000000000, 0);
	run_rate("10g_burst_1ms", 10000000000, 1000000);
	run_rate("10g_burst_4ms", 10000000000, 4000000);
	return 0;
}
