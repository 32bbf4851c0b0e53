/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timing wheel: thousands of timers for one worker with O(1) start and stop. Pure: the time comes in
 * as an argument, nothing is allocated after base_wheel_init(). Five levels of 256 slots; the lowest
 * slot is 2^12 ns (about 4 us, one IBTA Local ACK Timeout unit), the top reaches 2^52 ns (52 days).
 * A timer never fires early, and fires at most one lowest slot late when the wheel is advanced in time.
 */
#ifndef BASE_WHEEL_H
#define BASE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define BASE_WHEEL_LEVELS    5
#define BASE_WHEEL_SLOT_BITS 8
#define BASE_WHEEL_SLOTS     (1 << BASE_WHEEL_SLOT_BITS)
#define BASE_WHEEL_TICK_BITS 12

struct base_timer;
typedef void (*base_timer_fn)(struct base_timer *timer, void *arg, uint64_t now_ns);

/* One timer, embedded in its owner. Zero-initialised memory plus base_timer_init() is a stopped timer. */
struct base_timer {
	LIST_ENTRY(base_timer) link;
	uint64_t expiry_ns;
	base_timer_fn fn;
	void *arg;
	bool armed;
};

LIST_HEAD(base_timer_list, base_timer);

struct base_wheel {
	uint64_t now_tick;
	uint32_t n_armed;
	struct base_timer_list slot[BASE_WHEEL_LEVELS][BASE_WHEEL_SLOTS];
};

/* Makes the wheel empty at time now_ns. */
void base_wheel_init(struct base_wheel *wheel, uint64_t now_ns);

/* Binds a stopped timer to what it calls. */
void base_timer_init(struct base_timer *timer, base_timer_fn fn, void *arg);

/* (Re)arms timer for the absolute time expiry_ns; a time in the past fires on the next advance. */
void base_timer_start(struct base_wheel *wheel, struct base_timer *timer, uint64_t expiry_ns);

/* Stops timer; harmless when it is not armed. */
void base_timer_stop(struct base_wheel *wheel, struct base_timer *timer);

/* Fires all timers due at now_ns, in order of their slots; a callback may start and stop any timer.
 * Returns how many fired. */
uint32_t base_wheel_advance(struct base_wheel *wheel, uint64_t now_ns);

/* Lower bound of the time the next timer is due, UINT64_MAX when none is armed. Scans slots, so it is
 * for the idle path, not for every packet. */
uint64_t base_wheel_next_ns(const struct base_wheel *wheel);

#endif
