/* SPDX-License-Identifier: BSD-3-Clause */
/* Domains and regions at the program's side: parent and thread domains, regions that change or come on demand, and
 * ATOMIC WRITE both ways to post it. */
#include "env.h"

#include <sys/mman.h>

#define CAP_EX_ATOMIC_WRITE (1ull << 40)

/* man ibv_alloc_parent_domain: serves as its protection domain; what it is made of outlives it. */
static void test_parent_domain(void **state)
{
	struct env *env = *state;
	struct ibv_td_init_attr td_attr = {0};
	struct ibv_td *td = ibv_alloc_td(env->context, &td_attr);
	struct ibv_pd *pd = ibv_alloc_pd(env->context), *parent;
	struct ibv_parent_domain_init_attr attr = {.pd = pd, .td = td};
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD};
	struct ibv_cq_ex *cq;
	struct ibv_mr *mr;

	assert_non_null(td);
	assert_non_null(pd);
	parent = ibv_alloc_parent_domain(env->context, &attr);
	assert_non_null(parent);
	assert_ptr_equal(parent->context, env->context);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_td(td), EBUSY);
	mr = ibv_reg_mr(parent, env->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_ptr_equal(mr->pd, parent);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	cq_attr.parent_domain = parent;
	cq = ibv_create_cq_ex(env->context, &cq_attr);
	assert_non_null(cq);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	cq_attr.parent_domain = NULL;
	assert_null(ibv_create_cq_ex(env->context, &cq_attr));
	assert_int_equal(errno, EINVAL);
	/* A parent of a parent, one without a protection domain, and what nobody knows yet. */
	attr.pd = parent;
	assert_null(ibv_alloc_parent_domain(env->context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.pd = NULL;
	assert_null(ibv_alloc_parent_domain(env->context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask = 1u << 9;
	assert_null(ibv_alloc_parent_domain(env->context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	td_attr.comp_mask = 1;
	assert_null(ibv_alloc_td(env->context, &td_attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* IB 11.2.7.4: keys stay, and with an error all of the region does. */
static void test_rereg(void **state)
{
	struct env *env = *state;
	const int all = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(env->pd, env->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_pd *pd = ibv_alloc_pd(env->context);
	uint32_t key = mr->rkey;

	assert_int_equal(ibv_rereg_mr(mr, all, pd, env->buf + 8, 32, IBV_ACCESS_LOCAL_WRITE), 0);
	assert_ptr_equal(mr->addr, env->buf + 8);
	assert_int_equal(mr->length, 32);
	assert_ptr_equal(mr->pd, pd);
	assert_int_equal(mr->rkey, key);
	assert_int_equal(env->fake->rereg.rereg_mr.flags, all);
	assert_int_equal(env->fake->rereg.rereg_mr.pd, pd->handle);
	assert_int_equal(env->fake->rereg.rereg_mr.addr, (uintptr_t)env->buf + 8);

	assert_int_equal(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_rereg_mr(mr, 8, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 8, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE),
		IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	/* Memory that may not be written does not become so by moving there, nor by a change of rights. */
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, page, 4096, 0),
		IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, NULL, page,
		4096, IBV_ACCESS_REMOTE_READ), 0);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
		IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EFAULT);
	assert_ptr_equal(mr->addr, page);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	munmap(page, 4096);
}

/* Nothing is looked at before it is used, and the device says that it can. */
static void test_on_demand(void **state)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_RELAXED_ORDERING;
	struct env *env = *state;
	struct ibv_device_attr_ex attr;
	struct ibv_sge sge;
	struct ibv_mr *mr;

	assert_int_equal(ibv_query_device_ex(env->context, NULL, &attr), 0);
	assert_int_equal(attr.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	assert_int_equal(attr.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_ATOMIC,
		IBV_ODP_SUPPORT_ATOMIC);
	assert_int_equal(attr.odp_caps.per_transport_caps.ud_odp_caps & IBV_ODP_SUPPORT_WRITE, 0);
	assert_int_equal(attr.xrc_odp_caps, attr.odp_caps.per_transport_caps.rc_odp_caps);
	assert_int_equal(attr.device_cap_flags_ex, attr.orig_attr.device_cap_flags | CAP_EX_ATOMIC_WRITE);
	assert_int_equal(attr.tso_caps.max_tso, 0);
	assert_int_equal(attr.rss_caps.max_rwq_indirection_tables, 0);
	mr = ibv_reg_mr(env->pd, (void *)16, 4096, access);
	assert_non_null(mr);
	sge = (struct ibv_sge){16, 64, mr->lkey};
	/* Without the flag it is a hint. */
	assert_int_equal(ibv_advise_mr(env->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), 0);
	assert_int_equal(ibv_advise_mr(env->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1),
		EFAULT);
	sge.addr = (uintptr_t)env->buf + 5;
	assert_int_equal(ibv_advise_mr(env->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, &sge,
		1), 0);
	assert_int_equal(ibv_advise_mr(env->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, &sge, 1), 0);
	assert_int_equal(ibv_advise_mr(env->pd, 17, 0, &sge, 1), EOPNOTSUPP);
	assert_int_equal(ibv_advise_mr(env->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 1u << 5, &sge, 1), EINVAL);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(env->pd, NULL, SIZE_MAX, access);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_null(ibv_reg_mr(env->pd, (void *)4096, SIZE_MAX, access)); /* wraps */
	assert_int_equal(errno, EINVAL);
}

static struct ibv_qp_ex *atomic_writer(struct env *env)
{
	struct ibv_qp_init_attr_ex attr = {.send_cq = env->cq, .recv_cq = env->cq, .qp_type = IBV_QPT_RC,
		.cap = {ENV_SQ_DEPTH, ENV_RQ_DEPTH, 2, 2, 0}, .pd = env->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_WRITE};
	struct ibv_qp *qp = ibv_create_qp_ex(env->context, &attr);

	assert_non_null(qp);
	for (int s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++)
		env_to_state(qp, s, env->b->qp_num);
	attr.qp_type = IBV_QPT_UC;
	assert_null(ibv_create_qp_ex(env->context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	return ibv_qp_to_qp_ex(qp);
}

static void test_atomic_write(void **state)
{
	struct env *env = *state;
	struct ibv_qp_ex *ex = atomic_writer(env);
	uint64_t from = 0x0102030405060708ull, to[2] = {0, 0};
	struct ibv_sge sge = {(uintptr_t)&from, 8, 1};
	struct ibv_send_wr wr = {.wr_id = 2, .opcode = IBV_WR_ATOMIC_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1, .wr.rdma = {(uintptr_t)&to[1], 7}}, *bad;
	struct ibv_wc wc[2];

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(ex, 7, (uintptr_t)&to[0], &from);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(ibv_post_send(&ex->qp_base, &wr, &bad), 0);
	env_poll(env->cq, wc, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(wc[i].wr_id, i + 1);
		assert_int_equal(wc[i].opcode, IBV_WC_ATOMIC_WRITE);
		assert_true(to[i] == from);
	}
	sge.length = 4;
	assert_int_equal(ibv_post_send(&ex->qp_base, &wr, &bad), EINVAL);
	sge.length = 16;
	assert_int_equal(ibv_post_send(&ex->qp_base, &wr, &bad), EINVAL);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_parent_domain, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_rereg, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_on_demand, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_atomic_write, env_setup, env_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
