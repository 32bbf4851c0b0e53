/* SPDX-License-Identifier: BSD-3-Clause */
#include "env.h"

void env_to_state(struct ibv_qp *qp, enum ibv_qp_state state, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = {.qp_state = state, .dest_qp_num = dest_qpn, .port_num = 1};

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | (dest_qpn != 0 ? IBV_QP_DEST_QPN : 0)), 0);
	assert_int_equal(qp->state, state);
}

static struct ibv_qp *make_qp(struct env *env)
{
	struct ibv_qp_init_attr attr = {.send_cq = env->cq, .recv_cq = env->cq, .qp_type = IBV_QPT_RC,
		.cap = {ENV_SQ_DEPTH, ENV_RQ_DEPTH, 2, 2, FAKE_INLINE}};
	struct ibv_qp *qp = ibv_create_qp(env->pd, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_send_wr, ENV_SQ_DEPTH);
	assert_int_equal(qp->state, IBV_QPS_RESET);
	return qp;
}

int env_setup(void **state)
{
	struct env *env = calloc(1, sizeof(*env));
	struct ibv_device **list;

	env->fake = fake_start();
	list = ibv_get_device_list(NULL);
	env->context = ibv_open_device(list[0]);
	assert_non_null(env->context);
	ibv_free_device_list(list);
	env->pd = ibv_alloc_pd(env->context);
	env->mr = ibv_reg_mr(env->pd, env->buf, sizeof(env->buf), IBV_ACCESS_LOCAL_WRITE);
	env->channel = ibv_create_comp_channel(env->context);
	env->cq = ibv_create_cq(env->context, 32, env, env->channel, 0);
	assert_non_null(env->cq);
	env->a = make_qp(env);
	env->b = make_qp(env);
	for (int s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++) {
		env_to_state(env->a, s, env->b->qp_num);
		env_to_state(env->b, s, env->a->qp_num);
	}
	*state = env;
	return 0;
}

int env_teardown(void **state)
{
	struct env *env = *state;

	if (env->a != NULL)
		assert_int_equal(ibv_destroy_qp(env->a), 0);
	if (env->b != NULL)
		assert_int_equal(ibv_destroy_qp(env->b), 0);
	assert_int_equal(ibv_destroy_cq(env->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(env->channel), 0);
	assert_int_equal(ibv_dereg_mr(env->mr), 0);
	assert_int_equal(ibv_dealloc_pd(env->pd), 0);
	if (env->fake != NULL)
		assert_int_equal(fake_objects(env->fake), 0);
	assert_int_equal(ibv_close_device(env->context), 0);
	if (env->fake != NULL)
		fake_stop(env->fake);
	free(env);
	return 0;
}

int env_post_recv(struct env *env, struct ibv_qp *qp, uint64_t wr_id, uint32_t offset)
{
	struct ibv_sge sge = {(uintptr_t)env->buf + offset, 8, env->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

void env_poll(struct ibv_cq *cq, struct ibv_wc *wc, int n)
{
	int got, have = 0;

	for (int i = 0; i < 5000 && have < n; i++) {
		got = ibv_poll_cq(cq, n - have, wc + have);
		assert_true(got >= 0);
		have += got;
		if (got == 0)
			usleep(1000);
	}
	assert_int_equal(have, n);
}

void env_exchange(struct env *env, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t word = 0x1122334455660000ull + i;
		struct ibv_sge sge = {(uintptr_t)&word, 8, 0};
		struct ibv_send_wr wr = {.wr_id = 1000 + i, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED | (i % 2 != 0 ? IBV_SEND_INLINE : 0)}, *bad;
		struct ibv_wc wc[2];

		memset(env->buf, 0, 8);
		assert_int_equal(env_post_recv(env, env->b, i, 0), 0);
		assert_int_equal(ibv_post_send(env->a, &wr, &bad), 0);
		env_poll(env->cq, wc, 2); /* the receiver's comes first */
		assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
		assert_int_equal(wc[0].opcode, IBV_WC_RECV);
		assert_int_equal(wc[0].wr_id, i);
		assert_int_equal(wc[0].qp_num, env->b->qp_num);
		assert_int_equal(wc[0].src_qp, env->a->qp_num);
		assert_int_equal(wc[0].byte_len, 8);
		assert_int_equal(wc[1].opcode, IBV_WC_SEND);
		assert_int_equal(wc[1].wr_id, 1000 + i);
		assert_memory_equal(env->buf, &word, 8);
	}
}
