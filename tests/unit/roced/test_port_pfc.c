/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of NIC and daemon sees to pauses, and what a driver is asked for: its two calls are taken here instead (--wrap). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "port.h"

#define MAX_CALLS 32

static struct {
	int info_rc, configure_rc;
	struct rte_eth_pfc_queue_info info;
	uint32_t n;
	struct rte_eth_pfc_queue_conf call[MAX_CALLS];
} nic;

static struct config_port config;
static struct port port;

int __wrap_rte_eth_dev_priority_flow_ctrl_queue_info_get(uint16_t id, struct rte_eth_pfc_queue_info *info);
int __wrap_rte_eth_dev_priority_flow_ctrl_queue_configure(uint16_t id, struct rte_eth_pfc_queue_conf *conf);

int __wrap_rte_eth_dev_priority_flow_ctrl_queue_info_get(uint16_t id, struct rte_eth_pfc_queue_info *info)
{
	assert_int_equal(id, 7);
	*info = nic.info;
	return nic.info_rc;
}

int __wrap_rte_eth_dev_priority_flow_ctrl_queue_configure(uint16_t id, struct rte_eth_pfc_queue_conf *conf)
{
	assert_int_equal(id, 7);
	assert_true(nic.n < MAX_CALLS);
	nic.call[nic.n++] = *conf;
	return nic.configure_rc;
}

/* Two receive queues; priorities 3 and 4 are followed, 3 is asked to be paused; a NIC that can do it all. */
static int reset(void **state)
{
	(void)state;
	memset(&nic, 0, sizeof(nic));
	nic.info = (struct rte_eth_pfc_queue_info){.tc_max = 8, .mode_capa = RTE_ETH_FC_FULL};
	config = (struct config_port){.name = "p0", .pfc = 1 << 3 | 1 << 4, .pfc_send = 1 << 3, .n_rx_queues = 2};
	port = (struct port){.config = &config, .id = 7};
	return 0;
}

static int choose(uint32_t max_tx_queues)
{
	return port_pfc_choose(&port, 2, max_tx_queues);
}

static void the_nic_does_it_if_it_can(void **state)
{
	(void)state;
	assert_int_equal(choose(6), 0);
	assert_true(port.pfc.hardware);
	assert_string_equal(port_pfc_name(&port), "hardware");
	assert_int_equal(port.pfc.n_lanes, 3);
	assert_int_equal(port.pfc.lane_of[0], 0);
	assert_int_equal(port.pfc.lane_of[3], 1);
	assert_int_equal(port.pfc.lane_of[4], 2);
}

/* Two workers: lane 0 is queues 0 and 1, lane 1 (priority 3) 2 and 3, lane 2 (priority 4) 4 and 5. */
static void its_queues_get_their_priorities(void **state)
{
	static const struct {
		enum rte_eth_fc_mode mode;
		uint16_t queue;
		uint8_t tc;
	} want[] = {{RTE_ETH_FC_RX_PAUSE, 2, 3}, {RTE_ETH_FC_RX_PAUSE, 3, 3}, {RTE_ETH_FC_TX_PAUSE, 0, 3},
		{RTE_ETH_FC_TX_PAUSE, 1, 3}, {RTE_ETH_FC_RX_PAUSE, 4, 4}, {RTE_ETH_FC_RX_PAUSE, 5, 4}};

	(void)state;
	assert_int_equal(choose(6), 0);
	assert_int_equal(port_pfc_set(&port, 2), 0);
	assert_int_equal(nic.n, 6);
	for (uint32_t i = 0; i < nic.n; i++) {
		const struct rte_eth_pfc_queue_conf *conf = &nic.call[i];
		bool sends = want[i].mode == RTE_ETH_FC_TX_PAUSE;

		assert_int_equal(conf->mode, want[i].mode);
		assert_int_equal(sends ? conf->tx_pause.rx_qid : conf->rx_pause.tx_qid, want[i].queue);
		assert_int_equal(sends ? conf->tx_pause.tc : conf->rx_pause.tc, want[i].tc);
		assert_int_equal(conf->tx_pause.pause_time, sends ? UINT16_MAX : 0);
	}
}

static void expect_software(void)
{
	assert_int_equal(choose(6), 0);
	assert_false(port.pfc.hardware);
	assert_string_equal(port_pfc_name(&port), "software");
	assert_int_equal(port.pfc.n_lanes, 1);
	assert_int_equal(port_pfc_set(&port, 2), 0);
	assert_int_equal(nic.n, 0);
	/* Who insists hears of it. */
	config.pfc_mode = CONFIG_PFC_HARDWARE;
	assert_int_equal(choose(6), -ENOTSUP);
}

static void the_daemon_does_it_without_such_a_driver(void **state)
{
	(void)state;
	nic.info_rc = -ENOTSUP;
	expect_software();
}

static void and_with_too_few_classes(void **state)
{
	(void)state;
	nic.info.tc_max = 4; /* 0 to 3 */
	expect_software();
}

static void and_if_it_does_only_one_way(void **state)
{
	(void)state;
	nic.info.mode_capa = RTE_ETH_FC_RX_PAUSE;
	expect_software();
	reset(NULL);
	nic.info.mode_capa = RTE_ETH_FC_TX_PAUSE;
	expect_software();
	reset(NULL);
	config.pfc_send = 0;
	nic.info.mode_capa = RTE_ETH_FC_RX_PAUSE;
	assert_int_equal(choose(6), 0);
	assert_true(port.pfc.hardware);
}

static void and_with_too_few_queues(void **state)
{
	(void)state;
	assert_int_equal(choose(5), 0);
	assert_false(port.pfc.hardware);
}

/* Receive queues have packets of all priorities. */
static void and_for_two_priorities_that_are_asked_for(void **state)
{
	(void)state;
	config.pfc_send = 1 << 3 | 1 << 4;
	expect_software();
}

static void who_wants_software_has_it(void **state)
{
	(void)state;
	config.pfc_mode = CONFIG_PFC_SOFTWARE;
	assert_int_equal(choose(6), 0);
	assert_false(port.pfc.hardware);
}

static void without_priorities_nothing_is_asked(void **state)
{
	(void)state;
	config.pfc = config.pfc_send = 0;
	config.pfc_mode = CONFIG_PFC_HARDWARE;
	nic.info_rc = -ENOTSUP;
	assert_int_equal(choose(6), 0);
	assert_string_equal(port_pfc_name(&port), "none");
	assert_int_equal(port_pfc_set(&port, 2), 0);
	assert_int_equal(nic.n, 0);
}

static void a_driver_that_refuses_is_heard(void **state)
{
	(void)state;
	nic.configure_rc = -EIO;
	assert_int_equal(choose(6), 0);
	assert_int_equal(port_pfc_set(&port, 2), -EIO);
	assert_int_equal(nic.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_nic_does_it_if_it_can, reset),
		cmocka_unit_test_setup(its_queues_get_their_priorities, reset),
		cmocka_unit_test_setup(the_daemon_does_it_without_such_a_driver, reset),
		cmocka_unit_test_setup(and_with_too_few_classes, reset),
		cmocka_unit_test_setup(and_if_it_does_only_one_way, reset),
		cmocka_unit_test_setup(and_with_too_few_queues, reset),
		cmocka_unit_test_setup(and_for_two_priorities_that_are_asked_for, reset),
		cmocka_unit_test_setup(who_wants_software_has_it, reset),
		cmocka_unit_test_setup(without_priorities_nothing_is_asked, reset),
		cmocka_unit_test_setup(a_driver_that_refuses_is_heard, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
