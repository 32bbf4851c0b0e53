/* SPDX-License-Identifier: BSD-3-Clause */
/* The watchdog: detected when it should be, over when it should be, and steady while every priority storms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "qos_storm.h"

#define US_NS  1000u
#define MS_NS  1000000u
#define GBPS   1000000000u

static const struct qos_storm_config config = {.detect_ns = 200 * US_NS, .restore_ns = 400 * US_NS};

struct link {
	struct qos_pause pause;
	struct qos_storm storm;
	uint64_t now_ns;
};

static void frame(struct link *l, uint8_t named, uint16_t quanta)
{
	struct wire_pause f = {.kind = WIRE_PAUSE_PRIORITY, .named = named};

	for (int p = 0; p < QOS_PRIORITIES; p++)
		f.quanta[p] = quanta;
	qos_pause_take(&l->pause, &f, 0xff, GBPS, l->now_ns);
}

/* Looks every 50 us for so long. */
static void look_for(struct link *l, uint32_t us, uint8_t backlogged, uint8_t sent)
{
	for (uint32_t t = 0; t < us; t += 50) {
		l->now_ns += 50 * US_NS;
		qos_pause_expire(&l->pause, l->now_ns);
		qos_storm_look(&l->storm, &config, &l->pause, backlogged, sent, l->now_ns);
	}
}

static void begin(struct link *l)
{
	*l = (struct link){.now_ns = MS_NS};
	look_for(l, 100, 0, 0);
}

static void a_paused_backlog_is_a_storm_after_its_time(void **state)
{
	struct link l;

	(void)state;
	begin(&l);
	frame(&l, 1 << 3, 0xffff);
	look_for(&l, 150, 1 << 3, 0);
	assert_int_equal(l.storm.storming, 0);
	look_for(&l, 50, 1 << 3, 0);
	assert_int_equal(l.storm.storming, 1 << 3);
	assert_int_equal(l.storm.detected[3], 1);
}

static void without_backlog_or_with_progress_it_is_none(void **state)
{
	struct link l;

	(void)state;
	begin(&l);
	frame(&l, 0x0c, 0xffff);
	look_for(&l, 1000, 0x08, 0x08);
	assert_int_equal(l.storm.storming, 0);
}

static void pauses_that_end_in_between_are_none(void **state)
{
	struct link l;

	(void)state;
	begin(&l);
	for (int i = 0; i < 20; i++) {
		frame(&l, 1, 0xffff);
		look_for(&l, 150, 1, 0);
		frame(&l, 1, 0);
	}
	assert_int_equal(l.storm.storming, 0);
}

/* The policy empties the queue or lets it send; neither ends the storm, only the neighbour's silence does. */
static void it_ends_when_the_neighbour_has_been_quiet(void **state)
{
	struct link l;

	(void)state;
	begin(&l);
	frame(&l, 1, 0xffff);
	look_for(&l, 200, 1, 0);
	for (int i = 0; i < 10; i++) {
		frame(&l, 1, 0xffff);
		look_for(&l, 350, i % 2 == 0, i % 3 == 0);
		assert_int_equal(l.storm.storming, 1);
	}
	look_for(&l, 50, 0, 0);
	assert_int_equal(l.storm.storming, 0);
	assert_int_equal(l.storm.restored[0], 1);
	assert_int_equal(l.storm.detected[0], 1);
}

static void all_priorities_in_a_storm_do_not_flap(void **state)
{
	struct link l;

	(void)state;
	begin(&l);
	for (int i = 0; i < 1000; i++) {
		frame(&l, 0xff, 0xffff);
		look_for(&l, 100, (uint8_t)(i * 37), (uint8_t)(i * 11 & l.storm.storming));
	}
	for (int p = 0; p < QOS_PRIORITIES; p++) {
		assert_in_range(l.storm.detected[p], 0, 1);
		assert_int_equal(l.storm.restored[p], 0);
	}
	look_for(&l, 1000, 0, 0);
	assert_int_equal(l.storm.storming, 0);
}

static void without_a_time_there_is_no_watchdog(void **state)
{
	const struct qos_storm_config off = {.detect_ns = 0};
	struct link l;

	(void)state;
	begin(&l);
	frame(&l, 1, 0xffff);
	for (int i = 0; i < 100; i++) {
		l.now_ns += MS_NS;
		frame(&l, 1, 0xffff);
		assert_int_equal(qos_storm_look(&l.storm, &off, &l.pause, 1, 0, l.now_ns), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_paused_backlog_is_a_storm_after_its_time),
		cmocka_unit_test(without_backlog_or_with_progress_it_is_none),
		cmocka_unit_test(pauses_that_end_in_between_are_none),
		cmocka_unit_test(it_ends_when_the_neighbour_has_been_quiet),
		cmocka_unit_test(all_priorities_in_a_storm_do_not_flap),
		cmocka_unit_test(without_a_time_there_is_no_watchdog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
