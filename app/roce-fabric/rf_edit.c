/* SPDX-License-Identifier: BSD-3-Clause */
#include "rf_edit.h"

#include "base_psn.h"
#include "wire_ecn.h"
#include "wire_icrc.h"

#define BTH_PSN_OFF 9

/* The middle of the payload, or the last byte of the headers. */
static void damage(uint8_t *frame, const struct wire_pkt *pkt)
{
	frame[pkt->payload_bytes != 0 ? pkt->payload_off + pkt->payload_bytes / 2 : pkt->payload_off - 1] ^= 0x10;
}

/* A packet whose ICRC was wrong gets no better by it: the same bits are wrong in the new one. */
static void jump(uint8_t *frame, const struct wire_pkt *pkt, uint32_t by)
{
	uint8_t *psn = frame + pkt->bth_off + BTH_PSN_OFF, *at = frame + pkt->frame_bytes - WIRE_ICRC_BYTES;
	size_t bytes = (size_t)pkt->frame_bytes - WIRE_ICRC_BYTES - pkt->l3_off;
	bool v1 = pkt->kind == WIRE_KIND_ROCE_V1;
	uint32_t to = base_psn_add(pkt->psn, by), wrong_bits;
	const uint8_t *l3 = frame + pkt->l3_off;

	wrong_bits = wire_icrc_load(at) ^ (v1 ? wire_icrc_v1(l3, bytes) : wire_icrc(l3, bytes));
	psn[0] = (uint8_t)(to >> 16);
	psn[1] = (uint8_t)(to >> 8);
	psn[2] = (uint8_t)to;
	wire_icrc_store(at, wrong_bits ^ (v1 ? wire_icrc_v1(l3, bytes) : wire_icrc(l3, bytes)));
}

void rf_edit(uint8_t *frame, const struct wire_pkt *pkt, const struct rf_rule *rule)
{
	switch (rule->action) {
	case RF_ACT_MARK:
		wire_set_ce(frame + pkt->l3_off, pkt->l3_version);
		break;
	case RF_ACT_CORRUPT:
		damage(frame, pkt);
		break;
	case RF_ACT_ICRC:
		frame[pkt->frame_bytes - 1] ^= 0x10;
		break;
	case RF_ACT_JUMP:
		jump(frame, pkt, rule->by);
		break;
	default:
		break;
	}
}
