/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-way latency of a WRITE of 8 bytes, software only: from the client's send ring to the other client's memory. Each
 * end is a thread with a core of its own that runs the client and its worker (lib/verbs and lib/transport, as in the
 * daemon) in turn; packets pass between them in memory. The two write to each other in turn, and half of the way there
 * and back is told. Beside it, what no two cores get below: a word in shared memory there and back.
 *
 * usage: bench_latency [-r ROUNDS] [-n TIMES]      prints lines "name value unit", one of each round
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "world.h"

#include "bench_clock.h"
#include "wire_icrc.h"

#define BUFS        256u
#define HEADROOM    128u
#define BUF_BYTES   512u
#define PAGE        4096u
#define IOVA        0x10000u
#define MAX_TIMES   100000u
#define BURST       32u
#define LIMIT_NS    10e9
#define LIMIT_S     300u
#define SIGNAL_EACH 8u /* every n-th work request asks for a completion */
#define QPN_SHIFT   16u

/* One writer, one reader. */
struct ring {
	_Alignas(64) _Atomic uint32_t head;
	_Alignas(64) _Atomic uint32_t tail;
	struct rte_mbuf *at[BUFS];
};

struct end {
	struct vd_worker *vd; /* first: see vd_worker_ops() */
	struct tp *tp;
	struct end *peer;
	struct ring arrived, returned; /* frames to this end; its buffers that come back */
	struct rte_mbuf *free[BUFS];
	uint32_t n_free;
	struct wx_client client;
	struct wx_cq cq;
	struct wx_qp qp;
	uint32_t rkey;
	uint64_t *mem; /* shared with the worker */
	size_t cpu;
};

static struct {
	struct wx_world *world;
	struct end ends[2];
	uint32_t times;
	uint64_t first;       /* of the values that a round sends */
	double ns[MAX_TIMES]; /* there and back */
	_Alignas(64) _Atomic uint64_t word[2][8];
	_Atomic bool stop;
	pthread_barrier_t start;
} bench;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench_latency: %s\n", what);
	exit(1);
}

/* ---- packets ---- */

static void put(struct ring *r, struct rte_mbuf *m)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	r->at[head % BUFS] = m;
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

static struct rte_mbuf *get(struct ring *r)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	struct rte_mbuf *m;

	if (atomic_load_explicit(&r->head, memory_order_acquire) == tail)
		return NULL;
	m = r->at[tail % BUFS];
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return m;
}

static struct rte_mbuf *pkt_alloc(void *env)
{
	struct end *e = env;
	struct rte_mbuf *m = e->n_free != 0 ? e->free[--e->n_free] : get(&e->returned);

	if (m != NULL) {
		m->data_off = HEADROOM;
		m->data_len = 0;
		m->pkt_len = 0;
	}
	return m;
}

static void pkt_emit(void *env, const struct tp_av *av, struct rte_mbuf *m)
{
	(void)av;
	put(&((struct end *)env)->peer->arrived, m);
}

static void make_bufs(struct end *e)
{
	for (uint32_t i = 0; i < BUFS; i++) {
		struct rte_mbuf *m = aligned_alloc(64, RTE_ALIGN_CEIL(sizeof(*m) + sizeof(struct wire_pkt), 64));

		if (m == NULL)
			die("no memory");
		memset(m, 0, sizeof(*m) + sizeof(struct wire_pkt));
		m->priv_size = sizeof(struct wire_pkt);
		m->buf_len = BUF_BYTES;
		m->buf_addr = aligned_alloc(64, BUF_BYTES);
		m->refcnt = m->nb_segs = 1;
		e->free[e->n_free++] = m;
	}
}

static void free_bufs(struct end *e)
{
	struct rte_mbuf *m;

	while ((m = pkt_alloc(e)) != NULL || (m = get(&e->peer->arrived)) != NULL) {
		free(m->buf_addr);
		free(m);
	}
}

/* ---- set-up: the world of the unit tests, with transports of ours ---- */

static void make_transport(uint32_t i)
{
	struct end *e = &bench.ends[i];
	struct tp_config config = {.max_qps = 64, .max_mrs = 64, .qpn_base = i << QPN_SHIFT, .seed = i + 1};
	struct tp_ops ops = {.pkt_alloc = pkt_alloc, .pkt_emit = pkt_emit};
	struct wx_worker *worker = &bench.world->worker[i];

	vd_worker_ops(&ops);
	e->vd = worker->vd;
	tp_destroy(worker->tp);
	e->tp = worker->tp = tp_create(&config, &ops, e, (uint64_t)now_ns());
	if (e->tp == NULL)
		die("no memory");
}

static void make_client(struct end *e)
{
	struct vc_request request = {.op = VC_REG_MR};
	struct vc_reply reply;
	uint32_t pd;
	int fd = memfd_create("latency", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, PAGE) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
		die("no memfd");
	e->mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (e->mem == MAP_FAILED)
		die("no memory");
	memset(e->mem, 0, PAGE);
	wx_connect(bench.world, &e->client);
	wx_hello(&e->client);
	pd = wx_pd(&e->client);
	request.reg_mr.pd = pd;
	request.reg_mr.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	request.reg_mr.addr = (uintptr_t)e->mem;
	request.reg_mr.bytes = PAGE;
	request.reg_mr.iova = IOVA;
	request.reg_mr.mem_fd = (uint32_t)fd + 1;
	if (wx_call(&e->client, &request, &reply) != 0 || reply.mr.mapped != 1)
		die("the memory is not mapped");
	close(fd);
	e->rkey = reply.mr.key;
	wx_make_cq(&e->client, 64, 0, 0, &e->cq);
	wx_make_qp(&e->client, pd, &e->cq, 64, &e->qp);
}

/* Nothing is lost between the two, so no ACK timer: it would run out when others have a core for long. */
static void connect_qp(struct wx_qp *qp, uint32_t dest_qpn)
{
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		struct vc_qp_attr attr;

		wx_attr_of(qp, &attr, state, dest_qpn);
		attr.timeout = 0;
		if (wx_modify(qp, &attr) != 0)
			die("cannot connect the queue pairs");
	}
}

static void make_world(void)
{
	bench.world = wx_new(NULL);
	for (uint32_t i = 0; i < 2; i++) {
		bench.ends[i].peer = &bench.ends[!i];
		make_bufs(&bench.ends[i]);
		make_transport(i);
	}
	for (uint32_t i = 0; i < 2; i++)
		make_client(&bench.ends[i]);
	for (uint32_t i = 0; i < 2; i++)
		connect_qp(&bench.ends[i].qp, bench.ends[!i].qp.qpn);
}

static void end_world(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		wx_close(&bench.ends[i].client);
		munmap(bench.ends[i].mem, PAGE);
	}
	for (uint32_t i = 0; i < 2; i++)
		free_bufs(&bench.ends[i]);
	wx_free(bench.world);
}

/* ---- what an end does ---- */

static void work(struct end *e)
{
	uint64_t now = (uint64_t)now_ns();
	struct rte_mbuf *pkts[BURST];
	uint32_t n = 0;

	while (n < BURST && (pkts[n] = get(&e->arrived)) != NULL) {
		const uint8_t *frame = rte_pktmbuf_mtod(pkts[n], const uint8_t *);

		if (wire_parse(frame, pkts[n]->data_len, TP_PKT(pkts[n])) != BASE_DROP_NONE ||
			!wire_icrc_ok(frame, TP_PKT(pkts[n])))
			die("a frame is not well-formed");
		n++;
	}
	if (n != 0)
		tp_rx(e->tp, pkts, n, now);
	for (uint32_t i = 0; i < n; i++)
		put(&e->peer->returned, pkts[i]);
	vd_worker_poll(e->vd, e->tp);
	tp_advance(e->tp, now);
	tp_tx(e->tp, BURST, now);
}

static void post(struct end *e, uint64_t value)
{
	const struct tp_send_wqe wqe = {.wr_id = value,
		.opcode = TP_WR_WRITE,
		.flags = TP_SEND_INLINE | (value % SIGNAL_EACH == 0 ? TP_SEND_SIGNALED : 0),
		.inline_bytes = sizeof(value),
		.remote_addr = IOVA,
		.rkey = e->peer->rkey};
	const struct tp_cqe *cqe;

	while ((cqe = wx_poll(&e->cq)) != NULL) {
		if (cqe->status != TP_WC_SUCCESS)
			die("a WRITE failed");
	}
	wx_post(&e->qp, &wqe, NULL, &value);
}

static void wait_for(struct end *e, uint64_t value)
{
	while (__atomic_load_n(e->mem, __ATOMIC_ACQUIRE) != value && !atomic_load(&bench.stop))
		work(e);
}

static void pin(size_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0)
		die("a thread cannot have its CPU");
}

static void *echo(void *arg)
{
	struct end *e = arg;

	pin(e->cpu);
	pthread_barrier_wait(&bench.start);
	for (uint64_t value = bench.first;; value++) {
		wait_for(e, value);
		if (atomic_load(&bench.stop))
			return NULL;
		post(e, value);
	}
}

static void *echo_word(void *arg)
{
	pin(((struct end *)arg)->cpu);
	pthread_barrier_wait(&bench.start);
	for (uint64_t value = bench.first;; value++) {
		while (atomic_load_explicit(&bench.word[0][0], memory_order_acquire) != value) {
			if (atomic_load_explicit(&bench.stop, memory_order_relaxed))
				return NULL;
		}
		atomic_store_explicit(&bench.word[1][0], value, memory_order_release);
	}
}

static void there_and_back(struct end *e, uint64_t value)
{
	post(e, value);
	wait_for(e, value);
}

static void word_there_and_back(struct end *e, uint64_t value)
{
	(void)e;
	atomic_store_explicit(&bench.word[0][0], value, memory_order_release);
	while (atomic_load_explicit(&bench.word[1][0], memory_order_acquire) != value)
		;
}

/* Some times, less when others have the cores for too long. */
static void measure(
	const char *name, void *(*other)(void *arg), void (*go)(struct end *e, uint64_t value), double share)
{
	double began = now_ns(), at = began;
	uint32_t done = 0;
	pthread_t thread;

	atomic_store(&bench.stop, false);
	pthread_barrier_init(&bench.start, NULL, 2);
	if (pthread_create(&thread, NULL, other, &bench.ends[1]) != 0)
		die("no thread");
	pthread_barrier_wait(&bench.start);
	for (; done < bench.times && at - began < LIMIT_NS; done++) {
		double from = now_ns();

		go(&bench.ends[0], bench.first + done);
		at = now_ns();
		bench.ns[done] = at - from;
	}
	atomic_store(&bench.stop, true);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&bench.start);
	bench.first += done;
	printf("%s %.1f ns\n", name, median(bench.ns, done) * share);
	printf("%s_p99 %.1f ns\n", name, bench.ns[done * 99 / 100] * share);
}

static void choose_cpus(void)
{
	cpu_set_t allowed;
	uint32_t n = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		die("which CPUs may be used is unknown");
	for (size_t i = 0; i < CPU_SETSIZE && n < 2; i++) {
		if (CPU_ISSET(i, &allowed))
			bench.ends[n++].cpu = i;
	}
	if (n < 2)
		die("needs two CPUs, one for each end");
	pin(bench.ends[0].cpu);
}

int main(int argc, char **argv)
{
	uint32_t rounds = 5;
	int opt;

	bench.times = 20000;
	while ((opt = getopt(argc, argv, "r:n:")) != -1) {
		if (opt == 'r')
			rounds = (uint32_t)strtoul(optarg, NULL, 10);
		else if (opt == 'n')
			bench.times = (uint32_t)strtoul(optarg, NULL, 10);
		if (opt == '?' || rounds == 0 || bench.times == 0 || bench.times > MAX_TIMES) {
			fprintf(stderr, "usage: bench_latency [-r ROUNDS] [-n TIMES, 1..%u]\n", MAX_TIMES);
			return 2;
		}
	}
	alarm(LIMIT_S);
	choose_cpus();
	make_world();
	bench.first = 1;
	for (uint32_t r = 0; r < rounds; r++) {
		measure("write_8", echo, there_and_back, 0.5);
		measure("word", echo_word, word_there_and_back, 1);
	}
	end_world();
	return 0;
}
