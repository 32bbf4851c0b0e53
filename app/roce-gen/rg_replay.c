/* SPDX-License-Identifier: BSD-3-Clause */
#include "rg_replay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <pcap/pcap.h>

#define LOOP_GAP_NS 1000u /* from the last frame of a file to its first again */

static uint64_t time_of(const struct pcap_pkthdr *hdr)
{
	/* opened with nanoseconds: tv_usec has them */
	return (uint64_t)hdr->ts.tv_sec * 1000000000u + (uint64_t)hdr->ts.tv_usec;
}

/* Reads ahead by one frame. */
static void step(struct rg_replay *r)
{
	struct pcap_pkthdr *hdr;
	const uint8_t *data;
	int rc = pcap_next_ex(r->pcap, &hdr, &data);
	uint64_t at_ns;

	if (rc != 1) {
		r->next = NULL;
		r->broken |= rc == PCAP_ERROR;
		return;
	}
	at_ns = time_of(hdr);
	if (r->first_ns == 0)
		r->first_ns = at_ns;
	at_ns = r->loop_ns + (at_ns > r->first_ns ? at_ns - r->first_ns : 0);
	/* clocks step back, a replay does not */
	if (at_ns > r->next_at_ns)
		r->next_at_ns = at_ns;
	r->cut += hdr->caplen < hdr->len;
	r->next = data;
	r->next_bytes = hdr->caplen;
}

static int open_file(struct rg_replay *r, char *msg, uint32_t n)
{
	char err[PCAP_ERRBUF_SIZE] = "";

	r->pcap = pcap_open_offline_with_tstamp_precision(r->path, PCAP_TSTAMP_PRECISION_NANO, err);
	if (r->pcap == NULL) {
		snprintf(msg, n, "%s: %s", r->path, err);
		return -EINVAL;
	}
	if (pcap_datalink(r->pcap) != DLT_EN10MB) {
		snprintf(msg, n, "%s: its frames are not Ethernet's", r->path);
		return -EINVAL;
	}
	step(r);
	if (r->next != NULL && !r->broken)
		return 0;
	snprintf(msg, n, "%s: there is no frame in it", r->path);
	return -ENODATA;
}

int rg_replay_open(struct rg_replay *replay, const char *path, bool loop, char *msg, uint32_t n)
{
	int rc;

	*replay = (struct rg_replay){.path = path, .loop = loop};
	rc = open_file(replay, msg, n);
	if (rc != 0)
		rg_replay_close(replay);
	return rc;
}

void rg_replay_close(struct rg_replay *replay)
{
	if (replay->pcap != NULL)
		pcap_close(replay->pcap);
	replay->pcap = NULL;
	replay->next = NULL;
}

/* From the start again; a file that has changed meanwhile ends the replay. */
static void rewind_file(struct rg_replay *r)
{
	char msg[PCAP_ERRBUF_SIZE];

	r->loop_ns = r->next_at_ns + LOOP_GAP_NS;
	r->first_ns = 0;
	pcap_close(r->pcap);
	r->pcap = NULL;
	if (open_file(r, msg, sizeof(msg)) != 0)
		rg_replay_close(r);
}

uint32_t rg_replay_take(struct rg_replay *replay, uint8_t *frame, uint32_t room)
{
	uint32_t bytes = replay->next_bytes < room ? replay->next_bytes : room;

	if (replay->next == NULL)
		return 0;
	memcpy(frame, replay->next, bytes);
	step(replay);
	if (replay->next == NULL && replay->loop && !replay->broken)
		rewind_file(replay);
	return bytes;
}
