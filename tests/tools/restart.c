/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that outlives its daemon. It connects with itself through the connection manager, waits for events of all
 * kinds in threads of their own, and says "ready". When the daemon has ended, everything it holds must say so:
 * readers wake, calls fail with EIO, objects can be destroyed. Then it says "gone", waits for a line on its standard
 * input, opens the device of the next daemon and lives once more.
 *
 * usage: restart DEVICE ADDRESS            as above
 *        restart peer ADDRESS PORT         connects there, says "connected", and then how the connection ended
 *        restart wait ADDRESS PORT         the other end of that
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "must.h"

#define BYTES      4096
#define WAKE_MS    3000  /* after the end of the daemon is known */
#define LIFE_S     60

/* EIO is the answer of all calls that need a daemon. */
#define MUST_EIO(call)                                                                             \
	do {                                                                                       \
		errno = 0;                                                                         \
		MUST((call) != 0 && errno == EIO);                                                 \
	} while (0)
#define MUST_EIO_NULL(call)                                                                        \
	do {                                                                                       \
		errno = 0;                                                                         \
		MUST((call) == NULL && errno == EIO);                                              \
	} while (0)

struct life {
	struct sockaddr_in addr;
	struct rdma_event_channel *here, *there;
	struct rdma_cm_id *listener, *client, *server;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	uint8_t memory[BYTES];
};

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

/* ---- a connection ---- */

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

static void make_objects(struct life *l, struct ibv_context *context)
{
	l->context = context;
	l->pd = ibv_alloc_pd(context);
	l->comp = ibv_create_comp_channel(context);
	MUST(l->pd != NULL && l->comp != NULL);
	l->cq = ibv_create_cq(context, 64, NULL, l->comp, 0);
	l->mr = ibv_reg_mr(l->pd, l->memory, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	MUST(l->cq != NULL && l->mr != NULL && ibv_req_notify_cq(l->cq, 0) == 0);
}

static void make_qp(struct life *l, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1}};

	MUST(rdma_create_qp(id, l->pd, &init) == 0);
}

static void resolve(struct rdma_event_channel *channel, struct rdma_cm_id *id, struct sockaddr_in *addr)
{
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)addr, 2000) == 0);
	expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_route(id, 2000) == 0);
	expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void meet_oneself(struct life *l)
{
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};

	l->here = rdma_create_event_channel();
	l->there = rdma_create_event_channel();
	MUST(l->here != NULL && l->there != NULL);
	MUST(rdma_create_id(l->there, &l->listener, NULL, RDMA_PS_TCP) == 0);
	MUST(rdma_create_id(l->here, &l->client, NULL, RDMA_PS_TCP) == 0);
	l->addr.sin_port = 0;
	MUST(rdma_bind_addr(l->listener, (struct sockaddr *)&l->addr) == 0 && rdma_listen(l->listener, 1) == 0);
	l->addr.sin_port = rdma_get_src_port(l->listener);
	resolve(l->here, l->client, &l->addr);
	make_objects(l, l->client->verbs);
	make_qp(l, l->client);
	MUST(rdma_connect(l->client, &param) == 0);
	l->server = expect(l->there, RDMA_CM_EVENT_CONNECT_REQUEST);
	make_qp(l, l->server);
	MUST(rdma_accept(l->server, &param) == 0);
	expect(l->here, RDMA_CM_EVENT_ESTABLISHED);
	expect(l->there, RDMA_CM_EVENT_ESTABLISHED);
}

static int post_send(struct life *l)
{
	struct ibv_sge sge = {.addr = (uintptr_t)l->memory, .length = 64, .lkey = l->mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED}, *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)l->memory + BYTES / 2;
	wr.wr.rdma.rkey = l->mr->rkey;
	return ibv_post_send(l->client->qp, &wr, &bad);
}

static int post_recv(struct life *l)
{
	struct ibv_sge sge = {.addr = (uintptr_t)l->memory, .length = 64, .lkey = l->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(l->server->qp, &wr, &bad);
}

/* Two writes: one is seen to complete, the other's completion is left in the queue. */
static void transfer(struct life *l)
{
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *context;

	MUST(post_send(l) == 0 && ibv_get_cq_event(l->comp, &cq, &context) == 0);
	ibv_ack_cq_events(cq, 1);
	MUST(ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	MUST(ibv_req_notify_cq(cq, 0) == 0 && post_send(l) == 0);
	MUST(ibv_get_cq_event(l->comp, &cq, &context) == 0);
	ibv_ack_cq_events(cq, 1);
	MUST(ibv_req_notify_cq(cq, 0) == 0 && post_recv(l) == 0);
}

static void take_away(struct life *l)
{
	rdma_destroy_qp(l->client);
	rdma_destroy_qp(l->server);
	MUST(rdma_destroy_id(l->client) == 0 && rdma_destroy_id(l->server) == 0 && rdma_destroy_id(l->listener) == 0);
	rdma_destroy_event_channel(l->here);
	rdma_destroy_event_channel(l->there);
	MUST(ibv_dereg_mr(l->mr) == 0);
	MUST(ibv_destroy_cq(l->cq) == 0);
	MUST(ibv_destroy_comp_channel(l->comp) == 0);
	MUST(ibv_dealloc_pd(l->pd) == 0);
}

/* ---- those who wait ---- */

static void *wait_async(void *arg)
{
	struct life *l = arg;
	struct ibv_async_event event;

	MUST(ibv_get_async_event(l->context, &event) == 0);
	MUST(event.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	/* told once; a second question is answered and does not wait */
	MUST_EIO(ibv_get_async_event(l->context, &event));
	return NULL;
}

static void *wait_completion(void *arg)
{
	struct life *l = arg;
	struct ibv_cq *cq;
	void *context;

	MUST_EIO(ibv_get_cq_event(l->comp, &cq, &context));
	return NULL;
}

/* Every id of the channel is told, and then there is nothing to wait for. */
static void *wait_cm(void *arg)
{
	struct life *l = arg;
	struct rdma_cm_event *event;
	unsigned int told = 0;

	for (int i = 0; i < 2; i++) {
		MUST(rdma_get_cm_event(l->there, &event) == 0 && event->event == RDMA_CM_EVENT_DEVICE_REMOVAL);
		told |= event->id == l->listener ? 1 : event->id == l->server ? 2 : 4;
		MUST(rdma_ack_cm_event(event) == 0);
	}
	MUST(told == 3);
	MUST_EIO(rdma_get_cm_event(l->there, &event));
	return NULL;
}

static void wait_all(struct life *l)
{
	static void *(*const waiters[])(void *) = {wait_async, wait_completion, wait_cm};
	struct timespec end;
	pthread_t threads[3];
	struct pollfd p = {.fd = l->context->async_fd, .events = POLLIN};

	for (int i = 0; i < 3; i++)
		MUST(pthread_create(&threads[i], NULL, waiters[i], l) == 0);
	say("ready");
	/* A program that polls the descriptor sees it become readable. */
	MUST(poll(&p, 1, LIFE_S * 1000) == 1);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAKE_MS / 1000;
	for (int i = 0; i < 3; i++)
		MUST(pthread_timedjoin_np(threads[i], NULL, &end) == 0);
}

/* ---- after the end ---- */

static void nothing_works(struct life *l)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp_init_attr init;
	struct rdma_conn_param param = {0};
	struct ibv_port_attr port;
	struct ibv_device_attr device;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct ibv_wc wc[4];

	/* What was complete is delivered, and then polling fails. */
	MUST(ibv_poll_cq(l->cq, 4, wc) == 1 && wc[0].status == IBV_WC_SUCCESS);
	MUST(ibv_poll_cq(l->cq, 4, wc) < 0);
	MUST(post_send(l) == EIO && post_recv(l) == EIO);
	MUST(ibv_req_notify_cq(l->cq, 0) == EIO);
	MUST(ibv_modify_qp(l->client->qp, &attr, IBV_QP_STATE) == EIO);
	MUST(ibv_query_qp(l->client->qp, &attr, IBV_QP_STATE, &init) == EIO);
	MUST(ibv_query_port(l->context, 1, &port) == EIO);
	MUST(ibv_query_device(l->context, &device) == EIO);
	MUST_EIO_NULL(ibv_alloc_pd(l->context));
	MUST_EIO_NULL(ibv_create_cq(l->context, 1, NULL, NULL, 0));
	MUST_EIO_NULL(ibv_reg_mr(l->pd, l->memory, BYTES, 0));
	MUST_EIO_NULL(ibv_create_comp_channel(l->context));
	MUST_EIO(rdma_create_id(l->here, &id, NULL, RDMA_PS_TCP));
	MUST_EIO(rdma_resolve_addr(l->client, NULL, (struct sockaddr *)&l->addr, 1000));
	MUST_EIO(rdma_connect(l->client, &param));
	MUST_EIO(rdma_listen(l->listener, 1));
	MUST_EIO(rdma_disconnect(l->server));
	/* The channel nobody has read tells its one id too. */
	MUST(rdma_get_cm_event(l->here, &event) == 0 && event->event == RDMA_CM_EVENT_DEVICE_REMOVAL);
	MUST(event->id == l->client && rdma_ack_cm_event(event) == 0);
	MUST_EIO(rdma_get_cm_event(l->here, &event));
}

/* A context of the program's own, from one daemon to the next. */
static void reopen(const char *name, struct ibv_context *old)
{
	struct ibv_context *context = must_open_device(name);
	struct ibv_pd *pd = ibv_alloc_pd(context);

	MUST(pd != NULL);
	MUST_EIO_NULL(ibv_alloc_pd(old));
	MUST(ibv_close_device(old) == 0);
	MUST(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
}

static int outlive(const char *device, const char *address)
{
	struct ibv_context *own;
	static struct life l;
	char line[16];

	l.addr.sin_family = AF_INET;
	MUST(inet_pton(AF_INET, address, &l.addr.sin_addr) == 1);
	own = must_open_device(device);
	meet_oneself(&l);
	transfer(&l);
	wait_all(&l);
	nothing_works(&l);
	take_away(&l);
	say("gone");
	MUST(fgets(line, sizeof(line), stdin) != NULL);
	reopen(device, own);
	meet_oneself(&l);
	transfer(&l);
	take_away(&l);
	say("again");
	return 0;
}

/* ---- two programs ---- */

static int tell_end(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	say("connected");
	MUST(rdma_get_cm_event(channel, &event) == 0);
	say(rdma_event_str(event->event));
	return 0;
}

static int be_peer(const char *address, const char *port, int passive)
{
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
	static struct life l;
	struct rdma_cm_id *id;

	MUST(channel != NULL && inet_pton(AF_INET, address, &addr.sin_addr) == 1);
	MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0);
	if (passive) {
		MUST(rdma_bind_addr(id, (struct sockaddr *)&addr) == 0 && rdma_listen(id, 1) == 0);
		id = expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	} else {
		resolve(channel, id, &addr);
	}
	make_objects(&l, id->verbs);
	make_qp(&l, id);
	MUST((passive ? rdma_accept(id, &param) : rdma_connect(id, &param)) == 0);
	expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	return tell_end(channel);
}

int main(int argc, char **argv)
{
	alarm(LIFE_S);
	if (argc == 3)
		return outlive(argv[1], argv[2]);
	if (argc == 4 && (strcmp(argv[1], "peer") == 0 || strcmp(argv[1], "wait") == 0))
		return be_peer(argv[2], argv[3], argv[1][0] == 'w');
	fputs("usage: restart DEVICE ADDRESS | restart peer|wait ADDRESS PORT\n", stderr);
	return 2;
}
