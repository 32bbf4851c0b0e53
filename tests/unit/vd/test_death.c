/* SPDX-License-Identifier: BSD-3-Clause */
/* A client may die at any point: everything it had is released (verbs_contract.h, vd.h: stats go
 * back to 0). */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

static uint8_t buf[65536];

struct life {
	struct wx_world *w;
	struct wx_client c;
	uint32_t pd, key, channel;
	int channel_fd;
	struct wx_cq cq;
	struct wx_qp qp;
};

/* One more step of a life; what comes after the last is death. */
static void connected(struct life *l)
{
	wx_connect(l->w, &l->c);
}

static void greeted(struct life *l)
{
	wx_hello(&l->c);
}

static void has_memory(struct life *l)
{
	l->pd = wx_pd(&l->c);
	l->key = wx_mr(&l->c, l->pd, buf, sizeof(buf), NULL);
}

static void has_queues(struct life *l)
{
	wx_channel(&l->c, &l->channel, &l->channel_fd);
	wx_make_cq(&l->c, 1024, l->channel, 5, &l->cq);
}

static void has_qp(struct life *l)
{
	wx_make_qp(&l->c, l->pd, &l->cq, 1024, &l->qp);
}

static void asks_for_the_neighbour(struct life *l)
{
	struct vc_request request = {.op = VC_MODIFY_QP};
	struct vc_qp_attr attr;

	wx_attr(&attr, IBV_QPS_INIT, 0);
	assert_int_equal(wx_modify(&l->qp, &attr), 0);
	l->w->resolve = WX_RESOLVE_LATER;
	request.modify_qp.handle = l->qp.handle;
	wx_attr(&request.modify_qp.attr, IBV_QPS_RTR, l->qp.qpn);
	wx_send(&l->c, &request);
	wx_pump(l->w);
	assert_int_equal(l->w->n_pending, 1);
	l->w->resolve = WX_RESOLVE_NOW;
}

static void is_ready(struct life *l)
{
	struct vc_reply reply;
	struct vc_qp_attr attr;
	int fds[3];

	wx_resolved(l->w, 0, 0);
	wx_pump(l->w);
	assert_true(wx_recv(&l->c, &reply, fds));
	wx_attr(&attr, IBV_QPS_RTS, l->qp.qpn);
	assert_int_equal(wx_modify(&l->qp, &attr), 0);
}

static void is_sending(struct life *l)
{
	struct tp_sge sge = {(uintptr_t)buf, sizeof(buf), l->key};
	struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE,
		.num_sge = 1,
		.flags = TP_SEND_SIGNALED,
		.remote_addr = (uintptr_t)buf,
		.rkey = l->key};

	for (int i = 0; i < 10; i++)
		wx_post(&l->qp, &wqe, &sge, NULL);
	/* Mid-message: frames are on the wire, work requests in the transport. */
	vd_worker_poll(l->w->worker[0].vd, l->w->worker[0].tp);
	assert_true(tp_tx(l->w->worker[0].tp, 20, l->w->now_ns) > 0);
	assert_true(l->w->n_frames > 0);
}

static void has_unread_notifications(struct life *l)
{
	struct tp_send_wqe wqe = {.opcode = TP_WR_SEND, .flags = TP_SEND_SIGNALED};

	for (int i = 0; i < 1500; i++) {
		l->cq.ring->armed = VC_ARM_ANY;
		wx_post_recv(&l->qp, 1, 0, NULL);
		wx_post(&l->qp, &wqe, NULL, NULL);
		wx_pump(l->w);
		while (wx_poll(&l->cq) != NULL)
			;
	}
}

static void has_a_broken_queue(struct life *l)
{
	l->qp.sq->prod += 5000;
	wx_ring(&l->qp);
	vd_worker_poll(l->w->worker[0].vd, l->w->worker[0].tp);
	tp_tx(l->w->worker[0].tp, 20, l->w->now_ns);
}

static void dies_at_every_step(void **state)
{
	static void (*const steps[])(struct life *) = {connected, greeted, has_memory, has_queues,
		has_qp, asks_for_the_neighbour, is_ready, is_sending, has_unread_notifications,
		has_a_broken_queue};

	(void)state;
	for (size_t n = 1; n <= sizeof(steps) / sizeof(steps[0]); n++) {
		struct life l = {.w = wx_new(NULL), .channel_fd = -1};

		for (size_t i = 0; i < n; i++)
			steps[i](&l);
		wx_close(&l.c);
		if (l.channel_fd >= 0)
			close(l.channel_fd);
		/* The answer of a resolution comes after its asker has died. */
		if (l.w->n_pending > 0)
			wx_resolved(l.w, 0, 0);
		wx_expect_empty(l.w);
		wx_free(l.w);
	}
}

/* Its keys die with it: what a peer sends afterwards finds nothing. */
static void keys_die_too(void **state)
{
	struct life a = {.w = wx_new(NULL)}, b = {.w = a.w};
	struct tp_sge sge;
	struct tp_send_wqe wqe = {
		.wr_id = 1, .opcode = TP_WR_WRITE, .num_sge = 1, .flags = TP_SEND_SIGNALED};
	const struct tp_cqe *cqe;
	struct vc_qp_attr attr;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct life *l = i == 0 ? &a : &b;

		connected(l);
		greeted(l);
		has_memory(l);
		has_queues(l);
		has_qp(l);
	}
	wx_up(&a.qp, b.qp.qpn);
	wx_up(&b.qp, a.qp.qpn);
	close(b.channel_fd);
	wx_close(&b.c);
	sge = (struct tp_sge){(uintptr_t)buf, 8, a.key};
	wqe.remote_addr = (uintptr_t)buf;
	wqe.rkey = b.key;
	wx_post(&a.qp, &wqe, &sge, NULL);
	wx_pass(a.w, 60000 * WX_MS);
	cqe = wx_poll(&a.cq);
	assert_non_null(cqe);
	assert_int_equal(cqe->status, TP_WC_RETRY_EXC_ERR);
	wx_attr(&attr, IBV_QPS_RESET, 0);
	assert_int_equal(wx_modify(&a.qp, &attr), 0);
	close(a.channel_fd);
	wx_close(&a.c);
	wx_expect_empty(a.w);
	wx_free(a.w);
}

static void daemon_stops_with_clients(void **state)
{
	struct life l = {.w = wx_new(NULL)};
	char byte;

	(void)state;
	connected(&l);
	greeted(&l);
	has_memory(&l);
	has_queues(&l);
	has_qp(&l);
	asks_for_the_neighbour(&l);
	for (uint32_t i = l.w->n_pending; i > 0; i--)
		wx_resolved(l.w, i - 1, -ECANCELED);
	wx_free(l.w);
	/* The client hears of it: an answer, then the end. */
	while (recv(l.c.sock, &byte, 1, MSG_DONTWAIT) > 0)
		;
	assert_int_equal(recv(l.c.sock, &byte, 1, MSG_DONTWAIT), 0);
	/* Its mapping stays usable. */
	l.c.shm->doorbell[0] = 1;
	close(l.c.sock);
	close(l.channel_fd);
	munmap(l.c.shm, l.c.shm_bytes);
	close(l.c.shm_fd);
	close(l.c.wake_fd);
	close(l.c.async_fd);
}

/* ---- a process of its own ---- */

static void child(const char *path, int tell)
{
	struct vc_request request = {
		.op = VC_HELLO_VERBS, .seq = 1, .hello = {VC_MAGIC, VC_VERSION, ""}};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct vc_reply reply;
	pid_t keeper;

	memcpy(addr.sun_path, path, sizeof(addr.sun_path));
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
		send(sock, &request, sizeof(request), 0) < 0 ||
		recv(sock, &reply, sizeof(reply), 0) < 0 || reply.status != 0)
		_exit(1);
	request.op = VC_ALLOC_PD;
	if (send(sock, &request, sizeof(request), 0) < 0 ||
		recv(sock, &reply, sizeof(reply), 0) < 0)
		_exit(1);
	/* Somebody else keeps the connection open. */
	keeper = fork();
	if (keeper == 0) {
		alarm(30);
		pause();
		_exit(0);
	}
	if (write(tell, &keeper, sizeof(keeper)) != (ssize_t)sizeof(keeper))
		_exit(1);
	alarm(30);
	pause();
	_exit(0);
}

static void killed_process_is_noticed(void **state)
{
	struct wx_world *w = wx_new(NULL);
	struct vd_stats stats = {0};
	int tell[2], status;
	pid_t pid, keeper = 0;

	(void)state;
	assert_int_equal(pipe(tell), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(w->path, tell[1]);
	for (int i = 0; i < 5000 && stats.pds == 0; i++) {
		wx_pump(w);
		wx_stats(w, &stats);
		usleep(1000);
	}
	assert_int_equal(stats.contexts, 1);
	assert_int_equal(read(tell[0], &keeper, sizeof(keeper)), sizeof(keeper));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	for (int i = 0; i < 5000 && stats.sessions > 0; i++) {
		wx_pump(w);
		wx_stats(w, &stats);
		usleep(1000);
	}
	wx_expect_empty(w);
	assert_int_equal(kill(keeper, SIGKILL), 0);
	close(tell[0]);
	close(tell[1]);
	wx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dies_at_every_step),
		cmocka_unit_test(keys_die_too),
		cmocka_unit_test(daemon_stops_with_clients),
		cmocka_unit_test(killed_process_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
