/* SPDX-License-Identifier: BSD-3-Clause */
/* The work of checked pairs, and what its completions must say. */
#include <string.h>

#include "sim_check_internal.h"

#define UD_QKEY 0x11111111u
#define WORD    sizeof(uint64_t)

static struct sim_check_end *end_of(const struct sim_qp *qp)
{
	struct sim_check_pair *pair = qp->owner;

	return &pair->ends[qp == &pair->qps[1]];
}

static void same_bytes(const struct sim_check_end *end, const char *what, uint32_t i, const uint8_t *have,
	const uint8_t *want, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at++) {
		if (have[at] == want[at])
			continue;
		sim_check_breach(end, "%s %u: byte %u of %u is %02x, not %02x", what, i, at, bytes, have[at], want[at]);
		return;
	}
}

/* ---- work ---- */

static uint8_t some_opcode(struct sim_net *net, enum tp_qp_type type)
{
	static const uint8_t rc[] = {TP_WR_SEND, TP_WR_SEND_IMM, TP_WR_WRITE, TP_WR_WRITE, TP_WR_WRITE_IMM, TP_WR_READ,
		TP_WR_READ, TP_WR_FETCH_ADD};
	static const uint8_t uc[] = {TP_WR_SEND_IMM, TP_WR_SEND_IMM, TP_WR_WRITE, TP_WR_WRITE_IMM};

	if (type == TP_QPT_UD)
		return TP_WR_SEND_IMM;
	return type == TP_QPT_RC ? rc[sim_random(net, sizeof(rc))] : uc[sim_random(net, sizeof(uc))];
}

void sim_check_plan(struct sim_check_end *end, struct sim_check_op *op)
{
	const struct sim_check_pair *pair = sim_check_pair_of(end);
	struct sim_net *net = end->check->net;
	uint32_t most = pair->max_bytes;

	op->opcode = some_opcode(net, pair->type);
	if (pair->type == TP_QPT_UD && most > pair->mtu)
		most = pair->mtu;
	/* Short ones, long ones, and now and then nothing. */
	op->bytes = (uint32_t)sim_random(net, sim_random(net, 3) == 0 ? 300 : most + 1);
	if (op->bytes > most || sim_random(net, 16) == 0)
		op->bytes = 0;
	op->src = (uint32_t)sim_random(net, pair->max_bytes);
	op->fence = pair->type == TP_QPT_RC && sim_random(net, 8) == 0;
	if (op->opcode == TP_WR_FETCH_ADD)
		op->bytes = WORD;
	end->other->n_expected += sim_check_takes_recv(op);
}

static void fill_target(const struct sim_check_end *end, const struct sim_check_op *op, uint32_t i,
	struct tp_send_wqe *slot, uint64_t *local)
{
	switch (op->opcode) {
	case TP_WR_READ:
		slot->remote_addr = SIM_IOVA + sim_check_off(end->other, AREA_SRC, 0) + op->src;
		*local = sim_check_off(end, AREA_READ, i);
		break;
	case TP_WR_FETCH_ADD:
		slot->remote_addr = SIM_IOVA + sim_check_off(end->other, AREA_COUNTER, 0);
		slot->atomic.compare_add = 1;
		*local = sim_check_off(end, AREA_RESULT, i);
		break;
	default:
		slot->remote_addr = SIM_IOVA + sim_check_off(end->other, AREA_DST, i);
	}
}

static int send_fetch(struct sim_qp *qp, struct tp_send_wqe *slot)
{
	struct sim_check_end *end = end_of(qp);
	struct tp_sge *sge = (struct tp_sge *)(void *)(slot + 1);
	const struct sim_check_op *op;
	uint64_t local;
	uint32_t i = end->n_posted;

	if (i == end->n_ops)
		return 0;
	op = &end->ops[end->n_posted++];
	local = sim_check_off(end, AREA_SRC, 0) + op->src;
	slot->wr_id = i;
	slot->opcode = op->opcode;
	slot->flags = op->fence ? TP_SEND_FENCE : 0;
	slot->rkey = qp->peer->key;
	slot->imm = i;
	fill_target(end, op, i, slot, &local);
	if (qp->has_ah) {
		slot->ud.ah = qp->ah;
		slot->ud.qpn = end->other->qp->qpn;
		slot->ud.qkey = UD_QKEY;
	}
	/* In two pieces, unless it must be one. */
	slot->num_sge = op->opcode == TP_WR_FETCH_ADD ? 1 : 2;
	sge[0] = (struct tp_sge){.addr = SIM_IOVA + local, .bytes = op->bytes, .lkey = qp->host->key};
	if (slot->num_sge == 2) {
		sge[0].bytes = op->bytes / 3;
		sge[1] = (struct tp_sge){.addr = sge[0].addr + sge[0].bytes, .lkey = qp->host->key};
		sge[1].bytes = op->bytes - sge[0].bytes;
	}
	return 1;
}

static int recv_fetch(struct sim_qp *qp, struct tp_recv_wqe *slot)
{
	struct sim_check_end *end = end_of(qp);
	struct tp_sge *sge = (struct tp_sge *)(void *)(slot + 1);

	if (end->n_taken == end->n_recvs)
		return 0;
	slot->wr_id = end->n_taken;
	slot->num_sge = 1;
	*sge = (struct tp_sge){.addr = SIM_IOVA + sim_check_off(end, AREA_RECV, end->n_taken++), .lkey = qp->host->key};
	sge->bytes = sim_check_pair_of(end)->max_bytes + SIM_CHECK_GRH;
	return 1;
}

/* ---- completions ---- */

static void check_done(struct sim_check_end *end, uint32_t i)
{
	const struct sim_check_op *op = &end->ops[i];
	uint64_t result;

	if (sim_check_pair_of(end)->type != TP_QPT_RC)
		return;
	switch (op->opcode) {
	case TP_WR_READ:
		same_bytes(end, "READ", i, sim_check_at(end, AREA_READ, i),
			sim_check_at(end->other, AREA_SRC, 0) + op->src, op->bytes);
		break;
	case TP_WR_FETCH_ADD:
		memcpy(&result, sim_check_at(end, AREA_RESULT, i), sizeof(result));
		if (result != end->n_added)
			sim_check_breach(end, "atomic %u found %llu, not %llu", i, (unsigned long long)result,
				(unsigned long long)end->n_added);
		end->n_added++;
		break;
	case TP_WR_WRITE:
	case TP_WR_WRITE_IMM:
		same_bytes(end, "WRITE", i, sim_check_at(end->other, AREA_DST, i),
			sim_check_at(end, AREA_SRC, 0) + op->src, op->bytes);
		break;
	}
}

/* Only a connection may fail, for want of answers, and then only when there were none for long enough. */
static void check_failure(struct sim_check_end *end, const struct tp_cqe *cqe)
{
	const struct sim_check_pair *pair = sim_check_pair_of(end);
	uint64_t now_ns = end->check->net->now_ns;

	if (cqe->status != TP_WC_RETRY_EXC_ERR || pair->type != TP_QPT_RC)
		sim_check_breach(end, "work request %llu: status %u", (unsigned long long)cqe->wr_id, cqe->status);
	else if (now_ns < pair->min_fail_ns && !end->other->failed)
		sim_check_breach(end, "work request %llu: retries used up though the path was there",
			(unsigned long long)cqe->wr_id);
	end->failed = true;
	end->check->n_failed++;
}

static void sent(struct sim_qp *qp, const struct tp_cqe *cqe)
{
	struct sim_check_end *end = end_of(qp);

	if (cqe->wr_id != end->n_sent) {
		sim_check_breach(
			end, "work request %llu completed, not %u", (unsigned long long)cqe->wr_id, end->n_sent);
		return;
	}
	end->n_sent++;
	if (end->failed && cqe->status != TP_WC_WR_FLUSH_ERR)
		sim_check_breach(end, "work request %llu: status %u after the queue pair failed",
			(unsigned long long)cqe->wr_id, cqe->status);
	else if (cqe->status == TP_WC_SUCCESS)
		check_done(end, (uint32_t)cqe->wr_id);
	else if (!end->failed)
		check_failure(end, cqe);
}

/* RC: the receive belongs to the next request that takes one. Others say by their immediate data which it is. */
static struct sim_check_op *received_op(struct sim_check_end *end, const struct tp_cqe *cqe, uint32_t *index)
{
	struct sim_check_end *from = end->other;

	if (sim_check_pair_of(end)->type == TP_QPT_RC) {
		while (end->next_recv_op < from->n_ops && !sim_check_takes_recv(&from->ops[end->next_recv_op]))
			end->next_recv_op++;
		*index = end->next_recv_op++;
	} else {
		*index = cqe->imm;
	}
	if (*index < from->n_ops && sim_check_takes_recv(&from->ops[*index]))
		return &from->ops[*index];
	sim_check_breach(end, "receive %llu: no message %u was sent", (unsigned long long)cqe->wr_id, *index);
	return NULL;
}

static void check_received(struct sim_check_end *end, const struct tp_cqe *cqe)
{
	enum tp_qp_type type = sim_check_pair_of(end)->type;
	uint32_t i, grh = type == TP_QPT_UD ? SIM_CHECK_GRH : 0, recv = (uint32_t)cqe->wr_id;
	struct sim_check_op *op = received_op(end, cqe, &i);
	const uint8_t *have, *want;

	if (op == NULL)
		return;
	if (cqe->bytes != op->bytes + grh)
		sim_check_breach(end, "message %u: %u bytes came, not %u", i, cqe->bytes, op->bytes + grh);
	if (op->opcode != TP_WR_SEND && ((cqe->flags & TP_WC_WITH_IMM) == 0 || cqe->imm != i))
		sim_check_breach(end, "message %u: came with the wrong immediate data", i);
	have = op->opcode == TP_WR_WRITE_IMM ? sim_check_at(end, AREA_DST, i)
					     : sim_check_at(end, AREA_RECV, recv) + grh;
	want = sim_check_at(end->other, AREA_SRC, 0) + op->src;
	same_bytes(end, "message", i, have, want, op->bytes);
	end->check->n_arrived += !op->arrived;
	op->arrived = true;
}

static void received(struct sim_qp *qp, const struct tp_cqe *cqe)
{
	struct sim_check_end *end = end_of(qp);

	if (cqe->wr_id != end->n_received) {
		sim_check_breach(
			end, "receive %llu completed, not %u", (unsigned long long)cqe->wr_id, end->n_received);
		return;
	}
	end->n_received++;
	if (cqe->status == TP_WC_SUCCESS && !end->failed)
		check_received(end, cqe);
	else if (cqe->status != TP_WC_WR_FLUSH_ERR || sim_check_pair_of(end)->type != TP_QPT_RC)
		sim_check_breach(end, "receive %llu: status %u", (unsigned long long)cqe->wr_id, cqe->status);
}

const struct sim_user sim_check_user = {send_fetch, recv_fetch, sent, received};
