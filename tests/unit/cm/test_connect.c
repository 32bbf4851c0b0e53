/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting and disconnecting, IBTA vol. 1, 12.9. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm_world.h"

static struct world *w;

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

/* 12.9.5: REQ, REP, RTU, and what each side knows then. */
static void test_handshake(void **state)
{
	const struct seen_event *req;
	const struct seen_event *rep;
	const struct seen_event *rtu;
	struct cm_qp_params pa;
	struct cm_qp_params pb;
	struct cm_id *a;
	struct cm_id *b;
	struct cm_id *listener = world_listen(w, SIDE_B, 0);

	(void)state;
	world_connect(w, &a, &b);
	assert_int_equal(cm_id_state(a), CM_ESTABLISHED);
	assert_int_equal(cm_id_state(b), CM_ESTABLISHED);
	req = world_last(w, SIDE_B, CM_EVENT_CONNECT_REQUEST);
	rep = world_last(w, SIDE_A, CM_EVENT_CONNECT_RESPONSE);
	rtu = world_last(w, SIDE_B, CM_EVENT_ESTABLISHED);
	assert_non_null(req);
	assert_non_null(rep);
	assert_non_null(rtu);
	assert_ptr_equal(req->ev.listener, listener);
	assert_ptr_equal(req->ev.cookie, &w->node[SIDE_B]);
	assert_int_equal(req->ev.service_id, SERVICE);
	assert_int_equal(req->ev.private_bytes, CM_REQ_PRIVATE_BYTES - CM_HELLO_BYTES);
	assert_string_equal((const char *)req->private_data, "request");
	assert_true(req->ev.hello.present && !req->ev.hello.ipv6);
	assert_int_equal(req->ev.hello.src_port, 40000);
	assert_int_equal(req->ev.hello.dst_port, 7174);
	assert_memory_equal(&req->ev.hello.src, &w->node[SIDE_A].addr, 16);
	assert_memory_equal(&req->ev.hello.dst, &w->node[SIDE_B].addr, 16);
	assert_int_equal(req->ev.peer_responder_resources, 4);
	assert_int_equal(req->ev.peer_initiator_depth, 16);
	assert_int_equal(req->ev.qp.remote_qpn, 0x11);
	assert_int_equal(req->ev.qp.sq_psn, 0x123456);
	assert_int_equal(req->ev.qp.path_mtu, 3);
	assert_int_equal(rep->ev.private_bytes, CM_REP_PRIVATE_BYTES);
	assert_string_equal((const char *)rep->private_data, "reply");
	assert_int_equal(rtu->ev.private_bytes, CM_RTU_PRIVATE_BYTES);
	assert_string_equal((const char *)rtu->private_data, "ready");
	/* Each side sends from the PSN the other named, and the depths are crossed and cut
	 * (12.7.9, 12.7.11). */
	assert_int_equal(cm_id_qp_params(a, &pa), 0);
	assert_int_equal(cm_id_qp_params(b, &pb), 0);
	assert_int_equal(pa.rq_psn, 0x123456);
	assert_int_equal(pb.sq_psn, 0x123456);
	assert_int_equal(pa.sq_psn, 0xabc000);
	assert_int_equal(pb.rq_psn, 0xabc000);
	assert_int_equal(pa.remote_qpn, pb.local_qpn);
	assert_int_equal(pb.remote_qpn, pa.local_qpn);
	assert_int_equal(pa.max_rd_atomic, 8);
	assert_int_equal(pb.max_dest_rd_atomic, 8);
	assert_int_equal(pa.max_dest_rd_atomic, 4);
	assert_int_equal(pb.max_rd_atomic, 4);
	assert_int_equal(pa.rnr_retry_count, 5);
	assert_int_equal(pb.rnr_retry_count, 6);
	assert_int_equal(pb.retry_count, 7);
	assert_int_equal(pa.ack_timeout, 17);
	assert_int_equal(pb.ack_timeout, 17);
	assert_int_equal(pa.path.flow_label, pb.path.flow_label);
	assert_int_not_equal(pa.path.flow_label, 0);
	assert_int_equal(pa.path.hop_limit, 64);
	assert_int_equal(world_stats(w, SIDE_B).half_open, 0);
}

/* Both ends established, each told so once. */
static void expect_connected(struct cm_id *a, struct cm_id *b)
{
	assert_int_equal(cm_id_state(a), CM_ESTABLISHED);
	assert_int_equal(cm_id_state(b), CM_ESTABLISHED);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_CONNECT_RESPONSE), 1);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 1);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_ESTABLISHED), 1);
}

static void connect_through(
	int from, enum wire_cm_type type, enum rule_what what, unsigned int times)
{
	struct cm_id *a;

	world_listen(w, SIDE_B, 0);
	world_rule(w, from, type, what, times);
	world_connect(w, &a, NULL);
	world_run(w, 20 * SECOND_NS);
	expect_connected(a, w->node[SIDE_B].last_new);
}

/* 12.9.8.5: a lost message is repeated after the response timeout. */
static void test_lost_req(void **state)
{
	(void)state;
	connect_through(SIDE_A, WIRE_CM_REQ, RULE_LOSE, 2);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_REQ], 3);
}

static void test_lost_rep(void **state)
{
	(void)state;
	connect_through(SIDE_B, WIRE_CM_REP, RULE_LOSE, 2);
	assert_true(w->node[SIDE_B].sent[WIRE_CM_REP] >= 3);
}

static void test_lost_rtu(void **state)
{
	(void)state;
	connect_through(SIDE_A, WIRE_CM_RTU, RULE_LOSE, 2);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_RTU], 3);
}

static void test_doubled_req(void **state)
{
	(void)state;
	connect_through(SIDE_A, WIRE_CM_REQ, RULE_DOUBLE, 1);
	/* The second REQ gets the same REP, and that the same RTU. */
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_REP], 2);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_RTU], 2);
	assert_int_equal(world_stats(w, SIDE_B).rx_duplicate, 2);
}

static void test_doubled_rep(void **state)
{
	(void)state;
	connect_through(SIDE_B, WIRE_CM_REP, RULE_DOUBLE, 1);
	assert_int_equal(world_stats(w, SIDE_A).rx_duplicate, 1);
}

static void test_doubled_rtu(void **state)
{
	(void)state;
	connect_through(SIDE_A, WIRE_CM_RTU, RULE_DOUBLE, 1);
	assert_int_equal(world_stats(w, SIDE_B).rx_duplicate, 1);
}

/* 12.9.6: data from the peer says that it is established before the RTU does. */
static void test_comm_established(void **state)
{
	struct cm_id *a;
	struct cm_id *b;

	(void)state;
	world_listen(w, SIDE_B, 0);
	world_rule(w, SIDE_A, WIRE_CM_RTU, RULE_LOSE, 1);
	world_connect(w, &a, &b);
	assert_int_equal(cm_id_state(b), CM_REP_SENT);
	assert_int_equal(cm_comm_established(w->node[SIDE_B].cm, b, w->now_ns), 0);
	assert_int_equal(cm_comm_established(w->node[SIDE_B].cm, b, w->now_ns), 0);
	world_run(w, 20 * SECOND_NS);
	expect_connected(a, b);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_REP], 1);
}

/* Nobody answers: the first REQ and all repeats, then a REJ that says why. */
static void test_unreachable(void **state)
{
	const struct seen_event *seen;
	uint64_t start_ns = w->now_ns;
	struct cm_id *a;

	(void)state;
	w->cut = true;
	world_connect(w, &a, NULL);
	world_run(w, 79 * SECOND_NS);
	assert_int_equal(w->node[SIDE_A].n_seen, 0);
	world_run(w, 2 * SECOND_NS);
	seen = world_last(w, SIDE_A, CM_EVENT_UNREACHABLE);
	assert_non_null(seen);
	assert_in_range(seen->at_ns - start_ns, 80 * SECOND_NS, 80 * SECOND_NS + MS_NS);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_REQ], 16);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_REJ], 1);
	assert_int_equal(cm_id_state(a), CM_IDLE);
	assert_int_equal(cm_next_ns(w->node[SIDE_A].cm), UINT64_MAX);
	cm_id_destroy(w->node[SIDE_A].cm, a, w->now_ns);
	assert_int_equal(world_stats(w, SIDE_A).ids, 0);
}

/* The active side is gone after its REQ: the passive half does not stay. */
static void test_rep_unanswered(void **state)
{
	struct cm_id *a;
	struct cm_id *b;

	(void)state;
	world_listen(w, SIDE_B, 0);
	world_rule(w, SIDE_B, WIRE_CM_REP, RULE_LOSE, 100);
	w->node[SIDE_A].on_rep = REP_HOLD;
	world_connect(w, &a, &b);
	w->cut = true;
	world_run(w, 81 * SECOND_NS);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_UNREACHABLE), 1);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_REP], 16);
	assert_int_equal(cm_id_state(b), CM_IDLE);
	assert_int_equal(world_stats(w, SIDE_B).half_open, 0);
}

/* 12.9.7.1: the REJ of a timed-out active side frees the passive half, which never named its own
 * ID. */
static void test_timeout_rej_finds_passive(void **state)
{
	struct cm_id *a;
	struct cm_id *b;

	(void)state;
	world_listen(w, SIDE_B, 0);
	w->node[SIDE_B].on_req = REQ_HOLD;
	world_connect(w, &a, &b);
	cm_id_destroy(w->node[SIDE_A].cm, a, w->now_ns);
	world_run(w, MS_NS);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_REJECTED), 1);
	assert_int_equal(world_last(w, SIDE_B, CM_EVENT_REJECTED)->ev.reason, CM_REJ_TIMEOUT);
	assert_int_equal(world_last(w, SIDE_B, CM_EVENT_REJECTED)->ev.ari_bytes, 8);
	assert_int_equal(cm_id_state(b), CM_IDLE);
}

/* 12.6.7.2, code 8. */
static void test_no_listener(void **state)
{
	struct cm_id *a;

	(void)state;
	world_connect(w, &a, NULL);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_REJECTED), 1);
	assert_int_equal(
		world_last(w, SIDE_A, CM_EVENT_REJECTED)->ev.reason, CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(cm_id_state(a), CM_IDLE);
	assert_int_equal(world_stats(w, SIDE_B).ids, 0);
	assert_int_equal(world_stats(w, SIDE_B).no_listener, 1);
}

static void test_reject(void **state)
{
	const struct seen_event *seen;
	struct cm_id *a;
	struct cm_id *b;

	(void)state;
	world_listen(w, SIDE_B, 0);
	w->node[SIDE_B].on_req = REQ_REJECT;
	world_connect(w, &a, &b);
	seen = world_last(w, SIDE_A, CM_EVENT_REJECTED);
	assert_non_null(seen);
	assert_int_equal(seen->ev.reason, CM_REJ_CONSUMER);
	assert_int_equal(seen->ev.private_bytes, CM_REJ_PRIVATE_BYTES);
	assert_string_equal((const char *)seen->private_data, "no");
	assert_int_equal(cm_id_state(b), CM_REJ_SENT);
	assert_int_equal(world_stats(w, SIDE_B).half_open, 0);
	/* The same QP may try again at once. */
	w->node[SIDE_A].next_qpn--;
	w->node[SIDE_B].on_req = REQ_ACCEPT;
	world_connect(w, &a, &b);
	assert_int_equal(cm_id_state(a), CM_ESTABLISHED);
}

/* The repeated REQ of a peer that missed the REJ gets the same REJ and makes no second request. */
static void test_lost_rej(void **state)
{
	struct cm_id *a;

	(void)state;
	world_listen(w, SIDE_B, 0);
	w->node[SIDE_B].on_req = REQ_REJECT;
	world_rule(w, SIDE_B, WIRE_CM_REJ, RULE_LOSE, 1);
	world_connect(w, &a, NULL);
	world_run(w, 6 * SECOND_NS);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 1);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_REJECTED), 1);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_REJ], 2);
}

/* 12.9.7.1: the active side may refuse the REP. */
static void test_reject_rep(void **state)
{
	struct cm_id *a;
	struct cm_id *b;

	(void)state;
	world_listen(w, SIDE_B, 0);
	w->node[SIDE_A].on_rep = REP_REJECT;
	world_connect(w, &a, &b);
	assert_int_equal(cm_id_state(a), CM_IDLE);
	assert_int_equal(cm_id_state(b), CM_IDLE);
	assert_int_equal(world_last(w, SIDE_B, CM_EVENT_REJECTED)->ev.reason, CM_REJ_CONSUMER);
}

/* When that REJ is lost, the repeated REP says so, and is told that there is nothing any more. */
static void test_lost_rej_of_rep(void **state)
{
	struct cm_id *a;
	struct cm_id *b;

	(void)state;
	world_listen(w, SIDE_B, 0);
	w->node[SIDE_A].on_rep = REP_REJECT;
	world_rule(w, SIDE_A, WIRE_CM_REJ, RULE_LOSE, 1);
	world_connect(w, &a, &b);
	assert_int_equal(cm_id_state(b), CM_REP_SENT);
	world_run(w, 6 * SECOND_NS);
	assert_int_equal(cm_id_state(b), CM_IDLE);
	assert_int_equal(
		world_last(w, SIDE_B, CM_EVENT_REJECTED)->ev.reason, CM_REJ_INVALID_COMM_ID);
}

/* The passive side takes its REP back; the RTU crosses the REJ, which is lost: the RTU is answered
 * by it. */
static void test_reject_after_accept(void **state)
{
	struct cm_id *a;
	struct cm_id *b;

	(void)state;
	world_listen(w, SIDE_B, 0);
	w->node[SIDE_A].on_rep = REP_HOLD;
	world_connect(w, &a, &b);
	world_rule(w, SIDE_B, WIRE_CM_REJ, RULE_LOSE, 1);
	assert_int_equal(cm_reject(w->node[SIDE_B].cm, b, CM_REJ_CONSUMER, NULL, 0, w->now_ns), 0);
	assert_int_equal(cm_establish(w->node[SIDE_A].cm, a, NULL, 0, w->now_ns), 0);
	world_run(w, MS_NS);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(cm_id_state(b), CM_REJ_SENT);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_ESTABLISHED), 0);
}

/* The handlers may destroy the id they are told of. */
static void test_destroy_in_events(void **state)
{
	struct cm_id *a;

	(void)state;
	world_listen(w, SIDE_B, 0);
	w->node[SIDE_B].on_req = REQ_DESTROY;
	world_connect(w, &a, NULL);
	assert_int_equal(world_last(w, SIDE_A, CM_EVENT_REJECTED)->ev.reason, CM_REJ_CONSUMER);
	assert_int_equal(world_stats(w, SIDE_B).ids, 1);
	w->node[SIDE_B].on_req = REQ_ACCEPT;
	w->node[SIDE_A].on_rep = REP_DESTROY;
	world_connect(w, &a, NULL);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_REJECTED), 1);
	assert_int_equal(world_stats(w, SIDE_A).ids, 1);
}

/* 12.6.6: a slow consumer's peer waits longer and does not give up. */
static void test_mra_on_repeat(void **state)
{
	struct cm_accept_params params = {
		.qpn = 0x300, .responder_resources = 1, .initiator_depth = 1};
	struct cm_id *a;
	struct cm_id *b;

	(void)state;
	world_listen(w, SIDE_B, 0);
	w->node[SIDE_B].on_req = REQ_HOLD;
	world_connect(w, &a, &b);
	world_run(w, 70 * SECOND_NS);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_REQ], 2);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_MRA], 1);
	assert_int_equal(cm_accept(w->node[SIDE_B].cm, b, &params, w->now_ns), 0);
	world_run(w, MS_NS);
	expect_connected(a, b);
}

static void test_mra_about_rep(void **state)
{
	struct cm_id *a;
	struct cm_id *b;

	(void)state;
	world_listen(w, SIDE_B, 0);
	w->node[SIDE_A].on_rep = REP_HOLD;
	world_connect(w, &a, &b);
	assert_int_equal(cm_mra(w->node[SIDE_A].cm, a, 24, w->now_ns), 0);
	world_run(w, 60 * SECOND_NS);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_REP], 1);
	assert_int_equal(cm_establish(w->node[SIDE_A].cm, a, NULL, 0, w->now_ns), 0);
	world_run(w, MS_NS);
	assert_int_equal(cm_id_state(b), CM_ESTABLISHED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_handshake, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_req, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_rep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_rtu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubled_req, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubled_rep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubled_rtu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_comm_established, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreachable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rep_unanswered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timeout_rej_finds_passive, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_listener, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reject, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_rej, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reject_rep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost_rej_of_rep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reject_after_accept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroy_in_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mra_on_repeat, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mra_about_rep, setup, teardown),
	};

	return cmocka_run_group_tests_name("cm-connect", tests, NULL, NULL);
}
