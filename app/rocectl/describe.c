/* SPDX-License-Identifier: BSD-3-Clause */
#include "describe.h"

#include <arpa/inet.h>

#include "wire_cm.h"
#include "wire_icrc.h"
#include "wire_merge.h"
#include "wire_sack.h"
#include "wire_opcode.h"

#define ETH_ADDRS_BYTES 12
#define IP4_BYTES       20
#define IP6_BYTES       40
#define IP4_PROTO_OFF   9
#define IP4_NO_OPTIONS  0x45
#define IP4_FRAG_MASK   0x3fff /* more-fragments and offset */
#define IP6_PROTO_OFF   6
#define UDP_BYTES       8
#define BTH_BYTES       12
#define AETH_TYPE(s)    ((s) >> 5 & 3)
#define AETH_VALUE(s)   ((s)&0x1f)

static const char *const kind_names[] = {
	[WIRE_KIND_NONE] = "other",
	[WIRE_KIND_ROCE_V2] = "roce_v2",
	[WIRE_KIND_ROCE_V1] = "roce_v1",
	[WIRE_KIND_ARP] = "arp",
	[WIRE_KIND_ICMP4] = "icmp",
	[WIRE_KIND_ICMP6] = "icmpv6",
	[WIRE_KIND_PFC] = "pfc",
	[WIRE_KIND_OTHER] = "other",
};

static void describe_aeth(struct emit *e, const struct wire_pkt *pkt)
{
	static const char *const nak_names[] = {"psn_sequence_error", "invalid_request",
		"remote_access_error", "remote_operational_error", "invalid_rd_request"};
	unsigned int value = AETH_VALUE(pkt->syndrome);

	switch (AETH_TYPE(pkt->syndrome)) {
	case 0:
		emit_str(e, "aeth", "ack");
		emit_num(e, "credits", value);
		break;
	case 1:
		emit_str(e, "aeth", "rnr_nak");
		emit_num(e, "rnr_timer", value);
		break;
	case 3:
		emit_str(e, "aeth", "nak");
		emit_str(e, "nak", value < 5 ? nak_names[value] : "reserved");
		break;
	default:
		emit_str(e, "aeth", "reserved");
	}
	emit_hex(e, "syndrome", pkt->syndrome, 2);
	emit_num(e, "msn", pkt->msn);
}

static void describe_sack(struct emit *e, const struct wire_pkt *pkt)
{
	uint32_t block = pkt->sack_echo >> WIRE_SACK_BLOCK_SHIFT & WIRE_SACK_BLOCK_MASK;

	emit_hex(e, "sack_map", pkt->sack_map, 16);
	emit_num(e, "sack_map_psn", (pkt->psn + 2 + block * WIRE_SACK_BLOCK_PSNS) & 0xffffff);
	emit_num(e, "sack_echo_psn", pkt->sack_echo & 0xffffff);
	emit_flag(e, "sack_marked", (pkt->sack_echo & WIRE_SACK_MARKED) != 0);
	emit_flag(e, "sack_refused", (pkt->sack_echo & WIRE_SACK_REFUSED) != 0);
	emit_num(e, "sack_senders", pkt->sack_senders);
	emit_num(e, "sack_wait_ns", (uint64_t)pkt->sack_wait * WIRE_SACK_WAIT_UNIT_NS);
	emit_num(e, "sack_more", pkt->sack_more);
}

/* The packets that an RC_SACK tells of in its payload: as many as it says, if there are so many. */
static void describe_sack_more(struct emit *e, const uint8_t *payload, uint32_t bytes, uint32_t n)
{
	char text[WIRE_SACK_MORE * 48] = "";
	size_t at = 0;

	for (uint32_t i = 0; i < n && i < WIRE_SACK_MORE && (i + 1) * WIRE_SACK_ECHO_BYTES <= bytes; i++) {
		struct wire_sack_echo echo;

		wire_sack_get(payload + (size_t)i * WIRE_SACK_ECHO_BYTES, &echo);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u:%u:%u%s%s", i != 0 ? " " : "",
			echo.echo & 0xffffff, echo.udp_sport, echo.wait * WIRE_SACK_WAIT_UNIT_NS,
			(echo.echo & WIRE_SACK_MARKED) != 0 ? ":marked" : "",
			(echo.echo & WIRE_SACK_REFUSED) != 0 ? ":refused" : "");
	}
	emit_str(e, "sack_echoes", text);
}

/* The messages of an RC_MERGED: opcode, bytes of payload, and address and key where it has them. */
static void describe_merged(struct emit *e, const uint8_t *frame, const struct wire_pkt *pkt)
{
	char text[WIRE_MERGE_MOST * 96] = "";
	struct wire_pkt part;
	size_t at = 0;

	if (!wire_merge_ok(frame, pkt)) {
		emit_str(e, "messages", "malformed");
		return;
	}
	wire_merge_first(frame, pkt, &part);
	for (uint32_t i = 0; i < pkt->merged; i++) {
		if (i != 0)
			wire_merge_next(frame, &part);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s:%u", i != 0 ? " " : "",
			wire_opinfo(part.opcode)->name, part.payload_bytes);
		if ((part.hdrs & WIRE_HDR_RETH) != 0)
			at += (size_t)snprintf(text + at, sizeof(text) - at, ":0x%016llx:0x%08x",
				(unsigned long long)part.va, part.rkey);
	}
	emit_str(e, "messages", text);
}

static void describe_ext_hdrs(struct emit *e, const struct wire_pkt *pkt)
{
	if ((pkt->hdrs & WIRE_HDR_XRCETH) != 0)
		emit_hex(e, "xrc_srqn", pkt->xrceth & 0xffffff, 6);
	if ((pkt->hdrs & WIRE_HDR_DETH) != 0) {
		emit_hex(e, "qkey", pkt->qkey, 8);
		emit_hex(e, "sqpn", pkt->sqpn, 6);
	}
	if ((pkt->hdrs & WIRE_HDR_FETH) != 0)
		emit_hex(e, "feth", pkt->feth, 8);
	if ((pkt->hdrs & (WIRE_HDR_RETH | WIRE_HDR_ATOMICETH)) != 0) {
		emit_hex(e, "va", pkt->va, 16);
		emit_hex(e, "rkey", pkt->rkey, 8);
	}
	if ((pkt->hdrs & WIRE_HDR_RETH) != 0)
		emit_num(e, "dma_bytes", pkt->dma_bytes);
	if ((pkt->hdrs & WIRE_HDR_ATOMICETH) != 0) {
		emit_hex(e, "swap_add", pkt->swap_add, 16);
		emit_hex(e, "compare", pkt->compare, 16);
	}
	if ((pkt->hdrs & WIRE_HDR_AETH) != 0)
		describe_aeth(e, pkt);
	if ((pkt->hdrs & WIRE_HDR_ATOMICACKETH) != 0)
		emit_hex(e, "atomic_orig", pkt->atomic_orig, 16);
	if ((pkt->hdrs & WIRE_HDR_IMMDT) != 0)
		emit_hex(e, "imm", ntohl(pkt->imm), 8);
	if ((pkt->hdrs & WIRE_HDR_IETH) != 0)
		emit_hex(e, "inv_rkey", pkt->rkey, 8);
	if ((pkt->hdrs & WIRE_HDR_SACKETH) != 0)
		describe_sack(e, pkt);
	if ((pkt->hdrs & WIRE_HDR_MERGETH) != 0)
		emit_num(e, "merged", pkt->merged);
}

/* P_Key, MigReq and the reserved bits are nearly always the same: text shows them when they are not. */
static void describe_bth(struct emit *e, const struct wire_pkt *pkt)
{
	const char *name = wire_opinfo(pkt->opcode)->name;

	emit_word(e, "opcode_name", name ? name : "UNKNOWN");
	if (e->json || !name)
		emit_hex(e, "opcode", pkt->opcode, 2);
	emit_hex(e, "qpn", pkt->dqpn, 6);
	emit_num(e, "psn", pkt->psn);
	emit_flag(e, "ack_req", pkt->ack_req);
	emit_flag(e, "solicited", pkt->solicited);
	emit_flag(e, "fecn", pkt->fecn);
	emit_flag(e, "becn", pkt->becn);
	emit_flag(e, "migreq", pkt->migreq);
	if (e->json || pkt->pkey != 0xffff)
		emit_hex(e, "pkey", pkt->pkey, 4);
	if (e->json || pkt->tver)
		emit_num(e, "tver", pkt->tver);
	if (e->json || pkt->resv6)
		emit_hex(e, "resv6", pkt->resv6, 2);
	if (e->json || pkt->resv7)
		emit_hex(e, "resv7", pkt->resv7, 2);
}

static enum describe_icrc describe_icrc(
	struct emit *e, const struct link_frame *frame, const struct wire_pkt *pkt)
{
	bool ok;

	if (pkt->frame_bytes > frame->bytes) {
		emit_str(e, "icrc", "not_captured");
		return DESCRIBE_ICRC_NONE;
	}
	ok = wire_icrc_ok(frame->data, pkt);
	emit_str(e, "icrc", ok ? "ok" : "bad");
	return ok ? DESCRIBE_ICRC_OK : DESCRIBE_ICRC_BAD;
}

/* Returns the reason to drop the packet, which an inner datagram may add. */
static enum base_drop describe_roce(struct emit *e, const struct link_frame *frame,
	const struct wire_pkt *pkt, enum base_drop drop, enum describe_icrc *icrc)
{
	size_t payload_end = (size_t)pkt->payload_off + pkt->payload_bytes;

	/* A packet too short for BTH and ICRC was not read at all. */
	if (!pkt->bth_off || pkt->frame_bytes < pkt->bth_off + BTH_BYTES + WIRE_ICRC_BYTES ||
		frame->bytes < (size_t)pkt->bth_off + BTH_BYTES)
		return drop;
	describe_bth(e, pkt);
	if (drop == BASE_DROP_NONE && frame->bytes >= pkt->payload_off) {
		describe_ext_hdrs(e, pkt);
		emit_num(e, "payload_bytes", pkt->payload_bytes);
		if (pkt->opcode == WIRE_RC_SACK && frame->bytes >= payload_end)
			describe_sack_more(e, frame->data + pkt->payload_off, pkt->payload_bytes, pkt->sack_more);
		if (pkt->opcode == WIRE_RC_MERGED && frame->bytes >= payload_end)
			describe_merged(e, frame->data, pkt);
		if (e->json || pkt->pad)
			emit_num(e, "pad", pkt->pad);
		if ((pkt->hdrs & WIRE_HDR_DETH) != 0 && pkt->dqpn == WIRE_GSI_QPN &&
			frame->bytes >= payload_end &&
			!describe_mad(e, frame->data + pkt->payload_off, pkt->payload_bytes))
			drop = BASE_DROP_MALFORMED_MAD;
	}
	*icrc = describe_icrc(e, frame, pkt);
	return drop;
}

static bool is_fragment(const struct wire_pkt *pkt)
{
	return pkt->l3_version == 4 && (pkt->ip_frag & IP4_FRAG_MASK) != 0;
}

static bool has_ip_options(const uint8_t *data, const struct wire_pkt *pkt)
{
	return pkt->l3_version == 4 && data[pkt->l3_off] > IP4_NO_OPTIONS && data[pkt->l3_off] >> 4 == 4;
}

/* RoCE has neither, so the parser takes no such packet, but there is nothing wrong with it. */
static bool is_other_ip(const uint8_t *data, const struct wire_pkt *pkt, enum base_drop drop)
{
	return drop == BASE_DROP_IP_HEADER && (is_fragment(pkt) || has_ip_options(data, pkt));
}

static void describe_l3(struct emit *e, const uint8_t *data, const struct wire_pkt *pkt)
{
	struct wire_addr addr;

	wire_src(data, pkt, &addr);
	emit_addr(e, "src", &addr);
	wire_dst(data, pkt, &addr);
	emit_addr(e, "dst", &addr);
	if (e->json || pkt->tos)
		emit_hex(e, "tos", pkt->tos, 2);
	if (e->json)
		emit_num(e, "ttl", pkt->ttl);
	if (pkt->l3_version == 4 && e->json)
		emit_num(e, "ip_id", pkt->ip_id);
	if (pkt->l3_version == 6 && (e->json || pkt->flow_label))
		emit_hex(e, "flow_label", pkt->flow_label, 5);
	if (pkt->kind == WIRE_KIND_OTHER)
		emit_num(e, "proto", data[pkt->l3_off + (pkt->l3_version == 4 ? IP4_PROTO_OFF : IP6_PROTO_OFF)]);
	if (is_fragment(pkt))
		emit_flag(e, "fragment", true);
	if (has_ip_options(data, pkt))
		emit_flag(e, "ip_options", true);
	if (pkt->kind == WIRE_KIND_ROCE_V2)
		emit_num(e, "udp_sport", pkt->udp_sport);
}

static size_t l3_bytes(const struct wire_pkt *pkt)
{
	if (pkt->l3_version == 4)
		return IP4_BYTES;
	return pkt->l3_version == 6 ? IP6_BYTES : 0;
}

/* How much of the frame the parser's verdict stands on. */
static size_t verdict_bytes(const struct wire_pkt *pkt)
{
	if (pkt->bth_off)
		return (size_t)pkt->bth_off + BTH_BYTES;
	if (pkt->l4_off)
		return (size_t)pkt->l4_off + UDP_BYTES;
	return (size_t)pkt->l3_off + l3_bytes(pkt);
}

/* How much of the frame its kind stands on. */
static size_t kind_bytes(const struct wire_pkt *pkt)
{
	if (pkt->kind == WIRE_KIND_ROCE_V2 && pkt->l4_off)
		return (size_t)pkt->l4_off + UDP_BYTES;
	return (size_t)pkt->l3_off + l3_bytes(pkt);
}

static void describe_l2(struct emit *e, const struct link_frame *frame, const struct wire_pkt *pkt)
{
	if (frame->has_macs && frame->bytes >= ETH_ADDRS_BYTES && (e->json || !pkt->l4_off)) {
		emit_mac(e, "smac", frame->data + 6);
		emit_mac(e, "dmac", frame->data);
	}
	if (pkt->has_vlan && frame->bytes >= pkt->l3_off) {
		emit_num(e, "vlan", pkt->vlan_tci & 0xfff);
		emit_num(e, "pcp", pkt->vlan_tci >> 13);
	}
	if (!l3_bytes(pkt) && pkt->kind == WIRE_KIND_OTHER && frame->bytes >= pkt->l3_off)
		emit_hex(e, "ethertype",
			(uint64_t)frame->data[pkt->l3_off - 2] << 8 | frame->data[pkt->l3_off - 1], 4);
	if (l3_bytes(pkt) && frame->bytes >= pkt->l3_off + l3_bytes(pkt))
		describe_l3(e, frame->data, pkt);
}

static enum base_drop describe_l4(struct emit *e, const struct link_frame *frame,
	const struct wire_pkt *pkt, enum base_drop drop, enum describe_icrc *icrc)
{
	switch (pkt->kind) {
	case WIRE_KIND_ROCE_V2:
	case WIRE_KIND_ROCE_V1:
		return describe_roce(e, frame, pkt, drop, icrc);
	case WIRE_KIND_PFC:
		return describe_mac_control(e, frame->data, frame->bytes, pkt);
	case WIRE_KIND_ARP:
	case WIRE_KIND_ICMP4:
	case WIRE_KIND_ICMP6:
		return describe_nd(e, frame->data, frame->bytes, pkt);
	default:
		return drop;
	}
}

struct describe_result describe(struct emit *e, const struct link_frame *frame)
{
	struct describe_result result = {.icrc = DESCRIBE_ICRC_NONE};
	struct wire_pkt pkt;
	enum base_drop drop;

	result.truncated = frame->bytes < frame->wire_bytes;
	/* Lengths in the headers must be held against what was sent, not against what was captured. */
	drop = wire_parse(frame->data,
		frame->wire_bytes < LINK_FRAME_MAX ? frame->wire_bytes : LINK_FRAME_MAX, &pkt);
	if (result.truncated && frame->bytes < kind_bytes(&pkt))
		pkt.kind = WIRE_KIND_OTHER;
	result.roce = pkt.kind == WIRE_KIND_ROCE_V2 || pkt.kind == WIRE_KIND_ROCE_V1;
	emit_word(e, "kind", kind_names[pkt.kind]);
	describe_l2(e, frame, &pkt);
	drop = describe_l4(e, frame, &pkt, drop, &result.icrc);
	if (result.truncated && (frame->bytes < verdict_bytes(&pkt) || !result.roce))
		drop = BASE_DROP_NONE;
	result.malformed = drop != BASE_DROP_NONE && drop != BASE_DROP_NOT_ROCE &&
			   !is_other_ip(frame->data, &pkt, drop);
	if (result.malformed)
		emit_str(e, "malformed", base_drop_name(drop));
	emit_num(e, "frame_bytes", frame->wire_bytes);
	if (result.truncated) {
		emit_flag(e, "truncated", true);
		emit_num(e, "captured_bytes", frame->bytes);
	}
	return result;
}
