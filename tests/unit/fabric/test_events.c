/* SPDX-License-Identifier: BSD-3-Clause */
/* Events come out in order of time, and of their adding when the time is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fabric_events.h"

#define N 5000u

static void never(void *env, void *arg, uint64_t now_ps)
{
	(void)env;
	(void)arg;
	(void)now_ps;
}

static void test_empty(void **state)
{
	struct fabric_events events = {0};

	(void)state;
	assert_true(fabric_events_next_ps(&events) == UINT64_MAX);
	fabric_events_free(&events);
}

static void test_order(void **state)
{
	struct fabric_events events = {0};
	uint64_t last_ps = 0, last_order = 0, x = 1;
	uint32_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		assert_int_equal(fabric_events_add(&events, (x >> 33) % 97, never, NULL), 0);
		if (i % 3 == 2 && fabric_events_next_ps(&events) >= last_ps) {
			last_ps = fabric_events_take(&events).at_ps;
			n++;
		}
	}
	last_ps = 0;
	for (; n < N; n++) {
		struct fabric_event event = fabric_events_take(&events);

		assert_true(event.at_ps >= last_ps);
		assert_true(event.at_ps != last_ps || event.order >= last_order);
		last_ps = event.at_ps;
		last_order = event.order;
	}
	assert_int_equal(events.n, 0);
	fabric_events_free(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests_name("fabric-events", tests, NULL, NULL);
}
