/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire_icrc.h"

#define SIGNAL_EACH 32         /* every n-th work request asks for a completion */
#define IOVA        0x10000
#define PD          1
#define INLINE      64

void bench_die(const char *what)
{
	fprintf(stderr, "bench_tp: %s\n", what);
	exit(1);
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

/* The work requests of a program, which has them written already; where they point to goes through its region in steps. */
static int op_send_fetch(void *env, void *cookie, struct tp_send_wqe *slot, uint32_t slot_bytes)
{
	struct flow *f = cookie;
	struct end *e = env;
	const struct world *w = e->world;
	struct tp_sge *sge = (struct tp_sge *)(slot + 1);
	uint64_t at;

	(void)slot_bytes;
	if (f->fetched == f->posted)
		return 0;
	at = e->fetched++ * w->config.msg_bytes % REGION;
	f->fetched++;
	*slot = w->wqe;
	slot->wr_id = f->fetched;
	slot->flags |= f->fetched % SIGNAL_EACH == 0 ? TP_SEND_SIGNALED : 0;
	slot->remote_addr = IOVA + at;
	if (slot->inline_bytes != 0)
		memcpy(sge, e->mem + at, slot->inline_bytes);
	else
		*sge = (struct tp_sge){.addr = IOVA + at, .bytes = w->config.msg_bytes, .lkey = e->key};
	return 1;
}

static int op_recv_fetch(void *env, void *cookie, struct tp_recv_wqe *slot, uint32_t slot_bytes)
{
	struct end *e = env;
	const uint32_t bytes = e->world->config.msg_bytes;

	(void)cookie;
	(void)slot_bytes;
	slot->wr_id = e->received;
	slot->num_sge = 1;
	*(struct tp_sge *)(slot + 1) =
		(struct tp_sge){.addr = IOVA + e->received++ * bytes % REGION, .bytes = bytes, .lkey = e->key};
	return 1;
}

static void op_retire(void *env, void *cookie, uint32_t count)
{
	((struct flow *)cookie)->retired += count;
	((struct end *)env)->retired += count;
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
		bench_die("no memory");
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

static void make_qp(struct end *e, struct flow *f)
{
	const struct world_config *config = &e->world->config;
	struct tp_qp_init init = {.type = TP_QPT_RC,
		.pd = PD,
		.sq_depth = config->depth,
		.rq_depth = 16,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline_bytes = INLINE,
		.ext = config->ext,
		.send_cq = e,
		.recv_cq = e,
		.cookie = f};

	f->end = e;
	if (tp_qp_create(e->tp, &init, &f->qp, &f->qpn) != 0)
		bench_die("cannot make a queue pair");
}

static void make_end(struct world *w, uint32_t i)
{
	struct end *e = &w->end[i];
	struct tp_config config = {
		.max_qps = w->config.n_qps + 2, .max_mrs = 4, .qpn_base = 0x100000 << i, .burst_ns = w->config.burst_ns, .seed = 1 + i};
	struct tp_mr_attr mr = {.pd = PD,
		.access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE,
		.iova = IOVA,
		.bytes = REGION,
		.as = w};

	e->world = w;
	e->mem = take(REGION);
	for (uint32_t at = 0; at < REGION; at++) /* other bytes on either end */
		e->mem[at] = (uint8_t)((at * 2654435761u) >> 11) ^ (uint8_t)(0xff * i);
	mr.addr = (uintptr_t)e->mem;
	mr.direct = w->config.by_syscall ? NULL : e->mem;
	e->tp = tp_create(&config, &ops, e, w->now_ns);
	if (e->tp == NULL || tp_mr_create(e->tp, &mr, &e->key) != 0)
		bench_die("cannot make an endpoint");
	e->flow = take(w->config.n_qps * sizeof(*e->flow));
	memset(e->flow, 0, w->config.n_qps * sizeof(*e->flow));
	for (uint32_t q = 0; q < w->config.n_qps; q++)
		make_qp(e, &e->flow[q]);
}

static void address(struct wire_addr *a, uint32_t i)
{
	const uint8_t v4[16] = {
		[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = (uint8_t)(i + 1)};

	memcpy(a->b, v4, sizeof(v4));
}

static void connect_qp(struct world *w, uint32_t i, uint32_t q)
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
		.dest_qpn = w->end[!i].flow[q].qpn,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.port = 1,
		.ext = w->config.ext,
		.merge = {.max_bytes = (w->config.ext & TP_EXT_MERGE) != 0 ? 256 : 0},
		.av = {.l3_version = 4, .ttl = 64, .udp_sport = 0xc000}};

	address(&attr.av.net.src, i);
	address(&attr.av.net.dst, !i);
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		uint32_t mask = steps[s].mask | TP_QP_STATE;

		attr.state = steps[s].state;
		if (attr.state == TP_QPS_RTR && w->config.ext != 0)
			mask |= TP_QP_EXT;
		if (tp_qp_modify(w->end[i].tp, w->end[i].flow[q].qp, &attr, mask, w->now_ns) != 0)
			bench_die("cannot connect the queue pairs");
	}
}

static void prepare_wqe(struct world *w)
{
	w->wqe.opcode = (uint8_t)w->config.opcode;
	w->wqe.rkey = w->end[1].key;
	if (w->config.msg_bytes <= INLINE) {
		w->wqe.flags = TP_SEND_INLINE;
		w->wqe.inline_bytes = w->config.msg_bytes;
	} else {
		w->wqe.num_sge = 1;
	}
}

struct world *world_make(const struct world_config *config)
{
	struct world *w = calloc(1, sizeof(*w));

	if (w == NULL)
		bench_die("no memory");
	w->config = *config;
	w->config.n_qps = config->n_qps != 0 ? config->n_qps : 1;
	w->config.depth = config->depth != 0 ? config->depth : DEPTH;
	w->now_ns = 1000000;
	w->mem_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (w->mem_fd < 0)
		bench_die("cannot open /proc/self/mem");
	make_bufs(w);
	make_end(w, 0);
	make_end(w, 1);
	for (uint32_t q = 0; q < w->config.n_qps; q++) {
		connect_qp(w, 0, q);
		connect_qp(w, 1, q);
	}
	prepare_wqe(w);
	return w;
}

void world_free(struct world *w)
{
	for (int i = 0; i < 2; i++) {
		tp_destroy(w->end[i].tp);
		free(w->end[i].flow);
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

void world_deliver(struct world *w, struct end *from, struct end *to)
{
	uint32_t n = from->n_out;

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = from->out[i];
		const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

		if (wire_parse(frame, m->data_len, TP_PKT(m)) != BASE_DROP_NONE ||
			!wire_icrc_ok(frame, TP_PKT(m)))
			bench_die("a frame is not well-formed");
	}
	from->n_out = 0;
	for (uint32_t i = 0; i < n; i += BURST)
		tp_rx(to->tp, from->out + i, n - i < BURST ? n - i : BURST, w->now_ns);
	/* tp_rx of `to` emits into its own list, so the buffers may go back now */
	memcpy(w->free + w->n_free, from->out, n * sizeof(from->out[0]));
	w->n_free += n;
}

