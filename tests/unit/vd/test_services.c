/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable connections and datagrams through the client contract: queue pairs of either service,
 * address handles that work requests name by the transport's number, and Q_Keys.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

#define BUF       4096
#define GRH_BYTES 40

/* Two clients, at different workers, with a queue pair each. */
struct pair {
	struct wx_world *w;
	struct wx_client c[2];
	uint32_t pd[2], key[2];
	struct wx_cq cq[2];
	struct wx_qp qp[2];
	uint8_t buf[2][BUF];
};

static struct pair *pair_new(enum ibv_qp_type type)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->w = wx_new(NULL);
	for (int i = 0; i < 2; i++) {
		wx_connect(p->w, &p->c[i]);
		wx_hello(&p->c[i]);
		p->pd[i] = wx_pd(&p->c[i]);
		p->key[i] = wx_mr(&p->c[i], p->pd[i], p->buf[i], BUF, NULL);
		wx_make_cq(&p->c[i], 16, 0, 0, &p->cq[i]);
		wx_make_qp_of(&p->c[i], p->pd[i], &p->cq[i], type, &p->qp[i]);
	}
	wx_up(&p->qp[0], p->qp[1].qpn);
	wx_up(&p->qp[1], p->qp[0].qpn);
	return p;
}

static void pair_free(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		wx_close(&p->c[i]);
	wx_expect_empty(p->w);
	wx_free(p->w);
	free(p);
}

static const struct tp_cqe *expect(struct wx_cq *cq, uint64_t wr_id, enum tp_wc_status status)
{
	const struct tp_cqe *cqe;

	wx_pump(cq->c->w);
	cqe = wx_poll(cq);
	assert_non_null(cqe);
	assert_int_equal(cqe->wr_id, wr_id);
	assert_int_equal(cqe->status, status);
	return cqe;
}

static void expect_nothing(struct wx_cq *cq)
{
	wx_pump(cq->c->w);
	assert_null(wx_poll(cq));
}

static struct tp_sge sge_of(struct pair *p, int i, uint32_t off, uint32_t bytes)
{
	return (struct tp_sge){(uintptr_t)p->buf[i] + off, bytes, p->key[i]};
}

/* A datagram of `bytes` from client 0 to the queue pair of client 1. */
static void send_datagram(struct pair *p, uint32_t ah, uint32_t qkey, uint32_t bytes)
{
	struct tp_sge from = sge_of(p, 0, 0, bytes);
	const struct tp_send_wqe wqe = {
		.wr_id = 3,
		.opcode = TP_WR_SEND,
		.num_sge = 1,
		.flags = TP_SEND_SIGNALED,
		.ud = {.ah = ah, .qpn = p->qp[1].qpn, .qkey = qkey},
	};

	wx_post(&p->qp[0], &wqe, &from, NULL);
}

/* ---- unreliable connections ---- */

static void uc_message_and_write_arrive(void **state)
{
	struct pair *p = pair_new(IBV_QPT_UC);
	struct tp_sge from = sge_of(p, 0, 0, 3000), to = sge_of(p, 1, 0, 3000);
	struct tp_send_wqe wqe = {
		.wr_id = 1, .opcode = TP_WR_SEND, .num_sge = 1, .flags = TP_SEND_SIGNALED};

	(void)state;
	memset(p->buf[0], 0x5a, 3000);
	wx_post_recv(&p->qp[1], 7, 1, &to);
	wx_post(&p->qp[0], &wqe, &from, NULL);
	expect(&p->cq[0], 1, TP_WC_SUCCESS);
	assert_int_equal(expect(&p->cq[1], 7, TP_WC_SUCCESS)->bytes, 3000);
	assert_memory_equal(p->buf[0], p->buf[1], 3000);

	memset(p->buf[0], 0x77, 3000);
	wqe.wr_id = 2;
	wqe.opcode = TP_WR_WRITE;
	wqe.remote_addr = (uintptr_t)p->buf[1];
	wqe.rkey = p->key[1];
	wx_post(&p->qp[0], &wqe, &from, NULL);
	expect(&p->cq[0], 2, TP_WC_SUCCESS);
	assert_memory_equal(p->buf[0], p->buf[1], 3000);
	pair_free(p);
}

/* IBTA vol. 1, table 38: a READ is not of this service, and the error ends the send queue only. */
static void uc_error_stops_the_send_queue(void **state)
{
	struct pair *p = pair_new(IBV_QPT_UC);
	struct tp_sge from = sge_of(p, 0, 0, 8), to = sge_of(p, 0, 0, 8);
	struct tp_send_wqe wqe = {.wr_id = 1, .opcode = TP_WR_READ, .num_sge = 1};
	struct vc_qp_attr attr = {.mask = IBV_QP_STATE, .state = IBV_QPS_RTS};
	struct vc_reply reply;

	(void)state;
	wx_post(&p->qp[0], &wqe, &from, NULL);
	expect(&p->cq[0], 1, TP_WC_LOC_QP_OP_ERR);
	assert_int_equal(wx_object(&p->c[0], VC_QUERY_QP, p->qp[0].handle, &reply), 0);
	assert_int_equal(reply.qp_attr.state, IBV_QPS_SQE);
	wqe.opcode = TP_WR_SEND;
	wqe.wr_id = 2;
	wx_post(&p->qp[0], &wqe, &from, NULL);
	expect(&p->cq[0], 2, TP_WC_WR_FLUSH_ERR);

	/* 10.3.1: SQE to RTS, and both directions work. */
	assert_int_equal(wx_modify(&p->qp[0], &attr), 0);
	wx_post_recv(&p->qp[0], 9, 1, &to);
	wx_post(&p->qp[1],
		&(struct tp_send_wqe){.opcode = TP_WR_SEND,
			.flags = TP_SEND_INLINE,
			.inline_bytes = 5},
		NULL, "hello");
	expect(&p->cq[0], 9, TP_WC_SUCCESS);
	wqe.wr_id = 3;
	wqe.flags = TP_SEND_SIGNALED;
	wx_post(&p->qp[0], &wqe, &from, NULL);
	expect(&p->cq[0], 3, TP_WC_SUCCESS);
	pair_free(p);
}

/* Table 91: what belongs to reliable connections is refused, what the service needs is required. */
static void attributes_are_the_service_s_own(void **state)
{
	struct wx_world *w = wx_new(NULL);
	struct vc_qp_attr attr;
	struct wx_client c;
	struct wx_qp uc, ud;
	struct wx_cq cq;
	uint32_t pd;

	(void)state;
	wx_connect(w, &c);
	wx_hello(&c);
	pd = wx_pd(&c);
	wx_make_cq(&c, 4, 0, 0, &cq);
	wx_make_qp_of(&c, pd, &cq, IBV_QPT_UC, &uc);
	wx_make_qp_of(&c, pd, &cq, IBV_QPT_UD, &ud);
	wx_attr_of(&ud, &attr, IBV_QPS_INIT, 0);
	attr.mask &= ~(uint32_t)IBV_QP_QKEY;
	assert_int_equal(wx_modify(&ud, &attr), -EINVAL);
	wx_attr(&attr, IBV_QPS_INIT, 0);
	assert_int_equal(wx_modify(&ud, &attr), -EINVAL);
	assert_int_equal(wx_modify(&uc, &attr), 0);
	wx_attr(&attr, IBV_QPS_RTR, 5);
	assert_int_equal(wx_modify(&uc, &attr), -EINVAL);
	wx_attr_of(&uc, &attr, IBV_QPS_RTR, 5);
	assert_int_equal(wx_modify(&uc, &attr), 0);
	/* The refused one gave its link back. */
	assert_int_equal(w->links, 1);
	wx_close(&c);
	wx_expect_empty(w);
	wx_free(w);
}

/* ---- datagrams ---- */

static void datagram_arrives_behind_its_header(void **state)
{
	struct pair *p = pair_new(IBV_QPT_UD);
	struct tp_sge to = sge_of(p, 1, 0, GRH_BYTES + 1024);
	const struct tp_cqe *cqe;
	struct wire_addr dst;
	uint32_t ah;

	(void)state;
	memset(p->buf[0], 0x5a, 1024);
	wx_make_ah(&p->c[0], p->pd[0], 0, NULL, &ah);
	wx_post_recv(&p->qp[1], 7, 1, &to);
	send_datagram(p, ah, WX_QKEY, 1024);
	expect(&p->cq[0], 3, TP_WC_SUCCESS);
	cqe = expect(&p->cq[1], 7, TP_WC_SUCCESS);
	assert_int_equal(cqe->bytes, GRH_BYTES + 1024);
	assert_int_equal(cqe->src_qpn, p->qp[0].qpn);
	assert_int_equal(cqe->flags & TP_WC_GRH, TP_WC_GRH);
	assert_int_equal(cqe->l3, TP_WC_L3_IP4);
	assert_memory_equal(p->buf[1] + GRH_BYTES, p->buf[0], 1024);
	/* Annex A17: the IPv4 header in the last 20 bytes; its destination ends it. */
	wx_addr4(0, &dst);
	assert_int_equal(p->buf[1][20], 0x45);
	assert_memory_equal(p->buf[1] + 36, dst.b + 12, 4);
	pair_free(p);
}

/* 9.8.3: the device's MTU (1024 here) is the longest message; a longer one is not sent. */
static void datagram_over_the_mtu_goes_nowhere(void **state)
{
	struct pair *p = pair_new(IBV_QPT_UD);
	struct tp_sge to = sge_of(p, 1, 0, BUF);
	struct vc_reply reply;
	uint32_t ah;

	(void)state;
	assert_int_equal(wx_object(&p->c[0], VC_QUERY_QP, p->qp[0].handle, &reply), 0);
	assert_int_equal(reply.qp_attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(reply.qp_attr.qkey, WX_QKEY);
	wx_make_ah(&p->c[0], p->pd[0], 0, NULL, &ah);
	wx_post_recv(&p->qp[1], 7, 1, &to);
	send_datagram(p, ah, WX_QKEY, 1025);
	expect_nothing(&p->cq[1]);
	pair_free(p);
}

static void wrong_qkey_is_dropped(void **state)
{
	struct pair *p = pair_new(IBV_QPT_UD);
	struct tp_sge to = sge_of(p, 1, 0, BUF);
	uint32_t ah;

	(void)state;
	wx_make_ah(&p->c[0], p->pd[0], 0, NULL, &ah);
	wx_post_recv(&p->qp[1], 7, 1, &to);
	send_datagram(p, ah, WX_QKEY + 1, 8);
	expect_nothing(&p->cq[1]);
	/* 10.2.5: with the top bit the queue pair's own is sent. */
	send_datagram(p, ah, 0x80010000u, 8);
	expect(&p->cq[1], 7, TP_WC_SUCCESS);
	pair_free(p);
}

/* A client can write any number into a work request: only its own domain's handles work. */
static void foreign_and_stale_handles_fail(void **state)
{
	struct pair *p = pair_new(IBV_QPT_UD);
	struct vc_qp_attr rts = {.mask = IBV_QP_STATE, .state = IBV_QPS_RTS};
	struct tp_sge to = sge_of(p, 1, 0, BUF);
	uint32_t bad[4] = {0, UINT32_MAX}, handle;
	struct wx_client other;

	(void)state;
	/* The third client lives at the first one's worker, whose numbers they share. */
	wx_connect(p->w, &other);
	wx_hello(&other);
	wx_make_ah(&other, wx_pd(&other), 0, NULL, &bad[2]);
	wx_make_ah(&p->c[0], p->pd[0], 0, &handle, &bad[3]);
	assert_int_equal(wx_object(&p->c[0], VC_DESTROY_AH, handle, NULL), 0);
	assert_int_equal(wx_object(&p->c[0], VC_DESTROY_AH, handle, NULL), -EINVAL);
	wx_post_recv(&p->qp[1], 7, 1, &to);
	for (int i = 0; i < 4; i++) {
		send_datagram(p, bad[i], WX_QKEY, 8);
		expect(&p->cq[0], 3, TP_WC_LOC_QP_OP_ERR);
		assert_int_equal(wx_modify(&p->qp[0], &rts), 0);
	}
	expect_nothing(&p->cq[1]);
	wx_close(&other);
	pair_free(p);
}

/* The transport's table is full (64 in this world): an error, and the link goes back. */
static void full_table_is_an_error(void **state)
{
	struct pair *p = pair_new(IBV_QPT_UD);
	struct vc_request request = {.op = VC_CREATE_AH,
		.create_ah = {.pd = p->pd[0], .av = {.sgid_index = 1}}};
	uint32_t handles[64], number;
	struct wire_addr dst;

	(void)state;
	for (int i = 0; i < 64; i++)
		wx_make_ah(&p->c[0], p->pd[0], 0, &handles[i], &number);
	wx_addr4(0, &dst);
	memcpy(request.create_ah.av.dgid, dst.b, sizeof(dst.b));
	assert_int_equal(wx_call(&p->c[0], &request, NULL), -ENOMEM);
	assert_int_equal(p->w->links, 64);
	assert_int_equal(wx_object(&p->c[0], VC_DESTROY_AH, handles[5], NULL), 0);
	assert_int_equal(wx_call(&p->c[0], &request, NULL), 0);
	pair_free(p);
}

/* The resolution of an address handle ends after its client. */
static void client_dies_before_its_handle_is_made(void **state)
{
	struct pair *p = pair_new(IBV_QPT_UD);
	struct vc_request request = {.op = VC_CREATE_AH,
		.create_ah = {.pd = p->pd[0], .av = {.sgid_index = 1}}};
	struct wire_addr dst;

	(void)state;
	wx_addr4(0, &dst);
	memcpy(request.create_ah.av.dgid, dst.b, sizeof(dst.b));
	p->w->resolve = WX_RESOLVE_LATER;
	wx_send(&p->c[0], &request);
	wx_pump(p->w);
	assert_int_equal(p->w->n_pending, 1);
	wx_close(&p->c[0]);
	wx_resolved(p->w, 0, 0);
	wx_close(&p->c[1]);
	wx_expect_empty(p->w);
	wx_free(p->w);
	free(p);
}

/* ---- Q_Keys of the system ---- */

/* In a child: a datagram queue pair with QP 1's Q_Key, as nobody; the status goes through the pipe. */
static void child(const char *path, int tell)
{
	/* The first handle of each kind is 1. */
	struct vc_request requests[] = {
		{.op = VC_HELLO_VERBS, .hello = {VC_MAGIC, VC_VERSION, ""}},
		{.op = VC_ALLOC_PD},
		{.op = VC_CREATE_CQ, .create_cq = {.depth = 4}},
		{.op = VC_CREATE_QP,
			.create_qp = {.pd = 1, .send_cq = 1, .recv_cq = 1, .type = IBV_QPT_UD}},
		{.op = VC_MODIFY_QP, .modify_qp = {.handle = 1}},
	};
	const struct wx_qp qp = {.type = IBV_QPT_UD};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct vc_reply reply = {0};

	alarm(30);
	wx_attr_of(&qp, &requests[4].modify_qp.attr, IBV_QPS_INIT, 0);
	requests[4].modify_qp.attr.qkey = 0x80010000u;
	memcpy(addr.sun_path, path, sizeof(addr.sun_path));
	if (setgid(65534) != 0 || setuid(65534) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0 ||
		connect(sock, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		_exit(1);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (reply.status != 0 || send(sock, &requests[i], sizeof(requests[i]), 0) < 0 ||
			recv(sock, &reply, sizeof(reply), 0) < 0)
			_exit(1);
	}
	_exit(write(tell, &reply.status, sizeof(reply.status)) == sizeof(reply.status) ? 0 : 1);
}

/* 10.2.5: they are for privileged users; another's datagrams could pass for management. */
static void system_qkeys_are_for_root(void **state)
{
	struct wx_world *w = wx_new(NULL);
	int tell[2], status = 1, rc = -1;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe2(tell, O_NONBLOCK), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(w->path, tell[1]);
	for (int i = 0; i < 5000 && read(tell[0], &status, sizeof(status)) < 0; i++) {
		wx_pump(w);
		usleep(1000);
	}
	assert_int_equal(waitpid(pid, &rc, 0), pid);
	assert_int_equal(rc, 0);
	assert_int_equal(status, -EPERM);
	close(tell[0]);
	close(tell[1]);
	wx_expect_empty(w);
	wx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uc_message_and_write_arrive),
		cmocka_unit_test(uc_error_stops_the_send_queue),
		cmocka_unit_test(attributes_are_the_service_s_own),
		cmocka_unit_test(datagram_arrives_behind_its_header),
		cmocka_unit_test(datagram_over_the_mtu_goes_nowhere),
		cmocka_unit_test(wrong_qkey_is_dropped),
		cmocka_unit_test(foreign_and_stale_handles_fail),
		cmocka_unit_test(full_table_is_an_error),
		cmocka_unit_test(client_dies_before_its_handle_is_made),
		cmocka_unit_test(system_qkeys_are_for_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
