/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds for every controller, whatever it is told: random inputs, many configurations. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cc.h"
#include "model.h"

#define RUNS  400u
#define STEPS 2000u

static uint64_t state = 1;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

/* Of any size: as many have a few digits as have many. */
static uint64_t draw_size(uint32_t max_bits)
{
	return draw((uint64_t)1 << draw(max_bits + 1));
}

static const struct cc_dcqcn_params *const dcqcn[] = {NULL, &cc_dcqcn_vendor, &cc_dcqcn_paper, &cc_dcqcn_simulator};

static int32_t draw_signed(uint32_t most)
{
	return (int32_t)draw(2 * most + 1) - (int32_t)most;
}

/* Mostly right. */
static void draw_model(struct cc_model *model)
{
	*model = (struct cc_model){
		.first_packets = (uint32_t)draw(65537), .share_percent = (uint32_t)draw(1001),
		.n_trees = (uint32_t)draw(CC_MODEL_TREES + 1)};
	for (uint32_t i = 0; i < model->n_trees; i++) {
		struct cc_model_tree *tree = &model->trees[i];

		tree->depth = (uint32_t)(1 + draw(CC_MODEL_DEPTH));
		for (uint32_t k = 0; k < CC_MODEL_SPLITS; k++) {
			tree->split[k] = CC_SPLIT(draw(CC_FEATURES), draw_signed(1u << draw(21)));
		}
		for (uint32_t k = 0; k < CC_MODEL_LEAVES; k++)
			tree->leaf[k] = (int16_t)draw_signed(CC_MODEL_MAX_LEAF);
	}
}

/* What is checked and in force from then on; false: it was refused. */
static bool draw_config(struct cc_config *config, struct cc_dcqcn_params *own, struct cc_swift_params *swift,
	struct cc_model *model)
{
	*config = (struct cc_config){
		.kind = (enum cc_kind)draw(CC_KINDS),
		.packet_bytes = (uint32_t)(64 + draw(16321)),
		.base_rtt_ns = (uint32_t)(1 + draw_size(29)),
		.target_ns = draw(2) == 0 ? 0 : (uint32_t)draw_size(29),
		.rate_bps = 1 + draw_size(42),
		.min_rate_bps = draw(2) == 0 ? 0 : draw_size(30),
		.max_window_bytes = draw(2) == 0 ? 0 : (uint32_t)draw_size(31),
		.dcqcn = dcqcn[draw(4)],
		.model = model,
	};
	draw_model(model);
	*own = (struct cc_dcqcn_params){
		.g_1024 = (uint32_t)(1 + draw(1024)), .alpha_period_ns = (uint32_t)(1 + draw_size(31)),
		.initial_alpha_1024 = (uint32_t)draw(1025), .cut_period_ns = (uint32_t)draw_size(31),
		.least_percent = (uint32_t)draw(101), .first_bps = draw_size(42), .clamp_target = draw(2) == 0,
		.increase_timer_ns = (uint32_t)(1 + draw_size(31)), .increase_bytes = (uint32_t)(1024 + draw_size(31)),
		.fast_steps = (uint32_t)draw(32), .add_bps = draw_size(42), .hyper_bps = draw_size(42),
		.per_link_bps = draw_size(42), .notice_gap_ns = (uint32_t)draw_size(31), .cut_on_loss = draw(2) == 0,
	};
	if (draw(4) == 0)
		config->dcqcn = own;
	*swift = (struct cc_swift_params){
		.base_target_ns = (uint32_t)draw_size(29), .scale_ns = (uint32_t)draw_size(29),
		.scale_min_milli = (uint32_t)(1 + draw_size(20)), .scale_max_milli = (uint32_t)draw_size(31),
		.add_permil = (uint32_t)draw_size(14), .beta_permil = (uint32_t)draw(1001),
		.most_permil = (uint32_t)draw(1001), .min_milli = (uint32_t)(1 + draw(1000)),
		.reset_after = (uint32_t)draw(10),
	};
	if (draw(2) == 0)
		config->swift = swift;
	return cc_config_check(config) == 0;
}

static uint64_t least_rate(const struct cc_config *config)
{
	uint64_t least = config->min_rate_bps != 0 ? config->min_rate_bps : 1000000;

	return least < config->rate_bps ? least : config->rate_bps;
}

static void check(const struct cc *cc, const struct cc_config *config, uint32_t max_bytes, uint64_t now_ns)
{
	uint64_t rate = cc_rate_bps(cc);

	assert_in_range(cc_window_bytes(cc), config->packet_bytes, max_bytes);
	if (rate != CC_UNLIMITED)
		assert_in_range(rate, least_rate(config), config->rate_bps);
	if (cc_next_ns(cc) != UINT64_MAX)
		assert_true(cc_next_ns(cc) > now_ns);
}

static void anything(struct cc *cc, uint64_t *now_ns)
{
	const struct cc_ack ack = {
		.now_ns = *now_ns, .rtt_ns = draw(8) == 0 ? 0 : (uint32_t)draw_size(31), .bytes = (uint32_t)draw_size(32),
		.marked = draw(3) == 0, .senders = (uint8_t)(draw(2) == 0 ? 0 : draw(256))};

	switch (draw(16)) {
	case 0:
		cc_lost(cc, (uint32_t)draw_size(32), draw(2) == 0, *now_ns);
		break;
	case 1:
		cc_silent(cc, *now_ns);
		break;
	case 2:
		cc_cnp(cc, *now_ns);
		break;
	case 3:
	case 4:
	case 5:
		cc_sent(cc, (uint32_t)draw_size(32), *now_ns);
		break;
	case 6:
		*now_ns += draw_size(40);
		break;
	default:
		cc_acked(cc, &ack);
		*now_ns += draw_size(14);
		break;
	}
	cc_timer(cc, *now_ns);
}

static void nothing_leaves_the_bounds(void **unused)
{
	struct cc_config config;
	struct cc_dcqcn_params own;
	struct cc_swift_params swift;
	struct cc_model model;
	uint32_t done = 0;

	(void)unused;
	while (done < RUNS) {
		uint64_t now_ns = draw_size(50);
		uint32_t max_bytes;
		struct cc cc;

		if (!draw_config(&config, &own, &swift, &model))
			continue;
		cc_init(&cc, &config);
		max_bytes = cc.max_window_bytes; /* some begin with less */
		for (uint32_t i = 0; i < STEPS; i++) {
			anything(&cc, &now_ns);
			check(&cc, &config, max_bytes, now_ns);
		}
		done++;
	}
}

/* The same calls give the same numbers: nothing is taken from elsewhere. */
static void it_depends_on_nothing_else(void **unused)
{
	(void)unused;
	for (unsigned int kind = 0; kind < CC_KINDS; kind++) {
		const struct cc_config config = {
			.kind = (enum cc_kind)kind, .packet_bytes = 4178, .base_rtt_ns = 10000, .rate_bps = 100000000000u,
			.model = &some_model};
		uint64_t sum[2] = {0, 0};

		for (int run = 0; run < 2; run++) {
			uint64_t now_ns = 1000000;
			struct cc cc;

			state = 77;
			cc_init(&cc, &config);
			for (uint32_t i = 0; i < STEPS; i++) {
				anything(&cc, &now_ns);
				sum[run] = sum[run] * 31 + cc_window_bytes(&cc) + cc_rate_bps(&cc);
			}
		}
		assert_true(sum[0] == sum[1]);
	}
}

static void kinds_have_names(void **unused)
{
	static const char *const names[CC_KINDS] = {
		"none", "dcqcn", "timely", "swift", "theta-powertcp", "nscc", "predictive", "learned"};
	enum cc_kind kind;

	(void)unused;
	for (unsigned int i = 0; i < CC_KINDS; i++) {
		assert_string_equal(cc_name((enum cc_kind)i), names[i]);
		assert_int_equal(cc_by_name(names[i], &kind), 0);
		assert_int_equal(kind, i);
	}
	assert_null(cc_name(CC_KINDS));
	assert_int_equal(cc_by_name("cubic", &kind), -EINVAL);
}

static void none_limits_nothing(void **unused)
{
	struct cc_config config = {.kind = CC_NONE, .packet_bytes = 4178, .base_rtt_ns = 10000, .rate_bps = 1000000000};
	struct cc cc;

	(void)unused;
	cc_init(&cc, &config);
	cc_cnp(&cc, 1000);
	cc_silent(&cc, 2000);
	cc_lost(&cc, 4178, true, 3000);
	assert_int_equal(cc_window_bytes(&cc), UINT32_MAX);
	assert_true(cc_rate_bps(&cc) == CC_UNLIMITED);
	config.max_window_bytes = 100000;
	cc_init(&cc, &config);
	assert_int_equal(cc_window_bytes(&cc), 100000);
}

static void numbers_of_a_kind_are_checked_for_it_alone(void **unused)
{
	struct cc_dcqcn_params dcqcn_params = cc_dcqcn_vendor;
	struct cc_swift_params swift_params = cc_swift_default;
	struct cc_timely_params timely_params = cc_timely_default;
	struct cc_theta_params theta_params = cc_theta_default;
	struct cc_model model = some_model;
	struct cc_config config = {
		.packet_bytes = 4178, .base_rtt_ns = 10000, .rate_bps = 1000000000, .dcqcn = &dcqcn_params,
		.swift = &swift_params, .timely = &timely_params, .theta = &theta_params, .model = &model};

	(void)unused;
	for (unsigned int kind = 0; kind < CC_KINDS; kind++) {
		config.kind = (enum cc_kind)kind;
		assert_int_equal(cc_config_check(&config), 0);
	}
	dcqcn_params.g_1024 = 0;
	swift_params.scale_min_milli = 0;
	timely_params.min_rtt_ns = 0;
	theta_params.flows = 0;
	model.n_trees = 0;
	for (unsigned int kind = 0; kind < CC_KINDS; kind++) {
		bool has = kind != CC_NONE && kind != CC_NSCC && kind != CC_PREDICTIVE;

		config.kind = (enum cc_kind)kind;
		assert_int_equal(cc_config_check(&config), has ? -EINVAL : 0);
	}
	config.kind = CC_NONE;
	config.min_rate_bps = config.rate_bps + 1;
	assert_int_equal(cc_config_check(&config), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_leaves_the_bounds),
		cmocka_unit_test(it_depends_on_nothing_else),
		cmocka_unit_test(kinds_have_names),
		cmocka_unit_test(none_limits_nothing),
		cmocka_unit_test(numbers_of_a_kind_are_checked_for_it_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
