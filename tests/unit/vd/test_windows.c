/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory windows and remote invalidation through the client contract (IBTA vol. 1, 10.6.7): windows of
 * both types are bound by work requests, and keys of windows and regions end when they are told to.
 */
#include <errno.h>
#include <stdlib.h>

#include "world.h"

#define BUF 4096

/* A client with memory, and a peer at another worker who writes to it. */
struct scene {
	struct wx_world *w;
	struct wx_client c[2];
	uint32_t pd[2], key[2], mr[2];
	struct wx_cq cq[2];
	struct wx_qp qp[2];
	uint8_t buf[2][BUF];
};

static void register_for_windows(struct scene *s, int i)
{
	struct vc_request request = {.op = VC_REG_MR};
	struct vc_reply reply;

	request.reg_mr.pd = s->pd[i];
	request.reg_mr.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
	request.reg_mr.addr = request.reg_mr.iova = (uintptr_t)s->buf[i];
	request.reg_mr.bytes = BUF;
	assert_int_equal(wx_call(&s->c[i], &request, &reply), 0);
	s->mr[i] = reply.mr.handle;
	s->key[i] = reply.mr.key;
}

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->w = wx_new(&(struct vd_limits){.max_mws = 4});
	for (int i = 0; i < 2; i++) {
		wx_connect(s->w, &s->c[i]);
		wx_hello(&s->c[i]);
		s->pd[i] = wx_pd(&s->c[i]);
		register_for_windows(s, i);
		wx_make_cq(&s->c[i], 64, 0, 0, &s->cq[i]);
		wx_make_qp(&s->c[i], s->pd[i], &s->cq[i], 16, &s->qp[i]);
	}
	wx_up(&s->qp[0], s->qp[1].qpn);
	wx_up(&s->qp[1], s->qp[0].qpn);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	wx_close(&s->c[0]);
	wx_close(&s->c[1]);
	wx_expect_empty(s->w);
	wx_free(s->w);
	free(s);
	return 0;
}

static int alloc(struct wx_client *c, uint32_t pd, uint32_t type, struct vc_reply *reply)
{
	struct vc_request request = {.op = VC_ALLOC_MW, .alloc_mw = {.pd = pd, .type = type}};

	return wx_call(c, &request, reply);
}

static enum tp_wc_status status_of(struct scene *s, int i, const struct tp_send_wqe *wqe)
{
	struct tp_sge sge = {(uintptr_t)s->buf[i] + 2048, 8, s->key[i]};
	const struct tp_cqe *cqe;

	wx_post(&s->qp[i], wqe, &sge, NULL);
	wx_pump(s->w);
	cqe = wx_poll(&s->cq[i]);
	assert_non_null(cqe);
	return cqe->status;
}

static enum tp_wc_status bind_window(struct scene *s, uint32_t rkey, uint32_t mr_key, uint64_t bytes)
{
	const struct tp_send_wqe wqe = {.opcode = TP_WR_BIND_MW,
		.flags = TP_SEND_SIGNALED,
		.remote_addr = (uintptr_t)s->buf[0] + 64,
		.rkey = rkey,
		.bind = {.bytes = bytes, .mr_key = mr_key, .access = TP_ACCESS_REMOTE_WRITE}};

	return status_of(s, 0, &wqe);
}

/* The peer's WRITE of 8 bytes at the start of the window. */
static enum tp_wc_status write_by(struct scene *s, uint32_t rkey)
{
	const struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE,
		.num_sge = 1,
		.flags = TP_SEND_SIGNALED,
		.remote_addr = (uintptr_t)s->buf[0] + 64,
		.rkey = rkey};

	return status_of(s, 1, &wqe);
}

/* 10.6.7.2.4: a window opens part of a region whose own key opens nothing. */
static void type1_window_opens_and_closes(void **state)
{
	struct scene *s = *state;
	struct vc_reply reply;
	uint32_t rkey;

	assert_int_equal(alloc(&s->c[0], s->pd[0], IBV_MW_TYPE_1, &reply), 0);
	rkey = reply.mr.key + 1;
	assert_int_equal(bind_window(s, rkey, s->key[0], 128), TP_WC_SUCCESS);
	memcpy(s->buf[1] + 2048, "a window", 8);
	assert_int_equal(write_by(s, rkey), TP_WC_SUCCESS);
	assert_memory_equal(s->buf[0] + 64, "a window", 8);
	/* What is bound holds its region. */
	assert_int_equal(wx_object(&s->c[0], VC_DEREG_MR, s->mr[0], NULL), -EBUSY);
	assert_int_equal(bind_window(s, rkey + 1, s->key[0], 0), TP_WC_SUCCESS);
	assert_int_equal(write_by(s, rkey), TP_WC_REM_ACCESS_ERR);
	assert_int_equal(wx_object(&s->c[0], VC_DEREG_MR, s->mr[0], NULL), 0);
}

/* The window is freed by its handle, whatever key it has by now, and with it the peer's way in. */
static void freed_window_is_closed(void **state)
{
	struct scene *s = *state;
	struct vc_reply reply;
	struct vd_stats stats;

	assert_int_equal(alloc(&s->c[0], s->pd[0], IBV_MW_TYPE_1, &reply), 0);
	assert_int_equal(wx_object(&s->c[0], VC_DEALLOC_PD, s->pd[0], NULL), -EBUSY);
	assert_int_equal(bind_window(s, reply.mr.key + 7, s->key[0], 128), TP_WC_SUCCESS);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.mws, 1);
	assert_int_equal(wx_object(&s->c[0], VC_DEALLOC_MW, reply.mr.handle, NULL), 0);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.mws, 0);
	assert_int_equal(write_by(s, reply.mr.key + 7), TP_WC_REM_ACCESS_ERR);
	assert_int_equal(wx_object(&s->c[0], VC_DEALLOC_MW, reply.mr.handle, NULL), -EINVAL);
	assert_int_equal(wx_object(&s->c[0], VC_DEREG_MR, s->mr[0], NULL), 0);
}

/* Type 2: LOCAL_INV closes it here, SEND with invalidate from the peer. */
static void type2_window_is_invalidated(void **state)
{
	struct scene *s = *state;
	struct tp_send_wqe wqe = {.opcode = TP_WR_LOCAL_INV, .flags = TP_SEND_SIGNALED};
	const struct tp_cqe *cqe;
	struct vc_reply reply;
	uint32_t rkey;

	assert_int_equal(alloc(&s->c[0], s->pd[0], IBV_MW_TYPE_2, &reply), 0);
	rkey = reply.mr.key + 1;
	assert_int_equal(bind_window(s, rkey, s->key[0], 128), TP_WC_SUCCESS);
	assert_int_equal(write_by(s, rkey), TP_WC_SUCCESS);
	wqe.imm = rkey;
	assert_int_equal(status_of(s, 0, &wqe), TP_WC_SUCCESS);

	assert_int_equal(bind_window(s, ++rkey, s->key[0], 128), TP_WC_SUCCESS);
	wx_post_recv(&s->qp[0], 9, 0, NULL);
	wqe = (struct tp_send_wqe){
		.opcode = TP_WR_SEND_INV, .flags = TP_SEND_SIGNALED, .imm = rkey};
	assert_int_equal(status_of(s, 1, &wqe), TP_WC_SUCCESS);
	cqe = wx_poll(&s->cq[0]);
	assert_non_null(cqe);
	assert_int_equal(cqe->wr_id, 9);
	assert_int_equal(cqe->flags & TP_WC_WITH_INV, TP_WC_WITH_INV);
	assert_int_equal(cqe->imm, rkey);
	assert_int_equal(write_by(s, rkey), TP_WC_REM_ACCESS_ERR);
}

/* Keys of others' windows and regions do not work, wherever they lie in the table. */
static void foreign_keys_cannot_be_bound(void **state)
{
	struct scene *s = *state;
	struct vc_reply mine, theirs;
	struct wx_client other;
	uint32_t pd;
	static uint8_t memory[BUF];

	/* The third client lives at the first one's worker. */
	wx_connect(s->w, &other);
	wx_hello(&other);
	pd = wx_pd(&other);
	assert_int_equal(alloc(&other, pd, IBV_MW_TYPE_1, &theirs), 0);
	assert_int_equal(bind_window(s, theirs.mr.key + 1, s->key[0], 128), TP_WC_MW_BIND_ERR);
	for (int i = 0; i < 2; i++) {
		struct vc_qp_attr reset = {.mask = IBV_QP_STATE, .state = IBV_QPS_RESET};

		assert_int_equal(wx_modify(&s->qp[i], &reset), 0);
		wx_up(&s->qp[i], s->qp[1 - i].qpn);
	}
	assert_int_equal(alloc(&s->c[0], s->pd[0], IBV_MW_TYPE_1, &mine), 0);
	assert_int_equal(bind_window(s, mine.mr.key + 1, wx_mr(&other, pd, memory, BUF, NULL), 128), TP_WC_MW_BIND_ERR);
	wx_close(&other);
}

static void bad_requests(void **state)
{
	struct scene *s = *state;
	struct vc_reply reply;

	assert_int_equal(alloc(&s->c[0], 0, IBV_MW_TYPE_1, &reply), -EINVAL);
	assert_int_equal(alloc(&s->c[0], s->pd[0], 0, &reply), -EINVAL);
	assert_int_equal(alloc(&s->c[0], s->pd[0], 3, &reply), -EINVAL);
	assert_int_equal(alloc(&s->c[0], s->pd[0], UINT32_MAX, &reply), -EINVAL);
	for (int i = 0; i < 4; i++)
		assert_int_equal(alloc(&s->c[0], s->pd[0], IBV_MW_TYPE_2, &reply), 0);
	assert_int_equal(alloc(&s->c[0], s->pd[0], IBV_MW_TYPE_2, &reply), -ENOMEM); /* max_mws */
	assert_int_equal(s->c[0].attr.max_mw, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(type1_window_opens_and_closes),
		TEST(freed_window_is_closed),
		TEST(type2_window_is_invalidated),
		TEST(foreign_keys_cannot_be_bound),
		TEST(bad_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
