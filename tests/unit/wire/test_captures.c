/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real Soft-RoCE exchanges: every packet parses, its ICRC is right, and what was parsed builds the same
 * bytes again; the same for the CM datagrams inside. Some captures hold frames that are wrong on purpose;
 * which ones, and what the parser must say of them, is given: nothing else may be wrong.
 *
 * usage: test_captures DIRECTORY [FILE:NUMBER=REASON[,NUMBER=REASON...]]...
 *
 * REASON is a drop reason's counter name, for example "tver" or "icrc".
 */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "wire_arp_nd.h"
#include "wire_cm.h"
#include "wire_frame.h"
#include "wire_icrc.h"

#define MAX_OPEN_DIRS 8
#define IP_CM_PREFIX  1

struct tally {
	uint64_t pkts;
	uint64_t roce;
	uint64_t mads;
	uint64_t wrong; /* as expected */
	uint64_t failed;
};

/* nftw() has no argument for its callback. */
static struct {
	char **wrong_specs;
	int n_wrong_specs;
	unsigned int files;
	struct tally total;
} run;

static void fail(struct tally *tally, const char *what)
{
	tally->failed++;
	printf("packet %" PRIu64 ": %s\n", tally->pkts, what);
}

/* Annex A11: the hello is the first 36 bytes of the private data of an IP CM REQ. */
static void check_hello(const struct wire_cm_msg *msg, struct tally *tally)
{
	uint8_t again[WIRE_CM_HELLO_BYTES];
	struct wire_cm_hello hello;
	uint64_t service_id;

	if (msg->type != WIRE_CM_REQ && msg->type != WIRE_CM_SIDR_REQ)
		return;
	service_id = msg->type == WIRE_CM_REQ ? msg->req.service_id : msg->sidr_req.service_id;
	if (service_id >> 24 != IP_CM_PREFIX)
		return;
	if (wire_cm_hello_decode(msg->private_data, msg->private_bytes, &hello)) {
		fail(tally, "hello does not decode");
		return;
	}
	wire_cm_hello_encode(&hello, again);
	if (memcmp(again, msg->private_data, sizeof(again)) != 0)
		fail(tally, "hello does not encode to the same bytes");
}

static void check_mad(const uint8_t *mad, size_t n, struct tally *tally)
{
	uint8_t again[WIRE_MAD_BYTES];
	struct wire_cm_msg msg;

	tally->mads++;
	if (wire_cm_decode(mad, n, &msg)) {
		fail(tally, "CM message does not decode");
		return;
	}
	wire_cm_encode(&msg, again);
	if (memcmp(again, mad, sizeof(again)) != 0)
		fail(tally, "CM message does not encode to the same bytes");
	check_hello(&msg, tally);
}

/* Builds the frame from what was parsed. Pad bytes are the sender's (IBTA 9.2.2.3 has them as zero), so
 * they are copied; the ICRC is not. */
static void check_rebuild(const uint8_t *frame, const struct wire_pkt *pkt, struct tally *tally)
{
	static uint8_t out[65536];
	struct wire_l2l3 net = {.vlan_tci = pkt->vlan_tci, .has_vlan = pkt->has_vlan};
	struct wire_pkt again = *pkt;
	size_t crc_off;

	memcpy(net.dmac, frame, 6);
	memcpy(net.smac, frame + 6, 6);
	wire_src(frame, pkt, &net.src);
	wire_dst(frame, pkt, &net.dst);
	wire_write(out, &net, &again);
	if (again.frame_bytes != pkt->frame_bytes || again.payload_off != pkt->payload_off) {
		fail(tally, "does not build to the same lengths");
		return;
	}
	crc_off = (size_t)pkt->frame_bytes - WIRE_ICRC_BYTES;
	memcpy(out + again.payload_off, frame + pkt->payload_off, (size_t)pkt->payload_bytes + pkt->pad);
	wire_icrc_store(out + crc_off, wire_icrc(out + again.l3_off, crc_off - again.l3_off));
	if (memcmp(out, frame, pkt->frame_bytes) != 0)
		fail(tally, "does not build to the same bytes");
}

/* The reason to refuse the frame. */
static enum base_drop check_frame(const uint8_t *frame, size_t n, struct tally *tally)
{
	struct wire_nd_msg nd;
	struct wire_pkt pkt;
	enum base_drop drop = wire_parse(frame, n, &pkt);

	if (drop != BASE_DROP_NONE)
		return drop;
	if (pkt.kind != WIRE_KIND_ROCE_V2)
		return wire_nd_parse(frame, n, &pkt, &nd);
	tally->roce++;
	if (!wire_icrc_ok(frame, &pkt))
		return BASE_DROP_ICRC;
	check_rebuild(frame, &pkt, tally);
	if (pkt.dqpn == WIRE_GSI_QPN)
		check_mad(frame + pkt.payload_off, pkt.payload_bytes, tally);
	return BASE_DROP_NONE;
}

/* "9=tver,18=icrc" says what of packet number? "none" if it is not there. */
static bool is_expected(const char *list, uint64_t number, const char *reason)
{
	char want[64];
	const char *at;

	for (at = list; at && *at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strtoull(at, NULL, 10) != number)
			continue;
		snprintf(want, sizeof(want), "%" PRIu64 "=%s", number, reason);
		return !strncmp(at, want, strlen(want)) &&
		       (at[strlen(want)] == ',' || at[strlen(want)] == '\0');
	}
	return !strcmp(reason, base_drop_name(BASE_DROP_NONE));
}

static void check_packet(
	const struct pcap_pkthdr *hdr, const uint8_t *frame, const char *wrong, struct tally *tally)
{
	const char *reason;
	uint8_t *copy;

	tally->pkts++;
	if (hdr->caplen != hdr->len) {
		fail(tally, "not captured whole");
		return;
	}
	/* A buffer of just the right size, so that a sanitizer sees any read past the end. */
	copy = malloc(hdr->caplen);
	if (!copy) {
		fail(tally, "no memory");
		return;
	}
	memcpy(copy, frame, hdr->caplen);
	reason = base_drop_name(check_frame(copy, hdr->caplen, tally));
	free(copy);
	tally->wrong += strcmp(reason, base_drop_name(BASE_DROP_NONE)) != 0;
	if (!is_expected(wrong, tally->pkts, reason))
		fail(tally, reason);
}

static const char *wrong_of(const char *name)
{
	size_t n = strlen(name);
	int i;

	for (i = 0; i < run.n_wrong_specs; i++) {
		if (!strncmp(run.wrong_specs[i], name, n) && run.wrong_specs[i][n] == ':')
			return run.wrong_specs[i] + n + 1;
	}
	return NULL;
}

static int check_file(const char *path, const char *name)
{
	const char *wrong = wrong_of(name);
	char err[PCAP_ERRBUF_SIZE];
	struct tally tally = {0};
	struct pcap_pkthdr *hdr;
	const uint8_t *frame;
	uint64_t listed = wrong ? 1 : 0;
	pcap_t *pcap;
	int rc;

	pcap = pcap_open_offline(path, err);
	if (!pcap) {
		printf("%s: %s\n", path, err);
		return 1;
	}
	while ((rc = pcap_next_ex(pcap, &hdr, &frame)) == 1)
		check_packet(hdr, frame, wrong, &tally);
	if (rc != PCAP_ERROR_BREAK || !tally.roce)
		fail(&tally, "the file ends in the middle of a packet or has no RoCE at all");
	pcap_close(pcap);
	for (; wrong && *wrong; wrong++)
		listed += *wrong == ',';
	if (tally.wrong != listed)
		fail(&tally, "a frame that is wrong on purpose was taken");
	printf("%s: %" PRIu64 " packets, %" PRIu64 " RoCE, %" PRIu64 " CM, %" PRIu64
	       " wrong on purpose, %" PRIu64 " failed\n",
		name, tally.pkts, tally.roce, tally.mads, tally.wrong, tally.failed);
	run.files++;
	run.total.failed += tally.failed;
	return 0;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t n = strlen(path);

	(void)st;
	if (type != FTW_F || n < 5 || strcmp(path + n - 5, ".pcap") != 0)
		return 0;
	return check_file(path, path + ftw->base);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: test_captures DIRECTORY [FILE:NUMBER=REASON,...]...\n", stderr);
		return 2;
	}
	run.wrong_specs = argv + 2;
	run.n_wrong_specs = argc - 2;
	if (nftw(argv[1], visit, MAX_OPEN_DIRS, FTW_PHYS)) {
		printf("%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	printf("%u files, %" PRIu64 " failed\n", run.files, run.total.failed);
	return run.total.failed != 0 || run.files == 0;
}
