/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs of ids: made with their completion queues, moved along with the connection. */
#include <rdma/rdma_verbs.h>
#include <stdlib.h>
#include <string.h>

#include "vcl_cma.h"

/* ---- states ---- */

static void fill_attr(const struct cma_id *id, const struct vc_qp_attr *in, struct ibv_qp_attr *out)
{
	memset(out, 0, sizeof(*out));
	out->qp_state = in->state;
	out->cur_qp_state = in->cur_state;
	out->path_mtu = in->path_mtu;
	out->qkey = in->qkey;
	out->rq_psn = in->rq_psn;
	out->sq_psn = in->sq_psn;
	out->dest_qp_num = in->dest_qpn;
	out->qp_access_flags = in->access;
	out->pkey_index = in->pkey_index;
	out->max_rd_atomic = in->max_rd_atomic;
	out->max_dest_rd_atomic = in->max_dest_rd_atomic;
	out->min_rnr_timer = in->min_rnr_timer;
	out->port_num = in->port;
	out->timeout = id->has_ack_timeout ? id->ack_timeout : in->timeout;
	out->retry_cnt = in->retry_cnt;
	out->rnr_retry = in->rnr_retry;
	memcpy(out->ah_attr.grh.dgid.raw, in->av.dgid, sizeof(in->av.dgid));
	out->ah_attr.grh.flow_label = in->av.flow_label;
	out->ah_attr.grh.sgid_index = in->av.sgid_index;
	out->ah_attr.grh.hop_limit = in->av.hop_limit;
	out->ah_attr.grh.traffic_class = id->has_tos ? id->tos : in->av.traffic_class;
	out->ah_attr.sl = in->av.sl;
	out->ah_attr.is_global = 1;
	out->ah_attr.port_num = 1;
}

static int init_attr(struct cma_id *id, enum ibv_qp_state state, struct ibv_qp_attr *attr, int *mask)
{
	struct vc_request req = {.op = VC_CM_INIT_QP_ATTR};
	struct vc_reply reply;
	int err;

	req.cm_init_attr.id = id->handle;
	req.cm_init_attr.state = state;
	err = vcl_call(&id->cma->conn, &req, &reply);
	if (err != 0)
		return err;
	fill_attr(id, &reply.qp_attr, attr);
	attr->qp_state = state;
	*mask = (int)(reply.qp_attr.mask | IBV_QP_STATE);
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr, int *qp_attr_mask)
{
	return cma_result(init_attr(cma_id(id), qp_attr->qp_state, qp_attr, qp_attr_mask));
}

static int enter_init(struct cma_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;
	int mask, err;

	err = init_attr(id, IBV_QPS_INIT, &attr, &mask);
	return err != 0 ? err : -ibv_modify_qp(qp, &attr, mask);
}

int cma_qp_to_rtr(struct cma_id *id, uint8_t responder_resources)
{
	struct ibv_qp_attr attr;
	int mask, err;

	/* Again: only now is known whether the peer may read, so the access flags may have grown. */
	err = enter_init(id, id->rdma.qp);
	if (err == 0)
		err = init_attr(id, IBV_QPS_RTR, &attr, &mask);
	if (err != 0)
		return err;
	if (responder_resources != RDMA_MAX_RESP_RES)
		attr.max_dest_rd_atomic = responder_resources;
	return -ibv_modify_qp(id->rdma.qp, &attr, mask);
}

int cma_qp_to_rts(struct cma_id *id, uint8_t initiator_depth)
{
	struct ibv_qp_attr attr;
	int mask, err;

	err = init_attr(id, IBV_QPS_RTS, &attr, &mask);
	if (err != 0)
		return err;
	if (initiator_depth != RDMA_MAX_INIT_DEPTH)
		attr.max_rd_atomic = initiator_depth;
	return -ibv_modify_qp(id->rdma.qp, &attr, mask);
}

void cma_qp_to_error(struct cma_id *id)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (id->rdma.qp != NULL)
		(void)ibv_modify_qp(id->rdma.qp, &attr, IBV_QP_STATE);
}

/* A connected QP waits in INIT for the connection; a datagram QP can send at once. */
static int first_states(struct cma_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;
	int err = enter_init(id, qp);

	if (err != 0 || id->rdma.qp_type != IBV_QPT_UD)
		return err;
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_RTR;
	err = -ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0;
	return err != 0 ? err : -ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* ---- completion queues that come with a QP ---- */

static int make_cq(struct rdma_cm_id *id, uint32_t depth, struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	*channel = ibv_create_comp_channel(id->verbs);
	if (*channel == NULL)
		return -errno;
	*cq = ibv_create_cq(id->verbs, depth != 0 ? (int)depth : 1, id, *channel, 0);
	return *cq == NULL ? -errno : 0;
}

static void drop_cq(struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	if (*cq != NULL)
		(void)ibv_destroy_cq(*cq);
	if (*channel != NULL)
		(void)ibv_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
}

/* Those of the queue pair: an XRC target's id has one for its shared receive queue. */
static void drop_cqs(struct rdma_cm_id *id)
{
	if (id->qp_type != IBV_QPT_XRC_RECV)
		drop_cq(&id->recv_cq_channel, &id->recv_cq);
	drop_cq(&id->send_cq_channel, &id->send_cq);
}

static int make_cqs(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	int err = 0;

	/* An XRC target has none: a shared receive queue has that of the messages. */
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return 0;
	if (attr->recv_cq == NULL && attr->qp_type != IBV_QPT_XRC_SEND) {
		err = make_cq(id, attr->cap.max_recv_wr, &id->recv_cq_channel, &id->recv_cq);
		attr->recv_cq = id->recv_cq;
	}
	if (err == 0 && attr->send_cq == NULL) {
		err = make_cq(id, attr->cap.max_send_wr, &id->send_cq_channel, &id->send_cq);
		attr->send_cq = id->send_cq;
	}
	return err;
}

/* ---- made and destroyed ---- */

static int choose_xrcd(struct cma_id *id, struct ibv_qp_init_attr_ex *attr)
{
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0 || attr->xrcd == NULL) {
		attr->xrcd = cma_default_xrcd(id->cma, id->rdma.verbs);
		attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
		if (attr->xrcd == NULL)
			return -errno;
	}
	return attr->xrcd->context == id->rdma.verbs ? 0 : -EINVAL;
}

static int choose_pd(struct cma_id *id, struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return choose_xrcd(id, attr);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr->pd == NULL) {
		attr->pd = cma_default_pd(id->cma, id->rdma.verbs);
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		if (attr->pd == NULL)
			return -errno;
	}
	return attr->pd->context == id->rdma.verbs ? 0 : -EINVAL;
}

static int create_qp(struct cma_id *id, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_cq *send_cq = attr->send_cq, *recv_cq = attr->recv_cq;
	struct ibv_qp *qp;
	int err;

	if (id->rdma.verbs == NULL || id->rdma.qp != NULL)
		return -EINVAL;
	err = choose_pd(id, attr);
	if (err != 0)
		return err;
	if (attr->srq == NULL && attr->qp_type != IBV_QPT_XRC_RECV && attr->qp_type != IBV_QPT_XRC_SEND)
		attr->srq = id->rdma.srq;
	err = make_cqs(&id->rdma, attr);
	if (err != 0)
		goto drop;
	qp = ibv_create_qp_ex(id->rdma.verbs, attr);
	if (qp == NULL) {
		err = -errno;
		goto drop;
	}
	err = first_states(id, qp);
	if (err != 0) {
		(void)ibv_destroy_qp(qp);
		goto drop;
	}
	id->rdma.qp = qp;
	if (attr->qp_type != IBV_QPT_XRC_RECV)
		id->rdma.pd = attr->pd;
	return 0;
drop:
	drop_cqs(&id->rdma);
	attr->send_cq = send_cq;
	attr->recv_cq = recv_cq;
	return err;
}

int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr)
{
	return cma_result(create_qp(cma_id(id), qp_init_attr));
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
{
	struct ibv_qp_init_attr_ex ex = {0};
	int err;

	memcpy(&ex, qp_init_attr, sizeof(*qp_init_attr));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	err = create_qp(cma_id(id), &ex);
	if (err == 0)
		memcpy(qp_init_attr, &ex, sizeof(*qp_init_attr));
	return cma_result(err);
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	cma_detach_joins(cma_id(id));
	if (id->qp != NULL)
		(void)ibv_destroy_qp(id->qp);
	id->qp = NULL;
	drop_cqs(id);
}

/* ---- shared receive queues ---- */

/* Of the id's own: a completion queue for the messages, unless there is one. */
static int choose_xrc_parts(struct cma_id *id, struct ibv_srq_init_attr_ex *attr)
{
	struct rdma_cm_id *rdma = &id->rdma;
	int err;

	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) == 0 || attr->xrcd == NULL) {
		attr->xrcd = cma_default_xrcd(id->cma, rdma->verbs);
		if (attr->xrcd == NULL)
			return -errno;
	}
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) == 0 || attr->cq == NULL) {
		err = 0;
		if (rdma->recv_cq == NULL)
			err = make_cq(rdma, attr->attr.max_wr, &rdma->recv_cq_channel, &rdma->recv_cq);
		if (err != 0) {
			drop_cq(&rdma->recv_cq_channel, &rdma->recv_cq);
			return err;
		}
		attr->cq = rdma->recv_cq;
	}
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	return 0;
}

static int create_srq(struct cma_id *id, struct ibv_srq_init_attr_ex *attr)
{
	struct rdma_cm_id *rdma = &id->rdma;
	bool had_cq = rdma->recv_cq != NULL;
	struct ibv_srq *srq;
	int err;

	if (rdma->verbs == NULL || rdma->srq != NULL)
		return -EINVAL;
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attr->pd == NULL) {
		attr->pd = rdma->pd != NULL ? rdma->pd : cma_default_pd(id->cma, rdma->verbs);
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		if (attr->pd == NULL)
			return -errno;
	}
	if (attr->pd->context != rdma->verbs)
		return -EINVAL;
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 && attr->srq_type == IBV_SRQT_XRC) {
		err = choose_xrc_parts(id, attr);
		if (err != 0)
			return err;
	}
	srq = ibv_create_srq_ex(rdma->verbs, attr);
	if (srq == NULL) {
		err = -errno;
		if (!had_cq)
			drop_cq(&rdma->recv_cq_channel, &rdma->recv_cq);
		return err;
	}
	rdma->srq = srq;
	rdma->pd = attr->pd;
	return 0;
}

int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	return cma_result(create_srq(cma_id(id), attr));
}

/* Of an id's device; queue pairs made on the id use it unless they name another. */
int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.pd = pd,
	};
	int err;

	err = create_srq(cma_id(id), &ex);
	attr->attr = ex.attr;
	return cma_result(err);
}

void rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (id->srq != NULL)
		(void)ibv_destroy_srq(id->srq);
	id->srq = NULL;
	if (id->qp_type == IBV_QPT_XRC_RECV)
		drop_cq(&id->recv_cq_channel, &id->recv_cq);
}
