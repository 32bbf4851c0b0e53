/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_wheel.h"

#include <string.h>

#define SLOT_MASK (BASE_WHEEL_SLOTS - 1)

static uint64_t tick_of(uint64_t ns)
{
	return ns >> BASE_WHEEL_TICK_BITS;
}

void base_wheel_init(struct base_wheel *wheel, uint64_t now_ns)
{
	memset(wheel, 0, sizeof(*wheel));
	wheel->now_tick = tick_of(now_ns);
}

void base_timer_init(struct base_timer *timer, base_timer_fn fn, void *arg)
{
	memset(timer, 0, sizeof(*timer));
	timer->fn = fn;
	timer->arg = arg;
}

/* A timer lies on the lowest level whose span covers its distance, in the slot of its own tick bits. */
static void place(struct base_wheel *wheel, struct base_timer *timer, uint64_t earliest_tick)
{
	bool between = (timer->expiry_ns & ((1u << BASE_WHEEL_TICK_BITS) - 1)) != 0;
	uint64_t tick = tick_of(timer->expiry_ns) + between; /* up; the end of time must not wrap to its start */
	unsigned int level = 0;

	if (tick < earliest_tick)
		tick = earliest_tick;
	while (level < BASE_WHEEL_LEVELS - 1 &&
		(tick >> (BASE_WHEEL_SLOT_BITS * (level + 1))) !=
			(wheel->now_tick >> (BASE_WHEEL_SLOT_BITS * (level + 1))))
		level++;
	LIST_INSERT_HEAD(
		&wheel->slot[level][(tick >> (BASE_WHEEL_SLOT_BITS * level)) & SLOT_MASK], timer, link);
}

void base_timer_start(struct base_wheel *wheel, struct base_timer *timer, uint64_t expiry_ns)
{
	base_timer_stop(wheel, timer);
	timer->expiry_ns = expiry_ns;
	timer->armed = true;
	wheel->n_armed++;
	place(wheel, timer, wheel->now_tick + 1);
}

void base_timer_stop(struct base_wheel *wheel, struct base_timer *timer)
{
	if (!timer->armed)
		return;
	LIST_REMOVE(timer, link);
	timer->armed = false;
	wheel->n_armed--;
}

/* Level l's slot under the cursor is spread over the levels below when the cursor enters it. */
static void cascade(struct base_wheel *wheel)
{
	unsigned int level;

	for (level = 1; level < BASE_WHEEL_LEVELS; level++) {
		uint64_t below = wheel->now_tick >> (BASE_WHEEL_SLOT_BITS * (level - 1));
		struct base_timer_list moved;
		struct base_timer *timer;
		unsigned int slot;

		if (below & SLOT_MASK)
			return;
		slot = (wheel->now_tick >> (BASE_WHEEL_SLOT_BITS * level)) & SLOT_MASK;
		moved = wheel->slot[level][slot];
		if (LIST_EMPTY(&moved))
			continue;
		LIST_INIT(&wheel->slot[level][slot]);
		LIST_FIRST(&moved)->link.le_prev = &LIST_FIRST(&moved);
		while ((timer = LIST_FIRST(&moved))) {
			LIST_REMOVE(timer, link);
			place(wheel, timer, wheel->now_tick);
		}
	}
}

static uint32_t fire_slot(struct base_wheel *wheel, uint64_t now_ns)
{
	struct base_timer_list *slot = &wheel->slot[0][wheel->now_tick & SLOT_MASK];
	struct base_timer *timer;
	uint32_t fired = 0;

	while ((timer = LIST_FIRST(slot))) {
		base_timer_stop(wheel, timer);
		timer->fn(timer, timer->arg, now_ns);
		fired++;
	}
	return fired;
}

/* After a long time without a call (a suspended machine) most slots on the way are empty: goes right in front
 * of the next one that is not, or of the boundary at which it is spread. */
static void skip_empty(struct base_wheel *wheel, uint64_t target)
{
	uint64_t next = tick_of(base_wheel_next_ns(wheel));

	if (next > target)
		next = target;
	if (next > wheel->now_tick + 1)
		wheel->now_tick = next - 1;
}

uint32_t base_wheel_advance(struct base_wheel *wheel, uint64_t now_ns)
{
	uint64_t target = tick_of(now_ns);
	uint32_t fired = 0;

	while (wheel->now_tick < target) {
		if (!wheel->n_armed) {
			wheel->now_tick = target;
			break;
		}
		if (target - wheel->now_tick > BASE_WHEEL_SLOTS)
			skip_empty(wheel, target);
		wheel->now_tick++;
		cascade(wheel);
		fired += fire_slot(wheel, now_ns);
	}
	return fired;
}

uint64_t base_wheel_next_ns(const struct base_wheel *wheel)
{
	unsigned int level;
	unsigned int i;

	if (!wheel->n_armed)
		return UINT64_MAX;
	for (level = 0; level < BASE_WHEEL_LEVELS; level++) {
		unsigned int shift = BASE_WHEEL_SLOT_BITS * level;
		uint64_t base = wheel->now_tick >> shift;

		for (i = 0; i < BASE_WHEEL_SLOTS; i++) {
			if (LIST_EMPTY(&wheel->slot[level][(base + i) & SLOT_MASK]))
				continue;
			return ((base + i) << shift) << BASE_WHEEL_TICK_BITS;
		}
	}
	return UINT64_MAX;
}
