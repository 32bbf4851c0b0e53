/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ordinary verbs program that ends where no program should. Its life is: make everything there is, transfer,
 * meet itself through the connection manager, take everything away again.
 *
 * usage: mortal kill DEVICE GID-INDEX ADDRESS COUNT SEED   COUNT lives, each ended by SIGKILL at a random instant
 *        mortal exec|fork|child|close|dup DEVICE GID-INDEX ADDRESS   lives up to a transfer and then
 *            exec   becomes another program
 *            fork   has a child that goes on with its objects, and dies itself
 *            child  has a child that uses its objects and ends, and then goes on itself as if nothing had been
 *            close  closes all descriptors and goes on
 *            dup    puts other files in the place of its descriptors and goes on
 *        These say "done" and then stay around for 20 seconds.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "must.h"

#define BYTES        65536
#define MESSAGES     40
#define STAY_SECONDS 20
#define TRIES        20000

enum phase { BEGINNING, SETUP, TRANSFER, CONNECT, TEARDOWN, N_PHASES };

static const char *const phase_names[] = {"beginning", "setup", "transfer", "connect", "teardown"};

struct life {
	const char *device, *address;
	uint8_t gid_index;
	volatile uint32_t *phase; /* seen by who kills */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp[3]; /* two that are connected, one for datagrams */
	struct ibv_ah *ah;
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	uint8_t *memory;
};

/* ---- verbs ---- */

static struct ibv_qp *make_qp(struct life *l, enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {.send_cq = l->cq,
		.recv_cq = l->cq,
		.srq = srq,
		.qp_type = type,
		.cap = {.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_qp *qp = ibv_create_qp(l->pd, &init);

	MUST(qp != NULL);
	return qp;
}

static void setup(struct life *l)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 64, .max_sge = 1}};
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = l->gid_index, .hop_limit = 64}};

	l->context = must_open_device(l->device);
	l->pd = ibv_alloc_pd(l->context);
	l->channel = ibv_create_comp_channel(l->context);
	MUST(l->pd != NULL && l->channel != NULL);
	l->cq = ibv_create_cq(l->context, 512, NULL, l->channel, 0);
	l->srq = ibv_create_srq(l->pd, &srq);
	l->memory = calloc(1, BYTES);
	MUST(l->cq != NULL && l->srq != NULL && l->memory != NULL);
	l->mr = ibv_reg_mr(
		l->pd, l->memory, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	l->mw = ibv_alloc_mw(l->pd, IBV_MW_TYPE_1);
	MUST(l->mr != NULL && l->mw != NULL);
	l->qp[0] = make_qp(l, IBV_QPT_RC, NULL);
	l->qp[1] = make_qp(l, IBV_QPT_RC, l->srq);
	l->qp[2] = make_qp(l, IBV_QPT_UD, NULL);
	MUST(ibv_query_gid(l->context, 1, l->gid_index, &ah.grh.dgid) == 0);
	l->ah = ibv_create_ah(l->pd, &ah);
	MUST(l->ah != NULL);
}

static void bring_up(struct life *l, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = l->gid_index, .hop_limit = 64}}};
	MUST(ibv_query_gid(l->context, 1, l->gid_index, &attr.ah_attr.grh.dgid) == 0);
	MUST(ibv_modify_qp(qp, &attr,
		     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4};
	MUST(ibv_modify_qp(qp, &attr,
		     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			     IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

/* Sends and writes in turns; what fails is the caller's to judge. */
static int post(struct life *l, int n)
{
	struct ibv_sge sge = {.addr = (uintptr_t)l->memory, .length = 8192, .lkey = l->mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = {.sg_list = &sge,
				   .num_sge = 1,
				   .send_flags = IBV_SEND_SIGNALED,
				   .opcode = n % 2 == 0 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE},
			   *bad_send;

	send.wr.rdma.remote_addr = (uintptr_t)l->memory + BYTES / 2;
	send.wr.rdma.rkey = l->mr->rkey;
	if (n % 2 == 0 && ibv_post_srq_recv(l->srq, &recv, &bad_recv) != 0)
		return -1;
	return ibv_post_send(l->qp[0], &send, &bad_send) == 0 ? 0 : -1;
}

static void post_all(struct life *l)
{
	for (int n = 0; n < MESSAGES; n++)
		MUST(post(l, n) == 0);
}

/* Each send has two completions. */
static void complete_all(struct life *l)
{
	struct ibv_wc wc;
	int n, done = 0;

	for (int i = 0; i < TRIES && done < MESSAGES + MESSAGES / 2; i++) {
		n = ibv_poll_cq(l->cq, 1, &wc);
		MUST(n >= 0 && (n == 0 || wc.status == IBV_WC_SUCCESS));
		done += n;
		if (n == 0)
			usleep(200);
	}
	MUST(done == MESSAGES + MESSAGES / 2);
}

static void transfer(struct life *l)
{
	bring_up(l, l->qp[0], l->qp[1]->qp_num);
	bring_up(l, l->qp[1], l->qp[0]->qp_num);
	post_all(l);
	complete_all(l);
}

static void teardown(struct life *l)
{
	for (int i = 0; i < 3; i++)
		MUST(ibv_destroy_qp(l->qp[i]) == 0);
	MUST(ibv_destroy_srq(l->srq) == 0);
	MUST(ibv_destroy_ah(l->ah) == 0);
	MUST(ibv_dealloc_mw(l->mw) == 0);
	MUST(ibv_dereg_mr(l->mr) == 0);
	MUST(ibv_destroy_cq(l->cq) == 0);
	MUST(ibv_destroy_comp_channel(l->channel) == 0);
	MUST(ibv_dealloc_pd(l->pd) == 0);
	MUST(ibv_close_device(l->context) == 0);
	free(l->memory);
}

/* ---- connection management ---- */

static struct rdma_cm_id *expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	MUST(rdma_get_cm_event(channel, &event) == 0);
	if (event->event != type)
		fprintf(stderr, "%s instead of %s\n", rdma_event_str(event->event), rdma_event_str(type));
	MUST(event->event == type);
	id = event->id;
	MUST(rdma_ack_cm_event(event) == 0);
	return id;
}

static void make_cm_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};

	MUST(rdma_create_qp(id, NULL, &init) == 0);
}

static void meet(struct life *l)
{
	struct rdma_event_channel *here = rdma_create_event_channel(), *there = rdma_create_event_channel();
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
	struct rdma_cm_id *listener, *client, *server;
	struct sockaddr_in addr = {.sin_family = AF_INET};

	MUST(here != NULL && there != NULL && inet_pton(AF_INET, l->address, &addr.sin_addr) == 1);
	MUST(rdma_create_id(there, &listener, NULL, RDMA_PS_TCP) == 0);
	MUST(rdma_create_id(here, &client, NULL, RDMA_PS_TCP) == 0);
	MUST(rdma_bind_addr(listener, (struct sockaddr *)&addr) == 0 && rdma_listen(listener, 1) == 0);
	addr.sin_port = rdma_get_src_port(listener);
	MUST(rdma_resolve_addr(client, NULL, (struct sockaddr *)&addr, 2000) == 0);
	expect(here, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_route(client, 2000) == 0);
	expect(here, RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_cm_qp(client);
	MUST(rdma_connect(client, &param) == 0);
	server = expect(there, RDMA_CM_EVENT_CONNECT_REQUEST);
	make_cm_qp(server);
	MUST(rdma_accept(server, &param) == 0);
	expect(here, RDMA_CM_EVENT_ESTABLISHED);
	expect(there, RDMA_CM_EVENT_ESTABLISHED);
	MUST(rdma_disconnect(client) == 0);
	expect(there, RDMA_CM_EVENT_DISCONNECTED);
	MUST(rdma_disconnect(server) == 0);
	expect(here, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_qp(client);
	rdma_destroy_qp(server);
	MUST(rdma_destroy_id(client) == 0 && rdma_destroy_id(server) == 0 && rdma_destroy_id(listener) == 0);
	rdma_destroy_event_channel(here);
	rdma_destroy_event_channel(there);
}

/* ---- lives ---- */

static void live(struct life *l)
{
	*l->phase = SETUP;
	setup(l);
	*l->phase = TRANSFER;
	transfer(l);
	*l->phase = CONNECT;
	meet(l);
	*l->phase = TEARDOWN;
	teardown(l);
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* A child that lives once; then, if it is to be killed, again and again. */
static pid_t give_birth(struct life *l, int again)
{
	pid_t pid;

	*l->phase = BEGINNING;
	pid = fork();
	MUST(pid >= 0);
	if (pid != 0)
		return pid;
	alarm(STAY_SECONDS);
	do
		live(l);
	while (again);
	exit(0);
}

static void kill_lives(struct life *l, unsigned int count, unsigned int seed)
{
	unsigned int ends[N_PHASES] = {0};
	double start_s = now_s(), life_s;
	int status;

	MUST(waitpid(give_birth(l, 0), &status, 0) > 0 && status == 0);
	life_s = now_s() - start_s;
	srandom(seed);
	for (unsigned int i = 0; i < count; i++) {
		pid_t pid = give_birth(l, 1);

		usleep((useconds_t)(life_s * 1.1e6 * (double)random() / RAND_MAX));
		MUST(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
		MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* it did not fail before */
		ends[*l->phase]++;
	}
	printf("a life takes %.0f ms; killed:", life_s * 1e3);
	for (int i = 0; i < N_PHASES; i++)
		printf(" %s %u", phase_names[i], ends[i]);
	printf("\n");
}

static void say_done(void)
{
	printf("done\n");
	fflush(stdout);
}

/* Uses what belongs to the parent; that nothing comes of it is all right, that it harms anybody is not. */
static void go_on(struct life *l)
{
	struct ibv_wc wc;

	for (int n = 0; n < 1000; n++) {
		(void)post(l, n);
		(void)ibv_poll_cq(l->cq, 1, &wc);
	}
	(void)ibv_destroy_qp(l->qp[0]);
	(void)ibv_alloc_pd(l->context);
	(void)ibv_reg_mr(l->pd, l->memory, BYTES, 0);
}

/* What the child did with its copies of everything must not be seen here. */
static void outlive_child(struct life *l)
{
	pid_t pid = fork();
	int status;

	MUST(pid >= 0);
	if (pid == 0) {
		go_on(l);
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	complete_all(l);
	post_all(l);
	complete_all(l);
	teardown(l);
	say_done();
	sleep(STAY_SECONDS);
	exit(0);
}

static void replace_descriptors(struct life *l)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	MUST(null_fd >= 0 && dup2(null_fd, l->context->cmd_fd) >= 0);
	MUST(dup2(null_fd, l->context->async_fd) >= 0 && dup2(null_fd, l->channel->fd) >= 0);
}

static void end_otherwise(struct life *l, const char *how)
{
	setup(l);
	transfer(l);
	post_all(l); /* still under way */
	if (strcmp(how, "child") == 0)
		outlive_child(l);
	if (strcmp(how, "exec") == 0) {
		execl("/bin/sh", "sh", "-c", "echo done; exec sleep 20", (char *)NULL);
		exit(1);
	}
	if (strcmp(how, "fork") == 0) {
		pid_t pid = fork();

		MUST(pid >= 0);
		if (pid != 0)
			raise(SIGKILL);
	} else if (strcmp(how, "dup") == 0) {
		replace_descriptors(l);
	} else {
		/* Not standard output and error. */
		MUST(close_range(3, UINT_MAX, 0) == 0);
	}
	alarm(STAY_SECONDS);
	go_on(l);
	say_done();
	sleep(STAY_SECONDS);
}

int main(int argc, char **argv)
{
	struct life l = {
		.phase = mmap(NULL, sizeof(*l.phase), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};

	if (argc < 5 || (strcmp(argv[1], "kill") == 0 && argc != 7)) {
		fputs("usage: mortal kill DEVICE GID-INDEX ADDRESS COUNT SEED\n"
		      "       mortal exec|fork|child|close|dup DEVICE GID-INDEX ADDRESS\n",
			stderr);
		return 2;
	}
	MUST(l.phase != MAP_FAILED);
	l.device = argv[2];
	l.gid_index = (uint8_t)strtoul(argv[3], NULL, 0);
	l.address = argv[4];
	if (argc == 7)
		kill_lives(&l, (unsigned int)strtoul(argv[5], NULL, 0), (unsigned int)strtoul(argv[6], NULL, 0));
	else
		end_otherwise(&l, argv[1]);
	return 0;
}
