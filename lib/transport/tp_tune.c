/* SPDX-License-Identifier: BSD-3-Clause */
/* What changes while there are queue pairs. */
#include "tp_ext.h"
#include "tp_flow.h"
#include "tp_pace.h"

void tp_tune(struct tp *tp, const struct tp_tuning *tuning)
{
	tp->config.min_rto_ns = tuning->min_rto_ns;
	tp->config.plain = tuning->plain;
	tp->config.move_on_timeout = tuning->move_on_timeout;
	tp->config.cnp = tuning->cnp;
	tp->config.plain_cc = tuning->plain_cc;
}

static bool is_in(const void *at, const void *from, size_t bytes)
{
	return (uintptr_t)at - (uintptr_t)from < bytes;
}

static bool qp_refers(const struct tp_qp *qp, const void *from, size_t bytes)
{
	return is_in(qp->attr.sched, from, bytes) || is_in(qp->attr.cc, from, bytes) ||
		(qp->flow != NULL && is_in(qp->flow->sched.config, from, bytes)) ||
		(qp->plain_cc != NULL && is_in(qp->plain_cc->config, from, bytes));
}

bool tp_refers(const struct tp *tp, const void *from, size_t bytes)
{
	if (is_in(tp->config.plain, from, bytes) || is_in(tp->config.plain_cc, from, bytes))
		return true;
	for (uint32_t i = 0; i < tp->config.max_qps; i++) {
		if (tp->qps[i] != NULL && qp_refers(tp->qps[i], from, bytes))
			return true;
	}
	return false;
}

void tp_rechannel(struct tp *tp, struct tp_shaper *(*channel)(void *arg, const struct tp_av *av), void *arg)
{
	for (uint32_t i = 0; i < tp->config.max_qps; i++) {
		struct tp_qp *qp = tp->qps[i];

		/* Without a link it is not connected. */
		if (qp == NULL || !qp->type->connected || qp->attr.av.link == NULL)
			continue;
		qp->attr.av.channel = channel(arg, &qp->attr.av);
		tp_pace_join(qp, qp->attr.av.channel);
	}
}
