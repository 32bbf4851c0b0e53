/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: a table whose keys carry a generation, checked on every access. */
#include <errno.h>

#include "tp_internal.h"

#define KEY_GEN_BITS 8
#define ACCESS_ALL                                                                                         \
	(TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC |  \
		TP_ACCESS_MW_BIND | TP_ACCESS_ZERO_BASED)
#define ACCESS_REMOTE (TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC)

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

int tp_mr_create(struct tp *tp, const struct tp_mr_attr *attr, uint32_t *key)
{
	uint32_t n = tp->config.max_mrs;

	if (!attr_ok(attr))
		return -EINVAL;
	for (uint32_t k = 0; k < n; k++) {
		/* Next fit, so that a freed slot rests as long as possible. Keys count slots from 1: none is 0. */
		uint32_t i = (tp->next_mr + k) % n;
		struct tp_mr *mr = &tp->mrs[i];

		if (mr->used)
			continue;
		mr->attr = *attr;
		mr->used = true;
		mr->invalidated = false;
		tp->next_mr = (i + 1) % n;
		*key = (i + 1) << KEY_GEN_BITS | mr->gen;
		return 0;
	}
	return -ENOMEM;
}

static struct tp_mr *find(const struct tp *tp, uint32_t key)
{
	uint32_t i = (key >> KEY_GEN_BITS) - 1;
	struct tp_mr *mr;

	if (i >= tp->config.max_mrs)
		return NULL;
	mr = &tp->mrs[i];
	return mr->used && mr->gen == (uint8_t)key ? mr : NULL;
}

int tp_mr_destroy(struct tp *tp, uint32_t key)
{
	struct tp_mr *mr = find(tp, key);

	if (mr == NULL)
		return -EINVAL;
	mr->used = false;
	mr->gen++;
	return 0;
}

const struct tp_mr *tp_mr_check(const struct tp *tp, uint32_t key, uint32_t pd, uint32_t access, uint64_t iova,
	uint64_t bytes)
{
	const struct tp_mr *mr = find(tp, key);

	if (mr == NULL || mr->attr.pd != pd || (mr->attr.access & access) != access)
		return NULL;
	if (mr->invalidated && (access & ACCESS_REMOTE))
		return NULL;
	if (iova < mr->attr.iova || bytes > mr->attr.bytes || iova - mr->attr.iova > mr->attr.bytes - bytes)
		return NULL;
	return mr;
}

int tp_mr_invalidate(struct tp *tp, uint32_t key, uint32_t pd)
{
	struct tp_mr *mr = find(tp, key);

	if (mr == NULL || mr->attr.pd != pd || mr->invalidated || !mr->attr.invalidatable)
		return -EINVAL;
	mr->invalidated = true;
	return 0;
}
