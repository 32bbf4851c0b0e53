/* SPDX-License-Identifier: BSD-3-Clause */
#include "rf_flows.h"

#include "base_psn.h"

#define FAR_PSNS 65536   /* more than is ever outstanding */

static bool is_answer(const struct wire_opinfo *info)
{
	return wire_op_is(info, WIRE_OP_READ_RESP) || (info->hdrs & WIRE_HDR_ATOMICACKETH) != 0;
}

/* Acknowledgements repeat PSNs as they like, and datagrams have no messages. */
static bool has_messages(const struct wire_opinfo *info)
{
	if (info->service == WIRE_SERVICE_UD || info->service == WIRE_SERVICE_CNP)
		return false;
	return !wire_op_is(info, WIRE_OP_RESPONSE) || is_answer(info);
}

static uint32_t set_of(uint32_t from, uint32_t to, uint32_t qpn)
{
	uint32_t x = (qpn * 0x9e3779b1u) ^ (from * 0x85ebca6bu) ^ (to * 0xc2b2ae35u);

	return (x ^ x >> 15) % RF_FLOW_SETS;
}

/* The flow, or a place for it. */
static struct rf_flow *find(struct rf_flows *flows, uint32_t from, uint32_t to, uint32_t qpn, bool answers)
{
	struct rf_flow *set = flows->flows[set_of(from, to, qpn)], *at = &set[0];

	for (uint32_t w = 0; w < RF_FLOW_WAYS; w++) {
		struct rf_flow *flow = &set[w];

		if (flow->used && flow->from == from && flow->to == to && flow->qpn == qpn && flow->answers == answers)
			return flow;
		if (!flow->used || (at->used && flow->order < at->order))
			at = flow;
	}
	*at = (struct rf_flow){.from = from, .to = to, .qpn = qpn, .answers = answers};
	return at;
}

static uint32_t message_of(const struct rf_flow *flow, uint32_t psn)
{
	for (uint32_t m = flow->messages; m != 0 && flow->messages - m < RF_FLOW_STARTS; m--) {
		if (base_psn_diff(psn, flow->starts[(m - 1) % RF_FLOW_STARTS]) >= 0)
			return m;
	}
	return 0;
}

static void note_read(struct rf_flow *flow, const struct wire_pkt *pkt)
{
	flow->read_va = pkt->va;
	flow->read_end = pkt->va + pkt->dma_bytes;
}

static bool is_rest_of_read(const struct rf_flow *flow, const struct wire_pkt *pkt)
{
	return flow->read_end != 0 && pkt->va > flow->read_va && pkt->va + pkt->dma_bytes == flow->read_end;
}

struct rf_flow_place rf_flows_see(struct rf_flows *flows, uint32_t from, uint32_t to, const struct wire_pkt *pkt)
{
	const struct wire_opinfo *info = wire_opinfo(pkt->opcode);
	struct rf_flow *flow;
	bool again, read = wire_op_is(info, WIRE_OP_READ);
	int32_t ahead;

	if (!has_messages(info))
		return (struct rf_flow_place){0};
	flow = find(flows, from, to, pkt->dqpn, is_answer(info));
	flow->order = ++flows->n_packets;
	ahead = base_psn_diff(pkt->psn, flow->last_psn);
	if (flow->used && (ahead > FAR_PSNS || ahead < -FAR_PSNS)) {
		flow->used = false;
		flow->messages = 0;
		flow->read_end = 0;
	}
	again = flow->used && (ahead <= 0 || (read && is_rest_of_read(flow, pkt)));
	if (!again) {
		flow->used = true;
		flow->last_psn = pkt->psn;
		if (flow->messages == 0 || wire_op_is(info, WIRE_OP_START))
			flow->starts[flow->messages++ % RF_FLOW_STARTS] = pkt->psn;
		if (read)
			note_read(flow, pkt);
		else
			flow->read_end = 0;
	}
	return (struct rf_flow_place){.message = message_of(flow, pkt->psn), .again = again};
}
