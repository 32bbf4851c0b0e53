/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs half of the client contract (verbs_contract.h): hello, objects, queues in shared
 * memory, data between two clients of one daemon, notifications, wake-up.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "world.h"

#define BUF 8192

/* Two clients, at different workers, with a connected queue pair each. */
struct pair {
	struct wx_world *w;
	struct wx_client c[2];
	uint32_t pd[2], key[2], mr[2];
	struct wx_cq cq[2];
	struct wx_qp qp[2];
	uint8_t buf[2][BUF];
};

static struct pair *pair_new(void)
{
	struct pair *p = calloc(1, sizeof(*p));

	p->w = wx_new(NULL);
	for (int i = 0; i < 2; i++) {
		wx_connect(p->w, &p->c[i]);
		wx_hello(&p->c[i]);
		p->pd[i] = wx_pd(&p->c[i]);
		p->key[i] = wx_mr(&p->c[i], p->pd[i], p->buf[i], BUF, &p->mr[i]);
		wx_make_cq(&p->c[i], 16, 0, 100 + (uint64_t)i, &p->cq[i]);
		wx_make_qp(&p->c[i], p->pd[i], &p->cq[i], 16, &p->qp[i]);
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

static void expect(struct wx_cq *cq, uint64_t wr_id, enum tp_wc_status status)
{
	const struct tp_cqe *cqe;

	wx_pump(cq->c->w);
	cqe = wx_poll(cq);
	assert_non_null(cqe);
	assert_int_equal(cqe->wr_id, wr_id);
	assert_int_equal(cqe->status, status);
}

static struct tp_sge sge_of(struct pair *p, int i, uint32_t off, uint32_t bytes)
{
	return (struct tp_sge){(uintptr_t)p->buf[i] + off, bytes, p->key[i]};
}

static void list_devices_without_hello(void **state)
{
	struct wx_world *w = wx_new(NULL);
	struct wx_client c;
	struct vc_reply reply;

	(void)state;
	wx_connect(w, &c);
	assert_int_equal(wx_object(&c, VC_LIST_DEVICES, 0, &reply), 0);
	assert_int_equal(reply.devices.n, 1);
	assert_string_equal(reply.devices.attr[0].name, "roced0");
	/* 1500 bytes hold an RDMA MTU of 1024 and its headers. */
	assert_int_equal(reply.devices.attr[0].active_mtu, IBV_MTU_1024);
	assert_int_equal(reply.devices.attr[0].port_state, IBV_PORT_ACTIVE);
	wx_close(&c);
	wx_expect_empty(w);
	wx_free(w);
}

static void hello_brings_sealed_memory(void **state)
{
	struct wx_world *w = wx_new(NULL);
	struct wx_client c;
	struct vc_reply reply;

	(void)state;
	wx_connect(w, &c);
	wx_hello(&c);
	assert_string_equal(c.attr.name, "roced0");
	assert_int_equal(ftruncate(c.shm_fd, 4096), -1);
	assert_int_equal(ftruncate(c.shm_fd, (off_t)c.shm_bytes * 2), -1);
	assert_int_equal(fcntl(c.shm_fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_int_equal(wx_object(&c, VC_QUERY_GIDS, 0, &reply), 0);
	assert_int_equal(reply.gids.n, 4);
	assert_int_equal(reply.gids.gid[1].gid[15], 1);
	assert_int_equal(reply.gids.gid[1].type, 2);
	assert_int_equal(wx_object(&c, VC_QUERY_PORT, 0, &reply), 0);
	assert_int_equal(reply.device.speed_mbps, 10000);
	wx_close(&c);
	wx_expect_empty(w);
	wx_free(w);
}

static void send_arrives(void **state)
{
	struct pair *p = pair_new();
	struct tp_sge from = sge_of(p, 0, 0, 3000), to = sge_of(p, 1, 100, 4000);

	(void)state;
	memset(p->buf[0], 0x5a, 3000);
	wx_post_recv(&p->qp[1], 7, 1, &to);
	wx_post(&p->qp[0],
		&(struct tp_send_wqe){
			.wr_id = 3, .opcode = TP_WR_SEND, .num_sge = 1, .flags = TP_SEND_SIGNALED},
		&from, NULL);
	expect(&p->cq[1], 7, TP_WC_SUCCESS);
	expect(&p->cq[0], 3, TP_WC_SUCCESS);
	assert_memory_equal(p->buf[1] + 100, p->buf[0], 3000);
	assert_int_equal(p->buf[1][3100], 0);
	/* Slots are free again. */
	assert_int_equal(p->qp[0].sq->cons, 1);
	assert_int_equal(p->qp[1].rq->cons, 1);
	pair_free(p);
}

/* Regions of ibv_reg_mr do not end by a peer's wish: the message is acknowledged and the receiver told. */
static void send_cannot_invalidate_plain_memory(void **state)
{
	struct pair *p = pair_new();
	struct tp_sge from = sge_of(p, 0, 0, 8), to = sge_of(p, 1, 0, 8);
	struct tp_send_wqe wqe = {.wr_id = 3, .opcode = TP_WR_SEND_INV, .num_sge = 1, .flags = TP_SEND_SIGNALED,
		.imm = p->key[1]};

	(void)state;
	wx_post_recv(&p->qp[1], 7, 1, &to);
	wx_post(&p->qp[0], &wqe, &from, NULL);
	expect(&p->cq[1], 7, TP_WC_REM_INV_REQ_ERR);
	pair_free(p);
}

static void write_read_atomic_and_inline(void **state)
{
	struct pair *p = pair_new();
	struct tp_sge sge = sge_of(p, 0, 0, 2500), word = sge_of(p, 0, 4096, 8);
	uint64_t counter = 41;
	struct tp_send_wqe wqe = {.wr_id = 1,
		.opcode = TP_WR_WRITE,
		.num_sge = 1,
		.flags = TP_SEND_SIGNALED,
		.remote_addr = (uintptr_t)p->buf[1],
		.rkey = p->key[1]};

	(void)state;
	memset(p->buf[0], 0x11, 2500);
	wx_post(&p->qp[0], &wqe, &sge, NULL);
	expect(&p->cq[0], 1, TP_WC_SUCCESS);
	assert_memory_equal(p->buf[0], p->buf[1], 2500);

	memset(p->buf[1], 0x22, 2500);
	wqe.wr_id = 2;
	wqe.opcode = TP_WR_READ;
	wx_post(&p->qp[0], &wqe, &sge, NULL);
	expect(&p->cq[0], 2, TP_WC_SUCCESS);
	assert_int_equal(p->buf[0][2499], 0x22);

	memcpy(p->buf[1], &counter, sizeof(counter));
	wqe.wr_id = 3;
	wqe.opcode = TP_WR_FETCH_ADD;
	wqe.atomic.compare_add = 1;
	wx_post(&p->qp[0], &wqe, &word, NULL);
	expect(&p->cq[0], 3, TP_WC_SUCCESS);
	memcpy(&counter, p->buf[1], sizeof(counter));
	assert_int_equal(counter, 42);
	memcpy(&counter, p->buf[0] + 4096, sizeof(counter));
	assert_int_equal(counter, 41);

	wqe = (struct tp_send_wqe){.wr_id = 4,
		.opcode = TP_WR_WRITE,
		.flags = TP_SEND_INLINE | TP_SEND_SIGNALED,
		.inline_bytes = 5,
		.remote_addr = (uintptr_t)p->buf[1] + 16,
		.rkey = p->key[1]};
	wx_post(&p->qp[0], &wqe, NULL, "hello");
	expect(&p->cq[0], 4, TP_WC_SUCCESS);
	assert_memory_equal(p->buf[1] + 16, "hello", 5);
	pair_free(p);
}

/* Annex A17 and the device's VLAN: where packets of a queue pair go. */
static void address_vector_is_built(void **state)
{
	struct pair *p = pair_new();
	struct tp_sge sge = sge_of(p, 0, 0, 1);
	uint64_t v = (uint64_t)p->qp[0].qpn * p->qp[1].qpn;
	uint32_t f;
	struct wire_addr own;

	(void)state;
	p->w->drop_frames = true;
	wx_post(&p->qp[0], &(struct tp_send_wqe){.opcode = TP_WR_SEND, .num_sge = 1}, &sge, NULL);
	wx_pump(p->w);
	wx_addr4(0, &own);
	assert_int_equal(p->w->last_av.l3_version, 4);
	assert_memory_equal(&p->w->last_av.net.src, &own, sizeof(own));
	assert_memory_equal(&p->w->last_av.net.dst, &own, sizeof(own));
	assert_int_equal(p->w->last_av.net.smac[5], 1);
	assert_true(p->w->last_av.net.has_vlan);
	assert_int_equal(p->w->last_av.net.vlan_tci, 7);
	assert_int_equal(p->w->last_av.ttl, 64);
	v ^= v >> 20;
	v ^= v >> 40;
	f = (uint32_t)v & 0xfffff;
	assert_int_equal(p->w->last_av.udp_sport, 0xc000 | ((f & 0x3fff) ^ (f >> 14)));
	p->w->drop_frames = false;
	pair_free(p);
}

static void modify_waits_for_the_neighbour(void **state)
{
	struct wx_world *w = wx_new(NULL);
	struct vc_request request = {.op = VC_MODIFY_QP}, query = {.op = VC_QUERY_QP};
	struct vc_reply reply;
	struct wx_client c;
	struct wx_cq cq;
	struct wx_qp qp;
	int fds[3];

	(void)state;
	wx_connect(w, &c);
	wx_hello(&c);
	wx_make_cq(&c, 4, 0, 0, &cq);
	wx_make_qp(&c, wx_pd(&c), &cq, 4, &qp);
	wx_attr(&request.modify_qp.attr, IBV_QPS_INIT, 0);
	assert_int_equal(wx_modify(&qp, &request.modify_qp.attr), 0);
	w->resolve = WX_RESOLVE_LATER;
	request.modify_qp.handle = query.object.handle = qp.handle;
	wx_attr(&request.modify_qp.attr, IBV_QPS_RTR, 77);
	wx_send(&c, &request);
	wx_send(&c, &query);
	wx_pump(w);
	/* Neither is answered: answers keep the order of the requests. */
	assert_false(wx_recv(&c, &reply, fds));
	wx_resolved(w, 0, -EHOSTUNREACH);
	wx_pump(w);
	assert_true(wx_recv(&c, &reply, fds));
	assert_int_equal(reply.status, -EHOSTUNREACH);
	assert_true(wx_recv(&c, &reply, fds));
	assert_int_equal(reply.qp_attr.state, IBV_QPS_INIT);
	/* The next try finds it. */
	wx_send(&c, &request);
	wx_pump(w);
	wx_resolved(w, 0, 0);
	wx_pump(w);
	assert_true(wx_recv(&c, &reply, fds));
	assert_int_equal(reply.status, 0);
	assert_int_equal(wx_object(&c, VC_QUERY_QP, qp.handle, &reply), 0);
	assert_int_equal(reply.qp_attr.state, IBV_QPS_RTR);
	assert_int_equal(reply.qp_attr.dest_qpn, 77);
	assert_int_equal(reply.qp_attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(reply.qp_attr.av.sgid_index, 1);
	assert_int_equal(w->links, 1);
	assert_int_equal(wx_object(&c, VC_DESTROY_QP, qp.handle, &reply), 0);
	assert_int_equal(w->links, 0);
	wx_close(&c);
	wx_expect_empty(w);
	wx_free(w);
}

static void address_handles_hold_a_link(void **state)
{
	struct wx_world *w = wx_new(NULL);
	struct vc_request request = {.op = VC_CREATE_AH};
	struct vc_reply reply;
	struct wx_client c;
	uint32_t pd;

	(void)state;
	wx_connect(w, &c);
	wx_hello(&c);
	pd = request.create_ah.pd = wx_pd(&c);
	request.create_ah.av = (struct vc_av){.dgid = {0x20, 0x01, [15] = 9}, .sgid_index = 3};
	assert_int_equal(wx_call(&c, &request, &reply), 0);
	assert_int_equal(w->resolved_dst.b[15], 9);
	assert_int_equal(w->resolved_src.b[2], 0x0d);
	assert_int_equal(w->links, 1);
	assert_int_equal(wx_object(&c, VC_DEALLOC_PD, pd, NULL), -EBUSY);
	assert_int_equal(wx_object(&c, VC_DESTROY_AH, reply.object.handle, NULL), 0);
	w->resolve = WX_RESOLVE_FAIL;
	assert_int_equal(wx_call(&c, &request, &reply), -EHOSTUNREACH);
	assert_int_equal(wx_object(&c, VC_DEALLOC_PD, pd, NULL), 0);
	assert_int_equal(w->links, 0);
	wx_close(&c);
	wx_expect_empty(w);
	wx_free(w);
}

/* RESET empties both queues; indices go on counting (verbs_contract.h: free running). */
static void reset_empties_the_queues(void **state)
{
	struct pair *p = pair_new();
	struct tp_sge to = sge_of(p, 1, 0, 64), from = sge_of(p, 0, 0, 8);
	struct vc_qp_attr attr;

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		wx_post_recv(&p->qp[1], i, 1, &to);
	wx_attr(&attr, IBV_QPS_RESET, 0);
	assert_int_equal(wx_modify(&p->qp[1], &attr), 0);
	assert_int_equal(p->qp[1].rq->cons, 3);
	assert_int_equal(p->qp[1].sq->cons, 0);
	wx_up(&p->qp[1], p->qp[0].qpn);
	wx_post_recv(&p->qp[1], 33, 1, &to);
	wx_post(&p->qp[0],
		&(struct tp_send_wqe){
			.wr_id = 1, .opcode = TP_WR_SEND, .num_sge = 1, .flags = TP_SEND_SIGNALED},
		&from, NULL);
	expect(&p->cq[1], 33, TP_WC_SUCCESS);
	pair_free(p);
}

static void error_state_flushes(void **state)
{
	struct pair *p = pair_new();
	struct tp_sge to = sge_of(p, 1, 0, 64);
	struct vc_qp_attr attr;

	(void)state;
	wx_post_recv(&p->qp[1], 1, 1, &to);
	wx_post_recv(&p->qp[1], 2, 1, &to);
	wx_attr(&attr, IBV_QPS_ERR, 0);
	assert_int_equal(wx_modify(&p->qp[1], &attr), 0);
	expect(&p->cq[1], 1, TP_WC_WR_FLUSH_ERR);
	expect(&p->cq[1], 2, TP_WC_WR_FLUSH_ERR);
	/* What is posted afterwards too. */
	wx_post(&p->qp[1], &(struct tp_send_wqe){.wr_id = 3, .opcode = TP_WR_SEND}, NULL, NULL);
	expect(&p->cq[1], 3, TP_WC_WR_FLUSH_ERR);
	pair_free(p);
}

static void resized_queue_keeps_completions(void **state)
{
	struct pair *p = pair_new();
	struct vc_request request = {.op = VC_RESIZE_CQ};
	struct vc_reply reply;
	struct wx_cq *cq = &p->cq[0];

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		wx_post(&p->qp[0],
			&(struct tp_send_wqe){.wr_id = i,
				.opcode = TP_WR_WRITE,
				.flags = TP_SEND_SIGNALED,
				.remote_addr = 1,
				.rkey = 1},
			NULL, NULL);
	expect(cq, 0, TP_WC_SUCCESS);
	request.resize_cq.handle = cq->handle;
	request.resize_cq.depth = 8;
	assert_int_equal(wx_call(&p->c[0], &request, NULL), -EINVAL); /* 9 are there */
	request.resize_cq.depth = 60;
	assert_int_equal(wx_call(&p->c[0], &request, &reply), 0);
	assert_int_equal(reply.cq.depth, 64);
	cq->depth = 64;
	cq->ring = (struct vc_cq *)((uint8_t *)p->c[0].shm + reply.cq.offset);
	cq->slots = (struct tp_cqe *)(cq->ring + 1);
	for (uint64_t i = 1; i < 10; i++)
		expect(cq, i, TP_WC_SUCCESS);
	assert_null(wx_poll(cq));
	pair_free(p);
}

/* ---- notifications ---- */

static void arm(struct wx_cq *cq, uint32_t how)
{
	__atomic_store_n(&cq->ring->armed, how, __ATOMIC_SEQ_CST);
}

static uint32_t take_notifications(int fd, uint64_t cookie)
{
	struct vc_comp_msg msg;
	uint32_t n = 0;

	while (recv(fd, &msg, sizeof(msg), MSG_DONTWAIT) == (ssize_t)sizeof(msg)) {
		assert_int_equal(msg.cq_cookie, cookie);
		n++;
	}
	return n;
}

/* A client alone: its queue pair talks to itself. */
struct solo {
	struct wx_world *w;
	struct wx_client c;
	uint32_t channel;
	int fd;
	struct wx_cq cq;
	struct wx_qp qp;
};

static struct solo *solo_new(void)
{
	struct solo *s = calloc(1, sizeof(*s));

	s->w = wx_new(NULL);
	wx_connect(s->w, &s->c);
	wx_hello(&s->c);
	wx_channel(&s->c, &s->channel, &s->fd);
	wx_make_cq(&s->c, 1024, s->channel, 0xabc, &s->cq);
	wx_make_qp(&s->c, wx_pd(&s->c), &s->cq, 16, &s->qp);
	wx_up(&s->qp, s->qp.qpn);
	return s;
}

static void solo_free(struct solo *s)
{
	close(s->fd);
	wx_close(&s->c);
	wx_expect_empty(s->w);
	wx_free(s->w);
	free(s);
}

static void complete_one(struct solo *s, uint32_t flags)
{
	struct tp_send_wqe wqe = {
		.opcode = TP_WR_SEND, .flags = (uint16_t)(TP_SEND_SIGNALED | flags)};

	wx_post_recv(&s->qp, 1, 0, NULL);
	wx_post(&s->qp, &wqe, NULL, NULL);
	wx_pump(s->w);
	while (wx_poll(&s->cq) != NULL)
		;
}

static void armed_queue_notifies_once(void **state)
{
	struct solo *s = solo_new();

	(void)state;
	complete_one(s, 0);
	assert_int_equal(take_notifications(s->fd, 0xabc), 0);
	arm(&s->cq, VC_ARM_ANY);
	complete_one(s, 0);
	complete_one(s, 0);
	assert_int_equal(take_notifications(s->fd, 0xabc), 1);
	assert_int_equal(s->cq.ring->armed, VC_ARM_NONE);
	/* Only a solicited message wakes who waits for one. */
	arm(&s->cq, VC_ARM_SOLICITED);
	complete_one(s, 0);
	assert_int_equal(take_notifications(s->fd, 0xabc), 0);
	complete_one(s, TP_SEND_SOLICITED);
	assert_int_equal(take_notifications(s->fd, 0xabc), 1);
	solo_free(s);
}

static void full_channel_loses_nothing(void **state)
{
	struct solo *s = solo_new();
	uint32_t sent = 2000, got;

	(void)state;
	for (uint32_t i = 0; i < sent; i++) {
		arm(&s->cq, VC_ARM_ANY);
		complete_one(s, 0);
	}
	got = take_notifications(s->fd, 0xabc);
	assert_in_range(got, 1, sent - 1); /* the socket held so many */
	for (int i = 0; i < 2000 && got < sent; i++) {
		wx_pump(s->w);
		got += take_notifications(s->fd, 0xabc);
	}
	assert_int_equal(got, sent);
	solo_free(s);
}

/* A sleeping worker hears when the client makes room. */
static void full_channel_wakes_the_worker(void **state)
{
	struct solo *s = solo_new();
	struct wx_worker *worker = &s->w->worker[0];
	struct pollfd fd = {.fd = vd_worker_fd(worker->vd), .events = POLLIN};

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		arm(&s->cq, VC_ARM_ANY);
		complete_one(s, 0);
	}
	vd_worker_sleep(worker->vd, true);
	vd_worker_poll(worker->vd, worker->tp);
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_true(take_notifications(s->fd, 0xabc) > 0);
	assert_int_equal(poll(&fd, 1, 0), 1);
	vd_worker_sleep(worker->vd, false);
	vd_worker_poll(worker->vd, worker->tp);
	assert_true(take_notifications(s->fd, 0xabc) > 0);
	solo_free(s);
}

static void sleeping_worker_is_woken(void **state)
{
	struct solo *s = solo_new();
	struct wx_worker *worker = &s->w->worker[0];
	struct pollfd fd = {.fd = vd_worker_fd(worker->vd), .events = POLLIN};

	(void)state;
	wx_ring(&s->qp);
	assert_int_equal(poll(&fd, 1, 0), 0); /* awake: a doorbell is only a store */
	vd_worker_sleep(worker->vd, true);
	assert_int_equal(s->c.shm->need_wakeup, 1);
	assert_int_equal(vd_worker_poll(worker->vd, worker->tp), 1); /* rung before */
	for (int i = 0; i < 3; i++) {
		vd_worker_sleep(worker->vd, true);
		assert_int_equal(poll(&fd, 1, 0), 0);
		wx_ring(&s->qp);
		assert_int_equal(poll(&fd, 1, 0), 1);
		vd_worker_sleep(worker->vd, false);
		assert_int_equal(s->c.shm->need_wakeup, 0);
		assert_int_equal(poll(&fd, 1, 0), 0);
		assert_int_equal(vd_worker_poll(worker->vd, worker->tp), 1);
	}
	/* A client that comes while the worker sleeps must ring too. */
	vd_worker_sleep(worker->vd, true);
	vd_worker_sleep(s->w->worker[1].vd, true);
	{
		struct wx_client other;

		wx_connect(s->w, &other);
		wx_hello(&other);
		assert_int_equal(other.shm->need_wakeup, 1);
		wx_close(&other);
	}
	vd_worker_sleep(worker->vd, false);
	solo_free(s);
}

static void port_state_is_told(void **state)
{
	struct solo *s = solo_new();
	struct vc_async_msg msg;
	struct vc_reply reply;

	(void)state;
	vd_set_port_state(s->w->vd, 0, false);
	vd_set_port_state(s->w->vd, 0, false);
	assert_int_equal(recv(s->c.async_fd, &msg, sizeof(msg), MSG_DONTWAIT), sizeof(msg));
	assert_int_equal(msg.type, IBV_EVENT_PORT_ERR);
	assert_int_equal(recv(s->c.async_fd, &msg, sizeof(msg), MSG_DONTWAIT), -1);
	assert_int_equal(wx_object(&s->c, VC_QUERY_PORT, 0, &reply), 0);
	assert_int_equal(reply.device.port_state, IBV_PORT_DOWN);
	vd_set_port_state(s->w->vd, 0, true);
	assert_int_equal(recv(s->c.async_fd, &msg, sizeof(msg), MSG_DONTWAIT), sizeof(msg));
	assert_int_equal(msg.type, IBV_EVENT_PORT_ACTIVE);
	solo_free(s);
}

static void second_daemon_is_refused(void **state)
{
	struct wx_world *w = wx_new(NULL);
	struct vd *other = NULL;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	(void)state;
	assert_int_equal(vd_create(&w->config, &w->env, w, &other), -EADDRINUSE);
	assert_int_equal(access(w->path, F_OK), 0);
	memcpy(addr.sun_path, w->path, sizeof(addr.sun_path));
	wx_free(w);
	/* What a dead one left is no obstacle. */
	mkdir(dirname(strdupa(addr.sun_path)), 0700);
	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	w = wx_new(NULL);
	wx_free(w);
}

/* A path that is given by mistake costs no file. */
static void other_files_are_left_alone(void **state)
{
	struct wx_world *w = wx_new(NULL);
	struct vd_config config = w->config;
	char path[] = "/tmp/vd-file-XXXXXX";
	struct vd *other = NULL;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	config.socket_path = path;
	assert_int_equal(vd_create(&config, &w->env, w, &other), -EEXIST);
	assert_int_equal(unlink(path), 0);
	close(fd);
	wx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_devices_without_hello),
		cmocka_unit_test(hello_brings_sealed_memory),
		cmocka_unit_test(send_arrives),
		cmocka_unit_test(send_cannot_invalidate_plain_memory),
		cmocka_unit_test(write_read_atomic_and_inline),
		cmocka_unit_test(address_vector_is_built),
		cmocka_unit_test(modify_waits_for_the_neighbour),
		cmocka_unit_test(address_handles_hold_a_link),
		cmocka_unit_test(reset_empties_the_queues),
		cmocka_unit_test(error_state_flushes),
		cmocka_unit_test(resized_queue_keeps_completions),
		cmocka_unit_test(armed_queue_notifies_once),
		cmocka_unit_test(full_channel_loses_nothing),
		cmocka_unit_test(full_channel_wakes_the_worker),
		cmocka_unit_test(sleeping_worker_is_woken),
		cmocka_unit_test(port_state_is_told),
		cmocka_unit_test(second_daemon_is_refused),
		cmocka_unit_test(other_files_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
