/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends of a connection: DREQ and DREP (IBTA vol. 1, 12.9.8.4) and giving an id back. */
#include "cm_internal.h"

#include <errno.h>

void cm_start_disconnect(
	struct cm_id *id, const uint8_t *private_data, uint16_t private_bytes, uint64_t now_ns)
{
	if (id->state != CM_ESTABLISHED)
		return;
	cm_set_state(id, CM_DREQ_SENT);
	cm_send_dreq(id, private_data, private_bytes);
	cm_start_retries(id, id->cm->config.response_timeout_ms, now_ns);
}

int cm_disconnect(struct cm *cm, struct cm_id *id, const uint8_t *private_data,
	uint16_t private_bytes, uint64_t now_ns)
{
	(void)cm;
	if (private_bytes > CM_DREQ_PRIVATE_BYTES || (private_bytes && !private_data))
		return -EINVAL;
	switch (id->state) {
	case CM_ESTABLISHED:
		cm_start_disconnect(id, private_data, private_bytes, now_ns);
		return 0;
	case CM_DREQ_SENT:
	case CM_TIMEWAIT:
		return 0;
	case CM_IDLE:
		return id->was_connected ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

/* Also for connections we know nothing of: the peer wants to be rid of its half. */
static void send_drep(struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *dreq)
{
	struct wire_cm_msg msg;

	cm_msg_init(&msg, WIRE_CM_DREP, dreq->tid);
	msg.drep.local_comm_id = dreq->dreq.remote_comm_id;
	msg.drep.remote_comm_id = dreq->dreq.local_comm_id;
	cm_send(cm, path, &msg);
}

void cm_rx_dreq(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	struct cm_id *id = cm_find_local(cm, path, msg->dreq.remote_comm_id);
	struct cm_event ev = {.type = CM_EVENT_DISCONNECTED};

	if (!id || id->sidr || id->remote_id != msg->dreq.local_comm_id) {
		cm->stats.rx_unknown_id++;
		send_drep(cm, path, msg);
		return;
	}
	if (id->qp.local_qpn != msg->dreq.remote_qpn) {
		cm->stats.rx_malformed++;
		return;
	}
	switch (id->state) {
	case CM_REP_SENT: /* RTU was lost */
	case CM_ESTABLISHED:
	case CM_DREQ_SENT: /* both at once */
		send_drep(cm, &id->qp.path, msg);
		ev.private_data = msg->private_data;
		ev.private_bytes = msg->private_bytes;
		cm_enter_timewait(id, &ev, now_ns);
		return;
	case CM_TIMEWAIT:
	case CM_REJ_SENT: /* our REJ was lost */
		cm->stats.rx_duplicate++;
		send_drep(cm, &id->qp.path, msg);
		return;
	default:
		cm->stats.rx_unexpected++;
		return;
	}
}

void cm_rx_drep(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	struct cm_id *id = cm_find_local(cm, path, msg->drep.remote_comm_id);
	struct cm_event ev = {.type = CM_EVENT_DISCONNECTED};

	if (!id || id->sidr || id->remote_id != msg->drep.local_comm_id) {
		cm->stats.rx_unknown_id++;
		return;
	}
	if (id->state != CM_DREQ_SENT) {
		cm->stats.rx_unexpected++;
		return;
	}
	ev.private_data = msg->private_data;
	ev.private_bytes = msg->private_bytes;
	cm_enter_timewait(id, &ev, now_ns);
}

static void make_orphan(struct cm_id *id)
{
	struct cm *cm = id->cm;

	id->orphan = true;
	id->cookie = NULL;
	cm->stats.orphans++;
	TAILQ_INSERT_TAIL(&cm->orphans, id, queue);
}

/* What the peer of a request that nobody will answer now is told. */
static void refuse_sidr(struct cm *cm, struct cm_id *id, uint64_t now_ns)
{
	struct cm_sidr_rep_params params = {.status = CM_SIDR_REJECT};

	cm_sidr_rep(cm, id, &params, now_ns);
}

void cm_id_destroy(struct cm *cm, struct cm_id *id, uint64_t now_ns)
{
	switch (id->state) {
	case CM_LISTEN:
		cm_unlisten(id);
		break;
	case CM_REQ_SENT:
		cm_send_rej(id, CM_REJ_TIMEOUT, NULL, 0);
		break;
	case CM_REQ_RCVD:
	case CM_REP_SENT:
	case CM_REP_RCVD:
		cm_send_rej(id, CM_REJ_CONSUMER, NULL, 0);
		break;
	case CM_SIDR_REQ_RCVD:
		refuse_sidr(cm, id, now_ns);
		break;
	case CM_ESTABLISHED:
		cm_start_disconnect(id, NULL, 0, now_ns);
		make_orphan(id);
		return;
	case CM_DREQ_SENT:
	case CM_TIMEWAIT:
		make_orphan(id);
		return;
	default:
		break;
	}
	cm_slot_free(id);
}
