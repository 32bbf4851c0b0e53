/* SPDX-License-Identifier: BSD-3-Clause */
/* The schedulers' rules, one by one, under a virtual clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "path_sched.h"

#define US_NS   1000u
#define MS_NS   1000000u
#define BASE_NS 10000u

struct bed {
	struct path_sched_config config;
	struct path_sched s;
	struct path_sched_view view;
};

static void start(struct bed *b, enum path_sched_kind kind, uint8_t n_evs)
{
	memset(b, 0, sizeof(*b));
	path_sched_config_default(&b->config);
	b->config.kind = kind;
	b->config.n_evs = n_evs;
	b->view.now_ns = MS_NS;
	assert_int_equal(path_sched_config_check(&b->config), 0);
	path_sched_init(&b->s, &b->config, 1);
}

static uint8_t pick(struct bed *b)
{
	uint8_t ev = path_sched_pick(&b->s, &b->view);

	assert_true(ev < b->config.n_evs);
	b->view.last_send_ns = b->view.now_ns;
	b->view.in_flight_bytes += 4096;
	return ev;
}

static void ack(struct bed *b, uint8_t ev, bool ecn, uint32_t rtt_ns)
{
	b->view.in_flight_bytes -= b->view.in_flight_bytes >= 4096 ? 4096 : b->view.in_flight_bytes;
	path_sched_acked(&b->s, ev, ecn, rtt_ns, b->view.now_ns);
}

static void kill_ev(struct bed *b, uint8_t ev)
{
	path_sched_lost(&b->s, ev, b->view.now_ns);
	path_sched_lost(&b->s, ev, b->view.now_ns);
}

static bool alive(const struct bed *b, uint8_t ev)
{
	struct path_sched_stats stats;

	assert_int_equal(path_sched_stats(&b->s, ev, &stats), 0);
	return stats.alive;
}

/* ---- what all have ---- */

static void names_and_kinds_are_one_to_one(void **state)
{
	enum path_sched_kind kind;

	(void)state;
	for (unsigned int i = 0; i < PATH_SCHED_KINDS; i++) {
		assert_int_equal(path_sched_by_name(path_sched_name((enum path_sched_kind)i), &kind), 0);
		assert_int_equal(kind, i);
	}
	assert_int_equal(path_sched_by_name("adaptive", &kind), 0);
	assert_int_equal(kind, PATH_SCHED_ADAPTIVE);
	assert_int_equal(path_sched_by_name("best", &kind), -EINVAL);
	assert_null(path_sched_name(PATH_SCHED_KINDS));
}

static void numbers_out_of_range_are_refused(void **state)
{
	struct path_sched_config good, bad;

	(void)state;
	path_sched_config_default(&good);
	assert_int_equal(path_sched_config_check(&good), 0);
	bad = good, bad.n_evs = 0;
	assert_int_equal(path_sched_config_check(&bad), -EINVAL);
	bad = good, bad.n_evs = PATH_SCHED_MAX_EVS + 1;
	assert_int_equal(path_sched_config_check(&bad), -EINVAL);
	bad = good, bad.kind = PATH_SCHED_KINDS;
	assert_int_equal(path_sched_config_check(&bad), -EINVAL);
	bad = good, bad.base_rtt_ns = 0;
	assert_int_equal(path_sched_config_check(&bad), -EINVAL);
	bad = good, bad.probe_max_ns = bad.probe_ns - 1;
	assert_int_equal(path_sched_config_check(&bad), -EINVAL);
	bad = good, bad.losses_dead = 3;
	assert_int_equal(path_sched_config_check(&bad), -EINVAL);
}

/* A peer echoes the EV, so it may be any number. */
static void an_ev_that_does_not_exist_changes_nothing(void **state)
{
	struct bed b;
	struct path_sched before;
	struct path_sched_stats stats;

	(void)state;
	start(&b, PATH_SCHED_ADAPTIVE, 5);
	before = b.s;
	for (unsigned int ev = 5; ev < 256; ev++) {
		path_sched_acked(&b.s, (uint8_t)ev, true, 1, 1);
		path_sched_lost(&b.s, (uint8_t)ev, 1);
		path_sched_timeout(&b.s, (uint8_t)ev, 1);
		assert_int_equal(path_sched_stats(&b.s, (uint8_t)ev, &stats), -EINVAL);
	}
	assert_memory_equal(&before, &b.s, sizeof(before));
}

static void every_kind_works_with_any_number_of_evs(void **state)
{
	static const uint8_t counts[] = {1, 2, 3, 5, 16, 33, 63, 64};
	struct bed b;

	(void)state;
	for (unsigned int kind = 0; kind < PATH_SCHED_KINDS; kind++) {
		for (size_t n = 0; n < sizeof(counts); n++) {
			start(&b, (enum path_sched_kind)kind, counts[n]);
			for (uint32_t i = 0; i < 5000; i++) {
				uint8_t ev = pick(&b);

				b.view.now_ns += 300;
				if (i % 7 == 0)
					path_sched_lost(&b.s, ev, b.view.now_ns);
				else if (i % 11 == 0)
					path_sched_timeout(&b.s, ev, b.view.now_ns);
				else
					ack(&b, ev, i % 3 == 0, BASE_NS + i % 5 * 3000);
			}
		}
	}
}

static void rtts_marks_and_losses_are_told(void **state)
{
	struct bed b;
	struct path_sched_stats stats;

	(void)state;
	start(&b, PATH_SCHED_MIXED, 4);
	ack(&b, 2, false, 12000);
	ack(&b, 2, false, 16000);
	assert_int_equal(path_sched_stats(&b.s, 2, &stats), 0);
	assert_in_range(stats.srtt_ns, 12900, 13100); /* 3/4 * 12 + 1/4 * 16 us */
	assert_in_range(stats.min_rtt_ns, 11900, 12000);
	assert_int_equal(stats.ecn_percent, 0);
	assert_int_equal(stats.loss_percent, 0);
	assert_true(stats.alive);
	for (int i = 0; i < 100; i++)
		ack(&b, 2, true, 0);
	path_sched_lost(&b.s, 2, 1);
	assert_int_equal(path_sched_stats(&b.s, 2, &stats), 0);
	assert_int_equal(stats.ecn_percent, 100);
	assert_int_equal(stats.loss_percent, 12);
	assert_int_equal(stats.penalty, 15);
	for (int i = 0; i < 100; i++)
		ack(&b, 2, false, 0);
	assert_int_equal(path_sched_stats(&b.s, 2, &stats), 0);
	assert_int_equal(stats.ecn_percent, 0);
	assert_int_equal(stats.loss_percent, 0);
}

static void count_one(void *arg, uint8_t ev, const struct path_sched_stats *stats)
{
	uint32_t *seen = arg;

	assert_int_equal(ev, *seen);
	assert_true(stats->alive);
	++*seen;
}

static void foreach_tells_each_ev_once(void **state)
{
	struct bed b;
	uint32_t seen = 0;

	(void)state;
	start(&b, PATH_SCHED_REPS, 37);
	path_sched_foreach(&b.s, count_one, &seen);
	assert_int_equal(seen, 37);
}

/* ---- death and probes ---- */

/* "two losses in a row or RTO on one EV -> dead" */
static void two_losses_in_a_row_or_a_timeout_kill(void **state)
{
	struct bed b;

	(void)state;
	start(&b, PATH_SCHED_ADAPTIVE, 8);
	path_sched_lost(&b.s, 3, b.view.now_ns);
	ack(&b, 3, false, BASE_NS);
	path_sched_lost(&b.s, 3, b.view.now_ns);
	assert_true(alive(&b, 3));
	path_sched_lost(&b.s, 3, b.view.now_ns);
	assert_false(alive(&b, 3));
	path_sched_timeout(&b.s, 5, b.view.now_ns);
	assert_false(alive(&b, 5));
}

static void no_kind_sends_on_a_dead_ev(void **state)
{
	struct bed b;

	(void)state;
	for (unsigned int kind = 0; kind < PATH_SCHED_KINDS; kind++) {
		start(&b, (enum path_sched_kind)kind, 16);
		for (uint32_t i = 0; i < 100; i++) /* also those that are in the ring */
			ack(&b, pick(&b), false, BASE_NS);
		for (uint8_t ev = 0; ev < 16; ev++) {
			if (ev % 4 != 1)
				kill_ev(&b, ev);
		}
		for (uint32_t i = 0; i < 500; i++) {
			uint8_t ev = pick(&b);

			assert_int_equal(ev % 4, 1);
			ack(&b, ev, i % 5 == 0, BASE_NS);
		}
	}
}

/* "probed again after 1 ms with exponential back-off" */
static void probes_come_after_1_2_4_ms_and_so_on(void **state)
{
	struct bed b;
	uint64_t at_ns = MS_NS, wait_ns = MS_NS;
	uint8_t ev = 0;

	(void)state;
	start(&b, PATH_SCHED_MIXED, 8);
	assert_true(path_sched_next_ns(&b.s, at_ns) == UINT64_MAX);
	assert_false(path_sched_probe(&b.s, at_ns, &ev));
	path_sched_timeout(&b.s, 6, at_ns);
	for (int i = 0; i < 14; i++) {
		uint64_t next_ns = path_sched_next_ns(&b.s, at_ns);

		assert_true(next_ns >= at_ns + wait_ns && next_ns <= at_ns + wait_ns + MS_NS / 2);
		assert_false(path_sched_probe(&b.s, next_ns - 1, &ev));
		assert_true(path_sched_probe(&b.s, next_ns, &ev));
		assert_int_equal(ev, 6);
		assert_false(path_sched_probe(&b.s, next_ns, &ev));
		at_ns = next_ns;
		wait_ns = wait_ns * 2 < b.config.probe_max_ns ? wait_ns * 2 : b.config.probe_max_ns;
	}
}

static void an_answered_probe_brings_an_ev_back(void **state)
{
	struct bed b;
	bool used = false;

	(void)state;
	start(&b, PATH_SCHED_ADAPTIVE, 8);
	kill_ev(&b, 6);
	ack(&b, 6, false, BASE_NS);
	assert_true(alive(&b, 6));
	assert_true(path_sched_next_ns(&b.s, MS_NS) == UINT64_MAX);
	for (int i = 0; i < 16; i++)
		used |= pick(&b) == 6;
	assert_true(used);
}

static void when_all_die_all_get_another_chance(void **state)
{
	struct bed b;

	(void)state;
	start(&b, PATH_SCHED_ADAPTIVE, 4);
	for (uint8_t ev = 0; ev < 3; ev++)
		kill_ev(&b, ev);
	assert_false(alive(&b, 0));
	kill_ev(&b, 3);
	for (uint8_t ev = 0; ev < 4; ev++)
		assert_true(alive(&b, ev));
}

/* ---- each kind ---- */

static void ecmp_stays(void **state)
{
	struct bed b;
	uint8_t ev;

	(void)state;
	start(&b, PATH_SCHED_ECMP, 64);
	ev = pick(&b);
	for (int i = 0; i < 1000; i++) {
		b.view.now_ns += MS_NS;
		ack(&b, ev, true, 100 * US_NS);
		assert_int_equal(pick(&b), ev);
	}
	path_sched_timeout(&b.s, ev, b.view.now_ns);
	assert_int_not_equal(pick(&b), ev);
}

static void round_robin_takes_each_ev_once_a_round(void **state)
{
	struct bed b;

	(void)state;
	start(&b, PATH_SCHED_ROUND_ROBIN, 48);
	for (int round = 0; round < 20; round++) {
		uint64_t seen = 0;

		for (int i = 0; i < 48; i++)
			seen |= (uint64_t)1 << pick(&b);
		assert_true(seen == ((uint64_t)1 << 48) - 1);
	}
}

/* LetFlow, gap 100 us */
static void flowlet_moves_only_after_a_gap(void **state)
{
	struct bed b;
	uint8_t ev;
	uint32_t moved = 0;

	(void)state;
	start(&b, PATH_SCHED_FLOWLET, 64);
	ev = pick(&b);
	for (int i = 0; i < 100; i++) {
		b.view.now_ns += 100 * US_NS;
		assert_int_equal(pick(&b), ev);
	}
	for (int i = 0; i < 10; i++) {
		b.view.now_ns += 100 * US_NS + 1;
		moved += pick(&b) != ev;
		ev = b.s.current;
	}
	assert_int_equal(moved, 10);
}

/* One round trip in which `percent` of 10 packets were marked. */
static void plb_round(struct bed *b, unsigned int percent)
{
	for (unsigned int i = 0; i < 10; i++) {
		b->view.now_ns += BASE_NS / 9;
		ack(b, b->s.current, i * 10 < percent, BASE_NS);
	}
}

/* "congested round: marked >= 0.5; rehash after 12, or 3 if idle" */
static void plb_moves_after_twelve_congested_rounds(void **state)
{
	struct bed b;
	uint8_t ev;

	(void)state;
	start(&b, PATH_SCHED_PLB, 64);
	ev = pick(&b);
	for (int i = 0; i < 100; i++)
		plb_round(&b, 40);
	b.view.in_flight_bytes = 4096;
	assert_int_equal(pick(&b), ev);
	for (int i = 0; i < 11; i++)
		plb_round(&b, 60);
	b.view.in_flight_bytes = 4096;
	assert_int_equal(pick(&b), ev);
	plb_round(&b, 0); /* not in a row */
	for (int i = 0; i < 11; i++)
		plb_round(&b, 60);
	b.view.in_flight_bytes = 4096;
	assert_int_equal(pick(&b), ev);
	for (int i = 0; i < 3; i++)
		plb_round(&b, 60);
	b.view.in_flight_bytes = 4096;
	assert_int_not_equal(pick(&b), ev);
}

static void plb_moves_after_three_when_idle(void **state)
{
	struct bed b;
	uint8_t ev;

	(void)state;
	start(&b, PATH_SCHED_PLB, 64);
	ev = pick(&b);
	plb_round(&b, 100);
	b.view.in_flight_bytes = 0;
	assert_int_equal(pick(&b), ev);
	for (int i = 0; i < 4; i++)
		plb_round(&b, 100);
	b.view.in_flight_bytes = 0;
	assert_int_not_equal(pick(&b), ev);
}

/* "clean ACK -> push": the oldest of the last 8 comes next, once */
static void reps_recycles_clean_evs_in_order(void **state)
{
	struct bed b;

	(void)state;
	start(&b, PATH_SCHED_REPS, 64);
	for (uint8_t ev = 0; ev < 10; ev++)
		ack(&b, ev, ev == 4, BASE_NS);
	for (uint8_t ev = 1; ev < 10; ev++) { /* 9 clean ones, the oldest forgotten */
		if (ev != 4)
			assert_int_equal(pick(&b), ev);
	}
}

/* "On RTO freeze: ring only, 10 ms or 16 clean ACKs" */
static void a_timeout_freezes_reps_and_adaptive(void **state)
{
	static const enum path_sched_kind kinds[] = {PATH_SCHED_REPS, PATH_SCHED_ADAPTIVE};
	struct bed b;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		start(&b, kinds[k], 64);
		for (uint8_t ev = 10; ev < 14; ev++)
			ack(&b, ev, false, BASE_NS);
		path_sched_timeout(&b.s, 12, b.view.now_ns);
		for (int i = 0; i < 30; i++) {
			uint8_t ev = pick(&b);

			assert_true(ev == 10 || ev == 11 || ev == 13);
		}
		b.view.now_ns += 10 * MS_NS;
		pick(&b);
		assert_int_equal(b.s.frozen, 0);
		path_sched_timeout(&b.s, 13, b.view.now_ns);
		assert_int_not_equal(b.s.frozen, 0);
		for (int i = 0; i < 16; i++)
			ack(&b, 10, false, BASE_NS);
		assert_int_equal(b.s.frozen, 0);
	}
}

/* "a non-zero penalty is decremented and skipped"; "ECN -> +1; loss -> +4" */
static void bitmap_passes_over_penalties(void **state)
{
	struct bed b;
	uint32_t used[2] = {0};

	(void)state;
	start(&b, PATH_SCHED_BITMAP, 8);
	ack(&b, 2, true, BASE_NS);
	path_sched_lost(&b.s, 5, b.view.now_ns);
	for (int round = 0; round < 3; round++) { /* 2 sits out one round, 5 four */
		for (int i = 0; i < 6; i++) {
			uint8_t ev = pick(&b);

			used[0] += ev == 2;
			used[1] += ev == 5;
		}
	}
	assert_int_equal(used[1], 0);
	assert_in_range(used[0], 1, 3);
	for (int i = 0; i < 32; i++)
		used[1] += pick(&b) == 5;
	assert_true(used[1] != 0);
}

/* "recycle a known-good entropy if there is one, else walk the penalty bitmap" */
static void mixed_recycles_then_walks(void **state)
{
	struct bed b;

	(void)state;
	start(&b, PATH_SCHED_MIXED, 8);
	ack(&b, 1, false, BASE_NS);
	ack(&b, 2, false, BASE_NS);
	ack(&b, 3, false, BASE_NS);
	ack(&b, 2, true, BASE_NS); /* no longer good */
	ack(&b, 4, true, BASE_NS);
	assert_int_equal(pick(&b), 1);
	assert_int_equal(pick(&b), 3);
	for (int i = 0; i < 5; i++) {
		uint8_t ev = pick(&b);

		assert_true(ev != 2 && ev != 4);
	}
}

/* ---- adaptive ---- */

/* "do not recycle an EV above median + T/2 though unmarked" */
static void adaptive_does_not_recycle_what_is_slow(void **state)
{
	struct bed b;

	(void)state;
	start(&b, PATH_SCHED_ADAPTIVE, 64);
	pick(&b);
	for (int i = 0; i < 50; i++)
		ack(&b, 1, false, BASE_NS);
	for (int i = 0; i < 8; i++)
		pick(&b);
	ack(&b, 7, false, 2 * BASE_NS); /* unmarked, but 10 us above the rest */
	ack(&b, 8, false, BASE_NS + 4000);
	assert_int_equal(pick(&b), 8);
	assert_int_equal(b.s.ring_n, 0);
}

static void adaptive_does_not_ask_the_silent_again(void **state)
{
	struct bed b;
	uint64_t silent = 0;

	(void)state;
	start(&b, PATH_SCHED_ADAPTIVE, 64);
	for (int i = 0; i < 63; i++) { /* the 64th would look at any */
		uint8_t ev = pick(&b);

		assert_true((silent & (uint64_t)1 << ev) == 0);
		silent |= (uint64_t)1 << ev;
	}
	for (int i = 0; i < 64; i++) /* when all are silent any will do */
		pick(&b);
}

/* A loss was heard of. Else a wire that loses would silence one EV after the other, until few have to carry all. */
static void adaptive_hears_a_loss(void **state)
{
	uint64_t used = 0;
	struct bed b;

	(void)state;
	start(&b, PATH_SCHED_ADAPTIVE, 8);
	for (uint8_t ev = 0; ev < 8; ev++)
		ack(&b, ev, true, ev == 5 ? 3 * BASE_NS : BASE_NS);
	for (int i = 0; i < 8; i++)
		(void)pick(&b);
	for (uint8_t ev = 0; ev < 8; ev++) {
		if (ev != 3)
			path_sched_lost(&b.s, ev, b.view.now_ns);
	}
	/* Passed over are the one of which nothing was heard, and the one that may only be late. */
	for (int i = 0; i < 6; i++) {
		uint8_t ev = pick(&b);

		used |= (uint64_t)1 << ev;
	}
	assert_true(used == (0xffu & ~(1u << 3) & ~(1u << 5)));
}

static void adaptive_looks_for_the_fastest(void **state)
{
	struct bed b;

	(void)state;
	start(&b, PATH_SCHED_ADAPTIVE, 8);
	for (uint8_t ev = 0; ev < 8; ev++)
		ack(&b, ev, true, ev == 5 ? BASE_NS : 3 * BASE_NS);
	assert_int_equal(pick(&b), 5);
}

static void adaptive_finds_a_path_that_has_become_fast(void **state)
{
	struct bed b;
	uint32_t used = 0;

	(void)state;
	start(&b, PATH_SCHED_ADAPTIVE, 4);
	for (int i = 0; i < 40; i++) {
		for (uint8_t ev = 0; ev < 4; ev++)
			ack(&b, ev, ev == 2, ev == 2 ? 4 * BASE_NS : BASE_NS);
	}
	for (int i = 0; i < 1000; i++) { /* now as fast as the others, which are marked now and then */
		uint8_t ev = pick(&b);

		used += ev == 2;
		ack(&b, ev, ev != 2 && i % 4 == 0, BASE_NS);
	}
	assert_true(used > 40);
}

/* "Messages of <= 4 packets: one clean EV" */
static void adaptive_keeps_a_short_message_together(void **state)
{
	struct bed b;
	uint8_t ev;

	(void)state;
	start(&b, PATH_SCHED_ADAPTIVE, 64);
	b.view.message_packets = 4;
	ev = pick(&b);
	for (b.view.message_at = 1; b.view.message_at < 4; b.view.message_at++)
		assert_int_equal(pick(&b), ev);
	b.view.message_at = 0;
	assert_int_not_equal(pick(&b), ev);
	ev = b.s.current;
	path_sched_lost(&b.s, ev, b.view.now_ns);
	b.view.message_at = 1;
	assert_int_not_equal(pick(&b), ev);
}

/* ---- keep_order ---- */

static void start_ordered(struct bed *b, enum path_sched_kind kind)
{
	start(b, kind, 16);
	b->config.keep_order = true;
	path_sched_init(&b->s, &b->config, 1);
}

static void ordered_flows_stay_while_packets_are_outstanding(void **state)
{
	struct bed b;

	(void)state;
	for (unsigned int kind = 0; kind < PATH_SCHED_KINDS; kind++) {
		uint8_t ev;

		start_ordered(&b, (enum path_sched_kind)kind);
		ev = pick(&b);
		for (int i = 0; i < 2000; i++) {
			b.view.now_ns += 1000;
			assert_int_equal(pick(&b), ev);
			ack(&b, ev, true, BASE_NS);
		}
	}
}

static void ordered_flows_move_when_nothing_is_outstanding(void **state)
{
	struct bed b;
	uint64_t seen = 0;

	(void)state;
	start_ordered(&b, PATH_SCHED_ADAPTIVE);
	for (int i = 0; i < 500; i++) {
		uint8_t ev = pick(&b);

		seen |= (uint64_t)1 << ev;
		ack(&b, ev, true, BASE_NS);
		assert_int_equal(b.view.in_flight_bytes, 0);
	}
	assert_true(seen == 0xffff);
}

/* An idle gap of 100 us is not enough on a path where packets were seen to take longer. */
static void an_idle_gap_must_exceed_the_difference_of_the_paths(void **state)
{
	struct bed b;
	uint8_t ev;

	(void)state;
	start_ordered(&b, PATH_SCHED_ROUND_ROBIN);
	ev = pick(&b);
	for (int i = 0; i < 8; i++) {
		pick(&b);
		ack(&b, ev, false, BASE_NS);
	}
	pick(&b);
	ack(&b, ev, false, 400 * US_NS);
	b.view.in_flight_bytes = 4096;
	b.view.now_ns += 200 * US_NS;
	assert_int_equal(pick(&b), ev);
	b.view.in_flight_bytes = 4096;
	b.view.now_ns += 1000 * US_NS;
	assert_int_not_equal(pick(&b), ev);
}

/* "move it only ... when a probe shows RTT > 1.5x base and a better path (< 0.8x)" */
static void a_probe_that_shows_a_better_path_moves_the_flow_after_a_pause(void **state)
{
	struct bed b;
	uint8_t old, other = 0;

	(void)state;
	start_ordered(&b, PATH_SCHED_ADAPTIVE);
	old = pick(&b);
	b.view.in_flight_bytes = 1000000;
	for (int i = 0; i < 8; i++)
		ack(&b, old, false, BASE_NS);
	assert_false(path_sched_probe(&b.s, b.view.now_ns, &other)); /* not slow */
	for (int i = 0; i < 20; i++)
		ack(&b, old, true, 30 * US_NS);
	assert_true(path_sched_probe(&b.s, b.view.now_ns, &other));
	assert_int_not_equal(other, old);
	assert_false(path_sched_probe(&b.s, b.view.now_ns + US_NS, &other)); /* not at once again */
	ack(&b, other, false, 25 * US_NS); /* 0.83: not better enough */
	assert_false(path_sched_holds(&b.s, b.view.in_flight_bytes));
	ack(&b, other, false, 12 * US_NS);
	assert_true(path_sched_holds(&b.s, b.view.in_flight_bytes));
	assert_int_equal(pick(&b), old); /* who does not wait does not move */
	b.view.in_flight_bytes = 0;
	assert_false(path_sched_holds(&b.s, b.view.in_flight_bytes));
	assert_int_equal(pick(&b), other);
	assert_false(path_sched_holds(&b.s, b.view.in_flight_bytes));
}

static void an_ordered_flow_leaves_a_dead_path_at_once(void **state)
{
	struct bed b;
	uint8_t ev;

	(void)state;
	start_ordered(&b, PATH_SCHED_FLOWLET);
	ev = pick(&b);
	path_sched_timeout(&b.s, ev, b.view.now_ns);
	assert_int_not_equal(pick(&b), ev);
}

/* ---- keep_order without probes ---- */

static void start_trying(struct bed *b, uint8_t n_evs)
{
	start(b, PATH_SCHED_ADAPTIVE, n_evs);
	b->config.keep_order = b->config.no_probes = true;
	assert_int_equal(path_sched_config_check(&b->config), 0);
	path_sched_init(&b->s, &b->config, 1);
}

/* One packet there and back, rtt_ns[ev], after a pause. */
static uint8_t round_trip(struct bed *b, const uint32_t *rtt_ns)
{
	uint8_t ev = pick(b);

	b->view.now_ns += rtt_ns[ev];
	ack(b, ev, false, rtt_ns[ev]);
	b->view.now_ns += 500 * US_NS;
	return ev;
}

static void without_probes_a_flow_begins_where_it_was_put(void **state)
{
	struct bed b;
	uint8_t ev;

	(void)state;
	start_trying(&b, 8);
	assert_int_equal(pick(&b), 0);
	path_sched_timeout(&b.s, 0, b.view.now_ns);
	assert_false(path_sched_probe(&b.s, b.view.now_ns + 1000 * MS_NS, &ev));
	b.config.keep_order = false;
	assert_int_equal(path_sched_config_check(&b.config), -EINVAL);
}

static void without_probes_others_are_tried_by_going_there(void **state)
{
	static const uint32_t rtt_ns[8] = {10000, 40000, 40000, 40000, 40000, 40000, 40000, 40000};
	uint32_t n_of[8] = {0};
	struct bed b;

	(void)state;
	start_trying(&b, 8);
	for (int i = 0; i < 10000; i++)
		n_of[round_trip(&b, rtt_ns)]++;
	for (int ev = 1; ev < 8; ev++)
		assert_in_range(n_of[ev], 1, 2); /* tried, found worse, not asked again */
	start_trying(&b, 8);
	for (int i = 0; i < 10000; i++)
		round_trip(&b, (const uint32_t[8]){40000, 40000, 40000, 40000, 40000, 10000, 40000, 40000});
	assert_int_equal(pick(&b), 5);
}

/* All paths slow as the flow fills each: then they are tried ever more seldom. */
static void without_probes_self_made_queues_move_it_seldom(void **state)
{
	uint32_t moves = 0, holds = 0;
	uint8_t ev, last = 0;
	struct bed b;

	(void)state;
	start_trying(&b, 8);
	(void)pick(&b);
	ack(&b, 0, false, BASE_NS);
	for (uint64_t end_ns = b.view.now_ns + 20000 * MS_NS; b.view.now_ns < end_ns; b.view.now_ns += 100 * US_NS) {
		bool held = path_sched_holds(&b.s, 4096);

		b.view.in_flight_bytes = held ? 0 : 4096;
		holds += held;
		ev = pick(&b);
		moves += ev != last;
		last = ev;
		ack(&b, ev, false, 90 * US_NS + (uint32_t)(b.view.now_ns / US_NS % 20) * US_NS);
	}
	assert_in_range(moves, 8, 8 + 11 + 20);
	assert_in_range(holds, 8, moves);
}

/* A queue that the flow fills by itself is long, and one of a slow link longer still. */
static void without_probes_long_queues_are_told_apart(void **state)
{
	struct bed b;

	(void)state;
	start_trying(&b, 2);
	for (int i = 0; i < 200; i++) {
		uint8_t ev = pick(&b);

		ack(&b, ev, false, ev == 0 ? 30 * MS_NS : 9 * MS_NS);
		b.view.now_ns += 20 * MS_NS;
		b.view.in_flight_bytes = 0;
	}
	assert_int_equal(pick(&b), 1);
}

/* It does not stop for a path that it only wants to know. */
static void without_probes_only_a_slow_path_holds(void **state)
{
	struct bed b;

	(void)state;
	start_trying(&b, 8);
	for (int i = 0; i < 100; i++) {
		b.view.now_ns += MS_NS;
		b.view.in_flight_bytes = 4096;
		assert_int_equal(pick(&b), 0);
		ack(&b, 0, false, BASE_NS);
		assert_false(path_sched_holds(&b.s, 4096));
	}
	for (int i = 0; i < 4; i++)
		ack(&b, 0, false, 3 * BASE_NS);
	assert_true(path_sched_holds(&b.s, 4096));
	b.view.in_flight_bytes = 0;
	assert_int_not_equal(pick(&b), 0);
}

static void without_probes_the_dead_stay_dead_until_all_are(void **state)
{
	struct bed b;
	uint8_t ev;

	(void)state;
	start_trying(&b, 4);
	for (int i = 0; i < 3; i++) {
		ev = pick(&b);
		path_sched_timeout(&b.s, ev, b.view.now_ns);
		for (int n = 0; n < 2000; n++)
			assert_int_not_equal(round_trip(&b, (const uint32_t[4]){10000, 10000, 10000, 10000}), ev);
	}
	ev = pick(&b);
	path_sched_timeout(&b.s, ev, b.view.now_ns);
	for (uint8_t i = 0; i < 4; i++)
		assert_true(alive(&b, i));
}

/* A queue pair has room for the EVs that it uses, and not for all. */
static void a_scheduler_needs_no_more_than_its_evs(void **state)
{
	static const uint32_t rtt_ns[8] = {10000, 40000, 20000, 40000, 10000, 40000, 40000, 40000};
	struct path_sched_config config;
	struct path_sched *s;

	(void)state;
	path_sched_config_default(&config);
	config.n_evs = 8;
	for (unsigned int kind = 0; kind < PATH_SCHED_KINDS; kind++) {
		struct path_sched_view view = {.now_ns = MS_NS};

		config.kind = (enum path_sched_kind)kind;
		config.keep_order = config.no_probes = kind % 2 == 0;
		s = test_malloc(path_sched_bytes(8)); /* cmocka looks for writes behind it */
		path_sched_init(s, &config, kind);
		for (int i = 0; i < 5000; i++, view.now_ns += 100 * US_NS) {
			uint8_t ev = path_sched_pick(s, &view);

			if (i % 100 == 99)
				path_sched_timeout(s, ev, view.now_ns);
			else
				path_sched_acked(s, ev, i % 3 == 0, rtt_ns[ev], view.now_ns);
		}
		test_free(s);
	}
	assert_true(path_sched_bytes(8) < 176);
	assert_true(path_sched_bytes(PATH_SCHED_MAX_EVS) <= sizeof(*s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_kinds_are_one_to_one),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(an_ev_that_does_not_exist_changes_nothing),
		cmocka_unit_test(every_kind_works_with_any_number_of_evs),
		cmocka_unit_test(rtts_marks_and_losses_are_told),
		cmocka_unit_test(foreach_tells_each_ev_once),
		cmocka_unit_test(two_losses_in_a_row_or_a_timeout_kill),
		cmocka_unit_test(no_kind_sends_on_a_dead_ev),
		cmocka_unit_test(probes_come_after_1_2_4_ms_and_so_on),
		cmocka_unit_test(an_answered_probe_brings_an_ev_back),
		cmocka_unit_test(when_all_die_all_get_another_chance),
		cmocka_unit_test(ecmp_stays),
		cmocka_unit_test(round_robin_takes_each_ev_once_a_round),
		cmocka_unit_test(flowlet_moves_only_after_a_gap),
		cmocka_unit_test(plb_moves_after_twelve_congested_rounds),
		cmocka_unit_test(plb_moves_after_three_when_idle),
		cmocka_unit_test(reps_recycles_clean_evs_in_order),
		cmocka_unit_test(a_timeout_freezes_reps_and_adaptive),
		cmocka_unit_test(bitmap_passes_over_penalties),
		cmocka_unit_test(mixed_recycles_then_walks),
		cmocka_unit_test(adaptive_does_not_recycle_what_is_slow),
		cmocka_unit_test(adaptive_does_not_ask_the_silent_again),
		cmocka_unit_test(adaptive_hears_a_loss),
		cmocka_unit_test(adaptive_looks_for_the_fastest),
		cmocka_unit_test(adaptive_finds_a_path_that_has_become_fast),
		cmocka_unit_test(adaptive_keeps_a_short_message_together),
		cmocka_unit_test(ordered_flows_stay_while_packets_are_outstanding),
		cmocka_unit_test(ordered_flows_move_when_nothing_is_outstanding),
		cmocka_unit_test(an_idle_gap_must_exceed_the_difference_of_the_paths),
		cmocka_unit_test(a_probe_that_shows_a_better_path_moves_the_flow_after_a_pause),
		cmocka_unit_test(an_ordered_flow_leaves_a_dead_path_at_once),
		cmocka_unit_test(without_probes_a_flow_begins_where_it_was_put),
		cmocka_unit_test(without_probes_others_are_tried_by_going_there),
		cmocka_unit_test(without_probes_self_made_queues_move_it_seldom),
		cmocka_unit_test(without_probes_long_queues_are_told_apart),
		cmocka_unit_test(without_probes_only_a_slow_path_holds),
		cmocka_unit_test(without_probes_the_dead_stay_dead_until_all_are),
		cmocka_unit_test(a_scheduler_needs_no_more_than_its_evs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
