/* SPDX-License-Identifier: BSD-3-Clause */
/* rsockets over the fake daemon: both ends in this process, and peers that do not keep the protocol. */
#include "env.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#include "vcl_rs_wire.h"

#define PORT 7471

static struct sockaddr_in address(uint8_t first)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(PORT)};

	sin.sin_addr.s_addr = htonl((uint32_t)first << 24 | 1);
	return sin;
}

static int setup(void **state)
{
	*state = fake_start();
	return 0;
}

static int teardown(void **state)
{
	assert_true(fake_objects(*state) <= 1); /* the library's own protection domain */
	fake_stop(*state);
	return 0;
}

static void set_int(int fd, int level, int name, int value)
{
	assert_int_equal(rsetsockopt(fd, level, name, &value, sizeof(value)), 0);
}

/* Small rings and queues, so that they wrap. */
static int small_socket(void)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	set_int(fd, SOL_SOCKET, SO_SNDBUF, 4096);
	set_int(fd, SOL_SOCKET, SO_RCVBUF, 8192);
	set_int(fd, SOL_RDMA, RDMA_SQSIZE, 16);
	set_int(fd, SOL_RDMA, RDMA_RQSIZE, 16);
	set_int(fd, SOL_RDMA, RDMA_IOMAPSIZE, 2);
	return fd;
}

static int listening(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int fd = small_socket();

	set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	assert_int_equal(rbind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(rlisten(fd, 4), 0);
	return fd;
}

static short poll_one(int fd, short events, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = events};

	return rpoll(&p, 1, timeout_ms) == 1 ? p.revents : 0;
}

/* Connects without blocking, as one thread has both ends. */
static void connected(int listener, int *a, int *b)
{
	struct sockaddr_in dst = address(10), peer;
	socklen_t bytes = sizeof(peer);
	int err = -1;

	*a = small_socket();
	assert_int_equal(rfcntl(*a, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rconnect(*a, (struct sockaddr *)&dst, sizeof(dst)), -1);
	assert_int_equal(errno, EINPROGRESS);
	do { /* resolving goes on as the socket is looked at */
		(void)poll_one(*a, POLLOUT, 10);
	} while (poll_one(listener, POLLIN, 0) == 0);
	*b = raccept(listener, (struct sockaddr *)&peer, &bytes);
	assert_true(*b >= 0);
	assert_int_equal(bytes, sizeof(peer));
	assert_int_equal(peer.sin_addr.s_addr, htonl(0x0a000001));
	assert_int_equal(poll_one(*a, POLLOUT, 5000), POLLOUT);
	bytes = sizeof(err);
	assert_int_equal(rgetsockopt(*a, SOL_SOCKET, SO_ERROR, &err, &bytes), 0);
	assert_int_equal(err, 0);
	assert_int_equal(rfcntl(*a, F_SETFL, 0), 0);
}

static uint8_t pattern(size_t i)
{
	return (uint8_t)(i * 7 + (i >> 8));
}

/* Bytes from a to b in pieces of many sizes: all arrive, in order. */
static void stream(int a, int b, size_t bytes)
{
	size_t sent = 0, got = 0, want;
	uint8_t buf[3000];
	ssize_t n;

	while (got < bytes) {
		want = 1 + sent % sizeof(buf);
		want = want < bytes - sent ? want : bytes - sent;
		for (size_t i = 0; i < want; i++)
			buf[i] = pattern(sent + i);
		n = want != 0 ? rsend(a, buf, want, MSG_DONTWAIT) : 0;
		assert_true(n >= 0 || errno == EAGAIN);
		sent += n > 0 ? (size_t)n : 0;
		n = rrecv(b, buf, sizeof(buf) - got % 1000, MSG_DONTWAIT);
		assert_true(n > 0 || errno == EAGAIN);
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(buf[i], pattern(got + (size_t)i));
		got += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(rrecv(b, buf, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* Rings, queues and credits wrap many times, each way. */
static void test_stream(void **state)
{
	int listener = listening(), a, b;

	(void)state;
	connected(listener, &a, &b);
	stream(a, b, 200000);
	stream(b, a, 200000);
	assert_int_equal(rclose(a), 0);
	assert_int_equal(rclose(b), 0);
	assert_int_equal(rclose(listener), 0);
	assert_int_equal(rclose(listener), -1);
	assert_int_equal(errno, EBADF);
}

/* Vectors come as a message each, and recv(2) has MSG_PEEK tell of what is there, MSG_WAITALL or not. */
static ssize_t peek_all(int socket, void *buf, size_t bytes)
{
	ssize_t n = 0;

	for (int i = 0; n >= 0 && n < (ssize_t)bytes && i < 5000; i++) {
		n = rrecv(socket, buf, bytes, MSG_PEEK | MSG_WAITALL);
		usleep(1000);
	}
	return n;
}

/* recv(2): MSG_PEEK leaves the bytes; vectors are filled in order. */
static void test_peek_and_vectors(void **state)
{
	int listener = listening(), a, b;
	char x[3], y[5];
	struct iovec out[2] = {{(char[]){'a', 'b'}, 2}, {(char[]){'c', 'd', 'e', 'f'}, 4}}, in[2] = {{x, 3}, {y, 5}};
	struct msghdr msg = {.msg_iov = in, .msg_iovlen = 2};

	(void)state;
	connected(listener, &a, &b);
	assert_int_equal(rwritev(a, out, 2), 6);
	assert_int_equal(poll_one(b, POLLIN, 5000), POLLIN);
	assert_int_equal(peek_all(b, y, 3), 3);
	assert_memory_equal(y, "abc", 3);
	assert_int_equal(rrecvmsg(b, &msg, 0), 6);
	assert_memory_equal(x, "abc", 3);
	assert_memory_equal(y, "def", 3);
	assert_int_equal(rwrite(a, "12345", 5), 5);
	assert_int_equal(rrecv(b, y, 2, MSG_WAITALL), 2);
	assert_int_equal(rreadv(b, in, 1), 3);
	assert_memory_equal(x, "345", 3);
	rclose(a);
	rclose(b);
	rclose(listener);
}

/* After the peer's last byte comes the end; the other direction still works after SHUT_WR. */
static void test_shutdown(void **state)
{
	int listener = listening(), a, b;
	char c[8];

	(void)state;
	connected(listener, &a, &b);
	assert_int_equal(rsend(a, "last", 4, 0), 4);
	assert_int_equal(rshutdown(a, SHUT_WR), 0);
	assert_int_equal(rsend(a, "x", 1, 0), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(rrecv(b, c, 4, MSG_WAITALL), 4);
	assert_int_equal(rrecv(b, c, 4, 0), 0);
	assert_int_equal(poll_one(b, POLLIN | POLLRDHUP, 0), POLLIN | POLLRDHUP);
	assert_int_equal(rsend(b, "answer", 6, 0), 6);
	assert_int_equal(rclose(b), 0);
	assert_int_equal(rrecv(a, c, 6, MSG_WAITALL), 6);
	assert_int_equal(rrecv(a, c, 6, 0), 0);
	rclose(a);
	rclose(listener);
}

static void test_refused(void **state)
{
	struct sockaddr_in dst = address(10), far = address(99);
	int fd = small_socket();

	(void)state;
	assert_int_equal(rconnect(fd, (struct sockaddr *)&dst, sizeof(dst)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(rsend(fd, "x", 1, 0), -1);
	assert_int_equal(errno, ECONNREFUSED);
	rclose(fd);
	fd = small_socket();
	assert_int_equal(rconnect(fd, (struct sockaddr *)&far, sizeof(far)), -1);
	assert_int_equal(errno, EHOSTUNREACH);
	rclose(fd);
}

/* What is mapped is written without the receiver's part; nothing beside it is. */
static void test_iomap(void **state)
{
	int listener = listening(), a, b;
	char area[6000] = {0}, from[6000], c;

	(void)state;
	connected(listener, &a, &b);
	memset(from, 0x5a, sizeof(from));
	assert_int_equal(riomap(b, area, sizeof(area) - 8, PROT_WRITE, 0, 100), 100);
	assert_int_equal(riomap(b, area, 8, PROT_WRITE, 0, -1), (off_t)(uintptr_t)area);
	assert_int_equal(riomap(b, area, 16, PROT_WRITE, 0, 0), -1); /* two were offered */
	assert_int_equal(errno, ENOBUFS);
	assert_int_equal(rsend(b, "m", 1, 0), 1); /* the peer knows with the next data */
	assert_int_equal(rrecv(a, &c, 1, 0), 1);
	assert_int_equal(riowrite(a, from, sizeof(from) - 8, 100, 0), sizeof(from) - 8);
	assert_int_equal(rsend(a, "d", 1, 0), 1); /* comes after what was written */
	assert_int_equal(rrecv(b, &c, 1, 0), 1);
	assert_memory_equal(area, from, sizeof(area) - 8);
	assert_int_equal(area[sizeof(area) - 8], 0);
	assert_int_equal(riowrite(a, from, 1, 99, 0), (size_t)-1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(riounmap(b, area, sizeof(area) - 8), 0);
	assert_int_equal(riounmap(b, area, sizeof(area) - 8), -1);
	rclose(a);
	rclose(b);
	rclose(listener);
}

struct echo {
	int fd;
	size_t bytes;
};

static void *echo_all(void *arg)
{
	const struct echo *e = arg;
	char buf[1500];
	size_t done = 0;
	ssize_t n;

	while (done < e->bytes && (n = rrecv(e->fd, buf, sizeof(buf), 0)) > 0) {
		assert_int_equal(rsend(e->fd, buf, (size_t)n, 0), n);
		done += (size_t)n;
	}
	return NULL;
}

static void *send_all(void *arg)
{
	const struct echo *e = arg;
	uint8_t buf[700];
	size_t done, n;

	for (done = 0; done < e->bytes; done += n) {
		n = e->bytes - done < sizeof(buf) ? e->bytes - done : sizeof(buf);
		for (size_t i = 0; i < n; i++)
			buf[i] = pattern(done + i);
		assert_int_equal(rsend(e->fd, buf, n, 0), n);
	}
	return NULL;
}

/* One thread sends while another receives on the same socket, and both block. */
static void test_threads(void **state)
{
	int listener = listening(), a, b;
	struct echo near = {.bytes = 300000}, far = near;
	pthread_t sender, echoer;
	uint8_t buf[900];
	size_t got = 0;
	ssize_t n;

	(void)state;
	connected(listener, &a, &b);
	near.fd = a;
	far.fd = b;
	pthread_create(&echoer, NULL, echo_all, &far);
	pthread_create(&sender, NULL, send_all, &near);
	while (got < near.bytes) {
		n = rrecv(a, buf, sizeof(buf), 0);
		assert_true(n > 0);
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(buf[i], pattern(got + (size_t)i));
		got += (size_t)n;
	}
	pthread_join(sender, NULL);
	pthread_join(echoer, NULL);
	rclose(a);
	rclose(b);
	rclose(listener);
}

static void *close_it(void *arg)
{
	usleep(50000);
	assert_int_equal(rclose(*(int *)arg), 0);
	return NULL;
}

/* A thread that waits for a socket which another closes comes back. */
static void test_close_under_reader(void **state)
{
	int listener = listening(), a, b;
	pthread_t closer;
	char c;

	(void)state;
	connected(listener, &a, &b);
	pthread_create(&closer, NULL, close_it, &a);
	assert_true(rrecv(a, &c, 1, 0) <= 0);
	pthread_join(closer, NULL);
	rclose(b);
	rclose(listener);
}

/* Sockets of ours and any other descriptors in one call. */
static void test_mixed_poll(void **state)
{
	int listener = listening(), a, b, pipe_fds[2];
	struct timeval soon = {.tv_usec = 1000};
	struct pollfd p[3];
	fd_set readable;

	(void)state;
	connected(listener, &a, &b);
	assert_int_equal(pipe(pipe_fds), 0);
	p[0] = (struct pollfd){.fd = b, .events = POLLIN};
	p[1] = (struct pollfd){.fd = pipe_fds[0], .events = POLLIN};
	p[2] = (struct pollfd){.fd = -1, .events = POLLIN};
	assert_int_equal(rpoll(p, 3, 10), 0);
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
	assert_int_equal(rpoll(p, 3, 1000), 1);
	assert_int_equal(p[1].revents, POLLIN);
	assert_int_equal(rsend(a, "y", 1, 0), 1);
	assert_int_equal(poll_one(b, POLLIN, 1000), POLLIN);
	assert_int_equal(rpoll(p, 3, 1000), 2);
	FD_ZERO(&readable);
	FD_SET(b, &readable);
	FD_SET(a, &readable);
	assert_int_equal(rselect((a > b ? a : b) + 1, &readable, NULL, NULL, &soon), 1);
	assert_true(FD_ISSET(b, &readable) && !FD_ISSET(a, &readable));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	rclose(a);
	rclose(b);
	rclose(listener);
}

static void test_options(void **state)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, IPPROTO_TCP), value = 0;
	struct linger linger = {1, 2}, got = {0};
	socklen_t bytes = sizeof(value);

	(void)state;
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
	set_int(fd, IPPROTO_TCP, TCP_MAXSEG, 500);
	set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	assert_int_equal(rgetsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &value, &bytes), 0);
	assert_int_equal(value, 5);
	assert_int_equal(rgetsockopt(fd, SOL_RDMA, RDMA_SQSIZE, &value, &bytes), 0);
	assert_int_equal(value, 384);
	assert_int_equal(rgetsockopt(fd, SOL_RDMA, RDMA_ROUTE, &value, &bytes), -1); /* not resolved yet */
	assert_int_equal(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	bytes = sizeof(got);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &got, &bytes), 0);
	assert_memory_equal(&got, &linger, sizeof(got));
	assert_int_equal(rsetsockopt(fd, SOL_SOCKET, 9999, &value, sizeof(value)), -1);
	assert_int_equal(errno, ENOPROTOOPT);
	assert_int_equal(rfcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rfcntl(fd, F_GETFL), O_RDWR | O_NONBLOCK);
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(rsocket(AF_UNIX, SOCK_STREAM, 0), -1);
	assert_int_equal(errno, EAFNOSUPPORT);
}

/* ---- peers that do not keep the protocol: raw queue pairs at an rsocket ---- */

struct rogue {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

static void rogue_event(struct rogue *r, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	assert_int_equal(rdma_get_cm_event(r->channel, &event), 0);
	assert_string_equal(rdma_event_str(event->event), rdma_event_str(type));
	rdma_ack_cm_event(event);
}

/* Asks for a connection with private data of its own. */
static void rogue_ask(struct rogue *r, const struct rs_conn_data *data, uint8_t bytes)
{
	struct ibv_qp_init_attr attr = {.cap = {16, 16, 1, 1, 0}, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
	struct rdma_conn_param param = {.private_data = data, .private_data_len = bytes};
	struct ibv_recv_wr wr = {0}, *bad;
	struct sockaddr_in dst = address(10);
	int i;

	r->channel = rdma_create_event_channel();
	assert_int_equal(rdma_create_id(r->channel, &r->id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(r->id, NULL, (struct sockaddr *)&dst, 2000), 0);
	rogue_event(r, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(r->id, 2000), 0);
	rogue_event(r, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_create_qp(r->id, NULL, &attr), 0);
	for (i = 0; i < 16; i++)
		assert_int_equal(ibv_post_recv(r->id->qp, &wr, &bad), 0);
	assert_int_equal(rdma_connect(r->id, &param), 0);
}

static void rogue_end(struct rogue *r)
{
	rdma_destroy_qp(r->id);
	rdma_destroy_id(r->id);
	rdma_destroy_event_channel(r->channel);
}

static uint8_t rogue_memory[1024];

static void rogue_data(struct rs_conn_data *data)
{
	const struct rs_peer self = {
		.credits = 16, .sgl = {(uintptr_t)rogue_memory, 1, 2}, .buf = {(uintptr_t)rogue_memory, 1, 512}};

	rs_conn_data_fill(data, &self);
}

static void rogue_say(struct rogue *r, uint32_t imm)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(imm)}, *bad;

	assert_int_equal(ibv_post_send(r->id->qp, &wr, &bad), 0);
}

/* Requests that are not an rsocket's are refused, and the listener waits on. */
static void test_bad_private_data(void **state)
{
	int listener = listening(), a, b;
	struct rs_conn_data data;
	struct rogue short_one, other_version;

	(void)state;
	rogue_data(&data);
	rogue_ask(&short_one, &data, sizeof(data) - 1);
	data.version = 9;
	rogue_ask(&other_version, &data, sizeof(data));
	assert_int_equal(poll_one(listener, POLLIN, 1000), POLLIN);
	assert_int_equal(rfcntl(listener, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(raccept(listener, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	rogue_event(&short_one, RDMA_CM_EVENT_REJECTED);
	rogue_event(&other_version, RDMA_CM_EVENT_REJECTED);
	connected(listener, &a, &b);
	rclose(a);
	rclose(b);
	rclose(listener);
	rogue_end(&short_one);
	rogue_end(&other_version);
}

/* Each of these ends the one connection that it comes over. */
static void test_bad_messages(void **state)
{
	static const uint32_t bad[] = {
		0,                                /* DATA of no bytes */
		8192 + 1,                         /* more than the ring */
		RS_VALUE_MASK, 1u << 29,          /* reserved operations */
		2u << 29, 5u << 29, 6u << 29 | 2, /* IOMAP: beyond the table */
		6u << 29 | 0xffff, 7u << 29 | 3,  /* CTRL: unknown */
	};
	int listener = listening(), a, b, rogue_fd;
	struct rs_conn_data data;
	struct rogue r;
	char c;

	(void)state;
	connected(listener, &a, &b);
	rogue_data(&data);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		rogue_ask(&r, &data, sizeof(data));
		rogue_fd = raccept(listener, NULL, NULL);
		assert_true(rogue_fd >= 0);
		rogue_event(&r, RDMA_CM_EVENT_ESTABLISHED);
		rogue_say(&r, bad[i]);
		assert_int_equal(rrecv(rogue_fd, &c, 1, 0), -1);
		assert_int_equal(errno, EPROTO);
		assert_int_equal(poll_one(rogue_fd, POLLIN, 0), POLLIN | POLLERR | POLLHUP);
		assert_int_equal(rsend(rogue_fd, &c, 1, 0), -1);
		rclose(rogue_fd);
		rogue_end(&r);
		stream(a, b, 5000); /* the others go on */
	}
	rclose(a);
	rclose(b);
	rclose(listener);
}

/* A peer that grants credits and room again and again only delays itself. */
static void test_bad_credits(void **state)
{
	int listener = listening(), fd;
	struct rs_conn_data data;
	struct rogue r;
	char buf[64] = {0};
	int i;

	(void)state;
	rogue_data(&data);
	rogue_ask(&r, &data, sizeof(data));
	fd = raccept(listener, NULL, NULL);
	rogue_event(&r, RDMA_CM_EVENT_ESTABLISHED);
	for (i = 0; i < 8; i++)
		rogue_say(&r, rs_imm(RS_OP_SGL, 0xffff - (uint32_t)i));
	for (i = 0; i < 100; i++)
		(void)rsend(fd, buf, sizeof(buf), MSG_DONTWAIT);
	assert_int_equal(rsend(fd, buf, sizeof(buf), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN); /* the 512 bytes are full */
	rogue_end(&r);
	set_int(fd, SOL_SOCKET, SO_OOBINLINE, 1);
	{
		struct linger none = {1, 0};

		assert_int_equal(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
	}
	rclose(fd);
	rclose(listener);
}

/* Who waits on a quiet connection asks after the peer. */
static void test_keepalive(void **state)
{
	int listener = listening(), fd, none = 0;
	struct rs_conn_data data;
	struct rogue r;
	struct ibv_wc wc;

	(void)state;
	rogue_data(&data);
	rogue_ask(&r, &data, sizeof(data));
	fd = raccept(listener, NULL, NULL);
	rogue_event(&r, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(rsetsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &none, sizeof(none)), -1);
	assert_int_equal(errno, EINVAL);
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	assert_int_equal(poll_one(fd, POLLIN, 500), 0);
	while (ibv_poll_cq(r.id->recv_cq, 1, &wc) == 1) /* the other half of the ring */
		assert_int_equal(rs_imm_op(ntohl(wc.imm_data)), RS_OP_SGL);
	assert_int_equal(poll_one(fd, POLLIN, 1000), 0);
	env_poll(r.id->recv_cq, &wc, 1);
	assert_int_equal(ntohl(wc.imm_data), rs_imm(RS_OP_CTRL, RS_CTRL_KEEPALIVE));
	rclose(fd);
	rclose(listener);
	rogue_end(&r);
}

/* A peer that leaves without a word: what it sent is read, then the failure. */
static void test_peer_gone(void **state)
{
	int listener = listening(), fd;
	struct rs_conn_data data;
	struct rogue r;
	char buf[8];

	(void)state;
	rogue_data(&data);
	rogue_ask(&r, &data, sizeof(data));
	fd = raccept(listener, NULL, NULL);
	rogue_event(&r, RDMA_CM_EVENT_ESTABLISHED);
	rogue_say(&r, rs_imm(RS_OP_DATA, 4));
	assert_int_equal(poll_one(fd, POLLIN, 1000), POLLIN);
	assert_int_equal(rdma_disconnect(r.id), 0);
	assert_int_equal(rrecv(fd, buf, 8, MSG_WAITALL), 4);
	assert_int_equal(rrecv(fd, buf, 8, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	rclose(fd);
	rclose(listener);
	rogue_end(&r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_stream),
		TEST(test_peek_and_vectors),
		TEST(test_shutdown),
		TEST(test_refused),
		TEST(test_iomap),
		TEST(test_threads),
		TEST(test_close_under_reader),
		TEST(test_mixed_poll),
		TEST(test_options),
		TEST(test_bad_private_data),
		TEST(test_bad_messages),
		TEST(test_bad_credits),
		TEST(test_keepalive),
		TEST(test_peer_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
