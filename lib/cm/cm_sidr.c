/* SPDX-License-Identifier: BSD-3-Clause */
/* Service ID resolution: asking for the QP of a UD service (IBTA vol. 1, 12.11). */
#include "cm_internal.h"

#include <errno.h>

#define PKEY_DEFAULT 0xffff
#define HOP_LIMIT    64
#define QPN_MASK     0xffffffu

int cm_sidr_req(
	struct cm *cm, struct cm_id *id, const struct cm_sidr_req_params *params, uint64_t now_ns)
{
	uint16_t room = CM_SIDR_REQ_PRIVATE_BYTES - (params->hello.present ? CM_HELLO_BYTES : 0);
	struct wire_cm_msg msg;

	if (id->state != CM_IDLE || params->private_bytes > room ||
		(params->private_bytes && !params->private_data) ||
		params->hello.present != cm_service_has_hello(params->service_id))
		return -EINVAL;
	id->qp = (struct cm_qp_params){.path = params->path};
	if (!id->qp.path.hop_limit)
		id->qp.path.hop_limit = HOP_LIMIT;
	id->sidr = true;
	id->was_connected = false;
	id->service_id = params->service_id;
	id->tid = cm_tid(id);
	id->max_retries = cm->config.max_retries;
	cm_msg_init(&msg, WIRE_CM_SIDR_REQ, id->tid);
	msg.sidr_req.request_id = id->local_id;
	msg.sidr_req.pkey = PKEY_DEFAULT;
	msg.sidr_req.service_id = params->service_id;
	cm_msg_private(&msg, cm_hello_put(&msg, &params->hello), params->private_data,
		params->private_bytes);
	cm_set_state(id, CM_SIDR_REQ_SENT);
	cm_send_keep(id, &msg);
	cm_start_retries(id, cm->config.sidr_timeout_ms, now_ns);
	return 0;
}

void cm_rx_sidr_rep(struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg)
{
	const struct wire_cm_sidr_rep *rep = &msg->sidr_rep;
	struct cm_id *id = cm_find_local(cm, path, rep->request_id);
	struct cm_event ev = {
		.type = CM_EVENT_SIDR_RESPONSE,
		.reason = rep->status,
		.qpn = rep->qpn,
		.qkey = rep->qkey,
		.private_data = msg->private_data,
		.private_bytes = msg->private_bytes,
	};

	if (!id || id->state != CM_SIDR_REQ_SENT) {
		cm->stats.rx_unknown_id++;
		return;
	}
	cm_end(id, &ev);
}

/* Answers a request for which there is no id. */
static void refuse(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *req, uint8_t status)
{
	struct wire_cm_msg msg;

	cm_msg_init(&msg, WIRE_CM_SIDR_REP, req->tid);
	msg.sidr_rep.request_id = req->sidr_req.request_id;
	msg.sidr_rep.status = status;
	msg.sidr_rep.service_id = req->sidr_req.service_id;
	cm_send(cm, path, &msg);
}

static void new_request(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	const struct wire_cm_sidr_req *req = &msg->sidr_req;
	struct cm_event ev = {.type = CM_EVENT_SIDR_REQUEST};
	struct cm_id *listener = cm_find_listener(cm, path, req->service_id);
	struct cm_id *id;

	if (!listener && cm_wait_for_listener(cm, path, msg, now_ns))
		return;
	if (!listener) {
		cm->stats.no_listener++;
		refuse(cm, path, msg, CM_SIDR_UNSUPPORTED);
		return;
	}
	if (cm_hello_get(msg, req->service_id, &ev)) {
		cm->stats.rx_malformed++;
		refuse(cm, path, msg, CM_SIDR_BAD_VERSION);
		return;
	}
	id = cm_child_new(listener);
	if (!id) {
		refuse(cm, path, msg, CM_SIDR_REJECT);
		return;
	}
	id->sidr = true;
	id->tid = msg->tid;
	id->remote_id = req->request_id;
	id->qp = (struct cm_qp_params){.path = *path};
	if (!id->qp.path.hop_limit)
		id->qp.path.hop_limit = HOP_LIMIT;
	cm_table_add(id);
	cm_set_state(id, CM_SIDR_REQ_RCVD);
	ev.listener = listener;
	cm_raise(id, &ev);
}

void cm_rx_sidr_req(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	struct cm_id *id = cm_find_remote(cm, path, msg->sidr_req.request_id, true);

	if (!id) {
		new_request(cm, path, msg, now_ns);
		return;
	}
	cm->stats.rx_duplicate++;
	if (id->state != CM_SIDR_REP_SENT || !cm_same_ends(&id->qp.path, path))
		return;
	cm->stats.retransmits++;
	cm_send_raw(cm, &id->qp.path, id->mad);
}

int cm_sidr_rep(
	struct cm *cm, struct cm_id *id, const struct cm_sidr_rep_params *params, uint64_t now_ns)
{
	struct wire_cm_msg msg;

	(void)cm;
	(void)now_ns;
	if (id->state != CM_SIDR_REQ_RCVD || params->private_bytes > CM_SIDR_REP_PRIVATE_BYTES ||
		(params->private_bytes && !params->private_data) || params->qpn > QPN_MASK)
		return -EINVAL;
	cm_msg_init(&msg, WIRE_CM_SIDR_REP, id->tid);
	msg.sidr_rep.request_id = id->remote_id;
	msg.sidr_rep.status = params->status;
	msg.sidr_rep.qpn = params->qpn;
	msg.sidr_rep.qkey = params->qkey;
	msg.sidr_rep.service_id = id->service_id;
	cm_msg_private(&msg, 0, params->private_data, params->private_bytes);
	cm_set_state(id, CM_SIDR_REP_SENT);
	cm_send_keep(id, &msg);
	return 0;
}
