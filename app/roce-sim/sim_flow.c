/* SPDX-License-Identifier: BSD-3-Clause */
/* From flows to work requests, and from completions to flows. */
#include <errno.h>

#include "sim_flow.h"

#define SQ_DEPTH  16
#define RNR_RETRY 7
#define RNR_TIMER 1
#define UD_QKEY   0x11111111u

static uint64_t wr_id(uint32_t flow, uint32_t msg)
{
	return (uint64_t)flow << 32 | msg;
}

static const struct sim_workload *workload_of(const struct sim_run *run, const struct sim_flow *flow)
{
	return &run->scenario->workloads[flow->workload];
}

static enum tp_qp_type service(const struct sim_run *run)
{
	return run->scenario->transport.service;
}

static uint64_t message_bytes(const struct sim_run *run, const struct sim_flow *flow)
{
	const struct sim_workload *w = workload_of(run, flow);
	uint64_t most = w->message_bytes != 0 ? w->message_bytes : flow->bytes;

	if (service(run) == TP_QPT_UD && most > run->scenario->transport.mtu)
		most = run->scenario->transport.mtu;
	return most;
}

/* ---- ends of flows ---- */

static void start(struct sim_run *run, uint32_t index);

static void on_close(void *env, void *arg, uint64_t now_ps)
{
	struct sim_conn *conn = arg;

	(void)env;
	(void)now_ps;
	conn->closing = false;
	if (!conn->open || conn->n_left != 0)
		return;
	conn->open = false;
	sim_qp_destroy(&conn->ends[0]);
	sim_qp_destroy(&conn->ends[1]);
}

static void end(struct sim_run *run, struct sim_flow *flow, bool failed)
{
	struct sim_conn *conn = &run->conns[flow->conn];

	if (flow->done)
		return;
	flow->done = true;
	flow->failed = failed;
	flow->end_ns = run->net->now_ns;
	run->n_done++;
	run->n_failed += failed;
	if (run->end_ns < flow->end_ns)
		run->end_ns = flow->end_ns;
	conn->n_left--;
	/* Acknowledged work needs its queue pairs no more. Not from within a callback of the transport. */
	if (conn->n_left == 0 && service(run) == TP_QPT_RC && !conn->closing)
		conn->closing = fabric_at(run->net->fabric, run->net->now_ns, on_close, conn) == 0;
}

static void arrived(struct sim_run *run, struct sim_flow *flow)
{
	if (flow->then != SIM_NONE)
		start(run, flow->then);
	/* Who is not told by acknowledgements is done when all is there. */
	if (service(run) != TP_QPT_RC)
		end(run, flow, false);
}

/* ---- queue pairs' user ---- */

static struct sim_run *run_of(const struct sim_qp *qp)
{
	return ((struct sim_conn *)qp->owner)->run;
}

static uint8_t opcode_of(const struct sim_run *run, const struct sim_flow *flow, bool last)
{
	/* The receiver is told of the last message, and of each where any may be missing. */
	bool tell = service(run) != TP_QPT_RC || (last && flow->then != SIM_NONE);

	switch (workload_of(run, flow)->op) {
	case SIM_READ:
		return TP_WR_READ;
	case SIM_WRITE:
		if (service(run) != TP_QPT_UD)
			return tell ? TP_WR_WRITE_IMM : TP_WR_WRITE;
		return TP_WR_SEND_IMM;
	case SIM_SEND:
		break;
	}
	return tell ? TP_WR_SEND_IMM : TP_WR_SEND;
}

static void fill(const struct sim_run *run, const struct sim_qp *qp, uint32_t index, struct tp_send_wqe *slot)
{
	const struct sim_flow *flow = &run->flows[index];
	struct tp_sge *sge = (struct tp_sge *)(void *)(slot + 1);
	uint64_t each = message_bytes(run, flow), off = each * flow->posted;

	slot->wr_id = wr_id(index, flow->posted);
	slot->opcode = opcode_of(run, flow, flow->posted + 1 == flow->n_msgs);
	slot->num_sge = 1;
	slot->remote_addr = SIM_IOVA;
	slot->rkey = qp->peer->key;
	slot->imm = index;
	if (qp->has_ah) {
		slot->ud.ah = qp->ah;
		slot->ud.qpn = qp == &run->conns[flow->conn].ends[0] ? run->conns[flow->conn].ends[1].qpn :
								       run->conns[flow->conn].ends[0].qpn;
		slot->ud.qkey = UD_QKEY;
	}
	*sge = (struct tp_sge){.addr = SIM_IOVA, .lkey = qp->host->key};
	sge->bytes = (uint32_t)(flow->bytes - off < each ? flow->bytes - off : each);
}

/* Requests are posted where the data is, or for READ where it is wanted. */
static bool posts(const struct sim_run *run, const struct sim_qp *qp, const struct sim_flow *flow)
{
	bool reads = workload_of(run, flow)->op == SIM_READ;

	return qp == &run->conns[flow->conn].ends[reads ? 1 : 0];
}

static int send_fetch(struct sim_qp *qp, struct tp_send_wqe *slot)
{
	struct sim_conn *conn = qp->owner;
	struct sim_run *run = conn->run;
	uint32_t index = conn->first;
	struct sim_flow *flow;

	if (index == SIM_NONE || !posts(run, qp, &run->flows[index]))
		return 0;
	flow = &run->flows[index];
	fill(run, qp, index, slot);
	if (++flow->posted == flow->n_msgs)
		conn->first = flow->behind;
	return 1;
}

/* There is always one more receive request, of any length. */
static int recv_fetch(struct sim_qp *qp, struct tp_recv_wqe *slot)
{
	struct tp_sge *sge = (struct tp_sge *)(void *)(slot + 1);

	slot->wr_id = 0;
	slot->num_sge = 1;
	*sge = (struct tp_sge){.addr = SIM_IOVA, .bytes = TP_MAX_MSG_BYTES, .lkey = qp->host->key};
	return 1;
}

static void sent(struct sim_qp *qp, const struct tp_cqe *cqe)
{
	struct sim_run *run = run_of(qp);
	struct sim_flow *flow = &run->flows[cqe->wr_id >> 32];

	if (cqe->status != TP_WC_SUCCESS) {
		end(run, flow, true);
		return;
	}
	if (++flow->sent < flow->n_msgs)
		return;
	if (workload_of(run, flow)->op == SIM_READ)
		arrived(run, flow);
	if (service(run) == TP_QPT_RC)
		end(run, flow, false);
}

static void received(struct sim_qp *qp, const struct tp_cqe *cqe)
{
	struct sim_run *run = run_of(qp);
	struct sim_flow *flow;

	if (cqe->status != TP_WC_SUCCESS || (cqe->flags & TP_WC_WITH_IMM) == 0 || cqe->imm >= run->n_flows)
		return;
	flow = &run->flows[cqe->imm];
	/* On its own, the last message tells of all; others are counted, repeated packets or not. */
	flow->arrived = service(run) == TP_QPT_RC ? flow->n_msgs : flow->arrived + 1;
	if (flow->arrived == flow->n_msgs)
		arrived(run, flow);
}

static const struct sim_user user = {send_fetch, recv_fetch, sent, received};

/* ---- starts ---- */

static int open_conn(struct sim_run *run, struct sim_conn *conn)
{
	const struct sim_scenario *s = run->scenario;
	struct sim_qp_config config = {
		.type = s->transport.service,
		.mtu = s->transport.mtu,
		.sq_depth = SQ_DEPTH,
		.timeout = (uint8_t)s->transport.timeout,
		.retry_cnt = (uint8_t)s->transport.retry_cnt,
		.rnr_retry = RNR_RETRY,
		.min_rnr_timer = RNR_TIMER,
		.rd_atomic = (uint8_t)s->transport.rd_atomic,
		.selective = s->transport.selective,
		.sched = &run->sched,
		.cc = s->transport.controlled ? &run->cc : NULL,
	};
	int rc = sim_qp_pair(&run->net->hosts[conn->src], &run->net->hosts[conn->dst], &config, conn->ends);

	if (rc != 0)
		return rc;
	for (int i = 0; i < 2; i++) {
		conn->ends[i].user = &user;
		conn->ends[i].owner = conn;
	}
	conn->open = true;
	return 0;
}

static void on_start(void *env, void *arg, uint64_t now_ps)
{
	struct sim_flow *flow = arg;
	struct sim_net *net = env;
	struct sim_run *run = net->user;
	struct sim_conn *conn = &run->conns[flow->conn];
	uint32_t index = (uint32_t)(flow - run->flows);

	net->now_ns = (now_ps + FABRIC_PS_PER_NS - 1) / FABRIC_PS_PER_NS;
	if (!conn->open) {
		int rc = open_conn(run, conn);

		if (rc != 0) {
			run->error = rc;
			return;
		}
	}
	flow->start_ns = net->now_ns;
	flow->behind = SIM_NONE;
	if (conn->first == SIM_NONE)
		conn->first = index;
	else
		run->flows[conn->last].behind = index;
	conn->last = index;
	sim_qp_kick(&conn->ends[workload_of(run, flow)->op == SIM_READ ? 1 : 0]);
}

static int start_at(struct sim_run *run, struct sim_flow *flow, uint64_t at_ns)
{
	if (flow->started)
		return 0;
	flow->started = true;
	return fabric_at(run->net->fabric, at_ns, on_start, flow);
}

static void start(struct sim_run *run, uint32_t index)
{
	int rc = start_at(run, &run->flows[index], run->net->now_ns);

	if (rc != 0)
		run->error = rc;
}

int sim_flow_begin(struct sim_run *run)
{
	for (uint32_t i = 0; i < run->n_flows; i++) {
		struct sim_flow *flow = &run->flows[i];
		uint64_t each = message_bytes(run, flow);
		int rc;

		flow->n_msgs = (uint32_t)((flow->bytes + each - 1) / each);
		run->conns[flow->conn].n_left++;
		if (flow->follows)
			continue;
		rc = start_at(run, flow, flow->at_ns);
		if (rc != 0)
			return rc;
	}
	return 0;
}

bool sim_flow_over(const struct sim_run *run)
{
	return run->n_done == run->n_flows || run->error != 0;
}
