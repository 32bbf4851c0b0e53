/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path of a flow whose peer takes packets in order only: it goes to another UDP source port when nothing is
 * outstanding, to a faster one and away from a slow one, and what arrives is always in order.
 */
#include <errno.h>

#include "sr_kit.h"

#define MS    (1000 * US)
#define BYTES (40 * MTU)

static struct hx_world *make_flow(enum path_sched_kind kind, uint32_t n_paths)
{
	/* 67 ms: what is late is not lost */
	struct hx_options o = {.plain = true, .move = true, .sched = kind, .n_paths = n_paths, .timeout = 14};

	return make_with(o, NULL);
}

static uint32_t path_of_last(const struct hx_world *w)
{
	return hx_path(w, hx_last(w, 0)->udp_sport);
}

/* Requests of side 0 that took the path, from the i-th frame on. */
static uint32_t n_on_path(const struct hx_world *w, uint32_t path, uint32_t i)
{
	uint32_t n = 0;

	for (; i < w->n_log; i++)
		n += w->log[i].from == 0 && hx_path(w, w->log[i].pkt.udp_sport) == path;
	return n;
}

/* Nothing had to be put in order or sent again. */
static void assert_in_order(const struct hx_world *w)
{
	for (int side = 0; side < 2; side++) {
		assert_int_equal(counters(w, side)->drops[BASE_DROP_OUT_OF_ORDER], 0);
		assert_int_equal(counters(w, side)->seq_naks_sent, 0);
		assert_int_equal(counters(w, side)->retransmits, 0);
		assert_int_equal(counters(w, side)->ack_timeouts, 0);
	}
}

static void write_bytes(struct hx_world *w, uint32_t bytes)
{
	uint64_t id = hx_op(w, TP_WR_WRITE, 0, 0, bytes, DST);

	hx_run(w, HX_S);
	expect_written(w, id, bytes);
}

/* n messages with idle gaps between them. */
static void trickle(struct hx_world *w, uint32_t n, uint64_t gap_ns)
{
	while (n-- > 0) {
		write_bytes(w, MTU);
		w->now_ns += gap_ns;
	}
}

/* ---- order ---- */

/* Each path has its own delay, which changes all the time; messages of all kinds and lengths, gaps of all lengths. */
static void mixed_traffic(struct hx_world *w)
{
	static const enum tp_wr_opcode ops[] = {TP_WR_WRITE, TP_WR_READ, TP_WR_FETCH_ADD};

	for (int i = 0; i < 400; i++) {
		enum tp_wr_opcode op = ops[hx_random(w, 8) < 6 ? 0 : hx_random(w, 3)];

		w->o.path_ns[hx_random(w, w->o.n_paths)] = hx_random(w, hx_random(w, 4) == 0 ? 2 * MS : 40 * US);
		for (uint32_t n = hx_random(w, 4); n > 0; n--) {
			(void)hx_op(w, op, 0, 0, op == TP_WR_FETCH_ADD ? 8 : 1 + hx_random(w, 60 * MTU), DST);
			if (hx_random(w, 2) == 0)
				hx_run(w, hx_random(w, 300 * US));
		}
		pass_time(w, hx_random(w, 3) == 0 ? 10 * MS : hx_random(w, 400 * US));
	}
	hx_run(w, HX_S);
}

static void test_order_is_kept(void **state)
{
	static const enum path_sched_kind kinds[] = {PATH_SCHED_ADAPTIVE, PATH_SCHED_ECMP, PATH_SCHED_PLB};

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (uint32_t seed = 1; seed <= 10; seed++) {
			struct hx_world *w = make_flow(kinds[k], 8);

			w->rng += seed;
			mixed_traffic(w);
			assert_in_order(w);
			for (uint32_t n = w->side[0].send_cq.n; n > 0; n--)
				assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
			if (kinds[k] == PATH_SCHED_ADAPTIVE)
				assert_true(counters(w, 0)->moves > 8);
			else
				assert_int_equal(counters(w, 0)->moves, 0);
			hx_free(w);
		}
	}
}

/* The others go by gaps as well, which are longer than what the paths were seen to differ by. */
static void test_order_is_kept_by_gaps(void **state)
{
	static const enum path_sched_kind kinds[] = {PATH_SCHED_ROUND_ROBIN, PATH_SCHED_FLOWLET, PATH_SCHED_REPS,
		PATH_SCHED_BITMAP, PATH_SCHED_MIXED, PATH_SCHED_WEIGHTED};

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct hx_world *w = make_flow(kinds[k], 8);

		for (uint32_t i = 0; i < w->o.n_paths; i++)
			w->o.path_ns[i] = hx_random(w, 60 * US);
		for (int i = 0; i < 2000; i++) {
			(void)hx_op(w, TP_WR_WRITE, 0, 0, 1 + hx_random(w, 10 * MTU), DST);
			pass_time(w, hx_random(w, 3) == 0 ? 200 * US : hx_random(w, 30 * US));
		}
		hx_run(w, HX_S);
		assert_in_order(w);
		/* these two recycle the port whose packets arrive well: nobody tells of marks here */
		if (kinds[k] != PATH_SCHED_REPS && kinds[k] != PATH_SCHED_MIXED)
			assert_true(counters(w, 0)->moves > 8);
		hx_free(w);
	}
}

/* ---- which path ---- */

static void test_goes_to_a_fast_path_after_gaps(void **state)
{
	(void)state;
	for (uint32_t fast = 0; fast < 4; fast++) {
		struct hx_world *w = make_flow(PATH_SCHED_ADAPTIVE, 4);
		uint32_t from;

		for (uint32_t i = 0; i < 4; i++)
			w->o.path_ns[i] = i == fast ? 0 : 200 * US;
		trickle(w, 1000, 300 * US);
		from = w->n_log;
		trickle(w, 100, 300 * US);
		assert_int_equal(n_on_path(w, fast, from), 100);
		assert_in_order(w);
		hx_free(w);
	}
}

/* All are tried once, and that is all. */
static void test_comes_back_from_a_worse_one(void **state)
{
	struct hx_world *w = make_flow(PATH_SCHED_ADAPTIVE, 4);
	uint32_t home;

	(void)state;
	write_bytes(w, MTU);
	home = path_of_last(w);
	for (uint32_t i = 0; i < 4; i++)
		w->o.path_ns[i] = i == home ? 0 : 200 * US;
	trickle(w, 5000, 300 * US);
	assert_int_equal(path_of_last(w), home);
	assert_true(n_on_path(w, home, 0) > 4980);
	assert_in_order(w);
	hx_free(w);
}

/* One long message, whose path becomes slow: it stops once for the others, with an acknowledgement asked for. */
static void test_leaves_a_slow_path_under_load(void **state)
{
	struct hx_world *w = make_flow(PATH_SCHED_ADAPTIVE, 4);
	uint32_t slow, from;
	uint64_t id;

	(void)state;
	trickle(w, 50, 10 * US);
	slow = path_of_last(w);
	id = hx_op(w, TP_WR_WRITE, 0, 0, DST, DST);
	hx_run(w, 30 * US);
	w->o.path_ns[slow] = 300 * US;
	from = w->n_log;
	hx_run(w, HX_S);
	expect_written(w, id, DST);
	assert_int_not_equal(path_of_last(w), slow);
	/* of 2048: a few windows until it is found, of 8 EVs perhaps three that lead there */
	assert_true(n_on_path(w, slow, from) < 1000);
	assert_in_order(w);
	hx_free(w);
}

/* A path on which nothing arrives is left by the timeout, and not tried again. */
static void test_dead_is_dead(void **state)
{
	struct hx_world *w = make_flow(PATH_SCHED_ADAPTIVE, 4);
	uint32_t dead, from;

	(void)state;
	write_bytes(w, MTU);
	dead = path_of_last(w);
	w->cut_paths = 1u << dead;
	trickle(w, 3000, 300 * US);
	/* each EV that leads there costs one timeout */
	assert_true(counters(w, 0)->ack_timeouts >= 1 && counters(w, 0)->ack_timeouts <= 4);
	from = w->n_log;
	trickle(w, 3000, 300 * US);
	assert_int_equal(n_on_path(w, dead, from), 0);
	hx_free(w);
}

/* ---- what is measured ---- */

static enum hx_fate lose_first_answer(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)w;
	(void)pkt;
	return from == 1 && n == 0 ? HX_LOSE : HX_PASS;
}

/* Karn's rule: an acknowledgement of what was sent twice may be for either. */
static void test_no_time_of_what_was_sent_again(void **state)
{
	struct hx_options o = {.plain = true, .timeout = 8};
	struct hx_world *w = make_with(o, lose_first_answer);
	struct tp_paths paths;

	(void)state;
	write_bytes(w, MTU);
	assert_int_equal(counters(w, 0)->ack_timeouts, 1);
	assert_int_equal(tp_qp_paths(w->side[0].qps[0].qp, &paths), 0);
	assert_int_equal(paths.srtt_ns, 0);
	write_bytes(w, MTU);
	assert_int_equal(tp_qp_paths(w->side[0].qps[0].qp, &paths), 0);
	assert_in_range(paths.srtt_ns, 19 * US, 22 * US);
	hx_free(w);
}

static void test_paths_are_told(void **state)
{
	struct hx_world *w = make_flow(PATH_SCHED_ADAPTIVE, 4);
	struct tp_paths paths;
	uint64_t sent = 0;

	(void)state;
	assert_int_equal(tp_qp_paths(w->side[0].qps[0].qp, &paths), 0);
	assert_string_equal(paths.scheduler, "adaptive");
	assert_true(paths.in_order);
	assert_int_equal(paths.n, TP_PLAIN_EVS);
	assert_int_equal(paths.path[0].udp_sport, 0xc123);
	assert_int_equal(paths.path[0].sent, 0);
	trickle(w, 100, MS);
	assert_int_equal(tp_qp_paths(w->side[0].qps[0].qp, &paths), 0);
	for (uint32_t i = 0; i < paths.n; i++) {
		assert_true(paths.path[i].stats.alive && paths.path[i].stats.srtt_ns != 0);
		sent += paths.path[i].sent;
	}
	assert_int_equal(sent, 100);
	assert_int_equal(hx_to_state(w, &w->side[0].qps[0], TP_QPS_RESET), 0);
	assert_int_equal(tp_qp_paths(w->side[0].qps[0].qp, &paths), -ENOTSUP);
	hx_free(w);
}

/* ---- who does not move ---- */

/* Nobody says what became of a datagram or of a UC packet, so there is nothing to go by. */
static void test_unreliable_ones_stay(void **state)
{
	static const enum tp_qp_type types[] = {TP_QPT_UC, TP_QPT_UD};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct hx_options o = {.type = types[i], .plain = true, .move = true, .sched = PATH_SCHED_ROUND_ROBIN};
		struct hx_world *w = make_with(o, NULL);
		struct tp_paths paths;

		for (int n = 0; n < 50; n++) {
			(void)hx_op(w, TP_WR_SEND, 0, 0, 64, 0);
			pass_time(w, MS);
			assert_int_equal(hx_last(w, 0)->udp_sport, 0xc123);
		}
		assert_int_equal(tp_qp_paths(w->side[0].qps[0].qp, &paths), -ENOTSUP);
		hx_free(w);
	}
}

static void test_without_configuration_it_stays(void **state)
{
	struct hx_options o = {.n_paths = 4, .path_ns = {0, 100 * US, 200 * US, 300 * US}, .timeout = 14};
	struct hx_world *w = make_with(o, NULL);
	struct tp_paths paths;

	(void)state;
	trickle(w, 500, MS);
	assert_int_equal(counters(w, 0)->moves, 0);
	assert_int_equal(tp_qp_paths(w->side[0].qps[0].qp, &paths), -ENOTSUP);
	hx_free(w);
}

static uint32_t lossy_path, losses;
static bool lossy;

static enum hx_fate lose_one(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	(void)n;
	if (!lossy || from != 0 || losses != 0 || hx_path(w, pkt->udp_sport) != lossy_path || hx_random(w, 40) != 0)
		return HX_PASS;
	losses++;
	return HX_LOSE;
}

/* While the flow waits to leave a slow path, what is lost there is sent again all the same. */
static void test_a_loss_during_the_pause_is_mended(void **state)
{
	const struct hx_options o = {.plain = true, .move = true, .sched = PATH_SCHED_ADAPTIVE, .n_paths = 4, .timeout = 14};

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct hx_world *w = make_with(o, lose_one);
		uint64_t id;

		lossy = false;
		losses = 0;
		w->rng += seed;
		trickle(w, 50, 10 * US);
		lossy_path = path_of_last(w);
		id = hx_op(w, TP_WR_WRITE, 0, 0, DST, DST);
		hx_run(w, 30 * US);
		w->o.path_ns[lossy_path] = 300 * US;
		lossy = true;
		hx_run(w, 30 * HX_S);
		hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
		assert_int_equal(counters(w, 0)->ack_timeouts, 0);
		hx_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_loss_during_the_pause_is_mended),
		cmocka_unit_test(test_order_is_kept),
		cmocka_unit_test(test_order_is_kept_by_gaps),
		cmocka_unit_test(test_goes_to_a_fast_path_after_gaps),
		cmocka_unit_test(test_comes_back_from_a_worse_one),
		cmocka_unit_test(test_leaves_a_slow_path_under_load),
		cmocka_unit_test(test_dead_is_dead),
		cmocka_unit_test(test_no_time_of_what_was_sent_again),
		cmocka_unit_test(test_paths_are_told),
		cmocka_unit_test(test_unreliable_ones_stay),
		cmocka_unit_test(test_without_configuration_it_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
