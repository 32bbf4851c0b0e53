/* SPDX-License-Identifier: BSD-3-Clause */
/* The schedulers at work on the fabric model: how long traffic takes, dead paths, order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sched_sim.h"

#define US_NS   1000u
#define MS_NS   1000000u
#define SEEDS   3u

/* Worst completion of all seeds. */
static uint64_t worst_ns(enum path_sched_kind kind, uint32_t slow_spines)
{
	uint64_t worst = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct sched_sim_config config;
		struct sched_sim_result result;

		sched_sim_default(&config);
		config.sched.kind = kind;
		config.slow_spines = slow_spines;
		config.seed = seed;
		sched_sim_run(&config, &result);
		assert_true(result.complete);
		worst = result.max_ns > worst ? result.max_ns : worst;
	}
	return worst;
}

static void adaptive_is_no_worse_than_mixed_in_a_permutation(void **state)
{
	uint64_t adaptive = worst_ns(PATH_SCHED_ADAPTIVE, 0);

	(void)state;
	assert_true(adaptive <= worst_ns(PATH_SCHED_MIXED, 0));
	assert_true(adaptive < 190 * US_NS);
	assert_true(worst_ns(PATH_SCHED_ECMP, 0) > 500 * US_NS);
}

static void adaptive_is_no_worse_than_mixed_with_slow_spines(void **state)
{
	uint64_t adaptive = worst_ns(PATH_SCHED_ADAPTIVE, 4);

	(void)state;
	assert_true(adaptive <= worst_ns(PATH_SCHED_MIXED, 4));
	assert_true(adaptive < 280 * US_NS);
}

static void the_same_seed_is_the_same_run(void **state)
{
	struct sched_sim_config config;
	struct sched_sim_result first, second;

	(void)state;
	sched_sim_default(&config);
	config.seed = 7;
	config.flow_bytes = 500000;
	sched_sim_run(&config, &first);
	sched_sim_run(&config, &second);
	assert_memory_equal(&first, &second, sizeof(first));
}

/* Two leaves of 4 hosts, 4 spines; messages of some ms. */
static void small(struct sched_sim_config *config, enum path_sched_kind kind)
{
	sched_sim_default(config);
	config->fabric.leaves = 2;
	config->fabric.spines = 4;
	config->fabric.hosts_per_leaf = 4;
	config->sched.kind = kind;
	config->seed = 3;
	config->limit_ns = 100 * MS_NS;
}

/* Half a millisecond in, a link dies, and the switches do not route around it. */
static void a_dead_path_is_left_and_used_again_when_it_lives(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < PATH_SCHED_KINDS; kind++) {
		struct sched_sim_config config;
		struct sched_sim_result result;

		small(&config, (enum path_sched_kind)kind);
		config.flow_bytes = 50000000;
		config.cut_spine = 1;
		config.cut_ns = MS_NS / 2;
		config.mended_ns = 3 * MS_NS / 2;
		sched_sim_run(&config, &result);
		assert_true(result.complete);
		/* of 80,000: what was under way, and two of each EV that leads there */
		assert_true(result.on_cut <= 256);
		/* the others have no need of it here: they stay where all is well */
		if (kind == PATH_SCHED_ADAPTIVE || kind == PATH_SCHED_REPS || kind == PATH_SCHED_BITMAP ||
			kind == PATH_SCHED_ROUND_ROBIN)
			assert_true(result.after_mended > 100);
	}
}

static void keep_order_keeps_order(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < PATH_SCHED_KINDS; kind++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct sched_sim_config config;
			struct sched_sim_result result;

			sched_sim_default(&config);
			config.sched.kind = (enum path_sched_kind)kind;
			config.sched.keep_order = true;
			config.slow_spines = 4;
			config.seed = seed;
			config.flow_bytes = 1000000;
			config.fabric.sw.queue_bytes = 0; /* a loss is no matter of paths here */
			sched_sim_run(&config, &result);
			assert_true(result.complete);
			assert_int_equal(result.reordered, 0);
			if (kind == PATH_SCHED_ADAPTIVE)
				assert_true(result.moves > 128 + 32);
		}
	}
}

/* So the check above means something. */
static void spraying_reorders(void **state)
{
	struct sched_sim_config config;
	struct sched_sim_result result;

	(void)state;
	sched_sim_default(&config);
	config.seed = 1;
	config.flow_bytes = 500000;
	sched_sim_run(&config, &result);
	assert_true(result.reordered > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adaptive_is_no_worse_than_mixed_in_a_permutation),
		cmocka_unit_test(adaptive_is_no_worse_than_mixed_with_slow_spines),
		cmocka_unit_test(the_same_seed_is_the_same_run),
		cmocka_unit_test(a_dead_path_is_left_and_used_again_when_it_lives),
		cmocka_unit_test(keep_order_keeps_order),
		cmocka_unit_test(spraying_reorders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
