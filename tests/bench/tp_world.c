/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <x86intrin.h>

#include <isa-l/crc.h>

#include "tp_world_internal.h"
#include "wire_icrc.h"

#define STEP_NS      2000 /* the clock of the transport goes on by this much a burst */
#define MAX_ROUND_NS 60000000000.0
#define TICKS_NS     20000000.0

double tw_cycles_per_tick(void)
{
	static double ticks_per_ns;
	double began_ns = now_ns();
	uint64_t first = __rdtsc();

	if (ticks_per_ns == 0) {
		while (now_ns() - began_ns < TICKS_NS)
			;
		ticks_per_ns = (double)(__rdtsc() - first) / (now_ns() - began_ns);
	}
	return clock_ghz() / ticks_per_ns;
}

/* ---- measuring ---- */

/* Hands all that one end has sent to the other, as a worker does: parse, check the ICRC, deliver. */
static void deliver(struct tw_world *w, struct tw_end *from, struct tw_end *to)
{
	uint32_t n = from->n_out;

	if (w->o.arrive != NULL && n != 0)
		w->o.arrive(w->o.link_arg, from->out, n);
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = from->out[i];
		const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

		if (wire_parse(frame, m->data_len, TP_PKT(m)) != BASE_DROP_NONE || !wire_icrc_ok(frame, TP_PKT(m)))
			tw_die("a frame is not well-formed");
	}
	from->n_out = 0;
	for (uint32_t i = 0; i < n; i += TW_BURST)
		tp_rx(to->tp, from->out + i, n - i < TW_BURST ? n - i : TW_BURST, w->now_ns);
	/* tp_rx of `to` emits into its own list, so the buffers may go back now */
	memcpy(w->free + w->n_free, from->out, n * sizeof(from->out[0]));
	w->n_free += n;
}

/* A queue pair by itself always has work; many post a message each in turn. */
static void post(struct tw_world *w)
{
	struct tw_end *a = &w->end[0];
	struct tw_qp *q = &a->qps[0];

	if (w->o.n_qps == 1) {
		q->posted = q->retired + w->o.depth;
		tp_qp_kick(a->tp, q->qp);
		return;
	}
	for (uint32_t i = 0; i < w->o.burst; i++) {
		q = &a->qps[w->next_qp];
		w->next_qp = w->next_qp + 1 < w->o.n_qps ? w->next_qp + 1 : 0;
		if (q->posted - q->retired < w->o.depth)
			q->posted++;
		tp_qp_kick(a->tp, q->qp);
	}
}

/* Ticks at either end. */
static void turn(struct tw_world *w, double ticks[2])
{
	struct tw_end *a = &w->end[0], *b = &w->end[1];
	uint64_t t0 = __rdtsc(), t1, t2;

	post(w);
	tp_tx(a->tp, TW_BURST, w->now_ns);
	if (w->o.leave != NULL)
		w->o.leave(w->o.link_arg, a->out, a->n_out);
	t1 = __rdtsc();
	deliver(w, a, b);
	if (w->o.leave != NULL)
		w->o.leave(w->o.link_arg, b->out, b->n_out);
	t2 = __rdtsc();
	deliver(w, b, a);
	ticks[0] = (double)((t1 - t0) + (__rdtsc() - t2));
	ticks[1] = (double)(t2 - t1);
}

/* Of this thread, without the time that others had its core. */
static double used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void tw_move(struct tw_world *w, uint32_t messages, struct tw_round *r)
{
	double began_ns = now_ns(), began_used_ns = used_ns(), per_tick = tw_cycles_per_tick(), per_turn;
	uint64_t first = w->end[0].retired;
	uint32_t turns = 0;

	for (; w->end[0].retired < first + messages; turns++) {
		double ticks[2];

		turn(w, ticks);
		for (int i = 0; i < 2; i++)
			w->ticks[i][turns % TW_SAMPLES] = ticks[i];
		w->now_ns += STEP_NS;
		if (now_ns() - began_ns > MAX_ROUND_NS)
			tw_die("no progress");
	}
	per_turn = (double)(w->end[0].retired - first) / turns;
	r->per_second = (double)(w->end[0].retired - first) * 1e9 / (used_ns() - began_used_ns);
	turns = turns < TW_SAMPLES ? turns : TW_SAMPLES;
	r->requester = median(w->ticks[0], turns) * per_tick / per_turn;
	r->responder = median(w->ticks[1], turns) * per_tick / per_turn;
}

static double bound_of_burst(struct tw_world *w, uint64_t first)
{
	volatile uint32_t sink;
	uint32_t crc = 0, bytes = w->o.msg_bytes;
	uint64_t began = __rdtsc();

	for (uint32_t i = 0; i < TW_BURST; i++) {
		uint8_t *buf = (uint8_t *)w->free[w->n_free - 1 - i]->buf_addr + TW_HEADROOM;

		memcpy(buf, w->end[0].mem + (first + i) * bytes % TW_REGION, bytes);
		crc = crc32_gzip_refl(crc, buf, bytes);
	}
	for (uint32_t i = 0; i < TW_BURST; i++) {
		const uint8_t *buf = (const uint8_t *)w->free[w->n_free - 1 - i]->buf_addr + TW_HEADROOM;

		crc = crc32_gzip_refl(crc, buf, bytes);
		memcpy(w->end[1].mem + (first + i) * bytes % TW_REGION, buf, bytes);
	}
	sink = crc;
	(void)sink;
	return (double)(__rdtsc() - began);
}

double tw_bound(struct tw_world *w, uint32_t messages)
{
	uint32_t bursts = 0;

	for (; bursts < TW_SAMPLES && bursts * TW_BURST < messages; bursts++)
		w->ticks[0][bursts] = bound_of_burst(w, (uint64_t)bursts * TW_BURST);
	return median(w->ticks[0], bursts) * tw_cycles_per_tick() / TW_BURST;
}

void tw_check(const struct tw_world *w)
{
	if (w->end[0].failed != 0 || w->end[1].failed != 0 || tp_counters(w->end[0].tp)->retransmits != 0)
		tw_die("a message failed or was sent again");
	if (w->end[0].retired >= TW_REGION / w->o.msg_bytes && memcmp(w->end[0].mem, w->end[1].mem, TW_REGION) != 0)
		tw_die("the data is wrong");
}

void tw_pace(struct tw_world *w, uint64_t rate_bps, uint64_t lasts_ns, uint64_t away_ns, double *of_limit, double *away)
{
	struct tw_end *a = &w->end[0], *b = &w->end[1];
	uint64_t began_ns, last_ns, gone_ns = 0, bytes;
	double ticks[2];

	w->now_ns = began_ns = (uint64_t)now_ns();
	tp_advance(a->tp, w->now_ns);
	tp_advance(b->tp, w->now_ns);
	tp_qp_set_rate(a->tp, a->qps[0].qp, rate_bps);
	bytes = tp_counters(a->tp)->tx_bytes;
	do {
		last_ns = w->now_ns;
		w->now_ns = (uint64_t)now_ns();
		if (w->now_ns - last_ns > away_ns)
			gone_ns += w->now_ns - last_ns;
		tp_advance(a->tp, w->now_ns);
		tp_advance(b->tp, w->now_ns);
		turn(w, ticks);
	} while (w->now_ns - began_ns < lasts_ns);
	bytes = tp_counters(a->tp)->tx_bytes - bytes;
	*of_limit = (double)bytes * 8e9 / (double)(w->now_ns - began_ns) / (double)rate_bps;
	*away = (double)gone_ns / (double)(w->now_ns - began_ns);
}
