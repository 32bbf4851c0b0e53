/* SPDX-License-Identifier: BSD-3-Clause */
#include "rg_flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base_psn.h"
#include "rg_random.h"
#include "rg_stamp.h"
#include "wire_addr.h"
#include "wire_frame.h"
#include "wire_icrc.h"
#include "wire_pause.h"

#define FILL_BYTES    4096u       /* the largest RDMA MTU */
#define ETH_BYTES     14u
#define MILLION       1000000u
#define IP_DF         0x4000
#define CNP_BYTES     16u
#define CNP_DSCP      48u         /* what NICs send them with */
#define FAR_PSN       0x800000u   /* as far away as a PSN can be */
#define UNKNOWN_OP    0x1fu
#define MAX_HOST_BITS 24u

#define BIT(kind) (1u << RG_FAULT_##kind)
#define FIRED(kind) ((flow->fired & BIT(kind)) != 0)

/* ---- life ---- */

static bool has_mac(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return memcmp(mac, zero, sizeof(zero)) != 0;
}

static int take_memory(struct rg_flow *flow)
{
	flow->qps = calloc(flow->config->qps, sizeof(*flow->qps));
	flow->fill = malloc(FILL_BYTES);
	flow->kept = malloc(RG_FRAME_BYTES);
	return flow->qps != NULL && flow->fill != NULL && flow->kept != NULL ? 0 : -ENOMEM;
}

int rg_flow_init(struct rg_flow *flow, const struct rg_flow_config *config, uint32_t index, uint64_t seed,
	const uint8_t smac[6], const uint8_t dmac[6], char *msg, uint32_t n)
{
	*flow = (struct rg_flow){.config = config, .index = index, .room = RG_FRAME_BYTES};
	flow->random = rg_mix(rg_mix(seed) + index);
	memcpy(flow->smac, has_mac(config->smac) ? config->smac : smac, sizeof(flow->smac));
	memcpy(flow->dmac, has_mac(config->dmac) ? config->dmac : dmac, sizeof(flow->dmac));
	if (take_memory(flow) != 0) {
		snprintf(msg, n, "no memory");
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < FILL_BYTES; i++)
		flow->fill[i] = (uint8_t)(rg_mix(i / 8) >> i % 8 * 8);
	for (uint32_t q = 0; q < config->qps; q++)
		flow->qps[q].psn = config->first_psn;
	return config->pcap[0] != '\0' ? rg_replay_open(&flow->replay, config->pcap, config->loop, msg, n) : 0;
}

void rg_flow_fini(struct rg_flow *flow)
{
	rg_replay_close(&flow->replay);
	free(flow->qps);
	free(flow->fill);
	free(flow->kept);
	flow->qps = NULL;
	flow->fill = flow->kept = NULL;
}

bool rg_flow_done(const struct rg_flow *flow)
{
	if (flow->due != 0)
		return false;
	if (flow->config->pcap[0] != '\0' && flow->replay.next == NULL)
		return true;
	return flow->config->count != 0 && flow->stats.packets >= flow->config->count;
}

/* ---- what is sent ---- */

struct wire_addr rg_flow_addr(const struct config_prefix *network, uint32_t qp)
{
	uint32_t bits = WIRE_ADDR_BITS - wire_addr_prefix(&network->addr, network->len), hosts, host;
	struct wire_addr addr = network->addr;

	if (bits == 0)
		return addr;
	bits = bits < MAX_HOST_BITS ? bits : MAX_HOST_BITS;
	/* neither the network's own address nor everybody's, unless there are only two (RFC 3021) */
	hosts = bits == 1 ? 2 : (1u << bits) - 2;
	host = qp % hosts + (bits == 1 ? 0 : 1);
	for (int i = 0; i < 4; i++)
		addr.b[15 - i] |= (uint8_t)(host >> 8 * i);
	return addr;
}

uint32_t rg_flow_read_psns(const struct rg_flow_config *config, uint32_t bytes)
{
	return bytes == 0 ? 1 : (uint32_t)(((uint64_t)bytes + config->mtu - 1) / config->mtu);
}

/* By their weights, or in turn. */
static const struct rg_size *choose_size(struct rg_flow *flow)
{
	const struct rg_flow_config *config = flow->config;
	uint64_t sum = 0;
	uint32_t at, i;

	if (!config->weighted) {
		i = flow->size;
		flow->size = i + 1 < config->n_sizes ? i + 1 : 0;
		return &config->sizes[i];
	}
	for (i = 0; i < config->n_sizes; i++)
		sum += config->sizes[i].weight;
	at = rg_draw(&flow->random, sum);
	for (i = 0; at >= config->sizes[i].weight; i++)
		at -= config->sizes[i].weight;
	return &config->sizes[i];
}

static void start_message(struct rg_flow *flow, struct rg_qp *qp)
{
	const struct rg_size *size = choose_size(flow);

	qp->op = flow->op;
	flow->op = flow->op + 1 < flow->config->n_opcodes ? flow->op + 1 : 0;
	qp->message_bytes = size->bytes;
	if (size->to_bytes > size->bytes)
		qp->message_bytes += rg_draw(&flow->random, (uint64_t)size->to_bytes - size->bytes + 1);
	qp->left_bytes = qp->message_bytes;
	flow->stats.messages++;
}

static uint32_t payload_of(const struct rg_flow *flow, const struct rg_qp *qp, const struct rg_op *op)
{
	if (op->only == WIRE_CNP)
		return CNP_BYTES;
	if (op->only == WIRE_RC_ATOMIC_WRITE)
		return sizeof(uint64_t);
	if (!rg_op_sized(op))
		return 0;
	return qp->left_bytes < flow->config->mtu ? qp->left_bytes : flow->config->mtu;
}

static uint8_t opcode_of(const struct rg_op *op, bool first, bool last)
{
	return first && last ? op->only : first ? op->first : last ? op->last : op->middle;
}

static uint16_t sport_of(struct rg_flow *flow, uint32_t qp)
{
	const struct rg_flow_config *config = flow->config;
	uint32_t n = 0;

	if (config->sport_policy == RG_SPORT_QP) {
		n = (uint32_t)(rg_mix(config->first_qpn + qp) % config->sport_count);
	} else if (config->sport_policy == RG_SPORT_SPRAY) {
		n = flow->sport;
		flow->sport = n + 1 < config->sport_count ? n + 1 : 0;
	}
	return (uint16_t)(config->sport_first + n);
}

static void fill_net(const struct rg_flow *flow, uint32_t qp, struct wire_l2l3 *net)
{
	const struct rg_flow_config *config = flow->config;

	*net = (struct wire_l2l3){
		.src = rg_flow_addr(&config->src, qp),
		.dst = rg_flow_addr(&config->dst, qp),
		.has_vlan = config->vlan != 0,
		.vlan_tci = (uint16_t)(config->pcp << 13 | config->vlan),
	};
	memcpy(net->smac, flow->smac, sizeof(net->smac));
	memcpy(net->dmac, flow->dmac, sizeof(net->dmac));
}

/* What all packets of a queue pair have. */
static void fill_pkt(struct rg_flow *flow, uint32_t q, struct wire_pkt *pkt)
{
	const struct rg_flow_config *config = flow->config;

	*pkt = (struct wire_pkt){
		.l3_version = wire_addr_is_v4(&config->dst.addr) ? 4 : 6,
		.has_vlan = config->vlan != 0,
		.tos = (uint8_t)(config->dscp << 2 | config->ecn),
		.ttl = (uint8_t)config->ttl,
		.udp_sport = sport_of(flow, q),
		.ip_frag = IP_DF,
		.ip_id = (uint16_t)flow->stats.packets,
		.pkey = (uint16_t)config->pkey,
		.dqpn = config->first_qpn + q,
		.qkey = config->qkey,
		.sqpn = config->source_qpn,
		.va = config->va,
		.rkey = config->rkey,
		.syndrome = (uint8_t)config->syndrome,
		.msn = (uint32_t)flow->qps[q].number,
		.imm = (uint32_t)flow->qps[q].number,
		.swap_add = 1,
	};
}

/* ---- faults ---- */

static void draw_faults(struct rg_flow *flow)
{
	const struct rg_flow_config *config = flow->config;

	flow->fired = 0;
	for (uint32_t i = 0; i < config->n_faults; i++) {
		const struct rg_fault_config *fault = &config->faults[i];
		bool fires = fault->every != 0 ? ++flow->seen[i] % fault->every == 0 :
			rg_draw(&flow->random, MILLION) < fault->ppm;

		if (!fires)
			continue;
		flow->fired |= 1u << fault->kind;
		flow->amount[fault->kind] = fault->amount;
	}
}

static void count_faults(struct rg_flow *flow)
{
	for (uint32_t k = 0; k < RG_FAULTS; k++)
		flow->stats.faults[k] += flow->fired >> k & 1;
}

/* The PSN of a packet that takes n of them, and how the queue pair goes on. */
static uint32_t take_psn(struct rg_flow *flow, struct rg_qp *qp, uint32_t n)
{
	uint32_t gap = flow->amount[RG_FAULT_PSN_GAP], psn;

	if (FIRED(PSN_GAP))
		qp->psn = base_psn_add(qp->psn, gap != 0 ? gap : 1);
	psn = qp->psn;
	if (FIRED(PSN_JUMP))
		return psn ^ FAR_PSN;
	/* before the first there is none */
	if (FIRED(PSN_DUPLICATE) && qp->number != 0)
		return base_psn_add(psn, 0u - 1);
	flow->fired &= ~BIT(PSN_DUPLICATE);
	qp->psn = base_psn_add(psn, n);
	return psn;
}

/* What breaks a frame once it is whole. Its length. */
static uint32_t damage(struct rg_flow *flow, uint8_t *frame, uint32_t bytes)
{
	uint32_t cut = flow->amount[RG_FAULT_TRUNCATE];

	if (FIRED(BAD_ICRC))
		frame[bytes - 1] ^= 0x55;
	if (FIRED(TRUNCATE) && bytes > ETH_BYTES) {
		if (cut == 0)
			cut = 1 + rg_draw(&flow->random, bytes - ETH_BYTES);
		bytes -= cut < bytes - ETH_BYTES ? cut : bytes - ETH_BYTES;
	}
	if (FIRED(REPEAT)) {
		memcpy(flow->kept, frame, bytes);
		flow->kept_bytes = bytes;
	}
	flow->due = flow->fired & (BIT(REPEAT) | BIT(CNP) | BIT(PFC));
	return FIRED(LOSS) ? 0 : bytes;
}

/* ---- frames ---- */

static uint32_t make_pfc(const struct rg_flow *flow, uint8_t *frame)
{
	uint16_t quanta[WIRE_PAUSE_PRIORITIES];

	for (int p = 0; p < WIRE_PAUSE_PRIORITIES; p++)
		quanta[p] = (uint16_t)flow->config->pfc_quanta;
	wire_pause_write(frame, flow->smac, (uint8_t)flow->config->pfc_priorities, quanta);
	return WIRE_PAUSE_FRAME_BYTES;
}

static uint32_t make_cnp(struct rg_flow *flow, uint32_t q, uint8_t *frame)
{
	struct wire_l2l3 net;
	struct wire_pkt pkt;

	fill_net(flow, q, &net);
	fill_pkt(flow, q, &pkt);
	pkt.opcode = WIRE_CNP;
	pkt.becn = 1;
	pkt.tos = (uint8_t)(CNP_DSCP << 2 | flow->config->ecn);
	pkt.payload_bytes = CNP_BYTES;
	wire_write(frame, &net, &pkt);
	memset(frame + pkt.payload_off, 0, CNP_BYTES);
	wire_seal(frame, &pkt);
	return pkt.frame_bytes;
}

/* Payload, pad and ICRC behind headers that stand; the opcode may be made a wrong one. */
static void finish(struct rg_flow *flow, struct rg_qp *qp, const struct wire_pkt *pkt, uint8_t *frame,
	uint64_t now_ns)
{
	const struct rg_stamp stamp = {.flow = flow->index, .number = qp->stamp, .sent_ns = now_ns};
	uint32_t unknown = flow->amount[RG_FAULT_BAD_OPCODE];

	memcpy(frame + pkt->payload_off, flow->fill, pkt->payload_bytes);
	if (pkt->opcode == WIRE_CNP) {
		memset(frame + pkt->payload_off, 0, pkt->payload_bytes);
	} else if (pkt->payload_bytes >= RG_STAMP_BYTES) {
		rg_stamp_write(frame + pkt->payload_off, &stamp);
		qp->stamp++;
	}
	if (FIRED(BAD_OPCODE))
		frame[pkt->bth_off] = (uint8_t)(unknown != 0 ? unknown : UNKNOWN_OP);
	wire_seal(frame, pkt);
}

static uint32_t make_roce(struct rg_flow *flow, uint32_t q, uint64_t now_ns, uint8_t *frame)
{
	struct rg_qp *qp = &flow->qps[q];
	const struct rg_op *op = &flow->config->ops[qp->op];
	uint32_t bytes = payload_of(flow, qp, op);
	bool last = op->kind != RG_OP_MESSAGE || bytes == qp->left_bytes;
	struct wire_l2l3 net;
	struct wire_pkt pkt;

	fill_net(flow, q, &net);
	fill_pkt(flow, q, &pkt);
	pkt.opcode = opcode_of(op, !qp->in_message, last);
	pkt.payload_bytes = (uint16_t)bytes;
	/* one pad byte more or less than the payload needs (IBTA 9.2): the ICRC is no longer at a multiple of four */
	pkt.pad = (uint8_t)((4 - bytes % 4) % 4 + FIRED(BAD_PAD)) & 3;
	pkt.dma_bytes = qp->message_bytes;
	pkt.ack_req = last && flow->config->ack_req && wire_opinfo(pkt.opcode)->service == WIRE_SERVICE_RC;
	pkt.becn = pkt.opcode == WIRE_CNP;
	if (FIRED(CE))
		pkt.tos |= 3;
	if (pkt.opcode != WIRE_CNP)
		pkt.psn = take_psn(flow, qp, rg_op_reads(op) ? rg_flow_read_psns(flow->config, qp->message_bytes) : 1);
	wire_write(frame, &net, &pkt);
	finish(flow, qp, &pkt, frame, now_ns);
	qp->left_bytes -= rg_op_sized(op) ? bytes : qp->left_bytes;
	qp->in_message = !last;
	qp->number++;
	return pkt.frame_bytes;
}

static uint32_t make_next(struct rg_flow *flow, uint64_t now_ns, uint8_t *frame)
{
	uint32_t q = flow->qp;
	struct rg_qp *qp = &flow->qps[q];

	if (flow->config->pcap[0] != '\0')
		return rg_replay_take(&flow->replay, frame, flow->room);
	flow->qp = q + 1 < flow->config->qps ? q + 1 : 0;
	flow->due_qp = q;
	if (!qp->in_message)
		start_message(flow, qp);
	if (flow->config->ops[qp->op].kind == RG_OP_PFC)
		return make_pfc(flow, frame);
	return make_roce(flow, q, now_ns, frame);
}

/* A frame that a fault adds. */
static uint32_t make_due(struct rg_flow *flow, uint8_t *frame)
{
	if ((flow->due & BIT(REPEAT)) != 0) {
		flow->due &= ~BIT(REPEAT);
		memcpy(frame, flow->kept, flow->kept_bytes);
		return flow->kept_bytes;
	}
	if ((flow->due & BIT(CNP)) != 0) {
		flow->due &= ~BIT(CNP);
		return make_cnp(flow, flow->due_qp, frame);
	}
	flow->due = 0;
	return make_pfc(flow, frame);
}

uint32_t rg_flow_next(struct rg_flow *flow, uint64_t now_ns, uint8_t *frame)
{
	uint32_t bytes;

	if (flow->due != 0) {
		bytes = make_due(flow, frame);
	} else {
		draw_faults(flow);
		bytes = damage(flow, frame, make_next(flow, now_ns, frame));
		count_faults(flow);
		flow->stats.packets++;
	}
	flow->stats.frames += bytes != 0;
	flow->stats.bytes += bytes;
	return bytes;
}
