/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of connection management: from lib/cm to the client's channel, which may be full. */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <rdma/rdma_cma.h>

#include "vd_cm.h"

#define MAX_QUEUED 1024 /* events a channel's client is behind */

/* ---- to the client ---- */

/* 0: sent, -EAGAIN: full, others: nobody reads there any more. */
static int put(
	struct vd_cm_channel *channel, struct vd_cm_id *owner, const struct vc_cm_event *event)
{
	if (channel->watch.fd < 0)
		return -EPIPE;
	if (send(channel->watch.fd, event, sizeof(*event), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM ? -EAGAIN
										   : -errno;
	owner->events++;
	return 0;
}

static int keep(
	struct vd_cm_channel *channel, struct vd_cm_id *owner, const struct vc_cm_event *event)
{
	struct vd_cm_queued *queued;

	if (channel->n_queued >= MAX_QUEUED)
		return -ENOSPC;
	queued = malloc(sizeof(*queued));
	if (queued == NULL)
		return -ENOMEM;
	queued->owner = owner;
	queued->event = *event;
	TAILQ_INSERT_TAIL(&channel->queue, queued, link);
	if (channel->n_queued++ == 0)
		vd_watch_mod(channel->vd, &channel->watch, EPOLLOUT);
	return 0;
}

static void unqueue(struct vd_cm_channel *channel, struct vd_cm_queued *queued)
{
	TAILQ_REMOVE(&channel->queue, queued, link);
	if (--channel->n_queued == 0 && channel->watch.fd >= 0)
		vd_watch_mod(channel->vd, &channel->watch, 0);
	free(queued);
}

bool vd_cm_emit_event(
	struct vd_cm_id *owner, const struct vd_cm_id *about, struct vc_cm_event *event)
{
	struct vd_cm_channel *channel = owner->channel;
	int err;

	/* The client does not know the id yet: it will see when it accepts. */
	if (!owner->has_owner)
		return false;
	event->id_cookie = owner->cookie;
	event->ps = about->ps;
	vd_cm_fill_addr(about, &event->src, &event->dst, event->device);
	memcpy(event->sgid, about->src.b, sizeof(event->sgid));
	err = channel->n_queued == 0 ? put(channel, owner, event) : -EAGAIN;
	if (err == -EAGAIN)
		err = keep(channel, owner, event);
	if (err != 0)
		channel->vd->stats.events_lost++;
	return err == 0;
}

bool vd_cm_emit(struct vd_cm_id *id, uint32_t type, int status)
{
	struct vc_cm_event event = {.type = type, .status = status};

	return vd_cm_emit_event(id, id, &event);
}

/* A request nobody will hear of has no one to answer it. */
static void give_up(struct vd_cm_channel *channel, struct vd_cm_queued *queued)
{
	struct vd_cm_id *id = NULL;

	channel->vd->stats.events_lost++;
	if (queued->event.type == RDMA_CM_EVENT_CONNECT_REQUEST)
		id = vd_cm_id_get(queued->owner->session, queued->event.new_id);
	unqueue(channel, queued);
	if (id != NULL)
		vd_cm_id_free(id);
}

void vd_cm_channel_ready(struct vd_watch *watch, uint32_t events)
{
	struct vd_cm_channel *channel = watch->arg;
	struct vd_cm_queued *queued;

	if ((events & (EPOLLHUP | EPOLLERR)) != 0)
		vd_watch_del(channel->vd, watch);
	while ((queued = TAILQ_FIRST(&channel->queue)) != NULL) {
		int err = put(channel, queued->owner, &queued->event);

		if (err == -EAGAIN)
			return;
		if (err == 0)
			unqueue(channel, queued);
		else
			give_up(channel, queued);
	}
}

static struct vd_cm_queued *first_of(
	const struct vd_cm_channel *channel, const struct vd_cm_id *owner)
{
	struct vd_cm_queued *queued;

	TAILQ_FOREACH(queued, &channel->queue, link)
	{
		if (queued->owner == owner)
			return queued;
	}
	return NULL;
}

/* Giving a request up ends its id, whose own events may lie anywhere in the queue: each look is a
 * new one. */
void vd_cm_drop_events(struct vd_cm_id *id)
{
	struct vd_cm_queued *queued;

	while ((queued = first_of(id->channel, id)) != NULL)
		give_up(id->channel, queued);
}

void vd_cm_move_events(struct vd_cm_id *id, struct vd_cm_channel *to)
{
	struct vd_cm_queued *queued;

	if (to == id->channel)
		return;
	while ((queued = first_of(id->channel, id)) != NULL) {
		if (keep(to, id, &queued->event) == 0)
			unqueue(id->channel, queued);
		else
			give_up(id->channel, queued);
	}
}

/* ---- from lib/cm ---- */

/* What the peer said, seen from here: its initiator depth asks for our responder resources. */
static void fill_param(const struct cm_event *ev, struct vc_conn_param *param)
{
	uint32_t n = ev->private_bytes < VC_MAX_PRIVATE ? ev->private_bytes : VC_MAX_PRIVATE;

	param->qpn = ev->qp.remote_qpn;
	param->private_bytes = n;
	if (n > 0)
		memcpy(param->private_data, ev->private_data, n);
	param->responder_resources = ev->peer_initiator_depth;
	param->initiator_depth = ev->peer_responder_resources;
	param->flow_control = ev->peer_flow_control;
	param->retry_count = ev->qp.retry_count;
	param->rnr_retry_count = ev->qp.rnr_retry_count;
	param->srq = ev->qp.peer_srq;
	if (ev->qp.qp_type == CM_QP_XRC)
		param->qp_type = ev->type == CM_EVENT_CONNECT_REQUEST ? IBV_QPT_XRC_RECV : IBV_QPT_XRC_SEND;
	else
		param->qp_type = ev->qp.qp_type == CM_QP_UC ? IBV_QPT_UC : IBV_QPT_RC;
}

/* Of service ID resolution. */
static void fill_datagram(const struct cm_event *ev, struct vc_conn_param *param)
{
	fill_param(ev, param);
	param->qp_type = IBV_QPT_UD;
	param->qpn = ev->qpn;
	param->qkey = ev->qkey;
}

static void fill_new_id(
	struct vd_cm_id *id, const struct vd_cm_id *listener, const struct cm_event *ev)
{
	struct vd *vd = id->session->vd;
	const struct vd_device *device = ev->qp.path.dev;
	uint8_t most = (uint8_t)vd->limits.max_rd_atomic;

	id->step = VD_CM_CONNECTION;
	id->device = (uint32_t)(device - vd->devices);
	id->has_device = true;
	id->src = ev->qp.path.local;
	id->dst = ev->qp.path.remote;
	id->has_dst = true;
	id->family = wire_addr_is_v4(&id->src) ? AF_INET : AF_INET6;
	id->src_port = listener->src_port;
	id->dst_port = ev->hello.present ? ev->hello.src_port : 0;
	id->rq_psn = (uint32_t)vd_random(vd) & VD_PSN_MASK;
	id->qp = ev->qp;
	id->qp.rq_psn = id->rq_psn;
	/* As offered, until our own accept settles it. */
	id->qp.max_dest_rd_atomic =
		ev->peer_initiator_depth < most ? ev->peer_initiator_depth : most;
	id->qp.max_rd_atomic =
		ev->peer_responder_resources < most ? ev->peer_responder_resources : most;
	id->qp_known = true;
}

static void refuse(struct vd *vd, const struct cm_event *ev, uint16_t reason)
{
	const struct cm_sidr_rep_params params = {
		.status = reason == CM_REJ_INVALID_SERVICE_ID ? CM_SIDR_UNSUPPORTED : CM_SIDR_REJECT};

	if (ev->type == CM_EVENT_SIDR_REQUEST)
		(void)cm_sidr_rep(vd->cm->cm, ev->id, &params, vd_now(vd));
	else
		(void)cm_reject(vd->cm->cm, ev->id, reason, NULL, 0, vd_now(vd));
	cm_id_destroy(vd->cm->cm, ev->id, vd_now(vd));
}

static void connect_request(struct vd *vd, const struct cm_event *ev)
{
	struct vd_cm_id *listener = ev->cookie;
	struct vc_cm_event event = {.type = RDMA_CM_EVENT_CONNECT_REQUEST};
	bool datagram = ev->type == CM_EVENT_SIDR_REQUEST;
	struct vd_cm_id *id;

	/* A listener on all IPv4 addresses (lib/cm has one for all addresses of any kind), or for the other
	 * kind of service. */
	if ((listener->family == AF_INET && !wire_addr_is_v4(&ev->qp.path.local)) ||
		vd_cm_is_datagram(listener) != datagram) {
		refuse(vd, ev, CM_REJ_INVALID_SERVICE_ID);
		return;
	}
	if (datagram)
		fill_datagram(ev, &event.param);
	else
		fill_param(ev, &event.param);
	id = vd_cm_id_new(
		listener->session, listener->channel, listener->ps, event.param.qp_type);
	if (id == NULL) {
		refuse(vd, ev, CM_REJ_NO_RESOURCES);
		return;
	}
	fill_new_id(id, listener, ev);
	id->cm = ev->id;
	cm_id_set_cookie(ev->id, id);
	event.new_id = id->handle;
	if (!vd_cm_emit_event(listener, id, &event))
		vd_cm_id_free(id);
}

static void connected(struct vd_cm_id *id, const struct cm_event *ev, uint32_t type)
{
	struct vc_cm_event event = {.type = type};

	id->qp = ev->qp;
	id->qp_known = true;
	fill_param(ev, &event.param);
	(void)vd_cm_emit_event(id, id, &event);
}

static void ended(struct vd_cm_id *id, const struct cm_event *ev, uint32_t type, int status)
{
	struct vc_cm_event event = {.type = type, .status = status};

	fill_param(ev, &event.param);
	(void)vd_cm_emit_event(id, id, &event);
}

/* The answer to a datagram service's client: where to send and with which Q_Key, or why not. */
static void datagram_response(struct vd_cm_id *id, const struct cm_event *ev)
{
	struct vc_cm_event event = {.type = RDMA_CM_EVENT_ESTABLISHED};

	id->qp = ev->qp;
	fill_datagram(ev, &event.param);
	if (ev->reason == CM_SIDR_OK && vd_cm_fill_av(id, &event.av) == 0) {
		(void)vd_cm_emit_event(id, id, &event);
		return;
	}
	event.type = RDMA_CM_EVENT_UNREACHABLE;
	event.status = ev->reason != CM_SIDR_OK ? (int)ev->reason : -EADDRNOTAVAIL;
	(void)vd_cm_emit_event(id, id, &event);
}

void vd_cm_handle(void *env, const struct cm_event *ev)
{
	struct vd *vd = env;

	switch ((enum cm_event_type)ev->type) {
	case CM_EVENT_CONNECT_REQUEST:
	case CM_EVENT_SIDR_REQUEST:
		connect_request(vd, ev);
		break;
	case CM_EVENT_CONNECT_RESPONSE:
		connected(ev->cookie, ev, RDMA_CM_EVENT_CONNECT_RESPONSE);
		break;
	case CM_EVENT_ESTABLISHED:
		connected(ev->cookie, ev, RDMA_CM_EVENT_ESTABLISHED);
		break;
	case CM_EVENT_REJECTED:
		ended(ev->cookie, ev, RDMA_CM_EVENT_REJECTED, (int)ev->reason);
		break;
	case CM_EVENT_UNREACHABLE:
		ended(ev->cookie, ev, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case CM_EVENT_DISCONNECTED:
		ended(ev->cookie, ev, RDMA_CM_EVENT_DISCONNECTED, 0);
		break;
	case CM_EVENT_TIMEWAIT_EXIT:
		ended(ev->cookie, ev, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
		break;
	case CM_EVENT_SIDR_RESPONSE:
		datagram_response(ev->cookie, ev);
		break;
	}
}
