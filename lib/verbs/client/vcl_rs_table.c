/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of sockets, and their birth and end. */
#include <stdlib.h>
#include <string.h>

#include "vcl_rs.h"

/* The API has no handle for the library, so this state is the process'. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rs_sock **table;
static int table_size;

static void lock_table(void)
{
	pthread_mutex_lock(&table_lock);
}

static void unlock_table(void)
{
	pthread_mutex_unlock(&table_lock);
}

/* A child must not inherit the lock from a thread that is not there to release it. */
static void register_fork(void)
{
	(void)pthread_atfork(lock_table, unlock_table, unlock_table);
}

struct rs_sock *rs_sock_new(int family, int type, const struct rs_options *opt)
{
	struct rs_sock *rs = calloc(1, sizeof(*rs));

	if (rs == NULL)
		return NULL;
	rs->fd = -1;
	rs->family = family;
	rs->type = type;
	rs->opt = *opt;
	rs->refs = 1;
	pthread_mutex_init(&rs->lock, NULL);
	return rs;
}

static void destroy(struct rs_sock *rs)
{
	if (rs->type == SOCK_STREAM)
		rs_stream_free(rs);
	else
		rs_dgram_free(rs);
	pthread_mutex_destroy(&rs->lock);
	free(rs);
}

static int grow(int fd)
{
	int n = table_size != 0 ? table_size : 64;
	struct rs_sock **grown;

	while (n <= fd)
		n *= 2;
	grown = realloc(table, (size_t)n * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	memset(grown + table_size, 0, (size_t)(n - table_size) * sizeof(*grown));
	table = grown;
	table_size = n;
	return 0;
}

int rs_table_add(struct rs_sock *rs)
{
	int err;

	pthread_mutex_lock(&table_lock);
	err = rs->fd >= table_size ? grow(rs->fd) : 0;
	if (err == 0) {
		table[rs->fd] = rs;
		rs->refs++;
	}
	pthread_mutex_unlock(&table_lock);
	return err;
}

struct rs_sock *rs_get(int fd)
{
	struct rs_sock *rs = NULL;

	pthread_mutex_lock(&table_lock);
	if (fd >= 0 && fd < table_size)
		rs = table[fd];
	if (rs != NULL)
		rs->refs++;
	pthread_mutex_unlock(&table_lock);
	return rs;
}

struct rs_sock *rs_get_locked(int fd)
{
	struct rs_sock *rs = rs_get(fd);

	if (rs == NULL)
		errno = EBADF;
	else
		pthread_mutex_lock(&rs->lock);
	return rs;
}

/* The last one out frees: a thread may still be in a call on a socket that another closed. */
void rs_put(struct rs_sock *rs)
{
	bool last;

	pthread_mutex_lock(&table_lock);
	last = --rs->refs == 0;
	pthread_mutex_unlock(&table_lock);
	if (last)
		destroy(rs);
}

void rs_unlock_put(struct rs_sock *rs)
{
	pthread_mutex_unlock(&rs->lock);
	rs_put(rs);
}

/* Takes the number away. False: another thread was first. */
static bool table_remove(struct rs_sock *rs)
{
	bool found;

	pthread_mutex_lock(&table_lock);
	found = table[rs->fd] == rs;
	if (found)
		table[rs->fd] = NULL;
	pthread_mutex_unlock(&table_lock);
	return found;
}

int rsocket(int domain, int type, int protocol)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC), err;
	struct rs_sock *rs;

	if (domain != AF_INET && domain != AF_INET6)
		return (int)rs_result(-EAFNOSUPPORT);
	if ((kind != SOCK_STREAM || (protocol != 0 && protocol != IPPROTO_TCP)) &&
		(kind != SOCK_DGRAM || (protocol != 0 && protocol != IPPROTO_UDP)))
		return (int)rs_result(-EPROTONOSUPPORT);
	pthread_once(&once, register_fork);
	rs = rs_sock_new(domain, kind, &rs_default_options);
	if (rs == NULL)
		return (int)rs_result(-ENOMEM);
	rs->nonblock = (type & SOCK_NONBLOCK) != 0;
	err = kind == SOCK_STREAM ? rs_stream_open(rs) : rs_dgram_open(rs);
	if (err == 0)
		err = rs_table_add(rs);
	if (err == 0)
		err = rs->fd;
	rs_put(rs);
	return (int)rs_result(err);
}

int rclose(int socket)
{
	struct rs_sock *rs = rs_get_locked(socket);
	bool ours;

	if (rs == NULL)
		return -1;
	if (rs->type == SOCK_STREAM)
		(void)rs_stream_shutdown(rs, SHUT_RDWR);
	ours = table_remove(rs);
	rs->closing = true;
	rs_wake(rs);
	rs_unlock_put(rs);
	if (ours)
		rs_put(rs); /* the table's */
	return (int)rs_result(ours ? 0 : -EBADF);
}
