/* SPDX-License-Identifier: BSD-3-Clause */
/* XRC and resized shared receive queues in the drop-in libibverbs (IBTA vol. 1, annex A14 and 11.2.3.2). */
#include <fcntl.h>

#include "env.h"

static struct ibv_xrcd *open_xrcd(struct env *env, int fd)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = fd, .oflags = O_CREAT};

	return ibv_open_xrcd(env->context, &attr);
}

static struct ibv_qp *make_target(struct env *env, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};

	return ibv_create_qp_ex(env->context, &attr);
}

static struct ibv_qp *make_initiator(struct env *env, uint64_t calls)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = env->cq,
		.cap = {.max_send_wr = 4, .max_send_sge = 2},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = env->pd,
		.send_ops_flags = calls,
	};

	return ibv_create_qp_ex(env->context, &attr);
}

/* To RTS; the fake daemon looks at no other attributes. */
static void bring_up(struct ibv_qp *qp)
{
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		env_to_state(qp, state, 1);
}

static void test_domain(void **state)
{
	struct env *env = *state;
	struct ibv_xrcd_init_attr attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = -1};
	struct ibv_xrcd *xrcd;

	assert_null(ibv_open_xrcd(env->context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask |= IBV_XRCD_INIT_ATTR_OFLAGS;
	attr.oflags = O_CREAT | O_APPEND;
	assert_null(ibv_open_xrcd(env->context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask |= 1u << 30;
	assert_null(ibv_open_xrcd(env->context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	xrcd = open_xrcd(env, 7);
	assert_non_null(xrcd);
	assert_ptr_equal(xrcd->context, env->context);
	assert_int_equal(env->fake->xrcd_fd, 7); /* the daemon finds the file */
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

static void test_srq_number(void **state)
{
	struct env *env = *state;
	struct ibv_xrcd *xrcd = open_xrcd(env, -1);
	struct ibv_srq_init_attr_ex attr = {.attr = {.max_wr = 4, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
			IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = env->pd,
		.xrcd = xrcd};
	struct ibv_srq *srq;
	uint32_t number;

	assert_null(ibv_create_srq_ex(env->context, &attr)); /* with no CQ */
	assert_int_equal(errno, EINVAL);
	attr.cq = env->cq;
	srq = ibv_create_srq_ex(env->context, &attr);
	assert_non_null(srq);
	assert_int_equal(ibv_get_srq_num(srq, &number), 0);
	assert_in_range(number, 0x500, 0x500 + FAKE_MAX);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

/* A target has no queues and no CQ; another handle has its number. */
static void test_target(void **state)
{
	struct env *env = *state;
	struct ibv_xrcd *xrcd = open_xrcd(env, -1);
	struct ibv_qp *qp = make_target(env, xrcd), *again;
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV};
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad_send;
	struct ibv_recv_wr recv = {0}, *bad_recv;

	assert_non_null(qp);
	assert_null(qp->send_cq);
	assert_null(qp->recv_cq);
	bring_up(qp);
	assert_int_equal(ibv_post_send(qp, &send, &bad_send), EINVAL);
	assert_int_equal(ibv_post_recv(qp, &recv, &bad_recv), EINVAL);
	open.qp_num = qp->qp_num + 100;
	assert_null(ibv_open_qp(env->context, &open));
	open.qp_num = qp->qp_num;
	again = ibv_open_qp(env->context, &open);
	assert_non_null(again);
	assert_int_equal(again->qp_num, qp->qp_num);
	open.qp_type = IBV_QPT_RC;
	assert_null(ibv_open_qp(env->context, &open));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_qp(again), 0);
	assert_null(make_target(env, NULL));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

/* Both ways to post carry the number of the peer's queue. */
static void test_initiator(void **state)
{
	struct env *env = *state;
	struct ibv_qp *qp = make_initiator(env, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ);
	struct ibv_send_wr send = {.wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad_send;
	struct ibv_recv_wr recv = {0}, *bad_recv;
	struct ibv_qp_ex *ex = NULL;
	struct ibv_wc wc;

	assert_non_null(qp);
	assert_null(qp->recv_cq);
	bring_up(qp);
	assert_int_equal(ibv_post_recv(qp, &recv, &bad_recv), EINVAL);
	send.qp_type.xrc.remote_srqn = 0x123;
	assert_int_equal(ibv_post_send(qp, &send, &bad_send), 0);
	env_poll(env->cq, &wc, 1);
	assert_int_equal(env->fake->srqn, 0x123);
	ex = ibv_qp_to_qp_ex(qp);
	assert_non_null(ex);
	assert_null(ex->wr_set_ud_addr);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, 0x456);
	ibv_wr_set_sge(ex, env->mr->lkey, (uintptr_t)env->buf, 8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	env_poll(env->cq, &wc, 1);
	assert_int_equal(env->fake->srqn, 0x456);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static int post_srq(struct ibv_srq *srq, uint64_t wr_id)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id}, *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

/* What was posted is there afterwards, and as much more as the new queue has room for. */
static void test_resize(void **state)
{
	struct env *env = *state;
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(env->pd, &init);
	struct ibv_srq_attr attr = {.max_wr = 16};

	assert_non_null(srq);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(post_srq(srq, i), 0);
	assert_int_equal(post_srq(srq, 4), ENOMEM);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	for (uint64_t i = 4; i < 16; i++)
		assert_int_equal(post_srq(srq, i), 0);
	assert_int_equal(post_srq(srq, 16), ENOMEM);
	attr.max_wr = 8;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, 16);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, env_setup, env_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_domain),
		TEST(test_srq_number),
		TEST(test_target),
		TEST(test_initiator),
		TEST(test_resize),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
