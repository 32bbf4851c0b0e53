/* SPDX-License-Identifier: BSD-3-Clause */
/* The notification point: which marked packets make a CNP, to whom, how often, and its bytes (IBTA annex A17, 17.9). */
#include "sr_kit.h"

#define BYTES (40 * MTU)
#define CNP_TOS 0xc0u /* DSCP 48 */
#define GAP_NS (50 * US)

static enum hx_fate mark_requests(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)n;
	(void)pkt;
	return from == 0 ? HX_MARK : HX_PASS;
}

static enum hx_fate mark_answers(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)n;
	return from == 1 && pkt->opcode != WIRE_CNP ? HX_MARK : HX_PASS;
}

static struct hx_world *make_cnp(struct hx_options o, hx_script script)
{
	if (o.cnp.gap_ns == 0)
		o.cnp.gap_ns = GAP_NS;
	o.cnp.tos = CNP_TOS;
	return make_with(o, script);
}

static void write_once(struct hx_world *w, uint32_t q)
{
	const struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE, .remote_addr = HX_IOVA + DST, .rkey = w->side[1].key};

	hx_post(&w->side[0].qps[q], &wqe, &(struct hx_piece){0, BYTES}, 1);
	pass_time(w, HX_S);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
}

static void a_mark_notifies_the_sender(void **state)
{
	struct hx_world *w = make_cnp((struct hx_options){0}, mark_requests);
	const struct wire_pkt *cnp = NULL;

	(void)state;
	write_once(w, 0);
	for (uint32_t i = 0; i < w->n_log && cnp == NULL; i++) {
		if (w->log[i].pkt.opcode == WIRE_CNP)
			cnp = &w->log[i].pkt;
	}
	assert_non_null(cnp);
	assert_int_equal(cnp->dqpn, w->side[0].qps[0].qpn);
	assert_int_equal(cnp->becn, 1);
	assert_int_equal(cnp->fecn, 0);
	assert_int_equal(cnp->psn, 0);
	assert_int_equal(cnp->pkey, 0xffff);
	assert_int_equal(cnp->payload_bytes, 16);
	assert_int_equal(cnp->ack_req, 0);
	assert_int_equal(cnp->tos, CNP_TOS);
	assert_true(counters(w, 1)->marked >= 40);
	assert_int_equal(counters(w, 1)->cnps_sent, counters(w, 0)->cnps_received);
	hx_free(w);
}

static void unmarked_packets_make_none(void **state)
{
	struct hx_world *w = make_cnp((struct hx_options){0}, NULL);

	(void)state;
	write_once(w, 0);
	assert_int_equal(counters(w, 1)->marked, 0);
	assert_int_equal(counters(w, 1)->cnps_sent, 0);
	hx_free(w);
}

static void without_a_gap_none_are_sent(void **state)
{
	struct hx_world *w = make_with((struct hx_options){0}, mark_requests);

	(void)state;
	write_once(w, 0);
	assert_true(counters(w, 1)->marked >= 40);
	assert_int_equal(counters(w, 1)->cnps_sent, 0);
	hx_free(w);
}

/* Times of one CNP after the other, whatever queue pair they are for. */
static void assert_gaps(const struct hx_world *w, uint64_t gap_ns)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < w->n_log; i++) {
		if (w->log[i].pkt.opcode != WIRE_CNP)
			continue;
		assert_true(last_ns == 0 || w->log[i].at_ns - last_ns >= gap_ns);
		last_ns = w->log[i].at_ns;
	}
	assert_true(last_ns != 0);
}

static void a_queue_pair_is_notified_once_in_a_gap(void **state)
{
	struct hx_world *w = make_cnp((struct hx_options){.window = 4}, mark_requests);

	(void)state;
	write_once(w, 0);
	write_once(w, 0);
	assert_gaps(w, GAP_NS);
	assert_true(counters(w, 1)->cnps_sent >= 4);
	hx_free(w);
}

static void an_address_is_notified_once_in_its_gap(void **state)
{
	struct hx_options o = {.n_qps = 4, .window = 4, .cnp = {.gap_ns = 1, .peer_gap_ns = 100 * US}};
	struct hx_world *w = make_cnp(o, mark_requests);
	uint64_t sent;

	(void)state;
	for (uint32_t q = 0; q < 4; q++)
		write_once(w, q);
	assert_gaps(w, 100 * US);
	sent = counters(w, 1)->cnps_sent;
	hx_free(w);
	o.cnp.peer_gap_ns = 0;
	w = make_cnp(o, mark_requests);
	for (uint32_t q = 0; q < 4; q++)
		write_once(w, q);
	assert_true(counters(w, 1)->cnps_sent > 2 * sent);
	hx_free(w);
}

/* A READ's answers are data as well: the requester notifies the responder. */
static void marked_answers_notify_the_responder(void **state)
{
	for (int ext = 0; ext < 2; ext++) {
		struct hx_world *w = make_cnp((struct hx_options){.ext = ext}, mark_answers);

		(void)state;
		hx_op(w, TP_WR_READ, 0, 0, BYTES, DST);
		pass_time(w, HX_S);
		assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
		assert_true(counters(w, 0)->cnps_sent >= 1);
		assert_true(counters(w, 1)->cnps_received >= 1);
		hx_free(w);
	}
}

/* Annex A14: an initiator sends requests and a target answers; either half may be what has to slow down. */
static void both_halves_of_xrc_are_notified(void **state)
{
	(void)state;
	for (int answers = 0; answers < 2; answers++) {
		struct hx_world *w = make_cnp((struct hx_options){.type = TP_QPT_XRC_INI}, answers ? mark_answers : mark_requests);
		const struct tp_send_wqe wqe = {.opcode = answers ? TP_WR_READ : TP_WR_WRITE, .remote_addr = HX_IOVA + DST,
			.rkey = w->side[1].srq_key, .srqn = tp_srq_number(w->side[1].srq.srq)};

		hx_post(&w->side[0].qps[0], &wqe, &(struct hx_piece){0, BYTES}, 1);
		pass_time(w, HX_S);
		assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
		assert_true(counters(w, answers)->cnps_received >= 1);
		assert_int_equal(counters(w, answers)->cnps_received, counters(w, !answers)->cnps_sent);
		assert_int_equal(counters(w, answers)->drops[BASE_DROP_QP_TYPE], 0);
		hx_free(w);
	}
}

/* RC_SACKs tell of marks already. */
static void who_has_agreed_hears_of_marks_otherwise(void **state)
{
	struct hx_world *w = make_cnp((struct hx_options){.ext = true}, mark_requests);

	(void)state;
	write_once(w, 0);
	assert_true(counters(w, 1)->marked >= 40);
	assert_int_equal(counters(w, 1)->cnps_sent, 0);
	hx_free(w);
}

static void a_notification_changes_no_state(void **state)
{
	struct hx_world *w = make_cnp((struct hx_options){0}, NULL);
	struct wire_pkt pkt = {.opcode = WIRE_CNP, .becn = 1};
	static const uint8_t zeros[16];

	(void)state;
	for (int to = 0; to < 2; to++) {
		hx_inject(w, to, pkt, zeros, sizeof(zeros));
		assert_int_equal(counters(w, to)->cnps_received, 1);
	}
	assert_int_equal(w->n_log, 0);
	write_once(w, 0);
	assert_int_equal(counters(w, 1)->duplicates, 0);
	hx_free(w);
}

static void no_buffer_means_no_notification(void **state)
{
	struct hx_world *w = make_cnp((struct hx_options){0}, NULL);
	struct wire_pkt pkt = {.opcode = WIRE_RC_WRITE_ONLY, .psn = PSN, .tos = 3};

	(void)state;
	w->cut = true;
	w->side[1].empty_pools = 1;
	pkt.va = HX_IOVA;
	pkt.rkey = w->side[1].key;
	pkt.dma_bytes = 8;
	hx_inject(w, 1, pkt, "12345678", 8);
	assert_int_equal(counters(w, 1)->cnps_sent, 0);
	assert_int_equal(counters(w, 1)->drops[BASE_DROP_NO_MBUF], 1);
	assert_int_equal(hx_count(w, 1, WIRE_RC_ACK), 0); /* not asked for */
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_notifies_the_sender),
		cmocka_unit_test(unmarked_packets_make_none),
		cmocka_unit_test(without_a_gap_none_are_sent),
		cmocka_unit_test(a_queue_pair_is_notified_once_in_a_gap),
		cmocka_unit_test(an_address_is_notified_once_in_its_gap),
		cmocka_unit_test(marked_answers_notify_the_responder),
		cmocka_unit_test(both_halves_of_xrc_are_notified),
		cmocka_unit_test(who_has_agreed_hears_of_marks_otherwise),
		cmocka_unit_test(a_notification_changes_no_state),
		cmocka_unit_test(no_buffer_means_no_notification),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
