/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of connection management, as the daemon sends them and as programs see them. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "vcl_cma.h"

static void fill_conn(struct cma_event *ev, const struct vc_cm_event *msg)
{
	const struct vc_conn_param *in = &msg->param;
	struct rdma_conn_param *out = &ev->rdma.param.conn;
	uint32_t n = in->private_bytes < 255 ? in->private_bytes : 255;

	memcpy(ev->private_data, in->private_data, n);
	out->private_data = n != 0 ? ev->private_data : NULL;
	out->private_data_len = (uint8_t)n;
	out->responder_resources = in->responder_resources;
	out->initiator_depth = in->initiator_depth;
	out->flow_control = in->flow_control;
	out->retry_count = in->retry_count;
	out->rnr_retry_count = in->rnr_retry_count;
	out->srq = in->srq;
	out->qp_num = in->qpn;
}

static void fill_ud(struct cma_event *ev, const struct vc_cm_event *msg)
{
	struct rdma_ud_param *out = &ev->rdma.param.ud;
	struct ibv_ah_attr *ah = &out->ah_attr;
	uint32_t n = msg->param.private_bytes < 255 ? msg->param.private_bytes : 255;

	memcpy(ev->private_data, msg->param.private_data, n);
	out->private_data = n != 0 ? ev->private_data : NULL;
	out->private_data_len = (uint8_t)n;
	out->qp_num = msg->param.qpn;
	out->qkey = msg->param.qkey;
	memcpy(ah->grh.dgid.raw, msg->av.dgid, sizeof(msg->av.dgid));
	ah->grh.flow_label = msg->av.flow_label;
	ah->grh.sgid_index = msg->av.sgid_index;
	ah->grh.hop_limit = msg->av.hop_limit;
	ah->grh.traffic_class = msg->av.traffic_class;
	ah->sl = msg->av.sl;
	ah->is_global = 1;
	ah->port_num = 1;
}

/* ---- what an event changes at its id ---- */

/* Turns an event into the failure of its step. */
static void fail(struct cma_event *ev, enum rdma_cm_event_type type, int err)
{
	ev->rdma.event = type;
	ev->rdma.status = err;
}

/* The peer accepted. With a QP on the id, the library completes the handshake and the program sees only
 * that it is connected; without one the program does it and calls rdma_establish(). */
static void connect_response(struct cma_id *id, struct cma_event *ev)
{
	int err;

	if (id->rdma.qp_type == IBV_QPT_UD) { /* its answer is all there is to wait for */
		ev->rdma.event = RDMA_CM_EVENT_ESTABLISHED;
		return;
	}
	if (id->rdma.qp == NULL)
		return;
	err = cma_qp_to_rtr(id, RDMA_MAX_RESP_RES);
	if (err == 0)
		err = cma_qp_to_rts(id, RDMA_MAX_INIT_DEPTH);
	if (err == 0)
		err = cma_establish(id);
	if (err == 0) {
		ev->rdma.event = RDMA_CM_EVENT_ESTABLISHED;
		return;
	}
	(void)cma_reject(id, NULL, 0);
	cma_qp_to_error(id);
	fail(ev, RDMA_CM_EVENT_CONNECT_ERROR, err);
}

static int connect_request(struct cma_id *listener, const struct vc_cm_event *msg, struct cma_event *ev)
{
	struct cma_id *id = cma_id_new(listener->cma, listener->rdma.channel, listener->rdma.context, listener->rdma.ps,
		listener->rdma.qp_type);
	int err;

	if (id == NULL)
		return -ENOMEM;
	id->handle = msg->new_id;
	id->responder_resources = msg->param.responder_resources;
	id->initiator_depth = msg->param.initiator_depth;
	err = cma_id_locate(id, &msg->src, &msg->dst, msg->device);
	if (err == 0)
		err = cma_id_set_path(id);
	if (err == 0 && listener->sync)
		err = rdma_migrate_id(&id->rdma, NULL) != 0 ? -errno : 0;
	if (err != 0) {
		cma_id_free(id);
		return err;
	}
	ev->rdma.listen_id = &listener->rdma;
	ev->rdma.id = &id->rdma;
	return 0;
}

/* 0, or a negative errno: the event does not reach the program. */
static int apply(struct cma_id *id, const struct vc_cm_event *msg, struct cma_event *ev)
{
	int err;

	switch (msg->type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return connect_request(id, msg, ev);
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = cma_id_locate(id, &msg->src, &msg->dst, msg->device);
		if (err != 0)
			fail(ev, RDMA_CM_EVENT_ADDR_ERROR, err);
		return 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		err = cma_id_set_path(id);
		if (err != 0)
			fail(ev, RDMA_CM_EVENT_ROUTE_ERROR, err);
		return 0;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		connect_response(id, ev);
		return 0;
	case RDMA_CM_EVENT_REJECTED:
		if (id->rdma.qp_type != IBV_QPT_UD) /* a datagram queue pair may have other peers */
			cma_qp_to_error(id);
		return 0;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		err = cma_joined(id, msg->mcast_cookie, &ev->rdma.param.ud);
		if (err == -ENOENT) /* left since */
			return err;
		if (err != 0)
			fail(ev, RDMA_CM_EVENT_MULTICAST_ERROR, err);
		return 0;
	default:
		return msg->type <= RDMA_CM_EVENT_TIMEWAIT_EXIT ? 0 : -EPROTO;
	}
}

/* ---- taken and acknowledged ---- */

static struct cma_id *take_owner(struct cma *cma, uint64_t cookie)
{
	struct cma_id *id;

	pthread_mutex_lock(&cma->lock);
	id = vcl_table_get(&cma->ids, cookie);
	if (id != NULL)
		id->events_out++;
	pthread_mutex_unlock(&cma->lock);
	return id;
}

static void release_owner(struct cma_id *id)
{
	struct cma *cma = id->cma;

	pthread_mutex_lock(&cma->lock);
	if (--id->events_out == 0)
		pthread_cond_broadcast(&id->acked);
	pthread_mutex_unlock(&cma->lock);
}

/* A request nobody can take is refused. */
static void drop(struct cma *cma, const struct vc_cm_event *msg)
{
	if (msg->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		(void)vcl_call_handle(&cma->conn, VC_CM_DESTROY_ID, msg->new_id, NULL);
}

/* NULL: the event is for an id destroyed since, or could not be served. */
static struct cma_event *make_event(struct cma *cma, const struct vc_cm_event *msg)
{
	struct cma_id *owner = take_owner(cma, msg->id_cookie);
	struct cma_event *ev = owner != NULL ? calloc(1, sizeof(*ev)) : NULL;

	if (ev == NULL)
		goto dropped;
	ev->owner = owner;
	ev->rdma.id = &owner->rdma;
	ev->rdma.event = msg->type;
	ev->rdma.status = msg->status;
	if (owner->rdma.qp_type == IBV_QPT_UD)
		fill_ud(ev, msg);
	else
		fill_conn(ev, msg);
	if (apply(owner, msg, ev) == 0)
		return ev;
dropped:
	free(ev);
	drop(cma, msg);
	if (owner != NULL)
		release_owner(owner);
	return NULL;
}

/* ---- the end of the daemon ---- */

/* An id of the channel that was not told yet. NULL: all were. */
static struct cma_id *take_removed(const struct rdma_event_channel *channel, struct cma *cma)
{
	struct cma_id *found = NULL, *id;

	pthread_mutex_lock(&cma->lock);
	for (uint32_t i = 0; i < cma->ids.n_slots && found == NULL; i++) {
		id = cma->ids.slots[i].object;
		if (id != NULL && id->rdma.channel == channel && !id->removed)
			found = id;
	}
	if (found != NULL) {
		found->removed = true;
		found->events_out++;
	}
	pthread_mutex_unlock(&cma->lock);
	return found;
}

/* With the daemon goes the device: each id hears of it once, and asking again is an error and never a wait. The
 * status is for those who wait for another event. */
static int device_removed(const struct rdma_event_channel *channel, struct cma *cma, struct rdma_cm_event **event)
{
	struct cma_event *ev;
	struct cma_id *id;

	vcl_conn_kill(&cma->conn);
	ev = calloc(1, sizeof(*ev));
	if (ev == NULL)
		return cma_result(-ENOMEM);
	id = take_removed(channel, cma);
	if (id == NULL) {
		free(ev);
		return cma_result(-EIO);
	}
	ev->owner = id;
	ev->rdma.id = &id->rdma;
	ev->rdma.event = RDMA_CM_EVENT_DEVICE_REMOVAL;
	ev->rdma.status = -EIO;
	*event = &ev->rdma;
	return 0;
}

/* ---- to the program ---- */

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct cma *cma = cma_channel(channel)->cma;
	struct vc_cm_event msg;
	struct cma_event *ev;
	int rc;

	do {
		rc = vcl_read_event(channel->fd, cma->conn.fd, &msg, sizeof(msg));
		if (rc <= 0)
			return rc == 0 ? device_removed(channel, cma, event) : -1;
		ev = make_event(cma, &msg);
	} while (ev == NULL);
	*event = &ev->rdma;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct cma_event *ev;

	if (event == NULL)
		return cma_result(-EINVAL);
	ev = container_of(event, struct cma_event, rdma);
	release_owner(ev->owner);
	free(ev);
	return 0;
}

void cma_drain(struct cma_channel *channel)
{
	struct vc_cm_event msg;

	while (recv(channel->rdma.fd, &msg, sizeof(msg), MSG_DONTWAIT) == (ssize_t)sizeof(msg))
		drop(channel->cma, &msg);
}

int cma_complete(struct cma_id *id)
{
	struct rdma_cm_event *event;

	if (!id->sync)
		return 0;
	if (id->rdma.event != NULL)
		rdma_ack_cm_event(id->rdma.event);
	id->rdma.event = NULL;
	if (rdma_get_cm_event(id->rdma.channel, &event) != 0)
		return -1;
	id->rdma.event = event;
	if (event->status == 0)
		return 0;
	/* A refusal's status is the reason on the wire, all others are errors. */
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return cma_result(-ECONNREFUSED);
	return cma_result(event->status < 0 ? event->status : -event->status);
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
		[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
		[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
		[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
		[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
		[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
		[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
		[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
		[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
		[RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
		[RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
		[RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
	};

	return (size_t)event < sizeof(names) / sizeof(names[0]) ? names[event] : "UNKNOWN EVENT";
}
