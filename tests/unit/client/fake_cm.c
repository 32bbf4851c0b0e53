/* SPDX-License-Identifier: BSD-3-Clause */
/* The connection manager of the fake daemon: connections inside it, by port number. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "fake.h"

#define RTR_MASK (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
	IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | \
	IBV_QP_MAX_QP_RD_ATOMIC)
#define REJECT_BY_CONSUMER 28

static const struct vc_sockaddr local = {.family = AF_INET, .addr = {10, 0, 0, 1}};

static struct fake_cm_id *id_of(struct fake *f, uint32_t handle)
{
	return handle != 0 && handle <= FAKE_MAX && f->ids[handle - 1].used ? &f->ids[handle - 1] : NULL;
}

static uint32_t new_id(struct fake *f)
{
	for (uint32_t i = 0; i < FAKE_MAX; i++) {
		if (f->ids[i].used)
			continue;
		f->ids[i] = (struct fake_cm_id){.used = true};
		return i + 1;
	}
	abort();
}

static void emit(struct fake_session *s, const struct fake_cm_id *owner, const struct fake_cm_id *about,
	struct vc_cm_event *ev)
{
	ev->id_cookie = owner->cookie;
	ev->ps = about->ps;
	ev->src = about->src;
	ev->dst = about->dst;
	if (about->src.addr[0] != 0)
		strcpy(ev->device, FAKE_DEVICE);
	if (owner->cookie != 0)
		(void)!send(s->channels[owner->channel - 1], ev, sizeof(*ev), MSG_NOSIGNAL);
}

static void emit_plain(struct fake_session *s, const struct fake_cm_id *id, uint32_t type, int status)
{
	struct vc_cm_event ev = {.type = type, .status = status};

	emit(s, id, id, &ev);
}

/* ---- addresses ---- */

static int resolve_addr(struct fake_session *s, struct fake_cm_id *id, const struct vc_request *q)
{
	id->dst = q->cm_resolve.dst;
	if (id->dst.addr[0] != 10) { /* its whole network */
		emit_plain(s, id, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH);
		return 0;
	}
	id->src = local;
	id->src.port = htons(40000);
	emit_plain(s, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	return 0;
}

static void tell(const struct fake_cm_id *id, struct vc_reply *r)
{
	r->cm.src = id->src;
	r->cm.dst = id->dst;
	if (id->src.addr[0] != 0)
		strcpy(r->cm.device, FAKE_DEVICE);
}

/* ---- connections ---- */

static int connect_id(struct fake *f, struct fake_session *s, uint32_t handle, const struct vc_request *q)
{
	struct vc_cm_event ev = {.type = RDMA_CM_EVENT_CONNECT_REQUEST, .param = q->cm_conn.param};
	struct fake_cm_id *id = id_of(f, handle), *listener = NULL, *request;

	for (uint32_t i = 0; i < FAKE_MAX; i++)
		if (f->ids[i].used && f->ids[i].state == FAKE_CM_LISTEN && f->ids[i].src.port == id->dst.port)
			listener = &f->ids[i];
	id->qpn = q->cm_conn.param.qpn;
	if (listener == NULL) {
		emit_plain(s, id, RDMA_CM_EVENT_REJECTED, 8); /* no such service */
		return 0;
	}
	ev.new_id = new_id(f);
	request = id_of(f, ev.new_id);
	request->state = FAKE_CM_REQUESTED;
	request->channel = listener->channel;
	request->ps = listener->ps;
	request->peer = handle;
	request->peer_qpn = id->qpn;
	request->src = id->dst;
	request->dst = id->src;
	id->peer = ev.new_id;
	emit(s, listener, request, &ev);
	return 0;
}

static int accept_id(struct fake *f, struct fake_session *s, struct fake_cm_id *id, const struct vc_request *q)
{
	struct vc_cm_event ev = {.type = RDMA_CM_EVENT_CONNECT_RESPONSE, .param = q->cm_conn.param};
	struct fake_cm_id *peer = id_of(f, id->peer);

	if (id->ps == RDMA_PS_UDP) { /* a service is found, and that is all */
		ev.type = RDMA_CM_EVENT_ESTABLISHED;
		ev.av = (struct vc_av){.dgid = {[10] = 0xff, 0xff, 10, 0, 0, 1}, .sgid_index = 1, .hop_limit = 64};
	}

	id->cookie = q->cm_conn.cookie;
	id->qpn = q->cm_conn.param.qpn;
	id->state = FAKE_CM_CONNECTED;
	if (peer == NULL)
		return -ENOTCONN;
	peer->peer_qpn = id->qpn;
	emit(s, peer, peer, &ev);
	return 0;
}

static void reject_id(struct fake *f, struct fake_session *s, struct fake_cm_id *id, const struct vc_conn_param *param)
{
	struct vc_cm_event ev = {.type = RDMA_CM_EVENT_REJECTED, .status = REJECT_BY_CONSUMER, .param = *param};
	struct fake_cm_id *peer = id_of(f, id->peer);

	if (peer != NULL)
		emit(s, peer, peer, &ev);
	id->peer = 0;
}

static int destroy_id(struct fake *f, struct fake_session *s, struct fake_cm_id *id)
{
	const struct vc_conn_param none = {0};

	if (id->state == FAKE_CM_REQUESTED)
		reject_id(f, s, id, &none);
	id->used = false;
	return 0;
}

static int establish_or_end(struct fake *f, struct fake_session *s, struct fake_cm_id *id, uint32_t type)
{
	struct fake_cm_id *peer = id_of(f, id->peer);

	if (type == RDMA_CM_EVENT_DISCONNECTED && id->state == FAKE_CM_CONNECTED) {
		id->state = FAKE_CM_IDLE;
		emit_plain(s, id, type, 0);
	}
	if (type == RDMA_CM_EVENT_ESTABLISHED)
		id->state = FAKE_CM_CONNECTED;
	if (peer != NULL && peer->state == FAKE_CM_CONNECTED) {
		if (type == RDMA_CM_EVENT_DISCONNECTED)
			peer->state = FAKE_CM_IDLE;
		emit_plain(s, peer, type, 0);
	}
	return 0;
}

static int init_attr(const struct fake_cm_id *id, uint32_t state, struct vc_qp_attr *attr)
{
	static const uint8_t gid[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};

	*attr = (struct vc_qp_attr){.state = state, .port = 1, .path_mtu = IBV_MTU_1024, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .dest_qpn = id->peer_qpn, .max_rd_atomic = 4, .max_dest_rd_atomic = 4};
	memcpy(attr->av.dgid, gid, sizeof(gid));
	attr->av.sgid_index = 1;
	switch (state) {
	case IBV_QPS_INIT:
		attr->mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
		attr->mask |= id->ps == RDMA_PS_UDP ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
		attr->qkey = RDMA_UDP_QKEY;
		return 0;
	case IBV_QPS_RTR:
		attr->mask = RTR_MASK;
		return id->peer_qpn != 0 ? 0 : -EINVAL;
	case IBV_QPS_RTS:
		attr->mask = RTS_MASK;
		return 0;
	default:
		return -EINVAL;
	}
}

/* An IPv4 group; 239.0.0.9 refuses. */
static int join(struct fake_session *s, struct fake_cm_id *id, const struct vc_request *q)
{
	struct vc_cm_event ev = {.type = RDMA_CM_EVENT_MULTICAST_JOIN, .mcast_cookie = q->cm_mcast.cookie,
		.param = {.qpn = 0xffffff, .qkey = RDMA_UDP_QKEY},
		.av = {.dgid = {[10] = 0xff, 0xff}, .sgid_index = 1}};

	if (q->cm_mcast.addr.addr[3] == 9)
		return -EADDRINUSE;
	memcpy(ev.av.dgid + 12, q->cm_mcast.addr.addr, 4);
	id->groups++;
	emit(s, id, id, &ev);
	return 0;
}

/* ---- requests ---- */

static int create_channel(struct fake_session *s, struct fake_answer *a)
{
	uint32_t i = 0;

	while (s->channels[i] != 0)
		i++;
	s->channels[i] = fake_pair(&a->fds[0]);
	a->reply.n_fds = 1;
	a->reply.cm.handle = i + 1;
	return 0;
}

static int serve_id(struct fake *f, struct fake_session *s, struct fake_cm_id *id, const struct vc_request *q,
	struct vc_reply *r)
{
	switch (q->op) {
	case VC_CM_DESTROY_ID:
		return destroy_id(f, s, id);
	case VC_CM_BIND:
		id->src = q->cm_bind.src;
		tell(id, r);
		return 0;
	case VC_CM_LISTEN:
		id->state = FAKE_CM_LISTEN;
		if (id->src.port == 0)
			id->src = (struct vc_sockaddr){.family = AF_INET, .port = htons(50000)};
		return 0;
	case VC_CM_QUERY_ID:
		tell(id, r);
		return 0;
	case VC_CM_RESOLVE_ADDR:
		return resolve_addr(s, id, q);
	case VC_CM_RESOLVE_ROUTE:
		emit_plain(s, id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
		return 0;
	case VC_CM_CONNECT:
		return connect_id(f, s, q->cm_conn.id, q);
	case VC_CM_ACCEPT:
		return accept_id(f, s, id, q);
	case VC_CM_REJECT:
		reject_id(f, s, id, &q->cm_conn.param);
		id->state = FAKE_CM_IDLE;
		return 0;
	case VC_CM_ESTABLISH:
		return establish_or_end(f, s, id, RDMA_CM_EVENT_ESTABLISHED);
	case VC_CM_DISCONNECT:
		return establish_or_end(f, s, id, RDMA_CM_EVENT_DISCONNECTED);
	case VC_CM_MIGRATE:
		id->channel = q->cm_migrate.channel;
		id->cookie = q->cm_migrate.cookie;
		return 0;
	case VC_CM_JOIN_MCAST:
		return join(s, id, q);
	case VC_CM_LEAVE_MCAST:
		return id->groups-- > 0 ? 0 : -EADDRNOTAVAIL;
	case VC_CM_INIT_QP_ATTR:
		return init_attr(id, q->cm_init_attr.state, &r->qp_attr);
	default:
		return -EOPNOTSUPP;
	}
}

void fake_cm_serve(struct fake *f, struct fake_session *s, const struct vc_request *q, struct fake_answer *a)
{
	struct vc_reply *r = &a->reply;
	struct fake_cm_id *id;

	switch (q->op) {
	case VC_CM_CREATE_CHANNEL:
		r->status = create_channel(s, a);
		return;
	case VC_CM_DESTROY_CHANNEL:
		close(s->channels[q->object.handle - 1]);
		s->channels[q->object.handle - 1] = 0;
		return;
	case VC_CM_CREATE_ID:
		r->cm.handle = new_id(f);
		id = id_of(f, r->cm.handle);
		id->cookie = q->cm_create_id.cookie;
		id->channel = q->cm_create_id.channel;
		id->ps = q->cm_create_id.ps;
		return;
	default:
		break;
	}
	/* All others begin with the id's handle. */
	id = id_of(f, q->object.handle);
	r->status = id == NULL ? -EINVAL : serve_id(f, s, id, q, r);
}
