/* SPDX-License-Identifier: BSD-3-Clause */
/* The two endpoints, and what the transport asks of its environment. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tp_world_internal.h"

#define BUF_BYTES   (TW_HEADROOM + WIRE_MAX_HDR_BYTES + 4096 + 64)
#define SIGNAL_EACH 32 /* every n-th work request asks for a completion */
#define IOVA        0x10000
#define PD          1

_Noreturn void tw_die(const char *what)
{
	fprintf(stderr, "bench_tp: %s\n", what);
	exit(1);
}

/* ---- what the transport asks of its environment ---- */

static struct rte_mbuf *op_alloc(void *env)
{
	struct tw_world *w = ((struct tw_end *)env)->world;
	struct rte_mbuf *m;

	if (w->n_free == 0)
		return NULL;
	m = w->free[--w->n_free];
	m->data_off = TW_HEADROOM;
	m->data_len = 0;
	m->pkt_len = 0;
	return m;
}

static void op_emit(void *env, const struct tp_av *av, struct rte_mbuf *m)
{
	struct tw_end *e = env;

	(void)av;
	e->out[e->n_out++] = m;
}

static int op_read(void *env, void *as, uint64_t va, void *dst, size_t bytes)
{
	struct tw_world *w = ((struct tw_end *)env)->world;

	(void)as;
	return pread(w->mem_fd, dst, bytes, (off_t)va) == (ssize_t)bytes ? 0 : -EFAULT;
}

static int op_write(void *env, void *as, uint64_t va, const void *src, size_t bytes)
{
	struct tw_world *w = ((struct tw_end *)env)->world;

	(void)as;
	return pwrite(w->mem_fd, src, bytes, (off_t)va) == (ssize_t)bytes ? 0 : -EFAULT;
}

/* The work requests of a program that goes through its region in steps. */
static int op_send_fetch(void *env, void *cookie, struct tp_send_wqe *slot, uint32_t slot_bytes)
{
	struct tw_qp *q = cookie;
	struct tw_end *e = q->end;
	const struct tw_options *o = &e->world->o;
	struct tp_sge *sge = (struct tp_sge *)(slot + 1);
	uint64_t at = e->sent * o->msg_bytes % TW_REGION;

	(void)env;
	(void)slot_bytes;
	if (q->fetched == q->posted)
		return 0;
	e->sent++;
	memset(slot, 0, sizeof(*slot));
	slot->wr_id = q->fetched++;
	slot->opcode = (uint8_t)o->opcode;
	slot->flags = q->fetched % SIGNAL_EACH == 0 ? TP_SEND_SIGNALED : 0;
	slot->remote_addr = IOVA + at;
	slot->rkey = e->world->end[1].key;
	if (o->msg_bytes <= 64) {
		slot->flags |= TP_SEND_INLINE;
		slot->inline_bytes = o->msg_bytes;
		memcpy(sge, e->mem + at, o->msg_bytes);
		return 1;
	}
	slot->num_sge = 1;
	*sge = (struct tp_sge){.addr = IOVA + at, .bytes = o->msg_bytes, .lkey = e->key};
	return 1;
}

/* Receives lie where WRITEs would go. */
static int op_recv_fetch(void *env, void *cookie, struct tp_recv_wqe *slot, uint32_t slot_bytes)
{
	struct tw_end *e = ((struct tw_qp *)cookie)->end;
	const struct tw_options *o = &e->world->o;

	(void)env;
	(void)slot_bytes;
	*slot = (struct tp_recv_wqe){.wr_id = e->received, .num_sge = 1};
	*(struct tp_sge *)(slot + 1) = (struct tp_sge){
		.addr = IOVA + e->received++ * o->msg_bytes % TW_REGION, .bytes = o->msg_bytes, .lkey = e->key};
	return 1;
}

static void op_retire(void *env, void *cookie, uint32_t count)
{
	struct tw_qp *q = cookie;

	(void)env;
	q->retired += count;
	q->end->retired += count;
}

static int op_complete(void *env, void *cq_cookie, const struct tp_cqe *cqe)
{
	struct tw_end *e = cq_cookie;

	(void)env;
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
		tw_die("no memory");
	memset(p, 0x5a, bytes);
	return p;
}

static void make_bufs(struct tw_world *w)
{
	for (uint32_t i = 0; i < TW_BUFS; i++) {
		struct rte_mbuf *m = take(sizeof(*m) + sizeof(struct wire_pkt));

		memset(m, 0, sizeof(*m) + sizeof(struct wire_pkt));
		m->priv_size = sizeof(struct wire_pkt);
		m->buf_addr = take(BUF_BYTES);
		m->buf_len = BUF_BYTES;
		m->refcnt = 1;
		m->nb_segs = 1;
		w->free[w->n_free++] = m;
	}
}

static void make_qps(struct tw_end *e)
{
	const struct tw_options *o = &e->world->o;
	struct tp_qp_init init = {.type = TP_QPT_RC,
		.pd = PD,
		.sq_depth = o->depth,
		.rq_depth = o->depth,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline_bytes = 64,
		.ext = o->ext,
		.send_cq = e,
		.recv_cq = e};

	e->qps = calloc(o->n_qps, sizeof(*e->qps));
	if (e->qps == NULL)
		tw_die("no memory");
	for (uint32_t i = 0; i < o->n_qps; i++) {
		e->qps[i].end = e;
		init.cookie = &e->qps[i];
		if (tp_qp_create(e->tp, &init, &e->qps[i].qp, &e->qps[i].qpn) != 0)
			tw_die("cannot make a queue pair");
	}
}

static void make_end(struct tw_world *w, uint32_t i)
{
	struct tw_end *e = &w->end[i];
	struct tp_config config = {.max_qps = w->o.n_qps + 4,
		.max_mrs = 4,
		.qpn_base = 0x100000u << i,
		.burst_ns = w->o.burst_ns,
		.seed = 1 + i};
	struct tp_mr_attr mr = {.pd = PD,
		.access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE,
		.iova = IOVA,
		.bytes = TW_REGION,
		.as = w};

	e->world = w;
	e->mem = take(TW_REGION);
	for (uint32_t at = 0; at < TW_REGION; at++) /* other bytes on either end */
		e->mem[at] = (uint8_t)((at * 2654435761u) >> 11) ^ (uint8_t)(0xff * i);
	mr.addr = (uintptr_t)e->mem;
	mr.direct = w->o.by_syscall ? NULL : e->mem;
	e->tp = tp_create(&config, &ops, e, w->now_ns);
	if (e->tp == NULL || tp_mr_create(e->tp, &mr, &e->key) != 0)
		tw_die("cannot make an endpoint");
	make_qps(e);
}

static void address(struct wire_addr *a, uint32_t i)
{
	const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = (uint8_t)(i + 1)};

	memcpy(a->b, v4, sizeof(v4));
}

static void connect_qp(struct tw_world *w, uint32_t i, uint32_t n)
{
	static const struct {
		enum tp_qp_state state;
		uint32_t mask;
	} steps[] = {{TP_QPS_INIT, TP_QP_PKEY_INDEX | TP_QP_PORT | TP_QP_ACCESS_FLAGS},
		{TP_QPS_RTR, TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN | TP_QP_MAX_DEST_RD_ATOMIC |
				     TP_QP_MIN_RNR_TIMER},
		{TP_QPS_RTS,
			TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY | TP_QP_SQ_PSN | TP_QP_MAX_QP_RD_ATOMIC}};
	struct tp_qp_attr attr = {.access = TP_ACCESS_REMOTE_WRITE,
		.mtu_bytes = 4096,
		.dest_qpn = w->end[!i].qps[n].qpn,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.port = 1,
		.ext = w->o.ext,
		.merge = {.max_bytes = (w->o.ext & TP_EXT_MERGE) != 0 ? 256 : 0},
		.av = {.l3_version = 4, .ttl = 64, .udp_sport = 0xc000}};

	address(&attr.av.net.src, i);
	address(&attr.av.net.dst, !i);
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		uint32_t mask = steps[s].mask | TP_QP_STATE;

		attr.state = steps[s].state;
		if (attr.state == TP_QPS_RTR && w->o.ext != 0)
			mask |= TP_QP_EXT;
		if (tp_qp_modify(w->end[i].tp, w->end[i].qps[n].qp, &attr, mask, w->now_ns) != 0)
			tw_die("cannot connect the queue pairs");
	}
}

struct tw_world *tw_new(const struct tw_options *options)
{
	struct tw_world *w = calloc(1, sizeof(*w));

	if (w == NULL)
		tw_die("no memory");
	w->o = *options;
	w->o.n_qps = options->n_qps != 0 ? options->n_qps : 1;
	w->o.depth = options->depth != 0 ? options->depth : TW_DEPTH;
	w->o.burst = options->burst != 0 ? options->burst : TW_BURST;
	w->now_ns = 1000000;
	w->mem_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (w->mem_fd < 0)
		tw_die("cannot open /proc/self/mem");
	make_bufs(w);
	for (uint32_t i = 0; i < 2; i++)
		make_end(w, i);
	for (uint32_t n = 0; n < w->o.n_qps; n++) {
		connect_qp(w, 0, n);
		connect_qp(w, 1, n);
	}
	return w;
}

void tw_free(struct tw_world *w)
{
	for (int i = 0; i < 2; i++) {
		tp_destroy(w->end[i].tp);
		free(w->end[i].qps);
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
