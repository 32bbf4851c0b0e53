/* SPDX-License-Identifier: BSD-3-Clause */
/* The side that answers REQ (IBTA vol. 1, 12.9.7.2). */
#include "cm_internal.h"

#include <errno.h>
#include <string.h>

#define PKEY_MASK    0x7fff
#define PKEY_DEFAULT 0x7fff
#define HOP_LIMIT    64
#define QPN_FIRST    2
#define QPN_MASK     0xffffffu

static bool is_xrc(const struct wire_cm_req *req)
{
	return req->transport_type == WIRE_CM_TRANSPORT_EXT &&
	       req->extended_transport_type == WIRE_CM_EXTENDED_XRC;
}

/* Why a REQ cannot be served whoever listens; 0 when it can. The addresses inside must be those it
 * came with, for the data will go to those inside. */
static uint16_t refusal(const struct cm_path *path, const struct wire_cm_req *req)
{
	if (req->transport_type != WIRE_CM_TRANSPORT_RC &&
		req->transport_type != WIRE_CM_TRANSPORT_UC && !is_xrc(req))
		return CM_REJ_INVALID_TRANSPORT;
	if (req->path_mtu < 1 || req->path_mtu > 5)
		return CM_REJ_INVALID_MTU;
	if (memcmp(&req->primary.local_gid, &path->remote, sizeof(path->remote)) ||
		memcmp(&req->primary.remote_gid, &path->local, sizeof(path->local)))
		return CM_REJ_INVALID_GID;
	if (req->local_qpn < QPN_FIRST || (req->pkey & PKEY_MASK) != PKEY_DEFAULT)
		return CM_REJ_UNSUPPORTED;
	return 0;
}

/* Our answer was lost, or the peer cannot wait for it (12.9.8.3). */
static void duplicate_req(
	struct cm_id *id, const struct cm_path *path, const struct wire_cm_msg *msg)
{
	struct cm *cm = id->cm;

	cm->stats.rx_duplicate++;
	if (!cm_same_ends(&id->qp.path, path))
		return;
	switch (id->state) {
	case CM_REQ_RCVD:
		cm_send_mra(id, WIRE_CM_ABOUT_REQ);
		break;
	case CM_REP_SENT:
	case CM_REJ_SENT:
		cm->stats.retransmits++;
		cm_send_raw(cm, &id->qp.path, id->mad);
		break;
	case CM_TIMEWAIT:
		cm->stats.stale++;
		cm_refuse_req(cm, path, msg, CM_REJ_STALE_CONNECTION);
		break;
	default:
		break;
	}
}

static void take_req(struct cm_id *id, const struct cm_path *path, const struct wire_cm_msg *msg)
{
	const struct wire_cm_req *req = &msg->req;
	uint8_t lifetime =
		req->primary.local_ack_timeout ? (uint8_t)(req->primary.local_ack_timeout - 1) : 0;

	id->tid = msg->tid;
	id->remote_id = req->local_comm_id;
	id->max_retries = cm_min8(id->cm->config.max_retries, req->max_cm_retries);
	id->peer_responder_resources = req->responder_resources;
	id->peer_initiator_depth = req->initiator_depth;
	id->peer_flow_control = req->flow_control;
	id->qp = (struct cm_qp_params){
		.path = *path,
		.qp_type = req->transport_type,
		.path_mtu = req->path_mtu,
		.ack_timeout = cm_ack_timeout(lifetime, id->cm->config.target_ack_delay),
		.retry_count = req->retry_count,
		.rnr_retry_count = req->rnr_retry_count,
		.peer_srq = req->srq,
		.remote_qpn = req->local_qpn,
		.sq_psn = req->starting_psn,
	};
	id->qp.path.flow_label = req->primary.flow_label;
	id->qp.path.tos = req->primary.traffic_class;
	id->qp.path.hop_limit = req->primary.hop_limit ? req->primary.hop_limit : HOP_LIMIT;
}

/* The peer has made a new connection with a QP that we still hold one to: it has forgotten the old
 * one (12.9.8.3.1). The new one must wait till the old is out of the way. */
static void req_stale(struct cm_id *old, const struct cm_path *path, const struct wire_cm_msg *msg,
	uint64_t now_ns)
{
	struct cm_event ev = {.type = CM_EVENT_REJECTED, .reason = CM_REJ_STALE_CONNECTION};

	old->cm->stats.stale++;
	cm_refuse_req(old->cm, path, msg, CM_REJ_STALE_CONNECTION);
	if (old->state == CM_REQ_RCVD || old->state == CM_REP_SENT)
		cm_end(old, &ev);
	else
		cm_start_disconnect(old, NULL, 0, now_ns);
}

static void new_req(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	struct cm_event ev = {.type = CM_EVENT_CONNECT_REQUEST};
	struct cm_id *listener = cm_find_listener(cm, path, msg->req.service_id);
	uint8_t private_data[WIRE_CM_PRIVATE_MAX];
	struct cm_id *id;

	if (!listener && cm_wait_for_listener(cm, path, msg, now_ns))
		return;
	if (!listener) {
		cm->stats.no_listener++;
		cm_refuse_req(cm, path, msg, CM_REJ_INVALID_SERVICE_ID);
		return;
	}
	if (cm_hello_get(msg, msg->req.service_id, &ev)) {
		cm->stats.rx_malformed++;
		cm_refuse_req(cm, path, msg, CM_REJ_UNSUPPORTED);
		return;
	}
	id = cm_child_new(listener);
	if (!id) {
		cm_refuse_req(cm, path, msg, CM_REJ_NO_RESOURCES);
		return;
	}
	take_req(id, path, msg);
	cm_ext_get(msg, private_data, &ev, &id->ext);
	id->qp.ext = id->ext;
	cm_table_add(id);
	cm_set_state(id, CM_REQ_RCVD);
	ev.listener = listener;
	cm_raise(id, &ev);
}

void cm_rx_req(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	struct cm_id *id = cm_find_remote(cm, path, msg->req.local_comm_id, false);
	uint16_t reason;

	if (id) {
		duplicate_req(id, path, msg);
		return;
	}
	reason = refusal(path, &msg->req);
	if (reason) {
		cm->stats.rx_malformed++;
		cm_refuse_req(cm, path, msg, reason);
		return;
	}
	id = cm_find_qpn(cm, path, msg->req.local_qpn);
	if (id)
		req_stale(id, path, msg, now_ns);
	else
		new_req(cm, path, msg, now_ns);
}

static void fill_rep(
	const struct cm_id *id, const struct cm_accept_params *params, struct wire_cm_rep *rep)
{
	rep->local_comm_id = id->local_id;
	rep->remote_comm_id = id->remote_id;
	rep->local_qkey = params->qkey;
	if (id->qp.qp_type == CM_QP_XRC)
		rep->local_eecn = params->qpn;
	else
		rep->local_qpn = params->qpn;
	rep->starting_psn = params->starting_psn;
	rep->local_ca_guid = id->cm->config.ca_guid;
	rep->responder_resources = id->qp.max_dest_rd_atomic;
	rep->initiator_depth = id->qp.max_rd_atomic;
	rep->target_ack_delay = id->cm->config.target_ack_delay;
	rep->flow_control = params->flow_control & 1;
	rep->rnr_retry_count = params->rnr_retry_count;
	rep->srq = id->qp.qp_type == CM_QP_XRC || (params->srq & 1) != 0;
}

int cm_accept(
	struct cm *cm, struct cm_id *id, const struct cm_accept_params *params, uint64_t now_ns)
{
	struct wire_cm_msg msg;

	if (id->state != CM_REQ_RCVD || params->private_bytes > CM_REP_PRIVATE_BYTES ||
		(params->private_bytes && !params->private_data))
		return -EINVAL;
	if (params->qpn < QPN_FIRST || params->qpn > QPN_MASK || params->starting_psn > QPN_MASK ||
		params->rnr_retry_count > 7)
		return -EINVAL;
	id->qp.max_rd_atomic = cm_min8(params->initiator_depth, id->peer_responder_resources);
	id->qp.max_dest_rd_atomic = cm_min8(params->responder_resources, id->peer_initiator_depth);
	id->qp.local_qpn = params->qpn;
	id->qp.rq_psn = params->starting_psn;
	id->params_known = true;
	cm_msg_init(&msg, WIRE_CM_REP, id->tid);
	fill_rep(id, params, &msg.rep);
	cm_msg_private(&msg, 0, params->private_data, params->private_bytes);
	id->qp.ext = cm_ext_common(&params->ext, &id->ext);
	cm_ext_put(&msg, &id->qp.ext);
	cm_set_state(id, CM_REP_SENT);
	cm_send_keep(id, &msg);
	cm_start_retries(id, cm->config.response_timeout_ms, now_ns);
	return 0;
}

static void establish(struct cm_id *id, struct cm_event *ev)
{
	base_timer_stop(&id->cm->wheel, &id->timer);
	cm_set_state(id, CM_ESTABLISHED);
	ev->type = CM_EVENT_ESTABLISHED;
	cm_raise(id, ev);
}

void cm_rx_rtu(struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg)
{
	struct cm_id *id = cm_find_local(cm, path, msg->rtu.remote_comm_id);
	struct cm_event ev = {
		.private_data = msg->private_data, .private_bytes = msg->private_bytes};

	if (!id || id->sidr || id->remote_id != msg->rtu.local_comm_id) {
		cm->stats.rx_unknown_id++;
		return;
	}
	if (id->state == CM_REP_SENT) {
		establish(id, &ev);
	} else if (id->state == CM_ESTABLISHED && id->passive) {
		cm->stats.rx_duplicate++;
	} else {
		cm->stats.rx_unexpected++;
		if (id->state == CM_REJ_SENT) /* crossed our REJ, which may have been lost */
			cm_send_raw(cm, &id->qp.path, id->mad);
	}
}

int cm_comm_established(struct cm *cm, struct cm_id *id, uint64_t now_ns)
{
	struct cm_event ev = {0};

	(void)cm;
	(void)now_ns;
	if (id->state == CM_ESTABLISHED)
		return 0;
	if (id->state != CM_REP_SENT)
		return -EINVAL;
	establish(id, &ev);
	return 0;
}
