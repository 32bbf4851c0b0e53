/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What came, by flow: which packets are missing, late or twice, how long they took, what was wrong with them. A stream
 * is what goes to one queue pair; streams belong to the flow of the configuration that they match, others to no flow. It
 * knows no clock and no port, and takes its memory at the start.
 */
#ifndef RG_SINK_H
#define RG_SINK_H

#include "base_drop.h"
#include "rg_config.h"
#include "rg_hist.h"
#include "rg_window.h"
#include "wire_frame.h"

#define RG_OTHER_FLOW UINT32_MAX

struct rg_sink_stats {
	uint64_t packets, bytes, payload_bytes; /* right ones; bytes of frames */
	uint64_t ce;               /* marked */
	uint64_t cnps;
	uint64_t bad_icrc;
	uint64_t bad_pad;          /* right but for a length that is no multiple of four */
	uint64_t stamped;          /* with a time and a number of roce-gen */
	uint64_t from_the_future;  /* stamped later than they came: two clocks */
	uint64_t untracked;        /* of streams that there was no room for */
	uint64_t first_ns, last_ns;
};

struct rg_sink_flow {
	const struct rg_flow_config *config; /* NULL: of no flow */
	struct rg_sink_stats stats;
	struct rg_hist latency;
};

/* Both from a port, all of them. */
struct rg_sink_port {
	uint64_t frames, bytes;
	uint64_t other;            /* neither RoCE nor PFC: ARP and the like */
	uint64_t pfc_frames;
	uint64_t paused[8];        /* PFC frames that pause this priority */
	uint64_t malformed[BASE_DROP_COUNT]; /* by reason; also what is not RoCE at all */
};

struct rg_stream {
	bool used;
	uint32_t flow;             /* index or RG_OTHER_FLOW */
	uint32_t dqpn;
	struct wire_addr src, dst;
	struct rg_window psns, numbers;
};

struct rg_sink {
	uint32_t n_flows;
	struct rg_sink_flow *flows; /* n_flows, and behind them what belongs to none */
	uint32_t n_streams, max_streams, mask;
	struct rg_stream *streams;
};

/* Memory for the configuration's flows and streams. 0 or -ENOMEM; rg_sink_fini() is due either way. */
int rg_sink_init(struct rg_sink *sink, const struct rg_config *config);
void rg_sink_fini(struct rg_sink *sink);

/* A whole frame came; *pkt is filled in with what it is. */
void rg_sink_take(struct rg_sink *sink, struct rg_sink_port *port, const uint8_t *frame, uint32_t n, uint64_t now_ns,
	struct wire_pkt *pkt);

struct rg_sink_flow *rg_sink_flow(struct rg_sink *sink, uint32_t flow);
/* The sums over a flow's streams; how many there are. */
uint32_t rg_sink_windows(const struct rg_sink *sink, uint32_t flow, struct rg_window_stats *psns,
	struct rg_window_stats *numbers);

#endif
