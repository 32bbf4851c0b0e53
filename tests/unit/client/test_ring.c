/* SPDX-License-Identifier: BSD-3-Clause */
/* Posting, polling and notifications: the client's side of the rings. */
#include "env.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>

/* The next send can use inline data only: nothing of the program's memory is named. */
static struct ibv_send_wr inline_send(struct ibv_sge *sge, uint64_t wr_id)
{
	return (struct ibv_send_wr){.wr_id = wr_id, .sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
}

/* Every ring goes round several times: depths are 4, 8 and 32. */
static void test_rings_wrap(void **state)
{
	struct env *env = *state;

	env_exchange(env, 100);
	assert_true(env->fake->wakeups > 0);
}

/* A queue holds exactly what was asked for; the request that is too much is named. */
static void test_full_queues(void **state)
{
	struct env *env = *state;
	char word[8] = "inline!";
	struct ibv_sge sge = {(uintptr_t)word, 8, 0};
	struct ibv_send_wr wr[ENV_SQ_DEPTH + 1], *bad = NULL;
	struct ibv_wc wc[2 * ENV_SQ_DEPTH];
	int i;

	for (i = 0; i <= ENV_SQ_DEPTH; i++) {
		wr[i] = inline_send(&sge, (uint64_t)i);
		wr[i].next = i < ENV_SQ_DEPTH ? &wr[i + 1] : NULL;
	}
	/* No receive is posted, so none of them leaves. One chain: those that fit are posted. */
	assert_int_equal(ibv_post_send(env->a, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[ENV_SQ_DEPTH]);
	for (i = 0; i < ENV_RQ_DEPTH; i++)
		assert_int_equal(env_post_recv(env, env->b, (uint64_t)i, (uint32_t)i * 8), 0);
	env_poll(env->cq, wc, 2 * ENV_SQ_DEPTH);
	for (i = 0; i < ENV_SQ_DEPTH; i++) {
		assert_memory_equal(env->buf + 8 * i, word, 8);
		assert_int_equal(wc[2 * i].wr_id, i);
		assert_int_equal(wc[2 * i + 1].wr_id, i);
	}
	for (i = 0; i < ENV_SQ_DEPTH; i++) /* consumed: half of the queue */
		assert_int_equal(env_post_recv(env, env->b, 0, 0), 0);
	assert_int_equal(env_post_recv(env, env->b, 0, 0), ENOMEM);
}

/* What is wrong is found at the post (IB 11.4.1.1), and work before it in the chain is done. */
static void test_checks(void **state)
{
	struct env *env = *state;
	char data[FAKE_INLINE + 1] = "x";
	struct ibv_sge one = {(uintptr_t)data, 1, 0}, sge[3] = {{(uintptr_t)data, FAKE_INLINE + 1, 0}, one, one};
	struct ibv_send_wr good = inline_send(&sge[1], 1), wr = inline_send(sge, 2), *bad = NULL;
	struct ibv_recv_wr rwr = {.sg_list = sge, .num_sge = 3}, *rbad = NULL;
	struct ibv_wc wc[2];

	good.next = &wr;
	assert_int_equal(env_post_recv(env, env->b, 0, 0), 0);
	assert_int_equal(ibv_post_send(env->a, &good, &bad), EINVAL); /* too much inline data */
	assert_ptr_equal(bad, &wr);
	env_poll(env->cq, wc, 2);
	assert_int_equal(wc[1].wr_id, 1);

	wr.send_flags = IBV_SEND_SIGNALED;
	wr.num_sge = 3;
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), EINVAL); /* two SGEs at most */
	wr.num_sge = 1;
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), EINVAL); /* not eight bytes */
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_INLINE;
	sge[0].length = 8;
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_TSO;
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), EOPNOTSUPP);
	assert_int_equal(ibv_post_recv(env->a, &rwr, &rbad), EINVAL);
	assert_ptr_equal(rbad, &rwr);
	assert_int_equal(ibv_poll_cq(env->cq, 2, wc), 0);
}

/* IB 10.3.1: no receives in Reset, no sends before RTS; what is posted in Error is flushed. */
static void test_states(void **state)
{
	struct env *env = *state;
	char word[8] = "state";
	struct ibv_sge sge = {(uintptr_t)word, 8, 0};
	struct ibv_send_wr wr = inline_send(&sge, 5), *bad;
	struct ibv_wc wc[2];

	assert_int_equal(env_post_recv(env, env->a, 1, 0), 0);
	env_to_state(env->a, IBV_QPS_RESET, 0); /* takes the receive away */
	assert_int_equal(env_post_recv(env, env->a, 2, 0), EINVAL);
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), EINVAL);
	env_to_state(env->a, IBV_QPS_INIT, 0);
	assert_int_equal(env_post_recv(env, env->a, 3, 0), 0);
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), EINVAL);
	env_to_state(env->a, IBV_QPS_ERR, 0);
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), 0);
	env_poll(env->cq, wc, 2);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[1].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[0].wr_id + wc[1].wr_id, 3 + 5);
}

/* Remote address and immediate data reach the wire as given. */
static void test_write_and_immediate(void **state)
{
	struct env *env = *state;
	struct ibv_sge sge[2] = {{(uintptr_t)env->buf, 4, 0}, {(uintptr_t)env->buf + 100, 4, 0}};
	struct ibv_send_wr wr = {.wr_id = 1, .sg_list = sge, .num_sge = 2, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED}, *bad;
	struct ibv_wc wc[2];

	memcpy(env->buf, "abcd", 4);
	memcpy(env->buf + 100, "efgh", 4);
	wr.wr.rdma.remote_addr = (uintptr_t)env->buf + 512;
	wr.wr.rdma.rkey = env->mr->rkey;
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), 0);
	env_poll(env->cq, wc, 1);
	assert_int_equal(wc[0].opcode, IBV_WC_RDMA_WRITE);
	assert_memory_equal(env->buf + 512, "abcdefgh", 8);

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = 0x11223344;
	assert_int_equal(env_post_recv(env, env->b, 9, 800), 0);
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), 0);
	env_poll(env->cq, wc, 2);
	assert_true((wc[0].wc_flags & IBV_WC_WITH_IMM) != 0);
	assert_int_equal(wc[0].imm_data, 0x11223344);
}

static void get_event(struct env *env)
{
	struct ibv_cq *cq;
	void *cookie;

	assert_int_equal(ibv_get_cq_event(env->channel, &cq, &cookie), 0);
	assert_ptr_equal(cq, env->cq);
	assert_ptr_equal(cookie, env);
	ibv_ack_cq_events(cq, 1);
}

/* IB 11.4.2.2: one event an arming; a solicited arming waits for a solicited message, and does not weaken
 * one for any completion. */
static void test_notifications(void **state)
{
	struct env *env = *state;
	struct ibv_cq *cq;
	struct ibv_wc wc[2];
	void *cookie;

	assert_int_equal(ibv_req_notify_cq(env->cq, 0), 0);
	env_exchange(env, 1);
	get_event(env);
	fcntl(env->channel->fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(ibv_get_cq_event(env->channel, &cq, &cookie), -1); /* the second completion made none */
	assert_int_equal(errno, EAGAIN);

	assert_int_equal(ibv_req_notify_cq(env->cq, 1), 0);
	env_exchange(env, 1);
	assert_int_equal(ibv_get_cq_event(env->channel, &cq, &cookie), -1);
	assert_int_equal(ibv_req_notify_cq(env->cq, 0), 0);
	assert_int_equal(ibv_req_notify_cq(env->cq, 1), 0);
	env_exchange(env, 1);
	get_event(env);
	assert_int_equal(ibv_poll_cq(env->cq, 2, wc), 0);
	assert_int_equal(ibv_destroy_comp_channel(env->channel), EBUSY);
}

/* A queue that grows keeps what is in it; its old memory is not looked at again. */
static void test_resize(void **state)
{
	struct env *env = *state;
	struct ibv_wc wc[2];

	env_exchange(env, 10);
	assert_int_equal(env_post_recv(env, env->a, 7, 0), 0);
	assert_int_equal(env_post_recv(env, env->a, 8, 0), 0);
	env_to_state(env->a, IBV_QPS_ERR, 0);
	usleep(50000); /* both flushed into the queue */
	assert_int_equal(ibv_resize_cq(env->cq, 128), 0);
	assert_int_equal(env->cq->cqe, 128);
	env_poll(env->cq, wc, 2);
	assert_int_equal(wc[0].wr_id, 7);
	assert_int_equal(wc[1].wr_id, 8);
}

/* Completions of a queue pair that is destroyed are gone with it; its neighbour's stay. */
static void test_destroy_purges(void **state)
{
	struct env *env = *state;
	struct ibv_wc wc[4];

	assert_int_equal(env_post_recv(env, env->a, 1, 0), 0);
	assert_int_equal(env_post_recv(env, env->b, 2, 0), 0);
	env_to_state(env->a, IBV_QPS_ERR, 0);
	env_to_state(env->b, IBV_QPS_ERR, 0);
	usleep(50000);
	assert_int_equal(ibv_destroy_qp(env->a), 0);
	env->a = NULL;
	assert_int_equal(ibv_poll_cq(env->cq, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 2);
}

struct cage {
	struct env *env;
	int done[2], never[2];             /* pipes */
};

static void *poll_in_a_cage(void *arg)
{
	struct cage *cage = arg;
	int have = 0, done = cage->done[1], never = cage->never[0];
	struct ibv_wc wc[2];
	char end = 0;

	/* From here on this thread may only read and write. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		return NULL;
	for (int i = 0; i < 10 && have < 2; i++)
		have += ibv_poll_cq(cage->env->cq, 2 - have, wc + have);
	(void)!write(done, have == 2 ? "y" : "n", 1);
	/* Not even to leave: it stays here until the process ends. */
	(void)!read(never, &end, 1);
	return NULL;
}

/* A completion costs no system call: the kernel would kill the thread at the first one. (A program that polls an
 * empty queue again and again does give way, but not at its first polls.) */
static void test_poll_makes_no_system_call(void **state)
{
	struct cage cage = {.env = *state};
	struct pollfd p = {.events = POLLIN};
	pthread_t thread;
	char got = 0;

	assert_int_equal(pipe2(cage.done, O_CLOEXEC), 0);
	assert_int_equal(pipe2(cage.never, O_CLOEXEC), 0);
	assert_int_equal(env_post_recv(cage.env, cage.env->a, 1, 0), 0);
	assert_int_equal(env_post_recv(cage.env, cage.env->a, 2, 0), 0);
	env_to_state(cage.env->a, IBV_QPS_ERR, 0);
	for (int i = 0; i < 10000 && fake_completions(cage.env->fake) < 2; i++)
		usleep(1000);
	assert_int_equal(pthread_create(&thread, NULL, poll_in_a_cage, &cage), 0);
	assert_int_equal(pthread_detach(thread), 0);
	p.fd = cage.done[0];
	assert_int_equal(poll(&p, 1, 20000), 1);
	assert_int_equal(read(cage.done[0], &got, 1), 1);
	assert_int_equal(got, 'y');
}

#define THREAD_POSTS 500
#define MOST_OUT     16          /* fewer than the completion queue holds */

struct poster {
	struct env *env;
	uint32_t *out;                     /* posted and not polled, of all threads */
};

static void *post_many(void *arg)
{
	struct poster *p = arg;
	char word[8] = "thread";
	struct ibv_sge sge = {(uintptr_t)word, 8, 0};
	struct ibv_send_wr wr = inline_send(&sge, 1), *bad;
	int posted = 0;

	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.wr.rdma.remote_addr = (uintptr_t)p->env->buf + 1024;
	while (posted < THREAD_POSTS) {
		if (__atomic_add_fetch(p->out, 1, __ATOMIC_RELAXED) <= MOST_OUT &&
			ibv_post_send(p->env->a, &wr, &bad) == 0) {
			posted++;
			continue;
		}
		__atomic_sub_fetch(p->out, 1, __ATOMIC_RELAXED);
		usleep(100);
	}
	return NULL;
}

/* Two threads post to one queue while a third one polls: nothing is lost or doubled. */
static void test_threads(void **state)
{
	struct env *env = *state;
	uint32_t out = 0;
	struct poster p = {env, &out};
	pthread_t threads[2];
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, post_many, &p);
	for (int i = 0; i < 2 * THREAD_POSTS; i++) {
		env_poll(env->cq, &wc, 1);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		__atomic_sub_fetch(&out, 1, __ATOMIC_RELAXED);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(ibv_poll_cq(env->cq, 1, &wc), 0);
}

/* Slots are cache lines, and what one holds beyond the entries asked for is offered as inline data. */
static void test_inline_for_free(void **state)
{
	static const struct { uint32_t sge, wish, given; } cases[] = {
		{1, 0, 64}, {4, 0, 64}, {1, 64, 64}, {1, 65, FAKE_INLINE}, {0, 0, 0},
	};
	struct env *env = *state;
	struct ibv_qp *qp;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ibv_qp_init_attr attr = {.send_cq = env->cq, .recv_cq = env->cq, .qp_type = IBV_QPT_RC,
			.cap = {1, 1, cases[i].sge, 1, cases[i].wish}};

		qp = ibv_create_qp(env->pd, &attr);
		assert_non_null(qp);
		assert_int_equal(attr.cap.max_inline_data, cases[i].given);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rings_wrap, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_full_queues, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_checks, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_states, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_write_and_immediate, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_notifications, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_resize, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_destroy_purges, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_poll_makes_no_system_call, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_threads, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_inline_for_free, env_setup, env_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
