/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates: of a queue pair, and of all that share a shaper. What is sent in a time is the rate's, and no burst is longer than
 * it may be. */
#include <errno.h>

#include "qos_bucket.h"
#include "sr_kit.h"

#define BIG     (256 * 1024u)
#define MBPS    1000000u
#define FRAME   (MTU + 128u)

/* Bytes that queue pair q of side 0 has sent until now. */
static uint64_t sent_bytes(const struct hx_world *w, uint32_t q)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < w->n_log; i++) {
		if (w->log[i].from == 0 && w->log[i].pkt.dqpn == w->side[1].qps[q].qpn)
			bytes += w->log[i].pkt.frame_bytes;
	}
	return bytes;
}

/* The clock runs on while timers are armed that have nothing to do. */
static uint64_t last_ns(const struct hx_world *w)
{
	return w->log[w->n_log - 1].at_ns;
}

static void post(struct hx_world *w, uint32_t q, uint32_t n)
{
	const struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE, .remote_addr = HX_IOVA + DST, .rkey = w->side[1].key};

	for (uint32_t i = 0; i < n; i++)
		hx_post(&w->side[0].qps[q], &wqe, &(struct hx_piece){0, BIG}, 1);
}

static void assert_all_done(struct hx_world *w, uint32_t n)
{
	pass_time(w, 10 * HX_S);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
	assert_int_equal(counters(w, 0)->retransmits, 0);
}

#define ABOUT(value, want) assert_in_range(value, (want) - (want) / 50, (want) + (want) / 50)

/* All the log in windows of 100 us: none has more than the rate and a burst of two frames and 8 us beyond it. */
static void assert_no_burst(const struct hx_world *w, uint64_t rate_bps)
{
	uint64_t most = rate_bps / 8 * 108 / 1000000 + 4 * FRAME, bytes = 0;

	for (uint32_t i = 0, k = 0; i < w->n_log; i++) {
		if (w->log[i].from != 0)
			continue;
		bytes += w->log[i].pkt.frame_bytes;
		for (; w->log[i].at_ns - w->log[k].at_ns > 100 * US; k++)
			bytes -= w->log[k].from == 0 ? w->log[k].pkt.frame_bytes : 0u;
		assert_true(bytes <= most);
	}
}

static void a_queue_pair_keeps_its_rate(void **state)
{
	static const uint64_t rates[] = {10 * MBPS, 100 * MBPS, 1000 * MBPS};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct hx_world *w = make_with((struct hx_options){.timeout = 16}, NULL);
		uint64_t ns = (uint64_t)BIG * 8 * 1000 / (rates[i] / MBPS), now_ns = w->now_ns;

		tp_qp_set_rate(w->side[0].tp, w->side[0].qps[0].qp, rates[i]);
		post(w, 0, 2);
		hx_run(w, ns);
		ABOUT(sent_bytes(w, 0), rates[i] / 8 * (w->now_ns - now_ns) / HX_S);
		assert_all_done(w, 2);
		assert_no_burst(w, rates[i]);
		hx_free(w);
	}
}

static void answers_of_reads_keep_it_too(void **state)
{
	struct hx_world *w = make_with((struct hx_options){.timeout = 16}, NULL);
	uint64_t ns, now_ns = w->now_ns;

	(void)state;
	tp_qp_set_rate(w->side[1].tp, w->side[1].qps[0].qp, 100 * MBPS);
	hx_op(w, TP_WR_READ, 0, 0, BIG, DST);
	hx_run(w, HX_S);
	ns = last_ns(w) - now_ns;
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
	assert_true(ns * 100 / 8 / 1000 >= BIG);
	ABOUT(counters(w, 1)->tx_bytes, ns * 100 / 8 / 1000);
	hx_free(w);
}

/* Four queue pairs and one shaper: the rate for all together, and a fair part for each. */
static void a_shaper_is_shared_fairly(void **state)
{
	struct hx_world *w = make_with((struct hx_options){.timeout = 16, .n_qps = 4, .shaped = true}, NULL);
	uint64_t total = 0, now_ns = w->now_ns;

	(void)state;
	tp_shaper_set(w->side[0].tp, w->side[0].shaper, 400 * MBPS);
	for (uint32_t q = 0; q < 4; q++)
		post(w, q, 1);
	hx_run(w, 10 * HX_MS);
	for (uint32_t q = 0; q < 4; q++) {
		uint64_t bytes = sent_bytes(w, q);

		assert_in_range(bytes, 110000, 140000); /* 125,000 */
		total += bytes;
	}
	ABOUT(total, 400 / 8 * (w->now_ns - now_ns) / 1000);
	assert_all_done(w, 4);
	hx_free(w);
}

/* One of them has a limit of its own; the others share what it leaves. */
static void both_limits_hold(void **state)
{
	struct hx_world *w = make_with((struct hx_options){.timeout = 16, .n_qps = 2, .shaped = true}, NULL);

	(void)state;
	tp_shaper_set(w->side[0].tp, w->side[0].shaper, 200 * MBPS);
	tp_qp_set_rate(w->side[0].tp, w->side[0].qps[0].qp, 20 * MBPS);
	post(w, 0, 1);
	post(w, 1, 1);
	hx_run(w, 8 * HX_MS);
	assert_in_range(sent_bytes(w, 0), 20000, 21200);
	assert_in_range(sent_bytes(w, 1), 180000, 190000); /* with the burst */
	assert_all_done(w, 2);
	hx_free(w);
}

static void a_higher_rate_counts_at_once(void **state)
{
	struct hx_world *w = make_with((struct hx_options){.timeout = 16, .n_qps = 2, .shaped = true}, NULL);

	(void)state;
	tp_qp_set_rate(w->side[0].tp, w->side[0].qps[0].qp, MBPS);
	tp_shaper_set(w->side[0].tp, w->side[0].shaper, MBPS);
	post(w, 0, 1);
	post(w, 1, 1);
	hx_run(w, HX_MS);
	tp_qp_set_rate(w->side[0].tp, w->side[0].qps[0].qp, 0);
	tp_shaper_set(w->side[0].tp, w->side[0].shaper, 0);
	hx_run(w, 10 * HX_MS);
	for (int i = 0; i < 2; i++)
		assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
	hx_free(w);
}

/* Acknowledgements go at once: a slow sender is no slow receiver. */
static void acknowledgements_are_not_held_up(void **state)
{
	struct hx_world *w = make_with((struct hx_options){.timeout = 16}, NULL);
	uint64_t now_ns = w->now_ns;

	(void)state;
	tp_qp_set_rate(w->side[1].tp, w->side[1].qps[0].qp, MBPS);
	post(w, 0, 1);
	hx_run(w, HX_S);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
	assert_true(last_ns(w) - now_ns < 5 * HX_MS);
	hx_free(w);
}

static void who_waits_may_go(void **state)
{
	struct hx_world *w = make_with((struct hx_options){.timeout = 16, .n_qps = 3, .shaped = true}, NULL);
	struct tp *tp = w->side[0].tp;
	struct tp_qp_attr attr = {.state = TP_QPS_ERR};

	(void)state;
	tp_shaper_set(tp, w->side[0].shaper, MBPS);
	for (uint32_t q = 0; q < 3; q++)
		post(w, q, 1);
	hx_run(w, HX_MS);
	assert_int_equal(tp_shaper_destroy(tp, w->side[0].shaper), -EBUSY);
	/* flushed at once */
	assert_int_equal(tp_qp_modify(tp, w->side[0].qps[0].qp, &attr, TP_QP_STATE, w->now_ns), 0);
	hx_run(w, HX_MS / 10);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_WR_FLUSH_ERR);
	/* reset, and destroyed */
	attr.state = TP_QPS_RESET;
	assert_int_equal(tp_qp_modify(tp, w->side[0].qps[1].qp, &attr, TP_QP_STATE, w->now_ns), 0);
	hx_run(w, HX_MS);
	hx_free(w);
}

/* A channel that is closed holds up those that go there, and no others; what they have for acknowledgements goes. */
static void a_closed_channel_stops_its_queue_pairs_alone(void **state)
{
	struct hx_world *w = make_with((struct hx_options){.timeout = 16, .n_qps = 3, .stay_in_reset = true}, NULL);
	const struct tp_qp_attr attr = {.state = TP_QPS_RESET};
	struct tp *tp = w->side[0].tp;
	struct tp_shaper *channel;

	(void)state;
	assert_int_equal(tp_shaper_create(tp, 0, &channel), 0);
	for (uint32_t q = 0; q < 2; q++) {
		w->side[0].qps[q].channel = channel;
		hx_connect(w, q);
	}
	hx_connect(w, 2);
	tp_shaper_close(tp, channel, true);
	for (uint32_t q = 0; q < 3; q++)
		post(w, q, 1);
	hx_run(w, HX_MS);
	assert_int_equal(sent_bytes(w, 0) + sent_bytes(w, 1), 0);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
	assert_int_equal(tp_shaper_destroy(tp, channel), -EBUSY);
	tp_shaper_close(tp, channel, false);
	assert_all_done(w, 2);
	for (uint32_t q = 0; q < 2; q++)
		assert_int_equal(tp_qp_modify(tp, w->side[0].qps[q].qp, &attr, TP_QP_STATE, w->now_ns), 0);
	assert_int_equal(tp_shaper_destroy(tp, channel), 0);
	hx_free(w);
}

static void with_selective_repeat_as_well(void **state)
{
	struct hx_world *w = make_with((struct hx_options){.ext = true, .n_paths = 4, .path_ns = {0, 2 * US, 5 * US, 40 * US}},
		NULL);
	uint64_t now_ns = w->now_ns;

	(void)state;
	tp_qp_set_rate(w->side[0].tp, w->side[0].qps[0].qp, 100 * MBPS);
	post(w, 0, 1);
	hx_run(w, 10 * HX_MS);
	ABOUT(sent_bytes(w, 0), 100 / 8.0 * (double)(w->now_ns - now_ns) / 1000);
	assert_all_done(w, 1);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_pair_keeps_its_rate),
		cmocka_unit_test(answers_of_reads_keep_it_too),
		cmocka_unit_test(a_shaper_is_shared_fairly),
		cmocka_unit_test(both_limits_hold),
		cmocka_unit_test(a_higher_rate_counts_at_once),
		cmocka_unit_test(acknowledgements_are_not_held_up),
		cmocka_unit_test(who_waits_may_go),
		cmocka_unit_test(a_closed_channel_stops_its_queue_pairs_alone),
		cmocka_unit_test(with_selective_repeat_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
