/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extended completion queues: a program goes from completion to completion and reads only the fields it
 * wants, straight from the ring. A slot goes back to the daemon when the program has moved on from it.
 */
#include <limits.h>
#include <time.h>

#include "vcl_cq.h"

#define NS_PER_S 1000000000ull

static struct vcl_cq *vcl_cq_of_ex(struct ibv_cq_ex *ex)
{
	return container_of(ex, struct vcl_cq, ex);
}

/* ---- polling ---- */

/* Makes the next completion the current one. ENOENT: there is none now. */
static int advance(struct vcl_cq *cq)
{
	uint32_t cons = cq->cons;
	const struct tp_cqe *cqe;

	while ((cqe = vcl_next_cqe(cq, cons)) != NULL && cqe->qpn == VCL_QPN_GONE)
		cons++;
	cq->polled = cqe;
	if (cons != cq->cons)
		vcl_cq_release(cq, cons);
	if (cqe == NULL)
		return ENOENT;
	cq->ex.wr_id = cqe->wr_id;
	cq->ex.status = (enum ibv_wc_status)cqe->status;
	return 0;
}

static void leave(struct vcl_cq *cq)
{
	if (cq->polled != NULL)
		vcl_cq_release(cq, cq->cons + 1);
	cq->polled = NULL;
}

/* On success the queue stays locked until end_poll(). */
static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct vcl_cq *cq = vcl_cq_of_ex(ex);
	int err;

	if (attr->comp_mask != 0)
		return EINVAL;
	if (vcl_forked(ex->context))
		return EIO;
	pthread_spin_lock(&cq->lock);
	err = advance(cq);
	if (err == 0)
		return 0;
	pthread_spin_unlock(&cq->lock);
	/* What a daemon that died had completed is still delivered, but then nothing more comes. */
	return vcl_alive(ex->context) ? err : EIO;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct vcl_cq *cq = vcl_cq_of_ex(ex);

	leave(cq);
	return advance(cq);
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct vcl_cq *cq = vcl_cq_of_ex(ex);

	leave(cq);
	pthread_spin_unlock(&cq->lock);
}

/* ---- fields of the current completion ---- */

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return (enum ibv_wc_opcode)vcl_cq_of_ex(ex)->polled->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return vcl_cq_of_ex(ex)->polled->vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return vcl_cq_of_ex(ex)->polled->bytes;
}

/* Serves ibv_wc_read_invalidated_rkey() too. */
static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return vcl_cq_of_ex(ex)->polled->imm;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return vcl_cq_of_ex(ex)->polled->qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return vcl_cq_of_ex(ex)->polled->src_qpn;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return vcl_cq_of_ex(ex)->polled->flags;
}

/* As ibv_poll_cq() says it: see enum tp_wc_l3. */
static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return vcl_cq_of_ex(ex)->polled->l3;
}

/* Local identifiers are InfiniBand's: Ethernet has none. */
static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint8_t read_no_byte(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return vcl_cq_of_ex(ex)->polled->timestamp_ns;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Timestamps are CLOCK_MONOTONIC; the wall clock of then is the wall clock of now less the time since. */
static uint64_t read_wallclock_ns(struct ibv_cq_ex *ex)
{
	return clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - vcl_cq_of_ex(ex)->polled->timestamp_ns);
}

/* ---- created ---- */

static void set_calls(struct ibv_cq_ex *ex, uint64_t wc_flags)
{
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	if ((wc_flags & IBV_WC_EX_WITH_BYTE_LEN) != 0)
		ex->read_byte_len = read_byte_len;
	if ((wc_flags & IBV_WC_EX_WITH_IMM) != 0)
		ex->read_imm_data = read_imm_data;
	if ((wc_flags & IBV_WC_EX_WITH_QP_NUM) != 0)
		ex->read_qp_num = read_qp_num;
	if ((wc_flags & IBV_WC_EX_WITH_SRC_QP) != 0)
		ex->read_src_qp = read_src_qp;
	if ((wc_flags & IBV_WC_EX_WITH_SLID) != 0)
		ex->read_slid = read_slid;
	if ((wc_flags & IBV_WC_EX_WITH_SL) != 0)
		ex->read_sl = read_sl;
	if ((wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS) != 0)
		ex->read_dlid_path_bits = read_no_byte;
	if ((wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0)
		ex->read_completion_ts = read_completion_ts;
	if ((wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0)
		ex->read_completion_wallclock_ns = read_wallclock_ns;
}

struct ibv_cq_ex *vcl_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t fields = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	/* All queues are safe for threads, so a promise to use one thread only changes nothing. */
	const uint32_t flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	const uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	struct ibv_cq *cq;

	if ((attr->comp_mask & ~known) != 0 || (attr->wc_flags & ~fields) != 0 ||
		((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 && (attr->flags & ~flags) != 0)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (attr->cqe > INT_MAX || attr->comp_vector > INT_MAX ||
		((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0 &&
			(attr->parent_domain == NULL || attr->parent_domain->context != ctx))) {
		errno = EINVAL;
		return NULL;
	}
	cq = ibv_create_cq(ctx, (int)attr->cqe, attr->cq_context, attr->channel, (int)attr->comp_vector);
	if (cq == NULL)
		return NULL;
	set_calls(&vcl_cq(cq)->ex, attr->wc_flags);
	return &vcl_cq(cq)->ex;
}
