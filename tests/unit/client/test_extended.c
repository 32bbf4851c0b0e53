/* SPDX-License-Identifier: BSD-3-Clause */
/* Work requests built call by call (ibv_wr_*) and completions read field by field (ibv_cq_ex). */
#include "env.h"

#include <sys/wait.h>
#include <time.h>

static struct ibv_qp_ex *make_qp(struct env *env, enum ibv_qp_type type, uint64_t flags)
{
	struct ibv_qp_init_attr_ex attr = {.send_cq = env->cq,
		.recv_cq = env->cq,
		.qp_type = type,
		.cap = {ENV_SQ_DEPTH, ENV_RQ_DEPTH, 2, 2, FAKE_INLINE},
		.pd = env->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = flags};
	struct ibv_qp *qp = ibv_create_qp_ex(env->context, &attr);

	return qp != NULL ? ibv_qp_to_qp_ex(qp) : NULL;
}

/* Connects a new QP to env->b. */
static struct ibv_qp_ex *make_connected(struct env *env, uint64_t flags)
{
	struct ibv_qp_ex *ex = make_qp(env, IBV_QPT_RC, flags);

	assert_non_null(ex);
	for (int s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++)
		env_to_state(&ex->qp_base, s, env->b->qp_num);
	return ex;
}

static void next(struct ibv_qp_ex *ex, uint64_t wr_id)
{
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
}

/* A batch of different requests goes out together, in order, each with the id set before it. */
static void test_batch(void **state)
{
	struct env *env = *state;
	struct ibv_qp_ex *ex =
		make_connected(env, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE);
	char parts[2][4] = {{'o', 'n', 'e', '+'}, {'t', 'w', 'o', '!'}}, target[8] = "";
	struct ibv_data_buf bufs[2] = {{parts[0], 4}, {parts[1], 4}};
	struct ibv_sge sges[2] = {{(uintptr_t)parts[0], 4, 1}, {(uintptr_t)parts[1], 4, 1}};
	struct ibv_wc wc[5];

	assert_int_equal(env_post_recv(env, env->b, 20, 0), 0);
	assert_int_equal(env_post_recv(env, env->b, 21, 8), 0);
	ibv_wr_start(ex);
	next(ex, 1);
	ibv_wr_rdma_write(ex, 7, (uintptr_t)target);
	ibv_wr_set_sge_list(ex, 2, sges);
	next(ex, 2);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 2, bufs);
	next(ex, 3);
	ex->wr_flags |= IBV_SEND_INLINE; /* says nothing here */
	ibv_wr_send_imm(ex, htobe32(77));
	ibv_wr_set_sge(ex, 1, (uintptr_t)parts[1], 4);
	assert_int_equal(ibv_poll_cq(env->cq, 1, wc), 0); /* not before the end */
	assert_int_equal(ibv_wr_complete(ex), 0);
	env_poll(env->cq, wc, 5);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[0].opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(wc[1].wr_id, 20);
	assert_int_equal(wc[2].wr_id, 2);
	assert_int_equal(wc[3].wr_id, 21);
	assert_int_equal(wc[3].imm_data, htobe32(77));
	assert_int_equal(wc[4].wr_id, 3);
	assert_memory_equal(target, "one+two!", 8);
	assert_memory_equal(env->buf, "one+two!", 8);
	assert_memory_equal(env->buf + 8, "two!", 4);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
}

/* The first mistake is told at the end, and then nothing of the batch is posted; the next one is. */
static void test_errors(void **state)
{
	struct env *env = *state;
	struct ibv_qp_ex *ex = make_connected(env, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
	char data[FAKE_INLINE + 1] = "";
	struct ibv_sge sges[3] = {{0}};
	struct ibv_wc wc[2];

	assert_int_equal(env_post_recv(env, env->b, 20, 0), 0);
	for (int mistake = 0; mistake < 5; mistake++) {
		ibv_wr_start(ex);
		next(ex, 1);
		ibv_wr_send(ex);
		ibv_wr_set_inline_data(ex, data, 8);
		next(ex, 2);
		ex->wr_flags = mistake == 4 ? 1u << 30 : 0;
		if (mistake == 3)
			ibv_wr_atomic_fetch_add(ex, 1, 8, 1);
		else
			ibv_wr_send(ex);
		if (mistake == 0)
			ibv_wr_set_inline_data(ex, data, sizeof(data));
		else if (mistake == 1)
			ibv_wr_set_sge_list(ex, 3, sges);
		else if (mistake == 3)
			ibv_wr_set_sge(ex, 1, (uintptr_t)data, 4); /* not eight bytes */
		for (int i = 0; mistake == 2 && i < ENV_SQ_DEPTH; i++)
			ibv_wr_send(ex);
		assert_int_equal(ibv_wr_complete(ex), mistake == 4 ? EOPNOTSUPP : mistake == 2 ? ENOMEM : EINVAL);
	}
	ibv_wr_start(ex);
	next(ex, 8);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
	ibv_wr_start(ex);
	next(ex, 9);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 1, 0, 0); /* a message of no bytes */
	assert_int_equal(ibv_wr_complete(ex), 0);
	env_poll(env->cq, wc, 2);
	assert_int_equal(wc[0].wr_id, 20);
	assert_int_equal(wc[0].byte_len, 0);
	assert_int_equal(wc[1].wr_id, 9);
	env_to_state(&ex->qp_base, IBV_QPS_RESET, 0);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), EINVAL); /* IB 10.3.1 */
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
}

/* A QP has the calls its service has operations for, and only those asked for. */
static void test_which_calls(void **state)
{
	struct env *env = *state;
	struct ibv_qp_ex *ex = make_qp(env, IBV_QPT_UD, IBV_QP_EX_WITH_SEND);

	assert_non_null(ex);
	assert_non_null(ex->wr_send);
	assert_non_null(ex->wr_set_ud_addr);
	assert_null(ex->wr_send_imm);
	assert_null(ex->wr_rdma_write);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
	assert_null(make_qp(env, IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(make_qp(env, IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(make_qp(env, IBV_QPT_RC, IBV_QP_EX_WITH_TSO));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_qp_to_qp_ex(env->a)); /* made without */
}

static void test_datagram(void **state)
{
	struct env *env = *state;
	struct ibv_qp_ex *ex = make_qp(env, IBV_QPT_UD, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .qkey = 5, .port_num = 1};
	struct ibv_ah_attr ah_attr = {.is_global = 1, .port_num = 1};
	struct ibv_ah *ah = ibv_create_ah(env->pd, &ah_attr);
	struct ibv_sge sge = {(uintptr_t)env->buf, 64, env->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = 4, .sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_wc wc[2];
	char text[4] = "self";

	assert_int_equal(ibv_modify_qp(&ex->qp_base, &attr, IBV_QP_STATE | IBV_QP_QKEY), 0);
	env_to_state(&ex->qp_base, IBV_QPS_RTR, 0);
	env_to_state(&ex->qp_base, IBV_QPS_RTS, 0);
	assert_int_equal(ibv_post_recv(&ex->qp_base, &wr, &bad), 0);
	ibv_wr_start(ex);
	next(ex, 3);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, ex->qp_base.qp_num, 5);
	ibv_wr_set_inline_data(ex, text, sizeof(text));
	assert_int_equal(ibv_wr_complete(ex), 0);
	env_poll(env->cq, wc, 2);
	assert_int_equal(wc[0].byte_len, FAKE_GRH_BYTES + 4);
	assert_memory_equal(env->buf + FAKE_GRH_BYTES, text, sizeof(text));
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, NULL, 1, 5);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
}

/* A child can neither post nor poll, even when it was forked from the middle of a batch; the parent's goes on. */
static void test_fork(void **state)
{
	struct env *env = *state;
	struct ibv_qp_ex *ex = make_connected(env, IBV_QP_EX_WITH_SEND);
	struct ibv_wc wc[2];
	int status;
	pid_t pid;

	assert_int_equal(env_post_recv(env, env->b, 20, 0), 0);
	ibv_wr_start(ex);
	next(ex, 5);
	ibv_wr_send(ex);
	pid = fork();
	if (pid == 0) {
		alarm(10); /* a lock that nobody gives back */
		ibv_wr_start(ex);
		ibv_wr_send(ex);
		_exit(ibv_wr_complete(ex) == EIO ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ibv_wr_complete(ex), 0);
	env_poll(env->cq, wc, 2);
	assert_int_equal(wc[1].wr_id, 5);
	assert_int_equal(ibv_destroy_qp(&ex->qp_base), 0);
}

/* ---- completion queues ---- */

static struct ibv_cq_ex *make_cq(struct env *env, uint64_t wc_flags)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 8,
		.cq_context = env,
		.channel = env->channel,
		.wc_flags = wc_flags,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED};

	return ibv_create_cq_ex(env->context, &attr);
}

static int start_polling(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = {0};
	int err = ENOENT;

	for (int i = 0; i < 5000 && err == ENOENT; i++) {
		err = ibv_start_poll(cq, &attr);
		if (err == ENOENT)
			usleep(1000);
	}
	return err;
}

static struct ibv_qp *receiver(struct env *env, struct ibv_cq_ex *cq)
{
	struct ibv_qp_init_attr attr = {.send_cq = env->cq,
		.recv_cq = ibv_cq_ex_to_cq(cq),
		.qp_type = IBV_QPT_RC,
		.cap = {ENV_SQ_DEPTH, ENV_RQ_DEPTH, 1, 1, 0}};
	struct ibv_qp *qp = ibv_create_qp(env->pd, &attr);

	assert_non_null(qp);
	for (int s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++) {
		env_to_state(qp, s, env->a->qp_num);
		env_to_state(env->a, s, qp->qp_num);
	}
	return qp;
}

static void send_imm(struct ibv_qp *qp, uint32_t imm)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = imm}, *bad;

	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

/* A program that goes through the queue sees each completion once, more often than the ring is long. */
static void test_lazy_polling(void **state)
{
	struct env *env = *state;
	struct ibv_cq_ex *cq = make_cq(env, IBV_WC_STANDARD_FLAGS);
	struct ibv_qp *to = receiver(env, cq);
	struct ibv_poll_cq_attr bad_attr = {.comp_mask = 1};

	assert_int_equal(ibv_start_poll(cq, &bad_attr), EINVAL);
	for (uint32_t round = 0; round < 10; round++) {
		for (uint32_t i = 0; i < 2; i++) {
			assert_int_equal(env_post_recv(env, to, 2 * round + i, 0), 0);
			send_imm(env->a, 2 * round + i);
		}
		for (uint32_t i = 0; i < 2; i++) {
			int err = i == 0 ? start_polling(cq) : ibv_next_poll(cq);

			if (err == ENOENT) { /* the second has not come yet */
				ibv_end_poll(cq);
				err = start_polling(cq);
			}
			assert_int_equal(err, 0);
			assert_int_equal(cq->wr_id, 2 * round + i);
			assert_int_equal(cq->status, IBV_WC_SUCCESS);
			assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
			assert_int_equal(ibv_wc_read_imm_data(cq), 2 * round + i);
			assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
			assert_int_equal(ibv_wc_read_qp_num(cq), to->qp_num);
			assert_int_equal(ibv_wc_read_src_qp(cq), env->a->qp_num);
			assert_int_equal(ibv_wc_read_byte_len(cq), 0);
			assert_int_equal(ibv_wc_read_vendor_err(cq), 0);
			assert_int_equal(ibv_wc_read_slid(cq) + ibv_wc_read_sl(cq) + ibv_wc_read_dlid_path_bits(cq), 0);
		}
		if (round % 2 == 0) /* an end after the last, or after finding nothing behind it */
			assert_int_equal(ibv_next_poll(cq), ENOENT);
		ibv_end_poll(cq);
	}
	assert_int_equal(ibv_destroy_qp(to), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

/* Both ways to poll take from the same queue, and completions of a destroyed QP are passed over by both. */
static void test_mixed_polling(void **state)
{
	struct env *env = *state;
	struct ibv_cq_ex *cq = make_cq(env, 0);
	struct ibv_qp *to = receiver(env, cq);
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_wc wc;

	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(env_post_recv(env, to, i, 0), 0);
		send_imm(env->a, i);
	}
	assert_int_equal(start_polling(cq), 0);
	assert_int_equal(cq->wr_id, 0);
	ibv_end_poll(cq);
	env_poll(ibv_cq_ex_to_cq(cq), &wc, 1);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(start_polling(cq), 0); /* the third is there, and not taken */
	assert_int_equal(cq->wr_id, 2);
	ibv_end_poll(cq);
	assert_int_equal(env_post_recv(env, to, 3, 0), 0);
	env_to_state(to, IBV_QPS_ERR, 0);
	usleep(100000); /* flushed into the queue by now */
	assert_int_equal(ibv_destroy_qp(to), 0);
	assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

/* Timestamps count nanoseconds of a clock that can be read; the wall clock's are of today. */
static void test_timestamps(void **state)
{
	struct env *env = *state;
	struct ibv_cq_ex *cq =
		make_cq(env, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	struct ibv_qp *to = receiver(env, cq);
	struct ibv_values_ex before = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK}, after = before;
	struct ibv_device_attr_ex dev;
	uint64_t wall;

	assert_int_equal(ibv_query_device_ex(env->context, NULL, &dev), 0);
	assert_int_equal(dev.hca_core_clock, 1000000); /* kHz */
	assert_true(dev.completion_timestamp_mask == UINT64_MAX);
	assert_int_equal(ibv_query_rt_values_ex(env->context, &before), 0);
	assert_int_equal(env_post_recv(env, to, 0, 0), 0);
	send_imm(env->a, 0);
	assert_int_equal(start_polling(cq), 0);
	assert_int_equal(ibv_query_rt_values_ex(env->context, &after), 0);
	assert_in_range(ibv_wc_read_completion_ts(cq), before.raw_clock.tv_nsec, after.raw_clock.tv_nsec);
	wall = ibv_wc_read_completion_wallclock_ns(cq) / 1000000000;
	assert_in_range(wall, (uint64_t)time(NULL) - 60, (uint64_t)time(NULL));
	ibv_end_poll(cq);
	assert_int_equal(ibv_destroy_qp(to), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_null(make_cq(env, IBV_WC_EX_WITH_CVLAN));
	assert_int_equal(errno, EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_batch, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_errors, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_which_calls, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_datagram, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_fork, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_lazy_polling, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_mixed_polling, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_timestamps, env_setup, env_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
