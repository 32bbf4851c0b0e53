/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Posting work requests: one producer lock a queue, no system call unless the daemon sleeps. A chain of
 * requests is published with one index store and one doorbell.
 */
#include <string.h>

#include "vcl_post.h"

#define RC      (1u << IBV_QPT_RC)
#define UC      (1u << IBV_QPT_UC)
#define UD      (1u << IBV_QPT_UD)
#define XRC     (1u << IBV_QPT_XRC_SEND)

/* What a work request carries, by opcode (IB 11.4.1.1, table of operations by service). */
static const struct {
	uint16_t services;                 /* RC, UC, UD, XRC that have it */
	uint8_t remote : 1, atomic : 1, may_inline : 1, window : 1, eight_bytes : 1;
} opcodes[] = {
	[IBV_WR_RDMA_WRITE] = {RC | UC | XRC, .remote = 1, .may_inline = 1},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {RC | UC | XRC, .remote = 1, .may_inline = 1},
	[IBV_WR_SEND] = {RC | UC | UD | XRC, .may_inline = 1},
	[IBV_WR_SEND_WITH_IMM] = {RC | UC | UD | XRC, .may_inline = 1},
	[IBV_WR_RDMA_READ] = {RC | XRC, .remote = 1},
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {RC | XRC, .atomic = 1, .eight_bytes = 1},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {RC | XRC, .atomic = 1, .eight_bytes = 1},
	[IBV_WR_ATOMIC_WRITE] = {RC, .remote = 1, .may_inline = 1, .eight_bytes = 1},
	[IBV_WR_LOCAL_INV] = {RC | UC | XRC, .window = 1},
	[IBV_WR_BIND_MW] = {RC | UC | XRC, .window = 1},
	[IBV_WR_SEND_WITH_INV] = {RC | XRC, .may_inline = 1}, /* its key shares the place of the immediate data */
};

static uint64_t total_bytes(const struct ibv_sge *sge, int n)
{
	uint64_t bytes = 0;
	int i;

	for (i = 0; i < n; i++)
		bytes += sge[i].length;
	return bytes;
}

/* A window of type 1 is bound by ibv_bind_mw() only (IB 10.6.7.2). */
static int check_window(const struct vcl_qp *qp, const struct ibv_send_wr *wr)
{
	const struct ibv_mw *mw = wr->bind_mw.mw;

	if (!vcl_has_windows(qp->ibv.context))
		return -EOPNOTSUPP;
	if (wr->num_sge != 0)
		return -EINVAL;
	if (wr->opcode != IBV_WR_BIND_MW)
		return 0;
	if (mw == NULL || mw->type != IBV_MW_TYPE_2 || wr->bind_mw.bind_info.mr == NULL)
		return -EINVAL;
	return vcl_check_bind(&qp->ibv, mw, &wr->bind_mw.bind_info);
}

/* 0 or a negative errno. */
static int check_send(const struct vcl_qp *qp, const struct ibv_send_wr *wr)
{
	const unsigned int flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
	bool is_inline = (wr->send_flags & IBV_SEND_INLINE) != 0;
	uint64_t bytes;

	if ((size_t)wr->opcode >= sizeof(opcodes) / sizeof(opcodes[0]) || opcodes[wr->opcode].services == 0 ||
		(wr->send_flags & ~flags) != 0)
		return -EOPNOTSUPP;
	if ((opcodes[wr->opcode].services & (1u << qp->ibv.qp_type)) == 0)
		return -EINVAL;
	if (wr->num_sge < 0 || (!is_inline && (uint32_t)wr->num_sge > qp->sq.max_sge))
		return -EINVAL;
	bytes = total_bytes(wr->sg_list, wr->num_sge);
	if (bytes > TP_MAX_MSG_BYTES || (opcodes[wr->opcode].eight_bytes != 0 && bytes != TP_ATOMIC_BYTES))
		return -EINVAL;
	if (is_inline && (opcodes[wr->opcode].may_inline == 0 || bytes > qp->max_inline_bytes))
		return -EINVAL;
	if (qp->ibv.qp_type == IBV_QPT_UD && (wr->wr.ud.ah == NULL || wr->wr.ud.ah->context != qp->ibv.context))
		return -EINVAL;
	return opcodes[wr->opcode].window != 0 ? check_window(qp, wr) : 0;
}

static void write_header(const struct vcl_qp *qp, const struct ibv_send_wr *wr, struct tp_send_wqe *wqe)
{
	*wqe = (struct tp_send_wqe){
		.wr_id = wr->wr_id,
		.opcode = (uint8_t)wr->opcode,
		.flags = (uint16_t)wr->send_flags,
		.imm = wr->imm_data, /* or the key to invalidate, in the same place */
	};
	if (opcodes[wr->opcode].remote != 0) {
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
	}
	if (opcodes[wr->opcode].atomic != 0) {
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->atomic.compare_add = wr->wr.atomic.compare_add;
		wqe->atomic.swap = wr->wr.atomic.swap;
	}
	if (wr->opcode == IBV_WR_BIND_MW)
		vcl_write_bind(wqe, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
	if (qp->ibv.qp_type == IBV_QPT_XRC_SEND)
		wqe->srqn = wr->qp_type.xrc.remote_srqn;
	if (qp->ibv.qp_type == IBV_QPT_UD) {
		wqe->ud.ah = vcl_ah(wr->wr.ud.ah)->number;
		wqe->ud.qpn = wr->wr.ud.remote_qpn;
		wqe->ud.qkey = wr->wr.ud.remote_qkey;
	}
}

static void write_inline(struct tp_send_wqe *wqe, const struct ibv_sge *sge, int n)
{
	uint8_t *to = (uint8_t *)(wqe + 1);
	int i;

	for (i = 0; i < n; i++) {
		if (sge[i].length == 0)
			continue;
		memcpy(to + wqe->inline_bytes, (const void *)(uintptr_t)sge[i].addr, sge[i].length);
		wqe->inline_bytes += sge[i].length;
	}
}

static int post_one_send(struct vcl_qp *qp, const struct ibv_send_wr *wr)
{
	struct tp_send_wqe *wqe;
	int err = check_send(qp, wr);

	if (err != 0)
		return err;
	wqe = vcl_free_slot(&qp->sq);
	if (wqe == NULL)
		return -ENOMEM;
	write_header(qp, wr, wqe);
	if ((wr->send_flags & IBV_SEND_INLINE) != 0) {
		write_inline(wqe, wr->sg_list, wr->num_sge);
	} else {
		wqe->num_sge = (uint8_t)wr->num_sge;
		vcl_write_sges((struct tp_sge *)(wqe + 1), wr->sg_list, wr->num_sge);
	}
	qp->sq.prod++;
	return 0;
}

int vcl_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct vcl_qp *qp = vcl_qp(ibv);
	int err = qp->sq.queue != NULL ? vcl_may_send(ibv) : -EINVAL;
	uint32_t first;

	if (err != 0) {
		*bad_wr = wr;
		return vcl_errno(err);
	}
	pthread_spin_lock(&qp->sq.lock);
	first = qp->sq.prod;
	for (; wr != NULL; wr = wr->next) {
		err = post_one_send(qp, wr);
		if (err != 0) {
			*bad_wr = wr;
			break;
		}
	}
	if (qp->sq.prod != first)
		vcl_ring_doorbell(qp, &qp->sq);
	pthread_spin_unlock(&qp->sq.lock);
	return vcl_errno(err);
}

static int post_one_recv(struct vcl_ring *ring, const struct ibv_recv_wr *wr)
{
	struct tp_recv_wqe *wqe;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > ring->max_sge)
		return -EINVAL;
	wqe = vcl_free_slot(ring);
	if (wqe == NULL)
		return -ENOMEM;
	*wqe = (struct tp_recv_wqe){.wr_id = wr->wr_id, .num_sge = (uint32_t)wr->num_sge};
	vcl_write_sges((struct tp_sge *)(wqe + 1), wr->sg_list, wr->num_sge);
	ring->prod++;
	return 0;
}

/* Posts up to the first request that does not fit, which is *bad_wr then. The caller holds the lock. */
static int post_recvs(struct vcl_ring *ring, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int err = 0;

	for (; wr != NULL && err == 0; wr = wr->next) {
		err = post_one_recv(ring, wr);
		if (err != 0)
			*bad_wr = wr;
	}
	return err;
}

int vcl_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vcl_qp *qp = vcl_qp(ibv);
	uint32_t first;
	int err = 0;

	if (!vcl_alive(ibv->context))
		err = -EIO;
	else if (qp->rq.queue == NULL || __atomic_load_n(&ibv->state, __ATOMIC_RELAXED) == IBV_QPS_RESET)
		err = -EINVAL;
	if (err != 0) {
		*bad_wr = wr;
		return vcl_errno(err);
	}
	pthread_spin_lock(&qp->rq.lock);
	first = qp->rq.prod;
	err = post_recvs(&qp->rq, wr, bad_wr);
	if (qp->rq.prod != first)
		vcl_ring_doorbell(qp, &qp->rq);
	pthread_spin_unlock(&qp->rq.lock);
	return vcl_errno(err);
}

/* No bell: the daemon looks at the queue when a message comes. */
int vcl_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct vcl_srq *srq = vcl_srq(ibv);
	int err;

	if (!vcl_alive(ibv->context)) {
		*bad_wr = wr;
		return vcl_errno(-EIO);
	}
	pthread_spin_lock(&srq->ring.lock);
	err = post_recvs(&srq->ring, wr, bad_wr);
	__atomic_store_n(&srq->ring.queue->prod, srq->ring.prod, __ATOMIC_RELEASE);
	pthread_spin_unlock(&srq->ring.lock);
	return vcl_errno(err);
}
