/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An end's memory: SRC is read by its own work and by the other's READs and never written. WRITE i of the other goes
 * to slot i of DST, READ i of its own to slot i of READ, receive request r is slot r of RECV. One counter is for the
 * other's atomics, RESULT for the answers to its own. All but SRC starts as zeros, which SRC has none of.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_check.h"

#define UD_QKEY    0x11111111u
#define GRH_BYTES  40u
#define RECVS      (3 * SIM_CHECK_OPS) /* repeated packets of UC and UD take receive requests too */
#define WORD       sizeof(uint64_t)

enum area { AREA_SRC, AREA_DST, AREA_READ, AREA_RECV, AREA_RESULT, AREA_COUNTER, AREA_END };

/* Where an area begins, from the end's base. */
static uint64_t area_off(uint32_t max_bytes, enum area area)
{
	const uint64_t slot = max_bytes, bytes[] = {
		[AREA_SRC] = 2 * slot,
		[AREA_DST] = slot * SIM_CHECK_OPS,
		[AREA_READ] = slot * SIM_CHECK_OPS,
		[AREA_RECV] = (slot + GRH_BYTES) * RECVS,
		[AREA_RESULT] = WORD * SIM_CHECK_OPS,
		[AREA_COUNTER] = WORD,
	};
	uint64_t off = 0;

	for (int i = 0; i < (int)area; i++)
		off += (bytes[i] + WORD - 1) / WORD * WORD;
	return off;
}

static struct sim_check_pair *pair_of(const struct sim_check_end *end)
{
	return end->qp->owner;
}

static uint64_t off_of(const struct sim_check_end *end, enum area area, uint32_t slot)
{
	const struct sim_check_pair *pair = pair_of(end);
	uint64_t each = pair->max_bytes;

	if (area == AREA_RECV)
		each += GRH_BYTES;
	if (area == AREA_RESULT)
		each = WORD;
	return end->base + area_off(pair->max_bytes, area) + each * slot;
}

static uint8_t *mem_of(const struct sim_check_end *end, enum area area, uint32_t slot)
{
	return end->qp->host->mem + off_of(end, area, slot);
}

static struct sim_check_end *end_of(const struct sim_qp *qp)
{
	struct sim_check_pair *pair = qp->owner;

	return &pair->ends[qp == &pair->qps[1]];
}

/* ---- breaches ---- */

__attribute__((format(printf, 2, 3))) static void breach(const struct sim_check_end *end, const char *fmt, ...)
{
	static const char *const names[] = {[TP_QPT_RC] = "RC", [TP_QPT_UC] = "UC", [TP_QPT_UD] = "UD"};
	struct sim_check *check = end->check;
	const struct sim_check_pair *pair = pair_of(end);
	char what[120];
	va_list ap;

	if (check->breach[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(check->breach, sizeof(check->breach), "pair %u (%s), host %u to %u, at %llu ns: %s",
		(uint32_t)(pair - check->pairs), names[pair->type], end->qp->host->id, end->qp->peer->id,
		(unsigned long long)check->net->now_ns, what);
}

static void same_bytes(const struct sim_check_end *end, const char *what, uint32_t i, const uint8_t *have,
	const uint8_t *want, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at++) {
		if (have[at] == want[at])
			continue;
		breach(end, "%s %u: byte %u of %u is %02x, not %02x", what, i, at, bytes, have[at], want[at]);
		return;
	}
}

/* ---- work ---- */

static bool takes_recv(const struct sim_check_op *op)
{
	return op->opcode == TP_WR_SEND || op->opcode == TP_WR_SEND_IMM || op->opcode == TP_WR_WRITE_IMM;
}

static uint8_t some_opcode(struct sim_net *net, enum tp_qp_type type)
{
	static const uint8_t rc[] = {TP_WR_SEND, TP_WR_SEND_IMM, TP_WR_WRITE, TP_WR_WRITE, TP_WR_WRITE_IMM, TP_WR_READ,
		TP_WR_READ, TP_WR_FETCH_ADD};
	static const uint8_t uc[] = {TP_WR_SEND_IMM, TP_WR_SEND_IMM, TP_WR_WRITE, TP_WR_WRITE_IMM};

	if (type == TP_QPT_UD)
		return TP_WR_SEND_IMM;
	return type == TP_QPT_RC ? rc[sim_random(net, sizeof(rc))] : uc[sim_random(net, sizeof(uc))];
}

static void plan_op(struct sim_check_end *end, struct sim_check_op *op)
{
	const struct sim_check_pair *pair = pair_of(end);
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
	end->other->n_expected += takes_recv(op);
}

static void fill_target(const struct sim_check_end *end, const struct sim_check_op *op, uint32_t i,
	struct tp_send_wqe *slot, uint64_t *local)
{
	switch (op->opcode) {
	case TP_WR_READ:
		slot->remote_addr = SIM_IOVA + off_of(end->other, AREA_SRC, 0) + op->src;
		*local = off_of(end, AREA_READ, i);
		break;
	case TP_WR_FETCH_ADD:
		slot->remote_addr = SIM_IOVA + off_of(end->other, AREA_COUNTER, 0);
		slot->atomic.compare_add = 1;
		*local = off_of(end, AREA_RESULT, i);
		break;
	default:
		slot->remote_addr = SIM_IOVA + off_of(end->other, AREA_DST, i);
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
	local = off_of(end, AREA_SRC, 0) + op->src;
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
	*sge = (struct tp_sge){.addr = SIM_IOVA + off_of(end, AREA_RECV, end->n_taken++), .lkey = qp->host->key};
	sge->bytes = pair_of(end)->max_bytes + GRH_BYTES;
	return 1;
}

/* ---- completions ---- */

static void check_done(struct sim_check_end *end, uint32_t i)
{
	const struct sim_check_op *op = &end->ops[i];
	uint64_t result;

	if (pair_of(end)->type != TP_QPT_RC)
		return;
	switch (op->opcode) {
	case TP_WR_READ:
		same_bytes(end, "READ", i, mem_of(end, AREA_READ, i), mem_of(end->other, AREA_SRC, 0) + op->src,
			op->bytes);
		break;
	case TP_WR_FETCH_ADD:
		memcpy(&result, mem_of(end, AREA_RESULT, i), sizeof(result));
		if (result != end->n_added)
			breach(end, "atomic %u found %llu, not %llu", i, (unsigned long long)result,
				(unsigned long long)end->n_added);
		end->n_added++;
		break;
	case TP_WR_WRITE:
	case TP_WR_WRITE_IMM:
		same_bytes(end, "WRITE", i, mem_of(end->other, AREA_DST, i), mem_of(end, AREA_SRC, 0) + op->src, op->bytes);
		break;
	}
}

/* Only a connection may fail, for want of answers, and then only when there were none for long enough. */
static void check_failure(struct sim_check_end *end, const struct tp_cqe *cqe)
{
	const struct sim_check_pair *pair = pair_of(end);
	uint64_t now_ns = end->check->net->now_ns;

	if (cqe->status != TP_WC_RETRY_EXC_ERR || pair->type != TP_QPT_RC)
		breach(end, "work request %llu: status %u", (unsigned long long)cqe->wr_id, cqe->status);
	else if (now_ns < pair->min_fail_ns && !end->other->failed)
		breach(end, "work request %llu: retries used up though the path was there",
			(unsigned long long)cqe->wr_id);
	end->failed = true;
	end->failed_ns = now_ns;
	end->check->n_failed++;
}

static void sent(struct sim_qp *qp, const struct tp_cqe *cqe)
{
	struct sim_check_end *end = end_of(qp);

	if (cqe->wr_id != end->n_sent) {
		breach(end, "work request %llu completed, not %u", (unsigned long long)cqe->wr_id, end->n_sent);
		return;
	}
	end->n_sent++;
	if (end->failed && cqe->status != TP_WC_WR_FLUSH_ERR)
		breach(end, "work request %llu: status %u after the queue pair failed", (unsigned long long)cqe->wr_id,
			cqe->status);
	else if (cqe->status == TP_WC_SUCCESS)
		check_done(end, (uint32_t)cqe->wr_id);
	else if (!end->failed)
		check_failure(end, cqe);
}

/* RC: the receive belongs to the next request that takes one. Others say by their immediate data which it is. */
static struct sim_check_op *received_op(struct sim_check_end *end, const struct tp_cqe *cqe, uint32_t *index)
{
	struct sim_check_end *from = end->other;

	if (pair_of(end)->type == TP_QPT_RC) {
		while (end->next_recv_op < from->n_ops && !takes_recv(&from->ops[end->next_recv_op]))
			end->next_recv_op++;
		*index = end->next_recv_op++;
	} else {
		*index = cqe->imm;
	}
	if (*index < from->n_ops && takes_recv(&from->ops[*index]))
		return &from->ops[*index];
	breach(end, "receive %llu: no message %u was sent", (unsigned long long)cqe->wr_id, *index);
	return NULL;
}

static void check_received(struct sim_check_end *end, const struct tp_cqe *cqe)
{
	enum tp_qp_type type = pair_of(end)->type;
	uint32_t i, grh = type == TP_QPT_UD ? GRH_BYTES : 0, recv = (uint32_t)cqe->wr_id;
	struct sim_check_op *op = received_op(end, cqe, &i);
	const uint8_t *have, *want;

	if (op == NULL)
		return;
	if (cqe->bytes != op->bytes + grh)
		breach(end, "message %u: %u bytes came, not %u", i, cqe->bytes, op->bytes + grh);
	if (op->opcode != TP_WR_SEND && ((cqe->flags & TP_WC_WITH_IMM) == 0 || cqe->imm != i))
		breach(end, "message %u: came with the wrong immediate data", i);
	have = op->opcode == TP_WR_WRITE_IMM ? mem_of(end, AREA_DST, i) : mem_of(end, AREA_RECV, recv) + grh;
	want = mem_of(end->other, AREA_SRC, 0) + op->src;
	same_bytes(end, "message", i, have, want, op->bytes);
	end->check->n_arrived += !op->arrived;
	op->arrived = true;
}

static void received(struct sim_qp *qp, const struct tp_cqe *cqe)
{
	struct sim_check_end *end = end_of(qp);

	if (cqe->wr_id != end->n_received) {
		breach(end, "receive %llu completed, not %u", (unsigned long long)cqe->wr_id, end->n_received);
		return;
	}
	end->n_received++;
	if (cqe->status == TP_WC_SUCCESS && !end->failed)
		check_received(end, cqe);
	else if (cqe->status != TP_WC_WR_FLUSH_ERR || pair_of(end)->type != TP_QPT_RC)
		breach(end, "receive %llu: status %u", (unsigned long long)cqe->wr_id, cqe->status);
}

static const struct sim_user user = {send_fetch, recv_fetch, sent, received};

/* ---- life ---- */

uint64_t sim_check_mem_bytes(uint32_t max_bytes)
{
	return area_off(max_bytes, AREA_END);
}

int sim_check_create(struct sim_net *net, uint32_t n_pairs, struct sim_check *check)
{
	*check = (struct sim_check){.net = net, .n_pairs = n_pairs};
	check->pairs = calloc(n_pairs, sizeof(*check->pairs));
	check->used_bytes = calloc(net->n_hosts, sizeof(*check->used_bytes));
	if (check->pairs != NULL && check->used_bytes != NULL)
		return 0;
	sim_check_destroy(check);
	return -ENOMEM;
}

void sim_check_destroy(struct sim_check *check)
{
	free(check->pairs);
	free(check->used_bytes);
	check->pairs = NULL;
	check->used_bytes = NULL;
}

static int init_end(struct sim_check *check, struct sim_check_pair *pair, uint32_t e, uint32_t n_ops)
{
	struct sim_check_end *end = &pair->ends[e];
	struct sim_host *host = pair->qps[e].host;
	uint64_t bytes = sim_check_mem_bytes(pair->max_bytes);

	end->check = check;
	end->other = &pair->ends[!e];
	end->qp = &pair->qps[e];
	end->base = check->used_bytes[host->id];
	if (end->base + bytes > check->net->config.mem_bytes)
		return -ENOMEM;
	check->used_bytes[host->id] += bytes;
	end->qp->user = &user;
	end->qp->owner = pair;
	end->n_ops = n_ops < SIM_CHECK_OPS ? n_ops : SIM_CHECK_OPS;
	for (uint64_t i = 0; i < 2ull * pair->max_bytes; i++)
		mem_of(end, AREA_SRC, 0)[i] = (uint8_t)(1 + sim_random(check->net, 255));
	return 0;
}

int sim_check_pair(struct sim_check *check, uint32_t i, uint32_t a, uint32_t b, const struct sim_qp_config *config,
	uint32_t n_ops, uint32_t max_bytes)
{
	struct sim_check_pair *pair = &check->pairs[i];
	int rc = sim_qp_pair(&check->net->hosts[a], &check->net->hosts[b], config, pair->qps);

	if (rc != 0)
		return rc;
	pair->type = config->type;
	pair->mtu = config->mtu;
	pair->max_bytes = max_bytes;
	pair->min_fail_ns = UINT64_MAX;
	for (uint32_t e = 0; e < 2 && rc == 0; e++)
		rc = init_end(check, pair, e, n_ops);
	for (uint32_t e = 0; e < 2 && rc == 0; e++) {
		for (uint32_t k = 0; k < pair->ends[e].n_ops; k++)
			plan_op(&pair->ends[e], &pair->ends[e].ops[k]);
	}
	return rc;
}

/* Receive requests that an end needs: RC takes exactly one a message. */
static uint32_t recvs_of(const struct sim_check_end *end)
{
	return pair_of(end)->type == TP_QPT_RC ? end->n_expected : (uint32_t)RECVS;
}

static void post_rest(void *env, void *arg, uint64_t now_ps)
{
	struct sim_check *check = arg;

	(void)env;
	check->net->now_ns = (now_ps + FABRIC_PS_PER_NS - 1) / FABRIC_PS_PER_NS;
	for (uint32_t i = 0; i < 2 * check->n_pairs; i++) {
		struct sim_check_end *end = &check->pairs[i / 2].ends[i % 2];

		end->n_recvs = recvs_of(end);
		sim_qp_kick(end->qp);
	}
}

int sim_check_start(struct sim_check *check, uint64_t rest_ns)
{
	for (uint32_t i = 0; i < 2 * check->n_pairs; i++) {
		struct sim_check_end *end = &check->pairs[i / 2].ends[i % 2];

		end->n_recvs = pair_of(end)->type == TP_QPT_RC ? recvs_of(end) / 2 : recvs_of(end);
	}
	for (uint32_t i = 0; i < 2 * check->n_pairs; i++)
		sim_qp_kick(check->pairs[i / 2].ends[i % 2].qp);
	return fabric_at(check->net->fabric, rest_ns, post_rest, check);
}

/* ---- the end ---- */

/* What was written is what was to be written, if perhaps not all of it. */
static void check_writes(const struct sim_check_end *end)
{
	const struct sim_check_pair *pair = pair_of(end);

	for (uint32_t i = 0; i < end->n_ops; i++) {
		const struct sim_check_op *op = &end->ops[i];
		const uint8_t *have = mem_of(end->other, AREA_DST, i), *want = mem_of(end, AREA_SRC, 0) + op->src;
		bool writes = op->opcode == TP_WR_WRITE || op->opcode == TP_WR_WRITE_IMM;

		for (uint32_t at = 0; at < pair->max_bytes; at++) {
			if (have[at] == 0 || (writes && at < op->bytes && have[at] == want[at]))
				continue;
			breach(end, "slot %u: byte %u was written and should not have been", i, at);
			return;
		}
	}
}

static void check_counter(const struct sim_check_end *end)
{
	uint64_t counter, most = 0;

	memcpy(&counter, mem_of(end->other, AREA_COUNTER, 0), sizeof(counter));
	for (uint32_t i = 0; i < end->n_ops; i++)
		most += end->ops[i].opcode == TP_WR_FETCH_ADD;
	if (counter < end->n_added || counter > most || (!end->failed && counter != most))
		breach(end, "the counter is %llu after %llu additions", (unsigned long long)counter,
			(unsigned long long)most);
}

static void check_end(const struct sim_check_end *end)
{
	enum tp_qp_type type = pair_of(end)->type;
	bool whole = !end->failed && !end->other->failed;

	if (end->n_sent != end->n_ops) {
		breach(end, "stuck: %u of %u work requests are complete", end->n_sent, end->n_ops);
		return;
	}
	if (type == TP_QPT_RC && (whole || end->failed) && end->n_received != recvs_of(end))
		breach(end, "stuck: %u of %u receives are complete", end->n_received, recvs_of(end));
	if (type == TP_QPT_RC)
		check_counter(end);
	check_writes(end);
	for (uint32_t i = 0; i < end->n_ops; i++)
		end->check->n_lost += takes_recv(&end->ops[i]) && !end->ops[i].arrived;
}

static bool broken(void *arg)
{
	return ((const struct sim_check *)arg)->breach[0] != '\0';
}

bool sim_check_run(struct sim_check *check, uint64_t limit_ns)
{
	sim_net_run(check->net, limit_ns, broken, check);
	for (uint32_t i = 0; i < 2 * check->n_pairs && !broken(check); i++)
		check_end(&check->pairs[i / 2].ends[i % 2]);
	if (!broken(check) && check->net->n_buffers != 0)
		snprintf(check->breach, sizeof(check->breach), "%llu packets are left over",
			(unsigned long long)check->net->n_buffers);
	return !broken(check);
}
