/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: a table whose keys carry a generation, checked on every access. */
#include <errno.h>

#include "tp_internal.h"

#define ACCESS_ALL                                                                                         \
	(TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC |  \
		TP_ACCESS_MW_BIND | TP_ACCESS_ZERO_BASED)

static bool wraps(uint64_t start, uint64_t bytes)
{
	return bytes != 0 && start + (bytes - 1) < start;
}

static bool attr_ok(const struct tp_mr_attr *attr)
{
	if (attr->access & ~(uint32_t)ACCESS_ALL)
		return false;
	/* IBTA vol. 1, 10.6.3.1: remote write and atomic need local write. */
	if ((attr->access & (TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC)) &&
		!(attr->access & TP_ACCESS_LOCAL_WRITE))
		return false;
	return !wraps(attr->iova, attr->bytes) && !wraps(attr->addr, attr->bytes);
}

struct tp_mr *tp_mr_slot(struct tp *tp, uint32_t *key)
{
	uint32_t n = tp->config.max_mrs;

	for (uint32_t k = 0; k < n; k++) {
		/* Next fit, so that a freed slot rests as long as possible. Keys count slots from 1: none is 0. */
		uint32_t i = (tp->next_mr + k) % n;
		struct tp_mr *mr = &tp->mrs[i];
		struct tp_mr fresh = {.gen = mr->gen, .used = true};

		if (mr->used)
			continue;
		*mr = fresh;
		tp->next_mr = (i + 1) % n;
		*key = (i + 1) << TP_KEY_GEN_BITS | mr->gen;
		return mr;
	}
	return NULL;
}

int tp_mr_create(struct tp *tp, const struct tp_mr_attr *attr, uint32_t *key)
{
	struct tp_mr *mr;

	if (!attr_ok(attr))
		return -EINVAL;
	mr = tp_mr_slot(tp, key);
	if (mr == NULL)
		return -ENOMEM;
	mr->attr = *attr;
	return 0;
}

int tp_mr_change(struct tp *tp, uint32_t key, const struct tp_mr_attr *attr, uint32_t changes)
{
	struct tp_mr *mr = tp_mr_find(tp, key);
	struct tp_mr_attr next;

	if (mr == NULL || mr->window != 0)
		return -EINVAL;
	if (mr->n_windows != 0)
		return -EBUSY;
	next = mr->attr;
	if ((changes & TP_MR_TRANSLATION) != 0) {
		next.iova = attr->iova;
		next.addr = attr->addr;
		next.bytes = attr->bytes;
		next.as = attr->as;
		next.direct = attr->direct;
		next.fault = attr->fault;
	}
	if ((changes & TP_MR_PD) != 0)
		next.pd = attr->pd;
	if ((changes & TP_MR_ACCESS) != 0)
		next.access = attr->access;
	if (!attr_ok(&next))
		return -EINVAL;
	mr->attr = next;
	return 0;
}

int tp_mr_destroy(struct tp *tp, uint32_t key)
{
	struct tp_mr *mr = tp_mr_find(tp, key);

	if (mr == NULL || mr->window != 0)
		return -EINVAL;
	if (mr->n_windows != 0)
		return -EBUSY;
	mr->used = false;
	mr->gen++;
	return 0;
}

const struct tp_mr *tp_mr_check_again(const struct tp_qp *qp, uint32_t pd, uint32_t key, uint32_t access,
	uint64_t iova, uint64_t bytes)
{
	const struct tp_mr *mr = tp_mr_find(qp->tp, key);

	if (mr == NULL || mr->invalidated || (mr->window == TP_MW_TYPE_2 && mr->qp != qp))
		return NULL;
	return tp_mr_covers(mr, pd, access, iova, bytes) ? mr : NULL;
}

const struct tp_mr *tp_mr_check_remote(const struct tp_qp *qp, uint32_t key, uint32_t access, uint64_t iova,
	uint64_t bytes)
{
	return tp_mr_check_again(qp, qp->resp.pd, key, access, iova, bytes);
}

int tp_mr_invalidate(struct tp_qp *qp, uint32_t key)
{
	struct tp_mr *mr = tp_mr_find(qp->tp, key);

	if (mr == NULL || mr->attr.pd != qp->resp.pd || mr->invalidated)
		return -EINVAL;
	if (mr->window == TP_MW_TYPE_2 && mr->qp == qp) {
		tp_mw_unbind(mr);
		return 0;
	}
	if (mr->window != 0 || !mr->attr.invalidatable)
		return -EINVAL;
	mr->invalidated = true;
	return 0;
}
