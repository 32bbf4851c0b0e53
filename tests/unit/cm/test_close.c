/* SPDX-License-Identifier: BSD-3-Clause */
/* Disconnecting and timewait, IBTA vol. 1, 12.9.8.4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm_world.h"

/* 4.096 us * (2^17 + 2^15): the defaults' timewait. */
#define TIMEWAIT_NS 671088640ull

static struct world *w;
static struct cm_id *a;
static struct cm_id *b;

static int setup(void **state)
{
	(void)state;
	w = world_new(NULL);
	world_listen(w, SIDE_B, 0);
	world_connect(w, &a, &b);
	assert_int_equal(cm_id_state(b), CM_ESTABLISHED);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_free(w);
	return 0;
}

static void disconnect(int side)
{
	static const uint8_t bye[] = "bye";

	assert_int_equal(cm_disconnect(w->node[side].cm, side == SIDE_A ? a : b, bye, sizeof(bye),
				 w->now_ns),
		0);
}

static void expect_closed_once(void)
{
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_TIMEWAIT_EXIT), 1);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_TIMEWAIT_EXIT), 1);
	assert_int_equal(cm_id_state(a), CM_IDLE);
	assert_int_equal(cm_id_state(b), CM_IDLE);
}

static void test_disconnect(void **state)
{
	const struct seen_event *gone;
	const struct seen_event *left;

	(void)state;
	disconnect(SIDE_A);
	world_run(w, MS_NS);
	assert_int_equal(cm_id_state(a), CM_TIMEWAIT);
	assert_int_equal(cm_id_state(b), CM_TIMEWAIT);
	assert_string_equal(
		(const char *)world_last(w, SIDE_B, CM_EVENT_DISCONNECTED)->private_data, "bye");
	/* Once more has no effect in any state after that. */
	disconnect(SIDE_A);
	disconnect(SIDE_B);
	world_run(w, SECOND_NS);
	disconnect(SIDE_A);
	disconnect(SIDE_B);
	expect_closed_once();
	gone = world_last(w, SIDE_A, CM_EVENT_DISCONNECTED);
	left = world_last(w, SIDE_A, CM_EVENT_TIMEWAIT_EXIT);
	assert_in_range(left->at_ns - gone->at_ns, TIMEWAIT_NS, TIMEWAIT_NS + 2 * 4096);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_DREQ], 1);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_DREQ], 0);
}

static void test_passive_disconnects(void **state)
{
	(void)state;
	disconnect(SIDE_B);
	world_run(w, SECOND_NS);
	expect_closed_once();
}

static void test_lost_dreq(void **state)
{
	(void)state;
	world_rule(w, SIDE_A, WIRE_CM_DREQ, RULE_LOSE, 2);
	disconnect(SIDE_A);
	world_run(w, 12 * SECOND_NS);
	expect_closed_once();
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_DREQ], 3);
}

/* The peer is out of timewait by then, and knows the connection no more: it answers all the same.
 */
static void test_lost_drep(void **state)
{
	(void)state;
	world_rule(w, SIDE_B, WIRE_CM_DREP, RULE_LOSE, 1);
	disconnect(SIDE_A);
	world_run(w, 6 * SECOND_NS);
	expect_closed_once();
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_DREP], 2);
	assert_int_equal(world_stats(w, SIDE_B).rx_unknown_id, 1);
}

static void test_doubled_dreq_and_drep(void **state)
{
	(void)state;
	world_rule(w, SIDE_A, WIRE_CM_DREQ, RULE_DOUBLE, 1);
	world_rule(w, SIDE_B, WIRE_CM_DREP, RULE_DOUBLE, 2);
	disconnect(SIDE_A);
	world_run(w, SECOND_NS);
	expect_closed_once();
	assert_int_equal(world_stats(w, SIDE_B).rx_duplicate, 1);
}

static void test_crossing_dreqs(void **state)
{
	(void)state;
	disconnect(SIDE_A);
	disconnect(SIDE_B);
	world_run(w, SECOND_NS);
	expect_closed_once();
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_DREQ], 1);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_DREQ], 1);
}

static void test_peer_is_dead(void **state)
{
	(void)state;
	w->cut = true;
	disconnect(SIDE_A);
	world_run(w, 82 * SECOND_NS);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_DREQ], 16);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_TIMEWAIT_EXIT), 1);
}

/* RTU lost, then the active side disconnects: the passive side never was established. */
static void test_dreq_instead_of_rtu(void **state)
{
	struct cm_id *a2;
	struct cm_id *b2;

	(void)state;
	world_rule(w, SIDE_A, WIRE_CM_RTU, RULE_LOSE, 1);
	world_connect(w, &a2, &b2);
	assert_int_equal(cm_id_state(b2), CM_REP_SENT);
	assert_int_equal(cm_disconnect(w->node[SIDE_A].cm, a2, NULL, 0, w->now_ns), 0);
	world_run(w, MS_NS);
	assert_int_equal(cm_id_state(b2), CM_TIMEWAIT);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(world_stats(w, SIDE_B).half_open, 0);
}

/* Destroying says DREQ, and the id lives on unseen until its QP number is safe. */
static void test_destroy_established(void **state)
{
	unsigned int n_seen = w->node[SIDE_A].n_seen;

	(void)state;
	cm_id_destroy(w->node[SIDE_A].cm, a, w->now_ns);
	assert_int_equal(world_stats(w, SIDE_A).orphans, 1);
	world_run(w, SECOND_NS);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(w->node[SIDE_A].n_seen, n_seen);
	assert_int_equal(world_stats(w, SIDE_A).orphans, 0);
	assert_int_equal(world_stats(w, SIDE_A).ids, 0);
}

static void test_destroy_in_disconnected(void **state)
{
	(void)state;
	w->node[SIDE_A].destroy_on_disconnect = true;
	w->node[SIDE_B].destroy_on_disconnect = true;
	disconnect(SIDE_B);
	world_run(w, SECOND_NS);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_TIMEWAIT_EXIT), 0);
	assert_int_equal(world_stats(w, SIDE_A).ids, 0);
	assert_int_equal(world_stats(w, SIDE_B).ids, 1);
}

/* 12.9.8.3.1: the QP number of a connection in timewait is not taken again. */
static void test_stale_in_timewait(void **state)
{
	struct cm_id *a2;

	(void)state;
	disconnect(SIDE_A);
	world_run(w, MS_NS);
	w->node[SIDE_A].next_qpn--;
	world_connect(w, &a2, NULL);
	assert_int_equal(
		world_last(w, SIDE_A, CM_EVENT_REJECTED)->ev.reason, CM_REJ_STALE_CONNECTION);
	world_run(w, SECOND_NS);
	w->node[SIDE_A].next_qpn--;
	world_connect(w, &a2, NULL);
	assert_int_equal(cm_id_state(a2), CM_ESTABLISHED);
}

/* The peer restarted and reuses a QP number: the old connection ends, the new one is told to retry.
 */
static void test_stale_established(void **state)
{
	struct cm_id *a2;

	(void)state;
	w->node[SIDE_A].next_qpn--;
	world_connect(w, &a2, NULL);
	assert_int_equal(
		world_last(w, SIDE_A, CM_EVENT_REJECTED)->ev.reason, CM_REJ_STALE_CONNECTION);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_DREQ], 1);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(world_stats(w, SIDE_B).stale, 1);
}

/* The same the other way: a REP offers a QP we are connected to. */
static void test_stale_rep(void **state)
{
	struct cm_id *a2;

	(void)state;
	w->node[SIDE_B].next_qpn--;
	world_connect(w, &a2, NULL);
	assert_int_equal(
		world_last(w, SIDE_A, CM_EVENT_REJECTED)->ev.reason, CM_REJ_STALE_CONNECTION);
	assert_int_equal(
		world_last(w, SIDE_B, CM_EVENT_REJECTED)->ev.reason, CM_REJ_STALE_CONNECTION);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_DREQ], 1);
	assert_int_equal(cm_id_state(a2), CM_IDLE);
}

/* An id that is idle again connects anew, and messages for its past do not reach it. */
static void test_reuse_id(void **state)
{
	struct cm_connect_params params;

	(void)state;
	disconnect(SIDE_A);
	world_run(w, SECOND_NS);
	world_params(w, SIDE_A, &params);
	assert_int_equal(cm_connect(w->node[SIDE_A].cm, a, &params, w->now_ns), 0);
	world_run(w, MS_NS);
	assert_int_equal(cm_id_state(a), CM_ESTABLISHED);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_disconnect, setup, teardown),
		cmocka_unit_test_setup_teardown(test_passive_disconnects, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_dreq, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_drep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubled_dreq_and_drep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crossing_dreqs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_peer_is_dead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dreq_instead_of_rtu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroy_established, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroy_in_disconnected, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale_in_timewait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale_established, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale_rep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reuse_id, setup, teardown),
	};

	return cmocka_run_group_tests_name("cm-close", tests, NULL, NULL);
}
