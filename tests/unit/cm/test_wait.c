/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that come before their listener wait a moment for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cm_world.h"

#define WAIT_MS 100

static struct world *w;

static int setup(void **state)
{
	struct cm_config config;

	(void)state;
	cm_config_default(&config);
	config.listener_wait_ms = WAIT_MS;
	w = world_new(&config);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_free(w);
	return 0;
}

static unsigned int events(int side)
{
	return w->node[side].n_seen;
}

static void ask_for_datagrams(void)
{
	struct cm_sidr_req_params params = {
		.path = world_path(w, SIDE_A),
		.hello = {.present = true, .src = w->node[SIDE_A].addr, .dst = w->node[SIDE_B].addr},
		.service_id = SERVICE,
	};
	struct cm_id *a = cm_id_create(w->node[SIDE_A].cm, w);

	assert_int_equal(cm_sidr_req(w->node[SIDE_A].cm, a, &params, w->now_ns), 0);
	world_run(w, MS_NS);
}

/* A server that listens again between two peers serves both. */
static void test_listener_comes(void **state)
{
	struct cm_id *a;

	(void)state;
	world_connect(w, &a, NULL);
	world_run(w, WAIT_MS / 2 * MS_NS);
	assert_int_equal(events(SIDE_A), 0);
	world_listen(w, SIDE_B, 0);
	world_run(w, WAIT_MS * MS_NS);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 1);
	assert_int_equal(cm_id_state(a), CM_ESTABLISHED);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_REQ], 1);
	assert_int_equal(world_stats(w, SIDE_B).waited, 1);
	assert_int_equal(world_stats(w, SIDE_B).no_listener, 0);
}

static void test_listener_comes_for_datagrams(void **state)
{
	(void)state;
	ask_for_datagrams();
	world_listen(w, SIDE_B, 0);
	world_run(w, WAIT_MS * MS_NS);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_SIDR_REQUEST), 1);
}

/* 12.6.7.2, code 8, and nothing is kept. */
static void test_none_comes(void **state)
{
	struct cm_id *a;

	(void)state;
	world_connect(w, &a, NULL);
	world_run(w, (WAIT_MS + 10) * MS_NS);
	assert_int_equal(world_last(w, SIDE_A, CM_EVENT_REJECTED)->ev.reason, CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(world_stats(w, SIDE_B).no_listener, 1);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_REJ], 1);
	ask_for_datagrams();
	world_run(w, (WAIT_MS + 10) * MS_NS);
	assert_int_equal(world_last(w, SIDE_A, CM_EVENT_SIDR_RESPONSE)->ev.reason, CM_SIDR_UNSUPPORTED);
	world_run(w, 10 * SECOND_NS);
	assert_int_equal(cm_next_ns(w->node[SIDE_B].cm), UINT64_MAX);
}

/* A repeated request is the same request. */
static void test_repeated(void **state)
{
	struct cm_id *a;

	(void)state;
	world_rule(w, SIDE_A, WIRE_CM_REQ, RULE_DOUBLE, 1);
	world_connect(w, &a, NULL);
	assert_int_equal(world_stats(w, SIDE_B).waited, 1);
	world_listen(w, SIDE_B, 0);
	world_run(w, WAIT_MS * MS_NS);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 1);
}

/* Few may wait: a flood of requests to nobody is refused as before. */
static void test_flood(void **state)
{
	struct cm_id *a;
	unsigned int i;

	(void)state;
	for (i = 0; i < 40; i++)
		world_connect(w, &a, NULL);
	assert_int_equal(world_stats(w, SIDE_B).waited, 16);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_REJECTED), 24);
	world_run(w, (WAIT_MS + 10) * MS_NS);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_REJECTED), 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_listener_comes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_listener_comes_for_datagrams, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none_comes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_repeated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flood, setup, teardown),
	};

	return cmocka_run_group_tests_name("cm-wait", tests, NULL, NULL);
}
