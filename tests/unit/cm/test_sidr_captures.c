/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Service ID resolution (IBTA vol. 1, 12.11) with Soft-RoCE, which asks or answers: a cm takes the place of each end in
 * turn. It must understand what Linux sent, and its own messages must not differ from those of the exchange, but for
 * IDs. Usage: test_cm_sidr_captures FILE... Each file holds one exchange, SIDR_REQ and SIDR_REP.
 */
#include <stdio.h>
#include <string.h>

#include "cm_capture.h"

static const char *const own_fields[] = {"request_id", NULL};

/* The cm is asked: Linux's SIDR_REQ comes in. */
static void play_service(struct cap_replay *replay)
{
	const struct cap_message *req = &replay->messages[0];
	const struct cap_message *answer = &replay->messages[1];
	const struct wire_cm_sidr_rep *rep = &answer->msg.sidr_rep;
	struct cm_sidr_rep_params params = {
		.status = rep->status,
		.qpn = rep->qpn,
		.qkey = rep->qkey,
		.private_bytes = CM_SIDR_REP_PRIVATE_BYTES,
		.private_data = answer->msg.private_data,
	};
	const struct cm_event *ev = &replay->events[0];
	struct cm_id *listener;

	cap_start(replay);
	listener = cm_id_create(replay->cm, NULL);
	cap_check(!cm_listen(replay->cm, listener, req->msg.sidr_req.service_id, NULL, NULL, 0), "cm_listen");
	cap_feed(replay, req, &req->msg);
	EQUAL(replay->n_events, 1);
	EQUAL(ev->type, CM_EVENT_SIDR_REQUEST);
	if (cap_failed)
		goto out;
	EQUAL(ev->hello.dst_port, (uint16_t)req->msg.sidr_req.service_id);
	EQUAL(ev->private_bytes, CM_SIDR_REQ_PRIVATE_BYTES - CM_HELLO_BYTES);
	cap_check(!memcmp(&ev->hello.src, &req->src, 16), "hello names the source");
	cap_check(!memcmp(&ev->hello.dst, &req->dst, 16), "hello names the destination");
	cap_check(!cm_sidr_rep(replay->cm, ev->id, &params, 0), "cm_sidr_rep");
	EQUAL(replay->n_sent, 1);
	EQUAL(replay->sent.tid, req->msg.tid);
	EQUAL(replay->sent.sidr_rep.request_id, req->msg.sidr_req.request_id);
	cap_compare(&replay->sent, &answer->msg, own_fields);
out:
	cm_destroy(replay->cm);
}

/* The cm asks: Linux's SIDR_REP comes in. */
static void play_asker(struct cap_replay *replay)
{
	const struct cap_message *req = &replay->messages[0];
	const struct cap_message *answer = &replay->messages[1];
	struct wire_cm_msg msg = answer->msg;
	struct wire_cm_hello hello;
	struct cm_sidr_req_params params = {
		.path = {.dev = replay, .local = req->src, .remote = req->dst},
		.service_id = req->msg.sidr_req.service_id,
		.private_bytes = CM_SIDR_REQ_PRIVATE_BYTES - CM_HELLO_BYTES,
		.private_data = req->msg.private_data + CM_HELLO_BYTES,
	};
	const struct cm_event *ev = &replay->events[0];

	cap_check(!wire_cm_hello_decode(req->msg.private_data, CM_SIDR_REQ_PRIVATE_BYTES, &hello), "hello");
	params.hello = (struct cm_hello){.present = true,
		.ipv6 = hello.ip_version == 6,
		.src = hello.src,
		.dst = hello.dst,
		.src_port = hello.sport};
	cap_start(replay);
	cap_check(!cm_sidr_req(replay->cm, cm_id_create(replay->cm, NULL), &params, 0), "cm_sidr_req");
	cap_compare(&replay->sent, &req->msg, own_fields);
	msg.tid = replay->sent.tid;
	msg.sidr_rep.request_id = replay->sent.sidr_req.request_id;
	cap_feed(replay, answer, &msg);
	EQUAL(replay->n_events, 1);
	EQUAL(ev->type, CM_EVENT_SIDR_RESPONSE);
	EQUAL(ev->reason, answer->msg.sidr_rep.status);
	EQUAL(ev->qpn, answer->msg.sidr_rep.qpn);
	EQUAL(ev->qkey, answer->msg.sidr_rep.qkey);
	cm_destroy(replay->cm);
}

int main(int argc, char **argv)
{
	static struct cap_replay replay;

	for (int i = 1; i < argc; i++) {
		printf("%s\n", argv[i]);
		memset(&replay, 0, sizeof(replay));
		if (!cap_load(&replay, argv[i]) || replay.messages[0].msg.type != WIRE_CM_SIDR_REQ) {
			cap_check(false, "the file holds an exchange");
			continue;
		}
		play_service(&replay);
		play_asker(&replay);
	}
	return cap_failed || argc < 2 ? 1 : 0;
}
