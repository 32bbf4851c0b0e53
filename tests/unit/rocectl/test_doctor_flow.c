/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor's checks of classes, pauses, marks, paths and agreements: by facts that trip each, and facts that do not.
 */
#include "doctor_kit.h"

#define LOSSLESS(dscp, more)                                                                                           \
	ONE_WORKER "ports = ( " PORT "pfc = [ 3 ]; pfc_send = [ 3 ]; } );\n" ONE_DEVICE                                \
		   "channels = ( { name = \"rest\"; }, { name = \"lossless\"; priority = 3; " dscp " }" more " );\n"

static void test_channel_without_dscp(void **state)
{
	(void)state;
	well(LOSSLESS("dscp = [ 26 ];", ""));
	assert_quiet(doctor_check_dscp);
	well(LOSSLESS("", ""));
	assert_finds(doctor_check_dscp, DOCTOR_WARNING, "lossless", "no packet ever");
	/* by the tag, if there is one and it is trusted */
	well(LOSSLESS("pcp = [ 3 ];", ""));
	assert_finds(doctor_check_dscp, DOCTOR_WARNING, "lossless", "trust_pcp is off");
	config.ports[0].trust_pcp = true;
	assert_finds(doctor_check_dscp, DOCTOR_WARNING, "p0", "no device has a vlan");
	config.devices[0].vlan = 5;
	assert_quiet(doctor_check_dscp);
}

/* RFC 2474's class selectors are what switches begin with: DSCP / 8. */
static void test_dscp_of_another_priority(void **state)
{
	(void)state;
	well(LOSSLESS("dscp = [ 10 ];", ""));
	assert_finds(
		doctor_check_dscp, DOCTOR_NOTE, "lossless", "DSCP 10 has priority 3 here, most switches begin with 1");
	well(LOSSLESS("dscp = [ 24, 26, 31 ];", ""));
	assert_quiet(doctor_check_dscp);
}

static void test_notifications_that_are_paused(void **state)
{
	(void)state;
	well(LOSSLESS("dscp = [ 26, 48 ];", ""));
	assert_finds(doctor_check_dscp, DOCTOR_WARNING, "lossless", "notifications (DSCP 48)");
	well(LOSSLESS("dscp = [ 26 ];", ", { name = \"cnp\"; dscp = [ 48 ]; priority = 6; strict = true; }"));
	assert_quiet(doctor_check_dscp);
}

static void test_pfc(void **state)
{
	(void)state;
	well(LOSSLESS("dscp = [ 26 ];", ""));
	assert_quiet(doctor_check_pfc);
	config.ports[0].pfc_send = 0;
	assert_finds(doctor_check_pfc, DOCTOR_WARNING, "p0", "never asked for");
	config.ports[0].pfc_send = 8;
	config.ports[0].pfc = 0;
	assert_finds(doctor_check_pfc, DOCTOR_WARNING, "p0", "not followed");
	counter("pfc_storm", 4);
	assert_finds(doctor_check_pfc, DOCTOR_PROBLEM, "pfc", "4 packets");
}

/* Off is a choice; off with losses is worth a warning. */
static void test_pfc_off(void **state)
{
	(void)state;
	well(PLAIN);
	assert_finds(doctor_check_pfc, DOCTOR_NOTE, "p0", "PFC is off");
	counter("tx_pkts", 100000);
	counter("retransmits", 100);
	assert_no_worse(doctor_check_pfc, DOCTOR_NOTE);
	facts.counters[1].value = 101;
	assert_finds(doctor_check_pfc, DOCTOR_WARNING, "p0", "101 of 100000");
	facts.counters[0].value = 1000; /* too few to say */
	assert_no_worse(doctor_check_pfc, DOCTOR_NOTE);
}

static void test_ecn(void **state)
{
	(void)state;
	well(PLAIN);
	assert_quiet(doctor_check_ecn);
	well(PLAIN "congestion = { cnp_gap_us = 0; };");
	assert_finds(doctor_check_ecn, DOCTOR_WARNING, "congestion", "no notifications");
	well(PLAIN "congestion = { follow_cnps = false; };");
	assert_finds(doctor_check_ecn, DOCTOR_WARNING, "congestion", "not followed");
	well(LOSSLESS("dscp = [ 26 ];", ""));
	assert_finds(doctor_check_ecn, DOCTOR_NOTE, "channels", "marks nothing");
	well(LOSSLESS("dscp = [ 26 ]; ecn_min_kbytes = 100; ecn_max_kbytes = 400;", ""));
	assert_quiet(doctor_check_ecn);
}

static void test_fixed_source_port(void **state)
{
	(void)state;
	well(PLAIN);
	assert_quiet(doctor_check_entropy);
	well(PLAIN "multipath = { plain = { evs = 1; }; };");
	assert_finds(doctor_check_entropy, DOCTOR_WARNING, "multipath", "one UDP source port");
	well(PLAIN "multipath = { evs = 1; };");
	assert_finds(doctor_check_entropy, DOCTOR_WARNING, "multipath", "1 UDP source port for 1 port");
	well(PLAIN "multipath = { negotiate = false; };");
	assert_finds(doctor_check_entropy, DOCTOR_NOTE, "multipath", "neither offered");
	well(PLAIN "multipath = { negotiate = false; peers = [ \"10.0.0.0/24\" ]; };");
	assert_quiet(doctor_check_entropy);
	well(PLAIN);
	snprintf(config.gateway.device, sizeof(config.gateway.device), "r0");
	config.gateway.paths = 32;
	assert_quiet(doctor_check_entropy);
	config.gateway.paths = 1;
	assert_finds(doctor_check_entropy, DOCTOR_WARNING, "gateway", "gateway.paths is 1");
}

static void test_paths_of_queue_pairs(void **state)
{
	struct doctor_qp *qp = &facts.qps[0];

	(void)state;
	well(PLAIN);
	facts.n_qps = 1;
	*qp = (struct doctor_qp){
		.qpn = 0x11, .sent = 50000, .evs = 64, .evs_used = 64, .evs_alive = 64, .peer = "10.0.0.2"};
	assert_quiet(doctor_check_entropy);
	qp->evs_used = 1;
	assert_finds(doctor_check_entropy, DOCTOR_WARNING, "qp 0x11", "one of 64");
	qp->sent = 100; /* too few to say */
	assert_quiet(doctor_check_entropy);
	qp->sent = 50000;
	qp->in_order = true; /* goes to another one when it has to */
	assert_quiet(doctor_check_entropy);
	qp->evs_alive = 15;
	assert_finds(doctor_check_entropy, DOCTOR_WARNING, "qp 0x11", "only 15 of its 64");
}

static void test_extension(void **state)
{
	(void)state;
	well(PLAIN "multipath = { peers = [ \"10.0.0.0/24\" ]; };");
	counter("multipath_offered", 5);
	counter("multipath_agreed", 5);
	facts.n_qps = 1;
	facts.qps[0] = (struct doctor_qp){.qpn = 0x11, .peer = "10.0.0.2"};
	assert_quiet(doctor_check_extension);
	facts.counters[1].value = 3;
	assert_finds(doctor_check_extension, DOCTOR_NOTE, "multipath", "of 5 connections that offered several paths 3");
	facts.qps[0].in_order = true;
	assert_finds(doctor_check_extension, DOCTOR_NOTE, "10.0.0.2", "keeps order");
	counter("multipath_mismatches", 1);
	assert_finds(doctor_check_extension, DOCTOR_WARNING, "multipath", "1 connections agreed");
	counter("unagreed", 7);
	assert_finds(doctor_check_extension, DOCTOR_PROBLEM, "multipath", "7 packets");
	/* a peer that is not listed may keep order */
	well(PLAIN);
	facts.n_qps = 1;
	facts.qps[0] = (struct doctor_qp){.qpn = 0x11, .peer = "10.0.0.2", .in_order = true};
	assert_quiet(doctor_check_extension);
	/* nor is there always a configuration */
	facts.config = NULL;
	assert_quiet(doctor_check_extension);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_channel_without_dscp),
		cmocka_unit_test(test_dscp_of_another_priority),
		cmocka_unit_test(test_notifications_that_are_paused),
		cmocka_unit_test(test_pfc),
		cmocka_unit_test(test_pfc_off),
		cmocka_unit_test(test_ecn),
		cmocka_unit_test(test_fixed_source_port),
		cmocka_unit_test(test_paths_of_queue_pairs),
		cmocka_unit_test(test_extension),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
