/* SPDX-License-Identifier: BSD-3-Clause */
/* Service ID resolution, IBTA vol. 1, 12.11. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm_world.h"

#define UDP_SERVICE cm_service_id(CM_PS_UDP, 7174)

static struct world *w;
static struct cm_id *a;

static int setup(void **state)
{
	(void)state;
	w = world_new(NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_free(w);
	return 0;
}

static void listen_and_ask(bool listen)
{
	static const uint8_t data[] = "who";
	struct cm_sidr_req_params params = {
		.path = world_path(w, SIDE_A),
		.hello = {.present = true,
			.src = w->node[SIDE_A].addr,
			.dst = w->node[SIDE_B].addr},
		.service_id = UDP_SERVICE,
		.private_bytes = sizeof(data),
		.private_data = data,
	};
	struct cm_id *listener;

	if (listen) {
		listener = cm_id_create(w->node[SIDE_B].cm, w);
		assert_int_equal(
			cm_listen(w->node[SIDE_B].cm, listener, UDP_SERVICE, NULL, NULL, 0), 0);
	}
	a = cm_id_create(w->node[SIDE_A].cm, w);
	assert_int_equal(cm_sidr_req(w->node[SIDE_A].cm, a, &params, w->now_ns), 0);
	world_run(w, MS_NS);
}

static void answer(void)
{
	static const uint8_t data[] = "me";
	struct cm_sidr_rep_params params = {.qpn = 0x345,
		.qkey = 0x01234567,
		.private_bytes = sizeof(data),
		.private_data = data};

	assert_int_equal(
		cm_sidr_rep(w->node[SIDE_B].cm, w->node[SIDE_B].last_new, &params, w->now_ns), 0);
	world_run(w, MS_NS);
}

static void expect_answer(void)
{
	const struct seen_event *seen = world_last(w, SIDE_A, CM_EVENT_SIDR_RESPONSE);

	assert_non_null(seen);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_SIDR_RESPONSE), 1);
	assert_int_equal(seen->ev.reason, CM_SIDR_OK);
	assert_int_equal(seen->ev.qpn, 0x345);
	assert_int_equal(seen->ev.qkey, 0x01234567);
	assert_int_equal(seen->ev.private_bytes, CM_SIDR_REP_PRIVATE_BYTES);
	assert_string_equal((const char *)seen->private_data, "me");
	assert_int_equal(cm_id_state(a), CM_IDLE);
}

static void test_resolve(void **state)
{
	const struct seen_event *req;

	(void)state;
	listen_and_ask(true);
	req = world_last(w, SIDE_B, CM_EVENT_SIDR_REQUEST);
	assert_non_null(req);
	assert_int_equal(req->ev.service_id, UDP_SERVICE);
	assert_int_equal(req->ev.private_bytes, CM_SIDR_REQ_PRIVATE_BYTES - CM_HELLO_BYTES);
	assert_string_equal((const char *)req->private_data, "who");
	assert_memory_equal(&req->ev.hello.src, &w->node[SIDE_A].addr, 16);
	assert_int_equal(world_stats(w, SIDE_B).half_open, 1);
	answer();
	expect_answer();
	assert_int_equal(world_stats(w, SIDE_B).half_open, 0);
	assert_int_equal(cm_next_ns(w->node[SIDE_A].cm), UINT64_MAX);
}

static void test_lost_request(void **state)
{
	(void)state;
	world_rule(w, SIDE_A, WIRE_CM_SIDR_REQ, RULE_LOSE, 1);
	listen_and_ask(true);
	world_run(w, 5 * SECOND_NS);
	answer();
	expect_answer();
}

/* The request is repeated, and gets the same answer without the consumer's help. */
static void test_lost_answer(void **state)
{
	(void)state;
	world_rule(w, SIDE_B, WIRE_CM_SIDR_REP, RULE_LOSE, 1);
	listen_and_ask(true);
	answer();
	world_run(w, 5 * SECOND_NS);
	expect_answer();
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_SIDR_REQUEST), 1);
}

static void test_doubled(void **state)
{
	(void)state;
	world_rule(w, SIDE_A, WIRE_CM_SIDR_REQ, RULE_DOUBLE, 1);
	world_rule(w, SIDE_B, WIRE_CM_SIDR_REP, RULE_DOUBLE, 1);
	listen_and_ask(true);
	answer();
	expect_answer();
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_SIDR_REQUEST), 1);
}

static void test_no_listener(void **state)
{
	(void)state;
	listen_and_ask(false);
	assert_int_equal(
		world_last(w, SIDE_A, CM_EVENT_SIDR_RESPONSE)->ev.reason, CM_SIDR_UNSUPPORTED);
}

static void test_destroyed_unanswered(void **state)
{
	(void)state;
	listen_and_ask(true);
	cm_id_destroy(w->node[SIDE_B].cm, w->node[SIDE_B].last_new, w->now_ns);
	world_run(w, MS_NS);
	assert_int_equal(world_last(w, SIDE_A, CM_EVENT_SIDR_RESPONSE)->ev.reason, CM_SIDR_REJECT);
}

static void test_unreachable(void **state)
{
	(void)state;
	w->cut = true;
	listen_and_ask(false);
	world_run(w, 66 * SECOND_NS);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_UNREACHABLE), 1);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_SIDR_REQ], 16);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_REJ], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_resolve, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_request, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_listener, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroyed_unanswered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreachable, setup, teardown),
	};

	return cmocka_run_group_tests_name("cm-sidr", tests, NULL, NULL);
}
