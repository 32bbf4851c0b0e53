/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many senders are active here: queue pairs to which data has come in this period or the one before, the greater of
 * the two numbers. RC_SACKs tell it, so that senders of an incast can share what the link carries. It is that of one
 * endpoint: a device that is served by several workers tells each sender of those on its own.
 */
#include "tp_ext.h"

#define PERIOD_NS 100000u

static void next_period(struct tp *tp)
{
	struct tp_senders *s = &tp->senders;
	uint64_t past_ns = tp->now_ns - s->since_ns;

	if (past_ns < PERIOD_NS)
		return;
	s->n_before = past_ns < 2 * PERIOD_NS ? s->n_now : 0;
	s->n_now = 0;
	s->since_ns = tp->now_ns;
	s->period++;
}

void tp_senders_note(struct tp_qp *qp)
{
	struct tp_senders *s = &qp->tp->senders;

	next_period(qp->tp);
	/* 0 is none: queue pairs begin with it. */
	if (s->period == 0)
		s->period = 1;
	if (qp->ext->sender_period == s->period)
		return;
	qp->ext->sender_period = s->period;
	s->n_now++;
}

uint8_t tp_senders(struct tp *tp)
{
	uint32_t n;

	next_period(tp);
	n = RTE_MAX(tp->senders.n_now, tp->senders.n_before);
	return (uint8_t)tp_min(n, UINT8_MAX);
}
