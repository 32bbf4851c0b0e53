/* SPDX-License-Identifier: BSD-3-Clause */
/* What peers may send and clients may ask that is wrong: each has its counter, and no connection
 * suffers. */
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
	struct cm_config config;

	(void)state;
	cm_config_default(&config);
	config.max_ids = 8;
	config.max_half_open = 4;
	w = world_new(&config);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_free(w);
	return 0;
}

/* A REQ from A to B that B would take; number makes it another peer QP and ID each time. */
static void good_req(struct wire_cm_msg *msg, uint32_t number)
{
	struct wire_cm_hello hello = {.ip_version = 4,
		.sport = 1,
		.src = w->node[SIDE_A].addr,
		.dst = w->node[SIDE_B].addr};

	memset(msg, 0, sizeof(*msg));
	msg->type = WIRE_CM_REQ;
	msg->tid = 1000 + number;
	msg->req.local_comm_id = 0x51000000 + number;
	msg->req.service_id = SERVICE;
	msg->req.local_qpn = 0x1000 + number;
	msg->req.pkey = 0xffff;
	msg->req.path_mtu = 3;
	msg->req.max_cm_retries = 15;
	msg->req.primary.local_gid = w->node[SIDE_A].addr;
	msg->req.primary.remote_gid = w->node[SIDE_B].addr;
	msg->req.primary.local_ack_timeout = 17;
	wire_cm_hello_encode(&hello, msg->private_data);
	msg->private_bytes = WIRE_CM_HELLO_BYTES;
}

static void inject(int to, const struct wire_cm_msg *msg)
{
	uint8_t mad[CM_MAD_BYTES];

	wire_cm_encode(msg, mad);
	world_inject(w, to, mad);
}

/* The last message B sent, which nobody has taken from the pipe yet. */
static void last_sent(struct wire_cm_msg *msg)
{
	assert_int_not_equal(w->head, w->tail);
	assert_int_equal(
		wire_cm_decode(w->queue[(w->tail - 1) % WORLD_QUEUE].mad, CM_MAD_BYTES, msg), 0);
}

static void expect_refused(const struct wire_cm_msg *req, uint16_t reason)
{
	struct wire_cm_msg rej;

	inject(SIDE_B, req);
	last_sent(&rej);
	assert_int_equal(rej.type, WIRE_CM_REJ);
	assert_int_equal(rej.tid, req->tid);
	assert_int_equal(rej.rej.reason, reason);
	assert_int_equal(rej.rej.remote_comm_id, req->req.local_comm_id);
	assert_int_equal(rej.rej.local_comm_id, 0);
	assert_int_equal(rej.rej.message_rejected, WIRE_CM_ABOUT_REQ);
	assert_int_equal(w->node[SIDE_B].n_seen, 0);
	assert_int_equal(world_stats(w, SIDE_B).ids, 1);
}

/* 12.6.7.2: each reason for what is wrong in a REQ. */
static void test_bad_reqs(void **state)
{
	struct wire_cm_msg req;

	(void)state;
	world_listen(w, SIDE_B, 0);
	good_req(&req, 1);
	req.req.transport_type = WIRE_CM_TRANSPORT_RD;
	expect_refused(&req, CM_REJ_INVALID_TRANSPORT);
	req.req.transport_type = WIRE_CM_TRANSPORT_EXT; /* and of these only XRC */
	req.req.extended_transport_type = 2;
	expect_refused(&req, CM_REJ_INVALID_TRANSPORT);
	good_req(&req, 2);
	req.req.path_mtu = 0;
	expect_refused(&req, CM_REJ_INVALID_MTU);
	req.req.path_mtu = 6;
	expect_refused(&req, CM_REJ_INVALID_MTU);
	good_req(&req, 3);
	req.req.primary.local_gid.b[15] ^= 0x40;
	expect_refused(&req, CM_REJ_INVALID_GID);
	good_req(&req, 4);
	req.req.primary.remote_gid.b[15] ^= 0x40;
	expect_refused(&req, CM_REJ_INVALID_GID);
	good_req(&req, 5);
	req.req.local_qpn = 1;
	expect_refused(&req, CM_REJ_UNSUPPORTED);
	good_req(&req, 6);
	req.req.pkey = 0x8001;
	expect_refused(&req, CM_REJ_UNSUPPORTED);
	good_req(&req, 7);
	req.private_data[1] = 0x50;
	expect_refused(&req, CM_REJ_UNSUPPORTED);
	assert_int_equal(world_stats(w, SIDE_B).rx_malformed, 9);
	good_req(&req, 8);
	inject(SIDE_B, &req);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 1);
}

static void test_short_and_foreign_mads(void **state)
{
	struct cm_path path = world_path(w, SIDE_B);
	struct wire_cm_msg msg;
	uint8_t mad[CM_MAD_BYTES + 1] = {0};
	size_t n;

	(void)state;
	world_listen(w, SIDE_B, 0);
	good_req(&msg, 1);
	wire_cm_encode(&msg, mad);
	for (n = 0; n <= CM_MAD_BYTES + 1; n++)
		if (n != CM_MAD_BYTES)
			cm_rx(w->node[SIDE_B].cm, &path, mad, n, w->now_ns);
	assert_int_equal(world_stats(w, SIDE_B).rx_malformed, CM_MAD_BYTES + 1);
	mad[1] = 0x04;
	world_inject(w, SIDE_B, mad);
	assert_int_equal(world_stats(w, SIDE_B).rx_malformed, CM_MAD_BYTES + 2);
	good_req(&msg, 1);
	msg.type = WIRE_CM_LAP;
	inject(SIDE_B, &msg);
	wire_cm_encode(&msg, mad);
	mad[17] = 0x77;
	world_inject(w, SIDE_B, mad);
	assert_int_equal(world_stats(w, SIDE_B).rx_unsupported, 2);
	assert_int_equal(w->node[SIDE_B].n_seen, 0);
}

static void test_backlog(void **state)
{
	struct wire_cm_msg req;
	struct wire_cm_msg rej;
	uint32_t i;

	(void)state;
	world_listen(w, SIDE_B, 2);
	w->node[SIDE_B].on_req = REQ_HOLD;
	for (i = 0; i < 3; i++) {
		good_req(&req, i);
		inject(SIDE_B, &req);
	}
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 2);
	last_sent(&rej);
	assert_int_equal(rej.rej.reason, CM_REJ_NO_RESOURCES);
	/* One is answered: there is room again. */
	cm_reject(
		w->node[SIDE_B].cm, w->node[SIDE_B].last_new, CM_REJ_CONSUMER, NULL, 0, w->now_ns);
	inject(SIDE_B, &req);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 3);
	assert_int_equal(world_stats(w, SIDE_B).no_resources, 1);
}

/* Spoofed REQs: the limit over all listeners holds, and every one of them ends by itself once
 * answered. */
static void test_half_open_limit(void **state)
{
	struct wire_cm_msg req;
	uint32_t i;

	(void)state;
	world_listen(w, SIDE_B, 0);
	for (i = 0; i < 20; i++) {
		good_req(&req, i);
		inject(SIDE_B, &req);
	}
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 4);
	assert_int_equal(world_stats(w, SIDE_B).half_open, 4);
	assert_int_equal(world_stats(w, SIDE_B).no_resources, 16);
	w->head = w->tail;
	w->cut = true;
	world_run(w, 90 * SECOND_NS);
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_UNREACHABLE), 4);
	assert_int_equal(world_stats(w, SIDE_B).half_open, 0);
}

/* A listener goes: what waits stays with its owner. */
static void test_listener_destroyed(void **state)
{
	struct cm_id *listener = world_listen(w, SIDE_B, 2);
	struct wire_cm_msg req;

	(void)state;
	w->node[SIDE_B].on_req = REQ_HOLD;
	good_req(&req, 1);
	inject(SIDE_B, &req);
	cm_id_destroy(w->node[SIDE_B].cm, listener, w->now_ns);
	assert_int_equal(cm_id_state(w->node[SIDE_B].last_new), CM_REQ_RCVD);
	cm_id_destroy(w->node[SIDE_B].cm, w->node[SIDE_B].last_new, w->now_ns);
	assert_int_equal(world_stats(w, SIDE_B).ids, 0);
	assert_int_equal(world_stats(w, SIDE_B).half_open, 0);
	good_req(&req, 2);
	inject(SIDE_B, &req);
	assert_int_equal(world_stats(w, SIDE_B).no_listener, 1);
}

/* The place of a listener that is gone is another's, whom the old one's requests do not concern. */
static void test_listener_place_reused(void **state)
{
	struct cm *cm = w->node[SIDE_B].cm;
	struct cm_id *listener = world_listen(w, SIDE_B, 2);
	struct cm_id *old = listener;
	struct wire_cm_msg req;
	unsigned int i;

	(void)state;
	w->node[SIDE_B].on_req = REQ_HOLD;
	good_req(&req, 1);
	inject(SIDE_B, &req);
	cm_id_destroy(cm, listener, w->now_ns);
	for (i = 0; i < 16; i++) {
		listener = world_listen(w, SIDE_B, 2);
		if (listener == old)
			break;
		cm_id_destroy(cm, listener, w->now_ns);
	}
	assert_ptr_equal(listener, old);
	cm_id_destroy(cm, w->node[SIDE_B].last_new, w->now_ns);
	for (i = 2; i < 5; i++) {
		good_req(&req, i);
		inject(SIDE_B, &req);
	}
	assert_int_equal(world_count(w, SIDE_B, CM_EVENT_CONNECT_REQUEST), 3);
	assert_int_equal(world_stats(w, SIDE_B).no_resources, 1);
}

/* Messages with the right IDs from another address, or with one ID wrong, change nothing. */
static void test_spoofed(void **state)
{
	static const enum wire_cm_type types[] = {
		WIRE_CM_MRA, WIRE_CM_REJ, WIRE_CM_REP, WIRE_CM_RTU, WIRE_CM_DREQ, WIRE_CM_DREP};
	struct cm_path path = world_path(w, SIDE_B);
	struct wire_cm_msg good;
	struct wire_cm_msg msg;
	uint8_t mad[CM_MAD_BYTES];
	struct cm_id *a;
	struct cm_id *b;
	unsigned int n_seen;
	unsigned int i;

	(void)state;
	world_listen(w, SIDE_B, 0);
	world_connect(w, &a, &b);
	/* The RTU is the last A sent: the IDs as B is to see them. */
	assert_int_equal(
		wire_cm_decode(w->queue[(w->tail - 1) % WORLD_QUEUE].mad, CM_MAD_BYTES, &good), 0);
	assert_int_equal(good.type, WIRE_CM_RTU);
	n_seen = w->node[SIDE_B].n_seen;
	path.remote.b[15] = 99;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		msg = good;
		msg.type = types[i];
		if (types[i] == WIRE_CM_DREQ)
			msg.dreq.remote_qpn = 0x211;
		wire_cm_encode(&msg, mad);
		cm_rx(w->node[SIDE_B].cm, &path, mad, sizeof(mad), w->now_ns);
		msg.ids.local_comm_id ^= 1;
		inject(SIDE_B, &msg);
		msg.ids.local_comm_id ^= 1;
		msg.ids.remote_comm_id ^= 1;
		inject(SIDE_B, &msg);
	}
	assert_int_equal(cm_id_state(b), CM_ESTABLISHED);
	assert_int_equal(w->node[SIDE_B].n_seen, n_seen);
	assert_int_equal(world_stats(w, SIDE_B).rx_unknown_id, 18);
	/* A DREQ must name our QP too. */
	msg = good;
	msg.type = WIRE_CM_DREQ;
	msg.dreq.remote_qpn = 0x212;
	inject(SIDE_B, &msg);
	assert_int_equal(cm_id_state(b), CM_ESTABLISHED);
	msg.dreq.remote_qpn = 0x211;
	inject(SIDE_B, &msg);
	assert_int_equal(cm_id_state(b), CM_TIMEWAIT);
}

/* 12.9.8.4: whoever wants to disconnect what we do not know is answered. */
static void test_dreq_for_unknown(void **state)
{
	struct wire_cm_msg msg = {.type = WIRE_CM_DREQ, .tid = 9};

	(void)state;
	msg.dreq.local_comm_id = 77;
	msg.dreq.remote_comm_id = 88;
	inject(SIDE_B, &msg);
	last_sent(&msg);
	assert_int_equal(msg.type, WIRE_CM_DREP);
	assert_int_equal(msg.tid, 9);
	assert_int_equal(msg.drep.local_comm_id, 88);
	assert_int_equal(msg.drep.remote_comm_id, 77);
}

static void test_table_full(void **state)
{
	struct cm *cm = w->node[SIDE_A].cm;
	struct cm_id *ids[8];
	struct cm_id *a;
	unsigned int i;

	(void)state;
	for (i = 0; i < 8; i++) {
		ids[i] = cm_id_create(cm, NULL);
		assert_non_null(ids[i]);
	}
	assert_null(cm_id_create(cm, NULL));
	for (i = 0; i < 8; i++)
		cm_id_destroy(cm, ids[i], w->now_ns);
	/* Connections to a dead peer that nobody owns any more do not keep new ones out. */
	world_listen(w, SIDE_B, 0);
	for (i = 0; i < 4; i++)
		world_connect(w, &ids[i], NULL);
	w->cut = true;
	for (i = 0; i < 4; i++)
		cm_id_destroy(cm, ids[i], w->now_ns);
	assert_int_equal(world_stats(w, SIDE_A).orphans, 4);
	for (i = 0; i < 8; i++) {
		a = cm_id_create(cm, NULL);
		assert_non_null(a);
	}
	assert_int_equal(world_stats(w, SIDE_A).orphans, 0);
	assert_int_equal(cm_next_ns(cm), UINT64_MAX);
	assert_null(cm_id_create(cm, NULL));
}

/* Calls that do not fit the state or are too long. */
static void test_bad_calls(void **state)
{
	static const uint8_t data[256];
	struct cm *cm = w->node[SIDE_A].cm;
	struct cm_accept_params accept = {.qpn = 2};
	struct cm_sidr_rep_params sidr = {0};
	struct cm_connect_params good;
	struct cm_connect_params params;
	struct cm_qp_params qp;
	struct cm_id *id = cm_id_create(cm, NULL);
	struct cm_id *other = cm_id_create(cm, NULL);
	uint64_t now_ns = w->now_ns;

	(void)state;
	assert_int_equal(cm_accept(cm, id, &accept, now_ns), -EINVAL);
	assert_int_equal(cm_reject(cm, id, 28, NULL, 0, now_ns), -EINVAL);
	assert_int_equal(cm_establish(cm, id, NULL, 0, now_ns), -EINVAL);
	assert_int_equal(cm_comm_established(cm, id, now_ns), -EINVAL);
	assert_int_equal(cm_disconnect(cm, id, NULL, 0, now_ns), -EINVAL);
	assert_int_equal(cm_mra(cm, id, 1, now_ns), -EINVAL);
	assert_int_equal(cm_sidr_rep(cm, id, &sidr, now_ns), -EINVAL);
	assert_int_equal(cm_id_qp_params(id, &qp), -EINVAL);
	world_params(w, SIDE_A, &good);
	good.private_data = data;
#define EXPECT_REFUSED(field, value)                                                               \
	do {                                                                                       \
		params = good;                                                                     \
		params.field = (value);                                                            \
		assert_int_equal(cm_connect(cm, id, &params, now_ns), -EINVAL);                    \
	} while (0)
	EXPECT_REFUSED(private_bytes, CM_REQ_PRIVATE_BYTES - CM_HELLO_BYTES + 1);
	EXPECT_REFUSED(private_data, NULL);
	EXPECT_REFUSED(path_mtu, 0);
	EXPECT_REFUSED(path_mtu, 6);
	EXPECT_REFUSED(qp_type, 2);
	EXPECT_REFUSED(retry_count, 8);
	EXPECT_REFUSED(rnr_retry_count, 8);
	EXPECT_REFUSED(qpn, 1);
	EXPECT_REFUSED(qpn, 0x1000000);
	EXPECT_REFUSED(starting_psn, 0x1000000);
	EXPECT_REFUSED(hello.present, false);
	EXPECT_REFUSED(service_id, 0x1234);
#undef EXPECT_REFUSED
	assert_int_equal(w->node[SIDE_A].sent[WIRE_CM_REQ], 0);
	assert_int_equal(cm_connect(cm, id, &good, now_ns), 0);
	assert_int_equal(cm_connect(cm, id, &good, now_ns), -EINVAL);
	assert_int_equal(cm_listen(cm, id, SERVICE, NULL, NULL, 0), -EINVAL);
	assert_int_equal(cm_listen(cm, other, SERVICE, NULL, NULL, 0), 0);
	id = cm_id_create(cm, NULL);
	assert_int_equal(cm_listen(cm, id, SERVICE, NULL, NULL, 0), -EADDRINUSE);
	assert_int_equal(cm_listen(cm, id, SERVICE, &w->node[SIDE_A].addr, NULL, 0), 0);
}

/* Of two listeners the one that names the address wins. */
static void test_listener_choice(void **state)
{
	struct cm *cm = w->node[SIDE_B].cm;
	struct cm_id *any = world_listen(w, SIDE_B, 0);
	struct cm_id *exact = cm_id_create(cm, NULL);
	struct cm_id *other_dev = cm_id_create(cm, NULL);
	struct cm_id *a;

	(void)state;
	assert_int_equal(cm_listen(cm, exact, SERVICE, &w->node[SIDE_B].addr, NULL, 0), 0);
	assert_int_equal(cm_listen(cm, other_dev, SERVICE, &w->node[SIDE_B].addr, w, 0), 0);
	world_connect(w, &a, NULL);
	assert_ptr_equal(world_last(w, SIDE_B, CM_EVENT_CONNECT_REQUEST)->ev.listener, exact);
	cm_id_destroy(cm, exact, w->now_ns);
	world_connect(w, &a, NULL);
	assert_ptr_equal(world_last(w, SIDE_B, CM_EVENT_CONNECT_REQUEST)->ev.listener, any);
}

/* Random bytes, and good messages with random bytes changed, in all states: nothing grows, nothing
 * breaks, and a connection can be made at the end. */
static void test_garbage(void **state)
{
	struct wire_cm_msg req;
	uint8_t mad[CM_MAD_BYTES];
	uint64_t seed = 1;
	unsigned int i;
	unsigned int k;
	struct cm_id *a;

	(void)state;
	world_listen(w, SIDE_B, 0);
	for (i = 0; i < 20000; i++) {
		good_req(&req, i % 7);
		req.type = (enum wire_cm_type)(WIRE_CM_REQ + world_random(&seed) % 12);
		if (req.type > WIRE_CM_APR)
			req.type = WIRE_CM_REQ;
		wire_cm_encode(&req, mad);
		for (k = world_random(&seed) % 4; k > 0; k--)
			mad[world_random(&seed) % CM_MAD_BYTES] = (uint8_t)world_random(&seed);
		if (i % 16 == 0)
			for (k = 24; k < CM_MAD_BYTES; k++)
				mad[k] = (uint8_t)world_random(&seed);
		w->node[SIDE_B].on_req = (enum req_mode)(world_random(&seed) % 4);
		w->node[SIDE_B].n_seen = 0;
		w->node[SIDE_B].n_news = 0;
		world_inject(w, SIDE_B, mad);
		if (w->node[SIDE_B].n_seen && w->node[SIDE_B].on_req != REQ_DESTROY &&
			w->node[SIDE_B].seen[0].ev.type == CM_EVENT_CONNECT_REQUEST)
			cm_id_destroy(w->node[SIDE_B].cm, w->node[SIDE_B].last_new, w->now_ns);
		else if (w->node[SIDE_B].n_seen &&
			 w->node[SIDE_B].seen[0].ev.type == CM_EVENT_SIDR_REQUEST)
			cm_id_destroy(w->node[SIDE_B].cm, w->node[SIDE_B].last_new, w->now_ns);
		w->head = w->tail;
	}
	assert_int_equal(world_stats(w, SIDE_B).ids, 1);
	assert_int_equal(world_stats(w, SIDE_B).half_open, 0);
	assert_int_equal(world_stats(w, SIDE_B).rx_mads, 20000);
	w->node[SIDE_B].on_req = REQ_ACCEPT;
	w->node[SIDE_B].n_seen = 0;
	world_connect(w, &a, NULL);
	assert_int_equal(cm_id_state(a), CM_ESTABLISHED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bad_reqs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short_and_foreign_mads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_backlog, setup, teardown),
		cmocka_unit_test_setup_teardown(test_half_open_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_listener_destroyed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_listener_place_reused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spoofed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dreq_for_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_table_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_listener_choice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_garbage, setup, teardown),
	};

	return cmocka_run_group_tests_name("cm-hostile", tests, NULL, NULL);
}
