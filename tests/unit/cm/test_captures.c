/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cm takes the place of one end of real Soft-RoCE exchanges: it must understand what Linux sent,
 * and its own messages must not differ from what Linux sent in its place, but for IDs. Usage:
 * test_cm_captures FILE... Each file holds one exchange from REQ on.
 */
#include <stdio.h>
#include <string.h>

#include "cm_capture.h"

static const char *const own_fields[] = {"local_comm_id", "remote_comm_id", "local_ca_guid", NULL};
/* Linux computes the local ACK timeout by its version and device. */
static const char *const own_req_fields[] = {
	"local_comm_id", "local_ca_guid", "primary.local_ack_timeout", NULL};

/* The cm is the passive side: Linux's REQ, RTU and DREQ come in. */
static void play_passive(struct cap_replay *replay)
{
	const struct cap_message *req = &replay->messages[0];
	const struct wire_cm_req *theirs = &req->msg.req;
	const struct wire_cm_rep *rep = &replay->messages[1].msg.rep;
	struct cm_accept_params accept = {
		.qpn = rep->local_qpn,
		.starting_psn = rep->starting_psn,
		.responder_resources = rep->responder_resources,
		.initiator_depth = rep->initiator_depth,
		.flow_control = rep->flow_control,
		.rnr_retry_count = rep->rnr_retry_count,
		.srq = rep->srq,
		.private_bytes = CM_REP_PRIVATE_BYTES,
		.private_data = replay->messages[1].msg.private_data,
	};
	struct cm_qp_params qp;
	struct wire_cm_msg msg;
	struct cm_id *listener;
	struct cm_id *id;

	cap_start(replay);
	listener = cm_id_create(replay->cm, NULL);
	cap_check(!cm_listen(replay->cm, listener, theirs->service_id, NULL, NULL, 0), "cm_listen");
	cap_feed(replay, req, &req->msg);
	EQUAL(replay->n_events, 1);
	EQUAL(replay->events[0].type, CM_EVENT_CONNECT_REQUEST);
	if (cap_failed)
		goto out;
	id = replay->events[0].id;
	EQUAL(replay->events[0].private_bytes, 56);
	EQUAL(replay->events[0].hello.dst_port, (uint16_t)theirs->service_id);
	cap_check(!memcmp(&replay->events[0].hello.src, &req->src, 16), "hello names the source");
	cap_check(!memcmp(&replay->events[0].hello.dst, &req->dst, 16), "hello names the destination");
	EQUAL(replay->events[0].qp.remote_qpn, theirs->local_qpn);
	cap_check(!cm_accept(replay->cm, id, &accept, 0), "cm_accept");
	cap_compare(&replay->sent, &replay->messages[1].msg, own_fields);
	EQUAL(replay->sent.tid, req->msg.tid);
	cap_check(!cm_id_qp_params(id, &qp), "cm_id_qp_params");
	/* What Linux sends first has the PSN it was told, what it gets first the one it told. */
	EQUAL(!replay->has_data[0] || qp.rq_psn == replay->first_psn[0], true);
	EQUAL(!replay->has_data[1] || qp.sq_psn == replay->first_psn[1], true);
	EQUAL(qp.path_mtu, theirs->path_mtu);
	EQUAL(qp.path.flow_label, theirs->primary.flow_label);
	msg = replay->messages[2].msg;
	EQUAL(msg.type, WIRE_CM_RTU);
	msg.rtu.remote_comm_id = replay->sent.rep.local_comm_id;
	cap_feed(replay, &replay->messages[2], &msg);
	EQUAL(cm_id_state(id), CM_ESTABLISHED);
	cm_disconnect(replay->cm, id, NULL, 0, 0);
	EQUAL(replay->sent.type, WIRE_CM_DREQ);
	EQUAL(replay->sent.dreq.remote_qpn, theirs->local_qpn);
out:
	cm_destroy(replay->cm);
}

static void connect_as(struct cap_replay *replay, struct cm_id *id)
{
	const struct cap_message *req = &replay->messages[0];
	const struct wire_cm_req *theirs = &req->msg.req;
	struct wire_cm_hello hello;
	struct cm_connect_params params = {
		.path = {.dev = replay,
			.local = req->src,
			.remote = req->dst,
			.flow_label = theirs->primary.flow_label},
		.service_id = theirs->service_id,
		.qpn = theirs->local_qpn,
		.starting_psn = theirs->starting_psn,
		.qkey = theirs->local_qkey,
		.responder_resources = theirs->responder_resources,
		.initiator_depth = theirs->initiator_depth,
		.flow_control = theirs->flow_control,
		.retry_count = theirs->retry_count,
		.rnr_retry_count = theirs->rnr_retry_count,
		.srq = theirs->srq,
		.path_mtu = theirs->path_mtu,
		.private_bytes = CM_REQ_PRIVATE_BYTES - CM_HELLO_BYTES,
		.private_data = req->msg.private_data + CM_HELLO_BYTES,
	};

	cap_check(!wire_cm_hello_decode(req->msg.private_data, CM_REQ_PRIVATE_BYTES, &hello), "hello");
	params.hello = (struct cm_hello){.present = true,
		.ipv6 = hello.ip_version == 6,
		.src = hello.src,
		.dst = hello.dst,
		.src_port = hello.sport};
	cap_check(!cm_connect(replay->cm, id, &params, 0), "cm_connect");
	cap_compare(&replay->sent, &req->msg, own_req_fields);
}

/* The cm is the active side: Linux's REP or REJ, and DREP come in. */
static void play_active(struct cap_replay *replay)
{
	const struct cap_message *answer = &replay->messages[1];
	struct wire_cm_msg msg = answer->msg;
	struct cm_id *id;

	cap_start(replay);
	id = cm_id_create(replay->cm, NULL);
	connect_as(replay, id);
	msg.ids.remote_comm_id = replay->sent.req.local_comm_id;
	cap_feed(replay, answer, &msg);
	EQUAL(replay->n_events, 1);
	if (msg.type == WIRE_CM_REJ) {
		EQUAL(replay->events[0].type, CM_EVENT_REJECTED);
		EQUAL(replay->events[0].reason, CM_REJ_INVALID_SERVICE_ID);
		goto out;
	}
	EQUAL(replay->events[0].type, CM_EVENT_CONNECT_RESPONSE);
	EQUAL(replay->events[0].qp.remote_qpn, msg.rep.local_qpn);
	EQUAL(replay->events[0].qp.sq_psn, msg.rep.starting_psn);
	cap_check(!cm_establish(replay->cm, id, NULL, 0, 0), "cm_establish");
	cap_compare(&replay->sent, &replay->messages[2].msg, own_fields);
out:
	cm_destroy(replay->cm);
}

int main(int argc, char **argv)
{
	static struct cap_replay replay;
	int i;

	for (i = 1; i < argc; i++) {
		printf("%s\n", argv[i]);
		memset(&replay, 0, sizeof(replay));
		if (!cap_load(&replay, argv[i]) || replay.messages[0].msg.type != WIRE_CM_REQ) {
			cap_check(false, "the file holds an exchange");
			continue;
		}
		if (replay.messages[1].msg.type == WIRE_CM_REP)
			play_passive(&replay);
		play_active(&replay);
	}
	return cap_failed || argc < 2 ? 1 : 0;
}
