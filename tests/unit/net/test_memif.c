/* SPDX-License-Identifier: BSD-3-Clause */
/* The relay between memif's driver and its peer. The test is both, and the workers: each step is noted by a letter. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "net_memif.h"
#include "net_memif_socket.h"

#define REGION_BYTES 4096

struct bench {
	struct net_memif *memif;
	struct net_memif_port *port[2];
	char base[32], dir[64], real[64], device[256];
	char path[128];            /* where the driver is */
	int listen_fd;             /* the driver's, of a server; the peer's, of a client */
	int driver_fd, peer_fd;
	bool link;
	char steps[32];
	char reason[NET_MEMIF_TEXT_BYTES];
};

static void note(struct bench *b, char step)
{
	b->steps[strlen(b->steps)] = step;
}

static int op_start(void *arg)
{
	struct bench *b = arg;

	note(b, 's');
	b->driver_fd = net_memif_connect(b->path, false);
	return b->driver_fd < 0 ? b->driver_fd : 0;
}

static bool op_is_up(void *arg)
{
	const struct bench *b = arg;

	return b->link;
}

static void op_up(void *arg)
{
	note(arg, 'U');
}

/* The workers leave: by now nothing may have reached the driver. */
static void op_hold(void *arg)
{
	struct bench *b = arg;
	struct net_memif_msg msg;
	int fd;

	assert_int_equal(net_memif_recv(b->driver_fd, &msg, &fd), -EAGAIN);
	note(b, 'H');
}

static void op_down(void *arg)
{
	note(arg, 'D');
}

static void op_ended(void *arg, bool by_peer, const char *reason)
{
	struct bench *b = arg;

	(void)by_peer;
	snprintf(b->reason, sizeof(b->reason), "%s", reason);
}

static const struct net_memif_ops ops = {op_start, op_is_up, op_up, op_hold, op_down, op_ended};

static void serve(struct bench *b)
{
	for (int i = 0; i < 8; i++)
		net_memif_serve(b->memif);
}

static void find_path(struct bench *b)
{
	assert_true(net_driver_arg(b->device, "socket", b->path, sizeof(b->path)));
}

static int add(struct bench *b, const char *role, uint32_t id, struct net_memif_port **port)
{
	char device[256];

	snprintf(device, sizeof(device), "net_memif%u,role=%s,id=%u,socket=%s,socket-abstract=no", id, role, id, b->real);
	return net_memif_add(b->memif, device, 1, 1, b, b->device, sizeof(b->device), port);
}

static int make(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	strcpy(b->base, "/tmp/memif-XXXXXX");
	assert_non_null(mkdtemp(b->base));
	snprintf(b->dir, sizeof(b->dir), "%s/driver", b->base);
	snprintf(b->real, sizeof(b->real), "%s/real", b->base);
	b->listen_fd = b->driver_fd = b->peer_fd = -1;
	assert_int_equal(net_memif_create(b->dir, &ops, &b->memif), 0);
	*state = b;
	return 0;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int unmake(void **state)
{
	struct bench *b = *state;

	net_memif_destroy(b->memif);
	shut(&b->listen_fd);
	shut(&b->driver_fd);
	shut(&b->peer_fd);
	assert_int_equal(access(b->dir, F_OK), -1);
	unlink(b->real);
	assert_int_equal(rmdir(b->base), 0);
	free(b);
	return 0;
}

static void say(int fd, uint16_t type, int afd)
{
	struct net_memif_msg msg = {.type = type};

	if (type == NET_MEMIF_ADD_REGION)
		msg.add_region.size = REGION_BYTES;
	assert_int_equal(net_memif_send(fd, &msg, afd), 0);
}

/* What the other end hears next: a type, 0: that it is over. */
static int hears(struct bench *b, int at)
{
	struct net_memif_msg msg;
	int fd, rc;

	serve(b);
	rc = net_memif_recv(at, &msg, &fd);
	if (fd >= 0)
		close(fd);
	return rc > 0 ? msg.type : rc;
}

static void pass(struct bench *b, int from, int to, uint16_t type, int afd)
{
	say(from, type, afd);
	assert_int_equal(hears(b, to), type);
}

/* ---- a server's end ---- */

static void start_server(struct bench *b)
{
	struct net_memif_args driver = {.uid = UINT32_MAX, .gid = UINT32_MAX};

	assert_int_equal(add(b, "server", 0, &b->port[0]), 0);
	find_path(b);
	snprintf(driver.name, sizeof(driver.name), "%s", b->path);
	b->listen_fd = net_memif_listen(&driver);
	assert_true(b->listen_fd >= 0);
}

/* A peer comes, the driver greets it. */
static void meet(struct bench *b, int *peer_fd, int *driver_fd)
{
	*peer_fd = net_memif_connect(b->real, false);
	assert_true(*peer_fd >= 0);
	serve(b);
	*driver_fd = net_memif_accept(b->listen_fd);
	assert_true(*driver_fd >= 0);
	pass(b, *driver_fd, *peer_fd, NET_MEMIF_HELLO, -1);
}

static void say_rings(struct bench *b)
{
	struct net_memif_msg ring = {.type = NET_MEMIF_ADD_RING};

	for (uint16_t c2s = 0; c2s < 2; c2s++) {
		ring.add_ring.flags = c2s;
		assert_int_equal(net_memif_send(b->peer_fd, &ring, b->listen_fd), 0);
		assert_int_equal(hears(b, b->driver_fd), NET_MEMIF_ADD_RING);
	}
}

static void say_region(struct bench *b)
{
	int fd = memfd_create("region", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, REGION_BYTES), 0);
	pass(b, b->peer_fd, b->driver_fd, NET_MEMIF_ADD_REGION, fd);
	close(fd);
}

static void connect_server(struct bench *b)
{
	meet(b, &b->peer_fd, &b->driver_fd);
	pass(b, b->peer_fd, b->driver_fd, NET_MEMIF_INIT, -1);
	pass(b, b->driver_fd, b->peer_fd, NET_MEMIF_ACK, -1);
	say_region(b);
	say_rings(b);
	pass(b, b->peer_fd, b->driver_fd, NET_MEMIF_CONNECT, -1);
	assert_string_equal(b->steps, "");
	pass(b, b->driver_fd, b->peer_fd, NET_MEMIF_CONNECTED, -1);
	assert_string_equal(b->steps, "U");
}

static void driver_lets_go(struct bench *b)
{
	assert_int_equal(hears(b, b->driver_fd), 0);
	assert_string_equal(b->steps, "UH");
	shut(&b->driver_fd);
	serve(b);
	assert_string_equal(b->steps, "UHD");
}

static void test_peer_dies(void **state)
{
	struct bench *b = *state;

	start_server(b);
	for (int i = 0; i < 100; i++) {
		memset(b->steps, 0, sizeof(b->steps));
		connect_server(b);
		shut(&b->peer_fd);
		driver_lets_go(b);
	}
}

static void test_peer_says_goodbye(void **state)
{
	struct bench *b = *state;

	start_server(b);
	connect_server(b);
	say(b->peer_fd, NET_MEMIF_DISCONNECT, -1);
	driver_lets_go(b);
}

static void test_peer_sends_garbage(void **state)
{
	struct bench *b = *state;

	start_server(b);
	connect_server(b);
	say(b->peer_fd, NET_MEMIF_ADD_REGION, b->listen_fd);
	assert_int_equal(hears(b, b->peer_fd), NET_MEMIF_DISCONNECT);
	assert_string_equal(b->reason, "Unexpected message");
	driver_lets_go(b);
}

static void test_peer_sends_half_a_message(void **state)
{
	struct bench *b = *state;

	start_server(b);
	connect_server(b);
	assert_int_equal(write(b->peer_fd, "half", 4), 4);
	driver_lets_go(b);
	assert_string_equal(b->reason, "Invalid message size");
}

static void test_second_peer_is_refused(void **state)
{
	struct bench *b = *state;
	int peer_fd, driver_fd;

	start_server(b);
	connect_server(b);
	meet(b, &peer_fd, &driver_fd);
	say(peer_fd, NET_MEMIF_INIT, -1);
	assert_int_equal(hears(b, driver_fd), 0);
	assert_int_equal(hears(b, peer_fd), NET_MEMIF_DISCONNECT);
	assert_string_equal(b->steps, "U");
	close(driver_fd);
	assert_int_equal(hears(b, peer_fd), 0);
	close(peer_fd);
	assert_int_equal(hears(b, b->driver_fd), -EAGAIN);
}

/* The driver has not let go of the last connection yet, so it would refuse the next. */
static void test_peer_comes_back_at_once(void **state)
{
	struct bench *b = *state;
	int peer_fd, driver_fd;

	start_server(b);
	connect_server(b);
	shut(&b->peer_fd);
	meet(b, &peer_fd, &driver_fd);
	say(peer_fd, NET_MEMIF_INIT, -1);
	assert_int_equal(hears(b, driver_fd), -EAGAIN);
	driver_lets_go(b);
	assert_int_equal(hears(b, driver_fd), NET_MEMIF_INIT);
	close(driver_fd);
	close(peer_fd);
}

/* The driver has descriptors of regions that only a link would have it map, and close. */
static void test_handshake_is_left(void **state)
{
	struct bench *b = *state;

	start_server(b);
	meet(b, &b->peer_fd, &b->driver_fd);
	pass(b, b->peer_fd, b->driver_fd, NET_MEMIF_INIT, -1);
	say_region(b);
	shut(&b->peer_fd);
	assert_int_equal(hears(b, b->driver_fd), NET_MEMIF_CONNECT);
	say(b->driver_fd, NET_MEMIF_CONNECTED, -1);
	assert_int_equal(hears(b, b->driver_fd), 0);
	assert_string_equal(b->steps, "");
}

static void test_handshake_takes_too_long(void **state)
{
	struct bench *b = *state;

	start_server(b);
	meet(b, &b->peer_fd, &b->driver_fd);
	for (int s = 0; s < 10; s++)
		net_memif_tick(b->memif);
	assert_int_equal(hears(b, b->driver_fd), -EAGAIN);
	net_memif_tick(b->memif);
	assert_int_equal(hears(b, b->driver_fd), 0);
	assert_int_equal(hears(b, b->peer_fd), NET_MEMIF_DISCONNECT);
}

/* Whoever reads nothing is not waited for, and neither is his driver. */
static void test_peer_reads_nothing(void **state)
{
	struct bench *b = *state;
	struct net_memif_msg ack = {.type = NET_MEMIF_ACK};

	start_server(b);
	connect_server(b);
	for (int i = 0; i < 10000 && net_memif_send(b->driver_fd, &ack, -1) == 0; i++)
		serve(b);
	assert_int_equal(net_memif_send(b->driver_fd, &ack, -1), -EAGAIN);
	say(b->peer_fd, NET_MEMIF_DISCONNECT, -1);
	serve(b);
	assert_string_equal(b->steps, "UH");
	shut(&b->driver_fd);
	for (int i = 0; i < 100; i++)
		serve(b);
	assert_string_equal(b->steps, "UHD");
}

/* They have one socket, the driver's too, and connections of their own. */
static void test_two_ports_share_a_socket(void **state)
{
	struct bench *b = *state;
	struct net_memif_msg init = {.type = NET_MEMIF_INIT, .init = {.id = 1}};
	char path[128];
	int peer_fd, driver_fd;

	start_server(b);
	memcpy(path, b->path, sizeof(path));
	assert_int_equal(add(b, "server", 1, &b->port[1]), 0);
	find_path(b);
	assert_string_equal(b->path, path);
	connect_server(b);
	meet(b, &peer_fd, &driver_fd);
	assert_int_equal(net_memif_send(peer_fd, &init, -1), 0);
	assert_int_equal(hears(b, driver_fd), NET_MEMIF_INIT);
	close(peer_fd);
	assert_int_equal(hears(b, driver_fd), 0);
	close(driver_fd);
	assert_string_equal(b->steps, "U");
}

/* ---- a client's end ---- */

static void test_client(void **state)
{
	struct bench *b = *state;
	struct net_memif_args real = {.uid = UINT32_MAX, .gid = UINT32_MAX};
	struct net_memif_msg hello = {.type = NET_MEMIF_HELLO};

	assert_int_equal(add(b, "client", 0, &b->port[0]), 0);
	find_path(b);
	assert_int_equal(net_memif_dial(b->port[0]), -ENOENT);
	assert_string_equal(b->steps, "");
	snprintf(real.name, sizeof(real.name), "%s", b->real);
	b->listen_fd = net_memif_listen(&real);
	net_memif_tick(b->memif);
	assert_string_equal(b->steps, "s");
	assert_int_equal(net_memif_dial(b->port[0]), -EISCONN);
	b->peer_fd = net_memif_accept(b->listen_fd);
	assert_int_equal(net_memif_send(b->peer_fd, &hello, -1), 0);
	assert_int_equal(hears(b, b->driver_fd), NET_MEMIF_HELLO);
	pass(b, b->driver_fd, b->peer_fd, NET_MEMIF_INIT, -1);
	pass(b, b->driver_fd, b->peer_fd, NET_MEMIF_CONNECT, -1);
	pass(b, b->peer_fd, b->driver_fd, NET_MEMIF_CONNECTED, -1);
	usleep(5000);
	serve(b);
	assert_string_equal(b->steps, "s");
	b->link = true;
	usleep(5000);
	serve(b);
	assert_string_equal(b->steps, "sU");
	shut(&b->peer_fd);
	assert_int_equal(hears(b, b->driver_fd), 0);
	assert_string_equal(b->steps, "sUH");
	net_memif_tick(b->memif);
	shut(&b->driver_fd);
	serve(b);
	assert_string_equal(b->steps, "sUHD");
	net_memif_tick(b->memif);
	assert_string_equal(b->steps, "sUHDs");
}

/* ---- sockets ---- */

static void test_sockets(void **state)
{
	struct bench *b = *state;
	struct net_memif_args real = {.uid = UINT32_MAX, .gid = UINT32_MAX};
	struct stat st;
	int fd;

	assert_int_equal(stat(b->dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	snprintf(real.name, sizeof(real.name), "%s", b->real);
	fd = net_memif_listen(&real);
	assert_int_equal(add(b, "server", 0, &b->port[0]), -EADDRINUSE);
	close(fd); /* as if killed: the file stays */
	assert_int_equal(add(b, "server", 0, &b->port[0]), 0);
	net_memif_destroy(b->memif);
	assert_int_equal(access(b->real, F_OK), -1);
	fd = creat(b->real, 0600);
	close(fd);
	assert_int_equal(net_memif_create(b->dir, &ops, &b->memif), 0);
	assert_int_equal(add(b, "server", 0, &b->port[0]), -EADDRINUSE);
	assert_int_equal(access(b->real, F_OK), 0);
}

int main(void)
{
#define ON_BENCH(test) cmocka_unit_test_setup_teardown(test, make, unmake)
	const struct CMUnitTest tests[] = {
		ON_BENCH(test_peer_dies),
		ON_BENCH(test_peer_says_goodbye),
		ON_BENCH(test_peer_sends_garbage),
		ON_BENCH(test_peer_sends_half_a_message),
		ON_BENCH(test_second_peer_is_refused),
		ON_BENCH(test_peer_comes_back_at_once),
		ON_BENCH(test_handshake_is_left),
		ON_BENCH(test_handshake_takes_too_long),
		ON_BENCH(test_peer_reads_nothing),
		ON_BENCH(test_two_ports_share_a_socket),
		ON_BENCH(test_client),
		ON_BENCH(test_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
