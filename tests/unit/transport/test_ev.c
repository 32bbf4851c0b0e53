/* SPDX-License-Identifier: BSD-3-Clause */
/* What a loss is taken for: a queue, which the window makes room for, or a wire that loses, which it does not. */
#include "sr_kit.h"
#include "tp_ext.h"

#define BASE_NS 10000u

/* The round trips and marks of one EV, in turn, and those of all. */
struct seen {
	uint32_t rtt_ns[4];      /* 0: no more of them */
	uint32_t marked;         /* so many of them, the last ones */
	uint32_t srtt_ns, least_ns;
	bool congested;
	const char *why;
};

static const struct seen seen[] = {
	{{0}, 0, 0, 0, false, "nothing is known"},
	{{BASE_NS}, 0, BASE_NS, BASE_NS, false, "idle"},
	/* the EV's own queue: above 1.5 times its least, or marked */
	{{BASE_NS, 3 * BASE_NS, 3 * BASE_NS, 3 * BASE_NS}, 0, BASE_NS, BASE_NS, true, "its round trip has grown"},
	{{4 * BASE_NS, 4 * BASE_NS, 4 * BASE_NS, 4 * BASE_NS}, 0, BASE_NS, BASE_NS, false, "it is a long way, not a queue"},
	{{BASE_NS, BASE_NS, BASE_NS, BASE_NS}, 2, BASE_NS, BASE_NS, true, "it is marked"},
	/* a queue that all share: this EV, which was used once or never, cannot know */
	{{BASE_NS}, 0, 3 * BASE_NS + 3, BASE_NS, true, "all together are above three times the least"},
	{{0}, 0, 3 * BASE_NS + 3, BASE_NS, true, "the same for one that was never used"},
	{{BASE_NS}, 0, 3 * BASE_NS, BASE_NS, false, "all together are at three times"},
	{{4 * BASE_NS}, 0, 8 * BASE_NS, 4 * BASE_NS, false, "all together are at twice"},
};

static void test_congested(void **state)
{
	struct path_sched_config config;

	(void)state;
	path_sched_config_default(&config);
	path_sched_config_base(&config, BASE_NS);
	for (size_t i = 0; i < RTE_DIM(seen); i++) {
		const struct seen *s = &seen[i];
		struct tp_ext x = {.srtt_ns = s->srtt_ns, .least_ns = s->least_ns};
		uint32_t n = 0;

		path_sched_init(&x.sched, &config, 1);
		while (n < RTE_DIM(s->rtt_ns) && s->rtt_ns[n] != 0)
			n++;
		for (uint32_t k = 0; k < n; k++)
			path_sched_acked(&x.sched, 0, k + s->marked >= n, s->rtt_ns[k], (1 + k) * BASE_NS);
		if (tp_ev_congested(&x, 0) != s->congested)
			fail_msg("%s: taken for %s", s->why, s->congested ? "a wire that loses" : "a queue");
	}
}

/* An EV that there is not, as a peer may name it, has no queue of its own. */
static void test_no_such_ev(void **state)
{
	struct path_sched_config config;
	struct tp_ext x = {.srtt_ns = BASE_NS, .least_ns = BASE_NS};

	(void)state;
	path_sched_config_default(&config);
	config.n_evs = 8;
	path_sched_init(&x.sched, &config, 1);
	assert_false(tp_ev_congested(&x, 8));
	assert_false(tp_ev_congested(&x, PATH_SCHED_NO_EV));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_congested),
		cmocka_unit_test(test_no_such_ev),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
