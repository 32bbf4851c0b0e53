/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_template.h"

#include <assert.h>
#include <string.h>

#include "wire_codec.h"
#include "wire_icrc.h"

static_assert(ETH_BYTES + VLAN_BYTES + IP6_BYTES + UDP_BYTES + BTH_BYTES <= WIRE_TEMPLATE_BYTES, "room for all of them");
static_assert(ETH_BYTES + VLAN_BYTES + IP4_BYTES + UDP_BYTES + BTH_BYTES <= WIRE_TEMPLATE_BYTES4, "and with IPv4");
static_assert(offsetof(struct wire_template, bytes) + WIRE_TEMPLATE_BYTES4 <= 128, "two cache lines");
static_assert(offsetof(struct wire_pkt, dqpn) < WIRE_TEMPLATE_PKT, "all of the connection's");

void wire_template_make(struct wire_template *t, const struct wire_l2l3 *net, const struct wire_pkt *pkt)
{
	uint8_t frame[WIRE_MAX_HDR_BYTES] = {0};
	struct wire_pkt written = *pkt;
	uint8_t *ip;

	wire_write(frame, net, &written);
	memcpy(t->pkt, &written, sizeof(t->pkt));
	t->flow_label = pkt->flow_label;
	t->ip_frag = pkt->ip_frag;
	memcpy(t->bytes, frame, sizeof(t->bytes));
	t->bth = get32(frame + written.bth_off) & 0x004fffff;
	t->ip_sum = 0;
	if (pkt->l3_version != 4)
		return;
	ip = frame + written.l3_off;
	ip[1] = 0;
	put32(ip + 2, 0);
	put16(ip + 10, 0);
	t->ip_sum = be16toh((uint16_t)ip4_sum(ip));
}

static void write_ip4(uint8_t *ip, const struct wire_pkt *pkt, uint32_t ip_sum, uint32_t total)
{
	uint32_t sum = ip_sum + pkt->tos + total + pkt->ip_id;

	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	put32(ip, 0x45000000 | (uint32_t)pkt->tos << 16 | total);
	put16(ip + 4, pkt->ip_id);
	put16(ip + 10, ~sum & 0xffff);
}

void wire_template_write(const struct wire_template *t, uint8_t *out, struct wire_pkt *pkt)
{
	const struct wire_opinfo *info = wire_opinfo(pkt->opcode);
	uint32_t l4_bytes = (uint32_t)UDP_BYTES + info->hdr_bytes + pkt->payload_bytes + pkt->pad + WIRE_ICRC_BYTES;
	uint8_t *ip = out + pkt->l3_off, *udp = out + pkt->l4_off, *bth = udp + UDP_BYTES;

	if (pkt->l3_version == 4) {
		memcpy(out, t->bytes, WIRE_TEMPLATE_BYTES4);
		write_ip4(ip, pkt, t->ip_sum, IP4_BYTES + l4_bytes);
	} else {
		memcpy(out, t->bytes, WIRE_TEMPLATE_BYTES);
		put32(ip, 6u << 28 | (uint32_t)pkt->tos << 20 | (pkt->flow_label & 0xfffff));
		put16(ip + 4, l4_bytes);
	}
	put16(udp, pkt->udp_sport);
	put16(udp + 4, l4_bytes);
	put32(bth, t->bth | (uint32_t)pkt->opcode << 24 | (uint32_t)pkt->solicited << 23 | (uint32_t)pkt->pad << 20);
	put32(bth + 8, (uint32_t)pkt->ack_req << 31 | pkt->psn);
	write_ext(bth + BTH_BYTES, info->hdrs, pkt);
	pkt->hdrs = info->hdrs;
	pkt->payload_off = (uint16_t)(pkt->bth_off + info->hdr_bytes);
	pkt->frame_bytes = (uint16_t)(pkt->l4_off + l4_bytes);
}
