/* SPDX-License-Identifier: BSD-3-Clause */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>

#include "wire_ecn.h"

#define MAX_QPS 16u /* of a side, whose base is a multiple of it */
#define PLANE_BYTE 13 /* of an address of the harness */
#define HEADROOM   128
#define BUF_BYTES  (HEADROOM + WIRE_MAX_HDR_BYTES + 4096 + 8)
#define LATENCY_NS 10000
#define BURST      32

struct hx_frame {
	struct hx_frame *next;
	struct rte_mbuf *m;
	uint64_t due_ns;
	int to;
};

uint32_t hx_random(struct hx_world *w, uint32_t below)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return (uint32_t)((w->rng >> 16) % below);
}

void hx_fill(uint8_t *at, size_t bytes, uint32_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)((i * 2654435761u + seed * 40503u) >> 11);
}

/* ---- packet buffers: plain memory laid out as an mbuf with its private area, so that ASan sees overruns ---- */

static struct rte_mbuf *new_mbuf(struct hx_world *w, size_t bytes)
{
	struct rte_mbuf *m = calloc(1, sizeof(*m) + sizeof(struct wire_pkt));

	assert_non_null(m);
	m->priv_size = sizeof(struct wire_pkt);
	m->refcnt = 1;
	m->buf_addr = malloc(bytes);
	assert_non_null(m->buf_addr);
	m->buf_len = (uint16_t)bytes;
	w->frames_out++;
	return m;
}

static void free_mbuf(struct hx_world *w, struct rte_mbuf *m)
{
	if (--m->refcnt != 0)
		return;
	free(m->buf_addr);
	free(m);
	w->frames_out--;
}

static struct rte_mbuf *copy_mbuf(struct hx_world *w, const struct rte_mbuf *m)
{
	struct rte_mbuf *copy = new_mbuf(w, m->data_len);

	copy->data_len = m->data_len;
	copy->pkt_len = m->data_len;
	memcpy(copy->buf_addr, rte_pktmbuf_mtod(m, uint8_t *), m->data_len);
	return copy;
}

/* ---- pipe ---- */

static void enqueue(struct hx_world *w, struct rte_mbuf *m, int to, uint64_t due_ns)
{
	struct hx_frame *f = calloc(1, sizeof(*f)), **at = &w->first;

	assert_non_null(f);
	f->m = m;
	f->to = to;
	f->due_ns = due_ns;
	if (w->last != NULL && w->last->due_ns <= due_ns)
		at = &w->last->next;
	while (*at != NULL && (*at)->due_ns <= due_ns)
		at = &(*at)->next;
	f->next = *at;
	*at = f;
	if (f->next == NULL)
		w->last = f;
}

static enum hx_fate fate_of(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	uint32_t dice;

	if (w->script != NULL)
		return w->script(w, from, n, pkt);
	if (w->o.seed == 0)
		return HX_PASS;
	dice = hx_random(w, 1000);
	if (dice < w->o.lose)
		return HX_LOSE;
	dice -= w->o.lose;
	if (dice < w->o.repeat)
		return HX_REPEAT;
	dice -= w->o.repeat;
	if (dice < w->o.delay)
		return HX_DELAY;
	dice -= w->o.delay;
	return dice < w->o.damage ? HX_DAMAGE : HX_PASS;
}

uint32_t hx_path(const struct hx_world *w, uint16_t udp_sport)
{
	return w->o.n_paths == 0 ? 0 : (udp_sport * 2654435761u >> 16) % w->o.n_paths;
}

static void pipe_in(struct hx_world *w, int from, uint32_t n, struct rte_mbuf *m)
{
	uint64_t due_ns = w->now_ns + (w->o.latency_ns != 0 ? w->o.latency_ns : LATENCY_NS);
	uint32_t path = hx_path(w, w->log[w->n_log - 1].pkt.udp_sport);
	uint8_t *frame = m->buf_addr;

	due_ns = RTE_MAX(due_ns + w->o.path_ns[path], w->path_due_ns[from][path]);
	w->path_due_ns[from][path] = due_ns;
	if ((w->cut_paths & 1u << path) != 0 || (w->cut_planes & 1u << w->log[w->n_log - 1].pkt.plane) != 0) {
		w->path_lost++;
		free_mbuf(w, m);
		return;
	}
	switch (fate_of(w, from, n, &w->log[w->n_log - 1].pkt)) {
	case HX_LOSE:
		free_mbuf(w, m);
		return;
	case HX_REPEAT:
		enqueue(w, copy_mbuf(w, m), !from, due_ns + hx_random(w, 5 * LATENCY_NS));
		break;
	case HX_DELAY:
		due_ns += 1 + hx_random(w, 5 * LATENCY_NS);
		break;
	case HX_DAMAGE:
		frame[14 + hx_random(w, m->data_len - 14u)] ^= (uint8_t)(1u << hx_random(w, 8));
		break;
	case HX_MARK:
		wire_set_ce(frame + w->log[w->n_log - 1].pkt.l3_off, w->log[w->n_log - 1].pkt.l3_version);
		break;
	case HX_PASS:
		break;
	}
	enqueue(w, m, !from, due_ns);
}

/* ---- what the transport asks of its environment ---- */

static struct rte_mbuf *op_alloc(void *env)
{
	struct hx_side *s = env;
	struct rte_mbuf *m;

	if (s->empty_pools > 0) {
		s->empty_pools--;
		return NULL;
	}
	m = new_mbuf(s->w, BUF_BYTES);
	m->data_off = HEADROOM;
	return m;
}

static void op_emit(void *env, const struct tp_av *av, struct rte_mbuf *m)
{
	struct hx_side *s = env;
	struct hx_world *w = s->w;
	struct hx_logged *log = &w->log[w->n_log++ % HX_MAX_LOG];
	struct rte_mbuf *copy = copy_mbuf(w, m);

	assert_true(w->n_log <= HX_MAX_LOG);
	assert_true(av->l3_version == 4 || av->l3_version == 6);
	log->from = (int)(s - w->side);
	log->at_ns = w->now_ns;
	free_mbuf(w, m);
	/* Whatever the transport makes must be right to the last bit. */
	assert_int_equal(wire_parse(copy->buf_addr, copy->data_len, &log->pkt), BASE_DROP_NONE);
	assert_int_equal(log->pkt.frame_bytes, copy->data_len);
	assert_true(wire_icrc_ok(copy->buf_addr, &log->pkt));
	log->pkt.plane = w->o.n_planes != 0 ? av->net.src.b[PLANE_BYTE] : 0;
	if (w->cut) {
		free_mbuf(w, copy);
		s->emitted++;
		return;
	}
	pipe_in(w, log->from, s->emitted++, copy);
}

static int op_read(void *env, void *as, uint64_t va, void *dst, size_t bytes)
{
	struct hx_side *s = env;

	assert_ptr_equal(as, s);
	s->mem_reads++;
	if (s->fail_read)
		return -EFAULT;
	memcpy(dst, (const void *)(uintptr_t)va, bytes);
	return 0;
}

static int op_write(void *env, void *as, uint64_t va, const void *src, size_t bytes)
{
	struct hx_side *s = env;

	assert_ptr_equal(as, s);
	s->mem_writes++;
	if (s->fail_write)
		return -EFAULT;
	memcpy((void *)(uintptr_t)va, src, bytes);
	return 0;
}

static int op_send_fetch(void *env, void *cookie, struct tp_send_wqe *slot, uint32_t slot_bytes)
{
	struct hx_qp *q = cookie;
	int rc = q->fetch_error;

	(void)env;
	if (q->sq_fetch == q->sq_prod)
		return 0;
	memcpy(slot, q->sq[q->sq_fetch++ % HX_RING], slot_bytes < HX_SLOT_BYTES ? slot_bytes : HX_SLOT_BYTES);
	q->fetch_error = 0;
	return rc != 0 ? rc : 1;
}

static int op_recv_fetch(void *env, void *cookie, struct tp_recv_wqe *slot, uint32_t slot_bytes)
{
	struct hx_qp *q = cookie;
	int rc = q->fetch_error;

	(void)env;
	if (q->rq_fetch == q->rq_prod)
		return 0;
	memcpy(slot, q->rq[q->rq_fetch++ % HX_RING], slot_bytes < HX_SLOT_BYTES ? slot_bytes : HX_SLOT_BYTES);
	q->fetch_error = 0;
	return rc != 0 ? rc : 1;
}

static void op_retire(void *env, void *cookie, uint32_t count)
{
	struct hx_qp *q = cookie;

	(void)env;
	q->sq_retired += count;
	assert_true(q->sq_retired <= q->sq_fetch);
}

static int op_complete(void *env, void *cq_cookie, const struct tp_cqe *cqe)
{
	struct hx_cq *cq = cq_cookie;

	(void)env;
	if (cq->n - cq->polled >= cq->limit)
		return -ENOSPC;
	cq->cqe[cq->n++ % HX_MAX_CQE] = *cqe;
	return 0;
}

static void op_event(void *env, void *cookie, enum tp_event event)
{
	struct hx_qp *q = cookie;

	(void)env;
	q->events[event]++;
}

static int op_srq_fetch(void *env, void *cookie, struct tp_recv_wqe *slot, uint32_t slot_bytes)
{
	struct hx_srq *srq = cookie;

	(void)env;
	if (srq->fetch == srq->prod)
		return 0;
	memcpy(slot, srq->ring[srq->fetch++ % HX_RING], slot_bytes < HX_SLOT_BYTES ? slot_bytes : HX_SLOT_BYTES);
	return slot->num_sge > TP_MAX_SGE ? -EINVAL : 1;
}

static uint32_t op_srq_posted(void *env, void *cookie)
{
	const struct hx_srq *srq = cookie;

	(void)env;
	return srq->prod - srq->fetch;
}

static void op_srq_event(void *env, void *cookie, enum tp_event event)
{
	struct hx_srq *srq = cookie;

	(void)env;
	assert_int_equal(event, TP_EVENT_SRQ_LIMIT);
	srq->limit_events++;
}

static void op_keep(void *env, struct rte_mbuf *m)
{
	(void)env;
	m->refcnt++;
}

static void op_free(void *env, struct rte_mbuf *m)
{
	struct hx_side *s = env;

	free_mbuf(s->w, m);
}

static const struct tp_ops ops = {
	.pkt_keep = op_keep,
	.pkt_free = op_free,
	.pkt_alloc = op_alloc,
	.pkt_emit = op_emit,
	.mem_read = op_read,
	.mem_write = op_write,
	.send_fetch = op_send_fetch,
	.recv_fetch = op_recv_fetch,
	.send_retire = op_retire,
	.complete = op_complete,
	.event = op_event,
	.srq_fetch = op_srq_fetch,
	.srq_posted = op_srq_posted,
	.srq_event = op_srq_event,
};

/* ---- set-up ---- */

static void address(struct wire_addr *addr, int side, uint8_t l3_version)
{
	memset(addr, 0, sizeof(*addr));
	if (l3_version == 4) {
		addr->b[10] = addr->b[11] = 0xff;
		addr->b[12] = 192;
		addr->b[13] = 0;
		addr->b[14] = 2;
	} else {
		addr->b[0] = 0xfe;
		addr->b[1] = 0x80;
	}
	addr->b[15] = (uint8_t)(side + 1);
}

static uint8_t or_default(uint8_t value, uint8_t fallback)
{
	if (value == HX_ZERO)
		return 0;
	return value != 0 ? value : fallback;
}

/* A plane has its own network. */
static void add_planes(struct hx_world *w, int side, struct tp_qp_attr *attr)
{
	for (uint8_t i = 0; i < w->o.n_planes; i++) {
		struct tp_av *av = &w->planes[side][i];

		*av = attr->av;
		av->net.src.b[PLANE_BYTE] = av->net.dst.b[PLANE_BYTE] = (uint8_t)(i + 1);
	}
	attr->planes = w->planes[side];
	attr->n_planes = w->o.n_planes;
}

void hx_attr(struct hx_world *w, int side, uint32_t i, struct tp_qp_attr *attr)
{
	const struct hx_options *o = &w->o;
	struct tp_qp_attr a = {
		.access = TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC,
		.mtu_bytes = o->mtu,
		.rq_psn = o->psn,
		.sq_psn = o->psn,
		.dest_qpn = w->side[!side].qps[i].qpn,
		.qkey = HX_QKEY,
		.timeout = or_default(o->timeout, 8),
		.retry_cnt = or_default(o->retry_cnt, 7),
		.rnr_retry = or_default(o->rnr_retry, 7),
		.min_rnr_timer = or_default(o->min_rnr_timer, 1),
		.max_rd_atomic = or_default(o->rd_atomic, 4),
		.max_dest_rd_atomic = or_default(o->dest_rd_atomic, 4),
		.port = 1,
		.av = {.l3_version = o->l3_version, .ttl = 64, .udp_sport = 0xc123, .channel = w->side[side].qps[i].channel},
		.ext = o->ext ? TP_EXT_SACK | (o->merge.max_bytes != 0 ? TP_EXT_MERGE : 0) : 0,
		.merge = o->merge,
		.sched = &w->sched,
		.cc = w->o.cc,
	};

	if (o->addrs != NULL) {
		a.av.net.src = o->addrs[side];
		a.av.net.dst = o->addrs[!side];
	} else {
		address(&a.av.net.src, side, o->l3_version);
		address(&a.av.net.dst, !side, o->l3_version);
	}
	if (o->n_planes != 0)
		add_planes(w, side, &a);
	*attr = a;
}

#define INIT_MASK (TP_QP_PKEY_INDEX | TP_QP_PORT)
#define PEER_MASK (TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN)

static enum tp_qp_type type_of(const struct hx_side *s)
{
	enum tp_qp_type type = s->w->o.type;

	return type == TP_QPT_XRC_INI && s == &s->w->side[1] ? TP_QPT_XRC_TGT : type;
}

static uint32_t mask_to(enum tp_qp_type type, enum tp_qp_state from, enum tp_qp_state to)
{
	static const uint32_t masks[][TP_QPS_ERR + 1] = {
		[TP_QPT_RC] = {
			[TP_QPS_INIT] = INIT_MASK | TP_QP_ACCESS_FLAGS,
			[TP_QPS_RTR] = PEER_MASK | TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER,
			[TP_QPS_RTS] = TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY | TP_QP_SQ_PSN |
				TP_QP_MAX_QP_RD_ATOMIC,
		},
		[TP_QPT_XRC_INI] = {
			[TP_QPS_INIT] = INIT_MASK | TP_QP_ACCESS_FLAGS,
			[TP_QPS_RTR] = PEER_MASK,
			[TP_QPS_RTS] = TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY | TP_QP_SQ_PSN |
				TP_QP_MAX_QP_RD_ATOMIC,
		},
		[TP_QPT_XRC_TGT] = {
			[TP_QPS_INIT] = INIT_MASK | TP_QP_ACCESS_FLAGS,
			[TP_QPS_RTR] = PEER_MASK | TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER,
			[TP_QPS_RTS] = TP_QP_TIMEOUT | TP_QP_SQ_PSN,
		},
		[TP_QPT_UC] = {
			[TP_QPS_INIT] = INIT_MASK | TP_QP_ACCESS_FLAGS,
			[TP_QPS_RTR] = PEER_MASK,
			[TP_QPS_RTS] = TP_QP_SQ_PSN,
		},
		[TP_QPT_UD] = {
			[TP_QPS_INIT] = INIT_MASK | TP_QP_QKEY,
			[TP_QPS_RTS] = TP_QP_SQ_PSN,
		},
	};

	return to == TP_QPS_RTS && from != TP_QPS_RTR ? 0 : masks[type][to];
}

int hx_to_state(struct hx_world *w, struct hx_qp *q, enum tp_qp_state state)
{
	struct tp_qp_attr attr;
	uint32_t mask = mask_to(type_of(q->side), hx_state(q), state);

	hx_attr(w, (int)(q->side - w->side), (uint32_t)(q - q->side->qps), &attr);
	attr.state = state;
	if (w->o.ext && state == TP_QPS_RTR)
		mask |= TP_QP_EXT;
	return tp_qp_modify(q->side->tp, q->qp, &attr, mask | TP_QP_STATE, w->now_ns);
}

void hx_connect(struct hx_world *w, uint32_t i)
{
	for (int s = 0; s < 2; s++) {
		assert_int_equal(hx_to_state(w, &w->side[s].qps[i], TP_QPS_INIT), 0);
		assert_int_equal(hx_to_state(w, &w->side[s].qps[i], TP_QPS_RTR), 0);
		assert_int_equal(hx_to_state(w, &w->side[s].qps[i], TP_QPS_RTS), 0);
	}
}

static void make_qp(struct hx_side *s, struct hx_qp *q)
{
	struct tp_qp_init init = {
		.type = type_of(s),
		.pd = HX_PD,
		.xrcd = HX_XRCD,
		.ud_mtu_bytes = s->w->o.mtu,
		.sq_depth = HX_RING,
		.rq_depth = HX_RING,
		.max_send_sge = TP_MAX_SGE,
		.max_recv_sge = TP_MAX_SGE,
		.max_inline_bytes = TP_MAX_INLINE_BYTES,
		.sq_sig_all = !s->w->o.sig_none,
		.reorder_pkts = s->w->o.reorder,
		.reorder_ns = s->w->o.reorder_ns != 0 ? s->w->o.reorder_ns : 10 * LATENCY_NS,
		.ext = s->w->o.ext || s->w->o.ext_unagreed ? TP_EXT_SACK | TP_EXT_MERGE : 0,
		.send_cq = &s->send_cq,
		.recv_cq = &s->recv_cq,
		.srq = s->w->o.type != TP_QPT_XRC_INI ? s->srq.srq : NULL,
		.shaper = s->shaper,
		.cookie = q,
	};

	q->side = s;
	q->sq = calloc(HX_RING, HX_SLOT_BYTES);
	q->rq = calloc(HX_RING, HX_SLOT_BYTES);
	assert_int_equal(tp_qp_create(s->tp, &init, &q->qp, &q->qpn), 0);
}

/* Its work requests name memory of another domain than the queue pairs'. */
static void make_srq(struct hx_side *s, struct tp_mr_attr mr)
{
	struct tp_srq_init init = {.pd = HX_SRQ_PD, .depth = HX_RING, .max_sge = 4, .cookie = &s->srq};

	if (s->w->o.type == TP_QPT_XRC_INI) {
		init.xrcd = HX_XRCD;
		init.cq = &s->recv_cq;
	}
	mr.pd = HX_SRQ_PD;
	s->srq.ring = calloc(HX_RING, HX_SLOT_BYTES);
	assert_int_equal(tp_mr_create(s->tp, &mr, &s->srq_key), 0);
	assert_int_equal(tp_srq_create(s->tp, &init, &s->srq.srq), 0);
}

static void make_ah(struct hx_side *s)
{
	struct tp_qp_attr attr;

	hx_attr(s->w, (int)(s - s->w->side), 0, &attr);
	assert_int_equal(tp_ah_create(s->tp, HX_PD, &attr.av, &s->ah), 0);
}

static void make_side(struct hx_world *w, int i)
{
	struct tp_config config = {
		.max_qps = MAX_QPS,
		.max_mrs = 64,
		.max_ahs = 8,
		.qpn_base = 0x11u * 16 << i,
		.window_pkts = w->o.window,
		.max_held = w->o.held,
		.move_on_timeout = w->o.move,
		.cnp = w->o.cnp,
		.plain_cc = w->o.plain_cc,
		.plain = w->o.plain || w->o.move ? &w->plain : NULL,
		.sack_wait_ns = w->o.sack_wait_ns,
		.seed = 1 + (uint64_t)i,
	};
	const uint32_t qpn = w->o.qpn[i];
	struct hx_side *s = &w->side[i];
	struct tp_mr_attr mr = {
		.pd = HX_PD,
		.access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ |
			TP_ACCESS_REMOTE_ATOMIC,
		.iova = HX_IOVA,
		.bytes = HX_MEM_BYTES,
		.as = s,
	};

	if (qpn != 0) {
		config.max_qps = 1;
		config.qpn_base = qpn;
	}
	s->w = w;
	s->send_cq.limit = s->recv_cq.limit = HX_MAX_CQE;
	s->tp = tp_create(&config, &ops, s, w->now_ns);
	assert_non_null(s->tp);
	s->mem = calloc(1, HX_MEM_BYTES);
	mr.addr = (uintptr_t)s->mem;
	mr.direct = w->o.copied ? NULL : s->mem;
	assert_int_equal(tp_mr_create(s->tp, &mr, &s->key), 0);
	make_ah(s);
	if (w->o.srq)
		make_srq(s, mr);
	if (w->o.shaped && i == 0)
		assert_int_equal(tp_shaper_create(s->tp, 0, &s->shaper), 0);
	for (uint32_t q = 0; q < w->o.n_qps; q++)
		make_qp(s, &s->qps[q]);
}

struct hx_world *hx_new(const struct hx_options *o)
{
	struct hx_world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->o = *o;
	w->o.type = o->type != 0 ? o->type : TP_QPT_RC;
	w->o.mtu = o->mtu != 0 ? o->mtu : 1024;
	w->o.l3_version = o->l3_version != 0 ? o->l3_version : 4;
	w->o.n_qps = o->n_qps != 0 ? o->n_qps : 1;
	w->o.srq |= w->o.type == TP_QPT_XRC_INI;
	w->rng = o->seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
	w->now_ns = 12345678;
	path_sched_config_default(&w->sched);
	w->sched.kind = o->sched;
	w->sched.n_evs = o->n_evs != 0 ? o->n_evs : PATH_SCHED_MAX_EVS;
	w->plain = w->sched;
	w->plain.kind = o->plain ? o->sched : PATH_SCHED_ECMP;
	w->plain.keep_order = w->plain.no_probes = true;
	w->plain.n_evs = (uint8_t)RTE_MIN(w->plain.n_evs, TP_PLAIN_EVS);
	w->log = calloc(HX_MAX_LOG, sizeof(*w->log));
	assert_non_null(w->log);
	make_side(w, 0);
	make_side(w, 1);
	for (uint32_t i = 0; i < w->o.n_qps && !o->stay_in_reset; i++)
		hx_connect(w, i);
	return w;
}

/* Whatever was counted for a queue pair was counted for all, and the other way round; of those that are gone nothing is known. */
static void expect_sums(const struct hx_side *s)
{
	const struct tp_counters *all = tp_counters(s->tp);
	struct tp_qp_counters sum = {0};

	for (uint32_t q = 0; q < HX_QPS; q++) {
		if (s->qps[q].qp != NULL && tp_qp_find(s->tp, s->qps[q].qpn) != s->qps[q].qp)
			return;
	}
	for (uint32_t i = 0; i < MAX_QPS; i++) {
		const struct tp_qp *qp = tp_qp_find(s->tp, (s->qps[0].qpn & ~(MAX_QPS - 1)) + i);
		struct tp_qp_stats stats;

		if (qp == NULL)
			continue;
		tp_qp_stats(qp, &stats);
		for (size_t k = 0; k < offsetof(struct tp_qp_counters, most_ahead) / sizeof(uint64_t); k++)
			((uint64_t *)(void *)&sum)[k] += ((const uint64_t *)(const void *)&stats.counters)[k];
		assert_true(stats.counters.reordered == 0 || stats.counters.most_ahead != 0);
		assert_true(stats.counters.marked <= stats.counters.rx_pkts);
	}
	assert_true(sum.rx_pkts <= all->rx_pkts && sum.rx_bytes <= all->rx_bytes);
#define SAME(field) assert_int_equal(sum.field, all->field)
	SAME(tx_pkts);
	SAME(tx_bytes);
	SAME(retransmits);
	SAME(ack_timeouts);
	SAME(rnr_naks_sent);
	SAME(rnr_naks_received);
	SAME(seq_naks_sent);
	SAME(seq_naks_received);
	SAME(other_naks_sent);
	SAME(duplicates);
	SAME(reordered);
	SAME(moves);
	SAME(marked);
	SAME(cnps_sent);
	SAME(cnps_received);
#undef SAME
}

void hx_free(struct hx_world *w)
{
	struct hx_frame *f;

	while ((f = w->first) != NULL) {
		w->first = f->next;
		free_mbuf(w, f->m);
		free(f);
	}
	for (int i = 0; i < 2; i++) {
		expect_sums(&w->side[i]);
		tp_destroy(w->side[i].tp);
		free(w->side[i].mem);
		free(w->side[i].srq.ring);
		for (uint32_t q = 0; q < HX_QPS; q++) {
			free(w->side[i].qps[q].sq);
			free(w->side[i].qps[q].rq);
		}
	}
	assert_int_equal(w->frames_out, 0);
	free(w->log);
	free(w);
}

/* ---- time ---- */

/* Hands over what is due, in bursts as long as consecutive frames go to the same side. */
static bool deliver(struct hx_world *w)
{
	struct rte_mbuf *burst[BURST];
	uint32_t n = 0, kept = 0;
	int to;

	if (w->first == NULL || w->first->due_ns > w->now_ns)
		return false;
	to = w->first->to;
	while (n < BURST && w->first != NULL && w->first->due_ns <= w->now_ns && w->first->to == to) {
		struct hx_frame *f = w->first;
		struct rte_mbuf *m = f->m;

		w->first = f->next;
		if (w->first == NULL)
			w->last = NULL;
		free(f);
		n++;
		if (wire_parse(m->buf_addr, m->data_len, TP_PKT(m)) != BASE_DROP_NONE ||
			!wire_icrc_ok(m->buf_addr, TP_PKT(m))) {
			w->bad_icrc++;
			free_mbuf(w, m);
			continue;
		}
		burst[kept++] = m;
	}
	tp_rx(w->side[to].tp, burst, kept, w->now_ns);
	for (uint32_t i = 0; i < kept; i++)
		free_mbuf(w, burst[i]);
	return true;
}

static uint64_t next_ns(const struct hx_world *w)
{
	uint64_t at = w->first != NULL ? w->first->due_ns : UINT64_MAX;

	for (int i = 0; i < 2; i++)
		at = RTE_MIN(at, tp_next_ns(w->side[i].tp));
	return at;
}

static bool step(struct hx_world *w)
{
	bool busy = deliver(w);

	/* Frames of several paths alternate between the sides, and would be handed over one by one. */
	while (w->o.n_paths != 0 && deliver(w))
		continue;
	for (int i = 0; i < 2; i++) {
		tp_advance(w->side[i].tp, w->now_ns);
		if (!tp_has_work(w->side[i].tp))
			continue;
		tp_tx(w->side[i].tp, 16, w->now_ns);
		busy = true;
	}
	return busy;
}

void hx_run(struct hx_world *w, uint64_t ns)
{
	uint64_t end_ns = w->now_ns + ns;

	for (uint32_t idle_steps = 0; idle_steps < 100000;) {
		uint64_t at;

		if (step(w)) {
			w->now_ns += 1000;
			continue;
		}
		at = next_ns(w);
		if (at > end_ns)
			break;
		w->now_ns = at > w->now_ns ? at : w->now_ns + 1000;
		idle_steps++;
	}
}

/* ---- work requests ---- */

static uint32_t to_sgl(const struct hx_qp *q, struct tp_sge *sge, const struct hx_piece *pieces, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		sge[i].addr = HX_IOVA + pieces[i].off;
		sge[i].bytes = pieces[i].bytes;
		sge[i].lkey = q->side->key;
	}
	return n;
}

static struct tp_send_wqe *next_slot(struct hx_qp *q, const struct tp_send_wqe *wqe)
{
	struct tp_send_wqe *slot = (struct tp_send_wqe *)(void *)q->sq[q->sq_prod % HX_RING];

	assert_true(q->sq_prod - q->sq_retired < HX_RING);
	*slot = *wqe;
	if (slot->wr_id == 0)
		slot->wr_id = 0x5e4d0000u + q->sq_prod;
	return slot;
}

static uint64_t ring_send(struct hx_qp *q, const struct tp_send_wqe *slot)
{
	q->sq_prod++;
	tp_qp_kick(q->side->tp, q->qp);
	return slot->wr_id;
}

uint64_t hx_post_raw(struct hx_qp *q, const struct tp_send_wqe *wqe, const struct tp_sge *sge, uint32_t n)
{
	struct tp_send_wqe *slot = next_slot(q, wqe);

	slot->num_sge = (uint8_t)n;
	if (n != 0)
		memcpy(slot + 1, sge, n * sizeof(*sge));
	return ring_send(q, slot);
}

uint64_t hx_post(struct hx_qp *q, const struct tp_send_wqe *wqe, const struct hx_piece *pieces, uint32_t n)
{
	struct tp_sge sge[TP_MAX_SGE];

	return hx_post_raw(q, wqe, sge, to_sgl(q, sge, pieces, n));
}

uint64_t hx_post_inline(struct hx_qp *q, const struct tp_send_wqe *wqe, const void *data, uint32_t bytes)
{
	struct tp_send_wqe *slot = next_slot(q, wqe);

	slot->flags |= TP_SEND_INLINE;
	slot->num_sge = 0;
	slot->inline_bytes = bytes;
	memcpy(slot + 1, data, RTE_MIN(bytes, (uint32_t)TP_MAX_INLINE_BYTES));
	return ring_send(q, slot);
}

uint64_t hx_recv_raw(struct hx_qp *q, const struct tp_sge *sge, uint32_t n)
{
	struct tp_recv_wqe *slot = (struct tp_recv_wqe *)(void *)q->rq[q->rq_prod % HX_RING];

	slot->wr_id = 0x4ecf0000u + q->rq_prod;
	slot->num_sge = n;
	if (n != 0)
		memcpy(slot + 1, sge, RTE_MIN(n, (uint32_t)TP_MAX_SGE) * sizeof(*sge));
	q->rq_prod++;
	tp_qp_kick(q->side->tp, q->qp);
	return slot->wr_id;
}

uint64_t hx_srq_recv_raw(struct hx_side *s, const struct tp_sge *sge, uint32_t n)
{
	struct tp_recv_wqe *slot = (struct tp_recv_wqe *)(void *)s->srq.ring[s->srq.prod % HX_RING];

	slot->wr_id = 0x54a90000u + s->srq.prod;
	slot->num_sge = n;
	if (n != 0)
		memcpy(slot + 1, sge, RTE_MIN(n, (uint32_t)TP_MAX_SGE) * sizeof(*sge));
	s->srq.prod++;
	return slot->wr_id;
}

uint64_t hx_srq_recv(struct hx_side *s, const struct hx_piece *pieces, uint32_t n)
{
	struct tp_sge sge[TP_MAX_SGE];

	to_sgl(&s->qps[0], sge, pieces, n);
	for (uint32_t i = 0; i < n; i++)
		sge[i].lkey = s->srq_key;
	return hx_srq_recv_raw(s, sge, n);
}

uint64_t hx_recv(struct hx_qp *q, const struct hx_piece *pieces, uint32_t n)
{
	struct tp_sge sge[TP_MAX_SGE];

	return hx_recv_raw(q, sge, to_sgl(q, sge, pieces, n));
}

uint64_t hx_op(struct hx_world *w, enum tp_wr_opcode op, uint32_t flags, uint32_t off, uint32_t bytes,
	uint32_t remote_off)
{
	struct tp_send_wqe wqe = {
		.opcode = (uint8_t)op,
		.flags = (uint16_t)flags,
		.remote_addr = HX_IOVA + remote_off,
		.rkey = w->side[1].key,
		.imm = 0x01020304,
	};
	struct hx_piece piece = {off, bytes};

	if (w->o.type == TP_QPT_UD) {
		wqe.ud.ah = w->side[0].ah;
		wqe.ud.qpn = w->side[1].qps[0].qpn;
		wqe.ud.qkey = HX_QKEY;
	}
	return hx_post(&w->side[0].qps[0], &wqe, &piece, bytes != 0 ? 1 : 0);
}

/* ---- looking at what happened ---- */

const struct tp_cqe *hx_poll(struct hx_cq *cq)
{
	assert_true(cq->polled < cq->n);
	return &cq->cqe[cq->polled++ % HX_MAX_CQE];
}

void hx_expect(struct hx_cq *cq, uint64_t wr_id, enum tp_wc_status status)
{
	const struct tp_cqe *cqe = hx_poll(cq);

	assert_int_equal(cqe->status, status);
	assert_int_equal(cqe->wr_id, wr_id);
}

void hx_expect_none(const struct hx_world *w)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(w->side[i].send_cq.polled, w->side[i].send_cq.n);
		assert_int_equal(w->side[i].recv_cq.polled, w->side[i].recv_cq.n);
	}
}

uint32_t hx_count(const struct hx_world *w, int from, uint8_t opcode)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_log; i++)
		n += w->log[i].from == from && w->log[i].pkt.opcode == opcode;
	return n;
}

const struct wire_pkt *hx_last(const struct hx_world *w, int from)
{
	for (uint32_t i = w->n_log; i > 0; i--) {
		if (w->log[i - 1].from == from)
			return &w->log[i - 1].pkt;
	}
	fail_msg("side %d has emitted nothing", from);
	return NULL;
}

enum tp_qp_state hx_state(const struct hx_qp *q)
{
	struct tp_qp_attr attr;

	tp_qp_query(q->qp, &attr);
	return attr.state;
}

/* ---- crafted packets ---- */

static void take_in(struct hx_world *w, int to, struct rte_mbuf *m)
{
	assert_int_equal(wire_parse(m->buf_addr, m->data_len, TP_PKT(m)), BASE_DROP_NONE);
	assert_true(wire_icrc_ok(m->buf_addr, TP_PKT(m)));
	assert_true(w->n_held < HX_MAX_HELD);
	w->held[w->n_held++] = m;
	if (!w->hold)
		hx_release(w, to);
}

void hx_inject_raw(struct hx_world *w, int to, struct wire_pkt pkt, const struct wire_l2l3 *net, const void *payload,
	uint32_t bytes)
{
	struct rte_mbuf *m = new_mbuf(w, wire_hdr_bytes(&pkt) + bytes + pkt.pad + WIRE_ICRC_BYTES);
	uint8_t *frame = m->buf_addr;

	pkt.payload_bytes = (uint16_t)bytes;
	wire_write(frame, net, &pkt);
	if (bytes != 0)
		memcpy(frame + pkt.payload_off, payload, bytes);
	wire_seal(frame, &pkt);
	m->data_len = pkt.frame_bytes;
	take_in(w, to, m);
}

void hx_inject_frame(struct hx_world *w, int to, const uint8_t *frame, size_t bytes)
{
	struct rte_mbuf *m = new_mbuf(w, bytes);

	memcpy(m->buf_addr, frame, bytes);
	m->data_len = (uint16_t)bytes;
	take_in(w, to, m);
}

void hx_hold(struct hx_world *w)
{
	w->hold = true;
}

void hx_release(struct hx_world *w, int to)
{
	tp_rx(w->side[to].tp, w->held, w->n_held, w->now_ns);
	for (uint32_t i = 0; i < w->n_held; i++)
		free_mbuf(w, w->held[i]);
	w->n_held = 0;
	w->hold = false;
}

void hx_inject(struct hx_world *w, int to, struct wire_pkt pkt, const void *payload, uint32_t bytes)
{
	struct tp_qp_attr peer;

	hx_attr(w, !to, 0, &peer);
	pkt.l3_version = w->o.l3_version;
	pkt.ttl = 64;
	pkt.udp_sport = 0xc000;
	pkt.pkey = 0xffff;
	pkt.ip_frag = 0x4000;
	if (pkt.dqpn == 0)
		pkt.dqpn = w->side[to].qps[0].qpn;
	pkt.pad = (uint8_t)(-bytes & 3);
	hx_inject_raw(w, to, pkt, &peer.av.net, payload, bytes);
}
