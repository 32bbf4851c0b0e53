/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: life, attributes, the error state and completions. */
#include <errno.h>
#include <stdlib.h>

#include "tp_ext.h"
#include "tp_flow.h"
#include "tp_hold.h"
#include "tp_internal.h"
#include "tp_modify.h"
#include "tp_pace.h"
#include "tp_recovery.h"
#include "tp_slots.h"

#define FIRST_QPN 2   /* 0 and 1 are the management queue pairs of a port */

/* ---- create, find, destroy ---- */

struct tp_qp *tp_qp_find(const struct tp *tp, uint32_t qpn)
{
	uint32_t i = qpn & tp->index_mask;

	if (i >= tp->config.max_qps || tp->qps[i] == NULL || tp->qps[i]->qpn != qpn)
		return NULL;
	return tp->qps[i];
}

static int init_ok(const struct tp_qp_init *init)
{
	if (tp_type_of(init->type) == NULL || init->sq_depth > TP_MAX_DEPTH || init->rq_depth > TP_MAX_DEPTH)
		return -EINVAL;
	if (init->type == TP_QPT_UD && !tp_mtu_ok(init->ud_mtu_bytes))
		return -EINVAL;
	if (init->type == TP_QPT_XRC_TGT && init->xrcd == 0)
		return -EINVAL;
	if (init->max_send_sge > TP_MAX_SGE || init->max_recv_sge > TP_MAX_SGE ||
		init->max_inline_bytes > TP_MAX_INLINE_BYTES)
		return -EINVAL;
	if (init->reorder_pkts > TP_MAX_REORDER_PKTS)
		return -EINVAL;
	if ((init->ext & ~(uint32_t)(TP_EXT_SACK | TP_EXT_MERGE)) != 0 || (init->ext != 0 && init->type != TP_QPT_RC))
		return -EINVAL;
	return 0;
}

static int alloc_reorder(struct tp_qp *qp)
{
	uint32_t pkts = qp->init.reorder_pkts;

	if (qp->init.ext != 0)
		pkts = RTE_MAX(pkts, TP_SR_RING - 1);
	if (tp_hold_init(&qp->resp.hold, qp, qp->type->connected ? pkts : 0, tp_resp_gave_up) != 0 ||
		tp_hold_init(&qp->req.hold, qp, qp->type->acknowledged ? pkts : 0, tp_comp_gave_up) != 0)
		return -ENOMEM;
	tp_hold_limit(&qp->resp.hold, qp->init.reorder_pkts, qp->init.reorder_ns);
	tp_hold_limit(&qp->req.hold, qp->init.reorder_pkts, qp->init.reorder_ns);
	return tp_ext_init(qp);
}

static int alloc_queues(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;
	struct tp_resp *resp = &qp->resp;
	const struct tp_srq *srq = qp->init.srq;

	req->slot_bytes = tp_send_slot_bytes(qp->init.max_send_sge, qp->init.max_inline_bytes);
	resp->recv_max_sge = srq != NULL ? srq->init.max_sge : qp->init.max_recv_sge;
	resp->recv_pd = srq != NULL ? srq->init.pd : qp->init.pd;
	if (qp->type->xrc)
		resp->recv_max_sge = TP_MAX_SGE;
	resp->recv_slot_bytes = tp_recv_slot_bytes(resp->recv_max_sge);
	resp->recv = calloc(1, resp->recv_slot_bytes);
	if (resp->recv == NULL || tp_slots_join(qp) != 0 || alloc_reorder(qp) != 0 || tp_flow_init(qp) != 0)
		return -ENOMEM;
	return 0;
}

static void free_qp(struct tp_qp *qp)
{
	tp_slots_leave(qp);
	free(qp->resp.recv);
	free(qp->resp.saved);
	tp_hold_free(&qp->resp.hold);
	tp_hold_free(&qp->req.hold);
	tp_ext_free(qp);
	tp_pace_free(qp);
	tp_flow_free(qp);
	free(qp);
}

/* Next fit, so that a number rests as long as possible before it is used again. */
static int place(struct tp *tp, struct tp_qp *qp)
{
	uint32_t n = tp->config.max_qps;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = (tp->next_qp + k) % n;

		if (tp->qps[i] != NULL || (tp->config.qpn_base | i) < FIRST_QPN)
			continue;
		tp->qps[i] = qp;
		qp->qpn = tp->config.qpn_base | i;
		tp->next_qp = (i + 1) % n;
		return 0;
	}
	return -ENOMEM;
}

int tp_qp_create(struct tp *tp, const struct tp_qp_init *init, struct tp_qp **out, uint32_t *qpn)
{
	struct tp_qp *qp;
	size_t bytes;
	int rc = init_ok(init);

	if (rc != 0)
		return rc;
	bytes = sizeof(*qp) + TP_OWN_SLOTS * (size_t)tp_send_slot_bytes(init->max_send_sge, init->max_inline_bytes);
	qp = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(bytes, RTE_CACHE_LINE_SIZE));
	if (qp == NULL)
		return -ENOMEM;
	memset(qp, 0, bytes);
	qp->tp = tp;
	qp->type = tp_type_of(init->type);
	qp->init = *init;
	TAILQ_INIT(&qp->resp.answers);
	rc = tp_pace_init(qp);
	if (rc == 0)
		rc = alloc_queues(qp);
	if (rc == 0)
		rc = place(tp, qp);
	if (rc != 0) {
		free_qp(qp);
		return rc;
	}
	if (init->srq != NULL)
		init->srq->n_qps++;
	if (init->shaper != NULL)
		init->shaper->n_qps++;
	tp_qp_clear(qp);
	*out = qp;
	*qpn = qp->qpn;
	return 0;
}

void tp_qp_destroy(struct tp *tp, struct tp_qp *qp)
{
	tp_qp_clear(qp);
	tp_mw_unbind_all(qp);
	if (qp->active)
		TAILQ_REMOVE(&tp->active, qp, active_link);
	tp->qps[qp->qpn & tp->index_mask] = NULL;
	if (qp->init.srq != NULL)
		qp->init.srq->n_qps--;
	if (qp->init.shaper != NULL)
		qp->init.shaper->n_qps--;
	free_qp(qp);
}

void tp_qp_clear(struct tp_qp *qp)
{
	struct tp_qp_attr none = {.state = TP_QPS_RESET};

	qp->attr = none;
	qp->mtu = 0;
	qp->comm_est = false;
	tp_pace_stop(qp);
	tp_pace_join(qp, NULL);
	tp_recovery_reset(qp);
	tp_req_reset(qp);
	tp_resp_reset(qp);
	tp_ext_stop(qp);
}

/* ---- modify and query ---- */

static void copy_attrs(struct tp_qp_attr *to, const struct tp_qp_attr *from, uint32_t mask)
{
#define COPY(bit, field)                                                                                   \
	do {                                                                                               \
		if ((mask & (bit)) != 0)                                                                   \
			to->field = from->field;                                                           \
	} while (0)
	COPY(TP_QP_ACCESS_FLAGS, access);
	COPY(TP_QP_PKEY_INDEX, pkey_index);
	COPY(TP_QP_PORT, port);
	COPY(TP_QP_QKEY, qkey);
	COPY(TP_QP_AV, av);
	COPY(TP_QP_PATH_MTU, mtu_bytes);
	COPY(TP_QP_TIMEOUT, timeout);
	COPY(TP_QP_RETRY_CNT, retry_cnt);
	COPY(TP_QP_RNR_RETRY, rnr_retry);
	COPY(TP_QP_RQ_PSN, rq_psn);
	COPY(TP_QP_SQ_PSN, sq_psn);
	COPY(TP_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	COPY(TP_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	COPY(TP_QP_MIN_RNR_TIMER, min_rnr_timer);
	COPY(TP_QP_DEST_QPN, dest_qpn);
	COPY(TP_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	COPY(TP_QP_EXT, ext);
	COPY(TP_QP_EXT, sched);
	COPY(TP_QP_EXT, cc);
	COPY(TP_QP_EXT, merge);
#undef COPY
	to->rq_psn &= BASE_PSN_MASK;
	to->sq_psn &= BASE_PSN_MASK;
	to->dest_qpn &= BASE_PSN_MASK;
}

static bool flush_one_send(struct tp_qp *qp);

/* What was posted before the change is flushed, what comes after it is sent. */
static void leave_sqe(struct tp_qp *qp)
{
	for (uint32_t i = 0; i < qp->init.sq_depth; i++) {
		if (!flush_one_send(qp))
			break;
	}
	tp_req_restart(qp);
}

static void enter_rts(struct tp_qp *qp, enum tp_qp_state from)
{
	if (from == TP_QPS_RTR) {
		tp_req_reset(qp);
		tp_recovery_reset(qp);
		if (qp->ext != NULL)
			tp_sr_reset(qp);
	}
	tp_activate(qp);
}

static void enter(struct tp_qp *qp, enum tp_qp_state from, enum tp_qp_state next)
{
	qp->attr.state = next;
	switch (next) {
	case TP_QPS_RTR:
		qp->mtu = qp->type->connected ? qp->attr.mtu_bytes : qp->init.ud_mtu_bytes;
		tp_resp_reset(qp);
		tp_pace_start(qp);
		if (qp->attr.ext != 0)
			tp_ext_start(qp);
		break;
	case TP_QPS_RTS:
		enter_rts(qp, from);
		break;
	case TP_QPS_SQD:
		if (from != TP_QPS_SQD)
			qp->req.drain_told = false;
		tp_req_check_drained(qp);
		break;
	default:
		break;
	}
}

int tp_qp_modify(struct tp *tp, struct tp_qp *qp, const struct tp_qp_attr *attr, uint32_t mask, uint64_t now_ns)
{
	enum tp_qp_state next = tp_modify_next(qp, attr, mask);
	int rc = tp_modify_check(qp, attr, mask);

	if (rc != 0)
		return rc;
	if ((mask & TP_QP_MAX_DEST_RD_ATOMIC) != 0 && qp->type->rx != NULL &&
		tp_resp_make_room(qp, tp_resp_depth_of(attr->max_dest_rd_atomic)) != 0)
		return -ENOMEM;
	tp->now_ns = now_ns;
	if (next == TP_QPS_RESET) {
		tp_qp_clear(qp);
		return 0;
	}
	if (next == TP_QPS_ERR) {
		tp_qp_error(qp, TP_WC_SUCCESS, TP_WC_SUCCESS);
		return 0;
	}
	if (qp->attr.state == TP_QPS_SQE)
		leave_sqe(qp);
	/* A completion queue that could not hold what was flushed has ended it. */
	if (qp->attr.state == TP_QPS_ERR)
		return -EINVAL;
	copy_attrs(&qp->attr, attr, mask);
	if ((mask & (TP_QP_AV | TP_QP_DEST_QPN)) != 0 && qp->type->connected)
		tp_pkt_prepare(qp);
	if ((mask & TP_QP_AV) != 0 && qp->type->connected)
		tp_pace_join(qp, attr->av.channel);
	if ((mask & TP_QP_EXT) != 0 && attr->ext != 0)
		tp_ext_planes(qp, attr);
	else if ((mask & TP_QP_AV) != 0 && qp->ext != NULL)
		qp->ext->n_planes = 0; /* those were beside the address vector of before */
	enter(qp, qp->attr.state, next);
	return 0;
}

void tp_qp_query(const struct tp_qp *qp, struct tp_qp_attr *attr)
{
	*attr = qp->attr;
	attr->cur_state = qp->attr.state;
	attr->sq_draining = qp->attr.state == TP_QPS_SQD && !tp_req_drained(qp);
	if (qp->attr.state != TP_QPS_RTS && qp->attr.state != TP_QPS_SQD && qp->attr.state != TP_QPS_SQE)
		return;
	attr->sq_psn = qp->req.snd_max;
	attr->rq_psn = qp->resp.epsn;
}

void tp_qp_stats(const struct tp_qp *qp, struct tp_qp_stats *stats)
{
	stats->counters = qp->counters;
	stats->state = qp->attr.state;
	stats->held = qp->req.hold.n + qp->resp.hold.n;
	stats->window = qp->req.window;
	stats->outstanding = tp_psn_dist(qp->req.snd_max, qp->req.una);
}

/* ---- completions ---- */

void tp_qp_event(struct tp_qp *qp, enum tp_event event)
{
	qp->tp->ops.event(qp->tp->env, qp->init.cookie, event);
}

void tp_qp_complete(struct tp_qp *qp, void *cq, const struct tp_cqe *cqe)
{
	if (qp->tp->ops.complete(qp->tp->env, cq, cqe) == 0 || qp->attr.state == TP_QPS_ERR)
		return;
	/* IBTA vol. 1, 11.6.3.2: a queue pair whose completion queue overflows goes to error. */
	tp_qp_event(qp, TP_EVENT_QP_FATAL);
	tp_qp_error(qp, TP_WC_SUCCESS, TP_WC_SUCCESS);
}

static uint16_t send_wc_opcode(uint8_t wr_opcode)
{
	static const uint8_t map[] = {
		[TP_WR_WRITE] = TP_WC_OP_WRITE,
		[TP_WR_WRITE_IMM] = TP_WC_OP_WRITE,
		[TP_WR_SEND] = TP_WC_OP_SEND,
		[TP_WR_SEND_IMM] = TP_WC_OP_SEND,
		[TP_WR_READ] = TP_WC_OP_READ,
		[TP_WR_CMP_SWAP] = TP_WC_OP_CMP_SWAP,
		[TP_WR_FETCH_ADD] = TP_WC_OP_FETCH_ADD,
		[TP_WR_LOCAL_INV] = TP_WC_OP_LOCAL_INV,
		[TP_WR_BIND_MW] = TP_WC_OP_BIND_MW,
		[TP_WR_SEND_INV] = TP_WC_OP_SEND,
		[TP_WR_ATOMIC_WRITE] = TP_WC_OP_ATOMIC_WRITE,
	};

	return wr_opcode < sizeof(map) ? map[wr_opcode] : TP_WC_OP_SEND;
}

void tp_qp_complete_send(struct tp_qp *qp, const struct tp_send_wqe *wqe, uint32_t bytes, enum tp_wc_status status)
{
	struct tp_cqe cqe = {
		.wr_id = wqe->wr_id,
		.qpn = qp->qpn,
		.bytes = bytes,
		.src_qpn = qp->attr.dest_qpn,
		.status = (uint16_t)status,
		.opcode = send_wc_opcode(wqe->opcode),
		.solicited = status != TP_WC_SUCCESS,
		.timestamp_ns = qp->tp->now_ns,
	};

	tp_qp_complete(qp, qp->init.send_cq, &cqe);
}

void tp_qp_complete_recv(struct tp_qp *qp, enum tp_wc_status status, const struct wire_pkt *last, uint32_t bytes)
{
	struct tp_cqe cqe = {
		.wr_id = qp->resp.recv->wr_id,
		.qpn = qp->qpn,
		.bytes = bytes,
		.src_qpn = qp->attr.dest_qpn,
		.status = (uint16_t)status,
		.opcode = TP_WC_OP_RECV,
		.solicited = status != TP_WC_SUCCESS,
		.timestamp_ns = qp->tp->now_ns,
	};

	if (last != NULL) {
		if (wire_op_is(wire_opinfo(last->opcode), WIRE_OP_WRITE))
			cqe.opcode = TP_WC_OP_RECV_WRITE_IMM;
		if ((last->hdrs & WIRE_HDR_IMMDT) != 0) {
			cqe.flags |= TP_WC_WITH_IMM;
			cqe.imm = last->imm;
		}
		if ((last->hdrs & WIRE_HDR_IETH) != 0) {
			cqe.flags |= TP_WC_WITH_INV;
			cqe.imm = last->rkey;
		}
		if ((last->hdrs & WIRE_HDR_DETH) != 0) {
			cqe.flags |= TP_WC_GRH;
			cqe.l3 = last->l3_version == 6 ? TP_WC_L3_IP6 : TP_WC_L3_IP4;
			cqe.src_qpn = last->sqpn;
		}
		cqe.solicited |= last->solicited;
	}
	qp->resp.have_recv = false;
	tp_qp_complete(qp, qp->type->xrc ? qp->resp.srq->init.cq : qp->init.recv_cq, &cqe);
}

/* ---- error state ---- */

void tp_qp_error(struct tp_qp *qp, enum tp_wc_status send_status, enum tp_wc_status recv_status)
{
	if (qp->attr.state == TP_QPS_ERR)
		return;
	qp->attr.state = TP_QPS_ERR;
	tp_recovery_stop(qp);
	tp_answer_clear(qp);
	tp_hold_clear(&qp->resp.hold, 0);
	tp_hold_clear(&qp->req.hold, 0);
	if (send_status != TP_WC_SUCCESS && qp->req.head != qp->req.tail)
		tp_req_complete_head(qp, send_status);
	if (qp->resp.have_recv)
		tp_qp_complete_recv(qp, recv_status == TP_WC_SUCCESS ? TP_WC_WR_FLUSH_ERR : recv_status, NULL, 0);
	if (qp->init.srq != NULL)
		tp_qp_event(qp, TP_EVENT_LAST_WQE);
	tp_activate(qp);
}

void tp_qp_send_error(struct tp_qp *qp, enum tp_wc_status status)
{
	if (qp->type->acknowledged) {
		tp_qp_error(qp, status, TP_WC_SUCCESS);
		return;
	}
	/* 10.3.1: the receive queue goes on. */
	qp->attr.state = TP_QPS_SQE;
	tp_req_complete_head(qp, status);
	tp_activate(qp);
}

void tp_qp_recv_error(struct tp_qp *qp, enum tp_wc_status status)
{
	/* Nothing is written to the memory of a receive once it is complete. */
	if (qp->attr.state == TP_QPS_ERR || tp_mem_flush_for(qp) != 0)
		return;
	tp_qp_event(qp, TP_EVENT_QP_FATAL);
	tp_qp_error(qp, TP_WC_SUCCESS, status);
}

static bool flush_one_send(struct tp_qp *qp)
{
	struct tp_req *req = &qp->req;
	struct tp *tp = qp->tp;
	int rc;

	if (qp->type->send == NULL)
		return false;
	if (req->head == req->tail) {
		struct tp_send_wqe *wqe = tp_req_wqe(qp, req->tail);

		memset(wqe, 0, sizeof(*wqe));
		rc = tp->ops.send_fetch(tp->env, qp->init.cookie, wqe, req->slot_bytes);
		if (rc == 0)
			return false;
		tp_req_swr(qp, req->tail)->answered = false;
		req->tail++;
	}
	tp_req_complete_head(qp, TP_WC_WR_FLUSH_ERR);
	return true;
}

bool tp_qp_flush(struct tp_qp *qp)
{
	for (uint32_t i = 0; i < TP_FLUSH_BURST; i++) {
		bool sent = flush_one_send(qp);
		bool received = qp->attr.state == TP_QPS_ERR && tp_recv_flush_one(qp);

		if (!sent && !received)
			return false;
	}
	return true;
}
