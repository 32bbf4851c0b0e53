/* SPDX-License-Identifier: BSD-3-Clause */
/* What a port hears beside RoCE: pause frames, ARP, neighbour discovery and echo. */
#include "describe.h"
#include "wire_arp_nd.h"
#include "wire_pause.h"

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

static void describe_quanta(struct emit *e, const struct wire_pause *pause)
{
	char key[8];

	emit_hex(e, "class_enable", pause->named, 2);
	emit_open(e, "quanta");
	for (unsigned int p = 0; p < WIRE_PAUSE_PRIORITIES; p++) {
		if ((pause->named & 1u << p) == 0)
			continue;
		snprintf(key, sizeof(key), "%u", p);
		emit_num(e, key, pause->quanta[p]);
	}
	emit_close(e);
}

enum base_drop describe_mac_control(
	struct emit *e, const uint8_t *data, size_t n, const struct wire_pkt *pkt)
{
	struct wire_pause pause;
	enum base_drop drop = n < pkt->l3_off ? BASE_DROP_TRUNCATED :
		wire_pause_parse(data + pkt->l3_off, n - pkt->l3_off, &pause);

	if (drop != BASE_DROP_NONE)
		return drop;
	switch (pause.kind) {
	case WIRE_PAUSE_LINK:
		emit_word(e, "control", "pause");
		emit_num(e, "pause_quanta", pause.quanta[0]);
		break;
	case WIRE_PAUSE_PRIORITY:
		emit_word(e, "control", "priority_flow_control");
		describe_quanta(e, &pause);
		break;
	default:
		emit_word(e, "control", "unknown");
		emit_hex(e, "control_opcode", pause.opcode, 4);
	}
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
