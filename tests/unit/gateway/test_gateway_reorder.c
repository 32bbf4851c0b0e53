/* SPDX-License-Identifier: BSD-3-Clause */
/* gateway_reorder.h: nothing is lost, nothing comes twice, and what is not too late comes in its order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "gateway_reorder.h"

#define WAIT   UINT64_C(1000)
#define WINDOW 64u
#define MOST   20000u

static uintptr_t passed[MOST];
static uint32_t n_passed;

static void pass(void *ctx, void *packet)
{
	(void)ctx;
	assert_in_range(n_passed, 0, MOST - 1);
	passed[n_passed++] = (uintptr_t)packet;
}

static struct gateway_reorder *make(uint32_t flows, uint32_t held)
{
	const struct gateway_reorder_config config = {.flows = flows, .held = held, .window = WINDOW, .wait_ns = WAIT,
		.key = {{5, 6}}, .pass = pass};

	n_passed = 0;
	return gateway_reorder_new(&config);
}

/* Its number plus one is what it is called. */
static void put(struct gateway_reorder *r, uint32_t flow, uint8_t generation, uint32_t seq, uint64_t now)
{
	const struct gateway_place place = {.tunnel = 9, .flow = flow, .generation = generation, .seq = seq};

	gateway_reorder_put(r, &place, (void *)((uintptr_t)seq + 1), now);
}

static void passed_are(const uintptr_t *want, uint32_t n)
{
	assert_int_equal(n_passed, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(passed[i], want[i] + 1);
}
#define PASSED(...) \
	passed_are((const uintptr_t[]){__VA_ARGS__}, sizeof((const uintptr_t[]){__VA_ARGS__}) / sizeof(uintptr_t))

static void in_order_passes_at_once(void **state)
{
	struct gateway_reorder *r = make(4, 4);

	(void)state;
	put(r, 1, 0, 0, 1);
	put(r, 1, 0, 1, 1);
	put(r, 2, 0, 0, 1);
	PASSED(0, 1, 0);
	assert_true(gateway_reorder_next_ns(r) == UINT64_MAX);
	gateway_reorder_free(r, pass);
}

static void what_is_ahead_waits_for_what_is_before_it(void **state)
{
	struct gateway_reorder *r = make(4, 8);

	(void)state;
	put(r, 1, 0, 2, 10);
	put(r, 1, 0, 1, 11);
	put(r, 1, 0, 4, 12);
	assert_int_equal(n_passed, 0);
	put(r, 1, 0, 0, 13);
	PASSED(0, 1, 2);
	/* From when the first one ahead of 3 came. */
	gateway_reorder_tick(r, 12 + WAIT - 1);
	PASSED(0, 1, 2);
	assert_int_equal(gateway_reorder_next_ns(r), 12 + WAIT);
	put(r, 1, 0, 3, 14);
	PASSED(0, 1, 2, 3, 4);
	gateway_reorder_free(r, pass);
}

static void what_does_not_come_is_given_up_and_passed_on_late(void **state)
{
	struct gateway_reorder *r = make(4, 8);
	struct gateway_reorder_stats stats;

	(void)state;
	put(r, 1, 0, 0, 10);
	put(r, 1, 0, 3, 20);
	put(r, 1, 0, 6, 30);
	gateway_reorder_tick(r, 20 + WAIT - 1);
	PASSED(0);
	gateway_reorder_tick(r, 20 + WAIT);
	PASSED(0, 3);
	gateway_reorder_tick(r, 30 + WAIT);
	PASSED(0, 3, 6);
	put(r, 1, 0, 2, 2 * WAIT);
	put(r, 1, 0, 7, 2 * WAIT);
	PASSED(0, 3, 6, 2, 7);
	gateway_reorder_get_stats(r, &stats);
	assert_int_equal(stats.missing, 4);
	assert_int_equal(stats.waits_over, 2);
	assert_int_equal(stats.late, 1);
	assert_int_equal(stats.held, 0);
	gateway_reorder_free(r, pass);
}

static void without_room_nothing_stalls_and_nothing_is_lost(void **state)
{
	struct gateway_reorder *r = make(4, 2);

	(void)state;
	put(r, 1, 0, 0, 10);
	put(r, 1, 0, 2, 10);
	put(r, 1, 0, 4, 10);
	put(r, 1, 0, 6, 10);
	PASSED(0, 2, 4, 6);
	put(r, 1, 0, 7 + WINDOW + 1, 10);
	PASSED(0, 2, 4, 6, 7 + WINDOW + 1);
	/* Held ones that are behind the one without room. */
	put(r, 2, 0, 5, 10);
	put(r, 2, 0, 7, 10);
	n_passed = 0;
	put(r, 2, 0, 6, 10);
	PASSED(5, 6, 7);
	gateway_reorder_free(r, pass);
}

static void without_room_what_is_further_ahead_goes_on_waiting(void **state)
{
	struct gateway_reorder *r = make(4, 2);
	struct gateway_reorder_stats stats;

	(void)state;
	put(r, 1, 0, 5, 10);
	put(r, 1, 0, 8, 20);
	put(r, 1, 0, 6, 30);
	PASSED(5, 6);
	gateway_reorder_get_stats(r, &stats);
	assert_int_equal(stats.held, 1);
	assert_int_equal(stats.missing, 5);
	put(r, 1, 0, 7, 40);
	PASSED(5, 6, 7, 8);
	/* One that is further ahead than a flow may be: all before it is given up. */
	put(r, 1, 0, 9 + WINDOW + 1, 50);
	gateway_reorder_get_stats(r, &stats);
	assert_int_equal(stats.missing, 5 + WINDOW + 1);
	assert_true(gateway_reorder_next_ns(r) == UINT64_MAX);
	gateway_reorder_free(r, pass);
}

/* A network may double packets. A copy goes out behind its like, and what comes next need not wait for it. */
static void what_comes_twice_stalls_nobody(void **state)
{
	struct gateway_reorder *r = make(4, 8);
	struct gateway_reorder_stats stats;

	(void)state;
	put(r, 1, 0, 1, 10);
	put(r, 1, 0, 2, 10);
	put(r, 1, 0, 1, 10);
	put(r, 1, 0, 2, 10);
	put(r, 1, 0, 0, 20);
	PASSED(0, 1, 1, 2, 2);
	put(r, 1, 0, 0, 30);
	put(r, 1, 0, 3, 30);
	PASSED(0, 1, 1, 2, 2, 0, 3);
	/* As well when the wait is over, and when the flow gives way. */
	put(r, 1, 0, 5, 40);
	put(r, 1, 0, 5, 40);
	gateway_reorder_tick(r, 40 + WAIT);
	put(r, 1, 0, 7, 2 * WAIT);
	put(r, 1, 0, 7, 2 * WAIT);
	put(r, 1, 1, 0, 2 * WAIT);
	PASSED(0, 1, 1, 2, 2, 0, 3, 5, 5, 7, 7, 0);
	gateway_reorder_get_stats(r, &stats);
	assert_int_equal(stats.late, 5);
	assert_int_equal(stats.missing, 2);
	assert_int_equal(stats.held, 0);
	assert_true(gateway_reorder_next_ns(r) == UINT64_MAX);
	gateway_reorder_free(r, pass);
}

/* The wait is that of the packet that came first, whatever came in front of it since. */
static void nobody_is_held_for_longer_than_the_wait(void **state)
{
	struct gateway_reorder *r = make(4, 8);

	(void)state;
	put(r, 1, 0, 9, 10);
	put(r, 1, 0, 7, WAIT - 10);
	put(r, 1, 0, 0, WAIT - 9);
	put(r, 1, 0, 5, WAIT - 8);
	put(r, 1, 0, 1, WAIT - 7);
	PASSED(0, 1);
	assert_int_equal(gateway_reorder_next_ns(r), 10 + WAIT);
	gateway_reorder_tick(r, 10 + WAIT);
	PASSED(0, 1, 5, 7, 9);
	assert_true(gateway_reorder_next_ns(r) == UINT64_MAX);
	/* One that came later waits for its own time. */
	n_passed = 0;
	put(r, 1, 0, 12, 2 * WAIT);
	put(r, 1, 0, 14, 2 * WAIT + 1);
	gateway_reorder_tick(r, 3 * WAIT);
	PASSED(12);
	assert_int_equal(gateway_reorder_next_ns(r), 3 * WAIT + 1);
	gateway_reorder_free(r, pass);
}

static void numbers_wrap(void **state)
{
	struct gateway_reorder *r = make(4, 8);

	(void)state;
	put(r, 1, 0, UINT32_MAX - 1, 10);
	put(r, 1, 0, 0, 10);
	put(r, 1, 0, UINT32_MAX, 10);
	put(r, 1, 0, 1, 10);
	PASSED((uint32_t)(UINT32_MAX - 1), UINT32_MAX, 0, 1);
	gateway_reorder_free(r, pass);
}

/* A number of a flow that is used again; stragglers of the old one; a sender that began anew with any generation. */
static void generations(void **state)
{
	struct gateway_reorder *r = make(4, 8);

	(void)state;
	put(r, 1, 5, 0, 10);
	put(r, 1, 5, 2, 10);
	put(r, 1, 6, 1, 20);
	PASSED(0, 2);
	put(r, 1, 5, 1, 30);
	PASSED(0, 2, 1);
	put(r, 1, 6, 0, 40);
	PASSED(0, 2, 1, 0, 1);
	n_passed = 0;
	put(r, 1, 4, 1, UINT64_C(10000000000));
	assert_int_equal(n_passed, 0);
	put(r, 1, 4, 0, UINT64_C(10000000000));
	PASSED(0, 1);
	gateway_reorder_free(r, pass);
}

static void a_sender_far_behind_began_anew(void **state)
{
	struct gateway_reorder *r = make(4, 8);

	(void)state;
	put(r, 1, 0, 1000000, 10);
	put(r, 1, 0, 0, 20);
	put(r, 1, 0, 2, 20);
	put(r, 1, 0, 1, 20);
	PASSED(1000000, 0, 1, 2);
	gateway_reorder_free(r, pass);
}

static void the_flow_silent_for_longest_gives_way_with_what_it_holds(void **state)
{
	struct gateway_reorder *r = make(2, 8);
	struct gateway_reorder_stats stats;

	(void)state;
	put(r, 1, 0, 1, 10);
	put(r, 2, 0, 0, 10);
	put(r, 3, 0, 0, 10);
	PASSED(0, 1, 0);
	gateway_reorder_get_stats(r, &stats);
	assert_int_equal(stats.flows, 2);
	gateway_reorder_free(r, pass);
}

static void freeing_gives_back(void **state)
{
	struct gateway_reorder *r = make(2, 8);

	(void)state;
	put(r, 1, 0, 1, 10);
	put(r, 1, 0, 3, 10);
	gateway_reorder_free(r, pass);
	PASSED(1, 3);
	gateway_reorder_free(NULL, pass);
}

/*
 * Packets delayed by less than the wait, none lost: exactly their order. With losses and longer delays: each once, and
 * any two that were not late in order.
 */
static void random_delays(void **state)
{
	enum { N = 10000 };
	static uint64_t arrive[N];
	static bool came[N];

	(void)state;
	for (unsigned int seed = 1; seed <= 20; seed++) {
		uint64_t spread = seed % 2 != 0 ? WAIT / 2 : WAIT * 2;
		struct gateway_reorder *r = make(16, N);
		struct gateway_reorder_stats stats;
		uint32_t sent = 0, late = 0;
		uintptr_t most = 0;

		srandom(seed);
		memset(came, 0, sizeof(came));
		for (uint32_t i = 0; i < N; i++) {
			arrive[i] = i * 20 + (uint64_t)random() % spread;
			if (spread > WAIT && random() % 50 == 0)
				arrive[i] = UINT64_MAX;
		}
		for (uint64_t now = 0; now < N * 20 + spread; now++) {
			uint32_t from = now > spread ? (uint32_t)((now - spread) / 20) : 0;

			gateway_reorder_tick(r, now);
			for (uint32_t i = from; i < N && i * 20 <= now; i++) {
				if (arrive[i] == now)
					put(r, 3, 0, i, now), sent++;
			}
		}
		gateway_reorder_tick(r, UINT64_MAX / 2);
		assert_int_equal(n_passed, sent);
		for (uint32_t i = 0; i < n_passed; i++) {
			assert_false(came[passed[i] - 1]);
			came[passed[i] - 1] = true;
			late += passed[i] < most;
			most = passed[i] > most ? passed[i] : most;
		}
		gateway_reorder_get_stats(r, &stats);
		assert_true(late <= stats.late);
		if (spread < WAIT) {
			assert_int_equal(stats.late, 0);
			assert_int_equal(stats.missing, 0);
		}
		gateway_reorder_free(r, pass);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_passes_at_once),
		cmocka_unit_test(what_is_ahead_waits_for_what_is_before_it),
		cmocka_unit_test(what_does_not_come_is_given_up_and_passed_on_late),
		cmocka_unit_test(without_room_nothing_stalls_and_nothing_is_lost),
		cmocka_unit_test(without_room_what_is_further_ahead_goes_on_waiting),
		cmocka_unit_test(what_comes_twice_stalls_nobody),
		cmocka_unit_test(nobody_is_held_for_longer_than_the_wait),
		cmocka_unit_test(numbers_wrap),
		cmocka_unit_test(generations),
		cmocka_unit_test(a_sender_far_behind_began_anew),
		cmocka_unit_test(the_flow_silent_for_longest_gives_way_with_what_it_holds),
		cmocka_unit_test(freeing_gives_back),
		cmocka_unit_test(random_delays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
