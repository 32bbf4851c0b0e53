/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages in states that do not wait for them, IBTA vol. 1, 12.9.7 and 12.9.8; and what is simple
 * to ask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm_world.h"

static struct world *w;
static struct cm_id *a;
static struct cm_id *b;
static struct wire_cm_msg req; /* what A began the connection with */

static int setup(void **state)
{
	(void)state;
	w = world_new(NULL);
	world_listen(w, SIDE_B, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_free(w);
	return 0;
}

static void connect_ends(void)
{
	unsigned int first = w->tail;

	world_connect(w, &a, &b);
	assert_int_equal(wire_cm_decode(w->queue[first % WORLD_QUEUE].mad, CM_MAD_BYTES, &req), 0);
	assert_int_equal(req.type, WIRE_CM_REQ);
}

static void inject(int to, const struct wire_cm_msg *msg)
{
	uint8_t mad[CM_MAD_BYTES];

	wire_cm_encode(msg, mad);
	world_inject(w, to, mad);
}

/* A message of a type from the other side, with the IDs it would have. */
static struct wire_cm_msg message_to(int to, enum wire_cm_type type)
{
	struct wire_cm_msg msg = {.type = type};
	unsigned int i;

	/* The REP is in the pipe's memory: B's ID, then A's. */
	for (i = w->tail; i-- > 0;) {
		struct wire_cm_msg old;

		assert_int_equal(
			wire_cm_decode(w->queue[i % WORLD_QUEUE].mad, CM_MAD_BYTES, &old), 0);
		if (old.type != WIRE_CM_REP)
			continue;
		msg.ids.local_comm_id =
			to == SIDE_A ? old.rep.local_comm_id : old.rep.remote_comm_id;
		msg.ids.remote_comm_id =
			to == SIDE_A ? old.rep.remote_comm_id : old.rep.local_comm_id;
		return msg;
	}
	fail();
	return msg;
}

/* 12.9.8.3.1: the REQ of a connection in timewait comes once more. */
static void test_old_req_in_timewait(void **state)
{
	(void)state;
	connect_ends();
	cm_disconnect(w->node[SIDE_A].cm, a, NULL, 0, w->now_ns);
	world_run(w, MS_NS);
	inject(SIDE_B, &req);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_REJ], 1);
	assert_int_equal(cm_id_state(b), CM_TIMEWAIT);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 1);
}

/* An established connection's REQ is no new request. */
static void test_old_req_established(void **state)
{
	(void)state;
	connect_ends();
	inject(SIDE_B, &req);
	assert_int_equal(world_stats(w, SIDE_B).rx_duplicate, 1);
	assert_int_equal(cm_id_state(b), CM_ESTABLISHED);
	assert_int_equal(w->head, w->tail);
}

/* A peer that gave up, without a word that arrived, and tries again with the same QP. */
static void test_req_over_half_open(void **state)
{
	(void)state;
	w->node[SIDE_B].on_req = REQ_HOLD;
	connect_ends();
	req.req.local_comm_id ^= 1;
	inject(SIDE_B, &req);
	assert_int_equal(
		world_last(w, SIDE_B, CM_EVENT_REJECTED)->ev.reason, CM_REJ_STALE_CONNECTION);
	assert_int_equal(cm_id_state(b), CM_IDLE);
	assert_int_equal(world_stats(w, SIDE_B).half_open, 0);
	inject(SIDE_B, &req);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 2);
}

static void test_repeated_rep_gets_mra(void **state)
{
	(void)state;
	w->node[SIDE_A].on_rep = REP_HOLD;
	connect_ends();
	world_run(w, 20 * SECOND_NS);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_MRA], 1);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_REP], 2);
	assert_int_equal(cm_establish(w->node[SIDE_A].cm, a, NULL, 0, w->now_ns), 0);
	world_run(w, MS_NS);
	assert_int_equal(cm_id_state(b), CM_ESTABLISHED);
}

/* A REP for another peer QP 0 or 1, and one with a communication ID that the peer has in use. */
static void test_bad_rep(void **state)
{
	struct cm_connect_params params;
	struct wire_cm_msg rep;
	struct cm_id *second;

	(void)state;
	connect_ends();
	rep = message_to(SIDE_A, WIRE_CM_REP);
	second = cm_id_create(w->node[SIDE_A].cm, w);
	world_params(w, SIDE_A, &params);
	assert_int_equal(cm_connect(w->node[SIDE_A].cm, second, &params, w->now_ns), 0);
	assert_int_equal(
		wire_cm_decode(w->queue[(w->tail - 1) % WORLD_QUEUE].mad, CM_MAD_BYTES, &req), 0);
	w->head = w->tail;
	rep.rep.remote_comm_id = req.req.local_comm_id;
	rep.rep.local_qpn = 1;
	inject(SIDE_A, &rep);
	assert_int_equal(world_stats(w, SIDE_A).rx_malformed, 1);
	rep.rep.local_qpn = 0x999;
	inject(SIDE_A, &rep);
	assert_int_equal(world_stats(w, SIDE_A).rx_unexpected, 1);
	assert_int_equal(cm_id_state(second), CM_REQ_SENT);
	rep.rep.local_comm_id ^= 1;
	inject(SIDE_A, &rep);
	assert_int_equal(cm_id_state(second), CM_ESTABLISHED);
}

/* "I have no such connection" ends it on our side; a second one says nothing new. */
static void test_rej_established(void **state)
{
	struct wire_cm_msg rej;

	(void)state;
	connect_ends();
	rej = message_to(SIDE_A, WIRE_CM_REJ);
	rej.rej.reason = CM_REJ_INVALID_COMM_ID;
	rej.rej.message_rejected = WIRE_CM_ABOUT_OTHER;
	rej.rej.rejected_info_length = 127;
	inject(SIDE_A, &rej);
	assert_int_equal(world_count(w, SIDE_A, CM_EVENT_DISCONNECTED), 1);
	assert_int_equal(cm_id_state(a), CM_TIMEWAIT);
	inject(SIDE_A, &rej);
	assert_int_equal(world_stats(w, SIDE_A).rx_unexpected, 1);
	assert_int_equal(world_stats(w, SIDE_A).rejects_rx, 1);
}

/* An id's second connection has another communication ID: late messages of the first do not reach
 * it. */
static void test_late_rej(void **state)
{
	struct cm_connect_params params;
	struct wire_cm_msg rej = {.type = WIRE_CM_REJ};

	(void)state;
	connect_ends();
	cm_disconnect(w->node[SIDE_A].cm, a, NULL, 0, w->now_ns);
	world_run(w, SECOND_NS);
	w->cut = true;
	world_params(w, SIDE_A, &params);
	assert_int_equal(cm_connect(w->node[SIDE_A].cm, a, &params, w->now_ns), 0);
	rej.rej.remote_comm_id = req.req.local_comm_id;
	rej.rej.reason = CM_REJ_CONSUMER;
	inject(SIDE_A, &rej);
	assert_int_equal(cm_id_state(a), CM_REQ_SENT);
	assert_int_equal(world_stats(w, SIDE_A).rx_unknown_id, 1);
}

/* Communication IDs are each peer's own, and SIDR request IDs are others again. */
static void test_same_id_of_others(void **state)
{
	struct cm_path path = world_path(w, SIDE_B);
	struct wire_cm_msg sidr = {.type = WIRE_CM_SIDR_REQ};
	uint8_t mad[CM_MAD_BYTES];

	(void)state;
	connect_ends();
	sidr.sidr_req.request_id = req.req.local_comm_id;
	sidr.sidr_req.service_id = SERVICE;
	memcpy(sidr.private_data, req.private_data, CM_HELLO_BYTES);
	sidr.private_bytes = CM_HELLO_BYTES;
	inject(SIDE_B, &sidr);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_SIDR_REQUEST), 1);
	path.remote.b[15] = 77;
	req.req.primary.local_gid = path.remote;
	wire_cm_encode(&req, mad);
	cm_rx(w->node[SIDE_B].cm, &path, mad, sizeof(mad), w->now_ns);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 2);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_REP], 2);
	/* The first peer's REQ to another address of ours is no repeat to answer. */
	w->node[SIDE_B].on_req = REQ_HOLD;
	path = world_path(w, SIDE_B);
	req.req.primary.local_gid = path.remote;
	req.req.local_comm_id ^= 1;
	req.req.local_qpn += 100;
	inject(SIDE_B, &req);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 3);
	path.local.b[15] = 78;
	req.req.primary.remote_gid = path.local;
	wire_cm_encode(&req, mad);
	cm_rx(w->node[SIDE_B].cm, &path, mad, sizeof(mad), w->now_ns);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_MRA], 0);
	inject(SIDE_B, &req);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_MRA], 1);
}

/* The longest service timeout of an MRA is 2.4 hours: nobody waits that long for a peer that may be
 * gone. */
static void test_mra_is_bounded(void **state)
{
	struct wire_cm_msg mra = {.type = WIRE_CM_MRA};

	(void)state;
	w->node[SIDE_B].on_req = REQ_HOLD;
	connect_ends();
	mra.mra.remote_comm_id = req.req.local_comm_id;
	mra.mra.service_timeout = 31;
	inject(SIDE_A, &mra);
	world_run(w, 270 * SECOND_NS);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_REQ], 1);
	world_run(w, 12 * SECOND_NS);
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_REQ], 2);
}

/* 12.6.5: the REQ says how often either side repeats itself. */
static void test_peer_limits_retries(void **state)
{
	(void)state;
	w->node[SIDE_B].on_req = REQ_DESTROY;
	connect_ends();
	w->node[SIDE_B].on_req = REQ_ACCEPT;
	req.req.max_cm_retries = 2;
	inject(SIDE_B, &req);
	w->cut = true;
	w->head = w->tail;
	world_run(w, 16 * SECOND_NS);
	assert_int_equal(w->node[SIDE_B].sent[WIRE_CM_REP], 3);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_UNREACHABLE), 1);
}

/* A REJ names our ID once the peer has heard of it, not before (as Linux does). */
static void test_ids_in_rej(void **state)
{
	struct wire_cm_msg msg;
	unsigned int mra;

	(void)state;
	for (mra = 0; mra < 2; mra++) {
		w->node[SIDE_B].on_req = REQ_HOLD;
		connect_ends();
		if (mra)
			assert_int_equal(cm_mra(w->node[SIDE_B].cm, b, 20, w->now_ns), 0);
		cm_reject(w->node[SIDE_B].cm, b, CM_REJ_CONSUMER, NULL, 0, w->now_ns);
		assert_int_equal(wire_cm_decode(w->queue[(w->tail - 1) % WORLD_QUEUE].mad,
					 CM_MAD_BYTES, &msg),
			0);
		assert_int_equal(msg.type, WIRE_CM_REJ);
		assert_int_equal(msg.rej.local_comm_id != 0, mra);
		assert_int_equal(msg.rej.remote_comm_id, req.req.local_comm_id);
		assert_int_equal(msg.rej.message_rejected, WIRE_CM_ABOUT_REQ);
		world_run(w, MS_NS);
		assert_int_equal(cm_id_state(a), CM_IDLE);
	}
}

static void test_unexpected(void **state)
{
	static const enum wire_cm_type in_established[] = {WIRE_CM_MRA, WIRE_CM_RTU, WIRE_CM_DREP};
	struct wire_cm_msg msg;
	unsigned int i;

	(void)state;
	connect_ends();
	for (i = 0; i < 3; i++) {
		msg = message_to(SIDE_A, in_established[i]);
		inject(SIDE_A, &msg);
		assert_int_equal(world_stats(w, SIDE_A).rx_unexpected, i + 1);
	}
	assert_int_equal(cm_id_state(a), CM_ESTABLISHED);
	/* A DREQ before the connection is there. */
	w->node[SIDE_A].on_rep = REP_HOLD;
	connect_ends();
	msg = message_to(SIDE_A, WIRE_CM_DREQ);
	msg.dreq.remote_qpn = req.req.local_qpn;
	inject(SIDE_A, &msg);
	assert_int_equal(world_stats(w, SIDE_A).rx_unexpected, 4);
	assert_int_equal(cm_id_state(a), CM_REP_RCVD);
}

/* A full transmit queue loses the message only: it is repeated. */
static void test_send_fails(void **state)
{
	(void)state;
	w->send_fails = true;
	world_connect(w, &a, NULL);
	assert_int_equal(world_stats(w, SIDE_A).tx_errors, 1);
	w->send_fails = false;
	world_run(w, 6 * SECOND_NS);
	assert_int_equal(cm_id_state(a), CM_ESTABLISHED);
}

/* Service IDs outside of the IP CM service have all private data for the user. */
static void test_plain_service(void **state)
{
	static const uint8_t data[CM_REQ_PRIVATE_BYTES] = {
		[0] = 'a', [CM_REQ_PRIVATE_BYTES - 1] = 'z'};
	const struct seen_event *seen;
	struct cm_connect_params params;

	(void)state;
	b = cm_id_create(w->node[SIDE_B].cm, NULL);
	assert_int_equal(cm_listen(w->node[SIDE_B].cm, b, 0x1000000000000001ull, NULL, NULL, 0), 0);
	world_params(w, SIDE_A, &params);
	params.hello.present = false;
	params.service_id = 0x1000000000000001ull;
	params.private_bytes = sizeof(data);
	params.private_data = data;
	a = cm_id_create(w->node[SIDE_A].cm, NULL);
	assert_int_equal(cm_connect(w->node[SIDE_A].cm, a, &params, w->now_ns), 0);
	world_run(w, MS_NS);
	seen = world_last(w, SIDE_B, CM_EVENT_CONNECT_REQUEST);
	assert_non_null(seen);
	assert_false(seen->ev.hello.present);
	assert_int_equal(seen->ev.private_bytes, CM_REQ_PRIVATE_BYTES);
	assert_memory_equal(seen->private_data, data, sizeof(data));
	assert_int_equal(cm_id_state(a), CM_ESTABLISHED);
}

static void test_uc(void **state)
{
	struct cm_connect_params params;
	struct cm_qp_params qp;

	(void)state;
	world_params(w, SIDE_A, &params);
	params.qp_type = CM_QP_UC;
	a = cm_id_create(w->node[SIDE_A].cm, NULL);
	assert_int_equal(cm_connect(w->node[SIDE_A].cm, a, &params, w->now_ns), 0);
	world_run(w, MS_NS);
	assert_int_equal(cm_id_qp_params(w->node[SIDE_B].last_new, &qp), 0);
	assert_int_equal(qp.qp_type, CM_QP_UC);
}

static const uint8_t *sent_mad(enum wire_cm_type type)
{
	for (unsigned int i = 0; i < WORLD_QUEUE; i++) {
		const uint8_t *mad = w->queue[i].mad;

		if ((mad[16] << 8 | mad[17]) == (int)type)
			return mad;
	}
	return NULL;
}

/* Annex A14: the REQ has the extended transport type of XRC, and the REP the target's number in place of the local
 * EE context's, with the SRQ bit set. */
static void test_xrc(void **state)
{
	struct cm_connect_params params;
	struct cm_qp_params qp;
	struct wire_cm_msg msg;

	(void)state;
	world_params(w, SIDE_A, &params);
	params.qp_type = CM_QP_XRC;
	a = cm_id_create(w->node[SIDE_A].cm, NULL);
	assert_int_equal(cm_connect(w->node[SIDE_A].cm, a, &params, w->now_ns), 0);
	world_run(w, MS_NS);
	assert_int_equal(wire_cm_decode(sent_mad(WIRE_CM_REQ), CM_MAD_BYTES, &msg), 0);
	assert_int_equal(msg.req.transport_type, WIRE_CM_TRANSPORT_EXT);
	assert_int_equal(msg.req.extended_transport_type, WIRE_CM_EXTENDED_XRC);
	assert_int_equal(msg.req.local_qpn, params.qpn);
	assert_int_equal(cm_id_qp_params(w->node[SIDE_B].last_new, &qp), 0);
	assert_int_equal(qp.qp_type, CM_QP_XRC);
	assert_int_equal(qp.remote_qpn, params.qpn);
	assert_int_equal(wire_cm_decode(sent_mad(WIRE_CM_REP), CM_MAD_BYTES, &msg), 0);
	assert_int_equal(msg.rep.local_qpn, 0);
	assert_int_equal(msg.rep.srq, 1);
	assert_int_equal(cm_id_qp_params(a, &qp), 0);
	assert_int_equal(qp.remote_qpn, msg.rep.local_eecn);
	assert_true(qp.remote_qpn >= 2);
}

static void test_cookies_and_names(void **state)
{
	enum cm_state other;
	enum cm_state s;

	(void)state;
	a = cm_id_create(w->node[SIDE_A].cm, w);
	assert_ptr_equal(cm_id_cookie(a), w);
	cm_id_set_cookie(a, &a);
	assert_ptr_equal(cm_id_cookie(a), &a);
	for (s = CM_IDLE; s <= CM_SIDR_REP_SENT; s++) {
		assert_string_not_equal(cm_state_name(s), "?");
		for (other = CM_IDLE; other < s; other++)
			assert_string_not_equal(cm_state_name(s), cm_state_name(other));
	}
	assert_string_equal(cm_state_name((enum cm_state)(CM_SIDR_REP_SENT + 1)), "?");
}

static void test_config(void **state)
{
	struct cm_config good;
	struct cm_config config;
	struct cm *cm;

	(void)state;
	cm_config_default(&good);
#define EXPECT_REFUSED(field, value)                                                               \
	do {                                                                                       \
		config = good;                                                                     \
		config.field = (value);                                                            \
		assert_int_equal(cm_create(&config, NULL, NULL, 0, &cm), -EINVAL);                 \
	} while (0)
	EXPECT_REFUSED(max_ids, 0);
	EXPECT_REFUSED(max_ids, (1u << 20) + 1);
	EXPECT_REFUSED(max_half_open, 0);
	EXPECT_REFUSED(response_timeout_ms, 0);
	EXPECT_REFUSED(sidr_timeout_ms, 0);
	EXPECT_REFUSED(max_retries, 16);
	EXPECT_REFUSED(packet_lifetime, 31);
	EXPECT_REFUSED(mra_service_timeout, 32);
	EXPECT_REFUSED(target_ack_delay, 32);
#undef EXPECT_REFUSED
	cm_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_old_req_in_timewait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_req_established, setup, teardown),
		cmocka_unit_test_setup_teardown(test_req_over_half_open, setup, teardown),
		cmocka_unit_test_setup_teardown(test_repeated_rep_gets_mra, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_rep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rej_established, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_rej, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_id_of_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mra_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_peer_limits_retries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ids_in_rej, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unexpected, setup, teardown),
		cmocka_unit_test_setup_teardown(test_send_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_plain_service, setup, teardown),
		cmocka_unit_test_setup_teardown(test_uc, setup, teardown),
		cmocka_unit_test_setup_teardown(test_xrc, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cookies_and_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_config, setup, teardown),
	};

	return cmocka_run_group_tests_name("cm-states", tests, NULL, NULL);
}
