/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Payload between packets and client memory. Regions mapped into this process are copied in place. Others
 * cost a system call a copy, so packets of one message are read and written together.
 */
#include <errno.h>

#include "tp_internal.h"

static uint8_t *direct_at(const struct tp_mr *mr, uint64_t iova)
{
	return mr->attr.direct + (iova - mr->attr.iova);
}

/* After a copy: a mapping may have failed under it, and whoever maps it has seen to it that the copy went on. */
static bool direct_ok(const struct tp_mr *mr)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return mr->attr.fault == NULL || __atomic_load_n(mr->attr.fault, __ATOMIC_RELAXED) == 0;
}

static uint64_t addr_at(const struct tp_mr *mr, uint64_t iova)
{
	return mr->attr.addr + (iova - mr->attr.iova);
}

static int read_to(struct tp *tp, const struct tp_mr *mr, uint64_t iova, void *dst, uint32_t bytes)
{
	if (mr->attr.direct != NULL) {
		memcpy(dst, direct_at(mr, iova), bytes);
		return direct_ok(mr) ? 0 : -EFAULT;
	}
	return tp->ops.mem_read(tp->env, mr->attr.as, addr_at(mr, iova), dst, bytes);
}

const uint8_t *tp_mem_fetch(struct tp *tp, const struct tp_mr *mr, uint64_t iova, uint32_t bytes)
{
	if (mr->attr.direct != NULL)
		return direct_ok(mr) ? direct_at(mr, iova) : NULL;
	return read_to(tp, mr, iova, tp->scratch, bytes) == 0 ? tp->scratch : NULL;
}

bool tp_mem_sgl_ok(const struct tp *tp, uint32_t pd, const struct tp_sge *sge, uint32_t n, uint32_t access)
{
	for (uint32_t i = 0; i < n; i++) {
		if (sge[i].bytes != 0 &&
			tp_mr_check(tp, sge[i].lkey, pd, access, sge[i].addr, sge[i].bytes) == NULL)
			return false;
	}
	return true;
}

const uint8_t *tp_mem_gather(struct tp *tp, struct tp_qp *qp, const struct tp_sge *sge, uint32_t n, uint32_t off,
	uint32_t bytes)
{
	const struct tp_mr *mr;
	uint32_t done = 0;

	/* Most have one, and are spared the loop. */
	if (n == 1 && off <= sge->bytes && bytes <= sge->bytes - off) {
		mr = tp_mr_check(tp, sge->lkey, qp->init.pd, 0, sge->addr + off, bytes);
		return mr != NULL ? tp_mem_fetch(tp, mr, sge->addr + off, bytes) : NULL;
	}
	for (uint32_t i = 0; i < n && done < bytes; i++) {
		uint32_t take;

		if (off >= sge[i].bytes) {
			off -= sge[i].bytes;
			continue;
		}
		take = tp_min(sge[i].bytes - off, bytes - done);
		mr = tp_mr_check(tp, sge[i].lkey, qp->init.pd, 0, sge[i].addr + off, take);
		if (mr == NULL)
			return NULL;
		if (take == bytes)
			return tp_mem_fetch(tp, mr, sge[i].addr + off, take);
		if (read_to(tp, mr, sge[i].addr + off, tp->scratch + done, take) != 0)
			return NULL;
		done += take;
		off = 0;
	}
	return done == bytes ? tp->scratch : NULL;
}

static int write_failed(struct tp_qp *qp, enum tp_role role, uint32_t psn)
{
	if (role == TP_ROLE_RESPONDER)
		tp_resp_write_failed(qp, psn);
	else
		tp_qp_error(qp, TP_WC_LOC_PROT_ERR, TP_WC_SUCCESS);
	return -EFAULT;
}

int tp_mem_flush(struct tp *tp)
{
	struct tp_stage *stage = &tp->stage;
	struct tp_qp *qp = stage->qp;
	uint32_t bytes = stage->bytes;

	if (bytes == 0)
		return 0;
	stage->bytes = 0;
	stage->qp = NULL;
	if (tp->ops.mem_write(tp->env, stage->as, stage->addr, stage->buf, bytes) == 0)
		return 0;
	return write_failed(qp, stage->role, stage->psn);
}

int tp_mem_flush_for(struct tp_qp *qp)
{
	const struct tp_qp *owner = qp->tp->stage.qp;

	return tp_mem_flush(qp->tp) != 0 && owner == qp ? -EFAULT : 0;
}

static bool stage_fits(const struct tp_stage *stage, const struct tp_qp *qp, enum tp_role role, const void *as,
	uint64_t addr, uint32_t bytes)
{
	return stage->bytes != 0 && stage->qp == qp && stage->role == role && stage->as == as &&
		stage->addr + stage->bytes == addr && stage->bytes + bytes <= TP_SCRATCH_BYTES;
}

int tp_mem_put(struct tp_qp *qp, enum tp_role role, const struct tp_mr *mr, uint64_t iova, const void *data,
	uint32_t bytes)
{
	struct tp_stage *stage = &qp->tp->stage;
	uint64_t addr = addr_at(mr, iova);

	if (bytes == 0)
		return 0;
	if (mr->attr.direct != NULL) {
		/* Behind what waits to be written elsewhere: programs look at the last byte to know of the first. */
		if (stage->qp == qp && tp_mem_flush_for(qp) != 0)
			return -EFAULT;
		memcpy(direct_at(mr, iova), data, bytes);
		return direct_ok(mr) ? 0 : write_failed(qp, role, qp->resp.epsn);
	}
	if (!stage_fits(stage, qp, role, mr->attr.as, addr, bytes)) {
		if (tp_mem_flush_for(qp) != 0)
			return -EFAULT;
		stage->qp = qp;
		stage->role = role;
		stage->as = mr->attr.as;
		stage->addr = addr;
		stage->psn = qp->resp.epsn;
	}
	memcpy(stage->buf + stage->bytes, data, bytes);
	stage->bytes += bytes;
	return 0;
}

int tp_mem_scatter(struct tp_qp *qp, enum tp_role role, const struct tp_sge *sge, uint32_t n, uint32_t off,
	const uint8_t *data, uint32_t bytes)
{
	uint32_t pd = role == TP_ROLE_RESPONDER ? qp->resp.recv_pd : qp->init.pd;

	for (uint32_t i = 0; i < n && bytes > 0; i++) {
		const struct tp_mr *mr;
		uint32_t take;

		if (off >= sge[i].bytes) {
			off -= sge[i].bytes;
			continue;
		}
		take = tp_min(sge[i].bytes - off, bytes);
		mr = tp_mr_check(qp->tp, sge[i].lkey, pd, TP_ACCESS_LOCAL_WRITE, sge[i].addr + off, take);
		if (mr == NULL || tp_mem_put(qp, role, mr, sge[i].addr + off, data, take) != 0)
			return -EFAULT;
		data += take;
		bytes -= take;
		off = 0;
	}
	return bytes == 0 ? 0 : -EFAULT;
}

static uint64_t modified(uint64_t orig, const uint64_t *compare, uint64_t swap_add)
{
	if (compare == NULL)
		return orig + swap_add;
	return orig == *compare ? swap_add : orig;
}

/* Mapped memory is shared with its owner, who may run atomics on it too. */
static uint64_t atomic_direct(uint64_t *at, const uint64_t *compare, uint64_t swap_add)
{
	uint64_t expected;

	if (compare == NULL)
		return __atomic_fetch_add(at, swap_add, __ATOMIC_SEQ_CST);
	expected = *compare;
	__atomic_compare_exchange_n(at, &expected, swap_add, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return expected;
}

int tp_mem_store(struct tp *tp, const struct tp_mr *mr, uint64_t iova, const void *data)
{
	uint64_t value;
	int rc = tp_mem_flush(tp);

	if (rc != 0)
		return rc;
	if (mr->attr.direct == NULL)
		return tp->ops.mem_write(tp->env, mr->attr.as, addr_at(mr, iova), data, TP_ATOMIC_BYTES);
	memcpy(&value, data, sizeof(value));
	if ((uintptr_t)direct_at(mr, iova) % sizeof(value) == 0)
		__atomic_store_n((uint64_t *)(void *)direct_at(mr, iova), value, __ATOMIC_RELEASE);
	else
		memcpy(direct_at(mr, iova), &value, sizeof(value));
	return direct_ok(mr) ? 0 : -EFAULT;
}

int tp_mem_atomic(struct tp *tp, const struct tp_mr *mr, uint64_t iova, const uint64_t *compare, uint64_t swap_add,
	uint64_t *orig)
{
	uint64_t value;
	int rc = tp_mem_flush(tp);

	if (rc != 0)
		return rc;
	if (mr->attr.direct != NULL && (uintptr_t)direct_at(mr, iova) % sizeof(uint64_t) == 0) {
		*orig = atomic_direct((uint64_t *)(void *)direct_at(mr, iova), compare, swap_add);
		return direct_ok(mr) ? 0 : -EFAULT;
	}
	rc = read_to(tp, mr, iova, orig, sizeof(*orig));
	if (rc != 0)
		return rc;
	value = modified(*orig, compare, swap_add);
	if (mr->attr.direct != NULL) {
		memcpy(direct_at(mr, iova), &value, sizeof(value));
		return direct_ok(mr) ? 0 : -EFAULT;
	}
	return tp->ops.mem_write(tp->env, mr->attr.as, addr_at(mr, iova), &value, sizeof(value));
}
