/* SPDX-License-Identifier: BSD-3-Clause */
/* The packets of a requester by PSN, and those that are on their way or lost as lists. */
#include "tp_ext.h"

static void push(struct tp_ext *x, struct tp_sr_list *list, enum tp_sr_lists which, uint16_t i)
{
	x->pkt[i].in[which].next = TP_SR_NONE;
	x->pkt[i].in[which].prev = list->tail;
	if (list->tail != TP_SR_NONE)
		x->pkt[list->tail].in[which].next = i;
	else
		list->head = i;
	list->tail = i;
}

static void pull(struct tp_ext *x, struct tp_sr_list *list, enum tp_sr_lists which, uint16_t i)
{
	uint16_t next = x->pkt[i].in[which].next, prev = x->pkt[i].in[which].prev;

	if (prev != TP_SR_NONE)
		x->pkt[prev].in[which].next = next;
	else
		list->head = next;
	if (next != TP_SR_NONE)
		x->pkt[next].in[which].prev = prev;
	else
		list->tail = prev;
}

void tp_ring_idle(struct tp_ext *x, uint16_t i)
{
	struct tp_sr_pkt *e = &x->pkt[i];

	if (e->state == TP_SR_SENT) {
		pull(x, &x->sent, TP_SR_ALL, i);
		pull(x, &x->on_ev[e->ev], TP_SR_ON_EV, i);
		x->n_sent--;
	} else if (e->state == TP_SR_LOST) {
		pull(x, &x->lost, TP_SR_ALL, i);
		x->n_lost--;
	}
	e->state = TP_SR_IDLE;
	x->open[i / 64] &= ~((uint64_t)1 << i % 64);
}

void tp_ring_sent(struct tp_ext *x, uint16_t i)
{
	x->pkt[i].state = TP_SR_SENT;
	x->open[i / 64] |= (uint64_t)1 << i % 64;
	push(x, &x->sent, TP_SR_ALL, i);
	push(x, &x->on_ev[x->pkt[i].ev], TP_SR_ON_EV, i);
	x->n_sent++;
}

void tp_ring_lost(struct tp_ext *x, uint16_t i)
{
	tp_ring_idle(x, i);
	x->pkt[i].state = TP_SR_LOST;
	x->open[i / 64] |= (uint64_t)1 << i % 64;
	push(x, &x->lost, TP_SR_ALL, i);
	x->n_lost++;
	tp_activate(x->qp);
}

uint64_t tp_ring_open(const struct tp_ext *x, uint32_t psn)
{
	uint32_t word = psn % TP_SR_RING / 64, bit = psn % 64, words = TP_SR_RING / 64;

	if (bit == 0)
		return x->open[word];
	return x->open[word] >> bit | x->open[(word + 1) % words] << (64 - bit);
}

void tp_sr_reset(struct tp_qp *qp)
{
	struct tp_ext *x = qp->ext;
	const struct tp_sr_list empty = {TP_SR_NONE, TP_SR_NONE};

	memset(x->pkt, 0, sizeof(x->pkt));
	memset(x->open, 0, sizeof(x->open));
	x->sent = x->lost = empty;
	for (uint32_t i = 0; i < PATH_SCHED_MAX_EVS; i++)
		x->on_ev[i] = empty;
	x->n_sent = x->n_lost = x->n_asked = 0;
	x->seq = x->acked_seq = 0;
	x->cum = qp->attr.sq_psn;
	x->suspects = 0;
	x->last_send_ns = 0;
	x->progress_ns = x->cut_ns = qp->tp->now_ns;
	x->backoff = 0;
	x->waiting = false;
	x->probe_ev = PATH_SCHED_NO_EV;
	base_timer_stop(&qp->tp->wheel, &x->timer);
}
