/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls that send and receive: all come down to buffers, flags and an address. */
#include <limits.h>
#include <string.h>

#include "vcl_rs.h"

static ssize_t receive(int socket, const struct iovec *iov, size_t n, int flags, struct sockaddr *src,
	socklen_t *addrlen, int *msg_flags)
{
	struct rs_sock *rs = rs_get_locked(socket);
	ssize_t rc;

	if (rs == NULL)
		return -1;
	if (n > IOV_MAX) {
		rc = -EMSGSIZE;
	} else if (rs->type == SOCK_DGRAM) {
		rc = rs_dgram_recv(rs, iov, (int)n, flags, src, addrlen, msg_flags);
	} else {
		rc = rs_stream_recv(rs, iov, (int)n, flags);
		if (rc >= 0 && src != NULL)
			rs_store_addr(rdma_get_peer_addr(rs->st.id), src, addrlen);
	}
	rs_unlock_put(rs);
	return rs_result(rc);
}

static ssize_t transmit(
	int socket, const struct iovec *iov, size_t n, int flags, const struct sockaddr *dst, socklen_t addrlen)
{
	struct rs_sock *rs = rs_get_locked(socket);
	ssize_t rc;

	if (rs == NULL)
		return -1;
	if (n > IOV_MAX)
		rc = -EMSGSIZE;
	else if (rs->type == SOCK_DGRAM)
		rc = rs_dgram_send(rs, iov, (int)n, flags, dst, addrlen);
	else
		rc = dst != NULL ? -EISCONN : rs_stream_send(rs, iov, (int)n, flags);
	rs_unlock_put(rs);
	return rs_result(rc);
}

ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr, socklen_t *addrlen)
{
	struct iovec iov = {buf, len};

	return receive(socket, &iov, 1, flags, src_addr, addrlen, NULL);
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	return rrecvfrom(socket, buf, len, flags, NULL, NULL);
}

ssize_t rread(int socket, void *buf, size_t count)
{
	return rrecvfrom(socket, buf, count, 0, NULL, NULL);
}

ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	return receive(socket, iov, iovcnt < 0 ? SIZE_MAX : (size_t)iovcnt, 0, NULL, NULL, NULL);
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	msg->msg_controllen = 0;
	msg->msg_flags = 0;
	return receive(socket, msg->msg_iov, msg->msg_iovlen, flags, msg->msg_name, &msg->msg_namelen, &msg->msg_flags);
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags, const struct sockaddr *dest_addr, socklen_t addrlen)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};

	return transmit(socket, &iov, 1, flags, dest_addr, addrlen);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	return rsendto(socket, buf, len, flags, NULL, 0);
}

ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return rsendto(socket, buf, count, 0, NULL, 0);
}

ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	return transmit(socket, iov, iovcnt < 0 ? SIZE_MAX : (size_t)iovcnt, 0, NULL, 0);
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	if (msg->msg_controllen != 0)
		return rs_result(-EOPNOTSUPP);
	return transmit(socket, msg->msg_iov, msg->msg_iovlen, flags, msg->msg_name, msg->msg_namelen);
}
