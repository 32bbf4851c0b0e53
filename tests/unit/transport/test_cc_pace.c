/* SPDX-License-Identifier: BSD-3-Clause */
/* A congestion controller's pace is kept, whatever the window allows (tp_pace.c). */
#include "sr_kit.h"

#define PACKETS 40u

/* Theta-PowerTCP's pace is a window a base round trip. The window cannot grow beyond two packets, and round trips are in
 * fact much shorter: two packets each 100 us, so one each 50. */
static const struct cc_config two_each_100_us = {
	.kind = CC_THETA_POWERTCP, .packet_bytes = MTU, .base_rtt_ns = 100 * US, .rate_bps = 10000000000u,
	.max_window_bytes = 2 * MTU};

/* Packets that are sent within 1 ms; all of them arrive in the end. */
static uint32_t sent_in_ms(const struct cc_config *cc)
{
	const struct hx_options o = {.ext = true, .latency_ns = 1 * US, .cc = cc};
	struct hx_world *w = make_with(o, NULL);
	uint32_t before, sent;
	uint64_t id;

	/* What comes back first sets the pace. */
	id = hx_op(w, TP_WR_WRITE, 0, 0, MTU, DST);
	pass_time(w, 1 * HX_MS);
	expect_written(w, id, MTU);
	before = w->side[0].emitted;
	id = hx_op(w, TP_WR_WRITE, 0, 0, PACKETS * MTU, DST);
	hx_run(w, 1 * HX_MS);
	sent = w->side[0].emitted - before;
	hx_run(w, 10 * HX_MS);
	expect_written(w, id, PACKETS * MTU);
	hx_free(w);
	return sent;
}

/* One each 50 us, and one more at the start. */
static void test_it_is_kept(void **state)
{
	(void)state;
	assert_in_range(sent_in_ms(&two_each_100_us), 19, 22);
}

static void test_there_may_be_none(void **state)
{
	struct cc_config window = two_each_100_us;

	(void)state;
	window.kind = CC_NSCC;
	assert_int_equal(sent_in_ms(&window), PACKETS);
	assert_int_equal(sent_in_ms(NULL), PACKETS);
}

/* What is told of a queue pair: 2 packets of 256 bytes in 100 us are 40.96 Mb/s. */
static void test_it_is_told(void **state)
{
	const struct hx_options o = {.ext = true, .latency_ns = 1 * US, .cc = &two_each_100_us}, plain = {.ext = true};
	struct hx_world *w = make_with(o, NULL);
	struct tp_paths paths;

	(void)state;
	hx_op(w, TP_WR_WRITE, 0, 0, PACKETS * MTU, DST);
	hx_run(w, 10 * HX_MS);
	assert_int_equal(tp_qp_paths(w->side[0].qps[0].qp, &paths), 0);
	assert_string_equal(paths.controller, "theta-powertcp");
	assert_int_equal(paths.window_bytes, 2 * MTU);
	assert_int_equal(paths.rate_bps, 40960000);
	hx_free(w);
	w = make_with(plain, NULL);
	assert_int_equal(tp_qp_paths(w->side[0].qps[0].qp, &paths), 0);
	assert_string_equal(paths.controller, "window");
	assert_true(paths.window_bytes > paths.window * MTU);
	assert_int_equal(paths.rate_bps, 0);
	hx_free(w);
}

/* A notification makes 80 Mb/s and then 40, and nothing raises that. */
static const struct cc_dcqcn_params params = {
	.g_1024 = 1, .alpha_period_ns = 1000 * US, .initial_alpha_1024 = 1024, .first_bps = 80000000,
	.increase_timer_ns = 1000000 * US, .increase_bytes = 1u << 30};
static const struct cc_config dcqcn = {
	.kind = CC_DCQCN, .packet_bytes = MTU, .base_rtt_ns = 10 * US, .rate_bps = 10000000000u, .dcqcn = &params};

static void notify(struct hx_world *w, int side)
{
	const struct wire_pkt cnp = {.opcode = WIRE_CNP, .becn = 1};
	const uint8_t reserved[16] = {0};

	hx_inject(w, side, cnp, reserved, sizeof(reserved));
}

/* IBTA annex A17, 17.9.3: a notification for the queue pair; 80 Mb/s become 40, a frame of about 330 bytes each 66 us. */
static void test_a_cnp_sets_it(void **state)
{
	const struct hx_options o = {.ext = true, .latency_ns = 1 * US, .cc = &dcqcn};
	struct hx_world *w = make_with(o, NULL);
	uint32_t before;
	uint64_t id;

	(void)state;
	notify(w, 0);
	assert_int_equal(counters(w, 0)->cnps_received, 1);
	before = w->side[0].emitted;
	id = hx_op(w, TP_WR_WRITE, 0, 0, PACKETS * MTU, DST);
	hx_run(w, 1 * HX_MS);
	assert_in_range(w->side[0].emitted - before, 14, 20);
	hx_run(w, 10 * HX_MS);
	expect_written(w, id, PACKETS * MTU);
	hx_free(w);
}

/* The same for a peer that has agreed to nothing, both ways of making a queue pair send: its window stays as it was. */
static void test_a_cnp_sets_the_pace_of_a_plain_one(void **state)
{
	const struct hx_options o = {.latency_ns = 1 * US, .plain_cc = &dcqcn};

	(void)state;
	for (int notified = 0; notified < 2; notified++) {
		struct hx_world *w = make_with(o, NULL);
		uint32_t before = w->side[0].emitted;
		uint64_t id;

		if (notified)
			notify(w, 0);
		id = hx_op(w, TP_WR_WRITE, 0, 0, PACKETS * MTU, DST);
		hx_run(w, 1 * HX_MS);
		if (notified)
			assert_in_range(w->side[0].emitted - before, 14, 20);
		else
			assert_int_equal(w->side[0].emitted - before, PACKETS);
		hx_run(w, 100 * HX_MS);
		expect_written(w, id, PACKETS * MTU);
		hx_free(w);
	}
}

static void test_the_answers_of_a_plain_read_keep_it_too(void **state)
{
	const struct hx_options o = {.latency_ns = 1 * US, .plain_cc = &dcqcn};
	struct hx_world *w = make_with(o, NULL);
	uint64_t id;

	(void)state;
	notify(w, 1);
	id = hx_op(w, TP_WR_READ, 0, 0, PACKETS * MTU, DST);
	hx_run(w, 1 * HX_MS);
	assert_in_range(w->side[1].emitted, 14, 20);
	hx_run(w, 100 * HX_MS);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_memory_equal(w->side[0].mem, w->side[1].mem + DST, PACKETS * MTU);
	hx_free(w);
}

/* What is lost is sent again at that pace too, and all of it arrives. */
static void test_with_losses(void **state)
{
	const struct hx_options o = {
		.ext = true, .latency_ns = 1 * US, .cc = &two_each_100_us, .seed = 1, .lose = 100};
	struct hx_world *w = make_with(o, NULL);
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, PACKETS * MTU, DST);

	(void)state;
	hx_run(w, 500 * HX_MS);
	expect_written(w, id, PACKETS * MTU);
	assert_true(counters(w, 0)->retransmits > 0);
	hx_free(w);
}

/* It may be destroyed while a packet waits for its time. */
static void test_ends_while_it_waits(void **state)
{
	const struct hx_options o = {.ext = true, .latency_ns = 1 * US, .cc = &two_each_100_us};
	struct hx_world *w = make_with(o, NULL);

	(void)state;
	(void)hx_op(w, TP_WR_WRITE, 0, 0, PACKETS * MTU, DST);
	hx_run(w, 300 * US);
	assert_int_equal(hx_to_state(w, &w->side[0].qps[0], TP_QPS_RESET), 0);
	pass_time(w, 1 * HX_MS);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_kept),
		cmocka_unit_test(test_there_may_be_none),
		cmocka_unit_test(test_it_is_told),
		cmocka_unit_test(test_a_cnp_sets_it),
		cmocka_unit_test(test_a_cnp_sets_the_pace_of_a_plain_one),
		cmocka_unit_test(test_the_answers_of_a_plain_read_keep_it_too),
		cmocka_unit_test(test_with_losses),
		cmocka_unit_test(test_ends_while_it_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
