/* SPDX-License-Identifier: BSD-3-Clause */
/* alarm.h: what is kept, what is over, and how seldom the log says so. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "alarm.h"
#include "log.h"

#define SECOND UINT64_C(1000000000)
#define START  (1000 * SECOND)

static const struct alarm_kind bad_tag = {"wrong_tag", "protection with "}, refused = {"peer_refused", "protection with "};
static char last_line[512];
static unsigned int n_lines;

void log_line(int level, const char *fmt, ...)
{
	va_list ap;

	(void)level;
	va_start(ap, fmt);
	(void)vsnprintf(last_line, sizeof(last_line), fmt, ap);
	va_end(ap);
	n_lines++;
}

static char last_fields[512];

void log_fields(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(last_fields, sizeof(last_fields), fmt, ap);
	va_end(ap);
}

static int start(void **state)
{
	static struct alarms alarms;

	memset(&alarms, 0, sizeof(alarms));
	n_lines = 0;
	*state = &alarms;
	return 0;
}

static void the_first_is_said_at_once(void **state)
{
	struct alarms *a = *state;

	alarm_raise(a, START, &bad_tag, "10.0.0.1", 1, "not what the %s sent", "peer");
	assert_string_equal(last_line, "protection with 10.0.0.1: not what the peer sent");
	alarm_raise(a, START + SECOND, &refused, "10.0.0.1", 7, "no");
	assert_string_equal(last_line, "protection with 10.0.0.1: no (7 times)");
	assert_string_equal(last_fields, "event=alarm alarm=peer_refused subject=10.0.0.1 times=7");
	assert_int_equal(a->n, 2);
	assert_true(a->list[0].active && a->list[1].active);
	assert_int_equal(a->list[1].count, 7);
}

/* A hundred a second for an hour: 6 lines in the first minute, then one a minute. */
static void what_goes_on_is_said_ever_less_often(void **state)
{
	struct alarms *a = *state;
	unsigned int in_a_minute = 0;

	for (uint64_t t = 0; t < 3600 * 100; t++) {
		alarm_raise(a, START + t * (SECOND / 100), &bad_tag, "10.0.0.1", 1, "bad");
		if (t == 60 * 100)
			in_a_minute = n_lines;
	}
	assert_int_equal(in_a_minute, 6);
	assert_in_range(n_lines, 60, 70);
	assert_string_equal(last_line, "protection with 10.0.0.1: bad (6000 times in 60 s)");
	assert_int_equal(a->n, 1);
	assert_int_equal(a->list[0].count, 360000);
}

/* Whoever makes up addresses gets a line a second, and no more memory than there is. */
static void many_subjects_are_one_line_a_second(void **state)
{
	struct alarms *a = *state;
	char subject[32];

	for (uint32_t i = 0; i < 50000; i++) {
		(void)snprintf(subject, sizeof(subject), "10.0.%u.%u", i >> 8, i & 255);
		alarm_raise(a, START + i * (SECOND / 1000), &refused, subject, 1, "no");
	}
	assert_in_range(n_lines, 45, 55);
	assert_int_equal(a->n, ALARM_MAX);
}

/* The place that a new one takes: what is over goes first, then what was quiet longest. */
static void what_is_over_gives_way_first(void **state)
{
	struct alarms *a = *state;
	char subject[32];

	for (uint32_t i = 0; i < ALARM_MAX; i++) {
		(void)snprintf(subject, sizeof(subject), "10.0.0.%u", i);
		alarm_raise(a, START + i, &refused, subject, 1, "no");
	}
	alarm_clear(a, &refused, "10.0.0.40");
	alarm_raise(a, START + SECOND, &refused, "10.1.0.1", 1, "no");
	assert_string_equal(a->list[40].subject, "10.1.0.1");
	alarm_raise(a, START + SECOND, &refused, "10.1.0.2", 1, "no");
	assert_string_equal(a->list[0].subject, "10.1.0.2");
}

static void it_is_over_when_it_works_or_after_silence(void **state)
{
	struct alarms *a = *state;

	alarm_raise(a, START, &refused, "10.0.0.1", 1, "no");
	alarm_raise(a, START, &bad_tag, "10.0.0.1", 1, "bad");
	alarm_clear(a, &refused, "10.0.0.2");
	assert_true(a->list[0].active);
	alarm_clear(a, &refused, "10.0.0.1");
	assert_false(a->list[0].active);
	assert_true(a->list[1].active);
	alarm_age(a, START + ALARM_LAST_NS - 1);
	assert_true(a->list[1].active);
	alarm_age(a, START + ALARM_LAST_NS);
	assert_false(a->list[1].active);
	/* It begins anew, and the log says so. */
	n_lines = 0;
	alarm_raise(a, START + 2 * ALARM_LAST_NS, &bad_tag, "10.0.0.1", 1, "bad");
	assert_int_equal(n_lines, 1);
	assert_int_equal(a->list[1].count, 1);
	assert_int_equal(a->n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_first_is_said_at_once, start),
		cmocka_unit_test_setup(what_goes_on_is_said_ever_less_often, start),
		cmocka_unit_test_setup(many_subjects_are_one_line_a_second, start),
		cmocka_unit_test_setup(what_is_over_gives_way_first, start),
		cmocka_unit_test_setup(it_is_over_when_it_works_or_after_silence, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
