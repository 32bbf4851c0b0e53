/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues through the client contract (IBTA vol. 1, 10.2.9): receives for several queue
 * pairs, the limit event, the end of a queue pair, and clients that lie about their indices.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "world.h"

#define BUF    4096
#define COOKIE 0x5e0u

/* A client with a shared queue and two queue pairs on it, and their peers at another worker. */
struct scene {
	struct wx_world *w;
	struct wx_client c, peer;
	uint32_t pd, key, peer_pd;
	struct wx_cq cq, peer_cq;
	struct wx_srq srq;
	struct wx_qp qp[2], peer_qp[2];
	uint8_t buf[BUF];
};

static void make_qp_on(struct scene *s, const struct wx_srq *srq, enum ibv_qp_type type, struct wx_qp *qp)
{
	struct vc_request request;

	wx_create_qp_request(s->pd, &s->cq, 16, &request);
	request.create_qp.type = type;
	request.create_qp.srq = srq->handle;
	wx_make_qp_as(&s->c, &request, qp);
}

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->w = wx_new(&(struct vd_limits){.max_srqs = 2, .max_srq_wr = 64});
	wx_connect(s->w, &s->c);
	wx_hello(&s->c);
	s->pd = wx_pd(&s->c);
	s->key = wx_mr(&s->c, s->pd, s->buf, BUF, NULL);
	wx_make_cq(&s->c, 64, 0, 0, &s->cq);
	wx_make_srq(&s->c, s->pd, 16, COOKIE, &s->srq);
	wx_connect(s->w, &s->peer);
	wx_hello(&s->peer);
	s->peer_pd = wx_pd(&s->peer);
	wx_make_cq(&s->peer, 64, 0, 0, &s->peer_cq);
	for (int i = 0; i < 2; i++) {
		make_qp_on(s, &s->srq, IBV_QPT_RC, &s->qp[i]);
		wx_make_qp(&s->peer, s->peer_pd, &s->peer_cq, 16, &s->peer_qp[i]);
		wx_up(&s->qp[i], s->peer_qp[i].qpn);
		wx_up(&s->peer_qp[i], s->qp[i].qpn);
	}
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	wx_close(&s->c);
	wx_close(&s->peer);
	wx_expect_empty(s->w);
	wx_free(s->w);
	free(s);
	return 0;
}

static void post(struct scene *s, uint64_t wr_id)
{
	const struct tp_sge sge = {(uintptr_t)s->buf, BUF, s->key};

	wx_post_srq(&s->srq, wr_id, 1, &sge);
}

/* Five bytes from the i-th peer. */
static void send_from(struct scene *s, int i)
{
	const struct tp_send_wqe wqe = {.wr_id = 1,
		.opcode = TP_WR_SEND,
		.flags = TP_SEND_INLINE | TP_SEND_SIGNALED,
		.inline_bytes = 5};

	wx_post(&s->peer_qp[i], &wqe, NULL, "hello");
	wx_pump(s->w);
}

static void expect(struct wx_cq *cq, uint64_t wr_id, enum tp_wc_status status, uint32_t qpn)
{
	const struct tp_cqe *cqe = wx_poll(cq);

	assert_non_null(cqe);
	assert_int_equal(cqe->wr_id, wr_id);
	assert_int_equal(cqe->status, status);
	assert_int_equal(cqe->qpn, qpn);
}

static void expect_event(struct scene *s, enum ibv_event_type type, uint64_t cookie)
{
	struct vc_async_msg msg = {0};

	assert_int_equal(recv(s->c.async_fd, &msg, sizeof(msg), MSG_DONTWAIT), sizeof(msg));
	assert_int_equal(msg.type, type);
	assert_int_equal(msg.cookie, cookie);
}

static void expect_no_event(struct scene *s)
{
	struct vc_async_msg msg;

	assert_int_equal(recv(s->c.async_fd, &msg, sizeof(msg), MSG_DONTWAIT), -1);
}

static enum ibv_qp_state state_of(struct wx_qp *qp)
{
	struct vc_reply reply;

	assert_int_equal(wx_object(qp->c, VC_QUERY_QP, qp->handle, &reply), 0);
	return reply.qp_attr.state;
}

static void receives_serve_any_queue_pair(void **state)
{
	struct scene *s = *state;

	for (uint64_t i = 0; i < 3; i++)
		post(s, 10 + i);
	send_from(s, 1);
	send_from(s, 0);
	send_from(s, 1);
	expect(&s->cq, 10, TP_WC_SUCCESS, s->qp[1].qpn);
	expect(&s->cq, 11, TP_WC_SUCCESS, s->qp[0].qpn);
	expect(&s->cq, 12, TP_WC_SUCCESS, s->qp[1].qpn);
	assert_memory_equal(s->buf, "hello", 5);
	assert_int_equal(s->srq.ring->cons, 3);
}

/* With nothing posted the peer waits (RNR NAK); the queue needs no bell for the next try. */
static void an_empty_queue_makes_the_peer_wait(void **state)
{
	struct scene *s = *state;

	send_from(s, 0);
	assert_null(wx_poll(&s->cq));
	assert_null(wx_poll(&s->peer_cq));
	post(s, 5);
	wx_pass(s->w, 100 * WX_MS);
	expect(&s->cq, 5, TP_WC_SUCCESS, s->qp[0].qpn);
	expect(&s->peer_cq, 1, TP_WC_SUCCESS, s->peer_qp[0].qpn);
}

static void datagrams_take_from_it_too(void **state)
{
	struct scene *s = *state;
	struct wx_qp ud, from;
	struct tp_send_wqe wqe = {.opcode = TP_WR_SEND, .flags = TP_SEND_INLINE, .inline_bytes = 5};

	make_qp_on(s, &s->srq, IBV_QPT_UD, &ud);
	wx_make_qp_of(&s->peer, s->peer_pd, &s->peer_cq, IBV_QPT_UD, &from);
	wx_up(&ud, 0);
	wx_up(&from, 0);
	wx_make_ah(&s->peer, s->peer_pd, 0, NULL, &wqe.ud.ah);
	wqe.ud.qpn = ud.qpn;
	wqe.ud.qkey = WX_QKEY;
	post(s, 8);
	wx_post(&from, &wqe, NULL, "hello");
	wx_pump(s->w);
	expect(&s->cq, 8, TP_WC_SUCCESS, ud.qpn);
	assert_memory_equal(s->buf + 40, "hello", 5);
}

/* 10.2.9.1: the limit is told once, when fewer than that are posted, and has to be armed again. */
static void limit_is_told_once(void **state)
{
	struct scene *s = *state;
	struct vc_reply reply;

	for (uint64_t i = 0; i < 4; i++)
		post(s, i);
	assert_int_equal(wx_srq_limit(&s->srq, 3), 0);
	assert_int_equal(wx_object(&s->c, VC_QUERY_SRQ, s->srq.handle, &reply), 0);
	assert_int_equal(reply.srq.limit, 3);
	assert_int_equal(reply.srq.depth, 16);
	assert_int_equal(reply.srq.max_sge, 2);
	send_from(s, 0);
	expect_no_event(s);
	send_from(s, 0);
	expect_event(s, IBV_EVENT_SRQ_LIMIT_REACHED, COOKIE);
	send_from(s, 0);
	expect_no_event(s);
	assert_int_equal(wx_object(&s->c, VC_QUERY_SRQ, s->srq.handle, &reply), 0);
	assert_int_equal(reply.srq.limit, 0);
	/* At once when it is so already; 0 disarms. */
	assert_int_equal(wx_srq_limit(&s->srq, 2), 0);
	expect_event(s, IBV_EVENT_SRQ_LIMIT_REACHED, COOKIE);
	assert_int_equal(wx_srq_limit(&s->srq, 1), 0);
	assert_int_equal(wx_srq_limit(&s->srq, 0), 0);
	send_from(s, 0);
	expect_no_event(s);
}

/* 10.3.1, 11.6.3.2: a queue pair in error takes nothing more; what is posted stays for the others. */
static void last_work_request_is_told(void **state)
{
	struct scene *s = *state;
	struct vc_qp_attr attr = {.mask = IBV_QP_STATE, .state = IBV_QPS_ERR};

	post(s, 1);
	assert_int_equal(wx_modify(&s->qp[0], &attr), 0);
	wx_pump(s->w);
	expect_event(s, IBV_EVENT_QP_LAST_WQE_REACHED, 0xc00c1e);
	assert_null(wx_poll(&s->cq));
	send_from(s, 1);
	expect(&s->cq, 1, TP_WC_SUCCESS, s->qp[1].qpn);
}

static void reset_leaves_the_queue_alone(void **state)
{
	struct scene *s = *state;
	struct vc_qp_attr attr = {.mask = IBV_QP_STATE, .state = IBV_QPS_RESET};

	post(s, 1);
	assert_int_equal(wx_modify(&s->qp[0], &attr), 0);
	assert_int_equal(s->srq.ring->cons, 0);
	send_from(s, 1);
	expect(&s->cq, 1, TP_WC_SUCCESS, s->qp[1].qpn);
}

static void in_use_it_stays(void **state)
{
	struct scene *s = *state;

	assert_int_equal(wx_object(&s->c, VC_DESTROY_SRQ, s->srq.handle, NULL), -EBUSY);
	assert_int_equal(wx_object(&s->c, VC_DESTROY_QP, s->qp[0].handle, NULL), 0);
	assert_int_equal(wx_object(&s->c, VC_DESTROY_SRQ, s->srq.handle, NULL), -EBUSY);
	assert_int_equal(wx_object(&s->c, VC_DESTROY_QP, s->qp[1].handle, NULL), 0);
	assert_int_equal(wx_object(&s->c, VC_DESTROY_SRQ, s->srq.handle, NULL), 0);
	assert_int_equal(wx_object(&s->c, VC_DESTROY_SRQ, s->srq.handle, NULL), -EINVAL);
	assert_int_equal(wx_object(&s->c, VC_QUERY_SRQ, s->srq.handle, NULL), -EINVAL);
}

static int create(struct scene *s, uint32_t pd, uint32_t max_wr, uint32_t max_sge)
{
	struct vc_request request = {
		.op = VC_CREATE_SRQ, .create_srq = {.pd = pd, .max_wr = max_wr, .max_sge = max_sge}};

	return wx_call(&s->c, &request, NULL);
}

static void bad_requests(void **state)
{
	struct scene *s = *state;
	struct vc_request request = {.op = VC_MODIFY_SRQ, .modify_srq = {.handle = s->srq.handle}};
	struct vd_stats before, after;

	wx_stats(s->w, &before);
	assert_int_equal(create(s, 0, 4, 1), -EINVAL);
	assert_int_equal(create(s, s->pd, 65, 1), -EINVAL);
	assert_int_equal(create(s, s->pd, UINT32_MAX, 1), -EINVAL);
	assert_int_equal(create(s, s->pd, 4, TP_MAX_SGE + 1), -EINVAL);
	assert_int_equal(create(s, s->pd, 4, UINT32_MAX), -EINVAL);
	assert_int_equal(wx_srq_limit(&s->srq, 17), -EINVAL);
	request.modify_srq.mask = IBV_SRQ_MAX_WR; /* to none, and to more than the limit */
	assert_int_equal(wx_call(&s->c, &request, NULL), -EINVAL);
	request.modify_srq.max_wr = 65;
	assert_int_equal(wx_call(&s->c, &request, NULL), -EINVAL);
	request.modify_srq.mask = 4;
	assert_int_equal(wx_call(&s->c, &request, NULL), -EINVAL);
	wx_create_qp_request(s->pd, &s->cq, 4, &request);
	request.create_qp.srq = s->srq.handle + 0x10000;
	assert_int_equal(wx_call(&s->c, &request, NULL), -EINVAL);
	wx_stats(s->w, &after);
	assert_int_equal(after.shm_bytes_used, before.shm_bytes_used);
	assert_int_equal(after.srqs, 1);
	assert_int_equal(after.qps, before.qps);
	/* max_srqs is 2 here. */
	assert_int_equal(create(s, s->pd, 0, 0), 0);
	assert_int_equal(create(s, s->pd, 0, 0), -ENOMEM);
}

static int resize(struct scene *s, uint32_t max_wr, uint32_t mask, uint32_t limit)
{
	struct vc_request request = {.op = VC_MODIFY_SRQ,
		.modify_srq = {.handle = s->srq.handle, .mask = mask, .max_wr = max_wr, .limit = limit}};
	struct vc_reply reply;
	int err = wx_call(&s->c, &request, &reply);

	if (err != 0)
		return err;
	s->srq.depth = reply.srq.depth;
	s->srq.ring = (struct vc_queue *)((uint8_t *)s->c.shm + reply.srq.offset);
	assert_int_equal(s->srq.ring->prod, s->srq.prod);
	return 0;
}

/* 11.2.3.2: what is posted stays posted, in order, and no queue is made too small for it or for its limit. */
static void resized_it_keeps_what_is_posted(void **state)
{
	struct scene *s = *state;
	uint64_t next = 0, taken = 0;

	for (uint32_t i = 0; i < 21; i++) {
		/* Not at the start of the ring. */
		post(s, next++);
		send_from(s, 0);
		expect(&s->cq, taken++, TP_WC_SUCCESS, s->qp[0].qpn);
		assert_non_null(wx_poll(&s->peer_cq));
	}
	while (next - taken < 10)
		post(s, next++);
	assert_int_equal(resize(s, 33, IBV_SRQ_MAX_WR, 0), 0);
	assert_int_equal(s->srq.depth, 64);
	while (next - taken < 64)
		post(s, next++);
	assert_int_equal(resize(s, 32, IBV_SRQ_MAX_WR, 0), -EINVAL);
	while (next - taken > 6) {
		send_from(s, 1);
		expect(&s->cq, taken++, TP_WC_SUCCESS, s->qp[1].qpn);
		assert_non_null(wx_poll(&s->peer_cq));
	}
	assert_int_equal(resize(s, 8, IBV_SRQ_MAX_WR, 0), 0);
	while (next != taken) {
		send_from(s, 0);
		expect(&s->cq, taken++, TP_WC_SUCCESS, s->qp[0].qpn);
	}
	assert_null(wx_poll(&s->cq));
}

static void resized_with_a_limit(void **state)
{
	struct scene *s = *state;
	struct vd_stats before, after;

	for (uint64_t i = 0; i < 10; i++)
		post(s, i);
	assert_int_equal(wx_srq_limit(&s->srq, 9), 0);
	wx_stats(s->w, &before);
	assert_int_equal(resize(s, 8, IBV_SRQ_MAX_WR, 0), -EINVAL); /* below the posted, and the armed */
	assert_int_equal(resize(s, 8, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 9), -EINVAL);
	wx_stats(s->w, &after);
	assert_int_equal(after.shm_bytes_used, before.shm_bytes_used);
	expect_no_event(s);
	/* Both at once: the new limit is what counts. */
	assert_int_equal(resize(s, 64, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 10), 0);
	expect_no_event(s);
	send_from(s, 0);
	expect_event(s, IBV_EVENT_SRQ_LIMIT_REACHED, COOKIE);
}

/* Its queue pairs end in error when they need something of it, and nobody else does. */
static void impossible_index_ends_the_queue(void **state)
{
	struct scene *s = *state;
	struct vd_stats stats;

	s->srq.ring->prod = 17;
	send_from(s, 0);
	expect_event(s, IBV_EVENT_SRQ_ERR, COOKIE);
	assert_int_equal(state_of(&s->qp[0]), IBV_QPS_ERR);
	assert_int_equal(state_of(&s->qp[1]), IBV_QPS_RTS);
	/* Taking it back does not help. */
	s->srq.ring->prod = 1;
	send_from(s, 1);
	assert_int_equal(state_of(&s->qp[1]), IBV_QPS_ERR);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.bad_indices, 1);
	expect(&s->peer_cq, 1, TP_WC_REM_OP_ERR, s->peer_qp[0].qpn);
}

static void impossible_index_seen_by_the_limit(void **state)
{
	struct scene *s = *state;

	s->srq.ring->prod = UINT32_MAX;
	assert_int_equal(wx_srq_limit(&s->srq, 4), 0);
	expect_event(s, IBV_EVENT_SRQ_ERR, COOKIE);
	send_from(s, 0);
	assert_int_equal(state_of(&s->qp[0]), IBV_QPS_ERR);
}

static void malformed_work_request_ends_its_queue_pair(void **state)
{
	struct scene *s = *state;
	struct vd_stats stats;

	wx_post_srq(&s->srq, 77, 3, NULL); /* 2 at most */
	post(s, 78);
	send_from(s, 0);
	expect(&s->cq, 77, TP_WC_LOC_QP_OP_ERR, s->qp[0].qpn);
	assert_int_equal(state_of(&s->qp[0]), IBV_QPS_ERR);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.bad_wqes, 1);
	send_from(s, 1);
	expect(&s->cq, 78, TP_WC_SUCCESS, s->qp[1].qpn);
}

static void device_tells_its_limits(void **state)
{
	struct scene *s = *state;

	assert_int_equal(s->c.attr.max_srq, 2);
	assert_int_equal(s->c.attr.max_srq_wr, 64);
	assert_int_equal(s->c.attr.max_srq_sge, TP_MAX_SGE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(receives_serve_any_queue_pair),
		TEST(an_empty_queue_makes_the_peer_wait),
		TEST(datagrams_take_from_it_too),
		TEST(limit_is_told_once),
		TEST(last_work_request_is_told),
		TEST(reset_leaves_the_queue_alone),
		TEST(in_use_it_stays),
		TEST(bad_requests),
		TEST(resized_it_keeps_what_is_posted),
		TEST(resized_with_a_limit),
		TEST(impossible_index_ends_the_queue),
		TEST(impossible_index_seen_by_the_limit),
		TEST(malformed_work_request_ends_its_queue_pair),
		TEST(device_tells_its_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
