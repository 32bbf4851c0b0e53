/* SPDX-License-Identifier: BSD-3-Clause */
#include "rg_window.h"

#include <string.h>

#include "base_psn.h"

static bool has(const struct rg_window *w, uint32_t number)
{
	return (w->got[number % RG_WINDOW / 64] >> number % 64 & 1) != 0;
}

static void set(struct rg_window *w, uint32_t number, bool value)
{
	uint64_t bit = 1ull << number % 64;

	if (value)
		w->got[number % RG_WINDOW / 64] |= bit;
	else
		w->got[number % RG_WINDOW / 64] &= ~bit;
}

/* The next n numbers have come, or are missing. */
static void advance(struct rg_window *w, uint32_t n, bool come)
{
	for (uint32_t i = n > RG_WINDOW ? n - RG_WINDOW : 0; i < n; i++)
		set(w, base_psn_add(w->next, i), come);
	w->next = base_psn_add(w->next, n);
	w->span = w->span + n < RG_WINDOW ? w->span + n : RG_WINDOW;
	if (!come)
		w->stats.lost += n;
}

/* Numbers before the first one that came are accounted for from now on: missing. */
static void reach_back(struct rg_window *w, uint32_t distance)
{
	while (w->span < distance) {
		w->span++;
		set(w, base_psn_add(w->next, 0u - w->span), false);
		w->stats.lost++;
	}
}

static void take_late(struct rg_window *w, uint32_t number, uint32_t n, uint32_t distance)
{
	reach_back(w, distance);
	if (has(w, number)) {
		w->stats.duplicates++;
		return;
	}
	w->stats.reordered++;
	for (uint32_t i = 0; i < n && i < distance; i++) {
		uint32_t each = base_psn_add(number, i);

		if (!has(w, each))
			w->stats.lost--;
		set(w, each, true);
	}
	if (n > distance)
		advance(w, n - distance, true);
}

static void start(struct rg_window *w, uint32_t number, uint32_t n)
{
	memset(w->got, 0, sizeof(w->got));
	w->started = true;
	w->span = 0;
	w->next = number;
	advance(w, n, true);
}

/* The stray was no stray: the sender went on there. */
static void go_on_there(struct rg_window *w, uint32_t n)
{
	int32_t gap = base_psn_diff(w->stray, w->next);

	w->stats.jumps--;
	if (gap > 0) {
		advance(w, (uint32_t)gap, false);
		advance(w, base_psn_add(w->after_stray, 0u - w->stray), true);
	} else {
		w->stats.restarts++;
		start(w, w->stray, base_psn_add(w->after_stray, 0u - w->stray));
	}
	advance(w, n, true);
	w->has_stray = false;
}

static void take_far(struct rg_window *w, uint32_t number, uint32_t n)
{
	if (w->has_stray && number == w->after_stray) {
		go_on_there(w, n);
		return;
	}
	w->stats.jumps++;
	w->has_stray = true;
	w->stray = number;
	w->after_stray = base_psn_add(number, n);
}

void rg_window_take(struct rg_window *w, uint32_t number, uint32_t n)
{
	int32_t ahead;

	if (!w->started) {
		start(w, number, n);
		return;
	}
	ahead = base_psn_diff(number, w->next);
	if (ahead >= (int32_t)RG_WINDOW || ahead < -(int32_t)RG_WINDOW) {
		take_far(w, number, n);
		return;
	}
	if (ahead < 0) {
		take_late(w, number, n, (uint32_t)-ahead);
		return;
	}
	w->has_stray = false;
	if (ahead > 0)
		advance(w, (uint32_t)ahead, false);
	advance(w, n, true);
}

void rg_window_add(struct rg_window_stats *sum, const struct rg_window_stats *stats)
{
	sum->lost += stats->lost;
	sum->reordered += stats->reordered;
	sum->duplicates += stats->duplicates;
	sum->jumps += stats->jumps;
	sum->restarts += stats->restarts;
}
