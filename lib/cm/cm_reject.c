/* SPDX-License-Identifier: BSD-3-Clause */
/* REJ (IBTA vol. 1, 12.6.7) and MRA (12.6.6): no, and not yet. */
#include "cm_internal.h"

#include <errno.h>

#define MRA_TIMEOUT_BITS 31
#define MRA_TIMEOUT_MAX  26 /* 275 s: what a peer may make us wait for one answer */

/* A passive id keeps its REJ, for the peer repeats the REQ when that is lost. Its QP is free at
 * once. */
static void enter_rejected(struct cm_id *id)
{
	base_timer_stop(&id->cm->wheel, &id->timer);
	cm_table_remove_qpn(id);
	cm_set_state(id, CM_REJ_SENT);
}

int cm_reject(struct cm *cm, struct cm_id *id, uint16_t reason, const uint8_t *private_data,
	uint16_t private_bytes, uint64_t now_ns)
{
	(void)cm;
	(void)now_ns;
	if (private_bytes > CM_REJ_PRIVATE_BYTES || (private_bytes && !private_data))
		return -EINVAL;
	switch (id->state) {
	case CM_REQ_RCVD:
	case CM_REP_SENT:
		cm_send_rej(id, reason, private_data, private_bytes);
		enter_rejected(id);
		return 0;
	case CM_REP_RCVD:
		cm_send_rej(id, reason, private_data, private_bytes);
		cm_reset(id);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Who a REJ is for. A peer that had no answer to its REQ knows its own communication ID only. */
static struct cm_id *rejected_id(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_rej *rej)
{
	struct cm_id *id;

	if (rej->reason == CM_REJ_TIMEOUT && !rej->remote_comm_id) {
		id = cm_find_remote(cm, path, rej->local_comm_id, false);
		return id && cm_same_ends(&id->qp.path, path) ? id : NULL;
	}
	id = cm_find_local(cm, path, rej->remote_comm_id);
	if (!id || id->sidr)
		return NULL;
	/* In REQ_SENT the peer's ID is not known yet; after that it must be right when it is there.
	 */
	if (id->state != CM_REQ_SENT && rej->local_comm_id && rej->local_comm_id != id->remote_id)
		return NULL;
	return id;
}

void cm_rx_rej(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	const struct wire_cm_rej *rej = &msg->rej;
	struct cm_id *id = rejected_id(cm, path, rej);
	struct cm_event ev = {
		.type = CM_EVENT_REJECTED,
		.reason = rej->reason,
		.ari = rej->ari,
		.ari_bytes = rej->rejected_info_length,
		.private_data = msg->private_data,
		.private_bytes = msg->private_bytes,
	};

	if (ev.ari_bytes > WIRE_CM_ARI_BYTES)
		ev.ari_bytes = WIRE_CM_ARI_BYTES;
	if (!id) {
		cm->stats.rx_unknown_id++;
		return;
	}
	switch (id->state) {
	case CM_REQ_SENT:
	case CM_REQ_RCVD:
	case CM_REP_SENT:
	case CM_REP_RCVD:
		cm->stats.rejects_rx++;
		cm_end(id, &ev);
		return;
	case CM_ESTABLISHED: /* the peer has no such connection (any more) */
	case CM_DREQ_SENT:
		cm->stats.rejects_rx++;
		ev.type = CM_EVENT_DISCONNECTED;
		cm_enter_timewait(id, &ev, now_ns);
		return;
	default:
		cm->stats.rx_unexpected++;
		return;
	}
}

int cm_mra(struct cm *cm, struct cm_id *id, uint8_t service_timeout, uint64_t now_ns)
{
	(void)cm;
	(void)now_ns;
	if (service_timeout > MRA_TIMEOUT_BITS)
		return -EINVAL;
	if (id->state != CM_REQ_RCVD && id->state != CM_REP_RCVD)
		return -EINVAL;
	id->mra_timeout = service_timeout;
	cm_send_mra(id, id->state == CM_REQ_RCVD ? WIRE_CM_ABOUT_REQ : WIRE_CM_ABOUT_REP);
	return 0;
}

/* The peer lives, but needs its service timeout, and then the time an answer takes anyway. */
void cm_rx_mra(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	const struct wire_cm_mra *mra = &msg->mra;
	struct cm_id *id = cm_find_local(cm, path, mra->remote_comm_id);
	uint8_t code =
		mra->service_timeout < MRA_TIMEOUT_MAX ? mra->service_timeout : MRA_TIMEOUT_MAX;

	if (!id || id->sidr || (id->state != CM_REQ_SENT && id->remote_id != mra->local_comm_id)) {
		cm->stats.rx_unknown_id++;
		return;
	}
	if (!(id->state == CM_REQ_SENT && mra->message_mraed == WIRE_CM_ABOUT_REQ) &&
		!(id->state == CM_REP_SENT && mra->message_mraed == WIRE_CM_ABOUT_REP)) {
		cm->stats.rx_unexpected++;
		return;
	}
	base_timer_start(
		&cm->wheel, &id->timer, now_ns + cm_code_ns(code) + id->timeout_ms * CM_MS_NS);
}
