/* SPDX-License-Identifier: BSD-3-Clause */
/* What waits of received packets, and when the neighbour is asked to pause, by figures worked out by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rx_pause.h"

#define MOST 64
#define ROOM 1024
#define GBPS 1000000000u

static uint32_t queued(const struct rx_fill *fill, uint8_t p)
{
	return atomic_load(&fill->queued[p]);
}

/* A walk that takes n packets, of priority 3 but for `others` of priority 0. */
static void walk(struct rx_fill *fill, struct rx_run *run, uint32_t n, uint32_t others, int count)
{
	rx_fill_burst(fill, run, n, MOST, ROOM, count);
	for (uint32_t i = 0; i < n; i++)
		rx_fill_saw(fill, i < others ? 0 : 3);
	rx_fill_settle(fill);
}

/* ---- what waits ---- */

static void what_the_driver_counts_is_taken(void **state)
{
	struct rx_fill fill = {0};
	struct rx_run run = {0};

	(void)state;
	walk(&fill, &run, MOST, 0, 300);
	assert_int_equal(queued(&fill, 3), 300);
	walk(&fill, &run, MOST, 0, 10);
	assert_int_equal(queued(&fill, 3), 10);
	walk(&fill, &run, 10, 0, -1);
	assert_int_equal(queued(&fill, 3), 0);
}

/* Without a count each full burst in a row tells of one more behind it, up to the queue's room; a short one empties it. */
static void full_bursts_in_a_row_stand_for_a_count(void **state)
{
	struct rx_fill fill = {0};
	struct rx_run run = {0};

	(void)state;
	for (uint32_t i = 1; i <= 4; i++) {
		walk(&fill, &run, MOST, 0, -ENOTSUP);
		assert_int_equal(queued(&fill, 3), i * MOST);
	}
	for (uint32_t i = 0; i < 40; i++)
		walk(&fill, &run, MOST, 0, -ENOTSUP);
	assert_int_equal(queued(&fill, 3), ROOM);
	walk(&fill, &run, MOST - 1, 0, -ENOTSUP);
	assert_int_equal(queued(&fill, 3), 0);
	walk(&fill, &run, MOST, 0, -ENOTSUP);
	assert_int_equal(queued(&fill, 3), MOST);
}

/* 48 of 64 were of priority 3, so 300 of 400 behind them are. */
static void what_is_behind_is_as_what_came(void **state)
{
	struct rx_fill fill = {0};
	struct rx_run run = {0};

	(void)state;
	walk(&fill, &run, MOST, 16, 400);
	assert_int_equal(queued(&fill, 3), 300);
	assert_int_equal(queued(&fill, 0), 100);
}

/* ---- headroom and room ---- */

/* 10 Gb/s, 100 m, 20 us, MTU 1500: 1,250,000 bytes/ms * 21 us, twice 1,518, and the frame. */
static void headroom_is_computed(void **state)
{
	struct config_port port = {.mtu = 1500, .cable_m = 100, .pfc_response_us = 20};

	(void)state;
	assert_int_equal(rx_pause_headroom(&port, 10ull * GBPS), 26250 + 2 * 1518 + 84);
	port.pfc_headroom_kbytes = 7;
	assert_int_equal(rx_pause_headroom(&port, 10ull * GBPS), 7000);
}

static void the_smallest_place_is_the_room(void **state)
{
	struct config_port port = {.mtu = 982, .pfc_send = 1 << 3, .pfc_headroom_kbytes = 24};
	struct rx_room room = {.queue = 1024, .ring = 2047, .spare = 7000};
	struct rx_pause pause;

	(void)state;
	assert_int_equal(rx_pause_init(&pause, &port, GBPS, &room), 0);
	assert_int_equal(pause.config.buffer_bytes, 1024000);
	assert_int_equal(pause.pfc.shared_bytes, 1000000);
	room.ring = 511;
	assert_int_equal(rx_pause_init(&pause, &port, GBPS, &room), 0);
	assert_int_equal(pause.config.buffer_bytes, 511000);
	port.pfc_buffer_kbytes = 300;
	assert_int_equal(rx_pause_init(&pause, &port, GBPS, &room), 0);
	assert_int_equal(pause.config.buffer_bytes, 300000);
}

static void headroom_has_half_of_the_room_at_most(void **state)
{
	struct config_port port = {.mtu = 982, .pfc_send = 1 << 3 | 1 << 4, .pfc_headroom_kbytes = 600};
	struct rx_room room = {.queue = 1000, .ring = 2047, .spare = 7000};
	struct rx_pause pause;

	(void)state;
	assert_int_equal(rx_pause_init(&pause, &port, GBPS, &room), 1);
	assert_int_equal(pause.config.headroom_bytes, 250000);
	assert_int_equal(pause.pfc.shared_bytes, 500000);
	room.spare = 0;
	assert_int_equal(rx_pause_init(&pause, &port, GBPS, &room), -EINVAL);
}

/* ---- pauses ---- */

/* 1,000 bytes a packet, 24 KB of headroom and 1,000,000 shared: off above half of it, on at a fourth or so. */
static const struct config_port port = {.mtu = 982, .pfc_send = 1 << 3, .pfc_headroom_kbytes = 24};
static const struct rx_room room = {.queue = ROOM, .ring = 2047, .spare = 7000};

static void set(_Atomic uint32_t *to, uint32_t n)
{
	atomic_store(to, n);
}

static bool asks(struct rx_pause *pause, struct rx_fill *a, struct rx_fill *b, uint8_t *named, uint16_t *quanta3)
{
	const struct rx_fill *fills[] = {a, b};
	uint16_t quanta[QOS_PRIORITIES];
	bool due;

	rx_pause_look(pause, fills, 2);
	due = qos_pfc_due(&pause->pfc, 1, named, quanta);
	*quanta3 = quanta[3];
	return due;
}

/* Queues are each worker's own: two that are half full are not one that is full. */
static void the_fullest_queue_counts(void **state)
{
	struct rx_fill a = {0}, b = {0};
	struct rx_pause pause;
	uint16_t quanta;
	uint8_t named;

	(void)state;
	assert_int_equal(rx_pause_init(&pause, &port, GBPS, &room), 0);
	set(&a.queued[3], 400);
	set(&b.queued[3], 500);
	assert_false(asks(&pause, &a, &b, &named, &quanta));
	set(&b.queued[3], 501);
	assert_true(asks(&pause, &a, &b, &named, &quanta));
	assert_int_equal(named, 1 << 3);
	assert_int_equal(quanta, UINT16_MAX);
	set(&b.queued[3], 334);
	assert_false(asks(&pause, &a, &b, &named, &quanta));
	set(&a.queued[3], 0);
	set(&b.queued[3], 333);
	assert_true(asks(&pause, &a, &b, &named, &quanta));
	assert_int_equal(named, 1 << 3);
	assert_int_equal(quanta, 0);
}

static void what_is_between_workers_counts(void **state)
{
	struct rx_fill a = {0}, b = {0};
	struct rx_pause pause;
	uint16_t quanta;
	uint8_t named;

	(void)state;
	assert_int_equal(rx_pause_init(&pause, &port, GBPS, &room), 0);
	/* Counts wrap around. */
	set(&a.given[3], 400);
	set(&b.taken[3], (uint32_t)-101);
	assert_true(asks(&pause, &a, &b, &named, &quanta));
	assert_int_equal(pause.pfc.bytes[3], 501000);
	set(&b.taken[3], 400);
	assert_true(asks(&pause, &a, &b, &named, &quanta));
	assert_int_equal(quanta, 0);
	/* Seen one before the other. */
	set(&b.taken[3], 410);
	assert_false(asks(&pause, &a, &b, &named, &quanta));
	assert_int_equal(pause.pfc.bytes[3], 0);
}

/* 6,500 of 7,000 spare buffers are kept: 500 are left, and 524 of the room of 1,024 gone. Off above (1,000 - 524) / 2. */
static void packets_before_their_turn_leave_less_room(void **state)
{
	struct rx_fill a = {0}, b = {0};
	struct rx_pause pause;
	uint16_t quanta;
	uint8_t named;

	(void)state;
	assert_int_equal(rx_pause_init(&pause, &port, GBPS, &room), 0);
	set(&a.kept, 3000);
	set(&b.kept, 3500);
	set(&a.queued[3], 238);
	assert_false(asks(&pause, &a, &b, &named, &quanta));
	set(&a.queued[3], 239);
	assert_true(asks(&pause, &a, &b, &named, &quanta));
	assert_int_equal(quanta, UINT16_MAX);
	/* But pause nobody: those that they wait for are of the same priority. */
	set(&a.kept, 8000);
	set(&a.queued[3], 0);
	assert_true(asks(&pause, &a, &b, &named, &quanta));
	assert_int_equal(quanta, 0);
}

static void other_priorities_take_room_and_are_not_paused(void **state)
{
	struct rx_fill a = {0}, b = {0};
	struct rx_pause pause;
	uint16_t quanta;
	uint8_t named;

	(void)state;
	assert_int_equal(rx_pause_init(&pause, &port, GBPS, &room), 0);
	set(&a.queued[0], 900);
	assert_false(asks(&pause, &a, &b, &named, &quanta));
	set(&a.queued[3], 51); /* above (1,000 - 900 - 51), 49 */
	assert_true(asks(&pause, &a, &b, &named, &quanta));
	assert_int_equal(named, 1 << 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_driver_counts_is_taken),
		cmocka_unit_test(full_bursts_in_a_row_stand_for_a_count),
		cmocka_unit_test(what_is_behind_is_as_what_came),
		cmocka_unit_test(headroom_is_computed),
		cmocka_unit_test(the_smallest_place_is_the_room),
		cmocka_unit_test(headroom_has_half_of_the_room_at_most),
		cmocka_unit_test(the_fullest_queue_counts),
		cmocka_unit_test(what_is_between_workers_counts),
		cmocka_unit_test(packets_before_their_turn_leave_less_room),
		cmocka_unit_test(other_priorities_take_room_and_are_not_paused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
