/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include <pcap/pcap.h>

#include "cm_capture.h"

unsigned int cap_failed;

void cap_check(bool ok, const char *what)
{
	if (ok)
		return;
	cap_failed++;
	printf("  not so: %s\n", what);
}

static int send_mad(void *env, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	struct cap_replay *replay = env;

	(void)path;
	replay->n_sent++;
	cap_check(!wire_cm_decode(mad, CM_MAD_BYTES, &replay->sent), "what the cm sends decodes");
	return 0;
}

static void on_event(void *env, const struct cm_event *ev)
{
	struct cap_replay *replay = env;

	if (replay->n_events < CAP_EVENTS_MAX)
		replay->events[replay->n_events++] = *ev;
}

static const struct cm_ops ops = {.send_mad = send_mad, .event = on_event};

static void note_data(struct cap_replay *replay, const struct wire_addr *src, uint32_t psn)
{
	bool back = memcmp(src, &replay->messages[0].src, sizeof(*src)) != 0;

	if (replay->has_data[back])
		return;
	replay->has_data[back] = true;
	replay->first_psn[back] = psn;
}

static void take_frame(struct cap_replay *replay, const uint8_t *frame, size_t n)
{
	struct cap_message *message = &replay->messages[replay->n];
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
	if (replay->n < CAP_MESSAGES_MAX - 1 &&
		!wire_cm_decode(frame + pkt.payload_off, pkt.payload_bytes, &message->msg))
		replay->n++;
}

bool cap_load(struct cap_replay *replay, const char *file)
{
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_open_offline(file, error);
	struct pcap_pkthdr *hdr;
	const uint8_t *frame;

	if (!pcap) {
		printf("%s: %s\n", file, error);
		return false;
	}
	while (pcap_next_ex(pcap, &hdr, &frame) == 1)
		take_frame(replay, frame, hdr->caplen);
	pcap_close(pcap);
	return replay->n >= 2;
}

void cap_start(struct cap_replay *replay)
{
	struct cm_config config;

	cm_config_default(&config);
	config.max_ids = 16;
	replay->n_sent = 0;
	replay->n_events = 0;
	cap_check(!cm_create(&config, &ops, replay, 0, &replay->cm), "cm_create");
}

void cap_feed(struct cap_replay *replay, const struct cap_message *message, const struct wire_cm_msg *msg)
{
	struct cm_path path = {.dev = replay, .local = message->dst, .remote = message->src};
	uint8_t mad[CM_MAD_BYTES];

	wire_cm_encode(msg, mad);
	cm_rx(replay->cm, &path, mad, sizeof(mad), 0);
}

void cap_compare(const struct wire_cm_msg *ours, const struct wire_cm_msg *theirs, const char *const *skip)
{
	const struct wire_cm_field *fields;
	size_t n;
	size_t i;
	size_t k;

	EQUAL(ours->type, theirs->type);
	if (ours->type != theirs->type)
		return;
	cap_check(!memcmp(ours->private_data, theirs->private_data, sizeof(ours->private_data)),
		"same private data");
	fields = wire_cm_fields(ours->type, &n);
	for (i = 0; i < n; i++) {
		for (k = 0; skip[k] && strcmp(skip[k], fields[i].name) != 0; k++)
			;
		if (skip[k] || fields[i].size_bytes > 8)
			continue;
		cap_check(wire_cm_field_value(ours, &fields[i]) ==
				wire_cm_field_value(theirs, &fields[i]),
			fields[i].name);
	}
}
