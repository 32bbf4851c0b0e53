/* SPDX-License-Identifier: BSD-3-Clause */
/* XOFF and XON by what a priority has in the buffer, by figures worked out by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "qos_pfc.h"

/* Two lossless priorities: 2 * (1,000 + 9,000) of their own, 160,000 shared; alpha 1/16: 10,000 while it is empty.
 * Quanta of 1,000 at 1 Gb/s: 512 us. */
static const struct qos_pfc_config config = {.priorities = 0x18, .alpha_shift = 4, .buffer_bytes = 180000,
	.min_bytes = 1000, .headroom_bytes = 9000, .rate_bps = 1000000000u, .quanta = 1000};

static uint8_t due(struct qos_pfc *pfc, uint64_t now_ns, uint16_t quanta[QOS_PRIORITIES])
{
	uint8_t named;

	return qos_pfc_due(pfc, now_ns, &named, quanta) ? named : 0;
}

/* 100 Gb/s, 100 m of fibre (500 ns), MTU 4,200, response 2 us: 2 * 6,250 + 25,000 + 8,400 + 84. */
static void headroom_is_what_still_comes(void **state)
{
	(void)state;
	assert_int_equal(qos_pfc_headroom_bytes(100000000000u, 500, 4200, 2000), 12500 + 25000 + 8400 + 84);
}

static void impossible_buffers_are_refused(void **state)
{
	struct qos_pfc_config c = config;
	struct qos_pfc pfc;

	(void)state;
	c.buffer_bytes = 20000;
	assert_int_equal(qos_pfc_init(&pfc, &c), -EINVAL);
	c = config;
	c.quanta = 0;
	assert_int_equal(qos_pfc_init(&pfc, &c), -EINVAL);
	c = config;
	c.rate_bps = 0;
	assert_int_equal(qos_pfc_init(&pfc, &c), -EINVAL);
}

/* With u of the shared part used by itself alone a priority is over when u > (160,000 - u) / 16: above 9,411. */
static void off_above_alpha_of_what_is_left(void **state)
{
	uint16_t quanta[QOS_PRIORITIES];
	struct qos_pfc pfc;

	(void)state;
	assert_int_equal(qos_pfc_init(&pfc, &config), 0);
	qos_pfc_in(&pfc, 3, 1000 + 9411);
	assert_int_equal(due(&pfc, 5, quanta), 0);
	qos_pfc_in(&pfc, 3, 1);
	assert_int_equal(qos_pfc_next_ns(&pfc), 0);
	assert_int_equal(due(&pfc, 5, quanta), 1 << 3);
	assert_int_equal(quanta[3], 1000);
	assert_int_equal(pfc.xoff_sent[3], 1);
	assert_int_equal(due(&pfc, 6, quanta), 0);
}

/* On at half of it: 4,700 and (160,000 - 4,700) / 16 / 2 = 4,853. */
static void on_at_half_of_that(void **state)
{
	uint16_t quanta[QOS_PRIORITIES];
	struct qos_pfc pfc;

	(void)state;
	assert_int_equal(qos_pfc_init(&pfc, &config), 0);
	qos_pfc_in(&pfc, 4, 12000);
	assert_int_equal(due(&pfc, 0, quanta), 1 << 4);
	qos_pfc_out(&pfc, 4, 5000);
	assert_int_equal(due(&pfc, 1, quanta), 0);
	qos_pfc_out(&pfc, 4, 1300);
	assert_int_equal(due(&pfc, 2, quanta), 1 << 4);
	assert_int_equal(quanta[4], 0);
	assert_int_equal(pfc.xon_sent[4], 1);
	assert_int_equal(qos_pfc_next_ns(&pfc), UINT64_MAX);
}

static void a_pause_is_asked_for_again_in_time(void **state)
{
	uint16_t quanta[QOS_PRIORITIES];
	struct qos_pfc pfc;

	(void)state;
	assert_int_equal(qos_pfc_init(&pfc, &config), 0);
	qos_pfc_in(&pfc, 3, 20000);
	assert_int_equal(due(&pfc, 1000, quanta), 1 << 3);
	assert_int_equal(qos_pfc_next_ns(&pfc), 1000 + 256000);
	assert_int_equal(due(&pfc, 1000 + 255999, quanta), 0);
	assert_int_equal(due(&pfc, 1000 + 256000, quanta), 1 << 3);
	assert_int_equal(quanta[3], 1000);
}

/* The other one's use of the shared part lowers the limit of both. */
static void who_uses_much_leaves_little(void **state)
{
	uint16_t quanta[QOS_PRIORITIES];
	struct qos_pfc pfc;

	(void)state;
	assert_int_equal(qos_pfc_init(&pfc, &config), 0);
	qos_pfc_in(&pfc, 3, 1000 + 80000);
	qos_pfc_in(&pfc, 4, 1000 + 4700); /* (160,000 - 84,700) / 16 = 4,706 */
	assert_int_equal(due(&pfc, 0, quanta), 1 << 3);
	qos_pfc_in(&pfc, 4, 10);
	assert_int_equal(due(&pfc, 1, quanta), 1 << 4);
}

static void other_priorities_are_never_paused(void **state)
{
	uint16_t quanta[QOS_PRIORITIES];
	struct qos_pfc pfc;

	(void)state;
	assert_int_equal(qos_pfc_init(&pfc, &config), 0);
	qos_pfc_in(&pfc, 0, 1000000);
	assert_int_equal(due(&pfc, 0, quanta), 0);
	qos_pfc_out(&pfc, 0, 2000000);
	assert_int_equal(pfc.bytes[0], 0);
	assert_int_equal(pfc.shared_used, 0);
}

/* The same bounds for who knows only how much there is: above 9,411 of the shared part off, at half of that on. */
static void a_level_is_enough(void **state)
{
	uint16_t quanta[QOS_PRIORITIES];
	struct qos_pfc pfc;

	(void)state;
	assert_int_equal(qos_pfc_init(&pfc, &config), 0);
	qos_pfc_set(&pfc, 3, 1000 + 9411);
	assert_int_equal(due(&pfc, 0, quanta), 0);
	qos_pfc_set(&pfc, 3, 1000 + 9412);
	assert_int_equal(due(&pfc, 0, quanta), 1 << 3);
	qos_pfc_set(&pfc, 3, 1000 + 8000);
	assert_int_equal(due(&pfc, 1, quanta), 0);
	qos_pfc_set(&pfc, 3, 1000 + 4700);
	assert_int_equal(due(&pfc, 2, quanta), 1 << 3);
	assert_int_equal(quanta[3], 0);
}

/* With 150,000 of it reserved: u > (10,000 - u) / 16, above 588. */
static void what_is_reserved_leaves_less_and_pauses_nobody(void **state)
{
	uint16_t quanta[QOS_PRIORITIES];
	struct qos_pfc pfc;

	(void)state;
	assert_int_equal(qos_pfc_init(&pfc, &config), 0);
	qos_pfc_reserve(&pfc, 150000);
	qos_pfc_set(&pfc, 3, 1000 + 588);
	assert_int_equal(due(&pfc, 0, quanta), 0);
	qos_pfc_set(&pfc, 3, 1000 + 589);
	assert_int_equal(due(&pfc, 0, quanta), 1 << 3);
	/* With nothing of its own it goes on, however much is reserved. */
	qos_pfc_reserve(&pfc, 200000);
	qos_pfc_set(&pfc, 3, 0);
	assert_int_equal(due(&pfc, 1, quanta), 1 << 3);
	assert_int_equal(quanta[3], 0);
	qos_pfc_reserve(&pfc, 0);
	assert_int_equal(pfc.shared_used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headroom_is_what_still_comes),
		cmocka_unit_test(impossible_buffers_are_refused),
		cmocka_unit_test(off_above_alpha_of_what_is_left),
		cmocka_unit_test(on_at_half_of_that),
		cmocka_unit_test(a_pause_is_asked_for_again_in_time),
		cmocka_unit_test(who_uses_much_leaves_little),
		cmocka_unit_test(other_priorities_are_never_paused),
		cmocka_unit_test(a_level_is_enough),
		cmocka_unit_test(what_is_reserved_leaves_less_and_pauses_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
