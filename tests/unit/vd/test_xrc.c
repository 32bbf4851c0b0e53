/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC through the client contract (IBTA vol. 1, annex A14): domains of files, targets that several contexts have
 * open, and what is left when one of them dies. Contexts go to the two workers in turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

#define BUF 4096

/* Who takes part: the first makes the target, the second (of the other worker, so that it has to move) has the
 * shared receive queue, and the third sends. */
struct party {
	struct wx_client c;
	uint32_t pd, key, xrcd;
	struct wx_cq cq;
	struct wx_srq srq;
	uint32_t srqn;
	struct wx_qp qp;
	uint8_t buf[BUF];
};

struct scene {
	struct wx_world *w;
	struct party maker, owner, sender;
	int file;
};

static int open_xrcd(struct wx_client *c, int fd, int oflags, uint32_t *handle)
{
	struct vc_request request = {.op = VC_OPEN_XRCD, .open_xrcd = {.fd = fd, .oflags = (uint32_t)oflags}};
	struct vc_reply reply;
	int err = wx_call(c, &request, &reply);

	if (err == 0 && handle != NULL)
		*handle = reply.object.handle;
	return err;
}

static void enter(struct scene *s, struct party *p)
{
	wx_connect(s->w, &p->c);
	wx_hello(&p->c);
}

static void equip(struct party *p)
{
	p->pd = wx_pd(&p->c);
	p->key = wx_mr(&p->c, p->pd, p->buf, BUF, NULL);
	wx_make_cq(&p->c, 64, 0, 0, &p->cq);
}

static int create_srq(struct party *p, uint32_t xrcd, uint32_t cq)
{
	struct vc_request request = {.op = VC_CREATE_SRQ,
		.create_srq = {.pd = p->pd, .max_wr = 16, .max_sge = 2, .xrcd = xrcd, .cq = cq}};
	struct vc_reply reply;
	int err = wx_call(&p->c, &request, &reply);

	if (err != 0)
		return err;
	p->srqn = reply.srq.number;
	p->srq = (struct wx_srq){
		.c = &p->c,
		.handle = reply.srq.handle,
		.depth = reply.srq.depth,
		.slot_bytes = reply.srq.slot_bytes,
		.ring = (struct vc_queue *)((uint8_t *)p->c.shm + reply.srq.offset),
	};
	return 0;
}

static void make_target(struct party *p)
{
	struct vc_request request = {.op = VC_CREATE_QP, .create_qp = {.type = IBV_QPT_XRC_RECV, .xrcd = p->xrcd}};

	wx_make_qp_as(&p->c, &request, &p->qp);
}

static int open_target(struct party *p, uint32_t qpn)
{
	struct vc_request request = {.op = VC_OPEN_QP, .open_qp = {.xrcd = p->xrcd, .qpn = qpn, .cookie = 77}};
	struct vc_reply reply;
	int err = wx_call(&p->c, &request, &reply);

	if (err == 0)
		p->qp = (struct wx_qp){
			.c = &p->c, .handle = reply.qp.handle, .qpn = reply.qp.qpn, .type = IBV_QPT_XRC_RECV};
	return err;
}

static void make_initiator(struct party *p)
{
	struct vc_request request;

	wx_create_qp_request(p->pd, &p->cq, 16, &request);
	request.create_qp.type = IBV_QPT_XRC_SEND;
	request.create_qp.recv_cq = 0;
	wx_make_qp_as(&p->c, &request, &p->qp);
}

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->w = wx_new(NULL);
	s->file = memfd_create("domain", MFD_CLOEXEC);
	enter(s, &s->maker);
	enter(s, &s->owner);
	enter(s, &s->sender);
	assert_int_equal(open_xrcd(&s->maker.c, s->file, O_CREAT, &s->maker.xrcd), 0);
	assert_int_equal(open_xrcd(&s->owner.c, s->file, 0, &s->owner.xrcd), 0);
	equip(&s->owner);
	equip(&s->sender);
	assert_int_equal(create_srq(&s->owner, s->owner.xrcd, s->owner.cq.handle), 0);
	make_target(&s->maker);
	make_initiator(&s->sender);
	wx_up(&s->maker.qp, s->sender.qp.qpn);
	wx_up(&s->sender.qp, s->maker.qp.qpn);
	*state = s;
	return 0;
}

static void leave(struct party *p)
{
	if (p->c.shm != NULL)
		wx_close(&p->c);
	p->c.shm = NULL;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	leave(&s->maker);
	leave(&s->owner);
	leave(&s->sender);
	close(s->file);
	wx_expect_empty(s->w);
	wx_free(s->w);
	free(s);
	return 0;
}

static void post(struct scene *s, uint64_t wr_id)
{
	const struct tp_sge sge = {(uintptr_t)s->owner.buf, BUF, s->owner.key};

	wx_post_srq(&s->owner.srq, wr_id, 1, &sge);
}

static void send_to(struct scene *s, uint32_t srqn)
{
	const struct tp_send_wqe wqe = {.wr_id = 1,
		.opcode = TP_WR_SEND,
		.flags = TP_SEND_INLINE | TP_SEND_SIGNALED,
		.inline_bytes = 5,
		.srqn = srqn};

	wx_post(&s->sender.qp, &wqe, NULL, "hello");
	wx_pump(s->w);
}

static void expect(struct wx_cq *cq, enum tp_wc_status status, uint32_t qpn)
{
	const struct tp_cqe *cqe = wx_poll(cq);

	assert_non_null(cqe);
	assert_int_equal(cqe->status, status);
	assert_int_equal(cqe->qpn, qpn);
}

static void expect_message(struct scene *s)
{
	uint32_t qpn = s->maker.qp.qpn;

	memset(s->owner.buf, 0, BUF);
	post(s, 5);
	send_to(s, s->owner.srqn);
	expect(&s->owner.cq, TP_WC_SUCCESS, qpn);
	expect(&s->sender.cq, TP_WC_SUCCESS, s->sender.qp.qpn);
	assert_memory_equal(s->owner.buf, "hello", 5);
}

static uint32_t n_domains(struct scene *s)
{
	struct vd_stats stats;

	wx_stats(s->w, &stats);
	return stats.xrcds;
}

/* The target of one process receives into the memory of another, for its completion queue. */
static void messages_for_another_process(void **state)
{
	struct scene *s = *state;

	for (int i = 0; i < 20; i++)
		expect_message(s);
}

/* ... and its remote operations are checked against the other's domain of protection. */
static void writes_to_another_process(void **state)
{
	struct scene *s = *state;
	struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE,
		.flags = TP_SEND_INLINE | TP_SEND_SIGNALED,
		.inline_bytes = 4,
		.srqn = s->owner.srqn,
		.remote_addr = (uintptr_t)s->owner.buf + 8,
		.rkey = s->owner.key};

	wx_post(&s->sender.qp, &wqe, NULL, "over");
	wx_pump(s->w);
	expect(&s->sender.cq, TP_WC_SUCCESS, s->sender.qp.qpn);
	assert_memory_equal(s->owner.buf + 8, "over", 4);
}

/* The maker's death ends the target, unless somebody else has it open. */
static void target_lives_while_one_has_it(void **state)
{
	struct scene *s = *state;

	assert_int_equal(open_target(&s->owner, s->maker.qp.qpn), 0);
	assert_int_equal(s->owner.qp.qpn, s->maker.qp.qpn);
	leave(&s->maker);
	wx_pump(s->w);
	expect_message(s);
	/* The last one lets go of it. */
	assert_int_equal(wx_object(&s->owner.c, VC_CLOSE_XRCD, s->owner.xrcd, NULL), -EBUSY);
	assert_int_equal(wx_object(&s->owner.c, VC_DESTROY_QP, s->owner.qp.handle, NULL), 0);
	assert_int_equal(open_target(&s->owner, s->maker.qp.qpn), -EINVAL);
	send_to(s, s->owner.srqn);
	wx_pass(s->w, 10000 * WX_MS);
	expect(&s->sender.cq, TP_WC_RETRY_EXC_ERR, s->sender.qp.qpn);
	assert_int_equal(n_domains(s), 1);
}

/* The death of who has the queue leaves the target to the others; messages for the queue are refused. */
static void queue_dies_with_its_process(void **state)
{
	struct scene *s = *state;

	expect_message(s);
	post(s, 6);
	s->w->drop_frames = true;
	send_to(s, s->owner.srqn);
	s->w->drop_frames = false;
	leave(&s->owner);
	wx_pass(s->w, 2000 * WX_MS);
	expect(&s->sender.cq, TP_WC_REM_INV_RD_REQ_ERR, s->sender.qp.qpn);
}

/* What happens to a target is told to all that have it open. */
static void events_go_to_all(void **state)
{
	struct scene *s = *state;
	struct vc_async_msg msg;

	assert_int_equal(open_target(&s->owner, s->maker.qp.qpn), 0);
	while (recv(s->maker.c.async_fd, &msg, sizeof(msg), MSG_DONTWAIT) > 0)
		;
	send_to(s, 0xabcdef);
	assert_int_equal(recv(s->maker.c.async_fd, &msg, sizeof(msg), MSG_DONTWAIT), sizeof(msg));
	assert_int_equal(msg.type, IBV_EVENT_QP_REQ_ERR);
	assert_int_equal(recv(s->owner.c.async_fd, &msg, sizeof(msg), MSG_DONTWAIT), sizeof(msg));
	assert_int_equal(msg.type, IBV_EVENT_QP_REQ_ERR);
	assert_int_equal(msg.cookie, 77);
}

/* Either may move the target, whose state is one. */
static void one_state(void **state)
{
	struct scene *s = *state;
	struct vc_qp_attr attr = {.mask = IBV_QP_STATE, .state = IBV_QPS_RESET};
	struct vc_reply reply;

	assert_int_equal(open_target(&s->owner, s->maker.qp.qpn), 0);
	assert_int_equal(wx_modify(&s->owner.qp, &attr), 0);
	assert_int_equal(wx_object(&s->maker.c, VC_QUERY_QP, s->maker.qp.handle, &reply), 0);
	assert_int_equal(reply.qp_attr.state, IBV_QPS_RESET);
	wx_up(&s->owner.qp, s->sender.qp.qpn);
	assert_int_equal(wx_object(&s->maker.c, VC_QUERY_QP, s->maker.qp.handle, &reply), 0);
	assert_int_equal(reply.qp_attr.state, IBV_QPS_RTS);
	assert_int_equal(reply.qp_attr.dest_qpn, s->sender.qp.qpn);
	assert_int_equal(reply.qp_attr.av.sgid_index, 1);
}

static void up_with(struct wx_qp *qp, uint32_t dest_qpn, uint32_t to_rtr, uint32_t to_rts)
{
	struct vc_qp_attr attr = {.mask = IBV_QP_STATE, .state = IBV_QPS_RESET};

	assert_int_equal(wx_modify(qp, &attr), 0);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		wx_attr_of(qp, &attr, state, dest_qpn);
		attr.mask |= state == IBV_QPS_RTR ? to_rtr : state == IBV_QPS_RTS ? to_rts : 0;
		assert_int_equal(wx_modify(qp, &attr), 0);
	}
}

/* Programs give both ends all attributes of RC; those of the half that an end has not are left out, as with Linux. */
static void attributes_of_the_other_half(void **state)
{
	struct scene *s = *state;
	const uint32_t responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const uint32_t requester = IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;

	up_with(&s->sender.qp, s->maker.qp.qpn, responder, requester);
	up_with(&s->maker.qp, s->sender.qp.qpn, responder, requester);
}

/* Which domain a file has, and the flags, as with Linux. */
static void opening(void **state)
{
	struct scene *s = *state;
	struct party *p = &s->sender;
	int other = memfd_create("other", MFD_CLOEXEC), same = dup(s->file);
	uint32_t domain[2] = {0};

	assert_int_equal(open_xrcd(&p->c, 9999, O_CREAT, NULL), -EBADF);
	assert_int_equal(open_xrcd(&p->c, -2, O_CREAT, NULL), -EINVAL);
	assert_int_equal(open_xrcd(&p->c, other, O_CREAT | O_RDWR, NULL), -EINVAL);
	assert_int_equal(open_xrcd(&p->c, other, 0, NULL), -EAGAIN);
	assert_int_equal(n_domains(s), 1);
	assert_int_equal(open_xrcd(&p->c, other, O_CREAT | O_EXCL, &domain[0]), 0);
	assert_int_equal(open_xrcd(&p->c, other, O_CREAT | O_EXCL, NULL), -EINVAL);
	assert_int_equal(open_xrcd(&p->c, other, O_CREAT, &domain[1]), 0);
	assert_int_equal(n_domains(s), 2);
	/* A private one each time. */
	assert_int_equal(open_xrcd(&p->c, -1, O_CREAT, NULL), 0);
	assert_int_equal(open_xrcd(&p->c, -1, O_CREAT | O_EXCL, NULL), 0);
	assert_int_equal(n_domains(s), 4);
	/* The file is what counts, not the descriptor. */
	assert_int_equal(open_xrcd(&s->maker.c, same, O_CREAT | O_EXCL, NULL), -EINVAL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(wx_object(&p->c, VC_CLOSE_XRCD, domain[i], NULL), 0);
	assert_int_equal(n_domains(s), 3);
	assert_int_equal(open_xrcd(&p->c, other, 0, NULL), -EAGAIN);
	close(other);
	close(same);
}

/* A path descriptor can be had of a file that one may not open, and opens no domain either. */
static void a_path_is_not_enough(void **state)
{
	struct scene *s = *state;
	char path[32];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", s->file);
	fd = open(path, O_PATH | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(open_xrcd(&s->sender.c, fd, 0, NULL), -EBADF);
	assert_int_equal(open_xrcd(&s->sender.c, fd, O_CREAT, NULL), -EBADF);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(open_xrcd(&s->maker.c, fd, 0, NULL), 0);
	close(fd);
}

/* A context moves to the domain's worker while it has nothing; then it cannot. */
static void not_where_the_domain_is(void **state)
{
	struct scene *s = *state;
	struct party *late = calloc(1, sizeof(*late));
	struct vd_stats before, after;
	uint32_t mr;

	assert_non_null(late);
	enter(s, late);
	late->pd = wx_pd(&late->c);
	wx_make_cq(&late->c, 4, 0, 0, &late->cq);
	late->key = wx_mr(&late->c, late->pd, late->buf, BUF, &mr);
	wx_stats(s->w, &before);
	assert_int_equal(open_xrcd(&late->c, s->file, O_CREAT, NULL), -EXDEV);
	wx_stats(s->w, &after);
	assert_int_equal(after.xrcds, before.xrcds);
	assert_int_equal(wx_object(&late->c, VC_DEREG_MR, mr, NULL), 0);
	assert_int_equal(open_xrcd(&late->c, s->file, O_CREAT, &late->xrcd), 0);
	/* And works there. */
	late->key = wx_mr(&late->c, late->pd, late->buf, BUF, NULL);
	assert_int_equal(create_srq(late, late->xrcd, late->cq.handle), 0);
	wx_post_srq(&late->srq, 9, 1, &(struct tp_sge){(uintptr_t)late->buf, BUF, late->key});
	send_to(s, late->srqn);
	expect(&late->cq, TP_WC_SUCCESS, s->maker.qp.qpn);
	wx_close(&late->c);
	free(late);
}

static void in_use_they_stay(void **state)
{
	struct scene *s = *state;
	struct party *p = &s->owner;

	assert_int_equal(wx_object(&p->c, VC_CLOSE_XRCD, p->xrcd, NULL), -EBUSY);
	assert_int_equal(wx_object(&p->c, VC_DESTROY_CQ, p->cq.handle, NULL), -EBUSY);
	assert_int_equal(wx_object(&p->c, VC_DEALLOC_PD, p->pd, NULL), -EBUSY);
	assert_int_equal(wx_object(&p->c, VC_DESTROY_SRQ, p->srq.handle, NULL), 0);
	assert_int_equal(wx_object(&p->c, VC_CLOSE_XRCD, p->xrcd, NULL), 0);
	assert_int_equal(wx_object(&p->c, VC_DESTROY_CQ, p->cq.handle, NULL), 0);
	assert_int_equal(wx_object(&s->maker.c, VC_CLOSE_XRCD, s->maker.xrcd, NULL), -EBUSY);
	assert_int_equal(n_domains(s), 1);
}

static void bad_requests(void **state)
{
	struct scene *s = *state;
	struct party *p = &s->owner;
	struct vc_request request;
	uint32_t domain = 0, used;

	assert_int_equal(create_srq(p, p->xrcd + 0x10000, p->cq.handle), -EINVAL);
	assert_int_equal(create_srq(p, p->xrcd, 0), -EINVAL);
	/* An XRC queue is not for other services. */
	wx_create_qp_request(p->pd, &p->cq, 4, &request);
	request.create_qp.srq = p->srq.handle;
	assert_int_equal(wx_call(&p->c, &request, NULL), -EINVAL);
	wx_create_qp_request(p->pd, &p->cq, 4, &request);
	request.create_qp.type = IBV_QPT_XRC_SEND;
	request.create_qp.send_cq = 0;
	assert_int_equal(wx_call(&p->c, &request, NULL), -EINVAL);
	/* No such target, or in another domain. */
	assert_int_equal(open_target(p, s->sender.qp.qpn), -EINVAL);
	used = p->xrcd;
	assert_int_equal(open_xrcd(&p->c, -1, O_CREAT, &domain), 0);
	p->xrcd = domain;
	assert_int_equal(open_target(p, s->maker.qp.qpn), -EINVAL);
	p->xrcd = used;
	/* Bells of a target, and impossible indices of an initiator. */
	wx_ring(&s->maker.qp);
	s->sender.qp.sq->prod += 5000;
	wx_ring(&s->sender.qp);
	wx_pump(s->w);
	assert_true((s->maker.c.attr.cap_flags & IBV_DEVICE_XRC) != 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(messages_for_another_process),
		TEST(writes_to_another_process),
		TEST(target_lives_while_one_has_it),
		TEST(queue_dies_with_its_process),
		TEST(events_go_to_all),
		TEST(one_state),
		TEST(attributes_of_the_other_half),
		TEST(opening),
		TEST(a_path_is_not_enough),
		TEST(not_where_the_domain_is),
		TEST(in_use_they_stay),
		TEST(bad_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
