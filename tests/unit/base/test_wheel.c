/* SPDX-License-Identifier: BSD-3-Clause */
/* The timing wheel: never early, at most one lowest slot late, whatever the distance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base_wheel.h"

#define TICK_NS         (1ull << BASE_WHEEL_TICK_BITS)
#define START_NS        (123456789ull * 1000)
#define LEVEL_NS(level) (TICK_NS << (BASE_WHEEL_SLOT_BITS * (level)))

static struct base_wheel wheel;

struct alarm {
	struct base_timer timer;
	uint64_t due_ns;
	uint64_t fired_at_ns;
	unsigned int fired;
	struct alarm *stops; /* stopped by the callback */
	uint64_t rearm_ns;   /* started again by the callback, this much after now */
	unsigned int rearms;
};

static void ring(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct alarm *alarm = arg;

	assert_ptr_equal(timer, &alarm->timer);
	assert_false(timer->armed);
	assert_true(now_ns >= alarm->due_ns);
	alarm->fired++;
	alarm->fired_at_ns = now_ns;
	if (alarm->stops)
		base_timer_stop(&wheel, &alarm->stops->timer);
	if (alarm->rearms) {
		alarm->rearms--;
		alarm->due_ns = now_ns + alarm->rearm_ns;
		base_timer_start(&wheel, timer, alarm->due_ns);
	}
}

static void set(struct alarm *alarm, uint64_t due_ns)
{
	memset(alarm, 0, sizeof(*alarm));
	base_timer_init(&alarm->timer, ring, alarm);
	alarm->due_ns = due_ns;
	base_timer_start(&wheel, &alarm->timer, due_ns);
}

static int setup(void **state)
{
	(void)state;
	base_wheel_init(&wheel, START_NS);
	return 0;
}

/* Goes to now_ns in few steps, as a sleeper would that asks for the next time. */
static unsigned int sleep_until(uint64_t now_ns)
{
	unsigned int fired = 0;
	unsigned int steps;
	uint64_t at_ns = wheel.now_tick * TICK_NS;

	for (steps = 0; steps < 10000; steps++) {
		uint64_t next_ns = base_wheel_next_ns(&wheel);

		if (next_ns > now_ns)
			break;
		at_ns = next_ns > at_ns ? next_ns : at_ns + TICK_NS;
		fired += base_wheel_advance(&wheel, at_ns);
	}
	assert_true(steps < 10000);
	return fired + base_wheel_advance(&wheel, now_ns);
}

static void test_empty(void **state)
{
	(void)state;
	assert_int_equal(base_wheel_next_ns(&wheel), UINT64_MAX);
	assert_int_equal(base_wheel_advance(&wheel, START_NS + (1ull << 60)), 0);
	assert_int_equal(wheel.now_tick, (START_NS + (1ull << 60)) / TICK_NS);
}

/* One timer on each level, on both sides of each level's first and last slot. */
static void test_levels(void **state)
{
	static const int64_t around[] = {-1, 0, 1};
	unsigned int level;
	size_t i;

	(void)state;
	for (level = 0; level < 3; level++) {
		for (i = 0; i < 3; i++) {
			uint64_t due_ns = START_NS + LEVEL_NS(level) +
					  (uint64_t)(around[i] * (int64_t)TICK_NS);
			struct alarm alarm;

			base_wheel_init(&wheel, START_NS);
			set(&alarm, due_ns);
			assert_true(base_wheel_next_ns(&wheel) <= due_ns + TICK_NS);
			sleep_until(due_ns - 1 > START_NS ? due_ns - 1 : START_NS);
			assert_int_equal(alarm.fired, 0);
			sleep_until(due_ns + TICK_NS);
			assert_int_equal(alarm.fired, 1);
			assert_int_equal(wheel.n_armed, 0);
		}
	}
}

/* The upper levels reach days; the wheel is put near the slot instead of being walked there. */
static void test_far_levels(void **state)
{
	unsigned int level;

	(void)state;
	for (level = 1; level < BASE_WHEEL_LEVELS; level++) {
		uint64_t edge_ns = 3 * LEVEL_NS(level);
		struct alarm before;
		struct alarm at;
		struct alarm after;

		base_wheel_init(&wheel, edge_ns - 10 * TICK_NS);
		set(&before, edge_ns - 1);
		set(&at, edge_ns);
		set(&after, edge_ns + 300 * TICK_NS);
		base_wheel_advance(&wheel, edge_ns - 1);
		assert_int_equal(before.fired + at.fired + after.fired, 0);
		base_wheel_advance(&wheel, edge_ns);
		assert_int_equal(before.fired, 1);
		assert_int_equal(at.fired, 1);
		base_wheel_advance(&wheel, edge_ns + 300 * TICK_NS - 1);
		assert_int_equal(after.fired, 0);
		base_wheel_advance(&wheel, edge_ns + 300 * TICK_NS);
		assert_int_equal(after.fired, 1);
	}
}

/* A timer of one level comes down through all below it when it is walked to. */
static void test_cascade(void **state)
{
	struct alarm alarms[3];
	unsigned int i;

	(void)state;
	base_wheel_init(&wheel, 5);
	for (i = 0; i < 3; i++)
		set(&alarms[i], LEVEL_NS(2) + i * LEVEL_NS(1) + i * TICK_NS);
	for (i = 0; i < 3; i++) {
		base_wheel_advance(&wheel, alarms[i].due_ns - 1);
		assert_int_equal(alarms[i].fired, 0);
		base_wheel_advance(&wheel, alarms[i].due_ns);
		assert_int_equal(alarms[i].fired, 1);
	}
}

/* Beyond what the top level spans, up to the end of time. */
static void test_beyond_the_top(void **state)
{
	static const uint64_t far[] = {
		1ull << 52, (1ull << 52) + 1, 1ull << 60, UINT64_MAX - 4096, UINT64_MAX};
	struct alarm alarms[5];
	unsigned int i;

	(void)state;
	for (i = 0; i < 5; i++)
		set(&alarms[i], far[i]);
	base_wheel_advance(&wheel, START_NS + 10000000000ull);
	for (i = 0; i < 5; i++) {
		assert_int_equal(alarms[i].fired, 0);
		assert_true(alarms[i].timer.armed);
		base_timer_stop(&wheel, &alarms[i].timer);
	}
	assert_int_equal(base_wheel_next_ns(&wheel), UINT64_MAX);
}

static void test_past(void **state)
{
	struct alarm alarm;
	struct alarm zero;

	(void)state;
	set(&alarm, START_NS - 1000000);
	set(&zero, 0);
	assert_int_equal(base_wheel_advance(&wheel, START_NS), 0);
	assert_int_equal(base_wheel_advance(&wheel, START_NS + TICK_NS), 2);
	assert_int_equal(base_wheel_advance(&wheel, START_NS + 10 * TICK_NS), 0);
}

/* Time that stands still or goes back fires nothing. */
static void test_no_time_passes(void **state)
{
	struct alarm alarm;

	(void)state;
	set(&alarm, START_NS + 10 * TICK_NS);
	assert_int_equal(base_wheel_advance(&wheel, START_NS), 0);
	assert_int_equal(base_wheel_advance(&wheel, 0), 0);
	assert_int_equal(base_wheel_advance(&wheel, START_NS + 11 * TICK_NS), 1);
	assert_int_equal(base_wheel_advance(&wheel, START_NS + 11 * TICK_NS), 0);
}

static void test_stop_and_restart(void **state)
{
	struct alarm alarm;

	(void)state;
	set(&alarm, START_NS + 10 * TICK_NS);
	base_timer_stop(&wheel, &alarm.timer);
	base_timer_stop(&wheel, &alarm.timer);
	assert_int_equal(wheel.n_armed, 0);
	assert_int_equal(base_wheel_advance(&wheel, START_NS + 20 * TICK_NS), 0);
	/* A second start moves the timer: earlier, then later. */
	alarm.due_ns = START_NS + 30 * TICK_NS;
	base_timer_start(&wheel, &alarm.timer, START_NS + 1000000 * TICK_NS);
	base_timer_start(&wheel, &alarm.timer, START_NS + 25 * TICK_NS);
	base_timer_start(&wheel, &alarm.timer, alarm.due_ns);
	assert_int_equal(wheel.n_armed, 1);
	assert_int_equal(base_wheel_advance(&wheel, START_NS + 29 * TICK_NS), 0);
	assert_int_equal(base_wheel_advance(&wheel, START_NS + 31 * TICK_NS), 1);
}

static void test_rearm_in_callback(void **state)
{
	struct alarm tick;
	struct alarm hasty;

	(void)state;
	set(&tick, START_NS + 10 * TICK_NS);
	tick.rearm_ns = 10 * TICK_NS;
	tick.rearms = 4;
	set(&hasty, START_NS + TICK_NS);
	hasty.rearms = 3; /* for at once: comes on the next slot, not for ever on this one */
	sleep_until(START_NS + 1000 * TICK_NS);
	assert_int_equal(tick.fired, 5);
	assert_int_equal(hasty.fired, 4);
	assert_int_equal(wheel.n_armed, 0);
}

/* Of two in one slot the first to fire stops the other. */
static void test_stop_in_callback(void **state)
{
	struct alarm a;
	struct alarm b;
	struct alarm later;

	(void)state;
	set(&a, START_NS + 5 * TICK_NS);
	set(&b, START_NS + 5 * TICK_NS);
	set(&later, START_NS + 300 * TICK_NS);
	a.stops = &b;
	b.stops = &a;
	assert_int_equal(base_wheel_advance(&wheel, START_NS + 10 * TICK_NS), 1);
	assert_int_equal(a.fired + b.fired, 1);
	set(&a, START_NS + 20 * TICK_NS);
	a.stops = &later;
	assert_int_equal(base_wheel_advance(&wheel, START_NS + 1000 * TICK_NS), 1);
	assert_int_equal(later.fired, 0);
	assert_int_equal(wheel.n_armed, 0);
}

/* Slots fire in order even when one call passes many of them. */
static void test_order(void **state)
{
	struct alarm alarms[3];

	(void)state;
	set(&alarms[2], START_NS + 900 * TICK_NS);
	set(&alarms[0], START_NS + 3 * TICK_NS);
	set(&alarms[1], START_NS + 300 * TICK_NS);
	/* Each stops its predecessor, which must have fired by then. */
	alarms[2].stops = &alarms[1];
	alarms[1].stops = &alarms[0];
	assert_int_equal(base_wheel_advance(&wheel, START_NS + 5000 * TICK_NS), 3);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 11;
}

/* A machine that slept for a day: 2 * 10^10 ticks, which nobody could walk one by one. */
static void test_long_sleep(void **state)
{
	const uint64_t day_ns = 86400ull * 1000000000;
	struct alarm first, second;

	(void)state;
	set(&first, START_NS + day_ns / 2);
	set(&second, START_NS + 2 * day_ns);
	assert_int_equal(base_wheel_advance(&wheel, START_NS + day_ns), 1);
	assert_int_equal(first.fired, 1);
	assert_int_equal(second.fired, 0);
	assert_int_equal(base_wheel_advance(&wheel, START_NS + 2 * day_ns + TICK_NS), 1);
}

/* Against the plainest model: a list of due times. Distances of all magnitudes, steps of all sizes. */
static void test_random(void **state)
{
	enum { N = 200 };
	static struct alarm alarms[N];
	uint64_t now_ns = START_NS;
	uint64_t seed = 42;
	unsigned int round;
	unsigned int i;

	(void)state;
	for (i = 0; i < N; i++)
		set(&alarms[i], now_ns + next_random(&seed) % (1ull << (12 + i % 22)));
	for (round = 0; round < 3000; round++) {
		uint64_t next_ns = base_wheel_next_ns(&wheel);

		now_ns += next_random(&seed) % (1ull << (10 + round % 18));
		base_wheel_advance(&wheel, now_ns);
		for (i = 0; i < N; i++) {
			struct alarm *alarm = &alarms[i];

			if (alarm->timer.armed) {
				assert_true(alarm->due_ns + TICK_NS > now_ns);
				continue;
			}
			/* next_ns was a lower bound, and nothing waits longer than a slot. */
			assert_true(alarm->fired == 1 && alarm->fired_at_ns == now_ns);
			assert_true(next_ns <= now_ns);
			set(alarm, now_ns + next_random(&seed) % (1ull << (12 + (i + round) % 22)));
		}
		i = (unsigned int)(next_random(&seed) % N);
		alarms[i].due_ns = now_ns + next_random(&seed) % (1ull << 30);
		base_timer_start(&wheel, &alarms[i].timer, alarms[i].due_ns);
		assert_int_equal(wheel.n_armed, N);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_empty, setup),
		cmocka_unit_test_setup(test_levels, setup),
		cmocka_unit_test_setup(test_far_levels, setup),
		cmocka_unit_test_setup(test_cascade, setup),
		cmocka_unit_test_setup(test_beyond_the_top, setup),
		cmocka_unit_test_setup(test_past, setup),
		cmocka_unit_test_setup(test_no_time_passes, setup),
		cmocka_unit_test_setup(test_stop_and_restart, setup),
		cmocka_unit_test_setup(test_rearm_in_callback, setup),
		cmocka_unit_test_setup(test_stop_in_callback, setup),
		cmocka_unit_test_setup(test_order, setup),
		cmocka_unit_test_setup(test_long_sleep, setup),
		cmocka_unit_test_setup(test_random, setup),
	};

	return cmocka_run_group_tests_name("wheel", tests, NULL, NULL);
}
