/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of streams: events of the connection manager, and what they move. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "vcl_rs.h"

#define RESOLVE_TIMEOUT_MS 2000
#define RETRIES            7 /* the most; as RNR retries it means for ever (IB 9.7.5.2.8) */

int rs_stream_open(struct rs_sock *rs)
{
	struct rs_stream *st = &rs->st;

	st->channel = rdma_create_event_channel();
	if (st->channel == NULL)
		return -errno;
	rs->fd = st->channel->fd;
	if (fcntl(rs->fd, F_SETFL, fcntl(rs->fd, F_GETFL) | O_NONBLOCK) != 0 ||
		rdma_create_id(st->channel, &st->id, rs, RDMA_PS_TCP) != 0)
		return -errno;
	return 0;
}

static void free_request(struct rs_request *r)
{
	(void)rdma_reject(r->id, NULL, 0);
	(void)rdma_destroy_id(r->id);
	free(r);
}

void rs_stream_free(struct rs_sock *rs)
{
	struct rs_stream *st = &rs->st;
	struct rs_request *r;

	while ((r = st->requests) != NULL) {
		st->requests = r->next;
		free_request(r);
	}
	rs_qp_free(rs);
	if (st->id != NULL)
		(void)rdma_destroy_id(st->id);
	if (st->channel != NULL)
		rdma_destroy_event_channel(st->channel);
}

bool rs_is_connecting(const struct rs_sock *rs)
{
	return rs->state >= RS_RESOLVING_ADDR && rs->state <= RS_ACCEPTING;
}

/* ---- events ---- */

static void conn_param(const struct rs_sock *rs, struct rdma_conn_param *p, struct rs_conn_data *data)
{
	rs_qp_describe(rs, data);
	*p = (struct rdma_conn_param){.private_data = data,
		.private_data_len = sizeof(*data),
		.flow_control = 1,
		.retry_count = RETRIES,
		.rnr_retry_count = RETRIES};
}

static int connect_now(struct rs_sock *rs)
{
	struct rdma_conn_param param;
	struct rs_conn_data data;
	int err = rs_qp_make(rs);

	if (err != 0)
		return err;
	conn_param(rs, &param, &data);
	return rdma_connect(rs->st.id, &param) != 0 ? -errno : 0;
}

/* The next step of a connection being made, or its failure. */
static void step(struct rs_sock *rs, enum rs_state next, int err)
{
	if (err != 0)
		rs_fail(rs, -err);
	else
		rs->state = next;
}

static void established(struct rs_sock *rs, const struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;
	struct rs_peer peer;

	if (rs->state == RS_ACCEPTING)
		rs->state = RS_CONNECTED;
	if (rs->state != RS_CONNECTING)
		return;
	if (!rs_conn_data_parse(p->private_data, p->private_data_len, &peer)) {
		rs_fail(rs, EPROTO);
		return;
	}
	rs->state = RS_CONNECTED;
	rs_qp_connected(rs, &peer);
}

/* Reasons on the wire are positive, errors negative. */
static int failure_errno(const struct rdma_cm_event *ev)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_REJECTED:
		return ECONNREFUSED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return ETIMEDOUT;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return EHOSTUNREACH;
	default:
		return ECONNRESET;
	}
}

static void disconnected(struct rs_sock *rs)
{
	if (rs->st.recv_cq != NULL)
		rs_cq_process(rs);
	rs_lost(rs);
}

static void own_event(struct rs_sock *rs, const struct rdma_cm_event *ev)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rs->state == RS_RESOLVING_ADDR)
			step(rs, RS_RESOLVING_ROUTE,
				rdma_resolve_route(rs->st.id, RESOLVE_TIMEOUT_MS) != 0 ? -errno : 0);
		return;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (rs->state == RS_RESOLVING_ROUTE)
			step(rs, RS_CONNECTING, connect_now(rs));
		return;
	case RDMA_CM_EVENT_ESTABLISHED:
		established(rs, ev);
		return;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		disconnected(rs);
		return;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		rs_fail(rs, failure_errno(ev));
		return;
	default:
		return;
	}
}

/* At a listener. Without memory the request stays unanswered, and its sender gives up. */
static void add_request(struct rs_sock *rs, const struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;
	struct rs_request *r = calloc(1, sizeof(*r)), **at;

	if (r == NULL)
		return;
	r->id = ev->id;
	r->valid = rs_conn_data_parse(p->private_data, p->private_data_len, &r->peer);
	for (at = &rs->st.requests; *at != NULL; at = &(*at)->next)
		;
	*at = r;
}

/* One that ended before it was accepted. */
static void spoil_request(struct rs_sock *rs, const struct rdma_cm_id *id)
{
	struct rs_request *r;

	for (r = rs->st.requests; r != NULL; r = r->next)
		if (r->id == id)
			r->valid = false;
}

void rs_cm_process(struct rs_sock *rs)
{
	struct rdma_cm_event *ev;

	while (rdma_get_cm_event(rs->st.channel, &ev) == 0) {
		if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			add_request(rs, ev);
		else if (ev->id != rs->st.id)
			spoil_request(rs, ev->id);
		else
			own_event(rs, ev);
		(void)rdma_ack_cm_event(ev);
		rs_wake(rs);
	}
	if (errno != EAGAIN && errno != EINTR)
		rs_fail(rs, EIO); /* the daemon is gone */
}

/* ---- the calls ---- */

int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rs_sock *rs = rs_get_locked(socket);
	int err = 0;

	if (rs == NULL)
		return -1;
	if (rs->type == SOCK_DGRAM) {
		err = bind(rs->fd, addr, addrlen) != 0 ? -errno : 0;
	} else if (rs->state != RS_IDLE || addrlen < rs_addr_bytes(addr)) {
		err = -EINVAL;
	} else {
		err = rdma_bind_addr(rs->st.id, (struct sockaddr *)(uintptr_t)addr) != 0 ? -errno : 0;
		rs->state = err == 0 ? RS_BOUND : RS_IDLE;
	}
	rs_unlock_put(rs);
	return (int)rs_result(err);
}

int rlisten(int socket, int backlog)
{
	struct rs_sock *rs = rs_get_locked(socket);
	int err = 0;

	if (rs == NULL)
		return -1;
	if (rs->type == SOCK_DGRAM)
		err = -EOPNOTSUPP;
	else if (rs->state > RS_LISTENING)
		err = -EINVAL;
	else if (rs->state != RS_LISTENING && rdma_listen(rs->st.id, backlog) != 0)
		err = -errno;
	else
		rs->state = RS_LISTENING;
	rs_unlock_put(rs);
	return (int)rs_result(err);
}

static bool is_requested(struct rs_sock *rs)
{
	return rs->st.requests != NULL || rs->state != RS_LISTENING;
}

/* Takes over a request into a socket of its own. Its id's events go to that socket's channel from now on. */
static int take_request(struct rs_sock *rs, struct rs_request *r)
{
	struct rdma_conn_param param;
	struct rs_conn_data data;
	int err;

	rs->st.channel = rdma_create_event_channel();
	if (rs->st.channel == NULL)
		return -errno;
	rs->fd = rs->st.channel->fd;
	if (fcntl(rs->fd, F_SETFL, fcntl(rs->fd, F_GETFL) | O_NONBLOCK) != 0 ||
		rdma_migrate_id(r->id, rs->st.channel) != 0)
		return -errno;
	rs->st.id = r->id;
	rs->st.id->context = rs;
	r->id = NULL;
	err = rs_qp_make(rs);
	if (err != 0)
		return err;
	rs_qp_connected(rs, &r->peer);
	rs->state = RS_ACCEPTING;
	conn_param(rs, &param, &data);
	return rdma_accept(rs->st.id, &param) != 0 ? -errno : 0;
}

/* What raccept() says; other failures are of the one peer, which took its request back. */
static bool is_our_trouble(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE || err == -ENOSPC || err == -EIO;
}

/* The new socket's number, 0: the request came to nothing, or a negative errno. */
static int accept_request(struct rs_sock *listener, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_request *r = listener->st.requests;
	struct rs_sock *rs = r->valid ? rs_sock_new(listener->family, SOCK_STREAM, &listener->opt) : NULL;
	int err;

	listener->st.requests = r->next;
	if (rs == NULL) {
		err = r->valid ? -ENOMEM : 0;
		free_request(r);
		return err;
	}
	err = take_request(rs, r);
	if (r->id != NULL)
		free_request(r);
	else
		free(r);
	if (err == 0)
		err = rs_table_add(rs);
	if (err == 0) {
		rs_store_addr(rdma_get_peer_addr(rs->st.id), addr, addrlen);
		err = rs->fd;
	}
	rs_put(rs);
	return err > 0 || is_our_trouble(err) ? err : 0;
}

int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_sock *rs = rs_get_locked(socket);
	int err;

	if (rs == NULL)
		return -1;
	do {
		err = rs->type != SOCK_STREAM ? -EOPNOTSUPP : rs->state == RS_FAILED ? -rs->err : 0;
		if (err == 0 && rs->state != RS_LISTENING)
			err = -EINVAL;
		if (err == 0)
			err = rs_wait_until(rs, is_requested, rs->nonblock, RS_NEVER);
		if (err == 0 && rs->st.requests != NULL)
			err = accept_request(rs, addr, addrlen);
	} while (err == 0);
	rs_unlock_put(rs);
	return (int)rs_result(err);
}

static bool is_settled(struct rs_sock *rs)
{
	return !rs_is_connecting(rs);
}

static int stream_connect(struct rs_sock *rs, const struct sockaddr *addr, socklen_t addrlen)
{
	bool again = rs_is_connecting(rs);
	int err;

	if (rs->state >= RS_CONNECTED)
		return rs->state == RS_FAILED ? -rs->err : -EISCONN;
	if (rs->state == RS_LISTENING || (!again && addrlen < rs_addr_bytes(addr)))
		return -EINVAL;
	if (!again) {
		if (rdma_resolve_addr(rs->st.id, NULL, (struct sockaddr *)(uintptr_t)addr, RESOLVE_TIMEOUT_MS) != 0)
			return -errno;
		rs->state = RS_RESOLVING_ADDR;
	}
	err = rs_wait_until(rs, is_settled, rs->nonblock, RS_NEVER);
	if (err == -EAGAIN)
		return again ? -EALREADY : -EINPROGRESS;
	if (err == 0 && rs->state == RS_FAILED)
		return -rs->err;
	return err;
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	struct rs_sock *rs = rs_get_locked(socket);
	int err;

	if (rs == NULL)
		return -1;
	err = rs->type == SOCK_STREAM ? stream_connect(rs, addr, addrlen) : rs_dgram_connect(rs, addr, addrlen);
	rs_unlock_put(rs);
	return (int)rs_result(err);
}
