/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "fake.h"

#define SHM_BYTES (16u << 20)

uint32_t fake_cap_flags = IBV_DEVICE_UD_AV_PORT_ENFORCE;

int fake_pair(int *theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		abort();
	*theirs = pair[1];
	return pair[0];
}

static void *shm_alloc(struct fake_session *s, uint64_t bytes, uint64_t *offset)
{
	*offset = s->shm_used;
	s->shm_used += (bytes + 63) & ~63ull;
	if (s->shm_used > SHM_BYTES)
		abort();
	return s->shm + *offset;
}

/* ---- moving messages ---- */

static void complete(struct fake_cq *cq, const struct tp_cqe *cqe)
{
	struct vc_comp_msg msg = {cq->cookie};
	struct tp_cqe *slot = &cq->slots[cq->prod & (cq->depth - 1)];
	uint32_t armed;

	if (cq->prod - __atomic_load_n(&cq->ring->cons, __ATOMIC_ACQUIRE) >= cq->depth)
		abort(); /* a test made its queue too small */
	memcpy(slot, cqe, offsetof(struct tp_cqe, seq));
	slot->timestamp_ns = cqe->timestamp_ns;
	__atomic_store_n(&slot->seq, ++cq->prod, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	armed = __atomic_load_n(&cq->ring->armed, __ATOMIC_RELAXED);
	if (armed != VC_ARM_ANY && (armed != VC_ARM_SOLICITED || cqe->solicited == 0))
		return;
	__atomic_store_n(&cq->ring->armed, VC_ARM_NONE, __ATOMIC_RELAXED);
	(void)!send(cq->comp_fd, &msg, sizeof(msg), MSG_NOSIGNAL);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct fake_qp *find_qp(struct fake *f, uint32_t qpn)
{
	for (int i = 0; i < FAKE_MAX; i++)
		for (int k = 0; k < FAKE_MAX; k++)
			if (f->sessions[i].used && f->sessions[i].qps[k].used && f->sessions[i].qps[k].qpn == qpn)
				return &f->sessions[i].qps[k];
	return NULL;
}

static const void *slot_of(const struct vc_queue *q, uint32_t cons, uint32_t depth, uint32_t slot_bytes)
{
	return (const uint8_t *)(q + 1) + (size_t)(cons & (depth - 1)) * slot_bytes;
}

static uint32_t gather(const struct tp_send_wqe *wqe, uint8_t *to)
{
	const struct tp_sge *sge = (const void *)(wqe + 1);
	uint32_t n = 0;

	if ((wqe->flags & TP_SEND_INLINE) != 0) {
		memcpy(to, wqe + 1, wqe->inline_bytes);
		return wqe->inline_bytes;
	}
	for (uint32_t i = 0; i < wqe->num_sge; n += sge[i++].bytes)
		memcpy(to + n, (const void *)(uintptr_t)sge[i].addr, sge[i].bytes);
	return n;
}

/* Returns how many bytes had room. */
static uint32_t scatter(const struct tp_recv_wqe *wqe, const uint8_t *from, uint32_t bytes)
{
	const struct tp_sge *sge = (const void *)(wqe + 1);
	uint32_t done = 0;

	for (uint32_t i = 0; i < wqe->num_sge && done < bytes; i++) {
		uint32_t n = bytes - done < sge[i].bytes ? bytes - done : sge[i].bytes;

		memcpy((void *)(uintptr_t)sge[i].addr, from + done, n);
		done += n;
	}
	return done;
}

/* The next receive request of a queue pair or of its shared queue; NULL: none is posted. */
static const struct tp_recv_wqe *next_recv(const struct fake_qp *qp)
{
	const struct fake_srq *srq = qp->srq;

	if (srq != NULL)
		return srq->cons == __atomic_load_n(&srq->queue->prod, __ATOMIC_ACQUIRE) ? NULL :
			slot_of(srq->queue, srq->cons, srq->depth, srq->slot_bytes);
	return qp->rq_cons == __atomic_load_n(&qp->rq->prod, __ATOMIC_ACQUIRE) ? NULL :
		slot_of(qp->rq, qp->rq_cons, qp->rq_depth, qp->rq_slot);
}

static void raise_srq_limit(struct fake *f, struct fake_srq *srq)
{
	struct vc_async_msg msg = {.type = IBV_EVENT_SRQ_LIMIT_REACHED, .cookie = srq->cookie};

	srq->limit = 0; /* once per arming */
	for (int i = 0; i < FAKE_MAX; i++)
		if (srq >= f->sessions[i].srqs && srq < f->sessions[i].srqs + FAKE_MAX)
			(void)!send(f->sessions[i].async_fd, &msg, sizeof(msg), 0);
}

static void consume_recv(struct fake *f, struct fake_qp *qp)
{
	struct fake_srq *srq = qp->srq;

	if (srq == NULL) {
		__atomic_store_n(&qp->rq->cons, ++qp->rq_cons, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(&srq->queue->cons, ++srq->cons, __ATOMIC_RELEASE);
	if (__atomic_load_n(&srq->queue->prod, __ATOMIC_ACQUIRE) - srq->cons < srq->limit)
		raise_srq_limit(f, srq);
}

/* What lies before a datagram: an IPv4 header from 10.0.0.9 to 10.0.0.1, class 0x20, in the last 20 of 40 bytes. */
static uint32_t put_grh(uint8_t *grh)
{
	static const uint8_t ip4[20] = {0x45, 0x20, [12] = 10, 0, 0, 9, 10, 0, 0, 1};

	memset(grh, 0, FAKE_GRH_BYTES);
	memcpy(grh + FAKE_GRH_BYTES - sizeof(ip4), ip4, sizeof(ip4));
	return FAKE_GRH_BYTES;
}

/* The queue pair a request goes to, NULL: nobody takes it. A datagram names it, with its key. */
static struct fake_qp *peer_of(struct fake *f, const struct fake_qp *qp, const struct tp_send_wqe *wqe)
{
	struct fake_qp *peer;

	if (qp->type != IBV_QPT_UD)
		return find_qp(f, qp->dest_qpn);
	if (wqe->ud.ah <= FAKE_AH_NUMBER || wqe->ud.ah > FAKE_AH_NUMBER + f->ahs)
		abort(); /* the number of no address handle */
	peer = find_qp(f, wqe->ud.qpn);
	return peer != NULL && peer->qkey == wqe->ud.qkey ? peer : NULL;
}

/* False: no receive is posted for the immediate data. */
static bool write_with_imm(struct fake *f, const struct fake_qp *qp, const struct tp_send_wqe *wqe, const uint8_t *data,
	uint32_t bytes)
{
	struct fake_qp *peer = find_qp(f, qp->dest_qpn);
	const struct tp_recv_wqe *recv_wqe = peer != NULL ? next_recv(peer) : NULL;
	struct tp_cqe cqe = {.opcode = TP_WC_OP_RECV_WRITE_IMM, .bytes = bytes, .flags = TP_WC_WITH_IMM};

	if (recv_wqe == NULL)
		return false;
	if (bytes != 0)
		memcpy((void *)(uintptr_t)wqe->remote_addr, data, bytes);
	cqe.wr_id = recv_wqe->wr_id;
	cqe.qpn = peer->qpn;
	cqe.imm = wqe->imm;
	consume_recv(f, peer);
	complete(peer->recv_cq, &cqe);
	return true;
}

/* False: the peer of a reliable connection has no receive posted, try again later. */
static bool deliver(struct fake *f, const struct fake_qp *qp, const struct tp_send_wqe *wqe)
{
	static uint8_t data[1 << 16];
	struct fake_qp *peer = peer_of(f, qp, wqe);
	uint32_t head = qp->type == IBV_QPT_UD ? put_grh(data) : 0, bytes = head + gather(wqe, data + head);
	const struct tp_recv_wqe *recv_wqe;
	struct tp_cqe cqe = {.opcode = TP_WC_OP_RECV, .bytes = bytes};

	if (wqe->opcode == TP_WR_WRITE || wqe->opcode == TP_WR_ATOMIC_WRITE) {
		memcpy((void *)(uintptr_t)wqe->remote_addr, data, bytes);
		return true;
	}
	if (wqe->opcode == TP_WR_WRITE_IMM)
		return write_with_imm(f, qp, wqe, data, bytes);
	if (wqe->opcode == TP_WR_BIND_MW || wqe->opcode == TP_WR_LOCAL_INV) {
		f->key_work = *wqe;
		return true;
	}
	recv_wqe = peer != NULL ? next_recv(peer) : NULL;
	if (recv_wqe == NULL)
		return qp->type != IBV_QPT_RC;
	if (scatter(recv_wqe, data, bytes) < bytes)
		cqe.status = TP_WC_LOC_LEN_ERR;
	cqe.wr_id = recv_wqe->wr_id;
	cqe.qpn = peer->qpn;
	cqe.src_qpn = qp->qpn;
	cqe.solicited = (wqe->flags & TP_SEND_SOLICITED) != 0;
	cqe.timestamp_ns = now_ns();
	cqe.flags = head != 0 ? TP_WC_GRH : 0;
	cqe.l3 = head != 0 ? TP_WC_L3_IP4 : TP_WC_L3_GRH;
	if (wqe->opcode == TP_WR_SEND_IMM || wqe->opcode == TP_WR_SEND_INV) {
		cqe.flags |= wqe->opcode == TP_WR_SEND_IMM ? TP_WC_WITH_IMM : TP_WC_WITH_INV;
		cqe.imm = wqe->imm;
	}
	consume_recv(f, peer);
	complete(peer->recv_cq, &cqe);
	return true;
}

static uint16_t completion_of(uint8_t opcode)
{
	switch (opcode) {
	case TP_WR_WRITE:
	case TP_WR_WRITE_IMM:
		return TP_WC_OP_WRITE;
	case TP_WR_ATOMIC_WRITE:
		return TP_WC_OP_ATOMIC_WRITE;
	case TP_WR_BIND_MW:
		return TP_WC_OP_BIND_MW;
	case TP_WR_LOCAL_INV:
		return TP_WC_OP_LOCAL_INV;
	default:
		return TP_WC_OP_SEND;
	}
}

static void serve_sends(struct fake *f, struct fake_qp *qp)
{
	while (qp->sq != NULL && qp->sq_cons != __atomic_load_n(&qp->sq->prod, __ATOMIC_ACQUIRE)) {
		const struct tp_send_wqe *wqe = slot_of(qp->sq, qp->sq_cons, qp->sq_depth, qp->sq_slot);
		struct tp_cqe cqe = {.wr_id = wqe->wr_id, .qpn = qp->qpn};
		bool flush = qp->state == IBV_QPS_ERR, signaled = qp->sig_all || (wqe->flags & TP_SEND_SIGNALED) != 0;

		cqe.opcode = completion_of(wqe->opcode);
		if (flush)
			cqe.status = TP_WC_WR_FLUSH_ERR;
		else if (qp->state != IBV_QPS_RTS)
			return;
		else if (qp->type == IBV_QPT_XRC_SEND)
			f->srqn = wqe->srqn;
		else if (!deliver(f, qp, wqe))
			return;
		__atomic_store_n(&qp->sq->cons, ++qp->sq_cons, __ATOMIC_RELEASE);
		if (flush || signaled)
			complete(qp->send_cq, &cqe);
	}
}

static void flush_receives(struct fake_qp *qp)
{
	if (qp->rq == NULL)
		return;
	while (qp->state == IBV_QPS_ERR && qp->rq_cons != __atomic_load_n(&qp->rq->prod, __ATOMIC_ACQUIRE)) {
		const struct tp_recv_wqe *wqe = slot_of(qp->rq, qp->rq_cons, qp->rq_depth, qp->rq_slot);
		struct tp_cqe cqe = {.wr_id = wqe->wr_id, .qpn = qp->qpn, .opcode = TP_WC_OP_RECV,
			.status = TP_WC_WR_FLUSH_ERR};

		__atomic_store_n(&qp->rq->cons, ++qp->rq_cons, __ATOMIC_RELEASE);
		complete(qp->recv_cq, &cqe);
	}
}

static void move_messages(struct fake *f)
{
	for (int i = 0; i < FAKE_MAX; i++) {
		struct fake_session *s = &f->sessions[i];

		for (int k = 0; k < FAKE_MAX && s->used && !s->cm; k++) {
			if (!s->qps[k].used)
				continue;
			serve_sends(f, &s->qps[k]);
			flush_receives(&s->qps[k]);
		}
	}
}

/* ---- verbs requests ---- */

static void fill_device(struct vc_device_attr *d)
{
	*d = (struct vc_device_attr){.name = FAKE_DEVICE, .netdev = FAKE_NETDEV, .node_guid = htobe64(FAKE_GUID),
		.max_mr_bytes = 1ull << 40, .max_qp = FAKE_MAX, .max_qp_wr = 1024, .max_send_wr = 1024,
		.max_recv_wr = 1024, .max_sge = FAKE_MAX_SGE, .max_cq = FAKE_MAX, .max_cqe = FAKE_MAX_CQE,
		.max_mr = 64, .max_pd = 64, .max_ah = 64, .max_qp_rd_atomic = 16, .max_qp_init_rd_atomic = 16,
		.max_inline_bytes = FAKE_INLINE, .max_mtu = IBV_MTU_4096, .active_mtu = IBV_MTU_1024,
		.max_srq = FAKE_MAX, .max_srq_wr = 512, .max_srq_sge = FAKE_MAX_SGE, .max_mcast_grp = 8,
		.max_mcast_qp_attach = 4, .max_mw = 64, .cap_flags = fake_cap_flags, .gid_count = 3,
		.port_state = IBV_PORT_ACTIVE, .speed_mbps = 100000};
}

/* Entry 0: fe80::..., 1: 10.0.0.1, 2: empty. */
static void fill_gids(struct vc_reply *r)
{
	static const uint8_t ll[16] = {0xfe, 0x80, [8] = 2, 0, 0xc0, 0xff, 0xfe, 0, 0, 1};
	static const uint8_t v4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};

	r->gids.n = 3;
	memcpy(r->gids.gid[0].gid, ll, 16);
	memcpy(r->gids.gid[1].gid, v4, 16);
	r->gids.gid[0].type = r->gids.gid[1].type = IBV_GID_TYPE_ROCE_V2;
}

static void hello(struct fake_session *s, struct fake_answer *a)
{
	int memfd = memfd_create("fake", MFD_CLOEXEC), theirs;
	struct vc_shm_header *h;

	if (memfd < 0 || ftruncate(memfd, SHM_BYTES) != 0)
		abort();
	s->shm = mmap(NULL, SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	h = (void *)s->shm;
	h->magic = VC_MAGIC;
	h->version = VC_VERSION;
	h->shm_bytes = SHM_BYTES;
	h->need_wakeup = 1; /* this daemon always sleeps */
	s->shm_used = 4096;
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->async_fd = fake_pair(&theirs);
	a->reply.hello.shm_bytes = SHM_BYTES;
	a->reply.hello.version = VC_VERSION;
	a->reply.hello.num_comp_vectors = 1;
	fill_device(&a->reply.hello.attr);
	a->fds[0] = memfd;
	a->fds[1] = dup(s->wake_fd);
	a->fds[2] = theirs;
	a->reply.n_fds = 3;
}

static uint32_t pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static int create_cq(struct fake_session *s, const struct vc_request *q, struct vc_reply *r)
{
	int i = 0;

	while (s->cqs[i].used)
		if (++i == FAKE_MAX)
			return -ENOMEM;
	if (q->create_cq.depth > FAKE_MAX_CQE)
		return -EINVAL;
	s->cqs[i] = (struct fake_cq){.used = true, .cookie = q->create_cq.cookie, .depth = pow2(q->create_cq.depth)};
	s->cqs[i].comp_fd = q->create_cq.channel != 0 ? s->channels[q->create_cq.channel - 1] : -1;
	s->cqs[i].ring = shm_alloc(s, sizeof(struct vc_cq) + s->cqs[i].depth * sizeof(struct tp_cqe), &r->cq.offset);
	s->cqs[i].slots = (void *)(s->cqs[i].ring + 1);
	r->cq.handle = (uint32_t)i + 1;
	r->cq.depth = s->cqs[i].depth;
	return 0;
}

static int resize_cq(struct fake_session *s, const struct vc_request *q, struct vc_reply *r)
{
	struct fake_cq *cq = &s->cqs[q->resize_cq.handle - 1], old = *cq;
	uint32_t i;

	cq->depth = pow2(q->resize_cq.depth);
	cq->ring = shm_alloc(s, sizeof(struct vc_cq) + cq->depth * sizeof(struct tp_cqe), &r->cq.offset);
	cq->slots = (void *)(cq->ring + 1);
	for (i = old.ring->cons; i != old.prod; i++)
		cq->slots[i & (cq->depth - 1)] = old.slots[i & (old.depth - 1)];
	*cq->ring = *old.ring;
	memset(old.slots, 0xff, old.depth * sizeof(struct tp_cqe)); /* nobody may look there any more */
	r->cq.depth = cq->depth;
	return 0;
}

static struct fake_cq *cq_of(struct fake_session *s, uint32_t handle)
{
	return handle != 0 ? &s->cqs[handle - 1] : NULL;
}

static int create_qp(struct fake_session *s, const struct vc_request *q, struct vc_reply *r)
{
	static uint32_t next_qpn = 0x100;
	struct fake_qp *qp;
	int i = 0;

	while (s->qps[i].used)
		if (++i == FAKE_MAX)
			return -ENOMEM;
	if (q->create_qp.max_send_sge > FAKE_MAX_SGE || q->create_qp.max_inline_bytes > FAKE_INLINE)
		return -EINVAL;
	qp = &s->qps[i];
	*qp = (struct fake_qp){.used = true, .sig_all = q->create_qp.sq_sig_all != 0, .cookie = q->create_qp.cookie,
		.type = q->create_qp.type, .srq = q->create_qp.srq != 0 ? &s->srqs[q->create_qp.srq - 1] : NULL,
		.qpn = next_qpn++, .sq_depth = pow2(q->create_qp.max_send_wr),
		.rq_depth = pow2(q->create_qp.max_recv_wr),
		.send_cq = cq_of(s, q->create_qp.send_cq), .recv_cq = cq_of(s, q->create_qp.recv_cq),
		.sq_slot = tp_send_slot_bytes(q->create_qp.max_send_sge, q->create_qp.max_inline_bytes),
		.rq_slot = tp_recv_slot_bytes(q->create_qp.max_recv_sge)};
	if (qp->type != IBV_QPT_XRC_RECV)
		qp->sq = shm_alloc(s, sizeof(*qp->sq) + qp->sq_depth * qp->sq_slot, &r->qp.sq_offset);
	if (qp->srq == NULL && qp->recv_cq != NULL)
		qp->rq = shm_alloc(s, sizeof(*qp->rq) + qp->rq_depth * qp->rq_slot, &r->qp.rq_offset);
	r->qp.handle = (uint32_t)i + 1;
	r->qp.qpn = qp->qpn;
	r->qp.slot = (uint32_t)i + 200; /* not in the first word of bits */
	r->qp.sq_depth = qp->sq_depth;
	r->qp.rq_depth = qp->srq == NULL ? qp->rq_depth : 0;
	r->qp.sq_slot_bytes = qp->sq_slot;
	r->qp.rq_slot_bytes = qp->rq_slot;
	r->qp.max_send_sge = q->create_qp.max_send_sge;
	r->qp.max_recv_sge = q->create_qp.max_recv_sge;
	r->qp.max_inline_bytes = q->create_qp.max_inline_bytes;
	return 0;
}

/* One more handle, as a queue pair of its own with the same number. */
static int open_qp(struct fake_session *s, const struct vc_request *q, struct vc_reply *r)
{
	struct vc_request create = {.create_qp = {.type = IBV_QPT_XRC_RECV, .cookie = q->open_qp.cookie}};
	int err = create_qp(s, &create, r);

	r->qp.qpn = q->open_qp.qpn;
	return err;
}

static int modify_qp(struct fake_session *s, const struct vc_request *q)
{
	struct fake_qp *qp = &s->qps[q->modify_qp.handle - 1];
	const struct vc_qp_attr *attr = &q->modify_qp.attr;

	if ((attr->mask & IBV_QP_DEST_QPN) != 0)
		qp->dest_qpn = attr->dest_qpn;
	if ((attr->mask & IBV_QP_QKEY) != 0)
		qp->qkey = attr->qkey;
	if ((attr->mask & IBV_QP_STATE) != 0)
		qp->state = attr->state;
	if (qp->state == IBV_QPS_RESET) {
		if (qp->sq != NULL)
			qp->sq->cons = qp->sq_cons = qp->sq->prod;
		if (qp->rq != NULL)
			qp->rq->cons = qp->rq_cons = qp->rq->prod;
	}
	return 0;
}

/* ---- shared receive queues ---- */

static int create_srq(struct fake_session *s, const struct vc_request *q, struct vc_reply *r)
{
	struct fake_srq *srq;
	int i = 0;

	while (s->srqs[i].used)
		if (++i == FAKE_MAX)
			return -ENOMEM;
	if (q->create_srq.max_sge > FAKE_MAX_SGE || q->create_srq.max_wr == 0)
		return -EINVAL;
	srq = &s->srqs[i];
	*srq = (struct fake_srq){.used = true, .cookie = q->create_srq.cookie, .depth = pow2(q->create_srq.max_wr),
		.slot_bytes = tp_recv_slot_bytes(q->create_srq.max_sge)};
	srq->queue = shm_alloc(s, sizeof(*srq->queue) + srq->depth * srq->slot_bytes, &r->srq.offset);
	r->srq.handle = (uint32_t)i + 1;
	r->srq.depth = srq->depth;
	r->srq.slot_bytes = srq->slot_bytes;
	r->srq.max_sge = q->create_srq.max_sge;
	r->srq.number = q->create_srq.xrcd != 0 ? 0x500u + (uint32_t)i : 0;
	return 0;
}

/* To a ring of its own, with what is posted. */
static int modify_srq(struct fake_session *s, const struct vc_request *q, struct vc_reply *r)
{
	struct fake_srq *srq = &s->srqs[q->modify_srq.handle - 1];
	struct vc_queue *old = srq->queue;
	uint32_t depth = pow2(q->modify_srq.max_wr);

	if ((q->modify_srq.mask & IBV_SRQ_LIMIT) != 0)
		srq->limit = q->modify_srq.limit;
	if ((q->modify_srq.mask & IBV_SRQ_MAX_WR) == 0)
		return 0;
	if (old->prod - srq->cons > depth)
		return -EINVAL;
	srq->queue = shm_alloc(s, sizeof(*srq->queue) + depth * srq->slot_bytes, &r->srq.offset);
	for (uint32_t i = srq->cons; i != old->prod; i++)
		memcpy((uint8_t *)(srq->queue + 1) + (size_t)(i & (depth - 1)) * srq->slot_bytes,
			slot_of(old, i, srq->depth, srq->slot_bytes), srq->slot_bytes);
	srq->queue->prod = old->prod;
	srq->queue->cons = srq->cons;
	memset(old, 0xff, sizeof(*old)); /* whoever still looks there is wrong */
	srq->depth = depth;
	r->srq.depth = depth;
	r->srq.slot_bytes = srq->slot_bytes;
	return 0;
}

static int destroy_srq(struct fake_session *s, struct fake_srq *srq)
{
	for (int k = 0; k < FAKE_MAX; k++)
		if (s->qps[k].used && s->qps[k].srq == srq)
			return -EBUSY;
	srq->used = false;
	return 0;
}

static struct fake_qp *mcast_qp(struct fake_session *s, const struct vc_request *q)
{
	return &s->qps[q->mcast.qp - 1];
}

/* False: not one of them. */
static bool serve_shared(struct fake *f, struct fake_session *s, const struct vc_request *q, struct vc_reply *r)
{
	switch (q->op) {
	case VC_CREATE_SRQ:
		r->status = create_srq(s, q, r);
		return true;
	case VC_MODIFY_SRQ:
		r->status = modify_srq(s, q, r);
		return true;
	case VC_QUERY_SRQ:
		r->srq.limit = s->srqs[q->object.handle - 1].limit;
		return true;
	case VC_DESTROY_SRQ:
		r->status = destroy_srq(s, &s->srqs[q->object.handle - 1]);
		return true;
	case VC_OPEN_XRCD:
		f->xrcds++;
		f->xrcd_fd = q->open_xrcd.fd;
		r->object.handle = 0x70;
		return true;
	case VC_CLOSE_XRCD:
		f->xrcds--;
		return true;
	case VC_OPEN_QP:
		r->status = q->open_qp.xrcd == 0x70 && find_qp(f, q->open_qp.qpn) != NULL ? open_qp(s, q, r) : -EINVAL;
		return true;
	case VC_ATTACH_MCAST:
		mcast_qp(s, q)->groups++;
		return true;
	case VC_DETACH_MCAST:
		r->status = mcast_qp(s, q)->groups == 0 ? -EINVAL : 0;
		mcast_qp(s, q)->groups -= r->status == 0 ? 1 : 0;
		return true;
	default:
		return false;
	}
}

/* Requests that only make, take away or tell. False: not one of them. */
static bool serve_simple(struct fake *f, struct fake_session *s, const struct vc_request *q, struct fake_answer *a)
{
	struct vc_reply *r = &a->reply;

	switch (q->op) {
	case VC_LIST_DEVICES:
		r->devices.n = 1;
		fill_device(&r->devices.attr[0]);
		return true;
	case VC_QUERY_DEVICE:
	case VC_QUERY_PORT:
		fill_device(&r->device);
		return true;
	case VC_QUERY_GIDS:
		fill_gids(r);
		return true;
	case VC_ALLOC_PD:
		r->object.handle = ++f->pds;
		return true;
	case VC_DEALLOC_PD:
		f->pds--;
		return true;
	case VC_REG_MR:
		f->mrs++;
		f->mem_fd = q->reg_mr.mem_fd;
		f->mem_offset = q->reg_mr.mem_offset;
		r->mr.handle = r->mr.key = 0x1000 + f->mrs;
		return true;
	case VC_REREG_MR:
		f->rereg = *q;
		return true;
	case VC_DEREG_MR:
		f->mrs--;
		return true;
	case VC_ALLOC_MW:
		r->mr.handle = ++f->mws;
		r->mr.key = 0x7fe00 + q->alloc_mw.type;
		return true;
	case VC_DEALLOC_MW:
		f->mws--;
		return true;
	case VC_CREATE_AH:
		r->ah.handle = ++f->ahs;
		r->ah.number = FAKE_AH_NUMBER + f->ahs;
		f->av = q->create_ah.av;
		return true;
	case VC_DESTROY_AH:
		f->ahs--;
		return true;
	case VC_DESTROY_COMP_CHANNEL:
		close(s->channels[q->object.handle - 1]);
		s->channels[q->object.handle - 1] = 0;
		return true;
	case VC_DESTROY_CQ:
		s->cqs[q->object.handle - 1].used = false;
		return true;
	case VC_DESTROY_QP:
		r->status = s->qps[q->object.handle - 1].groups != 0 ? -EBUSY : 0; /* IB o10-2.2.3 */
		s->qps[q->object.handle - 1].used = r->status != 0;
		return true;
	default:
		return false;
	}
}

static void serve(struct fake *f, struct fake_session *s, const struct vc_request *q, struct fake_answer *a)
{
	struct vc_reply *r = &a->reply;
	uint32_t i = 0;

	if (serve_simple(f, s, q, a) || serve_shared(f, s, q, r))
		return;
	switch (q->op) {
	case VC_HELLO_VERBS:
		hello(s, a);
		break;
	case VC_HELLO_CM:
		s->cm = true;
		break;
	case VC_CREATE_COMP_CHANNEL:
		while (s->channels[i] != 0)
			i++;
		s->channels[i] = fake_pair(&a->fds[0]);
		r->n_fds = 1;
		r->object.handle = i + 1;
		break;
	case VC_CREATE_CQ:
		r->status = create_cq(s, q, r);
		break;
	case VC_RESIZE_CQ:
		r->status = resize_cq(s, q, r);
		break;
	case VC_CREATE_QP:
		r->status = create_qp(s, q, r);
		break;
	case VC_MODIFY_QP:
		r->status = modify_qp(s, q);
		break;
	case VC_QUERY_QP:
		r->qp_attr = (struct vc_qp_attr){.state = s->qps[q->object.handle - 1].state,
			.dest_qpn = s->qps[q->object.handle - 1].dest_qpn, .path_mtu = IBV_MTU_1024,
			.qkey = s->qps[q->object.handle - 1].qkey};
		break;
	default:
		fake_cm_serve(f, s, q, a);
	}
}

/* ---- connections ---- */

static void answer(int fd, struct fake_answer *a)
{
	char control[CMSG_SPACE(sizeof(a->fds))] = {0};
	struct iovec iov = {&a->reply, sizeof(a->reply)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (a->reply.n_fds != 0) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(a->reply.n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(a->reply.n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), a->fds, a->reply.n_fds * sizeof(int));
	}
	(void)!sendmsg(fd, &msg, MSG_NOSIGNAL);
	for (uint32_t i = 0; i < a->reply.n_fds; i++)
		close(a->fds[i]);
}

static void close_session(struct fake_session *s)
{
	close(s->fd);
	for (int i = 0; i < FAKE_MAX; i++)
		if (s->channels[i] != 0)
			close(s->channels[i]);
	if (s->shm != NULL) {
		munmap(s->shm, SHM_BYTES);
		close(s->wake_fd);
		close(s->async_fd);
	}
	memset(s, 0, sizeof(*s));
}

static void receive(struct fake *f, struct fake_session *s)
{
	struct fake_answer a = {0};
	struct vc_request q;

	if (recv(s->fd, &q, sizeof(q), 0) != (ssize_t)sizeof(q)) {
		close_session(s);
		return;
	}
	a.reply.op = q.op;
	a.reply.seq = q.seq;
	serve(f, s, &q, &a);
	answer(s->fd, &a);
}

static void accept_session(struct fake *f)
{
	int fd = accept(f->listen_fd, NULL, NULL);

	for (int i = 0; i < FAKE_MAX && fd >= 0; i++) {
		if (f->sessions[i].used)
			continue;
		f->sessions[i].used = true;
		f->sessions[i].fd = fd;
		return;
	}
	abort();
}

static void poll_once(struct fake *f, bool *stop)
{
	struct pollfd p[2 + 2 * FAKE_MAX];
	int i;

	p[0] = (struct pollfd){.fd = f->stop_fd, .events = POLLIN};
	p[1] = (struct pollfd){.fd = f->listen_fd, .events = POLLIN};
	pthread_mutex_lock(&f->lock);
	for (i = 0; i < FAKE_MAX; i++) {
		struct fake_session *s = &f->sessions[i];

		p[2 + 2 * i] = (struct pollfd){.fd = s->used ? s->fd : -1, .events = POLLIN};
		p[3 + 2 * i] = (struct pollfd){.fd = s->shm != NULL ? s->wake_fd : -1, .events = POLLIN};
	}
	pthread_mutex_unlock(&f->lock);
	(void)poll(p, 2 + 2 * FAKE_MAX, 1000);
	pthread_mutex_lock(&f->lock);
	*stop = p[0].revents != 0;
	for (i = 0; i < FAKE_MAX && !*stop; i++) {
		uint64_t n;

		if (p[3 + 2 * i].revents != 0 && read(f->sessions[i].wake_fd, &n, sizeof(n)) == sizeof(n))
			f->wakeups++;
		if (p[2 + 2 * i].revents != 0)
			receive(f, &f->sessions[i]);
	}
	if (p[1].revents != 0 && !*stop)
		accept_session(f);
	move_messages(f);
	pthread_mutex_unlock(&f->lock);
}

static void *run(void *arg)
{
	struct fake *f = arg;
	bool stop = false;

	while (!stop)
		poll_once(f, &stop);
	return NULL;
}

struct fake *fake_start(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct fake *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/fakeXXXXXX");
	if (mkdtemp(f->dir) == NULL)
		abort();
	snprintf(f->path, sizeof(f->path), "%s/sock", f->dir);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", f->path);
	f->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (bind(f->listen_fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 || listen(f->listen_fd, 16) != 0)
		abort();
	f->stop_fd = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&f->lock, NULL);
	if (pthread_create(&f->thread, NULL, run, f) != 0)
		abort();
	setenv("ROCED_SOCKET", f->path, 1);
	return f;
}

void fake_stop(struct fake *f)
{
	const uint64_t one = 1;

	(void)!write(f->stop_fd, &one, sizeof(one));
	pthread_join(f->thread, NULL);
	for (int i = 0; i < FAKE_MAX; i++)
		if (f->sessions[i].used)
			close_session(&f->sessions[i]);
	close(f->listen_fd);
	close(f->stop_fd);
	unlink(f->path);
	rmdir(f->dir);
	free(f);
}

void fake_raise(struct fake *f, uint32_t qpn, uint32_t type)
{
	pthread_mutex_lock(&f->lock);
	for (int i = 0; i < FAKE_MAX; i++) {
		struct fake_session *s = &f->sessions[i];

		for (int k = 0; k < FAKE_MAX && s->used; k++) {
			struct vc_async_msg msg = {.type = type, .cookie = s->qps[k].cookie};

			if (s->qps[k].used && s->qps[k].qpn == qpn)
				(void)!send(s->async_fd, &msg, sizeof(msg), 0);
		}
	}
	pthread_mutex_unlock(&f->lock);
}

uint32_t fake_attached(struct fake *f)
{
	uint32_t n = 0;

	pthread_mutex_lock(&f->lock);
	for (int i = 0; i < FAKE_MAX; i++)
		for (int k = 0; k < FAKE_MAX && f->sessions[i].used; k++)
			n += f->sessions[i].qps[k].used ? f->sessions[i].qps[k].groups : 0;
	pthread_mutex_unlock(&f->lock);
	return n;
}

uint32_t fake_completions(struct fake *f)
{
	uint32_t n = 0;

	pthread_mutex_lock(&f->lock);
	for (int i = 0; i < FAKE_MAX; i++)
		for (int k = 0; k < FAKE_MAX && f->sessions[i].used; k++)
			n += f->sessions[i].cqs[k].used ? f->sessions[i].cqs[k].prod : 0;
	pthread_mutex_unlock(&f->lock);
	return n;
}

uint32_t fake_objects(struct fake *f)
{
	uint32_t n;

	pthread_mutex_lock(&f->lock);
	n = f->pds + f->mrs + f->ahs + f->mws + f->xrcds;
	for (int i = 0; i < FAKE_MAX; i++) {
		n += f->ids[i].used ? 1u : 0u;
		for (int k = 0; k < FAKE_MAX && f->sessions[i].used; k++)
			n += (f->sessions[i].cqs[k].used ? 1u : 0u) + (f->sessions[i].qps[k].used ? 1u : 0u) +
				(f->sessions[i].srqs[k].used ? 1u : 0u) + (f->sessions[i].channels[k] != 0 ? 1u : 0u);
	}
	pthread_mutex_unlock(&f->lock);
	return n;
}
