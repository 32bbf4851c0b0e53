/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory windows (IBTA vol. 1, 10.6): entries of the table of regions that have no memory until they
 * are bound to a part of a region. Type 1 is for any queue pair of the domain and may be bound anew at any time;
 * type 2 is for the queue pair it was bound by and has to be invalidated first.
 */
#include <errno.h>

#include "tp_internal.h"

#define WINDOW_ACCESS                                                                                      \
	(TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC | TP_ACCESS_ZERO_BASED)

int tp_mw_create(struct tp *tp, uint32_t pd, enum tp_mw_type type, uint32_t *rkey)
{
	struct tp_mr *mw;

	if (type != TP_MW_TYPE_1 && type != TP_MW_TYPE_2)
		return -EINVAL;
	mw = tp_mr_slot(tp, rkey);
	if (mw == NULL)
		return -ENOMEM;
	mw->attr.pd = pd;
	mw->window = (uint8_t)type;
	mw->invalidated = true;
	return 0;
}

void tp_mw_unbind(struct tp_mr *mw)
{
	if (mw->parent != NULL)
		mw->parent->n_windows--;
	if (mw->qp != NULL)
		mw->qp->n_windows--;
	mw->parent = NULL;
	mw->qp = NULL;
	mw->invalidated = true;
}

int tp_mw_destroy(struct tp *tp, uint32_t rkey)
{
	struct tp_mr *mw = tp_mr_entry(tp, rkey);

	if (mw == NULL || mw->window == 0)
		return -EINVAL;
	tp_mw_unbind(mw);
	mw->used = false;
	mw->gen++;
	return 0;
}

void tp_mw_unbind_all(struct tp_qp *qp)
{
	struct tp *tp = qp->tp;

	for (uint32_t i = 0; i < tp->config.max_mrs && qp->n_windows != 0; i++) {
		if (tp->mrs[i].used && tp->mrs[i].qp == qp)
			tp_mw_unbind(&tp->mrs[i]);
	}
}

/* The region of a bind, if it may have that window. */
static struct tp_mr *region_for(const struct tp_qp *qp, const struct tp_send_wqe *wqe)
{
	struct tp_mr *mr = tp_mr_find(qp->tp, wqe->bind.mr_key);
	uint32_t access = wqe->bind.access, needed = TP_ACCESS_MW_BIND;

	if (mr == NULL || mr->window != 0 || mr->invalidated || (access & ~(uint32_t)WINDOW_ACCESS) != 0)
		return NULL;
	if ((access & (TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC)) != 0)
		needed |= TP_ACCESS_LOCAL_WRITE;
	return tp_mr_covers(mr, qp->init.pd, needed, wqe->remote_addr, wqe->bind.bytes) ? mr : NULL;
}

static void set_window(struct tp_mr *mw, struct tp_mr *mr, const struct tp_send_wqe *wqe)
{
	uint64_t off = wqe->remote_addr - mr->attr.iova;

	mw->attr.access = wqe->bind.access;
	mw->attr.iova = (wqe->bind.access & TP_ACCESS_ZERO_BASED) != 0 ? 0 : wqe->remote_addr;
	mw->attr.bytes = wqe->bind.bytes;
	mw->attr.addr = mr->attr.addr + off;
	mw->attr.direct = mr->attr.direct != NULL ? mr->attr.direct + off : NULL;
	mw->attr.fault = mr->attr.fault;
	mw->attr.as = mr->attr.as;
	mw->parent = mr;
	mr->n_windows++;
	mw->invalidated = false;
}

static bool bind(struct tp_qp *qp, const struct tp_send_wqe *wqe)
{
	struct tp_mr *mw = tp_mr_entry(qp->tp, wqe->rkey), *mr = NULL;

	if (mw == NULL || mw->window == 0 || mw->attr.pd != qp->init.pd)
		return false;
	if (mw->window == TP_MW_TYPE_2 && (!mw->invalidated || wqe->bind.bytes == 0))
		return false;
	if (wqe->bind.bytes != 0) {
		mr = region_for(qp, wqe);
		if (mr == NULL)
			return false;
	}
	tp_mw_unbind(mw);
	mw->gen = (uint8_t)wqe->rkey;
	/* Type 1 of no length: it stays unbound. */
	if (mr == NULL)
		return true;
	set_window(mw, mr, wqe);
	if (mw->window == TP_MW_TYPE_2) {
		mw->qp = qp;
		qp->n_windows++;
	}
	return true;
}

enum tp_wc_status tp_mw_execute(struct tp_qp *qp, const struct tp_send_wqe *wqe)
{
	if (wqe->opcode == TP_WR_BIND_MW)
		return bind(qp, wqe) ? TP_WC_SUCCESS : TP_WC_MW_BIND_ERR;
	return tp_mr_invalidate(qp, wqe->imm) == 0 ? TP_WC_SUCCESS : TP_WC_LOC_QP_OP_ERR;
}
