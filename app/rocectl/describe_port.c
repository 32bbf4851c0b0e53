/* SPDX-License-Identifier: BSD-3-Clause */
/* What a port hears beside RoCE: pause frames, ARP, neighbour discovery and echo. */
#include "describe.h"
#include "wire_arp_nd.h"

#define PFC_PRIORITIES 8
#define PFC_BYTES      (4 + 2 * PFC_PRIORITIES)
#define PAUSE_BYTES    4
#define MAC_CTRL_PAUSE 0x0001
#define MAC_CTRL_PFC   0x0101

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

/* IEEE 802.1Q, 36.1.3: the low byte of the vector says for which priorities a quanta field is meant. */
static void describe_pfc(struct emit *e, const uint8_t *ctrl)
{
	unsigned int enabled = get16(ctrl + 2);
	unsigned int i;
	char key[8];

	emit_word(e, "control", "priority_flow_control");
	emit_hex(e, "class_enable", enabled, 2);
	emit_open(e, "quanta");
	for (i = 0; i < PFC_PRIORITIES; i++) {
		if ((enabled & 1u << i) == 0)
			continue;
		snprintf(key, sizeof(key), "%u", i);
		emit_num(e, key, get16(ctrl + 4 + 2 * i));
	}
	emit_close(e);
}

enum base_drop describe_mac_control(
	struct emit *e, const uint8_t *data, size_t n, const struct wire_pkt *pkt)
{
	const uint8_t *ctrl = data + pkt->l3_off;

	n = n > pkt->l3_off ? n - pkt->l3_off : 0;
	if (n < PAUSE_BYTES)
		return BASE_DROP_TRUNCATED;
	if (get16(ctrl) == MAC_CTRL_PAUSE) {
		emit_word(e, "control", "pause");
		emit_num(e, "pause_quanta", get16(ctrl + 2));
		return BASE_DROP_NONE;
	}
	if (get16(ctrl) != MAC_CTRL_PFC) {
		emit_word(e, "control", "unknown");
		emit_hex(e, "control_opcode", get16(ctrl), 4);
		return BASE_DROP_NONE;
	}
	if (n < PFC_BYTES)
		return BASE_DROP_TRUNCATED;
	describe_pfc(e, ctrl);
	return BASE_DROP_NONE;
}

enum base_drop describe_nd(struct emit *e, const uint8_t *data, size_t n, const struct wire_pkt *pkt)
{
	struct wire_nd_msg msg;
	enum base_drop drop = wire_nd_parse(data, n, pkt, &msg);

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
