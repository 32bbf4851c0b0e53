/* SPDX-License-Identifier: BSD-3-Clause */
/* PAUSE and PFC frames as they are received: bytes, times and what they name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "qos_pause.h"

#define GBPS 1000000000u /* a quantum is 512 ns */

static void frame_is_written_as_the_standard_has_it(void **state)
{
	static const uint8_t smac[6] = {2, 0, 0, 0, 0, 9};
	static const uint16_t quanta[QOS_PRIORITIES] = {0x1111, 0, 0, 0xffff, 0, 0, 0x0102, 0};
	static const uint8_t want[] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0x01, 0x01, 0x00, 0x48,
		0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0x01, 0x02, 0, 0};
	uint8_t frame[WIRE_PAUSE_FRAME_BYTES];
	struct wire_pause back;

	(void)state;
	wire_pause_write(frame, smac, 0x48, quanta);
	assert_memory_equal(frame, want, sizeof(want));
	for (size_t i = sizeof(want); i < sizeof(frame); i++)
		assert_int_equal(frame[i], 0);
	assert_int_equal(wire_pause_parse(frame + 14, sizeof(frame) - 14, &back), BASE_DROP_NONE);
	assert_int_equal(back.kind, WIRE_PAUSE_PRIORITY);
	assert_int_equal(back.named, 0x48);
	assert_int_equal(back.quanta[3], 0xffff);
	assert_int_equal(back.quanta[6], 0x0102);
	assert_int_equal(back.quanta[0], 0); /* not named: not told */
}

static void frames_that_are_cut_are_refused(void **state)
{
	static const uint8_t pfc[20] = {0x01, 0x01, 0, 8}, pause[4] = {0, 1, 0x12, 0x34}, other[4] = {0x02, 0x02};
	struct wire_pause got;

	(void)state;
	for (size_t n = 0; n < sizeof(pfc); n++)
		assert_int_equal(wire_pause_parse(pfc, n, &got), BASE_DROP_TRUNCATED);
	assert_int_equal(wire_pause_parse(pfc, sizeof(pfc), &got), BASE_DROP_NONE);
	assert_int_equal(wire_pause_parse(pause, sizeof(pause), &got), BASE_DROP_NONE);
	assert_int_equal(got.kind, WIRE_PAUSE_LINK);
	assert_int_equal(got.named, 0xff);
	assert_int_equal(got.quanta[7], 0x1234);
	assert_int_equal(wire_pause_parse(other, sizeof(other), &got), BASE_DROP_NONE);
	assert_int_equal(got.kind, WIRE_PAUSE_UNKNOWN);
}

static struct wire_pause pfc(uint8_t named, uint16_t quanta)
{
	struct wire_pause frame = {.kind = WIRE_PAUSE_PRIORITY, .named = named};

	for (int p = 0; p < QOS_PRIORITIES; p++)
		frame.quanta[p] = quanta;
	return frame;
}

static void a_pause_lasts_its_quanta(void **state)
{
	struct wire_pause frame = pfc(1 << 3, 100);
	struct qos_pause p = {0};

	(void)state;
	assert_true(qos_pause_take(&p, &frame, 0xff, GBPS, 1000));
	assert_int_equal(p.paused, 1 << 3);
	assert_int_equal(qos_pause_next_ns(&p), 1000 + 51200);
	assert_false(qos_pause_expire(&p, 1000 + 51199));
	assert_true(qos_pause_expire(&p, 1000 + 60000));
	assert_int_equal(p.paused, 0);
	assert_int_equal(p.paused_ns[3], 51200);
	assert_int_equal(qos_pause_next_ns(&p), UINT64_MAX);
}

static void a_later_frame_counts_instead(void **state)
{
	struct wire_pause frame = pfc(0x0c, 100), end = pfc(0x04, 0);
	struct qos_pause p = {0};

	(void)state;
	qos_pause_take(&p, &frame, 0xff, GBPS, 1000);
	assert_false(qos_pause_take(&p, &frame, 0xff, GBPS, 2000)); /* longer, but nothing else is paused */
	assert_int_equal(qos_pause_next_ns(&p), 2000 + 51200);
	assert_int_equal(p.since_ns[2], 1000);
	assert_true(qos_pause_take(&p, &end, 0xff, GBPS, 3000));
	assert_int_equal(p.paused, 0x08);
	assert_int_equal(p.paused_ns[2], 2000);
	assert_int_equal(p.frames[2], 3);
	assert_int_equal(p.heard_ns[2], 2000); /* the end asks for no pause */
}

static void only_enabled_priorities_are_paused(void **state)
{
	struct wire_pause frame = pfc(0xff, 100), unknown = {.kind = WIRE_PAUSE_UNKNOWN, .named = 0xff};
	struct qos_pause p = {0};

	(void)state;
	assert_false(qos_pause_take(&p, &frame, 0, GBPS, 0));
	assert_false(qos_pause_take(&p, &unknown, 0xff, GBPS, 0));
	assert_true(qos_pause_take(&p, &frame, 0x81, GBPS, 0));
	assert_int_equal(p.paused, 0x81);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_is_written_as_the_standard_has_it),
		cmocka_unit_test(frames_that_are_cut_are_refused),
		cmocka_unit_test(a_pause_lasts_its_quanta),
		cmocka_unit_test(a_later_frame_counts_instead),
		cmocka_unit_test(only_enabled_priorities_are_paused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
