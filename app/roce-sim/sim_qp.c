/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs, wired to each other without a connection manager. */
#include <errno.h>
#include <string.h>

#include "base_psn.h"
#include "sim_internal.h"

#define PD        1
#define QKEY      0x11111111u
#define TTL       64
#define ECT0      0x02
#define MAX_SGE   2
#define FIRST_PORT 0xc000 /* of UDP, IANA's range for such use */
#define N_PORTS   0x4000

#define INIT_MASK (TP_QP_STATE | TP_QP_PKEY_INDEX | TP_QP_PORT)
#define PEER_MASK (TP_QP_STATE | TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN)
#define RC_MASK   (TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY | TP_QP_MAX_QP_RD_ATOMIC)

/* Attributes that the step into a state needs. */
static uint32_t mask_to(enum tp_qp_type type, enum tp_qp_state state)
{
	bool rc = type == TP_QPT_RC;

	if (state == TP_QPS_INIT)
		return INIT_MASK | (type == TP_QPT_UD ? TP_QP_QKEY : TP_QP_ACCESS_FLAGS);
	if (state == TP_QPS_RTS)
		return TP_QP_STATE | TP_QP_SQ_PSN | (rc ? RC_MASK : 0);
	if (type == TP_QPT_UD)
		return TP_QP_STATE;
	return PEER_MASK | (rc ? TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER : 0);
}

static uint32_t ext_of(const struct sim_qp_config *config)
{
	if (!config->selective)
		return 0;
	return TP_EXT_SACK | (config->merge.max_bytes != 0 ? TP_EXT_MERGE : 0);
}

static int make(struct sim_host *host, struct sim_host *peer, const struct sim_qp_config *config, struct sim_qp *qp)
{
	struct tp_qp_init init = {
		.type = config->type,
		.pd = PD,
		.ud_mtu_bytes = config->mtu,
		.sq_depth = config->sq_depth,
		.rq_depth = config->sq_depth,
		.max_send_sge = MAX_SGE,
		.max_recv_sge = MAX_SGE,
		.sq_sig_all = true,
		.ext = ext_of(config),
		.reorder_ns = config->reorder_ns,
		.send_cq = &qp->send_cq,
		.recv_cq = &qp->recv_cq,
		.cookie = qp,
	};

	qp->host = host;
	qp->peer = peer;
	qp->has_ah = false;
	qp->send_cq = (struct sim_cq){.qp = qp};
	qp->recv_cq = (struct sim_cq){.qp = qp, .receives = true};
	return tp_qp_create(host->tp, &init, &qp->qp, &qp->qpn);
}

static void fill_av(const struct sim_qp *qp, struct tp_av *av)
{
	const struct sim_config *config = &qp->host->net->config;

	*av = (struct tp_av){
		.l3_version = config->l3_version,
		.tos = config->ecn ? ECT0 : 0,
		.ttl = TTL,
		.udp_sport = (uint16_t)(FIRST_PORT + sim_random(qp->host->net, N_PORTS)),
		.link = qp->peer,
	};
	av->net.src = qp->host->addr;
	av->net.dst = qp->peer->addr;
}

/* psn: the first this side sends, then the first that it receives. */
static int connect_to(struct sim_qp *qp, const struct sim_qp *peer, const struct sim_qp_config *config,
	uint32_t sq_psn, uint32_t rq_psn)
{
	static const enum tp_qp_state states[] = {TP_QPS_INIT, TP_QPS_RTR, TP_QPS_RTS};
	struct sim_host *host = qp->host;
	struct tp_qp_attr attr = {
		.access = TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC,
		.qkey = QKEY,
		.mtu_bytes = config->mtu,
		.sq_psn = sq_psn,
		.rq_psn = rq_psn,
		.dest_qpn = peer->qpn,
		.timeout = config->timeout,
		.retry_cnt = config->retry_cnt,
		.rnr_retry = config->rnr_retry,
		.min_rnr_timer = config->min_rnr_timer,
		.max_rd_atomic = config->rd_atomic,
		.max_dest_rd_atomic = config->rd_atomic,
		.port = 1,
		.ext = ext_of(config),
		.sched = config->sched,
		.cc = config->cc,
		.merge = config->merge,
	};

	fill_av(qp, &attr.av);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		uint32_t mask = mask_to(config->type, states[i]);
		int rc;

		if (states[i] == TP_QPS_RTR && config->selective)
			mask |= TP_QP_EXT;
		attr.state = states[i];
		rc = tp_qp_modify(host->tp, qp->qp, &attr, mask, host->net->now_ns);
		if (rc != 0)
			return rc;
	}
	if (config->type != TP_QPT_UD)
		return 0;
	qp->has_ah = tp_ah_create(host->tp, PD, &attr.av, &qp->ah) == 0;
	return qp->has_ah ? 0 : -ENOMEM;
}

int sim_qp_pair(struct sim_host *a, struct sim_host *b, const struct sim_qp_config *config, struct sim_qp ends[2])
{
	uint32_t psn[2] = {(uint32_t)sim_random(a->net, BASE_PSN_MASK + 1),
		(uint32_t)sim_random(a->net, BASE_PSN_MASK + 1)};
	int rc = make(a, b, config, &ends[0]);

	if (rc != 0)
		return rc;
	rc = make(b, a, config, &ends[1]);
	if (rc != 0) {
		sim_qp_destroy(&ends[0]);
		return rc;
	}
	for (int i = 0; i < 2 && rc == 0; i++)
		rc = connect_to(&ends[i], &ends[!i], config, psn[i], psn[!i]);
	if (rc != 0) {
		sim_qp_destroy(&ends[0]);
		sim_qp_destroy(&ends[1]);
	}
	return rc;
}

void sim_qp_destroy(struct sim_qp *qp)
{
	if (qp->has_ah)
		(void)tp_ah_destroy(qp->host->tp, qp->ah);
	tp_qp_destroy(qp->host->tp, qp->qp);
	qp->qp = NULL;
}

void sim_qp_kick(struct sim_qp *qp)
{
	tp_qp_kick(qp->host->tp, qp->qp);
	sim_host_work(qp->host, qp->host->net->now_ns);
}
