/* SPDX-License-Identifier: BSD-3-Clause */
#include "describe.h"

#include <arpa/inet.h>

#include "wire_arp_nd.h"
#include "wire_cm.h"
#include "wire_icrc.h"
#include "wire_opcode.h"

#define ETH_ADDRS_BYTES   12
#define BTH_BYTES         12
#define PFC_PRIORITIES    8
#define PFC_BYTES         (4 + 2 * PFC_PRIORITIES)
#define MAC_CTRL_PAUSE    0x0001
#define MAC_CTRL_PFC      0x0101
#define IP_CM_PREFIX      1 /* service id >> 24 of the RDMA IP CM service */
#define AETH_TYPE(s)      ((s) >> 5 & 3)
#define AETH_VALUE(s)     ((s)&0x1f)

static const char *const kind_names[] = {
	[WIRE_KIND_NONE] = "none",
	[WIRE_KIND_ROCE_V2] = "roce_v2",
	[WIRE_KIND_ROCE_V1] = "roce_v1",
	[WIRE_KIND_ARP] = "arp",
	[WIRE_KIND_ICMP4] = "icmp",
	[WIRE_KIND_ICMP6] = "icmpv6",
	[WIRE_KIND_PFC] = "pfc",
	[WIRE_KIND_OTHER] = "other",
};

static const char *const nd_names[] = {
	[WIRE_ND_NONE] = "none",
	[WIRE_ND_ARP_REQUEST] = "arp_request",
	[WIRE_ND_ARP_REPLY] = "arp_reply",
	[WIRE_ND_SOLICIT] = "neighbour_solicitation",
	[WIRE_ND_ADVERT] = "neighbour_advertisement",
	[WIRE_ND_ECHO4] = "echo_request",
	[WIRE_ND_ECHO6] = "echo_request",
	[WIRE_ND_ECHO4_REPLY] = "echo_reply",
	[WIRE_ND_ECHO6_REPLY] = "echo_reply",
};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void describe_aeth(struct emit *e, const struct wire_pkt *pkt)
{
	static const char *const nak_names[] = {"psn_sequence_error", "invalid_request",
		"remote_access_error", "remote_operational_error", "invalid_rd_request"};
	unsigned int value = AETH_VALUE(pkt->syndrome);

	emit_hex(e, "syndrome", pkt->syndrome, 2);
	switch (AETH_TYPE(pkt->syndrome)) {
	case 0:
		emit_word(e, "aeth", "ack");
		emit_num(e, "credits", value);
		break;
	case 1:
		emit_word(e, "aeth", "rnr_nak");
		emit_num(e, "rnr_timer", value);
		break;
	case 3:
		emit_word(e, "aeth", "nak");
		emit_str(e, "nak", value < 5 ? nak_names[value] : "reserved");
		break;
	default:
		emit_word(e, "aeth", "reserved");
	}
	emit_num(e, "msn", pkt->msn);
}

static void describe_ext_hdrs(struct emit *e, const struct wire_pkt *pkt)
{
	if (pkt->hdrs & WIRE_HDR_DETH) {
		emit_hex(e, "qkey", pkt->qkey, 8);
		emit_hex(e, "sqpn", pkt->sqpn, 6);
	}
	if (pkt->hdrs & WIRE_HDR_FETH)
		emit_hex(e, "feth", pkt->feth, 8);
	if (pkt->hdrs & (WIRE_HDR_RETH | WIRE_HDR_ATOMICETH)) {
		emit_hex(e, "va", pkt->va, 16);
		emit_hex(e, "rkey", pkt->rkey, 8);
	}
	if (pkt->hdrs & WIRE_HDR_RETH)
		emit_num(e, "dma_bytes", pkt->dma_bytes);
	if (pkt->hdrs & WIRE_HDR_ATOMICETH) {
		emit_hex(e, "swap_add", pkt->swap_add, 16);
		emit_hex(e, "compare", pkt->compare, 16);
	}
	if (pkt->hdrs & WIRE_HDR_AETH)
		describe_aeth(e, pkt);
	if (pkt->hdrs & WIRE_HDR_ATOMICACKETH)
		emit_hex(e, "atomic_orig", pkt->atomic_orig, 16);
	if (pkt->hdrs & WIRE_HDR_IMMDT)
		emit_hex(e, "imm", ntohl(pkt->imm), 8);
	if (pkt->hdrs & WIRE_HDR_IETH)
		emit_hex(e, "inv_rkey", pkt->rkey, 8);
}

static void describe_bth(struct emit *e, const struct wire_pkt *pkt)
{
	const char *name = wire_opinfo(pkt->opcode)->name;

	emit_word(e, "opcode_name", name ? name : "UNKNOWN");
	emit_hex(e, "opcode", pkt->opcode, 2);
	emit_hex(e, "qpn", pkt->dqpn, 6);
	emit_num(e, "psn", pkt->psn);
	emit_hex(e, "pkey", pkt->pkey, 4);
	emit_flag(e, "solicited", pkt->solicited);
	emit_flag(e, "migreq", pkt->migreq);
	emit_flag(e, "fecn", pkt->fecn);
	emit_flag(e, "becn", pkt->becn);
	emit_flag(e, "ack_req", pkt->ack_req);
	if (pkt->tver)
		emit_num(e, "tver", pkt->tver);
	if (pkt->resv6)
		emit_hex(e, "resv6", pkt->resv6, 2);
	if (pkt->resv7)
		emit_hex(e, "resv7", pkt->resv7, 2);
}

static void describe_hello(struct emit *e, const struct wire_cm_msg *msg)
{
	struct wire_cm_hello hello;
	uint64_t service_id;

	if (msg->type == WIRE_CM_REQ)
		service_id = msg->req.service_id;
	else if (msg->type == WIRE_CM_SIDR_REQ)
		service_id = msg->sidr_req.service_id;
	else
		return;
	if (service_id >> 24 != IP_CM_PREFIX ||
		wire_cm_hello_decode(msg->private_data, msg->private_bytes, &hello))
		return;
	emit_open(e, "hello");
	emit_num(e, "ip_version", hello.ip_version);
	emit_num(e, "sport", hello.sport);
	emit_addr(e, "src", &hello.src);
	emit_addr(e, "dst", &hello.dst);
	emit_num(e, "dport", service_id & 0xffff);
	emit_close(e);
}

/* Text leaves zero fields out: a REQ has 46 of them. JSON has all. */
static void describe_cm_field(
	struct emit *e, const struct wire_cm_msg *msg, const struct wire_cm_field *fld)
{
	const uint8_t *data = wire_cm_field_data(msg, fld);
	size_t i;

	for (i = 0; i < fld->size_bytes && !data[i]; i++)
		;
	if (i == fld->size_bytes && !e->json)
		return;
	if (fld->width_bits <= 64 && fld->width_bits >= 16)
		emit_hex(e, fld->name, wire_cm_field_value(msg, fld), fld->width_bits / 4);
	else if (fld->width_bits < 16)
		emit_num(e, fld->name, wire_cm_field_value(msg, fld));
	else if (fld->size_bytes == sizeof(struct wire_addr))
		emit_addr(e, fld->name, (const struct wire_addr *)data);
	else
		emit_bytes(e, fld->name, data, fld->size_bytes);
}

static void describe_cm(struct emit *e, const uint8_t *mad, size_t n)
{
	const struct wire_cm_field *fields;
	struct wire_cm_msg msg;
	size_t n_fields;
	size_t i;

	if (wire_cm_decode(mad, n, &msg)) {
		emit_str(e, "drop", base_drop_name(BASE_DROP_MALFORMED_MAD));
		return;
	}
	fields = wire_cm_fields(msg.type, &n_fields);
	emit_open(e, "cm");
	emit_word(e, "type", wire_cm_type_name(msg.type));
	emit_hex(e, "tid", msg.tid, 16);
	if (msg.type == WIRE_CM_REJ)
		emit_word(e, "reason_name", wire_cm_rej_name(msg.rej.reason));
	for (i = 0; i < n_fields; i++)
		describe_cm_field(e, &msg, &fields[i]);
	describe_hello(e, &msg);
	if (e->json)
		emit_bytes(e, "private_data", msg.private_data, msg.private_bytes);
	emit_close(e);
}

static enum describe_icrc describe_roce(struct emit *e, const struct describe_frame *frame,
	const struct wire_pkt *pkt, enum base_drop drop)
{
	bool ok;

	if (!pkt->bth_off || pkt->frame_bytes < pkt->bth_off + BTH_BYTES + WIRE_ICRC_BYTES ||
		pkt->frame_bytes > frame->bytes)
		return DESCRIBE_ICRC_NONE;
	describe_bth(e, pkt);
	if (drop == BASE_DROP_NONE) {
		describe_ext_hdrs(e, pkt);
		emit_num(e, "payload_bytes", pkt->payload_bytes);
		emit_num(e, "pad", pkt->pad);
		if ((pkt->hdrs & WIRE_HDR_DETH) && pkt->dqpn == WIRE_GSI_QPN)
			describe_cm(e, frame->data + pkt->payload_off, pkt->payload_bytes);
	}
	ok = wire_icrc_ok(frame->data, pkt);
	emit_str(e, "icrc", ok ? "ok" : "bad");
	return ok ? DESCRIBE_ICRC_OK : DESCRIBE_ICRC_BAD;
}

static void describe_l3(struct emit *e, const uint8_t *frame, const struct wire_pkt *pkt)
{
	struct wire_addr addr;

	wire_src(frame, pkt, &addr);
	emit_addr(e, "src", &addr);
	wire_dst(frame, pkt, &addr);
	emit_addr(e, "dst", &addr);
	emit_hex(e, "tos", pkt->tos, 2);
	emit_num(e, "ttl", pkt->ttl);
	if (pkt->kind == WIRE_KIND_ROCE_V2)
		emit_num(e, "udp_sport", pkt->udp_sport);
}

static enum base_drop describe_pfc(
	struct emit *e, const struct describe_frame *frame, const struct wire_pkt *pkt)
{
	const uint8_t *ctrl = frame->data + pkt->l3_off;
	size_t n = frame->bytes - pkt->l3_off;
	unsigned int enabled;
	unsigned int i;
	char key[8];

	if (n < 4)
		return BASE_DROP_TRUNCATED;
	if (get16(ctrl) == MAC_CTRL_PAUSE) {
		emit_word(e, "control", "pause");
		emit_num(e, "quanta", get16(ctrl + 2));
		return BASE_DROP_NONE;
	}
	if (get16(ctrl) != MAC_CTRL_PFC) {
		emit_hex(e, "control_opcode", get16(ctrl), 4);
		return BASE_DROP_UNSUPPORTED;
	}
	if (n < PFC_BYTES)
		return BASE_DROP_TRUNCATED;
	enabled = get16(ctrl + 2);
	emit_word(e, "control", "priority_flow_control");
	emit_hex(e, "class_enable", enabled, 2);
	emit_open(e, "quanta");
	for (i = 0; i < PFC_PRIORITIES; i++) {
		if (!(enabled & 1u << i))
			continue;
		snprintf(key, sizeof(key), "%u", i);
		emit_num(e, key, get16(ctrl + 4 + 2 * i));
	}
	emit_close(e);
	return BASE_DROP_NONE;
}

static enum base_drop describe_nd(
	struct emit *e, const struct describe_frame *frame, const struct wire_pkt *pkt)
{
	struct wire_nd_msg msg;
	enum base_drop drop = wire_nd_parse(frame->data, frame->bytes, pkt, &msg);

	if (drop != BASE_DROP_NONE)
		return drop;
	emit_word(e, "message", nd_names[msg.kind]);
	if (pkt->kind == WIRE_KIND_ARP) {
		emit_addr(e, "src", &msg.src);
		emit_addr(e, "dst", &msg.dst);
	}
	if (msg.kind == WIRE_ND_SOLICIT || msg.kind == WIRE_ND_ADVERT)
		emit_addr(e, "target", &msg.target);
	if (msg.has_lladdr)
		emit_mac(e, "lladdr", msg.lladdr);
	return BASE_DROP_NONE;
}

enum describe_icrc describe(struct emit *e, const struct describe_frame *frame)
{
	enum describe_icrc icrc = DESCRIBE_ICRC_NONE;
	struct wire_pkt pkt;
	enum base_drop drop = wire_parse(frame->data, frame->bytes, &pkt);

	emit_word(e, "kind", kind_names[pkt.kind]);
	if (frame->bytes >= ETH_ADDRS_BYTES && (e->json || !pkt.l4_off)) {
		emit_mac(e, "smac", frame->data + 6);
		emit_mac(e, "dmac", frame->data);
	}
	if (pkt.has_vlan)
		emit_num(e, "vlan", pkt.vlan_tci & 0xfff);
	if (pkt.l4_off)
		describe_l3(e, frame->data, &pkt);
	if (pkt.kind == WIRE_KIND_ROCE_V2 || pkt.kind == WIRE_KIND_ROCE_V1)
		icrc = describe_roce(e, frame, &pkt, drop);
	else if (drop == BASE_DROP_NONE && pkt.kind == WIRE_KIND_PFC)
		drop = describe_pfc(e, frame, &pkt);
	else if (drop == BASE_DROP_NONE)
		drop = describe_nd(e, frame, &pkt);
	if (drop != BASE_DROP_NONE)
		emit_str(e, "drop", base_drop_name(drop));
	emit_num(e, "frame_bytes", frame->wire_bytes);
	if (frame->bytes < frame->wire_bytes)
		emit_num(e, "captured_bytes", frame->bytes);
	return icrc;
}
