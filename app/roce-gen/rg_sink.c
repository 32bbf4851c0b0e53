/* SPDX-License-Identifier: BSD-3-Clause */
#include "rg_sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rg_flow.h"
#include "rg_random.h"
#include "rg_stamp.h"
#include "wire_addr.h"
#include "wire_ecn.h"
#include "wire_pause.h"

int rg_sink_init(struct rg_sink *sink, const struct rg_config *config)
{
	uint32_t slots = 2;

	/* half of the slots stay empty, so that looking for a stream takes a step or two */
	while (slots < 2 * config->streams)
		slots *= 2;
	*sink = (struct rg_sink){.n_flows = config->n_flows, .max_streams = config->streams, .mask = slots - 1};
	sink->flows = calloc(config->n_flows + 1, sizeof(*sink->flows));
	sink->streams = calloc(slots, sizeof(*sink->streams));
	if (sink->flows == NULL || sink->streams == NULL)
		return -ENOMEM;
	for (uint32_t f = 0; f < config->n_flows; f++)
		sink->flows[f].config = &config->flows[f];
	return 0;
}

void rg_sink_fini(struct rg_sink *sink)
{
	free(sink->flows);
	free(sink->streams);
	sink->flows = NULL;
	sink->streams = NULL;
}

struct rg_sink_flow *rg_sink_flow(struct rg_sink *sink, uint32_t flow)
{
	return &sink->flows[flow == RG_OTHER_FLOW ? sink->n_flows : flow];
}

/* ---- streams ---- */

static bool in_network(const struct config_prefix *network, const struct wire_addr *addr)
{
	return wire_addr_same_network(&network->addr, addr, wire_addr_prefix(&network->addr, network->len));
}

static uint32_t flow_of(const struct rg_sink *sink, const struct wire_addr *src, const struct wire_addr *dst,
	uint32_t dqpn)
{
	for (uint32_t f = 0; f < sink->n_flows; f++) {
		const struct rg_flow_config *config = sink->flows[f].config;

		if (config->pcap[0] == '\0' && dqpn >= config->first_qpn && dqpn - config->first_qpn < config->qps &&
			in_network(&config->src, src) && in_network(&config->dst, dst))
			return f;
	}
	return RG_OTHER_FLOW;
}

static uint64_t hash_of(const struct wire_addr *src, const struct wire_addr *dst, uint32_t dqpn)
{
	uint64_t words[4], hash = dqpn;

	memcpy(words, src, sizeof(*src));
	memcpy(words + 2, dst, sizeof(*dst));
	for (int i = 0; i < 4; i++)
		hash = rg_mix(hash ^ words[i]);
	return hash;
}

/* NULL: there is none, and make is false or there is no room for one. */
static struct rg_stream *find(struct rg_sink *sink, const struct wire_addr *src, const struct wire_addr *dst,
	uint32_t dqpn, bool make)
{
	uint32_t slot = (uint32_t)hash_of(src, dst, dqpn) & sink->mask;
	struct rg_stream *stream = &sink->streams[slot];

	while (stream->used) {
		if (stream->dqpn == dqpn && memcmp(&stream->src, src, sizeof(*src)) == 0 &&
			memcmp(&stream->dst, dst, sizeof(*dst)) == 0)
			return stream;
		slot = (slot + 1) & sink->mask;
		stream = &sink->streams[slot];
	}
	if (!make || sink->n_streams == sink->max_streams)
		return NULL;
	sink->n_streams++;
	*stream = (struct rg_stream){.used = true, .dqpn = dqpn, .src = *src, .dst = *dst};
	stream->flow = flow_of(sink, src, dst, dqpn);
	return stream;
}

uint32_t rg_sink_windows(const struct rg_sink *sink, uint32_t flow, struct rg_window_stats *psns,
	struct rg_window_stats *numbers)
{
	uint32_t n = 0;

	*psns = *numbers = (struct rg_window_stats){0};
	for (uint32_t i = 0; i <= sink->mask; i++) {
		const struct rg_stream *stream = &sink->streams[i];

		if (!stream->used || stream->flow != flow)
			continue;
		n++;
		rg_window_add(psns, &stream->psns.stats);
		rg_window_add(numbers, &stream->numbers.stats);
	}
	return n;
}

/* ---- packets ---- */

static void take_stamp(struct rg_sink_flow *flow, struct rg_stream *stream, const uint8_t *payload, uint32_t n,
	uint64_t now_ns)
{
	struct rg_stamp stamp;

	if (!rg_stamp_read(payload, n, &stamp))
		return;
	flow->stats.stamped++;
	if (stream != NULL)
		rg_window_take(&stream->numbers, (uint32_t)stamp.number & 0xffffff, 1);
	if (stamp.sent_ns > now_ns)
		flow->stats.from_the_future++;
	else
		rg_hist_add(&flow->latency, now_ns - stamp.sent_ns);
}

/* A READ takes the PSNs of its answers; how many these are depends on the path MTU, which only a flow tells. */
static uint32_t psns_of(const struct rg_sink_flow *flow, const struct wire_pkt *pkt)
{
	if (flow->config == NULL || !wire_op_is(wire_opinfo(pkt->opcode), WIRE_OP_READ))
		return 1;
	return rg_flow_read_psns(flow->config, pkt->dma_bytes);
}

static void take_right(struct rg_sink_flow *flow, struct rg_stream *stream, const uint8_t *frame,
	const struct wire_pkt *pkt, uint64_t now_ns)
{
	struct rg_sink_stats *stats = &flow->stats;

	if (stats->packets == 0)
		stats->first_ns = now_ns;
	stats->last_ns = now_ns;
	stats->packets++;
	stats->bytes += pkt->frame_bytes;
	stats->payload_bytes += pkt->payload_bytes;
	stats->ce += (pkt->tos & WIRE_ECN_MASK) == WIRE_ECN_MASK;
	stats->bad_pad += (pkt->payload_bytes + pkt->pad) % 4 != 0;
	if (pkt->opcode == WIRE_CNP) {
		stats->cnps++;
		return;
	}
	if (stream != NULL)
		rg_window_take(&stream->psns, pkt->psn, psns_of(flow, pkt));
	else
		stats->untracked++;
	take_stamp(flow, stream, frame + pkt->payload_off, pkt->payload_bytes, now_ns);
}

static void take_roce(struct rg_sink *sink, struct rg_sink_port *port, const uint8_t *frame, const struct wire_pkt *pkt,
	uint64_t now_ns)
{
	bool right = wire_icrc_ok(frame, pkt);
	struct wire_addr src, dst;
	struct rg_stream *stream;
	struct rg_sink_flow *flow;

	wire_src(frame, pkt, &src);
	wire_dst(frame, pkt, &dst);
	/* a damaged packet makes no stream: its header may be what is damaged */
	stream = find(sink, &src, &dst, pkt->dqpn, right && pkt->opcode != WIRE_CNP);
	flow = rg_sink_flow(sink, stream != NULL ? stream->flow : flow_of(sink, &src, &dst, pkt->dqpn));
	if (!right) {
		port->malformed[BASE_DROP_ICRC]++;
		flow->stats.bad_icrc++;
		return;
	}
	take_right(flow, stream, frame, pkt, now_ns);
}

static void take_pause(struct rg_sink_port *port, const uint8_t *frame, uint32_t n, uint32_t off)
{
	struct wire_pause pause;

	if (wire_pause_parse(frame + off, n - off, &pause) != BASE_DROP_NONE) {
		port->malformed[BASE_DROP_TRUNCATED]++;
		return;
	}
	if (pause.kind == WIRE_PAUSE_UNKNOWN) {
		port->other++;
		return;
	}
	port->pfc_frames++;
	for (int p = 0; p < WIRE_PAUSE_PRIORITIES; p++)
		port->paused[p] += (pause.named >> p & 1) != 0 && pause.quanta[p] != 0;
}

void rg_sink_take(struct rg_sink *sink, struct rg_sink_port *port, const uint8_t *frame, uint32_t n, uint64_t now_ns,
	struct wire_pkt *pkt)
{
	enum base_drop why = wire_parse(frame, n, pkt);

	port->frames++;
	port->bytes += n;
	if (why != BASE_DROP_NONE)
		port->malformed[why]++;
	else if (pkt->kind == WIRE_KIND_ROCE_V2 || pkt->kind == WIRE_KIND_ROCE_V1)
		take_roce(sink, port, frame, pkt, now_ns);
	else if (pkt->kind == WIRE_KIND_PFC)
		take_pause(port, frame, n, pkt->l3_off);
	else
		port->other++;
}
