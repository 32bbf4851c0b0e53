/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of clients' ids: connect, accept, reject, establish, disconnect, and what their queue
 * pairs need. */
#include <sys/socket.h>

#include "vd_cm.h"

static uint8_t at_most(uint32_t value, uint32_t most)
{
	return (uint8_t)(value < most ? value : most);
}

/* A queue pair number that is somebody else's would make peers talk to the wrong program. */
static int check_qpn(const struct vd_session *session, uint32_t qpn, struct vd_qp **qp)
{
	return qpn < 2 || qpn > VD_PSN_MASK ? -EINVAL : vd_qp_by_number(session, qpn, qp);
}

/* What all calls with connection parameters check first; the private data of a datagram service goes
 * in another message. */
static int check_conn(const struct vd_cm_id *id, const struct vc_conn_param *param,
	uint32_t most_connected, uint32_t most_datagram)
{
	if (id == NULL)
		return -EINVAL;
	return param->private_bytes > (vd_cm_is_datagram(id) ? most_datagram : most_connected)
		       ? -EINVAL
		       : 0;
}

static void fill_path(struct vd_cm_id *id, struct cm_path *path, struct cm_hello *hello)
{
	*path = (struct cm_path){.dev = &id->session->vd->devices[id->device],
		.local = id->src,
		.remote = id->dst};
	*hello = (struct cm_hello){
		.present = true,
		.ipv6 = id->family == AF_INET6,
		.src = id->src,
		.dst = id->dst,
		.src_port = id->src_port,
		.dst_port = id->dst_port,
	};
}

static enum cm_qp_type service_of(uint32_t qp_type)
{
	if (qp_type == IBV_QPT_XRC_SEND)
		return CM_QP_XRC;
	return qp_type == IBV_QPT_UC ? CM_QP_UC : CM_QP_RC;
}

static void fill_connect(
	struct vd_cm_id *id, const struct vc_conn_param *param, struct cm_connect_params *out)
{
	struct vd *vd = id->session->vd;
	const struct vd_limits *limits = &vd->limits;

	*out = (struct cm_connect_params){
		.service_id = cm_service_id(id->ps, id->dst_port),
		.qpn = param->qpn,
		.starting_psn = id->rq_psn,
		.qp_type = service_of(id->qp_type),
		.responder_resources = id->qp_type == IBV_QPT_XRC_SEND
			? 0 : at_most(param->responder_resources, limits->max_rd_atomic),
		.initiator_depth = at_most(param->initiator_depth, limits->max_rd_atomic),
		.flow_control = param->flow_control != 0,
		.retry_count = at_most(param->retry_count, 7),
		.rnr_retry_count = at_most(param->rnr_retry_count, 7),
		.srq = param->srq != 0,
		.path_mtu = (uint8_t)vd_device_mtu(&vd->devices[id->device]),
		.private_bytes = (uint16_t)param->private_bytes,
		.private_data = param->private_data,
	};
	fill_path(id, &out->path, &out->hello);
}

/* Asks for the queue pair of a datagram service; the answer is all there is to a connection. */
static int ask_datagram(struct vd_cm_id *id, const struct vc_conn_param *param)
{
	struct vd *vd = id->session->vd;
	struct cm_sidr_req_params params = {
		.service_id = cm_service_id(id->ps, id->dst_port),
		.private_bytes = (uint16_t)param->private_bytes,
		.private_data = param->private_data,
	};

	fill_path(id, &params.path, &params.hello);
	return cm_sidr_req(vd->cm->cm, id->cm, &params, vd_now(vd));
}

static int ask_connection(struct vd_cm_id *id, const struct vc_conn_param *param, const struct vd_qp *qp)
{
	struct vd *vd = id->session->vd;
	struct cm_connect_params params;

	id->rq_psn = (uint32_t)vd_random(vd) & VD_PSN_MASK;
	fill_connect(id, param, &params);
	params.ext = vd_multipath_offer(qp, &params.path.remote);
	if (params.ext.flags != 0)
		vd->stats.multipath_offered++;
	return cm_connect(vd->cm->cm, id->cm, &params, vd_now(vd));
}

int vd_op_cm_connect(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	const struct vc_conn_param *param = &request->cm_conn.param;
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_conn.id);
	struct vd *vd = session->vd;
	struct vd_qp *qp = NULL;
	int err = check_conn(id, param, CM_REQ_PRIVATE_BYTES - CM_HELLO_BYTES,
		CM_SIDR_REQ_PRIVATE_BYTES - CM_HELLO_BYTES);

	(void)answer;
	if (err != 0)
		return err;
	if (id->step != VD_CM_ROUTE_RESOLVED)
		return -EINVAL;
	/* A datagram queue pair's number is not told before somebody hears from it. */
	err = vd_cm_is_datagram(id) ? 0 : check_qpn(session, param->qpn, &qp);
	if (err != 0)
		return err;
	id->cm = cm_id_create(vd->cm->cm, id);
	if (id->cm == NULL)
		return -ENOMEM;
	id->step = VD_CM_CONNECTION;
	err = vd_cm_is_datagram(id) ? ask_datagram(id, param) : ask_connection(id, param, qp);
	if (err != 0) {
		cm_id_destroy(vd->cm->cm, id->cm, vd_now(vd));
		id->cm = NULL;
		id->step = VD_CM_ROUTE_RESOLVED;
	}
	return err;
}

static int answer_datagram(
	struct vd_cm_id *id, const struct vc_conn_param *param, enum cm_sidr_status status)
{
	struct vd *vd = id->session->vd;
	const struct cm_sidr_rep_params params = {
		.status = (uint8_t)status,
		.qpn = status == CM_SIDR_OK ? param->qpn : 0,
		.qkey = status != CM_SIDR_OK ? 0 : param->qkey != 0 ? param->qkey : VD_CM_UDP_QKEY,
		.private_bytes = (uint16_t)param->private_bytes,
		.private_data = param->private_data,
	};

	return cm_sidr_rep(vd->cm->cm, id->cm, &params, vd_now(vd));
}

static int accept_connection(struct vd_cm_id *id, const struct vc_conn_param *param, struct vd_qp *qp)
{
	struct vd *vd = id->session->vd;
	struct cm_accept_params params = {
		.qpn = param->qpn,
		.starting_psn = id->rq_psn,
		.responder_resources =
			at_most(param->responder_resources, vd->limits.max_rd_atomic),
		.initiator_depth = at_most(param->initiator_depth, vd->limits.max_rd_atomic),
		.flow_control = param->flow_control != 0,
		.rnr_retry_count = at_most(param->rnr_retry_count, 7),
		.srq = param->srq != 0,
		.private_bytes = (uint16_t)param->private_bytes,
		.private_data = param->private_data,
	};
	int err;

	/* The queue pair is up; what is said is what it does. */
	if (qp != NULL && qp->ext_on)
		params.ext = vd_multipath_offer(qp, &id->qp.path.remote);
	err = cm_accept(vd->cm->cm, id->cm, &params, vd_now(vd));
	if (err != 0)
		return err;
	(void)cm_id_qp_params(id->cm, &id->qp);
	if (qp != NULL && id->qp.ext.flags == 0)
		vd_multipath_leave(qp);
	return 0;
}

int vd_op_cm_accept(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	const struct vc_conn_param *param = &request->cm_conn.param;
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_conn.id);
	struct vd_qp *qp;
	int err = check_conn(id, param, CM_REP_PRIVATE_BYTES, CM_SIDR_REP_PRIVATE_BYTES);

	(void)answer;
	if (err != 0)
		return err;
	if (id->step != VD_CM_CONNECTION)
		return -EINVAL;
	err = check_qpn(session, param->qpn, &qp);
	if (err != 0)
		return err;
	err = vd_cm_is_datagram(id) ? answer_datagram(id, param, CM_SIDR_OK)
				    : accept_connection(id, param, qp);
	if (err != 0)
		return err;
	if (request->cm_conn.cookie != 0)
		id->cookie = request->cm_conn.cookie;
	id->has_owner = true;
	return 0;
}

int vd_op_cm_reject(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	const struct vc_conn_param *param = &request->cm_conn.param;
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_conn.id);
	struct vd *vd = session->vd;
	int err = check_conn(id, param, CM_REJ_PRIVATE_BYTES, CM_SIDR_REP_PRIVATE_BYTES);

	(void)answer;
	if (err != 0)
		return err;
	if (id->step != VD_CM_CONNECTION)
		return -EINVAL;
	if (vd_cm_is_datagram(id))
		return answer_datagram(id, param, CM_SIDR_REJECT);
	return cm_reject(vd->cm->cm, id->cm, CM_REJ_CONSUMER, param->private_data,
		(uint16_t)param->private_bytes, vd_now(vd));
}

/* The id a request names, if it has or gets a connection. */
static struct vd_cm_id *connection_of(struct vd_session *session, const struct vc_request *request)
{
	struct vd_cm_id *id = vd_cm_id_get(session, request->object.handle);

	return id != NULL && id->step == VD_CM_CONNECTION ? id : NULL;
}

int vd_op_cm_establish(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = connection_of(session, request);
	struct vd *vd = session->vd;
	struct vd_qp *qp;
	int err;

	(void)answer;
	if (id == NULL)
		return -EINVAL;
	err = cm_establish(vd->cm->cm, id->cm, NULL, 0, vd_now(vd));
	if (err == 0 && vd_qp_by_number(session, id->qp.local_qpn, &qp) == 0)
		vd_multipath_check(id, qp);
	return err;
}

int vd_op_cm_disconnect(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = connection_of(session, request);
	struct vd *vd = session->vd;

	(void)answer;
	if (id == NULL)
		return -EINVAL;
	return cm_disconnect(vd->cm->cm, id->cm, NULL, 0, vd_now(vd));
}

/* ---- what a queue pair needs ---- */

int vd_cm_gid_index(const struct vd_cm_id *id, const struct wire_addr *addr, uint8_t *index)
{
	const struct vd_device *device = &id->session->vd->devices[id->device];

	for (uint32_t i = 0; i < device->n_gids; i++) {
		if (!vd_addr_equal(&device->gids[i].addr, addr))
			continue;
		*index = (uint8_t)i;
		return 0;
	}
	return -EADDRNOTAVAIL;
}

static void init_attr(const struct vd_cm_id *id, struct vc_qp_attr *attr)
{
	attr->mask = TP_QP_STATE | TP_QP_PKEY_INDEX | TP_QP_PORT;
	attr->port = 1;
	if (vd_cm_is_datagram(id)) {
		attr->mask |= TP_QP_QKEY;
		attr->qkey = VD_CM_UDP_QKEY;
		return;
	}
	attr->mask |= TP_QP_ACCESS_FLAGS;
	if (!id->qp_known)
		return;
	attr->access = TP_ACCESS_REMOTE_WRITE;
	if (id->qp.max_dest_rd_atomic != 0)
		attr->access |= TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC;
}

int vd_cm_fill_av(const struct vd_cm_id *id, struct vc_av *av)
{
	const struct cm_path *path = &id->qp.path;

	memcpy(av->dgid, path->remote.b, sizeof(av->dgid));
	av->flow_label = path->flow_label;
	av->hop_limit = path->hop_limit;
	av->traffic_class = path->tos;
	return vd_cm_gid_index(id, &path->local, &av->sgid_index);
}

static int rtr_attr(const struct vd_cm_id *id, struct vc_qp_attr *attr)
{
	const struct vd_device *device = &id->session->vd->devices[id->device];
	const struct cm_qp_params *qp = &id->qp;
	uint8_t mtu = (uint8_t)vd_device_mtu(device);

	attr->mask = TP_QP_STATE | TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN |
		     TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER;
	attr->path_mtu = qp->path_mtu < mtu ? qp->path_mtu : mtu;
	attr->dest_qpn = qp->remote_qpn;
	attr->rq_psn = qp->rq_psn;
	attr->max_dest_rd_atomic = qp->max_dest_rd_atomic;
	/* A queue pair without responder needs neither. */
	if (qp->qp_type == CM_QP_UC || id->qp_type == IBV_QPT_XRC_SEND)
		attr->mask &= ~(uint32_t)(TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER);
	return vd_cm_fill_av(id, &attr->av);
}

static int rts_attr(const struct vd_cm_id *id, struct vc_qp_attr *attr)
{
	const struct cm_qp_params *qp = &id->qp;

	attr->mask = TP_QP_STATE | TP_QP_SQ_PSN;
	if (id->qp_type == IBV_QPT_XRC_RECV)
		attr->mask |= TP_QP_TIMEOUT;
	else if (qp->qp_type != CM_QP_UC)
		attr->mask |= TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY |
			      TP_QP_MAX_QP_RD_ATOMIC;
	attr->sq_psn = qp->sq_psn;
	attr->timeout = qp->ack_timeout & 0x1f;
	attr->retry_cnt = qp->retry_count & 7;
	attr->rnr_retry = qp->rnr_retry_count & 7;
	attr->max_rd_atomic = qp->max_rd_atomic;
	return 0;
}

/* A datagram queue pair needs no peer to get ready. */
static int datagram_attr(const struct vd_cm_id *id, struct vc_qp_attr *attr)
{
	switch (attr->state) {
	case TP_QPS_INIT:
		init_attr(id, attr);
		return 0;
	case TP_QPS_RTR:
		attr->mask = TP_QP_STATE;
		return 0;
	case TP_QPS_RTS:
		attr->mask = TP_QP_STATE | TP_QP_SQ_PSN;
		return 0;
	default:
		return -EINVAL;
	}
}

int vd_op_cm_init_qp_attr(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	const struct vd_cm_id *id = vd_cm_id_get(session, request->cm_init_attr.id);
	struct vc_qp_attr *attr = &answer->reply.qp_attr;

	if (id == NULL || !id->has_device)
		return -EINVAL;
	attr->state = request->cm_init_attr.state;
	if (vd_cm_is_datagram(id))
		return datagram_attr(id, attr);
	switch (request->cm_init_attr.state) {
	case TP_QPS_INIT:
		init_attr(id, attr);
		return 0;
	case TP_QPS_RTR:
		return id->qp_known ? rtr_attr(id, attr) : -EINVAL;
	case TP_QPS_RTS:
		return id->qp_known ? rts_attr(id, attr) : -EINVAL;
	default:
		return -EINVAL;
	}
}
