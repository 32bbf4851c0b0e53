/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions that change or come on demand, what a queue pair tells of itself in each state, and the events that a
 * client hears of (IBTA vol. 1, 11.2.7.4, 11.2.5.3, 11.6.3).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

#define BUF    8192
#define COOKIE 0xc00c1eu   /* of the queue pairs that the kit makes */

/* Two clients, at different workers, with a connected queue pair each. */
struct pair {
	struct wx_world *w;
	struct wx_client c[2];
	uint32_t pd[2], key[2], mr[2];
	struct wx_cq cq[2];
	struct wx_qp qp[2];
	uint8_t buf[2][BUF];
};

static int setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->w = wx_new(NULL);
	for (int i = 0; i < 2; i++) {
		wx_connect(p->w, &p->c[i]);
		wx_hello(&p->c[i]);
		p->pd[i] = wx_pd(&p->c[i]);
		p->key[i] = wx_mr(&p->c[i], p->pd[i], p->buf[i], BUF, &p->mr[i]);
		wx_make_cq(&p->c[i], 16, 0, 100 + (uint64_t)i, &p->cq[i]);
		wx_make_qp(&p->c[i], p->pd[i], &p->cq[i], 16, &p->qp[i]);
	}
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 2; i++)
		wx_close(&p->c[i]);
	wx_expect_empty(p->w);
	wx_free(p->w);
	free(p);
	return 0;
}

static void connect_pair(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		const struct vc_qp_attr reset = {.mask = IBV_QP_STATE, .state = IBV_QPS_RESET};

		assert_int_equal(wx_modify(&p->qp[i], &reset), 0);
		p->qp[i].sq_prod = p->qp[i].sq->prod;
		p->qp[i].rq_prod = p->qp[i].rq->prod;
	}
	for (int i = 0; i < 2; i++)
		wx_up(&p->qp[i], p->qp[1 - i].qpn);
}

/* Has eight bytes of client 0 written to client 1; the status. */
static uint32_t write_to(struct pair *p, uint32_t rkey, const void *to)
{
	struct tp_sge sge = {(uintptr_t)p->buf[0], 8, p->key[0]};
	struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE, .num_sge = 1, .flags = TP_SEND_SIGNALED,
		.remote_addr = (uintptr_t)to, .rkey = rkey};
	const struct tp_cqe *cqe;

	wx_post(&p->qp[0], &wqe, &sge, NULL);
	wx_pump(p->w);
	cqe = wx_poll(&p->cq[0]);
	assert_non_null(cqe);
	return cqe->status;
}

static int rereg(struct pair *p, uint32_t flags, uint32_t pd, uint32_t access, void *addr, uint64_t bytes)
{
	struct vc_request request = {.op = VC_REREG_MR};

	request.rereg_mr.handle = p->mr[1];
	request.rereg_mr.flags = flags;
	request.rereg_mr.pd = pd;
	request.rereg_mr.access = access;
	request.rereg_mr.addr = (uintptr_t)addr;
	request.rereg_mr.bytes = bytes;
	return wx_call(&p->c[1], &request, NULL);
}

/* ---- 11.2.7.4: regions change ---- */

static void region_moves(void **state)
{
	struct pair *p = *state;
	uint8_t *other = calloc(1, 64);

	memcpy(p->buf[0], "changed!", 8);
	connect_pair(p);
	assert_int_equal(rereg(p, IBV_REREG_MR_CHANGE_TRANSLATION, 0, 0, other, 64), 0);
	assert_int_equal(write_to(p, p->key[1], other), TP_WC_SUCCESS);
	assert_memory_equal(other, "changed!", 8);
	assert_int_equal(write_to(p, p->key[1], p->buf[1]), TP_WC_REM_ACCESS_ERR);
	free(other);
}

static void region_changes_rights(void **state)
{
	struct pair *p = *state;

	connect_pair(p);
	assert_int_equal(rereg(p, IBV_REREG_MR_CHANGE_ACCESS, 0, IBV_ACCESS_LOCAL_WRITE, NULL, 0), 0);
	assert_int_equal(write_to(p, p->key[1], p->buf[1]), TP_WC_REM_ACCESS_ERR);
	assert_int_equal(rereg(p, IBV_REREG_MR_CHANGE_ACCESS, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		NULL, 0), 0);
	connect_pair(p);
	assert_int_equal(write_to(p, p->key[1], p->buf[1]), TP_WC_SUCCESS);
}

/* The domain that a region has left can go, the one that it has come to cannot. */
static void region_changes_its_domain(void **state)
{
	struct pair *p = *state;
	uint32_t pd = wx_pd(&p->c[1]);

	connect_pair(p);
	assert_int_equal(rereg(p, IBV_REREG_MR_CHANGE_PD, pd, 0, NULL, 0), 0);
	assert_int_equal(write_to(p, p->key[1], p->buf[1]), TP_WC_REM_ACCESS_ERR);
	assert_int_equal(wx_object(&p->c[1], VC_DEALLOC_PD, pd, NULL), -EBUSY);
	assert_int_equal(rereg(p, IBV_REREG_MR_CHANGE_PD, p->pd[1], 0, NULL, 0), 0);
	assert_int_equal(wx_object(&p->c[1], VC_DEALLOC_PD, pd, NULL), 0);
	connect_pair(p);
	assert_int_equal(write_to(p, p->key[1], p->buf[1]), TP_WC_SUCCESS);
}

static void bad_changes_leave_it_alone(void **state)
{
	struct pair *p = *state;
	const uint32_t where = IBV_REREG_MR_CHANGE_TRANSLATION, who = IBV_REREG_MR_CHANGE_ACCESS;

	connect_pair(p);
	assert_int_equal(rereg(p, 0, 0, 0, NULL, 0), -EINVAL);
	assert_int_equal(rereg(p, 8, 0, 0, NULL, 0), -EINVAL);
	assert_int_equal(rereg(p, IBV_REREG_MR_CHANGE_PD, 77, 0, NULL, 0), -EINVAL);
	assert_int_equal(rereg(p, where, 0, 0, p->buf[1], 0), -EINVAL);
	assert_int_equal(rereg(p, where, 0, 0, (void *)16, 64), -EFAULT);
	assert_int_equal(rereg(p, where, 0, 0, p->buf[1], UINT64_MAX), -EFAULT);
	assert_int_equal(rereg(p, who, 0, IBV_ACCESS_REMOTE_WRITE, NULL, 0), -EINVAL);
	assert_int_equal(rereg(p, who, 0, 1u << 8, NULL, 0), -EOPNOTSUPP);
	p->mr[1] ^= 0x10000;
	assert_int_equal(rereg(p, who, 0, 0, NULL, 0), -EINVAL);
	assert_int_equal(write_to(p, p->key[1], p->buf[1]), TP_WC_SUCCESS);
}

/* ---- regions on demand ---- */

static int register_on_demand(struct pair *p, void *addr, uint64_t bytes, uint32_t *key)
{
	struct vc_request request = {.op = VC_REG_MR};
	struct vc_reply reply;
	int err;

	request.reg_mr.pd = p->pd[1];
	request.reg_mr.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ON_DEMAND;
	request.reg_mr.addr = request.reg_mr.iova = (uintptr_t)addr;
	request.reg_mr.bytes = bytes;
	err = wx_call(&p->c[1], &request, &reply);
	*key = reply.mr.key;
	return err;
}

/* What is mapped when it is used counts, not what was when it was registered. */
static void memory_comes_on_demand(void **state)
{
	struct pair *p = *state;
	uint8_t *later = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t key;

	assert_ptr_not_equal(later, MAP_FAILED);
	assert_int_equal(munmap(later, 4096), 0);
	memcpy(p->buf[0], "on time!", 8);
	connect_pair(p);
	assert_int_equal(register_on_demand(p, later, 4096, &key), 0);
	assert_int_equal(write_to(p, key, later), TP_WC_REM_OP_ERR);
	assert_ptr_equal(mmap(later, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
		later);
	connect_pair(p);
	assert_int_equal(write_to(p, key, later), TP_WC_SUCCESS);
	assert_memory_equal(later, "on time!", 8);
	munmap(later, 4096);
}

/* All of the process under one key; what is not mapped ends the connection and nothing else. */
static void all_of_the_process(void **state)
{
	struct pair *p = *state;
	uint32_t key;

	memcpy(p->buf[0], "anywhere", 8);
	connect_pair(p);
	assert_int_equal(register_on_demand(p, NULL, UINT64_MAX, &key), 0);
	assert_int_equal(write_to(p, key, p->buf[1] + 100), TP_WC_SUCCESS);
	assert_memory_equal(p->buf[1] + 100, "anywhere", 8);
	assert_int_equal(write_to(p, key, (void *)16), TP_WC_REM_OP_ERR);
	connect_pair(p);
	assert_int_equal(write_to(p, key, (void *)(UINT64_MAX - 64)), TP_WC_REM_OP_ERR);
	connect_pair(p);
	assert_int_equal(write_to(p, key, p->buf[1]), TP_WC_SUCCESS);
}

/* ---- 11.2.5.2 and 11.2.5.3 ---- */

/* Alternate paths, rate limits and resizing of queue pairs are not there, and say so. */
static void attributes_not_served(void **state)
{
	static const uint32_t masks[] = {IBV_QP_ALT_PATH, IBV_QP_PATH_MIG_STATE, IBV_QP_RATE_LIMIT, IBV_QP_CAP};
	struct pair *p = *state;

	connect_pair(p);
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		struct vc_qp_attr attr = {.mask = masks[i]};

		assert_int_equal(wx_modify(&p->qp[0], &attr), -EOPNOTSUPP);
	}
	assert_int_equal(write_to(p, p->key[1], p->buf[1]), TP_WC_SUCCESS);
}

/* Programs give a queue pair the rights of their regions, with what is about memory only. */
static void rights_of_regions_fit_queue_pairs(void **state)
{
	struct pair *p = *state;
	struct vc_qp_attr attr;
	struct vc_reply reply;

	wx_attr(&attr, IBV_QPS_INIT, 0);
	attr.access |= IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING;
	assert_int_equal(wx_modify(&p->qp[0], &attr), 0);
	assert_int_equal(wx_object(&p->c[0], VC_QUERY_QP, p->qp[0].handle, &reply), 0);
	assert_int_equal(reply.qp_attr.access,
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
}

/* After each transition all that was set so far is told. */
static void each_state_tells_what_was_set(void **state)
{
	static const enum ibv_qp_state way[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_RTS,
		IBV_QPS_ERR};
	struct pair *p = *state;
	struct vc_qp_attr set = {0}, attr;
	struct vc_reply reply;

	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		wx_attr(&attr, way[i], 77);
		if (i == 4)
			attr.mask = IBV_QP_STATE;
		if (way[i] == IBV_QPS_SQD) {
			attr.mask |= IBV_QP_EN_SQD_ASYNC_NOTIFY;
			attr.en_sqd_async_notify = 1;
		}
		attr.rq_psn = 0x111111;
		attr.sq_psn = 0x222222;
		assert_int_equal(wx_modify(&p->qp[0], &attr), 0);
		if (way[i] == IBV_QPS_INIT)
			set.access = attr.access;
		if (way[i] == IBV_QPS_RTR) {
			set.dest_qpn = attr.dest_qpn;
			set.max_dest_rd_atomic = attr.max_dest_rd_atomic;
			set.min_rnr_timer = attr.min_rnr_timer;
			set.rq_psn = attr.rq_psn;
			set.av = attr.av;
		}
		if (i == 2) {
			set.timeout = attr.timeout;
			set.retry_cnt = attr.retry_cnt;
			set.rnr_retry = attr.rnr_retry;
			set.max_rd_atomic = attr.max_rd_atomic;
			set.sq_psn = attr.sq_psn;
		}
		assert_int_equal(wx_object(&p->c[0], VC_QUERY_QP, p->qp[0].handle, &reply), 0);
		assert_int_equal(reply.qp_attr.state, way[i]);
		assert_int_equal(reply.qp_attr.port, 1);
		assert_int_equal(reply.qp_attr.access, set.access);
		assert_int_equal(reply.qp_attr.dest_qpn, set.dest_qpn);
		assert_int_equal(reply.qp_attr.rq_psn, set.rq_psn);
		assert_int_equal(reply.qp_attr.sq_psn, set.sq_psn);
		assert_int_equal(reply.qp_attr.max_rd_atomic, set.max_rd_atomic);
		assert_int_equal(reply.qp_attr.max_dest_rd_atomic, set.max_dest_rd_atomic);
		assert_int_equal(reply.qp_attr.min_rnr_timer, set.min_rnr_timer);
		assert_int_equal(reply.qp_attr.timeout, set.timeout);
		assert_int_equal(reply.qp_attr.retry_cnt, set.retry_cnt);
		assert_int_equal(reply.qp_attr.rnr_retry, set.rnr_retry);
		assert_int_equal(reply.qp_attr.sq_draining, 0);
		assert_int_equal(reply.qp_attr.en_sqd_async_notify, i >= 3);
		assert_memory_equal(&reply.qp_attr.av, &set.av, sizeof(set.av));
	}
}

/* ---- 11.6.3: events ---- */

static void expect_event(struct wx_client *c, uint32_t type, uint64_t cookie)
{
	struct vc_async_msg msg;

	wx_pump(c->w);
	assert_int_equal(recv(c->async_fd, &msg, sizeof(msg), MSG_DONTWAIT), sizeof(msg));
	assert_int_equal(msg.type, type);
	assert_int_equal(msg.cookie, cookie);
}

static void expect_no_event(struct wx_client *c)
{
	struct vc_async_msg msg;

	wx_pump(c->w);
	assert_int_equal(recv(c->async_fd, &msg, sizeof(msg), MSG_DONTWAIT), -1);
}

/* The first packet that comes in RTR, once. */
static void communication_is_established(void **state)
{
	struct pair *p = *state;
	struct vc_qp_attr attr;

	wx_up(&p->qp[0], p->qp[1].qpn);
	for (enum ibv_qp_state s = IBV_QPS_INIT; s <= IBV_QPS_RTR; s++) {
		wx_attr(&attr, s, p->qp[0].qpn);
		assert_int_equal(wx_modify(&p->qp[1], &attr), 0);
	}
	expect_no_event(&p->c[1]);
	assert_int_equal(write_to(p, p->key[1], p->buf[1]), TP_WC_SUCCESS);
	expect_event(&p->c[1], IBV_EVENT_COMM_EST, COOKIE);
	assert_int_equal(write_to(p, p->key[1], p->buf[1]), TP_WC_SUCCESS);
	expect_no_event(&p->c[1]);
	expect_no_event(&p->c[0]);
}

/* Asked for with the transition only. */
static void send_queue_is_drained(void **state)
{
	struct pair *p = *state;
	struct vc_qp_attr attr = {.mask = IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, .state = IBV_QPS_SQD,
		.en_sqd_async_notify = 1};
	struct tp_sge sge = {(uintptr_t)p->buf[0], BUF, p->key[0]};
	struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE, .num_sge = 1, .remote_addr = (uintptr_t)p->buf[1],
		.rkey = p->key[1]};
	struct vc_reply reply;

	connect_pair(p);
	p->w->drop_frames = true;
	wx_post(&p->qp[0], &wqe, &sge, NULL);
	wx_pump(p->w);
	assert_int_equal(wx_modify(&p->qp[0], &attr), 0);
	expect_no_event(&p->c[0]);
	assert_int_equal(wx_object(&p->c[0], VC_QUERY_QP, p->qp[0].handle, &reply), 0);
	assert_int_equal(reply.qp_attr.sq_draining, 1);
	p->w->drop_frames = false;
	wx_pass(p->w, 1000 * WX_MS);
	expect_event(&p->c[0], IBV_EVENT_SQ_DRAINED, COOKIE);
	assert_int_equal(wx_object(&p->c[0], VC_QUERY_QP, p->qp[0].handle, &reply), 0);
	assert_int_equal(reply.qp_attr.sq_draining, 0);
	attr.mask = IBV_QP_STATE;
	attr.state = IBV_QPS_RTS;
	assert_int_equal(wx_modify(&p->qp[0], &attr), 0);
	attr.mask = IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY;
	attr.state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = 0;
	assert_int_equal(wx_modify(&p->qp[0], &attr), 0);
	expect_no_event(&p->c[0]);
}

/* The responder is told what it refused; the requester has its completion. */
static void responder_hears_of_its_end(void **state)
{
	struct pair *p = *state;
	struct vc_qp_attr attr = {.mask = IBV_QP_ACCESS_FLAGS};
	uint32_t gone;

	connect_pair(p);
	assert_int_equal(write_to(p, p->key[1] ^ 1, p->buf[1]), TP_WC_REM_ACCESS_ERR);
	expect_event(&p->c[1], IBV_EVENT_QP_ACCESS_ERR, COOKIE);
	connect_pair(p);
	assert_int_equal(wx_modify(&p->qp[1], &attr), 0);
	assert_int_equal(write_to(p, p->key[1], p->buf[1]), TP_WC_REM_INV_REQ_ERR);
	expect_event(&p->c[1], IBV_EVENT_QP_REQ_ERR, COOKIE);
	connect_pair(p);
	assert_int_equal(register_on_demand(p, NULL, UINT64_MAX, &gone), 0);
	assert_int_equal(write_to(p, gone, (void *)16), TP_WC_REM_OP_ERR);
	expect_event(&p->c[1], IBV_EVENT_QP_FATAL, COOKIE);
	expect_no_event(&p->c[1]);
	expect_no_event(&p->c[0]);
}

/* A completion queue that is full: it and its queue pair are in error. */
static void completion_queue_overflows(void **state)
{
	struct pair *p = *state;
	struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE, .flags = TP_SEND_SIGNALED};
	struct vc_async_msg msg;
	uint32_t seen = 0;

	connect_pair(p);
	for (uint32_t i = 0; i < p->cq[0].depth + 1; i++) {
		wx_post(&p->qp[0], &wqe, NULL, NULL);
		wx_pump(p->w);
	}
	while (recv(p->c[0].async_fd, &msg, sizeof(msg), MSG_DONTWAIT) == (ssize_t)sizeof(msg)) {
		assert_int_equal(msg.cookie, msg.type == IBV_EVENT_CQ_ERR ? 100 : COOKIE);
		seen |= 1u << msg.type;
	}
	assert_int_equal(seen, 1u << IBV_EVENT_CQ_ERR | 1u << IBV_EVENT_QP_FATAL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(region_moves),
		CASE(region_changes_rights),
		CASE(region_changes_its_domain),
		CASE(bad_changes_leave_it_alone),
		CASE(memory_comes_on_demand),
		CASE(all_of_the_process),
		CASE(attributes_not_served),
		CASE(rights_of_regions_fit_queue_pairs),
		CASE(each_state_tells_what_was_set),
		CASE(communication_is_established),
		CASE(send_queue_is_drained),
		CASE(responder_hears_of_its_end),
		CASE(completion_queue_overflows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
