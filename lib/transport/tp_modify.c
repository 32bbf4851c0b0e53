/* SPDX-License-Identifier: BSD-3-Clause */
#include "tp_modify.h"

#include <errno.h>

#define MAX_TIMEOUT 31
#define MAX_RETRY   7

/* One attribute set for each transport service, in the order of the columns of table 91, and of annex A14. */
struct sets {
	uint32_t rc, uc, ud, ini, tgt;
};

struct transition {
	bool legal;
	bool unacknowledged;      /* legal for UC and UD only */
	struct sets required, optional;
};

#define NONE        {0, 0, 0, 0, 0}
#define PORT        (TP_QP_PKEY_INDEX | TP_QP_PORT)
#define TO_INIT                                                                                            \
	{PORT | TP_QP_ACCESS_FLAGS, PORT | TP_QP_ACCESS_FLAGS, PORT | TP_QP_QKEY, PORT | TP_QP_ACCESS_FLAGS,  \
		PORT | TP_QP_ACCESS_FLAGS}
#define PEER        (TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN)
#define TO_SEND                                                                                            \
	(TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY | TP_QP_SQ_PSN | TP_QP_MAX_QP_RD_ATOMIC)
#define NOTIFY      TP_QP_EN_SQD_ASYNC_NOTIFY
#define TO_RTS_OPTIONAL                                                                                    \
	{TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS | TP_QP_MIN_RNR_TIMER, TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS,    \
		TP_QP_CUR_STATE | TP_QP_QKEY, TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS,                           \
		TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS | TP_QP_MIN_RNR_TIMER}
#define ALWAYS      {true, false, NONE, NONE}

/* IBTA vol. 1, 10.3.1 and table 91. Alternate paths are not served, so they are not listed. */
static const struct transition transitions[TP_QPS_ERR + 1][TP_QPS_ERR + 1] = {
	[TP_QPS_RESET] = {
		[TP_QPS_RESET] = ALWAYS,
		[TP_QPS_INIT] = {true, false, TO_INIT, NONE},
	},
	[TP_QPS_INIT] = {
		[TP_QPS_RESET] = ALWAYS,
		[TP_QPS_ERR] = ALWAYS,
		[TP_QPS_INIT] = {true, false, NONE, TO_INIT},
		[TP_QPS_RTR] = {true, false,
			{PEER | TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER, PEER, 0, PEER,
				PEER | TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER},
			{TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX | TP_QP_EXT, TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX,
				TP_QP_QKEY | TP_QP_PKEY_INDEX, TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX,
				TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX}},
	},
	[TP_QPS_RTR] = {
		[TP_QPS_RESET] = ALWAYS,
		[TP_QPS_ERR] = ALWAYS,
		[TP_QPS_RTS] = {true, false,
			{TO_SEND, TP_QP_SQ_PSN, TP_QP_SQ_PSN, TO_SEND, TP_QP_TIMEOUT | TP_QP_SQ_PSN},
			TO_RTS_OPTIONAL},
	},
	[TP_QPS_RTS] = {
		[TP_QPS_RESET] = ALWAYS,
		[TP_QPS_ERR] = ALWAYS,
		[TP_QPS_RTS] = {true, false, NONE, TO_RTS_OPTIONAL},
		[TP_QPS_SQD] = {true, false, NONE, {NOTIFY, NOTIFY, NOTIFY, NOTIFY, NOTIFY}},
	},
	[TP_QPS_SQD] = {
		[TP_QPS_RESET] = ALWAYS,
		[TP_QPS_ERR] = ALWAYS,
		[TP_QPS_RTS] = {true, false, NONE, TO_RTS_OPTIONAL},
		[TP_QPS_SQD] = {true, false, NONE,
			{TP_QP_PORT | TP_QP_AV | TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY |
					TP_QP_MAX_QP_RD_ATOMIC | TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_ACCESS_FLAGS |
					TP_QP_PKEY_INDEX | TP_QP_MIN_RNR_TIMER,
				TP_QP_AV | TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX, TP_QP_QKEY | TP_QP_PKEY_INDEX,
				TP_QP_PORT | TP_QP_AV | TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY |
					TP_QP_MAX_QP_RD_ATOMIC | TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX,
				TP_QP_PORT | TP_QP_AV | TP_QP_TIMEOUT | TP_QP_MAX_DEST_RD_ATOMIC |
					TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX | TP_QP_MIN_RNR_TIMER}},
	},
	[TP_QPS_SQE] = {
		[TP_QPS_RESET] = ALWAYS,
		[TP_QPS_ERR] = ALWAYS,
		[TP_QPS_RTS] = {true, true, NONE,
			{0, TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS, TP_QP_CUR_STATE | TP_QP_QKEY, 0, 0}},
	},
	[TP_QPS_ERR] = {
		[TP_QPS_RESET] = ALWAYS,
		[TP_QPS_ERR] = ALWAYS,
	},
};

static uint32_t set_for(const struct sets *sets, enum tp_qp_type type)
{
	switch (type) {
	case TP_QPT_UC:
		return sets->uc;
	case TP_QPT_UD:
		return sets->ud;
	case TP_QPT_XRC_INI:
		return sets->ini;
	case TP_QPT_XRC_TGT:
		return sets->tgt;
	default:
		return sets->rc;
	}
}

enum tp_qp_state tp_modify_next(const struct tp_qp *qp, const struct tp_qp_attr *attr, uint32_t mask)
{
	return (mask & TP_QP_STATE) != 0 ? attr->state : qp->attr.state;
}

static bool values_ok(const struct tp_qp_attr *attr, uint32_t mask)
{
	const uint32_t access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ |
		TP_ACCESS_REMOTE_ATOMIC | TP_ACCESS_MW_BIND;
	const struct {
		uint32_t bit;
		bool ok;
	} rules[] = {
		{TP_QP_ACCESS_FLAGS, (attr->access & ~access) == 0},
		{TP_QP_PKEY_INDEX, attr->pkey_index == 0},
		{TP_QP_PATH_MTU, tp_mtu_ok(attr->mtu_bytes)},
		{TP_QP_AV, attr->av.l3_version == 4 || attr->av.l3_version == 6},
		{TP_QP_TIMEOUT, attr->timeout <= MAX_TIMEOUT},
		{TP_QP_RETRY_CNT, attr->retry_cnt <= MAX_RETRY},
		{TP_QP_RNR_RETRY, attr->rnr_retry <= MAX_RETRY},
		{TP_QP_MIN_RNR_TIMER, attr->min_rnr_timer <= MAX_TIMEOUT},
		{TP_QP_MAX_QP_RD_ATOMIC, attr->max_rd_atomic <= TP_MAX_RD_ATOMIC},
		{TP_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic <= TP_MAX_RD_ATOMIC},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if ((mask & rules[i].bit) != 0 && !rules[i].ok)
			return false;
	}
	return true;
}

static bool ext_ok(const struct tp_qp *qp, const struct tp_qp_attr *attr)
{
	if ((attr->ext & ~qp->init.ext) != 0 || attr->ext == TP_EXT_MERGE)
		return false;
	if (attr->n_planes >= TP_MAX_PLANES || (attr->n_planes != 0 && attr->planes == NULL))
		return false;
	for (uint32_t i = 0; i < attr->n_planes; i++) {
		if (attr->planes[i].l3_version != attr->av.l3_version)
			return false;
	}
	if (attr->cc != NULL && cc_config_check(attr->cc) != 0)
		return false;
	return attr->sched == NULL || (path_sched_config_check(attr->sched) == 0 && !attr->sched->keep_order);
}

int tp_modify_check(const struct tp_qp *qp, const struct tp_qp_attr *attr, uint32_t mask)
{
	enum tp_qp_state next = tp_modify_next(qp, attr, mask);
	const struct transition *t;
	uint32_t required, optional;

	if ((unsigned int)next > TP_QPS_ERR)
		return -EINVAL;
	if ((mask & TP_QP_CUR_STATE) != 0 && attr->cur_state != qp->attr.state)
		return -EINVAL;
	t = &transitions[qp->attr.state][next];
	required = set_for(&t->required, qp->init.type);
	optional = set_for(&t->optional, qp->init.type);
	if (!t->legal || (t->unacknowledged && qp->type->acknowledged) || (mask & required) != required)
		return -EINVAL;
	if ((mask & ~(required | optional | TP_QP_STATE)) != 0)
		return -EINVAL;
	if ((mask & TP_QP_EXT) != 0 && !ext_ok(qp, attr))
		return -EINVAL;
	return values_ok(attr, mask) ? 0 : -EINVAL;
}
