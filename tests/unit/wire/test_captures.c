/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real Soft-RoCE exchanges: every packet parses, its ICRC is right, and what was parsed builds the same
 * bytes again; the same for the CM datagrams inside. Captures of deliberately wrong frames say how many
 * of those they hold. Usage: test_captures [FILE | FILE:WRONG]...
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "wire_cm.h"
#include "wire_frame.h"

struct tally {
	uint64_t pkts;
	uint64_t roce;
	uint64_t mads;
	uint64_t failed;
};

static void fail(struct tally *tally, const char *what)
{
	tally->failed++;
	printf("packet %" PRIu64 ": %s\n", tally->pkts, what);
}

static void check_mad(const uint8_t *mad, size_t n, struct tally *tally)
{
	uint8_t again[WIRE_MAD_BYTES];
	struct wire_cm_msg msg;

	if (n != WIRE_MAD_BYTES || mad[1] != WIRE_MAD_CLASS_CM)
		return;
	tally->mads++;
	if (wire_cm_decode(mad, n, &msg)) {
		fail(tally, "CM message does not decode");
		return;
	}
	wire_cm_encode(&msg, again);
	if (memcmp(again, mad, n))
		fail(tally, "CM message does not encode to the same bytes");
}

static void check_frame(const uint8_t *frame, size_t n, struct tally *tally)
{
	static uint8_t out[65536];
	struct wire_l2l3 net;
	struct wire_pkt pkt;
	struct wire_pkt again;

	tally->pkts++;
	if (wire_parse(frame, n, &pkt) != BASE_DROP_NONE) {
		if (pkt.kind == WIRE_KIND_ROCE_V2)
			fail(tally, "does not parse");
		return;
	}
	if (pkt.kind != WIRE_KIND_ROCE_V2)
		return;
	tally->roce++;
	if (!wire_icrc_ok(frame, &pkt))
		fail(tally, "ICRC is wrong");
	memcpy(net.dmac, frame, 6);
	memcpy(net.smac, frame + 6, 6);
	net.vlan_tci = pkt.vlan_tci;
	net.has_vlan = pkt.has_vlan;
	wire_src(frame, &pkt, &net.src);
	wire_dst(frame, &pkt, &net.dst);
	again = pkt;
	wire_write(out, &net, &again);
	memcpy(out + again.payload_off, frame + pkt.payload_off, pkt.payload_bytes);
	wire_seal(out, &again);
	if (again.frame_bytes != pkt.frame_bytes || memcmp(out, frame, pkt.frame_bytes))
		fail(tally, "does not build to the same bytes");
	if (pkt.dqpn == WIRE_GSI_QPN)
		check_mad(frame + pkt.payload_off, pkt.payload_bytes, tally);
}

static int check_file(char *path)
{
	char *colon = strchr(path, ':');
	uint64_t wrong = colon ? strtoull(colon + 1, NULL, 10) : 0;
	char err[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *hdr;
	struct tally tally = {0};
	const uint8_t *frame;
	pcap_t *pcap;

	if (colon)
		*colon = '\0';
	pcap = pcap_open_offline(path, err);
	if (!pcap) {
		printf("%s: %s\n", path, err);
		return 1;
	}
	while (pcap_next_ex(pcap, &hdr, &frame) == 1) {
		if (hdr->caplen == hdr->len)
			check_frame(frame, hdr->caplen, &tally);
	}
	pcap_close(pcap);
	printf("%s: %" PRIu64 " packets, %" PRIu64 " RoCE, %" PRIu64 " CM, %" PRIu64 " failed\n", path,
		tally.pkts, tally.roce, tally.mads, tally.failed);
	return tally.failed != wrong || !tally.roce;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;
	int i;

	for (i = 1; i < argc; i++)
		failed |= check_file(argv[i]);
	return failed;
}
