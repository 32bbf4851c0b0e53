/* SPDX-License-Identifier: BSD-3-Clause */
/* Planes: one queue pair over several ports, each with addresses of its own. */
#include <errno.h>

#include "sr_kit.h"

#define BYTES (1000 * MTU)

static struct hx_world *make_planes(uint8_t more, bool v6)
{
	return make_with((struct hx_options){.ext = true, .n_planes = more, .l3_version = v6 ? 6 : 4}, NULL);
}

static uint32_t sent_on(const struct hx_world *w, int from, uint8_t plane)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_log; i++)
		n += w->log[i].from == from && w->log[i].pkt.plane == plane;
	return n;
}

static void share(uint8_t more, bool v6)
{
	struct hx_world *w = make_planes(more, v6);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	uint32_t planes = 1u + more;

	hx_run(w, 100 * HX_MS);
	expect_written(w, id, BYTES);
	for (uint8_t p = 0; p < planes; p++)
		assert_in_range(sent_on(w, 0, p), 700 / planes, 1300 / planes);
	assert_int_equal(counters(w, 0)->retransmits, 0);
	hx_free(w);
}

static void each_plane_carries_its_share(void **state)
{
	(void)state;
	for (uint8_t more = 1; more < TP_MAX_PLANES; more++) {
		share(more, false);
		share(more, true);
	}
}

/* So that the requester learns of the path that the packet took, not of another one. */
static void acknowledgements_return_on_the_plane_of_their_packet(void **state)
{
	struct hx_world *w = make_planes(1, false);
	uint8_t plane_of[1000] = {0};
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);

	(void)state;
	hx_run(w, 100 * HX_MS);
	expect_written(w, id, BYTES);
	for (uint32_t i = 0; i < w->n_log; i++) {
		const struct wire_pkt *pkt = &w->log[i].pkt;

		if (w->log[i].from == 0)
			plane_of[(pkt->psn - PSN) & BASE_PSN_MASK] = pkt->plane;
		else if (pkt->opcode == WIRE_RC_SACK)
			assert_int_equal(pkt->plane, plane_of[((pkt->sack_echo & BASE_PSN_MASK) - PSN) & BASE_PSN_MASK]);
	}
	hx_free(w);
}

static void cut_one(uint8_t plane, uint8_t opcode)
{
	struct hx_world *w = make_planes(1, false);
	uint64_t id = hx_op(w, opcode, 0, opcode == TP_WR_READ ? DST : 0, BYTES, opcode == TP_WR_READ ? 0 : DST);
	uint32_t before;

	hx_run(w, 60 * US);
	w->cut_planes = 1u << plane;
	hx_run(w, 500 * HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	if (opcode == TP_WR_WRITE)
		assert_memory_equal(w->side[1].mem + DST, w->side[0].mem, BYTES);
	else
		assert_memory_equal(w->side[0].mem + DST, w->side[1].mem, BYTES);
	assert_int_equal(counters(w, 0)->ack_timeouts, 0);
	/* and it is used again once it works */
	w->cut_planes = 0;
	pass_time(w, 20 * HX_MS);
	before = sent_on(w, 0, plane);
	id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);
	hx_run(w, 500 * HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_true(sent_on(w, 0, plane) > before + 100);
	hx_free(w);
}

static void a_plane_that_is_cut_costs_nothing_but_time(void **state)
{
	(void)state;
	for (uint8_t plane = 0; plane < 2; plane++) {
		cut_one(plane, TP_WR_WRITE);
		cut_one(plane, TP_WR_READ);
	}
}

/* Requests that came by each plane until now, and those that the acknowledgements on each told of. */
static void by_plane(const struct hx_world *w, uint32_t came[TP_MAX_PLANES], uint32_t told[TP_MAX_PLANES])
{
	for (uint32_t i = 0; i < w->n_log; i++) {
		const struct wire_pkt *pkt = &w->log[i].pkt;

		if (w->log[i].from == 0)
			came[pkt->plane]++;
		else if (pkt->opcode == WIRE_RC_SACK)
			told[pkt->plane] += 1u + pkt->sack_more;
	}
}

/* docs/wire.md: packets that came by different planes are told of apart, each on its own, though they came in one burst. */
static void what_one_acknowledgement_tells_of_came_by_one_plane(void **state)
{
	(void)state;
	for (uint8_t more = 1; more < TP_MAX_PLANES; more++) {
		struct hx_options o = {.ext = true, .n_planes = more, .sack_wait_ns = 50 * US};
		uint32_t came[TP_MAX_PLANES] = {0}, told[TP_MAX_PLANES] = {0};
		struct hx_world *w = make_with(o, NULL);
		uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, BYTES, DST);

		hx_run(w, 100 * HX_MS);
		expect_written(w, id, BYTES);
		by_plane(w, came, told);
		for (uint8_t p = 0; p <= more; p++)
			assert_int_equal(told[p], came[p]);
		assert_int_equal(counters(w, 0)->retransmits, 0);
		/* and they were told of several at a time */
		assert_true(counters(w, 1)->sacks_sent < BYTES / MTU / 3);
		hx_free(w);
	}
}

/* A NAK that could only take the plane that is cut would never arrive. */
static void a_receiver_that_is_not_ready_is_heard_over_any_plane(void **state)
{
	struct hx_world *w = make_planes(1, false);
	uint64_t id;

	(void)state;
	w->cut_planes = 1;
	id = hx_op(w, TP_WR_SEND, 0, 0, 10 * MTU, 0);
	hx_run(w, 5 * HX_MS);
	assert_true(counters(w, 0)->rnr_naks_received > 0);
	hx_recv(&w->side[1].qps[0], &(struct hx_piece){DST, 10 * MTU}, 1);
	hx_run(w, 500 * HX_MS);
	expect_written(w, id, 10 * MTU);
	hx_free(w);
}

/* 10.3.1: in SQD the address vector may change. The planes were beside the old one. */
static void another_address_vector_has_no_planes(void **state)
{
	struct hx_world *w = make_planes(1, false);
	struct hx_qp *q = &w->side[0].qps[0];
	struct tp_qp_attr attr;
	uint32_t before;
	uint64_t id;

	(void)state;
	assert_int_equal(hx_to_state(w, q, TP_QPS_SQD), 0);
	hx_attr(w, 0, 0, &attr);
	attr.state = TP_QPS_SQD;
	assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &attr, TP_QP_STATE | TP_QP_AV, w->now_ns), 0);
	assert_int_equal(hx_to_state(w, q, TP_QPS_RTS), 0);
	before = sent_on(w, 0, 1);
	id = hx_op(w, TP_WR_WRITE, 0, 0, 100 * MTU, DST);
	hx_run(w, 100 * HX_MS);
	expect_written(w, id, 100 * MTU);
	assert_int_equal(sent_on(w, 0, 1), before);
	hx_free(w);
}

/* IBTA annex A17.3.1, for each plane: who did not agree takes nothing from another address. */
static void without_agreement_a_plane_is_a_strangers(void **state)
{
	struct hx_world *w = make_with((struct hx_options){.n_planes = 1}, NULL);
	uint64_t id;

	(void)state;
	id = hx_op(w, TP_WR_WRITE, 0, 0, 10 * MTU, DST);
	hx_run(w, 50 * HX_MS);
	expect_written(w, id, 10 * MTU);
	assert_int_equal(sent_on(w, 0, 1), 0);
	hx_free(w);
}

static void planes_are_checked(void **state)
{
	struct hx_world *w = make_with((struct hx_options){.ext_unagreed = true, .stay_in_reset = true}, NULL);
	struct hx_qp *q = &w->side[0].qps[0];
	const uint32_t mask = TP_QP_STATE | TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN |
		TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER | TP_QP_EXT;
	struct tp_av planes[TP_MAX_PLANES];
	struct tp_qp_attr attr;

	(void)state;
	assert_int_equal(hx_to_state(w, q, TP_QPS_INIT), 0);
	hx_attr(w, 0, 0, &attr);
	for (uint32_t i = 0; i < TP_MAX_PLANES; i++)
		planes[i] = attr.av;
	attr.state = TP_QPS_RTR;
	attr.ext = TP_EXT_SACK;
	attr.n_planes = TP_MAX_PLANES;
	attr.planes = planes;
	assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &attr, mask, 0), -EINVAL);
	attr.n_planes = 1;
	attr.planes = NULL;
	assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &attr, mask, 0), -EINVAL);
	attr.planes = planes;
	planes[0].l3_version = 6;
	assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &attr, mask, 0), -EINVAL);
	planes[0].l3_version = 4;
	assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &attr, mask, 0), 0);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_plane_carries_its_share),
		cmocka_unit_test(acknowledgements_return_on_the_plane_of_their_packet),
		cmocka_unit_test(what_one_acknowledgement_tells_of_came_by_one_plane),
		cmocka_unit_test(a_plane_that_is_cut_costs_nothing_but_time),
		cmocka_unit_test(a_receiver_that_is_not_ready_is_heard_over_any_plane),
		cmocka_unit_test(without_agreement_a_plane_is_a_strangers),
		cmocka_unit_test(another_address_vector_has_no_planes),
		cmocka_unit_test(planes_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
