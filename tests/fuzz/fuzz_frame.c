/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a frame: parsing keeps within them, what it says is consistent, building is its inverse, and
 * rocectl can print it. The first byte of the input is not of the frame: bit 7 mends the IPv4 checksum,
 * which chance would not find; the others say how much of the frame a capture kept, 0 all.
 */
#include <string.h>

#include "describe.h"
#include "fuzz.h"
#include "wire_frame.h"
#include "wire_icrc.h"

#define CONTROL_MEND 0x80
#define CONTROL_CUT  0x7f
#define ETH_BYTES    14
#define VLAN_BYTES   4
#define IP4_BYTES    20
#define IP4_CSUM_OFF 10

static void mend_ip4(uint8_t *frame, size_t n)
{
	size_t off = ETH_BYTES;
	uint32_t sum = 0;
	unsigned int i;

	if (n > ETH_BYTES && frame[12] == 0x81 && frame[13] == 0)
		off += VLAN_BYTES;
	if (n < off + IP4_BYTES || frame[off - 2] != 0x08 || frame[off - 1] != 0)
		return;
	memset(frame + off + IP4_CSUM_OFF, 0, 2);
	for (i = 0; i < IP4_BYTES; i += 2)
		sum += (uint32_t)frame[off + i] << 8 | frame[off + i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	frame[off + IP4_CSUM_OFF] = (uint8_t)(~sum >> 8);
	frame[off + IP4_CSUM_OFF + 1] = (uint8_t)~sum;
}

/* The parsed packet built again is the frame, but for what wire_seal() makes: pad and ICRC. */
static void check_rebuild(const uint8_t *frame, const struct wire_pkt *pkt)
{
	static uint8_t out[UINT16_MAX + 1];
	struct wire_l2l3 net = {.vlan_tci = pkt->vlan_tci, .has_vlan = pkt->has_vlan};
	struct wire_pkt again = *pkt;
	size_t sealed_off = (size_t)pkt->payload_off + pkt->payload_bytes;
	size_t i;

	memcpy(net.dmac, frame, 6);
	memcpy(net.smac, frame + 6, 6);
	wire_src(frame, pkt, &net.src);
	wire_dst(frame, pkt, &net.dst);
	FUZZ_CHECK(wire_hdr_bytes(pkt) == pkt->payload_off);
	FUZZ_CHECK(pkt->payload_off <= WIRE_MAX_HDR_BYTES);
	wire_write(out, &net, &again);
	FUZZ_CHECK(again.frame_bytes == pkt->frame_bytes && again.payload_off == pkt->payload_off);
	memcpy(out + pkt->payload_off, frame + pkt->payload_off, pkt->payload_bytes);
	if (pkt->l3_version == 4) {
		/* Zero has two forms in one's complement. */
		memcpy(out + pkt->l3_off + IP4_CSUM_OFF, frame + pkt->l3_off + IP4_CSUM_OFF, 2);
	}
	FUZZ_CHECK(!memcmp(out, frame, sealed_off));
	wire_seal(out, &again);
	FUZZ_CHECK(wire_icrc_ok(out, &again));
	for (i = 0; i < pkt->pad && !frame[sealed_off + i]; i++)
		;
	if (i == pkt->pad)
		FUZZ_CHECK(wire_icrc_ok(frame, pkt) == !memcmp(out, frame, pkt->frame_bytes));
}

static void check_parse(const uint8_t *frame, size_t n)
{
	struct wire_pkt pkt;
	enum base_drop drop = wire_parse(frame, n, &pkt);

	FUZZ_CHECK(pkt.kind <= WIRE_KIND_OTHER);
	FUZZ_CHECK((unsigned int)drop < BASE_DROP_COUNT);
	if (pkt.kind != WIRE_KIND_ROCE_V2 && pkt.kind != WIRE_KIND_ROCE_V1)
		return;
	(void)wire_icrc_ok(frame, &pkt);
	if (drop != BASE_DROP_NONE)
		return;
	FUZZ_CHECK(pkt.frame_bytes <= n);
	FUZZ_CHECK(wire_opinfo(pkt.opcode)->name != NULL && pkt.tver == 0);
	FUZZ_CHECK(pkt.payload_off + pkt.payload_bytes + pkt.pad + WIRE_ICRC_BYTES == pkt.frame_bytes);
	if (pkt.kind == WIRE_KIND_ROCE_V2)
		check_rebuild(frame, &pkt);
}

/* One line, without bytes that would break a terminal or JSON. */
static void check_describe(const uint8_t *frame, size_t kept, size_t n, bool json)
{
	static struct link_frame link;
	struct describe_result result;
	struct emit e = {.json = json};
	char *text = NULL;
	size_t bytes = 0;
	size_t i;

	e.out = open_memstream(&text, &bytes);
	FUZZ_CHECK(e.out);
	link_to_ethernet(1 /* DLT_EN10MB */, frame, kept, n, &link);
	emit_begin(&e);
	result = describe(&e, &link);
	emit_end(&e);
	fclose(e.out);
	FUZZ_CHECK(bytes > 1 && text[bytes - 1] == '\n');
	FUZZ_CHECK(!json || (text[0] == '{' && text[bytes - 2] == '}'));
	for (i = 0; i + 1 < bytes; i++)
		FUZZ_CHECK(text[i] >= ' ' && text[i] <= '~');
	FUZZ_CHECK(result.icrc == DESCRIBE_ICRC_NONE || result.roce);
	FUZZ_CHECK(result.truncated == (kept < n));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size - 1;
	size_t kept = n;
	uint8_t *frame;

	if (!size)
		return 0;
	/* Of the exact size, so that ASan sees a read behind it. */
	frame = malloc(n ? n : 1);
	FUZZ_CHECK(frame);
	memcpy(frame, data + 1, n);
	if ((data[0] & CONTROL_MEND) != 0)
		mend_ip4(frame, n);
	if ((data[0] & CONTROL_CUT) != 0)
		kept = n * (data[0] & CONTROL_CUT) / (CONTROL_CUT + 1);
	check_parse(frame, n);
	check_describe(frame, kept, n, (n & 1) != 0);
	free(frame);
	return 0;
}
