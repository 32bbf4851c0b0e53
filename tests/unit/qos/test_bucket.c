/* SPDX-License-Identifier: BSD-3-Clause */
/* The token bucket against its definition: no more than burst and one packet beyond rate times time, and no less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "qos_bucket.h"

#define SECOND_NS 1000000000u
#define PACKET    4200u

static void without_a_rate_nothing_waits(void **state)
{
	struct qos_bucket b;

	(void)state;
	qos_bucket_init(&b, 0, 0);
	assert_false(qos_bucket_limits(&b));
	for (int i = 0; i < 1000; i++) {
		assert_true(qos_bucket_ready(&b, 5));
		qos_bucket_take(&b, PACKET, 5);
	}
	assert_int_equal(qos_bucket_bytes(&b, 5), UINT32_MAX);
}

/* 1 Gb/s: 8 ns a byte. Burst of 8,000 bytes: 64 us. */
static void times_are_those_of_the_rate(void **state)
{
	struct qos_bucket b;

	(void)state;
	qos_bucket_init(&b, 1000000000u, 8000);
	assert_int_equal(qos_bucket_bytes(&b, 1000), 8000);
	qos_bucket_take(&b, 8000, 1000);
	assert_true(qos_bucket_ready(&b, 1000)); /* one packet beyond the burst */
	assert_int_equal(qos_bucket_bytes(&b, 1000), 0);
	qos_bucket_take(&b, 1000, 1000);
	assert_false(qos_bucket_ready(&b, 1000 + 7999));
	assert_int_equal(qos_bucket_ready_ns(&b), 1000 + 8000);
	assert_true(qos_bucket_ready(&b, 1000 + 8000));
	assert_int_equal(qos_bucket_bytes(&b, 1000 + 8000 + 800), 100);
}

static void a_pause_saves_no_more_than_the_burst(void **state)
{
	struct qos_bucket b;
	uint32_t sent = 0;

	(void)state;
	qos_bucket_init(&b, 1000000000u, 8000);
	qos_bucket_take(&b, 1000, 0);
	for (; qos_bucket_ready(&b, SECOND_NS); sent += 1000)
		qos_bucket_take(&b, 1000, SECOND_NS);
	assert_int_equal(sent, 9000);
}

/* Who comes every 4 us or so with packets of 4,200 bytes gets the rate to a ten-thousandth. */
static void sent_in(uint64_t rate_bps)
{
	uint32_t burst = (uint32_t)(rate_bps * 8 / 8 / 1000000) + 2 * PACKET;
	uint64_t sent = 0, due = rate_bps / 8, now_ns = 0;
	struct qos_bucket b;

	qos_bucket_init(&b, rate_bps, burst);
	for (uint32_t i = 0; now_ns < SECOND_NS; i++) {
		now_ns += 3000 + i % 2000;
		while (qos_bucket_ready(&b, now_ns)) {
			qos_bucket_take(&b, PACKET, now_ns);
			sent += PACKET;
		}
	}
	assert_true(sent + due / 10000 >= due);
	assert_true(sent <= due + due / 10000 + burst + 2 * PACKET);
}

static void rates_are_kept(void **state)
{
	(void)state;
	sent_in(1000000);
	sent_in(10000000);
	sent_in(1000000000);
	sent_in(10000000000);
	sent_in(400000000000);
}

/* Part of 10 Gb/s, in thousandths, that one sends who comes every 500 us only. */
static uint64_t late_part(uint32_t burst_ns)
{
	const uint64_t rate_bps = 10000000000;
	struct qos_bucket b;
	uint64_t sent = 0;

	qos_bucket_init(&b, rate_bps, qos_burst_bytes(rate_bps, PACKET, burst_ns));
	for (uint64_t now_ns = 0; now_ns < SECOND_NS; now_ns += 500000) {
		while (qos_bucket_ready(&b, now_ns)) {
			qos_bucket_take(&b, PACKET, now_ns);
			sent += PACKET;
		}
	}
	return sent * 8000 / rate_bps;
}

static void a_longer_burst_makes_up_for_a_longer_absence(void **state)
{
	(void)state;
	assert_int_equal(qos_burst_bytes(1000000000, PACKET, 0), 1000 + 2 * PACKET);
	assert_int_equal(qos_burst_bytes(1000000000, PACKET, 1000000), 125000 + 2 * PACKET);
	assert_int_equal(qos_burst_bytes(QOS_MAX_RATE_BPS, 65535, UINT32_MAX), UINT32_MAX);
	assert_in_range(late_part(0), 20, 60);
	assert_in_range(late_part(1000000), 999, 1003);
}

static void another_rate_counts_from_then_on(void **state)
{
	struct qos_bucket b;

	(void)state;
	qos_bucket_init(&b, 1000000000u, 0);
	qos_bucket_take(&b, 1000, 0);
	qos_bucket_set(&b, 2000000000u, 0);
	assert_int_equal(qos_bucket_ready_ns(&b), 8000);
	qos_bucket_take(&b, 1000, 8000);
	assert_int_equal(qos_bucket_ready_ns(&b), 12000);
	qos_bucket_set(&b, 0, 0);
	assert_true(qos_bucket_ready(&b, 8000));
}

static void rates_out_of_range_are_brought_into_it(void **state)
{
	struct qos_bucket low, least;

	(void)state;
	qos_bucket_init(&low, 1, 1000);
	qos_bucket_init(&least, QOS_MIN_RATE_BPS, 1000);
	assert_int_equal(low.byte_cost, least.byte_cost);
	qos_bucket_init(&low, UINT64_MAX, UINT32_MAX);
	assert_true(qos_bucket_limits(&low));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_rate_nothing_waits),
		cmocka_unit_test(times_are_those_of_the_rate),
		cmocka_unit_test(a_pause_saves_no_more_than_the_burst),
		cmocka_unit_test(a_longer_burst_makes_up_for_a_longer_absence),
		cmocka_unit_test(rates_are_kept),
		cmocka_unit_test(another_rate_counts_from_then_on),
		cmocka_unit_test(rates_out_of_range_are_brought_into_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
