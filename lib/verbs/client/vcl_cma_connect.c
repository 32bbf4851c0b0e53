/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: asked for, accepted, refused, ended. */
#include <string.h>

#include "vcl_cma.h"

#define MAX_RETRIES 7

static int set_private(struct vc_conn_param *param, const void *data, uint8_t bytes)
{
	if (bytes != 0 && data == NULL)
		return -EINVAL;
	param->private_bytes = bytes;
	if (bytes != 0)
		memcpy(param->private_data, data, bytes);
	return 0;
}

/* RDMA_MAX_* means as much as the device has; more than that is an error. */
static int limit(uint8_t wish, int device_max, uint8_t *out)
{
	uint8_t most = device_max > 255 ? 255 : (uint8_t)device_max;

	if (wish != RDMA_MAX_RESP_RES && wish > most)
		return -EINVAL;
	*out = wish == RDMA_MAX_RESP_RES ? most : wish;
	return 0;
}

static int set_depths(const struct cma_id *id, struct vc_conn_param *param, uint8_t responder, uint8_t initiator)
{
	struct ibv_device_attr attr;
	int err;

	if (id->rdma.verbs == NULL)
		return -EINVAL;
	err = -ibv_query_device(id->rdma.verbs, &attr);
	if (err == 0)
		err = limit(responder, attr.max_qp_rd_atom, &param->responder_resources);
	if (err == 0)
		err = limit(initiator, attr.max_qp_init_rd_atom, &param->initiator_depth);
	return err;
}

static void set_qp(const struct cma_id *id, struct vc_conn_param *param, const struct rdma_conn_param *wish)
{
	param->qp_type = (uint8_t)id->rdma.qp_type;
	param->qkey = id->rdma.qp_type == IBV_QPT_UD ? RDMA_UDP_QKEY : 0;
	if (id->rdma.qp != NULL) {
		param->qpn = id->rdma.qp->qp_num;
		param->srq = id->rdma.qp->srq != NULL;
	} else if (wish != NULL) {
		param->qpn = wish->qp_num;
		param->srq = wish->srq;
	}
}

int rdma_connect(struct rdma_cm_id *rdma, struct rdma_conn_param *wish)
{
	const struct rdma_conn_param most = {.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH, .retry_count = MAX_RETRIES, .rnr_retry_count = MAX_RETRIES};
	const struct rdma_conn_param *p = wish != NULL ? wish : &most;
	struct vc_request req = {.op = VC_CM_CONNECT};
	struct vc_conn_param *param = &req.cm_conn.param;
	struct cma_id *id = cma_id(rdma);
	int err;

	set_qp(id, param, wish);
	param->flow_control = p->flow_control;
	param->retry_count = p->retry_count < MAX_RETRIES ? p->retry_count : MAX_RETRIES;
	param->rnr_retry_count = p->rnr_retry_count < MAX_RETRIES ? p->rnr_retry_count : MAX_RETRIES;
	err = set_depths(id, param, p->responder_resources, p->initiator_depth);
	if (err == 0)
		err = set_private(param, p->private_data, p->private_data_len);
	req.cm_conn.id = id->handle;
	req.cm_conn.cookie = id->cookie;
	if (err == 0)
		err = vcl_call(&id->cma->conn, &req, NULL);
	return err != 0 ? cma_result(err) : cma_complete(id);
}

/* What an accept offers when the program does not say: what was asked for, as far as the device goes. */
static int set_accept_depths(const struct cma_id *id, struct vc_conn_param *param, const struct rdma_conn_param *wish)
{
	uint8_t responder = RDMA_MAX_RESP_RES, initiator = RDMA_MAX_INIT_DEPTH;
	int err;

	if (wish != NULL) {
		responder = wish->responder_resources;
		initiator = wish->initiator_depth;
	}
	err = set_depths(id, param, responder, initiator);
	if (responder == RDMA_MAX_RESP_RES && param->responder_resources > id->responder_resources)
		param->responder_resources = id->responder_resources;
	if (initiator == RDMA_MAX_INIT_DEPTH && param->initiator_depth > id->initiator_depth)
		param->initiator_depth = id->initiator_depth;
	return err;
}

/* Our QP must be able to receive before the peer learns that it may send. */
static int ready_qp(struct cma_id *id, const struct vc_conn_param *param)
{
	int err;

	if (id->rdma.qp == NULL || id->rdma.qp_type == IBV_QPT_UD)
		return 0;
	err = cma_qp_to_rtr(id, param->responder_resources);
	return err != 0 ? err : cma_qp_to_rts(id, param->initiator_depth);
}

int rdma_accept(struct rdma_cm_id *rdma, struct rdma_conn_param *wish)
{
	struct vc_request req = {.op = VC_CM_ACCEPT};
	struct vc_conn_param *param = &req.cm_conn.param;
	struct cma_id *id = cma_id(rdma);
	int err;

	set_qp(id, param, wish);
	err = set_accept_depths(id, param, wish);
	param->rnr_retry_count = MAX_RETRIES;
	if (wish != NULL) {
		param->flow_control = wish->flow_control;
		param->rnr_retry_count = wish->rnr_retry_count < MAX_RETRIES ? wish->rnr_retry_count : MAX_RETRIES;
	}
	if (err == 0 && wish != NULL)
		err = set_private(param, wish->private_data, wish->private_data_len);
	if (err == 0)
		err = ready_qp(id, param);
	if (err != 0)
		return cma_result(err);
	req.cm_conn.id = id->handle;
	req.cm_conn.cookie = id->cookie;
	err = vcl_call(&id->cma->conn, &req, NULL);
	if (err != 0) {
		cma_qp_to_error(id);
		return cma_result(err);
	}
	/* A datagram service answers and that is all; a connection is up when the peer says so. */
	return id->rdma.qp_type == IBV_QPT_UD ? 0 : cma_complete(id);
}

int cma_reject(struct cma_id *id, const void *private_data, uint8_t private_bytes)
{
	struct vc_request req = {.op = VC_CM_REJECT};
	int err;

	req.cm_conn.id = id->handle;
	err = set_private(&req.cm_conn.param, private_data, private_bytes);
	return err != 0 ? err : vcl_call(&id->cma->conn, &req, NULL);
}

int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return cma_result(cma_reject(cma_id(id), private_data, private_data_len));
}

/* Enhanced connection establishment has no options here, so this is a plain refusal. */
int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return rdma_reject(id, private_data, private_data_len);
}

int cma_establish(struct cma_id *id)
{
	return vcl_call_handle(&id->cma->conn, VC_CM_ESTABLISH, id->handle, NULL);
}

/* For programs that move their QPs themselves; with a QP on the id the library does it. */
int rdma_establish(struct rdma_cm_id *id)
{
	return cma_result(id->qp != NULL ? -EINVAL : cma_establish(cma_id(id)));
}

/* The daemon owns the QP and sees the first message by itself: there is nothing to tell it. */
int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	(void)id;
	return cma_result(event == IBV_EVENT_COMM_EST ? 0 : -EINVAL);
}

int rdma_disconnect(struct rdma_cm_id *rdma)
{
	struct cma_id *id = cma_id(rdma);
	int err;

	cma_qp_to_error(id);
	err = vcl_call_handle(&id->cma->conn, VC_CM_DISCONNECT, id->handle, NULL);
	return err != 0 ? cma_result(err) : cma_complete(id);
}

/* ---- enhanced connection establishment: not there ---- */

int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id;
	return cma_result(ece->vendor_id == 0 ? 0 : -EOPNOTSUPP);
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	(void)id;
	*ece = (struct ibv_ece){0};
	return 0;
}
