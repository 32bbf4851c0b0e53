/* SPDX-License-Identifier: BSD-3-Clause */
/* Accounts by serial numbers: against a model that keeps all of them, and case by case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base_psn.h"
#include "rg_random.h"
#include "rg_window.h"

#define PACKETS 4000u

static void expect(const struct rg_window *w, uint64_t lost, uint64_t reordered, uint64_t duplicates, uint64_t jumps,
	uint64_t restarts)
{
	assert_int_equal(w->stats.lost, lost);
	assert_int_equal(w->stats.reordered, reordered);
	assert_int_equal(w->stats.duplicates, duplicates);
	assert_int_equal(w->stats.jumps, jumps);
	assert_int_equal(w->stats.restarts, restarts);
}

static void take_all(struct rg_window *w, const uint32_t *numbers, size_t n)
{
	*w = (struct rg_window){0};
	for (size_t i = 0; i < n; i++)
		rg_window_take(w, numbers[i], 1);
}
#define TAKE(w, ...) take_all(w, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

static void test_cases(void **state)
{
	struct rg_window w;

	(void)state;
	TAKE(&w, 5, 6, 7, 8);
	expect(&w, 0, 0, 0, 0, 0);
	TAKE(&w, 5, 8);
	expect(&w, 2, 0, 0, 0, 0);
	TAKE(&w, 5, 7, 6, 8);
	expect(&w, 0, 1, 0, 0, 0);
	TAKE(&w, 5, 6, 6, 7, 5);
	expect(&w, 0, 0, 2, 0, 0);
	/* the first to come need not be the first that was sent */
	TAKE(&w, 7, 5, 8);
	expect(&w, 1, 1, 0, 0, 0);
	/* over the end of the space */
	TAKE(&w, 0xfffffe, 0, 0xffffff, 1, 3);
	expect(&w, 1, 1, 0, 0, 0);
	/* one packet far away is a jump, and nothing is missing for it */
	TAKE(&w, 5, 6, 0x800005, 7, 8);
	expect(&w, 0, 0, 0, 1, 0);
	/* two in a row far ahead: all between was lost */
	TAKE(&w, 5, 6, 5007, 5008, 5009);
	expect(&w, 5000, 0, 0, 0, 0);
	/* two in a row far behind: it began anew */
	TAKE(&w, 50000, 50001, 5, 6, 8);
	expect(&w, 1, 0, 0, 0, 1);
	/* each jump on its own */
	TAKE(&w, 5, 100000, 6, 100001, 7);
	expect(&w, 0, 0, 0, 2, 0);
}

/* A READ takes the numbers of all its answers. */
static void test_several(void **state)
{
	struct rg_window w = {0};

	(void)state;
	rg_window_take(&w, 10, 4);
	rg_window_take(&w, 14, 1);
	rg_window_take(&w, 20, 5);
	expect(&w, 5, 0, 0, 0, 0);
	rg_window_take(&w, 15, 5);
	expect(&w, 0, 1, 0, 0, 0);
	rg_window_take(&w, 15, 5);
	expect(&w, 0, 1, 1, 0, 0);
	assert_int_equal(w.next, 25);
}

/* ---- the model ---- */

/* What is sent: numbers from first on, some of them twice, some never, moved by up to `spread` places. */
static size_t shuffle(uint64_t *random, uint32_t first, uint32_t spread, uint32_t *out)
{
	static struct {
		uint32_t number, at;
	} sent[2 * PACKETS];
	size_t n = 0;

	for (uint32_t i = 0; i < PACKETS; i++) {
		uint32_t copies = rg_draw(random, 10) == 0 ? 0 : rg_draw(random, 10) == 0 ? 2 : 1;

		for (uint32_t c = 0; c < copies; c++, n++) {
			sent[n].number = base_psn_add(first, i);
			sent[n].at = i + (rg_draw(random, 4) == 0 ? rg_draw(random, spread) : 0);
		}
	}
	/* stable, and short enough for insertion */
	for (size_t i = 1; i < n; i++) {
		for (size_t j = i; j > 0 && sent[j - 1].at > sent[j].at; j--) {
			__typeof__(sent[0]) other = sent[j];

			sent[j] = sent[j - 1];
			sent[j - 1] = other;
		}
	}
	for (size_t i = 0; i < n; i++)
		out[i] = sent[i].number;
	return n;
}

static void compare(uint64_t seed, uint32_t first, uint32_t spread)
{
	static uint32_t numbers[2 * PACKETS];
	static bool seen[PACKETS];
	size_t n = shuffle(&seed, first, spread, numbers);
	uint32_t least = PACKETS, most = 0, distinct = 0;
	uint64_t late = 0, twice = 0;
	struct rg_window w;

	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < n; i++) {
		uint32_t at = base_psn_add(numbers[i], 0u - first);

		if (seen[at])
			twice++;
		else if (distinct != 0 && at < most)
			late++;
		distinct += !seen[at];
		seen[at] = true;
		most = at > most ? at : most;
		least = at < least ? at : least;
	}
	take_all(&w, numbers, n);
	expect(&w, most - least + 1 - distinct, late, twice, 0, 0);
}

static void test_model(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		compare(seed, 0, 8);
		compare(seed, 0xfff000, 100);
		compare(seed, 0x7fff00, RG_WINDOW / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
