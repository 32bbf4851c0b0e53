/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective repeat: only what is lost is sent again, whatever order the paths make of the rest; and nothing of it is
 * seen by a peer that has not agreed.
 */
#include <errno.h>

#include "sr_kit.h"
#include "wire_sack.h"

#define BYTES (200 * MTU)

/* Times that side `from` emitted a packet of that PSN that is none of the answers. */
static uint32_t sent_times(const struct hx_world *w, int from, uint32_t psn)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_log; i++) {
		n += w->log[i].from == from && w->log[i].pkt.psn == psn &&
			!wire_op_is(wire_opinfo(w->log[i].pkt.opcode), WIRE_OP_RESPONSE);
	}
	return n;
}

static enum hx_fate lose_psns(const struct wire_pkt *pkt, int from, uint32_t first, uint32_t n)
{
	return from == 0 && ((pkt->psn - first) & BASE_PSN_MASK) < n ? HX_LOSE : HX_PASS;
}

/* ---- order and loss ---- */

/* Delays of paths that differ twentyfold reorder nearly everything; nothing is sent again. */
static void test_reordering_alone(void **state)
{
	struct hx_world *w = make(NULL);
	uint64_t id;

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
		hx_run(w, 50 * HX_MS);
		expect_written(w, id, BYTES);
	}
	assert_true(counters(w, 1)->reordered > 100);
	assert_int_equal(counters(w, 0)->retransmits, 0);
	assert_int_equal(counters(w, 1)->seq_naks_sent, 0);
	assert_int_equal(counters(w, 1)->duplicates, 0);
	hx_free(w);
}

static enum hx_fate lose_one(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	/* The first time only: by its place in what side 0 emits. */
	return n <= 50 ? lose_psns(pkt, from, (PSN + 50) & BASE_PSN_MASK, 1) : HX_PASS;
}

static void test_one_lost(void **state)
{
	struct hx_world *w = make(lose_one);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);

	(void)state;
	hx_run(w, 50 * HX_MS);
	expect_written(w, id, BYTES);
	assert_int_equal(counters(w, 0)->retransmits, 1);
	assert_int_equal(sent_times(w, 0, (PSN + 50) & BASE_PSN_MASK), 2);
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	assert_int_equal(counters(w, 1)->seq_naks_sent, 0);
	assert_int_equal(counters(w, 1)->duplicates, 0);
	hx_free(w);
}

static enum hx_fate lose_burst(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	return n < 50 ? lose_psns(pkt, from, (PSN + 30) & BASE_PSN_MASK, 20) : HX_PASS;
}

static void test_burst_lost(void **state)
{
	struct hx_world *w = make(lose_burst);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);

	(void)state;
	hx_run(w, 50 * HX_MS);
	expect_written(w, id, BYTES);
	assert_int_equal(counters(w, 0)->retransmits, 20);
	assert_int_equal(counters(w, 1)->duplicates, 0);
	hx_free(w);
}

/* Three packets that were sent later on the same EV tell it, long before any timer. */
static void test_passed_on_its_ev(void **state)
{
	struct hx_options o = {.ext = true, .n_evs = 1};
	struct hx_world *w = make_with(o, lose_one);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST), lost_ns = 0, again_ns = 0;

	(void)state;
	hx_run(w, 50 * HX_MS);
	expect_written(w, id, BYTES);
	assert_int_equal(counters(w, 0)->retransmits, 1);
	for (uint32_t i = 0; i < w->n_log; i++) {
		if (w->log[i].from != 0 || w->log[i].pkt.psn != ((PSN + 50) & BASE_PSN_MASK))
			continue;
		if (lost_ns == 0)
			lost_ns = w->log[i].at_ns;
		again_ns = w->log[i].at_ns;
	}
	/* A round trip, and the packets of a burst. */
	assert_in_range(again_ns - lost_ns, 20 * US, 40 * US);
	hx_free(w);
}

/* What is sent again takes another EV. */
static void test_again_on_another_ev(void **state)
{
	struct hx_world *w = make(lose_one);
	uint16_t port[2] = {0};
	uint32_t n = 0;

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	hx_run(w, 50 * HX_MS);
	for (uint32_t i = 0; i < w->n_log; i++) {
		if (w->log[i].from == 0 && w->log[i].pkt.psn == ((PSN + 50) & BASE_PSN_MASK) && n < 2)
			port[n++] = w->log[i].pkt.udp_sport;
	}
	assert_int_equal(n, 2);
	assert_int_not_equal(port[0], port[1]);
	assert_in_range(port[0], 0xc000, 0xffff);
	assert_in_range(port[1], 0xc000, 0xffff);
	hx_free(w);
}

static enum hx_fate lose_last(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	return n < 3 ? lose_psns(pkt, from, PSN, 3) : HX_PASS;
}

/* Nothing comes after it: its time is over, well before the timeout of the queue pair. */
static void test_tail_lost(void **state)
{
	struct hx_world *w = make(lose_last);
	uint64_t from_ns = w->now_ns, id = hx_op(w, TP_WR_WRITE, 0, 0, 3 * MTU, DST);

	(void)state;
	while (w->side[0].send_cq.n == 0 && w->now_ns < from_ns + 50 * HX_MS)
		pass_time(w, 100 * US);
	expect_written(w, id, 3 * MTU);
	assert_int_equal(counters(w, 0)->retransmits, 3);
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	assert_true(w->now_ns - from_ns < 3 * HX_MS);
	hx_free(w);
}

/* ---- acknowledgements ---- */

static enum hx_fate lose_sacks(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)pkt;
	return from == 1 && n % 2 == 0 && hx_random(w, 8) != 0 ? HX_LOSE : HX_PASS;
}

/* Nearly half of the acknowledgements are lost: the others tell the same. */
static void test_sacks_lost(void **state)
{
	struct hx_world *w = make(lose_sacks);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);

	(void)state;
	hx_run(w, 50 * HX_MS);
	expect_written(w, id, BYTES);
	assert_true(counters(w, 0)->retransmits <= 3);
	hx_free(w);
}

static enum hx_fate lose_first_sacks(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)n;
	(void)pkt;
	return from == 1 && w->now_ns < 30 * HX_MS ? HX_LOSE : HX_PASS;
}

/* Everything arrived and nobody knows: the duplicates are acknowledged and not placed. */
static void test_duplicates(void **state)
{
	const struct hx_piece to = {DST, 10 * MTU};
	struct hx_world *w = make(lose_first_sacks);
	uint64_t recv = hx_recv(&w->side[1].qps[0], &to, 1), id = hx_op(w, TP_WR_SEND, 0, 0, 10 * MTU, 0);

	(void)state;
	hx_run(w, 200 * US);
	assert_memory_equal(w->side[1].mem + DST, w->side[0].mem, 10 * MTU);
	memset(w->side[1].mem + DST, 0x77, 10 * MTU);
	hx_run(w, 200 * HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	hx_expect(&w->side[1].recv_cq, recv, TP_WC_SUCCESS);
	hx_expect_none(w);
	assert_true(counters(w, 1)->duplicates >= 10);
	for (uint32_t i = 0; i < 10 * MTU; i++)
		assert_int_equal(w->side[1].mem[DST + i], 0x77);
	hx_free(w);
}

static enum hx_fate repeat_sacks(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)n;
	(void)pkt;
	return from == 1 ? HX_REPEAT : HX_PASS;
}

static void test_sacks_repeated(void **state)
{
	struct hx_world *w = make(repeat_sacks);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);

	(void)state;
	hx_run(w, 50 * HX_MS);
	expect_written(w, id, BYTES);
	assert_int_equal(counters(w, 0)->retransmits, 0);
	hx_free(w);
}

/* One for each request packet, from the port that it came from; the map tells of what is ahead. */
static void test_sack_fields(void **state)
{
	struct hx_world *w = make(NULL);
	struct wire_pkt pkt = {.opcode = WIRE_RC_SEND_MIDDLE, .psn = (PSN + 3) & BASE_PSN_MASK};
	const struct wire_pkt *sack;

	(void)state;
	w->cut = true;
	hx_inject(w, 1, pkt, NULL, 0);
	sack = hx_last(w, 1);
	assert_int_equal(sack->opcode, WIRE_RC_SACK);
	assert_int_equal(sack->psn, PSN - 1);
	assert_int_equal(sack->syndrome, 0x1f);
	assert_int_equal(sack->udp_sport, 0xc000);
	assert_int_equal(sack->sack_map, 1u << 2);
	assert_int_equal(sack->sack_echo, (PSN + 3) & BASE_PSN_MASK);
	/* Far ahead the map is about what lies there. */
	pkt.psn = (PSN + 1 + 64 + 5) & BASE_PSN_MASK;
	pkt.tos = 3;
	hx_inject(w, 1, pkt, NULL, 0);
	sack = hx_last(w, 1);
	assert_int_equal(sack->sack_map, 1u << 5);
	assert_int_equal(sack->sack_echo, WIRE_SACK_MARKED | 1u << WIRE_SACK_BLOCK_SHIFT | pkt.psn);
	/* Further than there is room. */
	pkt.psn = (PSN + 256) & BASE_PSN_MASK;
	pkt.tos = 0;
	hx_inject(w, 1, pkt, NULL, 0);
	sack = hx_last(w, 1);
	assert_int_equal(sack->sack_echo, WIRE_SACK_REFUSED | 3u << WIRE_SACK_BLOCK_SHIFT | pkt.psn);
	assert_int_equal(hx_count(w, 1, WIRE_RC_ACK), 0);
	hx_free(w);
}

static void expect_dropped(struct hx_world *w, struct wire_pkt pkt, enum base_drop why)
{
	uint64_t before = counters(w, 0)->drops[why];
	uint8_t junk[4] = {0};

	hx_inject(w, 0, pkt, junk, pkt.payload_bytes);
	assert_int_equal(counters(w, 0)->drops[why], before + 1);
}

static void check_echo(const struct hx_world *w, const uint8_t *payload, uint32_t i, uint32_t psn)
{
	struct wire_sack_echo echo;

	(void)w;
	wire_sack_get(payload + (size_t)i * WIRE_SACK_ECHO_BYTES, &echo);
	assert_int_equal(echo.echo, psn);
	assert_int_equal(echo.udp_sport, 0xc000);
}

/* What comes in one burst is told of together, without waiting, up to eight packets at a time. */
static void test_burst_in_one_sack(void **state)
{
	struct hx_world *w = make(NULL);
	struct wire_pkt pkt = {.opcode = WIRE_RC_SEND_MIDDLE};
	const struct wire_pkt *sack;

	(void)state;
	w->cut = true;
	hx_hold(w);
	for (uint32_t i = 1; i <= 11; i++) {
		pkt.psn = (PSN + i) & BASE_PSN_MASK;
		hx_inject(w, 1, pkt, NULL, 0);
	}
	hx_release(w, 1);
	assert_int_equal(counters(w, 1)->sacks_sent, 2);
	sack = hx_last(w, 1);
	assert_int_equal(sack->sack_more, 2);
	assert_int_equal(sack->payload_bytes, 2 * WIRE_SACK_ECHO_BYTES);
	assert_int_equal(sack->sack_echo, (PSN + 11) & BASE_PSN_MASK);
	assert_int_equal(sack->sack_map, 0x7ff);
	assert_int_equal(sack->sack_wait, 0);
	hx_free(w);
}

/* One that comes alone waits for more; a mark, an eighth one, or time, ends that. */
static void test_sack_waits(void **state)
{
	struct hx_options o = {.ext = true, .sack_wait_ns = 50 * US};
	struct hx_world *w = make_with(o, NULL);
	struct wire_pkt pkt = {.opcode = WIRE_RC_SEND_MIDDLE, .psn = (PSN + 1) & BASE_PSN_MASK};

	(void)state;
	w->cut = true;
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(counters(w, 1)->sacks_sent, 0);
	hx_run(w, 40 * US);
	assert_int_equal(counters(w, 1)->sacks_sent, 0);
	hx_run(w, 100 * US);
	assert_int_equal(counters(w, 1)->sacks_sent, 1);
	assert_in_range(hx_last(w, 1)->sack_wait, 50 * US / WIRE_SACK_WAIT_UNIT_NS, 60 * US / WIRE_SACK_WAIT_UNIT_NS);
	for (uint32_t i = 2; i < 10; i++) {
		assert_int_equal(counters(w, 1)->sacks_sent, 1);
		pkt.psn = (PSN + i) & BASE_PSN_MASK;
		hx_inject(w, 1, pkt, NULL, 0);
	}
	assert_int_equal(counters(w, 1)->sacks_sent, 2);
	assert_int_equal(hx_last(w, 1)->sack_more, 7);
	pkt.psn = (PSN + 10) & BASE_PSN_MASK;
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(counters(w, 1)->sacks_sent, 2);
	pkt.psn = (PSN + 11) & BASE_PSN_MASK;
	pkt.tos = 3;
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(counters(w, 1)->sacks_sent, 3);
	/* By the way of the one without a mark. */
	assert_int_equal(hx_last(w, 1)->sack_echo, (PSN + 10) & BASE_PSN_MASK);
	hx_free(w);
}

/* The end of a message is told at once, so is what completes it when it comes last. */
static void test_waiting_costs_no_message_time(void **state)
{
	struct hx_options o = {.ext = true, .sack_wait_ns = 500 * US};
	struct hx_world *w = make_with(o, NULL);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, 7 * MTU, DST);

	(void)state;
	hx_run(w, 300 * US);
	expect_written(w, id, 7 * MTU);
	assert_true(counters(w, 1)->sacks_sent < 7);
	hx_free(w);
}

/* What an RC_SACK tells of further packets counts like the first: all of them have arrived. */
static void test_further_echoes_taken(void **state)
{
	struct hx_world *w = make(NULL);
	struct wire_pkt pkt = {.opcode = WIRE_RC_SACK, .psn = PSN - 1, .syndrome = 0x1f, .sack_echo = PSN + 1, .sack_more = 2};
	uint8_t more[(WIRE_SACK_MORE + 1) * WIRE_SACK_ECHO_BYTES];
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, 4 * MTU, DST);

	(void)state;
	w->cut = true;
	hx_run(w, 2 * US);
	wire_sack_put(more, &(struct wire_sack_echo){.echo = PSN + 2, .udp_sport = 0xc000, .wait = 1});
	wire_sack_put(more + WIRE_SACK_ECHO_BYTES, &(struct wire_sack_echo){.echo = PSN + 3, .udp_sport = 0xc000});
	check_echo(w, more, 1, PSN + 3);
	hx_inject(w, 0, pkt, more, 2 * WIRE_SACK_ECHO_BYTES);
	assert_int_equal(counters(w, 0)->sacks_received, 1);
	/* One more, or less, than it has bytes for; more than there may be, with and without the bytes. */
	pkt.sack_more = 3;
	hx_inject(w, 0, pkt, more, 2 * WIRE_SACK_ECHO_BYTES);
	pkt.sack_more = 1;
	hx_inject(w, 0, pkt, more, 2 * WIRE_SACK_ECHO_BYTES);
	pkt.sack_more = 255;
	hx_inject(w, 0, pkt, more, 2 * WIRE_SACK_ECHO_BYTES);
	for (uint32_t i = 0; i <= WIRE_SACK_MORE; i++)
		wire_sack_put(more + (size_t)i * WIRE_SACK_ECHO_BYTES, &(struct wire_sack_echo){.echo = PSN, .udp_sport = 0xc000});
	pkt.sack_more = WIRE_SACK_MORE + 1;
	hx_inject(w, 0, pkt, more, sizeof(more));
	assert_int_equal(counters(w, 0)->drops[BASE_DROP_UNSUPPORTED], 4);
	/* One that is further away than what was sent. */
	pkt.sack_more = 2;
	wire_sack_put(more, &(struct wire_sack_echo){.echo = PSN + 4, .udp_sport = 0xc000});
	hx_inject(w, 0, pkt, more, 2 * WIRE_SACK_ECHO_BYTES);
	assert_int_equal(counters(w, 0)->drops[BASE_DROP_ACK_WINDOW], 1);
	assert_int_equal(counters(w, 0)->sacks_received, 1);
	/* Until the responder turns out not to have them. */
	hx_run(w, 1200 * US);
	assert_int_equal(sent_times(w, 0, PSN), 2);
	for (uint32_t i = 1; i < 4; i++)
		assert_int_equal(sent_times(w, 0, (PSN + i) & BASE_PSN_MASK), 1);
	w->cut = false;
	hx_run(w, 500 * HX_MS);
	expect_written(w, id, 4 * MTU);
	hx_free(w);
}

/* A peer that tells of what was never sent, or in a shape that there is not. */
static void test_hostile_sacks(void **state)
{
	struct hx_world *w = make(NULL);
	const struct wire_pkt good = {.opcode = WIRE_RC_SACK, .psn = PSN - 1, .syndrome = 0x1f, .sack_echo = PSN};
	struct wire_pkt pkt = good;
	struct tp_qp_attr peer;
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, 4 * MTU, DST), unsupported;

	(void)state;
	w->cut = true;
	hx_run(w, 2 * US);
	assert_int_equal(w->side[0].emitted, 4);
	pkt.psn = PSN + 4;
	expect_dropped(w, pkt, BASE_DROP_ACK_WINDOW);
	pkt = good;
	pkt.sack_map = 1u << 3;
	expect_dropped(w, pkt, BASE_DROP_ACK_WINDOW);
	pkt.sack_map = 1;
	pkt.sack_echo |= 1u << WIRE_SACK_BLOCK_SHIFT;
	expect_dropped(w, pkt, BASE_DROP_ACK_WINDOW);
	pkt = good;
	pkt.sack_echo = PSN + 4;
	expect_dropped(w, pkt, BASE_DROP_ACK_WINDOW);
	pkt = good;
	pkt.syndrome = 0x60;
	expect_dropped(w, pkt, BASE_DROP_UNSUPPORTED);
	pkt = good;
	pkt.payload_bytes = 4;
	expect_dropped(w, pkt, BASE_DROP_UNSUPPORTED);
	unsupported = counters(w, 0)->drops[BASE_DROP_UNSUPPORTED];
	/* with a pad, which it never has */
	pkt = good;
	pkt.l3_version = 4;
	pkt.ttl = 64;
	pkt.pkey = 0xffff;
	pkt.dqpn = w->side[0].qps[0].qpn;
	pkt.pad = 2;
	hx_attr(w, 1, 0, &peer);
	hx_inject_raw(w, 0, pkt, &peer.av.net, NULL, 0);
	assert_int_equal(counters(w, 0)->drops[BASE_DROP_UNSUPPORTED], unsupported + 1);
	assert_int_equal(w->side[0].send_cq.n, 0);
	/* Told that all but the first came, it sends that one; told nothing more, all of them in the end. */
	pkt = good;
	pkt.sack_map = 7;
	pkt.sack_echo = PSN + 3;
	hx_inject(w, 0, pkt, NULL, 0);
	w->cut = false;
	hx_run(w, 500 * HX_MS);
	expect_written(w, id, 4 * MTU);
	hx_free(w);
}

/* ---- agreement ---- */

static void test_not_agreed(void **state)
{
	struct hx_options o = {.ext_unagreed = true};
	struct hx_world *w = make_with(o, lose_one);
	struct wire_pkt sack = {.opcode = WIRE_RC_SACK, .psn = PSN - 1, .syndrome = 0x1f, .sack_echo = PSN};
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);

	(void)state;
	hx_run(w, 50 * HX_MS);
	expect_written(w, id, BYTES);
	assert_int_equal(hx_count(w, 1, WIRE_RC_SACK), 0);
	assert_int_equal(counters(w, 1)->seq_naks_sent, 1);
	assert_int_equal(counters(w, 1)->reordered, 0);
	for (uint32_t i = 0; i < w->n_log; i++)
		assert_int_equal(w->log[i].pkt.udp_sport, 0xc123);
	hx_inject(w, 0, sack, NULL, 0);
	assert_int_equal(counters(w, 0)->drops[BASE_DROP_UNSUPPORTED], 1);
	hx_free(w);
}

static void test_attributes(void **state)
{
	struct hx_options o = {.ext_unagreed = true, .stay_in_reset = true};
	struct hx_world *w = make_with(o, NULL);
	struct hx_qp *q = &w->side[0].qps[0];
	const uint32_t mask = TP_QP_STATE | TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN |
		TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER | TP_QP_EXT;
	struct tp_qp_attr attr, out;

	(void)state;
	assert_int_equal(hx_to_state(w, q, TP_QPS_INIT), 0);
	hx_attr(w, 0, 0, &attr);
	attr.state = TP_QPS_RTR;
	attr.ext = 4;
	assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &attr, mask, 0), -EINVAL);
	attr.ext = TP_EXT_SACK;
	w->sched.n_evs = 65;
	assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &attr, mask, 0), -EINVAL);
	w->sched.n_evs = 16;
	w->sched.keep_order = true;
	assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &attr, mask, 0), -EINVAL);
	w->sched.keep_order = false;
	assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &attr, mask, 0), 0);
	tp_qp_query(q->qp, &out);
	assert_int_equal(out.ext, TP_EXT_SACK);
	/* RESET ends it; the next peer may be another one. */
	assert_int_equal(hx_to_state(w, q, TP_QPS_RESET), 0);
	tp_qp_query(q->qp, &out);
	assert_int_equal(out.ext, 0);
	hx_free(w);
}

/* Who has no room for it cannot agree, and other services have none. */
static void test_no_room(void **state)
{
	struct hx_options o = {.ext_unagreed = true, .type = TP_QPT_RC};
	struct hx_world *w = make_with(o, NULL);
	struct tp_qp_init init = {.type = TP_QPT_UC, .pd = HX_PD, .sq_depth = 1, .rq_depth = 1, .ext = TP_EXT_SACK};
	struct tp_qp *qp;
	uint32_t qpn;

	(void)state;
	assert_int_equal(tp_qp_create(w->side[0].tp, &init, &qp, &qpn), -EINVAL);
	init.type = TP_QPT_RC;
	init.ext = 4;
	assert_int_equal(tp_qp_create(w->side[0].tp, &init, &qp, &qpn), -EINVAL);
	hx_free(w);
}

/* ---- a request that fails here ---- */

#define FIRST  (PSN & BASE_PSN_MASK)
#define SECOND ((PSN + 1) & BASE_PSN_MASK)

/* The first two packets are lost, the first one again when it is sent again. */
static enum hx_fate lose_two(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)n;
	if (from != 0 || (pkt->psn != FIRST && pkt->psn != SECOND))
		return HX_PASS;
	return sent_times(w, 0, pkt->psn) <= (pkt->psn == FIRST ? 2u : 1u) ? HX_LOSE : HX_PASS;
}

/* A region of its own, so that it can end alone. */
static uint32_t make_region(struct hx_side *s)
{
	struct tp_mr_attr attr = {.pd = HX_PD, .iova = HX_IOVA, .addr = (uintptr_t)s->mem, .bytes = HX_MEM_BYTES,
		.as = s, .direct = s->mem};
	uint32_t key;

	assert_int_equal(tp_mr_create(s->tp, &attr, &key), 0);
	return key;
}

/* What cannot be sent again waits for its turn to fail; what was sent before it and is lost once more is sent again. */
static void test_failed_request_keeps_nobody_waiting(void **state)
{
	struct hx_world *w = make(lose_two);
	struct hx_side *s = &w->side[0];
	uint32_t key = make_region(s);
	struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE, .remote_addr = HX_IOVA + DST + MTU, .rkey = w->side[1].key};
	struct tp_sge sge = {.addr = HX_IOVA, .bytes = MTU, .lkey = key};
	uint64_t first = hx_op(w, TP_WR_WRITE, 0, 0, MTU, DST), second = hx_post_raw(&s->qps[0], &wqe, &sge, 1);

	(void)state;
	(void)hx_op(w, TP_WR_WRITE, 0, 0, 40 * MTU, DST + 2 * MTU);
	hx_run(w, US);
	assert_int_equal(tp_mr_destroy(s->tp, key), 0);
	hx_run(w, HX_S);
	hx_expect(&s->send_cq, first, TP_WC_SUCCESS);
	hx_expect(&s->send_cq, second, TP_WC_LOC_PROT_ERR);
	assert_int_equal(sent_times(w, 0, FIRST), 3);
	/* by what was heard of it and not by the timeout of the queue pair */
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reordering_alone),
		cmocka_unit_test(test_failed_request_keeps_nobody_waiting),
		cmocka_unit_test(test_one_lost),
		cmocka_unit_test(test_burst_lost),
		cmocka_unit_test(test_passed_on_its_ev),
		cmocka_unit_test(test_again_on_another_ev),
		cmocka_unit_test(test_tail_lost),
		cmocka_unit_test(test_sacks_lost),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_sacks_repeated),
		cmocka_unit_test(test_sack_fields),
		cmocka_unit_test(test_burst_in_one_sack),
		cmocka_unit_test(test_sack_waits),
		cmocka_unit_test(test_waiting_costs_no_message_time),
		cmocka_unit_test(test_further_echoes_taken),
		cmocka_unit_test(test_hostile_sacks),
		cmocka_unit_test(test_not_agreed),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
