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
static int check_qpn(const struct vd_session *session, uint32_t qpn)
{
	const struct vd_session *other;
	const struct vd_qp *qp;
	uint32_t i;

	if (qpn < 2 || qpn > VD_PSN_MASK)
		return -EINVAL;
	TAILQ_FOREACH(other, &session->vd->sessions, link)
	{
		if (other->kind != VD_KIND_VERBS || other->uid == session->uid)
			continue;
		for (i = 0; (qp = vd_table_next(&other->qps, &i)) != NULL;) {
			if (qp->qpn == qpn)
				return -EPERM;
		}
	}
	return 0;
}

static bool is_datagram(const struct vd_cm_id *id)
{
	return id->ps == VC_PS_UDP || id->qp_type == IBV_QPT_UD;
}

/* What all calls with connection parameters check first. */
static int check_conn(
	const struct vd_cm_id *id, const struct vc_conn_param *param, uint32_t max_private)
{
	if (id == NULL || param->private_bytes > max_private)
		return -EINVAL;
	return is_datagram(id) ? -EOPNOTSUPP : 0;
}

static void fill_connect(
	struct vd_cm_id *id, const struct vc_conn_param *param, struct cm_connect_params *out)
{
	struct vd *vd = id->session->vd;
	const struct vd_limits *limits = &vd->limits;

	*out = (struct cm_connect_params){
		.path = {.dev = &vd->devices[id->device], .local = id->src, .remote = id->dst},
		.hello =
			{
				.present = true,
				.ipv6 = id->family == AF_INET6,
				.src = id->src,
				.dst = id->dst,
				.src_port = id->src_port,
				.dst_port = id->dst_port,
			},
		.service_id = cm_service_id(id->ps, id->dst_port),
		.qpn = param->qpn,
		.starting_psn = id->rq_psn,
		.qp_type = CM_QP_RC,
		.responder_resources = at_most(param->responder_resources, limits->max_rd_atomic),
		.initiator_depth = at_most(param->initiator_depth, limits->max_rd_atomic),
		.flow_control = param->flow_control != 0,
		.retry_count = at_most(param->retry_count, 7),
		.rnr_retry_count = at_most(param->rnr_retry_count, 7),
		.srq = param->srq != 0,
		.path_mtu = (uint8_t)vd_device_mtu(&vd->devices[id->device]),
		.private_bytes = (uint16_t)param->private_bytes,
		.private_data = param->private_data,
	};
}

int vd_op_cm_connect(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	const struct vc_conn_param *param = &request->cm_conn.param;
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_conn.id);
	struct vd *vd = session->vd;
	struct cm_connect_params params;
	int err = check_conn(id, param, CM_REQ_PRIVATE_BYTES - CM_HELLO_BYTES);

	(void)answer;
	if (err != 0)
		return err;
	if (id->step != VD_CM_ROUTE_RESOLVED)
		return -EINVAL;
	err = check_qpn(session, param->qpn);
	if (err != 0)
		return err;
	id->cm = cm_id_create(vd->cm->cm, id);
	if (id->cm == NULL)
		return -ENOMEM;
	id->rq_psn = (uint32_t)vd_random(vd) & VD_PSN_MASK;
	fill_connect(id, param, &params);
	id->step = VD_CM_CONNECTION;
	err = cm_connect(vd->cm->cm, id->cm, &params, vd_now(vd));
	if (err != 0) {
		cm_id_destroy(vd->cm->cm, id->cm, vd_now(vd));
		id->cm = NULL;
		id->step = VD_CM_ROUTE_RESOLVED;
	}
	return err;
}

int vd_op_cm_accept(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	const struct vc_conn_param *param = &request->cm_conn.param;
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_conn.id);
	struct vd *vd = session->vd;
	struct cm_accept_params params;
	int err = check_conn(id, param, CM_REP_PRIVATE_BYTES);

	(void)answer;
	if (err != 0)
		return err;
	if (id->step != VD_CM_CONNECTION)
		return -EINVAL;
	err = check_qpn(session, param->qpn);
	if (err != 0)
		return err;
	params = (struct cm_accept_params){
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
	err = cm_accept(vd->cm->cm, id->cm, &params, vd_now(vd));
	if (err != 0)
		return err;
	(void)cm_id_qp_params(id->cm, &id->qp);
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
	int err = check_conn(id, param, CM_REJ_PRIVATE_BYTES);

	(void)answer;
	if (err != 0)
		return err;
	if (id->step != VD_CM_CONNECTION)
		return -EINVAL;
	return cm_reject(vd->cm->cm, id->cm, CM_REJ_CONSUMER, param->private_data,
		(uint16_t)param->private_bytes, vd_now(vd));
}

int vd_op_cm_establish(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = vd_cm_id_get(session, request->object.handle);
	struct vd *vd = session->vd;

	(void)answer;
	if (id == NULL || id->step != VD_CM_CONNECTION)
		return -EINVAL;
	return cm_establish(vd->cm->cm, id->cm, NULL, 0, vd_now(vd));
}

int vd_op_cm_disconnect(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = vd_cm_id_get(session, request->object.handle);
	struct vd *vd = session->vd;

	(void)answer;
	if (id == NULL || id->step != VD_CM_CONNECTION)
		return -EINVAL;
	return cm_disconnect(vd->cm->cm, id->cm, NULL, 0, vd_now(vd));
}

/* ---- what a queue pair needs ---- */

static int gid_index(const struct vd_device *device, const struct wire_addr *addr, uint8_t *index)
{
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
	if (is_datagram(id)) {
		attr->mask |= TP_QP_QKEY;
		attr->qkey = 0x01234567; /* RDMA_UDP_QKEY: of all UDP port space queue pairs */
		return;
	}
	attr->mask |= TP_QP_ACCESS_FLAGS;
	if (!id->qp_known)
		return;
	attr->access = TP_ACCESS_REMOTE_WRITE;
	if (id->qp.max_dest_rd_atomic != 0)
		attr->access |= TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC;
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
	memcpy(attr->av.dgid, qp->path.remote.b, sizeof(attr->av.dgid));
	attr->av.flow_label = qp->path.flow_label;
	attr->av.hop_limit = qp->path.hop_limit;
	attr->av.traffic_class = qp->path.tos;
	return gid_index(device, &qp->path.local, &attr->av.sgid_index);
}

static int rts_attr(const struct vd_cm_id *id, struct vc_qp_attr *attr)
{
	const struct cm_qp_params *qp = &id->qp;

	attr->mask = TP_QP_STATE | TP_QP_SQ_PSN | TP_QP_TIMEOUT | TP_QP_RETRY_CNT |
		     TP_QP_RNR_RETRY | TP_QP_MAX_QP_RD_ATOMIC;
	attr->sq_psn = qp->sq_psn;
	attr->timeout = qp->ack_timeout & 0x1f;
	attr->retry_cnt = qp->retry_count & 7;
	attr->rnr_retry = qp->rnr_retry_count & 7;
	attr->max_rd_atomic = qp->max_rd_atomic;
	return 0;
}

int vd_op_cm_init_qp_attr(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	const struct vd_cm_id *id = vd_cm_id_get(session, request->cm_init_attr.id);
	struct vc_qp_attr *attr = &answer->reply.qp_attr;

	if (id == NULL || !id->has_device)
		return -EINVAL;
	attr->state = request->cm_init_attr.state;
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
