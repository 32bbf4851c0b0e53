/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cm takes the place of one end of real Soft-RoCE exchanges: it must understand what Linux sent,
 * and its own messages must not differ from what Linux sent in its place, but for IDs. Usage:
 * test_cm_captures FILE... Each file holds one exchange from REQ on.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "cm.h"
#include "wire_cm.h"

#define MESSAGES_MAX 32
#define EVENTS_MAX   8
#define EQUAL(a, b)  check((a) == (b), #a " == " #b)

struct message {
	struct wire_addr src;
	struct wire_addr dst;
	struct wire_cm_msg msg;
};

/* One exchange, and a cm that plays one end. */
struct replay {
	struct message messages[MESSAGES_MAX];
	unsigned int n;
	uint32_t first_psn[2]; /* of the data: 0 from the REQ's sender, 1 to it */
	bool has_data[2];
	struct cm *cm;
	struct wire_cm_msg sent;
	unsigned int n_sent;
	struct cm_event events[EVENTS_MAX];
	unsigned int n_events;
};

static unsigned int failed;

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	failed++;
	printf("  not so: %s\n", what);
}

static int send_mad(void *env, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	struct replay *replay = env;

	(void)path;
	replay->n_sent++;
	check(!wire_cm_decode(mad, CM_MAD_BYTES, &replay->sent), "what the cm sends decodes");
	return 0;
}

static void on_event(void *env, const struct cm_event *ev)
{
	struct replay *replay = env;

	if (replay->n_events < EVENTS_MAX)
		replay->events[replay->n_events++] = *ev;
}

static const struct cm_ops ops = {.send_mad = send_mad, .event = on_event};

static void note_data(struct replay *replay, const struct wire_addr *src, uint32_t psn)
{
	bool back = memcmp(src, &replay->messages[0].src, sizeof(*src)) != 0;

	if (replay->has_data[back])
		return;
	replay->has_data[back] = true;
	replay->first_psn[back] = psn;
}

static void take_frame(struct replay *replay, const uint8_t *frame, size_t n)
{
	struct message *message = &replay->messages[replay->n];
	struct wire_pkt pkt;

	if (wire_parse(frame, n, &pkt) != BASE_DROP_NONE || pkt.kind != WIRE_KIND_ROCE_V2)
		return;
	wire_src(frame, &pkt, &message->src);
	wire_dst(frame, &pkt, &message->dst);
	if (pkt.dqpn != WIRE_GSI_QPN) {
		/* Requests only: an answer's PSN is the other side's. */
		if (replay->n && (pkt.opcode <= 0x0c))
			note_data(replay, &message->src, pkt.psn);
		return;
	}
	if (replay->n < MESSAGES_MAX - 1 &&
		!wire_cm_decode(frame + pkt.payload_off, pkt.payload_bytes, &message->msg))
		replay->n++;
}

static int load(struct replay *replay, const char *file)
{
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_open_offline(file, error);
	struct pcap_pkthdr *hdr;
	const uint8_t *frame;

	if (!pcap) {
		printf("%s: %s\n", file, error);
		return -1;
	}
	while (pcap_next_ex(pcap, &hdr, &frame) == 1)
		take_frame(replay, frame, hdr->caplen);
	pcap_close(pcap);
	return replay->n >= 2 && replay->messages[0].msg.type == WIRE_CM_REQ ? 0 : -1;
}

static void start(struct replay *replay)
{
	struct cm_config config;

	cm_config_default(&config);
	config.max_ids = 16;
	replay->n_sent = 0;
	replay->n_events = 0;
	check(!cm_create(&config, &ops, replay, 0, &replay->cm), "cm_create");
}

static void feed(
	struct replay *replay, const struct message *message, const struct wire_cm_msg *msg)
{
	struct cm_path path = {.dev = replay, .local = message->dst, .remote = message->src};
	uint8_t mad[CM_MAD_BYTES];

	wire_cm_encode(msg, mad);
	cm_rx(replay->cm, &path, mad, sizeof(mad), 0);
}

/* Fields that two implementations must agree on, by the table of names. */
static void compare(
	const struct wire_cm_msg *ours, const struct wire_cm_msg *theirs, const char *const *skip)
{
	const struct wire_cm_field *fields;
	size_t n;
	size_t i;
	size_t k;

	EQUAL(ours->type, theirs->type);
	if (ours->type != theirs->type)
		return;
	check(!memcmp(ours->private_data, theirs->private_data, sizeof(ours->private_data)),
		"same private data");
	fields = wire_cm_fields(ours->type, &n);
	for (i = 0; i < n; i++) {
		for (k = 0; skip[k] && strcmp(skip[k], fields[i].name) != 0; k++)
			;
		if (skip[k] || fields[i].size_bytes > 8)
			continue;
		check(wire_cm_field_value(ours, &fields[i]) ==
				wire_cm_field_value(theirs, &fields[i]),
			fields[i].name);
	}
}

static const char *const own_fields[] = {"local_comm_id", "remote_comm_id", "local_ca_guid", NULL};
/* Linux computes the local ACK timeout by its version and device. */
static const char *const own_req_fields[] = {
	"local_comm_id", "local_ca_guid", "primary.local_ack_timeout", NULL};

/* The cm is the passive side: Linux's REQ, RTU and DREQ come in. */
static void play_passive(struct replay *replay)
{
	const struct message *req = &replay->messages[0];
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

	start(replay);
	listener = cm_id_create(replay->cm, NULL);
	check(!cm_listen(replay->cm, listener, theirs->service_id, NULL, NULL, 0), "cm_listen");
	feed(replay, req, &req->msg);
	EQUAL(replay->n_events, 1);
	EQUAL(replay->events[0].type, CM_EVENT_CONNECT_REQUEST);
	if (failed)
		goto out;
	id = replay->events[0].id;
	EQUAL(replay->events[0].private_bytes, 56);
	EQUAL(replay->events[0].hello.dst_port, (uint16_t)theirs->service_id);
	check(!memcmp(&replay->events[0].hello.src, &req->src, 16), "hello names the source");
	check(!memcmp(&replay->events[0].hello.dst, &req->dst, 16), "hello names the destination");
	EQUAL(replay->events[0].qp.remote_qpn, theirs->local_qpn);
	check(!cm_accept(replay->cm, id, &accept, 0), "cm_accept");
	compare(&replay->sent, &replay->messages[1].msg, own_fields);
	EQUAL(replay->sent.tid, req->msg.tid);
	check(!cm_id_qp_params(id, &qp), "cm_id_qp_params");
	/* What Linux sends first has the PSN it was told, what it gets first the one it told. */
	EQUAL(!replay->has_data[0] || qp.rq_psn == replay->first_psn[0], true);
	EQUAL(!replay->has_data[1] || qp.sq_psn == replay->first_psn[1], true);
	EQUAL(qp.path_mtu, theirs->path_mtu);
	EQUAL(qp.path.flow_label, theirs->primary.flow_label);
	msg = replay->messages[2].msg;
	EQUAL(msg.type, WIRE_CM_RTU);
	msg.rtu.remote_comm_id = replay->sent.rep.local_comm_id;
	feed(replay, &replay->messages[2], &msg);
	EQUAL(cm_id_state(id), CM_ESTABLISHED);
	cm_disconnect(replay->cm, id, NULL, 0, 0);
	EQUAL(replay->sent.type, WIRE_CM_DREQ);
	EQUAL(replay->sent.dreq.remote_qpn, theirs->local_qpn);
out:
	cm_destroy(replay->cm);
}

static void connect_as(struct replay *replay, struct cm_id *id)
{
	const struct message *req = &replay->messages[0];
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

	check(!wire_cm_hello_decode(req->msg.private_data, CM_REQ_PRIVATE_BYTES, &hello), "hello");
	params.hello = (struct cm_hello){.present = true,
		.ipv6 = hello.ip_version == 6,
		.src = hello.src,
		.dst = hello.dst,
		.src_port = hello.sport};
	check(!cm_connect(replay->cm, id, &params, 0), "cm_connect");
	compare(&replay->sent, &req->msg, own_req_fields);
}

/* The cm is the active side: Linux's REP or REJ, and DREP come in. */
static void play_active(struct replay *replay)
{
	const struct message *answer = &replay->messages[1];
	struct wire_cm_msg msg = answer->msg;
	struct cm_id *id;

	start(replay);
	id = cm_id_create(replay->cm, NULL);
	connect_as(replay, id);
	msg.ids.remote_comm_id = replay->sent.req.local_comm_id;
	feed(replay, answer, &msg);
	EQUAL(replay->n_events, 1);
	if (msg.type == WIRE_CM_REJ) {
		EQUAL(replay->events[0].type, CM_EVENT_REJECTED);
		EQUAL(replay->events[0].reason, CM_REJ_INVALID_SERVICE_ID);
		goto out;
	}
	EQUAL(replay->events[0].type, CM_EVENT_CONNECT_RESPONSE);
	EQUAL(replay->events[0].qp.remote_qpn, msg.rep.local_qpn);
	EQUAL(replay->events[0].qp.sq_psn, msg.rep.starting_psn);
	check(!cm_establish(replay->cm, id, NULL, 0, 0), "cm_establish");
	compare(&replay->sent, &replay->messages[2].msg, own_fields);
out:
	cm_destroy(replay->cm);
}

int main(int argc, char **argv)
{
	static struct replay replay;
	int i;

	for (i = 1; i < argc; i++) {
		printf("%s\n", argv[i]);
		memset(&replay, 0, sizeof(replay));
		if (load(&replay, argv[i])) {
			check(false, "the file holds an exchange");
			continue;
		}
		if (replay.messages[1].msg.type == WIRE_CM_REP)
			play_passive(&replay);
		play_active(&replay);
	}
	return failed || argc < 2 ? 1 : 0;
}
