/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagram sockets: what they send and receive. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "vcl_rs_dgram.h"

int rs_dgram_open(struct rs_sock *rs)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct rs_dgram *dg = calloc(1, sizeof(*dg));

	if (dg == NULL)
		return -ENOMEM;
	rs->dg = dg;
	dg->last = &dg->first;
	dg->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (dg->epoll_fd < 0)
		return -errno;
	rs->fd = socket(rs->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (rs->fd < 0 || epoll_ctl(dg->epoll_fd, EPOLL_CTL_ADD, rs->fd, &ev) != 0)
		return -errno;
	return 0;
}

static struct rs_dg_msg *dequeue(struct rs_dgram *dg)
{
	struct rs_dg_msg *msg = dg->first;

	if (msg == NULL)
		return NULL;
	dg->first = msg->next;
	if (dg->first == NULL)
		dg->last = &dg->first;
	return msg;
}

void rs_dg_enqueue(struct rs_dgram *dg, struct rs_dg_msg *msg)
{
	msg->next = NULL;
	*dg->last = msg;
	dg->last = &msg->next;
}

/* Back to where it came from. */
static void release(struct rs_dgram *dg, struct rs_dg_msg *msg)
{
	if (msg->qp != NULL) {
		(void)rs_dg_qp_repost(msg->qp, msg->slot);
		return;
	}
	dg->n_udp_msgs--;
	free(msg);
}

void rs_dgram_free(struct rs_sock *rs)
{
	struct rs_dgram *dg = rs->dg;
	struct rs_dg_msg *msg;
	struct rs_dg_qp *qp;

	if (dg == NULL)
		return;
	while ((msg = dequeue(dg)) != NULL)
		release(dg, msg);
	rs_dg_free_peers(dg);
	while ((qp = dg->qps) != NULL) {
		dg->qps = qp->next;
		rs_dg_qp_free(qp);
	}
	if (dg->epoll_fd >= 0)
		close(dg->epoll_fd);
	if (rs->fd >= 0)
		close(rs->fd);
	free(dg);
}

/* ---- moved on, armed, slept on ---- */

void rs_dgram_process(struct rs_sock *rs, bool thoroughly)
{
	struct rs_dg_qp *qp;

	for (qp = rs->dg->qps; qp != NULL; qp = qp->next)
		rs_dg_qp_process(rs, qp);
	if (thoroughly || rs->dg->first == NULL)
		rs_dg_udp_process(rs);
}

bool rs_dgram_arm(struct rs_sock *rs)
{
	struct rs_dg_qp *qp;
	bool any = false;

	for (qp = rs->dg->qps; qp != NULL; qp = qp->next) {
		if (qp->armed)
			continue;
		if (ibv_req_notify_cq(qp->cq, 0) != 0)
			rs_fail(rs, EIO);
		qp->armed = any = true;
	}
	return any;
}

void rs_dgram_disarm(struct rs_sock *rs)
{
	struct rs_dg_qp *qp;
	struct ibv_cq *cq;
	void *context;

	for (qp = rs->dg->qps; qp != NULL; qp = qp->next) {
		while (ibv_get_cq_event(qp->comp, &cq, &context) == 0) {
			ibv_ack_cq_events(cq, 1);
			qp->armed = false;
		}
	}
}

int rs_dgram_fd(const struct rs_sock *rs)
{
	return rs->dg->epoll_fd;
}

bool rs_dgram_readable(const struct rs_sock *rs)
{
	return rs->dg->first != NULL || rs->state == RS_FAILED;
}

bool rs_dgram_writable(const struct rs_sock *rs)
{
	const struct rs_dg_qp *qp;

	for (qp = rs->dg->qps; qp != NULL; qp = qp->next)
		if (qp->n_free == 0)
			return rs->state == RS_FAILED;
	return true;
}

static bool readable(struct rs_sock *rs)
{
	return rs_dgram_readable(rs);
}

static bool writable(struct rs_sock *rs)
{
	return rs_dgram_writable(rs);
}

/* ---- the calls ---- */

int rs_dgram_connect(struct rs_sock *rs, const struct sockaddr *addr, socklen_t addrlen)
{
	if (addrlen < rs_addr_bytes(addr) || addr->sa_family != rs->family)
		return -EINVAL;
	if (connect(rs->fd, addr, addrlen) != 0)
		return -errno;
	memset(&rs->dg->connected, 0, sizeof(rs->dg->connected));
	memcpy(&rs->dg->connected, addr, rs_addr_bytes(addr));
	/* The route may lead where no device of ours is. */
	if (rs_dg_peer(rs, &rs->dg->connected) == NULL)
		return -ENOMEM;
	return rs->dg->peers->qp != NULL ? 0 : -ENETUNREACH;
}

static size_t scatter(const struct iovec *iov, int n, const uint8_t *data, size_t bytes)
{
	size_t done = 0, part;
	int i;

	for (i = 0; i < n && done < bytes; i++) {
		part = iov[i].iov_len < bytes - done ? iov[i].iov_len : bytes - done;
		if (part != 0)
			memcpy(iov[i].iov_base, data + done, part);
		done += part;
	}
	return done;
}

ssize_t rs_dgram_recv(struct rs_sock *rs, const struct iovec *iov, int n, int flags, struct sockaddr *src,
	socklen_t *addrlen, int *msg_flags)
{
	bool nonblock = rs->nonblock || (flags & MSG_DONTWAIT) != 0;
	int err = rs_wait_until(rs, readable, nonblock, RS_NEVER);
	struct rs_dg_msg *msg = rs->dg->first;
	const uint8_t *data;
	size_t got, whole;

	if (err != 0)
		return err;
	if (msg == NULL)
		return -rs->err;
	whole = msg->bytes;
	data = msg->qp != NULL ? msg->qp->recv_buf + (size_t)msg->slot * RS_DG_RECV_BYTES + msg->offset : msg->data;
	got = scatter(iov, n, data, whole);
	if (msg_flags != NULL && got < whole)
		*msg_flags |= MSG_TRUNC;
	rs_store_addr((const struct sockaddr *)&msg->src, src, addrlen);
	if ((flags & MSG_PEEK) == 0)
		release(rs->dg, dequeue(rs->dg));
	return (ssize_t)((flags & MSG_TRUNC) != 0 ? whole : got);
}

/* Over the queue pairs once the peer's is known, if one packet holds the datagram; else over UDP. */
static ssize_t send_to(struct rs_sock *rs, const struct sockaddr_storage *dst, const struct iovec *iov, int n)
{
	struct rs_dg_peer *peer = rs_dg_peer(rs, dst);
	size_t bytes = 0;
	int i;

	for (i = 0; i < n; i++) {
		if (iov[i].iov_len > RS_DG_SLOT_BYTES)
			return -EMSGSIZE;
		bytes += iov[i].iov_len;
	}
	if (bytes > RS_DG_SLOT_BYTES - RS_DG_V6_BYTES)
		return -EMSGSIZE;
	if (peer == NULL)
		return -ENOMEM;
	if (peer->qp == NULL)
		return -ENETUNREACH;
	if (peer->ah == NULL || bytes + RS_DG_V6_BYTES > peer->qp->mtu_bytes)
		return rs_dg_udp_send(rs, peer, iov, n, RS_OP_DATA);
	return rs_dg_qp_send(peer->qp, peer, iov, n, bytes);
}

ssize_t rs_dgram_send(
	struct rs_sock *rs, const struct iovec *iov, int n, int flags, const struct sockaddr *dst, socklen_t addrlen)
{
	struct sockaddr_storage to = rs->dg->connected;
	struct rs_dg_peer *peer;
	int err;

	if (dst != NULL) {
		if (addrlen < rs_addr_bytes(dst) || dst->sa_family != rs->family)
			return -EINVAL;
		memset(&to, 0, sizeof(to));
		memcpy(&to, dst, rs_addr_bytes(dst));
	}
	if (to.ss_family == 0)
		return -EDESTADDRREQ;
	peer = rs->dg->peers; /* the last one used: its answer may be waiting */
	if (peer != NULL && peer->ah == NULL)
		rs_dg_udp_process(rs);
	err = rs_wait_until(rs, writable, rs->nonblock || (flags & MSG_DONTWAIT) != 0, RS_NEVER);
	if (err != 0)
		return err;
	return rs->state == RS_FAILED ? -rs->err : send_to(rs, &to, iov, n);
}
