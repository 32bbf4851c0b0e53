/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of sockets. */
#include <netinet/in.h>
#include <string.h>

#include "vcl_rs.h"

socklen_t rs_addr_bytes(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

void rs_store_addr(const struct sockaddr *from, struct sockaddr *to, socklen_t *bytes)
{
	socklen_t whole = rs_addr_bytes(from);

	if (to == NULL || bytes == NULL)
		return;
	memcpy(to, from, *bytes < whole ? *bytes : whole);
	*bytes = whole;
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_sock *rs = rs_get_locked(socket);
	struct sockaddr_storage none = {0};
	const struct sockaddr *own;
	int rc = 0;

	if (rs == NULL)
		return -1;
	if (rs->type == SOCK_DGRAM) {
		rc = getsockname(rs->fd, addr, addrlen);
	} else {
		own = rdma_get_local_addr(rs->st.id);
		none.ss_family = (sa_family_t)rs->family;
		rs_store_addr(own->sa_family != 0 ? own : (const struct sockaddr *)&none, addr, addrlen);
	}
	rs_unlock_put(rs);
	return rc;
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_sock *rs = rs_get_locked(socket);
	int err = 0;

	if (rs == NULL)
		return -1;
	if (rs->type == SOCK_DGRAM)
		err = getpeername(rs->fd, addr, addrlen) != 0 ? -errno : 0;
	else if (rs->state < RS_ACCEPTING)
		err = -ENOTCONN;
	else
		rs_store_addr(rdma_get_peer_addr(rs->st.id), addr, addrlen);
	rs_unlock_put(rs);
	return (int)rs_result(err);
}
