/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows and invalidation (IB 10.6.7, 11.4.1.1): what reaches the daemon, and what comes back. */
#include "env.h"

static struct ibv_mw_bind_info whole(struct env *env)
{
	return (struct ibv_mw_bind_info){.mr = env->mr,
		.addr = (uintptr_t)env->buf + 16,
		.length = 100,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED};
}

/* IB 10.6.7.2.3: binding gives a type 1 window a new key, of the same index. */
static void test_type_1(void **state)
{
	struct env *env = *state;
	struct ibv_mw *mw = ibv_alloc_mw(env->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {.wr_id = 3, .send_flags = IBV_SEND_SIGNALED, .bind_info = whole(env)};
	const struct tp_send_wqe *got = &env->fake->key_work;
	uint32_t first;
	struct ibv_wc wc;

	assert_non_null(mw);
	assert_int_equal(mw->type, IBV_MW_TYPE_1);
	first = mw->rkey;
	assert_int_equal(ibv_bind_mw(env->a, mw, &bind), 0);
	assert_int_not_equal(mw->rkey, first);
	assert_int_equal(mw->rkey >> 8, first >> 8);
	env_poll(env->cq, &wc, 1);
	assert_int_equal(wc.wr_id, 3);
	assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
	assert_int_equal(got->rkey, mw->rkey);
	assert_int_equal(got->remote_addr, (uintptr_t)env->buf + 16);
	assert_int_equal(got->bind.bytes, 100);
	assert_int_equal(got->bind.mr_key, env->mr->lkey);
	assert_int_equal(got->bind.access, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED);
	bind.bind_info = (struct ibv_mw_bind_info){0}; /* bound to nothing */
	assert_int_equal(ibv_bind_mw(env->a, mw, &bind), 0);
	env_poll(env->cq, &wc, 1);
	assert_int_equal(got->bind.bytes, 0);
	bind.send_flags = IBV_SEND_INLINE;
	assert_int_equal(ibv_bind_mw(env->a, mw, &bind), EINVAL);
	bind.send_flags = 0;
	bind.bind_info = whole(env);
	bind.bind_info.mw_access_flags = IBV_ACCESS_MW_BIND; /* not a right that a window gives */
	assert_int_equal(ibv_bind_mw(env->a, mw, &bind), EINVAL);
	/* A window gives remote rights only. */
	bind.send_flags = IBV_SEND_SIGNALED;
	bind.bind_info.mw_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	assert_int_equal(ibv_bind_mw(env->a, mw, &bind), 0);
	env_poll(env->cq, &wc, 1);
	assert_int_equal(got->bind.access, IBV_ACCESS_REMOTE_READ);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* IB 10.6.7.2.2: a type 2 window is bound by a posted request, whose key the program chooses. */
static void test_type_2(void **state)
{
	struct env *env = *state;
	struct ibv_mw *mw = ibv_alloc_mw(env->pd, IBV_MW_TYPE_2), *one = ibv_alloc_mw(env->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {.bind_info = whole(env)};
	struct ibv_send_wr wr = {.wr_id = 4, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED}, *bad;
	struct ibv_sge sge = {(uintptr_t)env->buf, 8, env->mr->lkey};
	struct ibv_wc wc[2];

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = bind.bind_info;
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), 0);
	env_poll(env->cq, wc, 1);
	assert_int_equal(wc[0].opcode, IBV_WC_BIND_MW);
	assert_int_equal(env->fake->key_work.rkey, wr.bind_mw.rkey);
	assert_int_equal(env->fake->key_work.bind.bytes, 100);
	wr.num_sge = 1;
	wr.sg_list = &sge;
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), EINVAL); /* carries no data */
	wr.num_sge = 0;
	wr.bind_mw.mw = one; /* the other type has its own call */
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), EINVAL);
	assert_int_equal(ibv_bind_mw(env->a, mw, &bind), EINVAL);
	wr.bind_mw.mw = mw;
	wr.bind_mw.bind_info.mr = NULL;
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), EINVAL);
	assert_int_equal(ibv_dealloc_mw(one), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* IB 10.6.5: a key is invalidated here by a request of its own, there by a message. */
static void test_invalidation(void **state)
{
	struct env *env = *state;
	struct ibv_send_wr wr = {.wr_id = 5,
				   .opcode = IBV_WR_LOCAL_INV,
				   .send_flags = IBV_SEND_SIGNALED,
				   .invalidate_rkey = 0x1234},
			   *bad;
	struct ibv_wc wc[2];

	assert_int_equal(ibv_post_send(env->a, &wr, &bad), 0);
	env_poll(env->cq, wc, 1);
	assert_int_equal(wc[0].opcode, IBV_WC_LOCAL_INV);
	assert_int_equal(env->fake->key_work.imm, 0x1234);
	assert_int_equal(env_post_recv(env, env->b, 6, 0), 0);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), 0);
	env_poll(env->cq, wc, 2);
	assert_int_equal(wc[0].wr_id, 6);
	assert_int_equal(wc[0].wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc[0].invalidated_rkey, 0x1234);
	assert_int_equal(wc[1].opcode, IBV_WC_SEND);
}

static struct ibv_qp_ex *make_qp(struct env *env, enum ibv_qp_type type, uint64_t flags)
{
	struct ibv_qp_init_attr_ex attr = {.send_cq = env->cq,
		.recv_cq = env->cq,
		.qp_type = type,
		.cap = {4, 4, 1, 1, 16},
		.pd = env->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = flags};
	struct ibv_qp *qp = ibv_create_qp_ex(env->context, &attr);

	return qp != NULL ? ibv_qp_to_qp_ex(qp) : NULL;
}

static void test_built_requests(void **state)
{
	struct env *env = *state;
	struct ibv_mw *mw = ibv_alloc_mw(env->pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = whole(env), nothing = {0};
	struct ibv_qp_ex *ex = make_qp(
		env, IBV_QPT_RC, IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV);
	struct ibv_wc wc[4];

	for (int s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++)
		env_to_state(&ex->qp_base, s, env->b->qp_num);
	assert_int_equal(env_post_recv(env, env->b, 6, 0), 0);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex, mw, mw->rkey + 1, &info);
	ibv_wr_send_inv(ex, 0x77);
	assert_int_equal(ibv_wr_complete(ex), 0);
	env_poll(env->cq, wc, 3);
	assert_int_equal(wc[0].opcode, IBV_WC_BIND_MW);
	assert_int_equal(env->fake->key_work.rkey, mw->rkey + 1);
	assert_int_equal(wc[1].invalidated_rkey, 0x77);
	ibv_wr_start(ex);
	ibv_wr_local_inv(ex, 0x88);
	assert_int_equal(ibv_wr_complete(ex), 0);
	env_poll(env->cq, wc, 1);
	assert_int_equal(wc[0].opcode, IBV_WC_LOCAL_INV);
	ibv_wr_start(ex);
	ibv_wr_local_inv(ex, 0x88);
	ibv_wr_set_sge(ex, 1, 8, 8); /* carries no data */
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, mw, mw->rkey + 1, &nothing);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
	assert_null(make_qp(env, IBV_QPT_UC, IBV_QP_EX_WITH_SEND_WITH_INV)); /* of reliable services */
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_type_1, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_type_2, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_invalidation, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_built_requests, env_setup, env_teardown),
	};

	fake_cap_flags = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
