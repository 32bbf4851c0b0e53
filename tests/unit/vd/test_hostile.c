/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client sends or stores is hostile (vd.h): every bad request gets a negative errno and is
 * counted, every bad index or work request ends at the queue it was put on, and a neighbour never
 * notices.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

#define HEADER (2 * sizeof(uint32_t))

struct scene {
	struct wx_world *w;
	struct wx_client c;
	uint32_t pd, mr, key, channel;
	struct wx_cq cq;
	struct wx_qp qp;
	uint8_t buf[4096];
};

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	int fd;

	s->w = wx_new(&(struct vd_limits){.max_qps = 4,
		.max_mrs = 4,
		.max_pds = 4,
		.max_cqs = 4,
		.max_channels = 4,
		.max_ahs = 4,
		.max_cm_ids = 4,
		.max_sessions = 4,
		.max_send_wr = 64,
		.max_recv_wr = 64,
		.max_cqe = 128});
	wx_connect(s->w, &s->c);
	wx_hello(&s->c);
	s->pd = wx_pd(&s->c);
	s->key = wx_mr(&s->c, s->pd, s->buf, sizeof(s->buf), &s->mr);
	wx_channel(&s->c, &s->channel, &fd);
	close(fd);
	wx_make_cq(&s->c, 64, s->channel, 1, &s->cq);
	wx_make_qp(&s->c, s->pd, &s->cq, 16, &s->qp);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	wx_close(&s->c);
	wx_expect_empty(s->w);
	wx_free(s->w);
	free(s);
	return 0;
}

static uint64_t bad_requests(struct scene *s)
{
	struct vd_stats stats;

	wx_stats(s->w, &stats);
	return stats.bad_requests;
}

/* The client is still served, and all it had is there. */
static void expect_unharmed(struct scene *s)
{
	struct vd_stats stats;

	assert_int_equal(wx_object(&s->c, VC_QUERY_QP, s->qp.handle, NULL), 0);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.pds, 1);
	assert_int_equal(stats.mrs, 1);
	assert_int_equal(stats.cqs, 1);
	assert_int_equal(stats.qps, 1);
}

static void requests_before_hello(void **state)
{
	struct scene *s = *state;
	struct wx_client c;

	wx_connect(s->w, &c);
	for (uint32_t op = VC_QUERY_DEVICE; op <= VC_CM_LEAVE_MCAST; op++) {
		struct vc_request request = {.op = op};
		uint64_t before = bad_requests(s);
		int status = wx_call(&c, &request, NULL);

		assert_true(status == -ENOTCONN || status == -ENOSYS);
		assert_int_equal(bad_requests(s), before + 1);
	}
	wx_close(&c);
	expect_unharmed(s);
}

static void bad_hellos(void **state)
{
	struct scene *s = *state;
	struct vc_request request = {
		.op = VC_HELLO_VERBS, .hello = {VC_MAGIC, VC_VERSION, "roced9"}};
	struct wx_client c;

	wx_connect(s->w, &c);
	assert_int_equal(wx_call(&c, &request, NULL), -ENODEV);
	memset(request.hello.device, 'x', VC_NAME_BYTES); /* no end */
	assert_int_equal(wx_call(&c, &request, NULL), -ENODEV);
	request.hello.version++;
	assert_int_equal(wx_call(&c, &request, NULL), -EPROTONOSUPPORT);
	request.hello.magic++;
	assert_int_equal(wx_call(&c, &request, NULL), -EINVAL);
	wx_hello(&c);
	request = (struct vc_request){.op = VC_HELLO_VERBS, .hello = {VC_MAGIC, VC_VERSION, ""}};
	assert_int_equal(wx_call(&c, &request, NULL), -EISCONN);
	request.op = VC_HELLO_CM;
	assert_int_equal(wx_call(&c, &request, NULL), -EISCONN);
	wx_close(&c);
	expect_unharmed(s);
}

static void messages_of_every_length(void **state)
{
	struct scene *s = *state;
	uint8_t big[sizeof(struct vc_request) + 64] = {0};
	struct vc_reply reply;
	int fds[3];

	for (size_t n = 1; n <= sizeof(big); n++) {
		struct vc_request *request = (struct vc_request *)(void *)big;
		uint64_t before = bad_requests(s);

		request->op = VC_MODIFY_QP;
		request->seq = (uint32_t)n;
		request->modify_qp.handle = 0;
		assert_true(wx_call_raw(&s->c, big, n, &reply, fds) < 0);
		assert_int_equal(reply.seq, n >= HEADER ? n : reply.seq);
		assert_int_equal(bad_requests(s), before + 1);
	}
	expect_unharmed(s);
}

static void unknown_operations(void **state)
{
	static const uint32_t ops[] = {
		0, VC_OPEN_QP + 1, 63, VC_CM_LEAVE_MCAST + 1, 0x7fffffff, 0xffffffff};
	struct scene *s = *state;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct vc_request request = {.op = ops[i]};

		assert_int_equal(wx_call(&s->c, &request, NULL), -ENOSYS);
	}
	expect_unharmed(s);
}

static void wrong_handles(void **state)
{
	static const enum vc_op ops[] = {VC_DEALLOC_PD, VC_DEREG_MR, VC_DESTROY_COMP_CHANNEL,
		VC_DESTROY_CQ, VC_QUERY_QP, VC_DESTROY_QP, VC_DESTROY_AH, VC_QUERY_SRQ,
		VC_DESTROY_SRQ, VC_DEALLOC_MW, VC_CLOSE_XRCD};
	static const uint32_t handles[] = {0, 3, 0xffff, 0x10000, 0x10001, 0xffff0001, 0xffffffff};
	struct scene *s = *state;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		for (size_t k = 0; k < sizeof(handles) / sizeof(handles[0]); k++) {
			uint64_t before = bad_requests(s);

			assert_int_equal(wx_object(&s->c, ops[i], handles[k], NULL), -EINVAL);
			assert_int_equal(bad_requests(s), before + 1);
		}
	}
	expect_unharmed(s);
}

static void stale_and_foreign_handles(void **state)
{
	struct scene *s = *state;
	struct wx_client c;
	uint32_t first = wx_pd(&s->c), again, other, foreign;

	assert_int_equal(wx_object(&s->c, VC_DEALLOC_PD, first, NULL), 0);
	assert_int_equal(wx_object(&s->c, VC_DEALLOC_PD, first, NULL), -EINVAL);
	for (int i = 0; i < 20; i++) {
		again = wx_pd(&s->c);
		assert_int_not_equal(again, first);
		assert_int_equal(wx_object(&s->c, VC_DEALLOC_PD, again, NULL), 0);
	}
	/* Another client's handle names nothing here. */
	wx_connect(s->w, &c);
	wx_hello(&c);
	other = wx_pd(&c);
	foreign = wx_pd(&c);
	assert_int_equal(wx_object(&s->c, VC_DEALLOC_PD, foreign, NULL), -EINVAL);
	assert_int_equal(wx_object(&c, VC_QUERY_QP, s->qp.handle, NULL), -EINVAL);
	assert_int_equal(wx_object(&c, VC_DEALLOC_PD, other, NULL), 0);
	wx_close(&c);
	expect_unharmed(s);
}

static void objects_in_use_stay(void **state)
{
	struct scene *s = *state;

	assert_int_equal(wx_object(&s->c, VC_DEALLOC_PD, s->pd, NULL), -EBUSY);
	assert_int_equal(wx_object(&s->c, VC_DESTROY_CQ, s->cq.handle, NULL), -EBUSY);
	assert_int_equal(wx_object(&s->c, VC_DESTROY_COMP_CHANNEL, s->channel, NULL), -EBUSY);
	expect_unharmed(s);
}

static void bad_queue_pairs(void **state)
{
	struct scene *s = *state;
	struct vc_request request;
	struct vd_stats before, after;

	wx_stats(s->w, &before);
#define CREATE(change, error)                                                                      \
	do {                                                                                       \
		wx_create_qp_request(s->pd, &s->cq, 4, &request);                                  \
		change;                                                                            \
		assert_int_equal(wx_call(&s->c, &request, NULL), error);                           \
	} while (0)
	CREATE(request.create_qp.pd = 0, -EINVAL);
	CREATE(request.create_qp.send_cq = s->qp.handle + 0x10000, -EINVAL);
	CREATE(request.create_qp.recv_cq = 0xffffffff, -EINVAL);
	CREATE(request.create_qp.type = IBV_QPT_RAW_PACKET, -EOPNOTSUPP);
	CREATE(request.create_qp.type = IBV_QPT_DRIVER, -EOPNOTSUPP);
	CREATE(request.create_qp.type = IBV_QPT_XRC_RECV, -EINVAL); /* of no domain */
	CREATE(request.create_qp.type = 0, -EINVAL);
	CREATE(request.create_qp.type = 0xffffffff, -EINVAL);
	CREATE(request.create_qp.max_send_wr = 65, -EINVAL);
	CREATE(request.create_qp.max_recv_wr = 0xffffffff, -EINVAL);
	CREATE(request.create_qp.max_send_sge = TP_MAX_SGE + 1, -EINVAL);
	CREATE(request.create_qp.max_recv_sge = 0xffffffff, -EINVAL);
	CREATE(request.create_qp.max_inline_bytes = 257, -EINVAL);
#undef CREATE
	wx_stats(s->w, &after);
	assert_int_equal(after.shm_bytes_used, before.shm_bytes_used);
	expect_unharmed(s);
}

static void bad_modifications(void **state)
{
	struct scene *s = *state;
	struct vc_qp_attr attr;

	wx_attr(&attr, IBV_QPS_INIT, 0);
	assert_int_equal(wx_modify(&s->qp, &attr), 0);
#define MODIFY(change, error)                                                                      \
	do {                                                                                       \
		wx_attr(&attr, IBV_QPS_RTR, 5);                                                    \
		change;                                                                            \
		assert_int_equal(wx_modify(&s->qp, &attr), error);                                 \
		assert_int_equal(s->w->links, 0);                                                  \
	} while (0)
	MODIFY(attr.state = 7, -EINVAL);
	MODIFY(attr.state = IBV_QPS_RTS, -EINVAL);
	MODIFY(attr.mask |= 1u << 30, -EINVAL);
	MODIFY(attr.mask |= IBV_QP_ALT_PATH, -EOPNOTSUPP);
	MODIFY(attr.mask &= ~(uint32_t)IBV_QP_AV, -EINVAL);
	MODIFY(attr.mask &= ~(uint32_t)IBV_QP_DEST_QPN, -EINVAL);
	MODIFY(attr.path_mtu = 0, -EINVAL);
	MODIFY(attr.path_mtu = IBV_MTU_2048, -EINVAL); /* the port takes 1024 */
	MODIFY(attr.path_mtu = 255, -EINVAL);
	MODIFY(attr.max_dest_rd_atomic = 129, -EINVAL);
	MODIFY(attr.av.sgid_index = 4, -EINVAL);
	MODIFY(attr.av.sgid_index = 255, -EINVAL);
	MODIFY(attr.av.sgid_index = 0, -EINVAL); /* IPv6 to IPv4 */
	MODIFY(memset(attr.av.dgid, 0, 16), -EINVAL);
	MODIFY((attr.mask |= IBV_QP_PORT, attr.port = 2), -EINVAL);
	MODIFY((attr.mask |= IBV_QP_PKEY_INDEX, attr.pkey_index = 1), -EINVAL);
#undef MODIFY
	wx_attr(&attr, IBV_QPS_RTR, 5);
	assert_int_equal(wx_modify(&s->qp, &attr), 0);
	expect_unharmed(s);
}

static void bad_regions(void **state)
{
	struct scene *s = *state;
	struct vc_request request;

#define REGISTER(change, error)                                                                    \
	do {                                                                                       \
		request = (struct vc_request){.op = VC_REG_MR};                                    \
		request.reg_mr.pd = s->pd;                                                         \
		request.reg_mr.access = IBV_ACCESS_LOCAL_WRITE;                                    \
		request.reg_mr.addr = request.reg_mr.iova = (uintptr_t)s->buf;                     \
		request.reg_mr.bytes = sizeof(s->buf);                                             \
		change;                                                                            \
		assert_int_equal(wx_call(&s->c, &request, NULL), error);                           \
	} while (0)
	REGISTER(request.reg_mr.pd = 0, -EINVAL);
	REGISTER(request.reg_mr.bytes = 0, -EINVAL);
	REGISTER(request.reg_mr.bytes = UINT64_MAX, -EFAULT);
	REGISTER(request.reg_mr.addr = 16, -EFAULT);
	REGISTER(request.reg_mr.addr = UINT64_MAX - 5, -EFAULT);
	REGISTER(request.reg_mr.addr = 0xffffffff80000000ull, -EFAULT); /* the kernel's */
	REGISTER(request.reg_mr.iova = UINT64_MAX - 5, -EINVAL);
	REGISTER(request.reg_mr.access = IBV_ACCESS_REMOTE_WRITE, -EINVAL); /* 10.6.3.1 */
	REGISTER(request.reg_mr.access |= 1u << 8, -EOPNOTSUPP); /* FLUSH */
	/* On demand nothing is looked at, but addresses still must not wrap. */
	REGISTER((request.reg_mr.access |= IBV_ACCESS_ON_DEMAND, request.reg_mr.bytes = UINT64_MAX), -EINVAL);
	REGISTER(request.reg_mr.access |= 1u << 31, -EOPNOTSUPP);
#undef REGISTER
	expect_unharmed(s);
}

static void limits_hold(void **state)
{
	struct scene *s = *state;
	struct vc_request request;
	struct wx_client c[4];
	struct vc_reply reply;
	struct vd_stats stats;
	struct wx_qp qp;
	struct wx_cq cq;
	char byte;
	int fds[3];

	for (int i = 0; i < 3; i++) {
		wx_pd(&s->c);
		wx_make_cq(&s->c, 1, 0, 0, &cq);
		wx_make_qp(&s->c, s->pd, &s->cq, 1, &qp);
		wx_mr(&s->c, s->pd, s->buf, 1, NULL);
	}
	assert_int_equal(wx_object(&s->c, VC_ALLOC_PD, 0, NULL), -ENOMEM);
	request = (struct vc_request){.op = VC_CREATE_CQ, .create_cq.depth = 1};
	assert_int_equal(wx_call(&s->c, &request, NULL), -ENOMEM);
	request.create_cq.depth = 129;
	assert_int_equal(wx_call(&s->c, &request, NULL), -EINVAL);
	wx_create_qp_request(s->pd, &s->cq, 1, &request);
	assert_int_equal(wx_call(&s->c, &request, NULL), -ENOMEM);
	request = (struct vc_request){.op = VC_REG_MR};
	request.reg_mr.pd = s->pd;
	request.reg_mr.addr = (uintptr_t)s->buf;
	request.reg_mr.bytes = 1;
	assert_int_equal(wx_call(&s->c, &request, NULL), -ENOMEM);
	for (int i = 0; i < 4; i++)
		wx_connect(s->w, &c[i]);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.sessions, 4);
	assert_int_equal(stats.refused_sessions, 1);
	/* told and closed, not left waiting */
	assert_true(wx_recv(&c[3], &reply, fds));
	assert_int_equal(reply.op, VC_REFUSED);
	assert_int_equal(reply.status, -EAGAIN);
	assert_int_equal(recv(c[3].sock, &byte, 1, MSG_DONTWAIT), 0);
	for (int i = 0; i < 4; i++)
		wx_close(&c[i]);
}

static void descriptors_nobody_asked_for(void **state)
{
	struct scene *s = *state;
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(int) * 64)];
	} control = {0};
	struct vc_request request = {.op = VC_ALLOC_PD};
	struct iovec iov = {.iov_base = &request, .iov_len = sizeof(request)};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	struct vc_reply reply;
	char byte;
	int pipe_fds[2], many[64], fds[3];

	assert_int_equal(pipe(pipe_fds), 0);
	for (int i = 0; i < 64; i++)
		many[i] = pipe_fds[1];
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(many));
	memcpy(CMSG_DATA(cmsg), many, sizeof(many));
	assert_int_equal(sendmsg(s->c.sock, &msg, 0), sizeof(request));
	wx_pump(s->w);
	assert_true(wx_recv(&s->c, &reply, fds));
	assert_int_equal(reply.status, -EBADMSG);
	/* None of them stayed open in the daemon, which is this process: the pipe has no writer any
	 * more. */
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 0);
	close(pipe_fds[0]);
	expect_unharmed(s);
}

/* ---- shared memory ---- */

static void up(struct scene *s)
{
	wx_up(&s->qp, s->qp.qpn);
}

static uint32_t state_of(struct scene *s)
{
	struct vc_reply reply;

	assert_int_equal(wx_object(&s->c, VC_QUERY_QP, s->qp.handle, &reply), 0);
	return reply.qp_attr.state;
}

static void expect_async(struct scene *s, uint32_t type, uint64_t cookie)
{
	struct vc_async_msg msg;

	assert_int_equal(recv(s->c.async_fd, &msg, sizeof(msg), MSG_DONTWAIT), sizeof(msg));
	assert_int_equal(msg.type, type);
	assert_int_equal(msg.cookie, cookie);
}

static void impossible_producer_index(void **state)
{
	static const uint32_t indices[] = {17, 0x80000000, 0xffffffff};
	struct scene *s = *state;
	struct vd_stats stats;
	struct vc_qp_attr attr;

	for (uint32_t i = 0; i < 6; i++) {
		struct vc_queue *queue = i < 3 ? s->qp.sq : s->qp.rq;
		uint32_t base = queue->cons;

		up(s);
		/* A receive queue is looked at when a message comes. */
		if (i >= 3)
			wx_post(&s->qp, &(struct tp_send_wqe){.opcode = TP_WR_SEND}, NULL, NULL);
		queue->prod = base + indices[i % 3];
		wx_ring(&s->qp);
		wx_pump(s->w);
		wx_stats(s->w, &stats);
		assert_int_equal(stats.bad_indices, i + 1);
		assert_int_equal(state_of(s), IBV_QPS_ERR);
		expect_async(s, IBV_EVENT_QP_FATAL, 0xc00c1e);
		wx_attr(&attr, IBV_QPS_RESET, 0);
		assert_int_equal(wx_modify(&s->qp, &attr), 0);
		assert_int_equal(queue->cons, queue->prod);
		s->qp.sq_prod = s->qp.sq->prod;
		s->qp.rq_prod = s->qp.rq->prod;
		while (wx_poll(&s->cq) != NULL)
			;
	}
	/* After a reset the queue serves again. */
	up(s);
	wx_post_recv(&s->qp, 5, 0, NULL);
	wx_post(&s->qp,
		&(struct tp_send_wqe){.wr_id = 6, .opcode = TP_WR_SEND, .flags = TP_SEND_SIGNALED},
		NULL, NULL);
	wx_pump(s->w);
	assert_int_equal(wx_poll(&s->cq)->wr_id, 5);
	assert_int_equal(wx_poll(&s->cq)->wr_id, 6);
}

static void malformed_work_requests(void **state)
{
	static const struct tp_send_wqe bad[] = {
		{.wr_id = 1, .opcode = TP_WR_SEND, .num_sge = 3},
		{.wr_id = 2, .opcode = TP_WR_SEND, .num_sge = 255},
		{.wr_id = 3, .opcode = TP_WR_SEND, .flags = TP_SEND_INLINE, .inline_bytes = 65},
		{.wr_id = 4,
			.opcode = TP_WR_SEND,
			.flags = TP_SEND_INLINE,
			.inline_bytes = 0xffffffff},
		{.wr_id = 5,
			.opcode = TP_WR_SEND,
			.flags = TP_SEND_INLINE,
			.inline_bytes = 1,
			.num_sge = 1},
		{.wr_id = 6, .opcode = 200},
	};
	struct scene *s = *state;
	struct vc_qp_attr attr;
	struct vd_stats stats;

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct tp_cqe *cqe;
		uint8_t *slot;

		up(s);
		slot = (uint8_t *)(s->qp.sq + 1) +
		       (size_t)(s->qp.sq_prod & (s->qp.sq_depth - 1)) * s->qp.sq_slot_bytes;
		memcpy(slot, &bad[i], sizeof(bad[i]));
		s->qp.sq->prod = ++s->qp.sq_prod;
		wx_ring(&s->qp);
		wx_pump(s->w);
		cqe = wx_poll(&s->cq);
		assert_non_null(cqe);
		assert_int_equal(cqe->wr_id, bad[i].wr_id);
		assert_int_equal(cqe->status, TP_WC_LOC_QP_OP_ERR);
		assert_int_equal(s->qp.sq->cons, s->qp.sq_prod);
		wx_attr(&attr, IBV_QPS_RESET, 0);
		assert_int_equal(wx_modify(&s->qp, &attr), 0);
	}
	wx_stats(s->w, &stats);
	assert_int_equal(stats.bad_wqes, 5);
}

static void malformed_receive(void **state)
{
	struct scene *s = *state;
	const struct tp_cqe *cqe;
	struct vd_stats stats;

	up(s);
	((struct tp_recv_wqe *)(s->qp.rq + 1))->num_sge = 0xffffffff;
	((struct tp_recv_wqe *)(s->qp.rq + 1))->wr_id = 77;
	s->qp.rq->prod = 1;
	wx_post(&s->qp,
		&(struct tp_send_wqe){.wr_id = 1, .opcode = TP_WR_SEND, .flags = TP_SEND_SIGNALED},
		NULL, NULL);
	wx_pump(s->w);
	cqe = wx_poll(&s->cq);
	assert_non_null(cqe);
	assert_int_equal(cqe->wr_id, 77);
	assert_int_equal(cqe->status, TP_WC_LOC_QP_OP_ERR);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.bad_wqes, 1);
	assert_int_equal(state_of(s), IBV_QPS_ERR);
}

static void full_completion_queue(void **state)
{
	struct scene *s = *state;
	struct vd_stats stats;

	up(s);
	for (int i = 0; i < 65; i++) {
		wx_post(&s->qp,
			&(struct tp_send_wqe){.opcode = TP_WR_WRITE, .flags = TP_SEND_SIGNALED},
			NULL, NULL);
		wx_pump(s->w);
	}
	wx_stats(s->w, &stats);
	assert_true(stats.cq_overflows >= 1);
	assert_int_equal(stats.bad_indices, 0);
	assert_int_equal(state_of(s), IBV_QPS_ERR);
	expect_async(s, IBV_EVENT_CQ_ERR, 1);
}

static void impossible_consumer_index(void **state)
{
	static const uint32_t ahead[] = {1, 100, 0x7fffffff, 0xf0000000};
	struct scene *s = *state;
	struct vc_qp_attr attr;
	struct vd_stats stats;

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t n = s->cq.cons;

		up(s);
		s->cq.ring->cons = n + ahead[i];
		wx_post(&s->qp,
			&(struct tp_send_wqe){.opcode = TP_WR_WRITE, .flags = TP_SEND_SIGNALED},
			NULL, NULL);
		wx_pump(s->w);
		wx_stats(s->w, &stats);
		assert_true(stats.bad_indices >= i + 1);
		assert_int_equal(state_of(s), IBV_QPS_ERR);
		s->cq.ring->cons = n;
		wx_attr(&attr, IBV_QPS_RESET, 0);
		assert_int_equal(wx_modify(&s->qp, &attr), 0);
		s->qp.sq_prod = s->qp.sq->cons;
	}
}

/* A client that stores noise everywhere, all the time, harms itself only. */
static void noise_in_shared_memory(void **state)
{
	struct scene *s = *state;
	uint64_t x = 88172645463325252u;

	up(s);
	for (int round = 0; round < 60; round++) {
		struct vc_qp_attr attr;
		uint32_t *words = (uint32_t *)s->c.shm;

		for (uint32_t i = 0; i < 65536 / 4; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			if (round % 3 != 0 || x % 5 == 0)
				words[i] = (uint32_t)x & (round % 2 ? 0xffffffff : 0x1f);
		}
		memset(s->c.shm->doorbell, 0xff, sizeof(s->c.shm->doorbell));
		wx_pump(s->w);
		wx_attr(&attr, IBV_QPS_RESET, 0);
		assert_int_equal(wx_modify(&s->qp, &attr), 0);
		up(s);
	}
	expect_unharmed(s);
}

static void memory_that_went_away(void **state)
{
	struct scene *s = *state;
	void *page = NULL;
	struct tp_sge sge;
	const struct tp_cqe *cqe;
	struct vd_stats stats;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sge = (struct tp_sge){(uintptr_t)page, 4096, wx_mr(&s->c, s->pd, page, 4096, NULL)};
	munmap(page, 4096);
	up(s);
	wx_post(&s->qp, &(struct tp_send_wqe){.wr_id = 9, .opcode = TP_WR_SEND, .num_sge = 1}, &sge,
		NULL);
	wx_pump(s->w);
	cqe = wx_poll(&s->cq);
	assert_non_null(cqe);
	assert_int_equal(cqe->wr_id, 9);
	assert_int_equal(cqe->status, TP_WC_LOC_PROT_ERR);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.copy_faults, 1);
}

/* Answers nobody reads: the session ends, the daemon never waits. */
static void client_that_never_reads(void **state)
{
	struct scene *s = *state;
	struct vc_request request = {.op = VC_LIST_DEVICES};
	struct pollfd fd;
	struct wx_client c;
	struct vd_stats stats;

	wx_connect(s->w, &c);
	fd = (struct pollfd){.fd = c.sock, .events = POLLOUT};
	for (int i = 0; i < 10000; i++) {
		if (send(c.sock, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
			errno == EPIPE)
			break;
		wx_pump(s->w);
		(void)poll(&fd, 1, 0);
	}
	wx_stats(s->w, &stats);
	assert_int_equal(stats.sessions, 1);
	close(c.sock);
	expect_unharmed(s);
}

/* Whoever connects again and again fills no log. */
static void refusals_are_not_all_logged(void **state)
{
	struct scene *s = *state;
	struct vd_stats stats;
	struct wx_client c[3], more;

	for (int i = 0; i < 3; i++)
		wx_connect(s->w, &c[i]);
	for (int i = 0; i < 100; i++) {
		wx_connect(s->w, &more);
		close(more.sock);
	}
	wx_stats(s->w, &stats);
	assert_int_equal(stats.refused_sessions, 100);
	assert_in_range(s->w->log_lines, 1, 20);
	for (int i = 0; i < 3; i++)
		wx_close(&c[i]);
	expect_unharmed(s);
}

/* The client closed its end of a completion channel. */
static void closed_completion_channel(void **state)
{
	struct scene *s = *state;
	struct vd_stats stats;

	up(s); /* setup() has closed the channel's descriptor */
	s->cq.ring->armed = VC_ARM_ANY;
	wx_post(&s->qp, &(struct tp_send_wqe){.opcode = TP_WR_WRITE, .flags = TP_SEND_SIGNALED},
		NULL, NULL);
	wx_pump(s->w);
	assert_non_null(wx_poll(&s->cq));
	wx_stats(s->w, &stats);
	assert_int_equal(stats.events_lost, 1);
	expect_unharmed(s);
}

static void out_of_descriptors(void **state)
{
	struct scene *s = *state;
	struct rlimit before, tight;
	struct wx_client c;
	struct vd_stats stats;
	char byte;
	int probe;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	probe = dup(0);
	close(probe);
	tight = before;
	tight.rlim_cur = (rlim_t)probe + 1; /* one more descriptor: the client's own socket */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	wx_connect(s->w, &c);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.refused_sessions, 1);
	assert_int_equal(recv(c.sock, &byte, 1, MSG_DONTWAIT), 0);
	close(c.sock);
	/* Afterwards clients are taken again. */
	wx_connect(s->w, &c);
	wx_hello(&c);
	wx_close(&c);
	expect_unharmed(s);
}

/* ---- an unprivileged process ---- */

/* In a child: says hello as nobody; the status goes through the pipe. */
static void child(const char *path, int tell, bool dumpable)
{
	struct vc_request hello = {.op = VC_HELLO_VERBS, .hello = {VC_MAGIC, VC_VERSION, ""}};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct vc_reply reply;

	alarm(30);
	memcpy(addr.sun_path, path, sizeof(addr.sun_path));
	if (setgid(65534) != 0 || setuid(65534) != 0 ||
		prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0) != 0 ||
		connect(sock, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		_exit(1);
	if (send(sock, &hello, sizeof(hello), 0) < 0 || recv(sock, &reply, sizeof(reply), 0) < 0)
		_exit(1);
	_exit(write(tell, &reply.status, sizeof(reply.status)) == sizeof(reply.status) ? 0 : 1);
}

static int status_of_nobody(struct scene *s, bool dumpable)
{
	int tell[2], status = 1, rc = -1;
	pid_t pid;

	assert_int_equal(pipe2(tell, O_NONBLOCK), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(s->w->path, tell[1], dumpable);
	for (int i = 0; i < 5000 && read(tell[0], &status, sizeof(status)) < 0; i++) {
		wx_pump(s->w);
		usleep(1000);
	}
	assert_int_equal(waitpid(pid, &rc, 0), pid);
	assert_int_equal(rc, 0);
	close(tell[0]);
	close(tell[1]);
	wx_pump(s->w);
	return status;
}

/* Memory of a process that is not its caller's to read (as after running a set-uid program) is not
 * reached. */
static void memory_of_protected_processes(void **state)
{
	struct scene *s = *state;

	if (geteuid() != 0) {
		print_message("skipped: needs root to become somebody else\n");
		return;
	}
	assert_int_equal(status_of_nobody(s, true), 0);
	assert_int_equal(status_of_nobody(s, false), -EACCES);
	expect_unharmed(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(requests_before_hello),
		TEST(bad_hellos),
		TEST(messages_of_every_length),
		TEST(unknown_operations),
		TEST(wrong_handles),
		TEST(stale_and_foreign_handles),
		TEST(objects_in_use_stay),
		TEST(bad_queue_pairs),
		TEST(bad_modifications),
		TEST(bad_regions),
		TEST(limits_hold),
		TEST(descriptors_nobody_asked_for),
		TEST(impossible_producer_index),
		TEST(malformed_work_requests),
		TEST(malformed_receive),
		TEST(full_completion_queue),
		TEST(impossible_consumer_index),
		TEST(noise_in_shared_memory),
		TEST(memory_that_went_away),
		TEST(client_that_never_reads),
		TEST(closed_completion_channel),
		TEST(out_of_descriptors),
		TEST(refusals_are_not_all_logged),
		TEST(memory_of_protected_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
