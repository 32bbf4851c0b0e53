/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending: what all messages have in common, and those that more than one part sends. */
#include "cm_internal.h"

#include <string.h>

#define GUID_BYTES 8

uint64_t cm_tid(const struct cm_id *id)
{
	return cm_mix(id->cm->key ^ id->index) << 32 | id->local_id;
}

void cm_msg_init(struct wire_cm_msg *msg, enum wire_cm_type type, uint64_t tid)
{
	memset(msg, 0, sizeof(*msg));
	msg->type = type;
	msg->tid = tid;
}

void cm_msg_private(struct wire_cm_msg *msg, size_t offset, const uint8_t *data, uint16_t n)
{
	if (n)
		memcpy(msg->private_data + offset, data, n);
	msg->private_bytes = (uint16_t)(offset + n);
}

int cm_send_raw(struct cm *cm, const struct cm_path *path, const uint8_t *mad)
{
	int ret = cm->ops->send_mad(cm->env, path, mad);

	if (ret < 0)
		cm->stats.tx_errors++;
	else
		cm->stats.tx_mads++;
	return ret;
}

void cm_send(struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg)
{
	uint8_t mad[CM_MAD_BYTES];

	wire_cm_encode(msg, mad);
	cm_send_raw(cm, path, mad);
}

void cm_send_keep(struct cm_id *id, const struct wire_cm_msg *msg)
{
	wire_cm_encode(msg, id->mad);
	cm_send_raw(id->cm, &id->qp.path, id->mad);
}

void cm_send_mra(struct cm_id *id, uint8_t about)
{
	struct wire_cm_msg msg;

	cm_msg_init(&msg, WIRE_CM_MRA, id->tid);
	msg.mra.local_comm_id = id->local_id;
	msg.mra.remote_comm_id = id->remote_id;
	msg.mra.message_mraed = about & 3;
	msg.mra.service_timeout = id->mra_timeout;
	id->mra_sent = true;
	cm_send(id->cm, &id->qp.path, &msg);
}

void cm_refuse_req(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint16_t reason)
{
	struct wire_cm_msg rej;

	cm_msg_init(&rej, WIRE_CM_REJ, msg->tid);
	rej.rej.remote_comm_id = msg->req.local_comm_id;
	rej.rej.message_rejected = WIRE_CM_ABOUT_REQ;
	rej.rej.reason = reason;
	cm->stats.rejects_tx++;
	cm_send(cm, path, &rej);
}

static uint8_t about_of(const struct cm_id *id)
{
	switch (id->state) {
	case CM_REQ_RCVD:
		return WIRE_CM_ABOUT_REQ;
	case CM_REP_RCVD:
		return WIRE_CM_ABOUT_REP;
	default:
		return WIRE_CM_ABOUT_OTHER;
	}
}

/* A peer that waited for an answer in vain may not know our communication ID by its message alone,
 * so a time-out names our GUID too (IBTA vol. 1, table 12.6.7.2, code 4). */
static void put_guid(struct wire_cm_rej *rej, uint64_t guid)
{
	unsigned int i;

	for (i = 0; i < GUID_BYTES; i++)
		rej->ari[i] = (uint8_t)(guid >> (56 - 8 * i));
	rej->rejected_info_length = GUID_BYTES;
}

void cm_send_rej(
	struct cm_id *id, uint16_t reason, const uint8_t *private_data, uint16_t private_bytes)
{
	struct wire_cm_msg msg;

	cm_msg_init(&msg, WIRE_CM_REJ, id->tid);
	/* The peer has not heard of our ID before the first message with it. */
	if (id->state != CM_REQ_RCVD || id->mra_sent)
		msg.rej.local_comm_id = id->local_id;
	msg.rej.remote_comm_id = id->remote_id;
	msg.rej.message_rejected = about_of(id);
	msg.rej.reason = reason;
	if (reason == CM_REJ_TIMEOUT)
		put_guid(&msg.rej, id->cm->config.ca_guid);
	cm_msg_private(&msg, 0, private_data, private_bytes);
	id->cm->stats.rejects_tx++;
	cm_send_keep(id, &msg);
}

void cm_send_dreq(struct cm_id *id, const uint8_t *private_data, uint16_t private_bytes)
{
	struct wire_cm_msg msg;

	cm_msg_init(&msg, WIRE_CM_DREQ, cm_tid(id));
	msg.dreq.local_comm_id = id->local_id;
	msg.dreq.remote_comm_id = id->remote_id;
	msg.dreq.remote_qpn = id->qp.remote_qpn;
	cm_msg_private(&msg, 0, private_data, private_bytes);
	cm_send_keep(id, &msg);
}
