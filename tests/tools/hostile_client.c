/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients that break every rule of the contract with the daemon (lib/verbs/verbs_contract.h), one process after
 * another: garbage on the control socket, objects without end, queues full of random work requests, random
 * stores to all of the shared memory, memory taken away while it is registered, descriptors where none belong,
 * exec() and fork() in the middle, files of all kinds offered as memory. Each is killed after a random time, wherever it is.
 *
 * usage: hostile_client SOCKET GID SECONDS SEED [ROLE...]      (GID: of an address of the daemon, 32 hex digits)
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "verbs_contract.h"

#define AT_ONCE      6       /* processes */
#define LIFE_MAX_MS  400
#define MEMORY_BYTES (1u << 20)
#define N_QPS        4

static const char *socket_path;
static uint8_t gid[16];
static uint64_t state;
static int domain = -1; /* an XRC domain's file, open in all processes */

/* A context as an honest client would make it. */
struct context {
	int sock, fds[3];            /* shared memory, wake-up, asynchronous events */
	uint8_t *shm;
	uint64_t shm_bytes;
	uint32_t pd, cq, mr_key, mr, xrcd;
	uint32_t srqn; /* for what is sent; not 0: below it are others' */
	uint8_t *memory;
	struct vc_reply qp[N_QPS];
};

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull >> 11;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(rnd() % n);
}

static void fill(void *to, size_t n)
{
	uint8_t *at = to;

	for (size_t i = 0; i < n; i++)
		at[i] = (uint8_t)rnd();
}

/* Small numbers, limits and anything. */
static uint32_t odd_number(void)
{
	static const uint32_t numbers[] = {0, 1, 2, 3, 4, 15, 16, 255, 256, 1024, 4096, 65535, 65536, 0x7fffffff,
		0x80000000, 0xffffffff};

	return below(3) == 0 ? (uint32_t)rnd() : numbers[below(sizeof(numbers) / sizeof(numbers[0]))];
}

static int dial(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval timeout = {.tv_sec = 2};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	strncpy(addr.sun_path, socket_path, sizeof(addr.sun_path) - 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		_exit(0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	return fd;
}

static void take_fds(struct msghdr *msg, int *fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (fds != NULL && i < 3)
				fds[i] = fd;
			else
				close(fd);
		}
	}
}

static int receive(int sock, struct vc_reply *reply, int *fds, int flags)
{
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct iovec iov = {.iov_base = reply, .iov_len = sizeof(*reply)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(sock, &msg, flags);

	if (n <= 0)
		return -1;
	take_fds(&msg, fds);
	return reply->status;
}

/* The status of the answer; gives up when there is none. */
static int ask(int sock, struct vc_request *request, uint32_t op, struct vc_reply *reply, int *fds)
{
	request->op = op;
	if (send(sock, request, sizeof(*request), MSG_NOSIGNAL) < 0)
		_exit(0);
	return receive(sock, reply, fds, 0);
}

static void must(int status)
{
	if (status != 0)
		_exit(0); /* others have taken all there is: that is answer enough */
}

static void make_qp(struct context *c, struct vc_reply *reply)
{
	struct vc_request request = {.create_qp = {.pd = c->pd, .send_cq = c->cq, .recv_cq = c->cq, .type = IBV_QPT_RC,
		.max_send_wr = 1u << below(8), .max_recv_wr = 1u << below(8), .max_send_sge = 1 + below(8),
		.max_recv_sge = 1 + below(8), .max_inline_bytes = below(257)}};

	must(ask(c->sock, &request, VC_CREATE_QP, reply, NULL));
}

static void open_context(struct context *c)
{
	struct vc_request hello = {.hello = {.magic = VC_MAGIC, .version = VC_VERSION}}, request = {0};
	struct vc_reply reply;

	c->sock = dial();
	c->srqn = 0;
	must(ask(c->sock, &hello, VC_HELLO_VERBS, &reply, c->fds));
	c->shm_bytes = reply.hello.shm_bytes;
	c->shm = mmap(NULL, c->shm_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, c->fds[0], 0);
	c->memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->shm == MAP_FAILED || c->memory == MAP_FAILED)
		_exit(1);
	must(ask(c->sock, &request, VC_ALLOC_PD, &reply, NULL));
	c->pd = reply.object.handle;
	request = (struct vc_request){.create_cq = {.depth = 1u << below(10)}};
	must(ask(c->sock, &request, VC_CREATE_CQ, &reply, NULL));
	c->cq = reply.cq.handle;
	request = (struct vc_request){.reg_mr = {.pd = c->pd, .access = 15, .addr = (uintptr_t)c->memory,
		.bytes = MEMORY_BYTES, .iova = (uintptr_t)c->memory}};
	must(ask(c->sock, &request, VC_REG_MR, &reply, NULL));
	c->mr = reply.mr.handle;
	c->mr_key = reply.mr.key;
	for (int i = 0; i < N_QPS; i++)
		make_qp(c, &c->qp[i]);
}

static void set_state(struct context *c, int i, struct vc_qp_attr attr)
{
	struct vc_request request = {.modify_qp = {.handle = c->qp[i].qp.handle, .attr = attr}};
	struct vc_reply reply;

	(void)ask(c->sock, &request, VC_MODIFY_QP, &reply, NULL);
}

/* Each queue pair is connected with the next; the last one with nobody. */
static void connect_qps(struct context *c)
{
	struct vc_qp_attr init = {.mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		.state = IBV_QPS_INIT, .port = 1, .access = 15};
	struct vc_qp_attr rtr = {.mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, .state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.max_dest_rd_atomic = 16, .min_rnr_timer = 1, .av.sgid_index = 1, .av.hop_limit = 64};
	struct vc_qp_attr rts = {.mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC, .state = IBV_QPS_RTS, .timeout = 8, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 16};

	memcpy(rtr.av.dgid, gid, sizeof(gid));
	for (int i = 0; i < N_QPS; i++) {
		set_state(c, i, init);
		rtr.dest_qpn = c->qp[i ^ 1].qp.qpn + (i == N_QPS - 1 ? 77 : 0);
		set_state(c, i, rtr);
		set_state(c, i, rts);
	}
}

/* ---- the rings ---- */

static void odd_sge(const struct context *c, struct tp_sge *sge)
{
	sge->addr = (uintptr_t)c->memory + below(MEMORY_BYTES);
	sge->bytes = below(4) == 0 ? odd_number() : below(65536);
	sge->lkey = below(8) == 0 ? (uint32_t)rnd() : c->mr_key;
	if (below(16) == 0)
		sge->addr = rnd();
}

static void odd_send(const struct context *c, const struct vc_reply *qp, uint8_t *slot)
{
	uint32_t room = (qp->qp.sq_slot_bytes - (uint32_t)sizeof(struct tp_send_wqe)) / (uint32_t)sizeof(struct tp_sge);
	struct tp_send_wqe wqe = {.wr_id = rnd(), .opcode = (uint8_t)below(10), .num_sge = (uint8_t)below(room + 1),
		.flags = (uint16_t)(TP_SEND_SIGNALED | (below(8) == 0 ? rnd() : 0)), .inline_bytes = odd_number(),
		.remote_addr = (uintptr_t)c->memory + (below(MEMORY_BYTES) & ~7u), .rkey = c->mr_key,
		.imm = (uint32_t)rnd()};
	struct tp_sge sge;

	wqe.atomic.compare_add = rnd();
	wqe.srqn = c->srqn - (below(4) == 0 ? below(c->srqn % 16 + 1) : 0);
	if (below(32) == 0)
		fill(&wqe, sizeof(wqe));
	memcpy(slot, &wqe, sizeof(wqe));
	for (uint32_t i = 0; i < room; i++) {
		odd_sge(c, &sge);
		memcpy(slot + sizeof(wqe) + i * sizeof(sge), &sge, sizeof(sge));
	}
}

static void odd_recv(const struct context *c, const struct vc_reply *qp, uint8_t *slot)
{
	uint32_t room = (qp->qp.rq_slot_bytes - (uint32_t)sizeof(struct tp_recv_wqe)) / (uint32_t)sizeof(struct tp_sge);
	struct tp_recv_wqe wqe = {.wr_id = rnd(), .num_sge = below(16) == 0 ? odd_number() : below(room + 1)};
	struct tp_sge sge;

	memcpy(slot, &wqe, sizeof(wqe));
	for (uint32_t i = 0; i < room; i++) {
		odd_sge(c, &sge);
		memcpy(slot + sizeof(wqe) + i * sizeof(sge), &sge, sizeof(sge));
	}
}

/* Everything where a client may write it, but seldom what it should be. */
static void post(const struct context *c)
{
	const struct vc_reply *qp = &c->qp[below(N_QPS)];
	struct vc_shm_header *header = (struct vc_shm_header *)(void *)c->shm;
	bool send = below(2) != 0;
	uint8_t *base = c->shm + (send ? qp->qp.sq_offset : qp->qp.rq_offset);
	struct vc_queue *queue = (struct vc_queue *)(void *)base;
	uint32_t depth = send ? qp->qp.sq_depth : qp->qp.rq_depth, n = 1 + below(depth + (depth == 0));
	uint64_t one = 1;

	if (depth == 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (queue->prod + i) & (depth - 1);

		if (send)
			odd_send(c, qp, base + sizeof(*queue) + (size_t)at * qp->qp.sq_slot_bytes);
		else
			odd_recv(c, qp, base + sizeof(*queue) + (size_t)at * qp->qp.rq_slot_bytes);
	}
	if (queue->prod - queue->cons + n > depth && below(64) != 0)
		n = 0;
	__atomic_fetch_add(&queue->prod, n, __ATOMIC_RELEASE);
	__atomic_fetch_or(&header->doorbell[qp->qp.slot / 64], 1ull << (qp->qp.slot & 63), __ATOMIC_SEQ_CST);
	if (header->need_wakeup != 0 && write(c->fds[1], &one, sizeof(one)) < 0)
		_exit(0);
}

static void poll_cq(const struct context *c, uint64_t cq_offset)
{
	struct vc_cq *cq = (struct vc_cq *)(void *)(c->shm + cq_offset);

	cq->cons += below(8) == 0 ? (uint32_t)rnd() : below(4);
	cq->armed = odd_number();
}

static void role_rings(void)
{
	struct context c;

	open_context(&c);
	connect_qps(&c);
	for (;;) {
		post(&c);
		if (below(512) == 0)
			poll_cq(&c, 4096);
		if (below(256) == 0)
			connect_qps(&c);
	}
}

static void role_scribble(void)
{
	struct context c;
	uint64_t one = 1;

	open_context(&c);
	connect_qps(&c);
	for (uint32_t i = 0;; i++) {
		uint64_t word = rnd(), at = rnd() % (64 * 4096 / 8) * 8;

		if (i % 16 == 0)
			post(&c);
		memcpy(c.shm + at, &word, sizeof(word));
		((struct vc_shm_header *)(void *)c.shm)->doorbell[below(16)] = ~0ull;
		if (write(c.fds[1], &one, sizeof(one)) < 0)
			return;
	}
}

/* What is registered goes away, or was never there. */
static void role_memory(void)
{
	struct context c;

	open_context(&c);
	connect_qps(&c);
	for (int i = 0;; i++) {
		struct vc_request request = {.reg_mr = {.pd = c.pd, .access = (uint32_t)rnd() & 15,
			.addr = rnd() >> below(40), .bytes = odd_number() + rnd() % 4096, .iova = rnd()}};
		struct vc_reply reply;

		post(&c);
		if (i == 20)
			munmap(c.memory + MEMORY_BYTES / 4, MEMORY_BYTES / 4);
		if (i == 40)
			mprotect(c.memory, MEMORY_BYTES / 4, PROT_NONE);
		if (below(2) == 0)
			(void)ask(c.sock, &request, VC_REG_MR, &reply, NULL);
	}
}

/* A descriptor that is no sealed memfd, or one that is. */
static int odd_file(int sealed)
{
	static const char *const paths[] = {"/dev/zero", "/proc/self/mem", "/proc/self/maps", "/dev/shm"};
	int fd;

	switch (below(5)) {
	case 0:
		return open(paths[below(4)], O_RDWR | O_CLOEXEC);
	case 1:
		fd = memfd_create("growing", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (ftruncate(fd, (off_t)(rnd() >> below(60))) != 0 && below(2) == 0)
			close(fd);
		return fd;
	case 2:
		fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0 && ftruncate(fd, MEMORY_BYTES) != 0)
			close(fd);
		return fd;
	case 3:
		return (int)rnd();
	default:
		return sealed;
	}
}

/* Offers any file as memory, and takes the pages of one that is mapped away while data flows. */
static void role_memfds(void)
{
	struct vc_request request = {0};
	struct vc_reply reply;
	struct context c;
	int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING), odd;

	open_context(&c);
	if (fd < 0 || ftruncate(fd, MEMORY_BYTES) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
		_exit(1);
	c.memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c.memory == MAP_FAILED)
		_exit(1);
	memset(c.memory, 0x77, MEMORY_BYTES);
	request.reg_mr.pd = c.pd;
	request.reg_mr.access = 15;
	request.reg_mr.addr = request.reg_mr.iova = (uintptr_t)c.memory;
	request.reg_mr.bytes = MEMORY_BYTES;
	request.reg_mr.mem_fd = (uint32_t)fd + 1;
	must(ask(c.sock, &request, VC_REG_MR, &reply, NULL));
	c.mr_key = reply.mr.key;
	connect_qps(&c);
	for (;;) {
		post(&c);
		if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, below(MEMORY_BYTES),
			    1 + below(MEMORY_BYTES)) != 0)
			_exit(1);
		if (ftruncate(fd, below(MEMORY_BYTES)) == 0)
			_exit(1);
		odd = odd_file(fd);
		request.reg_mr.mem_fd = (uint32_t)odd + 1;
		request.reg_mr.mem_offset = rnd() >> below(64);
		request.reg_mr.bytes = 1 + below(MEMORY_BYTES);
		if (below(8) == 0)
			(void)ask(c.sock, &request, VC_REG_MR, &reply, NULL);
		if (odd != fd && odd > 2)
			close(odd);
		if (below(64) == 0)
			connect_qps(&c);
	}
}

/* The shared receive queue is where post() looks for a receive queue. */
static void place_srq(struct context *c, const struct vc_reply *reply)
{
	c->qp[2].qp.rq_offset = reply->srq.offset;
	c->qp[2].qp.rq_depth = reply->srq.depth;
	c->qp[2].qp.rq_slot_bytes = reply->srq.slot_bytes;
}

/* A target, who sends to it, and a shared receive queue. */
static uint32_t join_domain(struct context *c)
{
	struct vc_request request = {.open_xrcd = {.fd = domain, .oflags = O_CREAT}};
	struct vc_reply reply;

	must(ask(c->sock, &request, VC_OPEN_XRCD, &reply, NULL));
	c->xrcd = reply.object.handle;
	request = (struct vc_request){.create_qp = {.type = IBV_QPT_XRC_RECV, .xrcd = c->xrcd}};
	must(ask(c->sock, &request, VC_CREATE_QP, &c->qp[0], NULL));
	request = (struct vc_request){.create_qp = {.pd = c->pd, .send_cq = c->cq, .type = IBV_QPT_XRC_SEND,
		.max_send_wr = 64, .max_send_sge = 4}};
	must(ask(c->sock, &request, VC_CREATE_QP, &c->qp[1], NULL));
	request = (struct vc_request){.create_srq = {.pd = c->pd, .max_wr = 64, .max_sge = 4, .xrcd = c->xrcd,
		.cq = c->cq}};
	must(ask(c->sock, &request, VC_CREATE_SRQ, &reply, NULL));
	c->srqn = reply.srq.number;
	place_srq(c, &reply);
	connect_qps(c);
	return reply.srq.handle;
}

static void odd_change(struct context *c, uint32_t srq)
{
	struct vc_request request = {.rereg_mr = {.handle = c->mr, .flags = 1 + below(7), .pd = c->pd,
		.access = 15 | (below(2) == 0 ? IBV_ACCESS_ON_DEMAND : 0),
		.addr = (uintptr_t)c->memory + below(4096), .bytes = below(4) == 0 ? odd_number() : MEMORY_BYTES / 2}};
	struct vc_reply reply;

	if (below(2) == 0) {
		(void)ask(c->sock, &request, VC_REREG_MR, &reply, NULL);
		return;
	}
	request = (struct vc_request){.modify_srq = {.handle = srq, .mask = 1 + below(3),
		.max_wr = below(4) == 0 ? odd_number() : 1u << below(8), .limit = below(40)}};
	if (ask(c->sock, &request, VC_MODIFY_SRQ, &reply, NULL) == 0)
		place_srq(c, &reply);
}

static void odd_share(struct context *c)
{
	struct vc_request request = {.open_qp = {.xrcd = c->xrcd, .qpn = c->qp[0].qp.qpn + below(64) - 32}};
	struct vc_reply reply;
	int odd;

	if (below(2) == 0) {
		if (ask(c->sock, &request, VC_OPEN_QP, &reply, NULL) == 0 && below(2) == 0)
			c->qp[0] = reply;
		return;
	}
	odd = odd_file(domain);
	request = (struct vc_request){.open_xrcd = {.fd = odd, .oflags = below(8) == 0 ? odd_number() : O_CREAT}};
	if (ask(c->sock, &request, VC_OPEN_XRCD, &reply, NULL) == 0) {
		request.object.handle = reply.object.handle;
		(void)ask(c->sock, &request, VC_CLOSE_XRCD, &reply, NULL);
	}
	if (odd != domain && odd > 2)
		close(odd);
}

/* Shares an XRC domain with its like, and changes its regions and queues while data flows. */
static void role_sharers(void)
{
	struct context c;
	uint32_t srq;

	open_context(&c);
	srq = join_domain(&c);
	for (int i = 0;; i++) {
		post(&c);
		if (i == 200)
			munmap(c.memory + MEMORY_BYTES / 4, MEMORY_BYTES / 4);
		if (below(16) == 0)
			odd_change(&c, srq);
		if (below(16) == 0)
			odd_share(&c);
		if (below(32) == 0)
			connect_qps(&c);
	}
}

/* ---- the control socket ---- */

static void role_garbage(void)
{
	uint8_t bytes[4096];
	struct vc_reply reply;
	int sock = dial();

	for (;;) {
		fill(bytes, sizeof(bytes));
		if (send(sock, bytes, below(below(2) == 0 ? 4096 : sizeof(struct vc_request) + 8), MSG_NOSIGNAL) < 0)
			return;
		if (below(3) != 0)
			(void)receive(sock, &reply, NULL, MSG_DONTWAIT);
	}
}

/* Valid operations, fields of any kind, as many objects as there are. */
static void role_requests(void)
{
	struct vc_request request = {.hello = {.magic = VC_MAGIC, .version = VC_VERSION}};
	struct vc_reply reply;
	int sock = dial();
	bool cm = below(2) == 0;

	(void)ask(sock, &request, cm ? VC_HELLO_CM : VC_HELLO_VERBS, &reply, NULL);
	for (;;) {
		uint32_t *words = (uint32_t *)(void *)&request;
		uint32_t op = cm ? VC_CM_CREATE_CHANNEL + below(VC_CM_QUERY_ID - VC_CM_CREATE_CHANNEL + 1) :
			below(VC_DESTROY_AH + 1);

		for (size_t i = 0; i < sizeof(request) / sizeof(*words); i++)
			words[i] = below(2) == 0 ? 1 + below(8) : odd_number();
		if (below(2) == 0)
			memcpy(request.modify_qp.attr.av.dgid, gid, sizeof(gid));
		(void)ask(sock, &request, op, &reply, NULL);
	}
}

/* One kind of object until there is no more, again and again. */
static void role_hoard(void)
{
	static const uint32_t kinds[] = {VC_ALLOC_PD, VC_CREATE_COMP_CHANNEL, VC_CREATE_CQ, VC_CREATE_QP, VC_REG_MR};
	uint32_t kind = kinds[below(sizeof(kinds) / sizeof(kinds[0]))];
	struct vc_request request;
	struct vc_reply reply;
	struct context c;

	open_context(&c);
	for (;;) {
		memset(&request, 0, sizeof(request));
		if (kind == VC_CREATE_QP) {
			make_qp(&c, &reply);
			continue;
		}
		if (kind == VC_CREATE_CQ)
			request.create_cq.depth = 1024;
		if (kind == VC_REG_MR)
			request = (struct vc_request){
				.reg_mr = {.pd = c.pd, .addr = (uintptr_t)c.memory, .bytes = 4096}};
		must(ask(c.sock, &request, kind, &reply, NULL));
	}
}

static void role_dialers(void)
{
	for (int i = 0; i < 400; i++)
		(void)dial();
	pause();
}

static void role_descriptors(void)
{
	struct vc_request request = {.op = VC_LIST_DEVICES};
	int sock = dial(), fds[8];
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} control = {0};
	struct iovec iov = {.iov_base = &request, .iov_len = sizeof(request)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	for (size_t i = 0; i < 8; i++)
		fds[i] = sock;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	while (sendmsg(sock, &msg, MSG_NOSIGNAL) >= 0)
		;
}

/* ---- the process ---- */

static void role_exec(void)
{
	struct context c;

	open_context(&c);
	connect_qps(&c);
	for (int i = 0; i < 50; i++)
		post(&c);
	execl("/bin/sleep", "sleep", "0.3", (char *)NULL);
}

/* The child goes on with what belongs to a parent that is gone. */
static void role_fork(void)
{
	struct context c;

	open_context(&c);
	connect_qps(&c);
	if (fork() != 0)
		_exit(0);
	for (int i = 0; i < 20000; i++)
		post(&c);
	for (;;) {
		struct vc_request request = {0};
		struct vc_reply reply;

		if (ask(c.sock, &request, VC_ALLOC_PD, &reply, NULL) != 0)
			return;
	}
}

static void role_half_closed(void)
{
	struct context c;

	open_context(&c);
	connect_qps(&c);
	for (int i = 0; i < 3; i++)
		close(c.fds[below(3)]);
	(void)fcntl(c.fds[1], F_SETFL, 0);
	for (int i = 0; i < 200; i++)
		post(&c);
	(void)shutdown(c.sock, below(2) == 0 ? SHUT_RD : SHUT_WR);
	pause();
}

static const struct role {
	const char *name;
	void (*run)(void);
} roles[] = {
	{"rings", role_rings}, {"scribble", role_scribble}, {"memory", role_memory}, {"garbage", role_garbage},
	{"requests", role_requests}, {"hoard", role_hoard}, {"dialers", role_dialers},
	{"descriptors", role_descriptors}, {"memfds", role_memfds}, {"sharers", role_sharers}, {"exec", role_exec}, {"fork", role_fork},
	{"half_closed", role_half_closed},
};
#define N_ROLES (sizeof(roles) / sizeof(roles[0]))

static const struct role *choose(int argc, char **argv)
{
	const char *name = argc > 0 ? argv[below((uint32_t)argc)] : NULL;

	for (size_t i = 0; name != NULL && i < N_ROLES; i++) {
		if (strcmp(roles[i].name, name) == 0)
			return &roles[i];
	}
	return &roles[below(N_ROLES)];
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static pid_t start(const struct role *role)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	state ^= (uint64_t)getpid() << 32;
	alarm(5); /* also for what a role forks */
	role->run();
	_exit(0);
}

/* Ends a child that is still there; a number that was waited for may be somebody else's by now. */
static void finish(pid_t *pid)
{
	if (*pid == 0)
		return;
	kill(*pid, SIGKILL);
	(void)waitpid(*pid, NULL, 0);
	*pid = 0;
}

int main(int argc, char **argv)
{
	pid_t pids[AT_ONCE] = {0};
	uint64_t end_ms, until_ms[AT_ONCE] = {0};
	unsigned long n = 0;

	if (argc < 5 || strlen(argv[2]) != 32) {
		fputs("usage: hostile_client SOCKET GID SECONDS SEED [ROLE...]\n", stderr);
		return 2;
	}
	socket_path = argv[1];
	for (size_t i = 0; i < 16; i++)
		sscanf(argv[2] + 2 * i, "%2hhx", &gid[i]);
	state = strtoull(argv[4], NULL, 0) * 2 + 1;
	domain = memfd_create("domain", MFD_CLOEXEC);
	for (end_ms = now_ms() + strtoull(argv[3], NULL, 0) * 1000; now_ms() < end_ms; usleep(2000)) {
		for (int i = 0; i < AT_ONCE; i++) {
			if (pids[i] != 0 && waitpid(pids[i], NULL, WNOHANG) == pids[i])
				pids[i] = 0;
			if (pids[i] != 0 && now_ms() < until_ms[i])
				continue;
			finish(&pids[i]);
			until_ms[i] = now_ms() + below(LIFE_MAX_MS);
			pids[i] = start(choose(argc - 5, argv + 5));
			n++;
		}
	}
	for (int i = 0; i < AT_ONCE; i++)
		finish(&pids[i]);
	printf("hostile_client: %lu clients were started\n", n);
	return 0;
}
