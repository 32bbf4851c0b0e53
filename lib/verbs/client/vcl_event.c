/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous events of a context. */
#include <string.h>
#include <sys/socket.h>

#include "vcl_ibv.h"

enum element { ELEMENT_PORT, ELEMENT_QP, ELEMENT_CQ, ELEMENT_SRQ, ELEMENT_UNSERVED };

static enum element element_of(uint32_t type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return ELEMENT_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return ELEMENT_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return ELEMENT_SRQ;
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return ELEMENT_PORT;
	default:
		return ELEMENT_UNSERVED;
	}
}

/* Puts the object that a cookie names into an event and counts the event there. */
static bool take_object(struct vcl_context *ctx, enum element element, uint64_t cookie, struct ibv_async_event *event)
{
	void *object;

	pthread_mutex_lock(&ctx->lock);
	object = vcl_table_get(&ctx->cookies, cookie);
	if (object != NULL && element == ELEMENT_QP) {
		((struct vcl_qp *)object)->async_events++;
		event->element.qp = object;
	} else if (object != NULL && element == ELEMENT_SRQ) {
		((struct vcl_srq *)object)->async_events++;
		event->element.srq = object;
	} else if (object != NULL) {
		((struct vcl_cq *)object)->async_events++;
		event->element.cq = object;
	}
	pthread_mutex_unlock(&ctx->lock);
	return object != NULL;
}

/* Fills in an event. False: it names an object that is gone. */
static bool take(struct vcl_context *ctx, const struct vc_async_msg *msg, struct ibv_async_event *event)
{
	enum element element = element_of(msg->type);

	memset(event, 0, sizeof(*event));
	event->event_type = msg->type;
	if (element == ELEMENT_UNSERVED)
		return false;
	if (element != ELEMENT_PORT)
		return take_object(ctx, element, msg->cookie, event);
	event->element.port_num = VCL_PORT;
	return true;
}

/* The daemon's end is closed. The program is told once; asking again is an error and never a wait. */
static int device_fatal(struct vcl_context *ctx, struct ibv_async_event *event)
{
	bool again;

	vcl_conn_kill(&ctx->conn);
	pthread_mutex_lock(&ctx->lock);
	again = ctx->fatal_reported;
	ctx->fatal_reported = true;
	pthread_mutex_unlock(&ctx->lock);
	if (again) {
		errno = EIO;
		return -1;
	}
	memset(event, 0, sizeof(*event));
	event->event_type = IBV_EVENT_DEVICE_FATAL;
	return 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct vcl_context *ctx = vcl_context(context);
	struct vc_async_msg msg;
	int rc;

	do {
		rc = vcl_read_event(context->async_fd, ctx->conn.fd, &msg, sizeof(msg));
		if (rc <= 0)
			return rc == 0 ? device_fatal(ctx, event) : -1;
	} while (!take(ctx, &msg, event));
	return 0;
}

static void ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	++*completed;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_srq *srq = event->element.srq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_cq *cq = event->element.cq;

	switch (element_of(event->event_type)) {
	case ELEMENT_QP:
		ack(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	case ELEMENT_CQ:
		ack(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case ELEMENT_SRQ:
		ack(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	default:
		break;
	}
}
