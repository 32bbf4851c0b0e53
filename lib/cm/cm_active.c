/* SPDX-License-Identifier: BSD-3-Clause */
/* The side that sends REQ (IBTA vol. 1, 12.9.7.1). */
#include "cm_internal.h"

#include <errno.h>

#define LID_NONE     0xffff /* RoCE has no LIDs */
#define PKEY_DEFAULT 0xffff
#define HOP_LIMIT    64
#define QPN_FIRST    2 /* 0 and 1 are the management QPs */
#define QPN_MASK     0xffffffu
#define FLOW_MASK    0xfffffu

/* The longest timeout code that is not more than ms. */
static uint8_t code_of_ms(uint32_t ms)
{
	uint8_t code = 0;

	while (code < 31 && cm_code_ns((uint8_t)(code + 1)) <= ms * CM_MS_NS)
		code++;
	return code;
}

static int check_params(const struct cm_connect_params *params)
{
	uint16_t room = CM_REQ_PRIVATE_BYTES - (params->hello.present ? CM_HELLO_BYTES : 0);

	if (params->private_bytes > room || (params->private_bytes && !params->private_data))
		return -EINVAL;
	if (params->path_mtu < 1 || params->path_mtu > 5 ||
		(params->qp_type > CM_QP_UC && params->qp_type != CM_QP_XRC))
		return -EINVAL;
	if (params->retry_count > 7 || params->rnr_retry_count > 7)
		return -EINVAL;
	if (params->qpn < QPN_FIRST || params->qpn > QPN_MASK || params->starting_psn > QPN_MASK)
		return -EINVAL;
	/* The hello's place is told by the service ID alone. */
	if (params->hello.present != cm_service_has_hello(params->service_id))
		return -EINVAL;
	return 0;
}

static void take_params(struct cm_id *id, const struct cm_connect_params *params)
{
	struct cm_qp_params *qp = &id->qp;

	*qp = (struct cm_qp_params){
		.path = params->path,
		.qp_type = params->qp_type,
		.path_mtu = params->path_mtu,
		.max_rd_atomic = params->initiator_depth,
		.max_dest_rd_atomic = params->responder_resources,
		.ack_timeout = (uint8_t)(id->cm->config.packet_lifetime + 1),
		.retry_count = params->retry_count,
		.local_qpn = params->qpn,
		.rq_psn = params->starting_psn,
	};
	id->tid = cm_tid(id);
	if (!qp->path.hop_limit)
		qp->path.hop_limit = HOP_LIMIT;
	if (!qp->path.flow_label)
		qp->path.flow_label = (uint32_t)cm_mix(id->tid ^ params->qpn) & FLOW_MASK;
	qp->path.flow_label &= FLOW_MASK;
	id->service_id = params->service_id;
	id->max_retries = id->cm->config.max_retries;
	id->was_connected = false;
}

static void fill_req(
	const struct cm_id *id, const struct cm_connect_params *params, struct wire_cm_req *req)
{
	const struct cm_config *config = &id->cm->config;
	const struct cm_path *path = &id->qp.path;

	req->local_comm_id = id->local_id;
	req->service_id = params->service_id;
	req->local_ca_guid = config->ca_guid;
	req->local_qkey = params->qkey;
	req->local_qpn = params->qpn;
	req->starting_psn = params->starting_psn;
	req->pkey = PKEY_DEFAULT;
	req->responder_resources = params->responder_resources;
	req->initiator_depth = params->initiator_depth;
	req->remote_cm_response_timeout = code_of_ms(config->response_timeout_ms);
	req->local_cm_response_timeout = code_of_ms(config->response_timeout_ms);
	req->transport_type = params->qp_type;
	if (params->qp_type == CM_QP_XRC)
		req->extended_transport_type = WIRE_CM_EXTENDED_XRC;
	req->flow_control = params->flow_control & 1;
	req->retry_count = params->retry_count;
	req->rnr_retry_count = params->rnr_retry_count;
	req->path_mtu = params->path_mtu;
	req->max_cm_retries = config->max_retries;
	req->srq = params->srq & 1;
	req->primary.local_lid = LID_NONE;
	req->primary.remote_lid = LID_NONE;
	req->primary.local_gid = path->local;
	req->primary.remote_gid = path->remote;
	req->primary.flow_label = path->flow_label;
	req->primary.traffic_class = path->tos;
	req->primary.hop_limit = path->hop_limit;
	req->primary.local_ack_timeout = id->qp.ack_timeout;
}

int cm_connect(
	struct cm *cm, struct cm_id *id, const struct cm_connect_params *params, uint64_t now_ns)
{
	struct wire_cm_msg msg;

	if (id->state != CM_IDLE || check_params(params))
		return -EINVAL;
	take_params(id, params);
	cm_msg_init(&msg, WIRE_CM_REQ, id->tid);
	fill_req(id, params, &msg.req);
	cm_msg_private(&msg, cm_hello_put(&msg, &params->hello), params->private_data,
		params->private_bytes);
	id->ext = params->ext;
	cm_ext_put(&msg, &id->ext);
	cm_set_state(id, CM_REQ_SENT);
	cm_send_keep(id, &msg);
	cm_start_retries(id, cm->config.response_timeout_ms, now_ns);
	return 0;
}

/* Annex A14: the number of a target queue pair stands where that of an end-to-end context does. */
static uint32_t rep_qpn(const struct cm_id *id, const struct wire_cm_rep *rep)
{
	return id->qp.qp_type == CM_QP_XRC ? rep->local_eecn : rep->local_qpn;
}

/* The peer's "responder resources" bound our "initiator depth" and the other way round. */
static void take_rep(struct cm_id *id, const struct wire_cm_rep *rep)
{
	struct cm_qp_params *qp = &id->qp;

	id->remote_id = rep->local_comm_id;
	id->peer_responder_resources = rep->responder_resources;
	id->peer_initiator_depth = rep->initiator_depth;
	id->peer_flow_control = rep->flow_control;
	qp->max_rd_atomic = cm_min8(qp->max_rd_atomic, rep->responder_resources);
	qp->max_dest_rd_atomic = cm_min8(qp->max_dest_rd_atomic, rep->initiator_depth);
	qp->ack_timeout = cm_ack_timeout(id->cm->config.packet_lifetime, rep->target_ack_delay);
	qp->rnr_retry_count = rep->rnr_retry_count;
	qp->peer_srq = rep->srq;
	qp->remote_qpn = rep_qpn(id, rep);
	qp->sq_psn = rep->starting_psn;
}

/* Our RTU or MRA was lost, or crossed the repeated REP. */
static void duplicate_rep(struct cm_id *id, const struct wire_cm_rep *rep)
{
	struct cm *cm = id->cm;

	if (id->remote_id != rep->local_comm_id || id->passive) {
		cm->stats.rx_unknown_id++;
		return;
	}
	cm->stats.rx_duplicate++;
	if (id->state == CM_REP_RCVD)
		cm_send_mra(id, WIRE_CM_ABOUT_REP);
	else if (id->state == CM_ESTABLISHED)
		cm_send_raw(cm, &id->qp.path, id->mad);
}

/* The peer offers a QP that we still have a connection to: that one is dead (12.9.8.3.1). */
static void rep_stale(struct cm_id *id, struct cm_id *old, uint64_t now_ns)
{
	struct cm_event ev = {.type = CM_EVENT_REJECTED, .reason = CM_REJ_STALE_CONNECTION};

	id->cm->stats.stale++;
	cm_start_disconnect(old, NULL, 0, now_ns);
	cm_set_state(id, CM_REP_RCVD);
	cm_send_rej(id, CM_REJ_STALE_CONNECTION, NULL, 0);
	cm_end(id, &ev);
}

/* The peer waits for an RTU that nobody will send: our REJ or DREQ was lost, or we started anew. */
static void refuse_rep(struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg)
{
	struct wire_cm_msg rej;

	cm->stats.rx_unknown_id++;
	cm->stats.rejects_tx++;
	cm_msg_init(&rej, WIRE_CM_REJ, msg->tid);
	rej.rej.local_comm_id = msg->rep.remote_comm_id;
	rej.rej.remote_comm_id = msg->rep.local_comm_id;
	rej.rej.message_rejected = WIRE_CM_ABOUT_REP;
	rej.rej.reason = CM_REJ_INVALID_COMM_ID;
	cm_send(cm, path, &rej);
}

void cm_rx_rep(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	const struct wire_cm_rep *rep = &msg->rep;
	struct cm_id *id = cm_find_local(cm, path, rep->remote_comm_id);
	struct cm_event ev = {.type = CM_EVENT_CONNECT_RESPONSE};
	uint8_t private_data[WIRE_CM_PRIVATE_MAX];
	struct cm_ext theirs;
	struct cm_id *old;

	if (!id || id->sidr) {
		refuse_rep(cm, path, msg);
		return;
	}
	if (id->state != CM_REQ_SENT) {
		duplicate_rep(id, rep);
		return;
	}
	if (rep_qpn(id, rep) < QPN_FIRST) {
		cm->stats.rx_malformed++;
		return;
	}
	if (cm_find_remote(cm, path, rep->local_comm_id, false)) {
		cm->stats.rx_unexpected++;
		return;
	}
	base_timer_stop(&cm->wheel, &id->timer);
	old = cm_find_qpn(cm, path, rep_qpn(id, rep));
	id->remote_id = rep->local_comm_id;
	if (old) {
		rep_stale(id, old, now_ns);
		return;
	}
	take_rep(id, rep);
	id->params_known = true;
	id->mra_sent = false;
	cm_table_add(id);
	cm_set_state(id, CM_REP_RCVD);
	ev.private_data = msg->private_data;
	ev.private_bytes = msg->private_bytes;
	cm_ext_get(msg, private_data, &ev, &theirs);
	id->qp.ext = cm_ext_common(&id->ext, &theirs);
	cm_raise(id, &ev);
}

int cm_establish(struct cm *cm, struct cm_id *id, const uint8_t *private_data,
	uint16_t private_bytes, uint64_t now_ns)
{
	struct wire_cm_msg msg;

	(void)cm;
	(void)now_ns;
	if (id->state != CM_REP_RCVD || private_bytes > CM_RTU_PRIVATE_BYTES ||
		(private_bytes && !private_data))
		return -EINVAL;
	cm_msg_init(&msg, WIRE_CM_RTU, id->tid);
	msg.rtu.local_comm_id = id->local_id;
	msg.rtu.remote_comm_id = id->remote_id;
	cm_msg_private(&msg, 0, private_data, private_bytes);
	cm_set_state(id, CM_ESTABLISHED);
	cm_send_keep(id, &msg);
	return 0;
}
