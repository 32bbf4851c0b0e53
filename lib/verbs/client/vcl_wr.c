/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibv_wr_*: work requests built call by call, straight in the ring, between wr_start and wr_complete. The
 * building calls return nothing, so the first error waits for wr_complete, which then posts none of them.
 */
#include <string.h>

#include "vcl_post.h"

#define SENDS   (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define WRITES  (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
#define ATOMICS (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE)
#define READS   (IBV_QP_EX_WITH_RDMA_READ | ATOMICS)
#define LOCAL   (IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define WINDOWS (LOCAL | IBV_QP_EX_WITH_SEND_WITH_INV)

static struct vcl_qp *qp_of_ex(struct ibv_qp_ex *ex)
{
	return container_of(ex, struct vcl_qp, ex);
}

/* Requests that work on keys only. */
static bool has_no_data(const struct tp_send_wqe *wqe)
{
	return wqe->opcode == TP_WR_LOCAL_INV || wqe->opcode == TP_WR_BIND_MW;
}

static bool is_atomic(const struct tp_send_wqe *wqe)
{
	return wqe->opcode == TP_WR_CMP_SWAP || wqe->opcode == TP_WR_FETCH_ADD;
}

static void note_error(struct vcl_qp *qp, int err)
{
	if (qp->wr_err == 0)
		qp->wr_err = err;
	qp->wr_wqe = NULL;
}

/* ---- a batch ---- */

static void wr_start(struct ibv_qp_ex *ex)
{
	struct vcl_qp *qp = qp_of_ex(ex);

	if (vcl_forked(qp->ibv.context)) { /* a thread that is not here may hold the lock */
		note_error(qp, -EIO);
		return;
	}
	pthread_spin_lock(&qp->sq.lock);
	qp->wr_first = qp->sq.prod;
	qp->wr_wqe = NULL;
	qp->wr_err = vcl_may_send(&qp->ibv);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct vcl_qp *qp = qp_of_ex(ex);
	int err = qp->wr_err;

	if (vcl_forked(qp->ibv.context))
		return vcl_errno(-EIO);
	if (err != 0)
		qp->sq.prod = qp->wr_first;
	else if (qp->sq.prod != qp->wr_first)
		vcl_ring_doorbell(qp, &qp->sq);
	pthread_spin_unlock(&qp->sq.lock);
	return vcl_errno(err);
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct vcl_qp *qp = qp_of_ex(ex);

	if (vcl_forked(qp->ibv.context))
		return;
	qp->sq.prod = qp->wr_first;
	pthread_spin_unlock(&qp->sq.lock);
}

/* ---- what a request does ---- */

/* A new request with the id and flags the program has put into the QP; NULL after an error. */
static struct tp_send_wqe *new_wqe(struct ibv_qp_ex *ex, enum tp_wr_opcode opcode)
{
	const unsigned int flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	/* Whether data lies in the request follows from the call that sets it; programs set the flag too. */
	unsigned int given = ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE;
	struct vcl_qp *qp = qp_of_ex(ex);
	struct tp_send_wqe *wqe = NULL;

	if ((given & ~flags) != 0)
		note_error(qp, -EOPNOTSUPP);
	if (qp->wr_err != 0)
		return NULL;
	wqe = vcl_free_slot(&qp->sq);
	if (wqe == NULL) {
		note_error(qp, -ENOMEM);
		return NULL;
	}
	*wqe = (struct tp_send_wqe){.wr_id = ex->wr_id, .opcode = (uint8_t)opcode, .flags = (uint16_t)given};
	qp->sq.prod++;
	qp->wr_wqe = wqe;
	return wqe;
}

static void new_remote(struct ibv_qp_ex *ex, enum tp_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	struct tp_send_wqe *wqe = new_wqe(ex, opcode);

	if (wqe == NULL)
		return;
	wqe->rkey = rkey;
	wqe->remote_addr = remote_addr;
	wqe->imm = imm;
}

static void new_atomic(struct ibv_qp_ex *ex, enum tp_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr,
	uint64_t compare_add, uint64_t swap)
{
	struct vcl_qp *qp = qp_of_ex(ex);

	new_remote(ex, opcode, rkey, remote_addr, 0);
	if (qp->wr_wqe == NULL)
		return;
	qp->wr_wqe->atomic.compare_add = compare_add;
	qp->wr_wqe->atomic.swap = swap;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	(void)new_wqe(ex, TP_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	new_remote(ex, TP_WR_SEND_IMM, 0, 0, imm);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	new_remote(ex, TP_WR_SEND_INV, 0, 0, rkey);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	new_remote(ex, TP_WR_LOCAL_INV, 0, 0, rkey);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct vcl_qp *qp = qp_of_ex(ex);
	struct tp_send_wqe *wqe = new_wqe(ex, TP_WR_BIND_MW);
	int err;

	if (wqe == NULL)
		return;
	err = mw->type == IBV_MW_TYPE_2 && info->mr != NULL ? vcl_check_bind(&qp->ibv, mw, info) : -EINVAL;
	if (err != 0)
		note_error(qp, err);
	else
		vcl_write_bind(wqe, rkey, info);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	new_remote(ex, TP_WR_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	new_remote(ex, TP_WR_WRITE_IMM, rkey, remote_addr, imm);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	new_remote(ex, TP_WR_READ, rkey, remote_addr, 0);
}

static void wr_atomic_cmp_swp(
	struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t compare, uint64_t swap)
{
	new_atomic(ex, TP_WR_CMP_SWAP, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	new_atomic(ex, TP_WR_FETCH_ADD, rkey, remote_addr, add, 0);
}

/* Its eight bytes lie in the request. */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr)
{
	struct vcl_qp *qp = qp_of_ex(ex);

	new_remote(ex, TP_WR_ATOMIC_WRITE, rkey, remote_addr, 0);
	if (qp->wr_wqe == NULL)
		return;
	if (qp->max_inline_bytes < TP_ATOMIC_BYTES) {
		note_error(qp, -EINVAL);
		return;
	}
	memcpy(qp->wr_wqe + 1, atomic_wr, TP_ATOMIC_BYTES);
	qp->wr_wqe->inline_bytes = TP_ATOMIC_BYTES;
	qp->wr_wqe->flags |= TP_SEND_INLINE;
	qp->wr_wqe = NULL; /* complete: no call follows that sets its data */
}

/* ---- where its data are and where it goes ---- */

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct vcl_qp *qp = qp_of_ex(ex);

	if (qp->wr_wqe == NULL)
		return;
	if (ah == NULL || ah->context != qp->ibv.context) {
		note_error(qp, -EINVAL);
		return;
	}
	qp->wr_wqe->ud.ah = vcl_ah(ah)->number;
	qp->wr_wqe->ud.qpn = remote_qpn;
	qp->wr_wqe->ud.qkey = remote_qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct vcl_qp *qp = qp_of_ex(ex);

	if (qp->wr_wqe != NULL)
		qp->wr_wqe->srqn = remote_srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sges)
{
	struct vcl_qp *qp = qp_of_ex(ex);
	uint64_t bytes = 0;
	size_t i;

	if (qp->wr_wqe == NULL)
		return;
	if (num_sge > qp->sq.max_sge || (num_sge != 0 && has_no_data(qp->wr_wqe))) {
		note_error(qp, -EINVAL);
		return;
	}
	for (i = 0; i < num_sge; i++)
		bytes += sges[i].length;
	if (bytes > TP_MAX_MSG_BYTES || (is_atomic(qp->wr_wqe) && bytes != TP_ATOMIC_BYTES)) {
		note_error(qp, -EINVAL);
		return;
	}
	qp->wr_wqe->num_sge = (uint8_t)num_sge;
	vcl_write_sges((struct tp_sge *)(qp->wr_wqe + 1), sges, (int)num_sge);
}

/* As one entry, which may be empty: a message without data. */
static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {addr, length, lkey};

	wr_set_sge_list(ex, length != 0 ? 1 : 0, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf, const struct ibv_data_buf *bufs)
{
	struct vcl_qp *qp = qp_of_ex(ex);
	struct tp_send_wqe *wqe = qp->wr_wqe;
	uint32_t bytes = 0;
	size_t i;

	if (wqe == NULL)
		return;
	if (wqe->opcode == TP_WR_READ || is_atomic(wqe) || has_no_data(wqe)) {
		note_error(qp, -EINVAL);
		return;
	}
	for (i = 0; i < num_buf; i++) {
		if (bufs[i].length > qp->max_inline_bytes - bytes) {
			note_error(qp, -EINVAL);
			return;
		}
		if (bufs[i].length != 0)
			memcpy((uint8_t *)(wqe + 1) + bytes, bufs[i].addr, bufs[i].length);
		bytes += (uint32_t)bufs[i].length;
	}
	wqe->num_sge = 0;
	wqe->inline_bytes = bytes;
	wqe->flags |= TP_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = {addr, length};

	wr_set_inline_data_list(ex, 1, &buf);
}

/* ---- given to a QP ---- */

int vcl_check_wr_calls(struct ibv_context *ctx, enum ibv_qp_type type, uint64_t flags)
{
	uint64_t of_type = SENDS;

	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		of_type |= WRITES | READS | WINDOWS;
	else if (type == IBV_QPT_UC)
		of_type |= WRITES | LOCAL;
	if (!vcl_has_windows(ctx))
		of_type &= ~(uint64_t)WINDOWS;
	return (flags & ~of_type) == 0 ? 0 : -EOPNOTSUPP;
}

static void set_window_operations(struct ibv_qp_ex *ex, uint64_t flags)
{
	if ((flags & IBV_QP_EX_WITH_LOCAL_INV) != 0)
		ex->wr_local_inv = wr_local_inv;
	if ((flags & IBV_QP_EX_WITH_BIND_MW) != 0)
		ex->wr_bind_mw = wr_bind_mw;
	if ((flags & IBV_QP_EX_WITH_SEND_WITH_INV) != 0)
		ex->wr_send_inv = wr_send_inv;
}

static void set_operations(struct ibv_qp_ex *ex, uint64_t flags)
{
	if ((flags & IBV_QP_EX_WITH_SEND) != 0)
		ex->wr_send = wr_send;
	if ((flags & IBV_QP_EX_WITH_SEND_WITH_IMM) != 0)
		ex->wr_send_imm = wr_send_imm;
	if ((flags & IBV_QP_EX_WITH_RDMA_WRITE) != 0)
		ex->wr_rdma_write = wr_rdma_write;
	if ((flags & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) != 0)
		ex->wr_rdma_write_imm = wr_rdma_write_imm;
	if ((flags & IBV_QP_EX_WITH_RDMA_READ) != 0)
		ex->wr_rdma_read = wr_rdma_read;
	if ((flags & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP) != 0)
		ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if ((flags & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD) != 0)
		ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	if ((flags & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0)
		ex->wr_atomic_write = wr_atomic_write;
}

void vcl_set_wr_calls(struct vcl_qp *qp, uint64_t flags)
{
	struct ibv_qp_ex *ex = &qp->ex;

	qp->has_wr_calls = true;
	set_operations(ex, flags);
	set_window_operations(ex, flags);
	if (qp->ibv.qp_type == IBV_QPT_UD)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	if (qp->ibv.qp_type == IBV_QPT_XRC_SEND)
		ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return vcl_qp(qp)->has_wr_calls ? &vcl_qp(qp)->ex : NULL;
}
