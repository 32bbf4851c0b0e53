/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration's congestion control, as lib/cc takes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "roced.h"

#define MBPS 1000000ull

static struct config config;
static struct port ports[3];

static int reset(void **state)
{
	(void)state;
	config = (struct config){
		.n_ports = 3,
		.n_devices = 1,
		.dcqcn = {.g_1024 = 5, .alpha_period_ns = 1000, .cut_period_ns = 4000, .least_percent = 50, .increase_timer_ns = 300000,
			.increase_bytes = 32767, .fast_steps = 1, .add_mbps = 5, .hyper_mbps = 50, .min_mbps = 1},
		.congestion = {.controller = {.given = true, .kind = CC_PREDICTIVE}},
		.multipath = {.base_rtt_us = 50},
	};
	for (uint32_t p = 0; p < 3; p++)
		ports[p] = (struct port){.index = p, .speed_mbps = 10000};
	return 0;
}

static void a_port_counts_by_its_rate_else_its_speed(void **state)
{
	(void)state;
	assert_int_equal(congestion_device_mbps(&config, ports, 0), 10000);
	config.ports[0].rate_mbps = 400;
	assert_int_equal(congestion_device_mbps(&config, ports, 0), 400);
	config.congestion.rate_mbps = 70;
	assert_int_equal(congestion_device_mbps(&config, ports, 0), 70);
}

static void planes_count_together(void **state)
{
	(void)state;
	config.devices[0].n_planes = 2;
	config.devices[0].planes[0].port_index = 1;
	config.devices[0].planes[1].port_index = 2;
	config.ports[2].rate_mbps = 400;
	assert_int_equal(congestion_device_mbps(&config, ports, 0), 20400);
}

/* A guess would be wrong by any factor. */
static void an_unknown_rate_is_none(void **state)
{
	(void)state;
	ports[0].speed_mbps = 0;
	assert_int_equal(congestion_device_mbps(&config, ports, 0), 0);
	ports[0].speed_mbps = 10000;
	config.devices[0].n_planes = 1;
	config.devices[0].planes[0].port_index = 1;
	ports[1].speed_mbps = 0;
	assert_int_equal(congestion_device_mbps(&config, ports, 0), 0);
}

static void each_mtu_has_its_packets(void **state)
{
	struct cc_dcqcn_params dcqcn;
	struct cc_config plain, cc[VD_MTUS];

	(void)state;
	(void)congestion_init(&config, 0, &plain, &dcqcn);
	assert_true(congestion_agreed(&config, 1000, &dcqcn, cc));
	for (uint32_t m = 0; m < VD_MTUS; m++) {
		assert_int_equal(cc[m].kind, CC_PREDICTIVE);
		assert_int_equal(cc[m].packet_bytes, (256u << m) + 78);
		assert_int_equal(cc[m].rate_bps, 1000 * MBPS);
		assert_int_equal(cc[m].base_rtt_ns, 50000);
		assert_int_equal(cc[m].target_ns, 0);
	}
	config.congestion.base_rtt_us = 300;
	config.congestion.target_us = 700;
	assert_true(congestion_agreed(&config, 1000, &dcqcn, cc));
	assert_int_equal(cc[4].base_rtt_ns, 300000);
	assert_int_equal(cc[4].target_ns, 700000);
}

static void every_controller_fits(void **state)
{
	struct cc_dcqcn_params dcqcn;
	struct cc_config plain, cc[VD_MTUS];

	(void)state;
	(void)congestion_init(&config, 0, &plain, &dcqcn);
	config.congestion.model = (struct cc_model){.share_percent = 100, .n_trees = 1, .trees = {{.depth = 1}}};
	config.congestion.model.trees[0].split[0] = CC_SPLIT(CC_F_DELAY, CC_MODEL_ONE);
	for (int kind = CC_NONE; kind <= CC_LEARNED; kind++) {
		config.congestion.controller.kind = (enum cc_kind)kind;
		assert_true(congestion_agreed(&config, 1000, &dcqcn, cc));
		assert_ptr_equal(cc[0].dcqcn, &dcqcn);
		assert_true((cc[0].model != NULL) == (kind == CC_LEARNED));
	}
}

/* Steps that are made for fast links are no reason not to follow notifications on a slow one. */
static void a_slow_link_follows_notifications(void **state)
{
	struct cc_dcqcn_params dcqcn;
	struct cc_config plain, cc[VD_MTUS];

	(void)state;
	config.congestion.follow_cnps = true;
	config.congestion.rate_mbps = 1;
	assert_true(congestion_init(&config, 0, &plain, &dcqcn));
	assert_int_equal(plain.rate_bps, 1 * MBPS);
	config.congestion.controller.kind = CC_DCQCN;
	assert_true(congestion_agreed(&config, 1, &dcqcn, cc));
	config.congestion.follow_cnps = false;
	assert_false(congestion_init(&config, 0, &plain, &dcqcn));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_port_counts_by_its_rate_else_its_speed, reset),
		cmocka_unit_test_setup(planes_count_together, reset),
		cmocka_unit_test_setup(an_unknown_rate_is_none, reset),
		cmocka_unit_test_setup(each_mtu_has_its_packets, reset),
		cmocka_unit_test_setup(every_controller_fits, reset),
		cmocka_unit_test_setup(a_slow_link_follows_notifications, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
