/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of sockets. Sizes count until the socket connects; an accepted socket has its listener's. */
#include <fcntl.h>
#include <infiniband/sa.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>

#include "vcl_rs.h"

#define READ_ONLY 1 /* not to be set */
#define SIZES     2 /* of queues and tables: not once there are some */
#define INTERVAL  3 /* not zero */

const struct rs_options rs_default_options = {
	.send_bytes = 128 * 1024,
	.recv_bytes = 128 * 1024,
	.send_depth = 384,
	.recv_depth = 384,
	.inline_bytes = 64,
	.keep_idle_s = 7200,
	.keep_interval_s = 75,
	.keep_count = 9,
	.maxseg = 64 * 1024,
};

/* An option that is an int of struct rs_options. */
struct int_option {
	int level, name;
	size_t offset;
	int flags;
};

#define AT(field) offsetof(struct rs_options, field)

static const struct int_option int_options[] = {
	{SOL_SOCKET, SO_SNDBUF, AT(send_bytes), 0},
	{SOL_SOCKET, SO_RCVBUF, AT(recv_bytes), 0},
	{SOL_SOCKET, SO_REUSEADDR, AT(reuse_addr), 0},
	{SOL_SOCKET, SO_KEEPALIVE, AT(keepalive), 0},
	{SOL_SOCKET, SO_OOBINLINE, AT(oob_inline), 0},
	{IPPROTO_TCP, TCP_NODELAY, AT(nodelay), 0},
	{IPPROTO_TCP, TCP_MAXSEG, AT(maxseg), READ_ONLY},
	{IPPROTO_TCP, TCP_KEEPIDLE, AT(keep_idle_s), INTERVAL},
	{IPPROTO_TCP, TCP_KEEPINTVL, AT(keep_interval_s), INTERVAL},
	{IPPROTO_TCP, TCP_KEEPCNT, AT(keep_count), INTERVAL},
	{IPPROTO_IPV6, IPV6_V6ONLY, AT(v6_only), 0},
	{SOL_RDMA, RDMA_SQSIZE, AT(send_depth), SIZES},
	{SOL_RDMA, RDMA_RQSIZE, AT(recv_depth), SIZES},
	{SOL_RDMA, RDMA_INLINE, AT(inline_bytes), SIZES},
	{SOL_RDMA, RDMA_IOMAPSIZE, AT(iomap_entries), SIZES},
};

static const struct int_option *find(int level, int name)
{
	size_t i;

	for (i = 0; i < sizeof(int_options) / sizeof(int_options[0]); i++)
		if (int_options[i].level == level && int_options[i].name == name)
			return &int_options[i];
	return NULL;
}

static int *value_of(struct rs_sock *rs, const struct int_option *o)
{
	return (int *)(void *)((char *)&rs->opt + o->offset);
}

static int set_int(struct rs_sock *rs, const struct int_option *o, const void *optval, socklen_t optlen)
{
	int value;

	if (optlen < sizeof(value) || optval == NULL)
		return -EINVAL;
	memcpy(&value, optval, sizeof(value));
	if (value < 0 || (o->flags == INTERVAL && value == 0))
		return -EINVAL;
	if (o->flags == READ_ONLY)
		return 0; /* a hint that changes nothing here */
	if (o->flags == SIZES && rs->state >= RS_CONNECTING)
		return -EINVAL;
	*value_of(rs, o) = value;
	if (o->level == SOL_SOCKET && o->name == SO_KEEPALIVE)
		rs->st.heard_ns = rs_now_ns();
	return 0;
}

static int set(struct rs_sock *rs, int level, int name, const void *optval, socklen_t optlen)
{
	const struct int_option *o = find(level, name);

	if (o != NULL)
		return set_int(rs, o, optval, optlen);
	if (level == SOL_SOCKET && name == SO_LINGER) {
		if (optval == NULL || optlen < sizeof(rs->opt.linger))
			return -EINVAL;
		memcpy(&rs->opt.linger, optval, sizeof(rs->opt.linger));
		return rs->opt.linger.l_linger < 0 ? -EINVAL : 0;
	}
	return -ENOPROTOOPT;
}

int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	struct rs_sock *rs = rs_get_locked(socket);
	int err;

	if (rs == NULL)
		return -1;
	err = set(rs, level, optname, optval, optlen);
	/* A datagram socket's own UDP socket has what else there is. */
	if (err == -ENOPROTOOPT && rs->type == SOCK_DGRAM)
		err = setsockopt(rs->fd, level, optname, optval, optlen) != 0 ? -errno : 0;
	if (err == 0 && rs->type == SOCK_DGRAM && level == SOL_SOCKET && optname == SO_REUSEADDR)
		err = setsockopt(rs->fd, level, optname, optval, optlen) != 0 ? -errno : 0;
	rs_unlock_put(rs);
	return (int)rs_result(err);
}

static int give(const void *from, size_t bytes, void *optval, socklen_t *optlen)
{
	if (optval == NULL || optlen == NULL)
		return -EFAULT;
	if (*optlen > bytes)
		*optlen = (socklen_t)bytes;
	memcpy(optval, from, *optlen);
	return 0;
}

/* As for a socket: asked for once. What a connection failed of is still told by the calls that use it. */
static int pending_error(struct rs_sock *rs)
{
	if (rs->type == SOCK_STREAM)
		rs_process(rs, true);
	return rs->state == RS_FAILED ? rs->err : 0;
}

static int get_route(const struct rs_sock *rs, void *optval, socklen_t *optlen)
{
	const struct ibv_sa_path_rec *in = rs->type == SOCK_STREAM ? rs->st.id->route.path_rec : NULL;
	struct ibv_path_data out = {.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL};
	struct ibv_path_record *p = &out.path;

	if (in == NULL)
		return -ENODATA;
	p->dgid = in->dgid;
	p->sgid = in->sgid;
	p->flowlabel_hoplimit = htonl(ntohl(in->flow_label) << 8 | in->hop_limit);
	p->tclass = in->traffic_class;
	p->reversible_numpath = 0x81; /* reversible, one */
	p->pkey = in->pkey;
	p->mtu = (uint8_t)(in->mtu_selector << 6 | in->mtu);
	p->rate = (uint8_t)(in->rate_selector << 6 | in->rate);
	p->packetlifetime = (uint8_t)(in->packet_life_time_selector << 6 | in->packet_life_time);
	return give(&out, sizeof(out), optval, optlen);
}

static int get(struct rs_sock *rs, int level, int name, void *optval, socklen_t *optlen)
{
	const struct int_option *o = find(level, name);
	int value;

	if (o != NULL)
		return give(value_of(rs, o), sizeof(int), optval, optlen);
	if (level == SOL_RDMA && name == RDMA_ROUTE)
		return get_route(rs, optval, optlen);
	if (level != SOL_SOCKET)
		return -ENOPROTOOPT;
	switch (name) {
	case SO_ERROR:
		value = pending_error(rs);
		break;
	case SO_TYPE:
		value = rs->type;
		break;
	case SO_DOMAIN:
		value = rs->family;
		break;
	case SO_ACCEPTCONN:
		value = rs->state == RS_LISTENING;
		break;
	case SO_LINGER:
		return give(&rs->opt.linger, sizeof(rs->opt.linger), optval, optlen);
	default:
		return -ENOPROTOOPT;
	}
	return give(&value, sizeof(value), optval, optlen);
}

int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	struct rs_sock *rs = rs_get_locked(socket);
	int err;

	if (rs == NULL)
		return -1;
	err = get(rs, level, optname, optval, optlen);
	if (err == -ENOPROTOOPT && rs->type == SOCK_DGRAM)
		err = getsockopt(rs->fd, level, optname, optval, optlen) != 0 ? -errno : 0;
	rs_unlock_put(rs);
	return (int)rs_result(err);
}

int rfcntl(int socket, int cmd, ... /* arg */)
{
	struct rs_sock *rs = rs_get_locked(socket);
	va_list args;
	int rc = 0;

	if (rs == NULL)
		return -1;
	va_start(args, cmd);
	switch (cmd) {
	case F_GETFL:
		rc = O_RDWR | (rs->nonblock ? O_NONBLOCK : 0);
		break;
	case F_SETFL:
		rs->nonblock = (va_arg(args, int) & O_NONBLOCK) != 0;
		break;
	case F_GETFD:
		rc = fcntl(rs->fd, F_GETFD);
		break;
	case F_SETFD:
		rc = fcntl(rs->fd, F_SETFD, va_arg(args, int));
		break;
	default:
		rc = (int)rs_result(-EOPNOTSUPP);
	}
	va_end(args);
	rs_unlock_put(rs);
	return rc;
}
