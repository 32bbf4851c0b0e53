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
	/* Each side sends from the PSN the other named, and the depths are crossed and cut (12.7.9, 12.7.11). */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_handshake, setup, teardown),
	};

	return cmocka_run_group_tests_name("cm-connect", tests, NULL, NULL);
}
