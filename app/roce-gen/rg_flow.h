/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One flow: makes its frames one after the other, headers, payload and ICRC, and what is to be wrong with them. It
 * knows no clock and no port: the same configuration, seed and times give the same bytes.
 */
#ifndef RG_FLOW_H
#define RG_FLOW_H

#include "rg_config.h"
#include "rg_replay.h"

#define RG_FRAME_BYTES 10240u  /* room that a frame may need */

struct rg_qp {
	uint32_t psn;
	uint32_t op;               /* of the message that is being sent */
	uint32_t message_bytes, left_bytes;
	bool in_message;
	uint64_t number;           /* of the next packet */
	uint64_t stamp;            /* number of the next stamp: small packets have none */
};

struct rg_flow_stats {
	uint64_t packets;          /* made, those lost on purpose included */
	uint64_t frames, bytes;    /* handed out: without the lost ones, with what faults add */
	uint64_t messages;
	uint64_t faults[RG_FAULTS];
};

struct rg_flow {
	const struct rg_flow_config *config;
	uint32_t index;
	uint8_t smac[6], dmac[6];
	uint32_t room;             /* longest frame of a capture that is sent whole; RG_FRAME_BYTES at first */
	uint64_t random;
	struct rg_qp *qps;
	uint8_t *fill, *kept;      /* payload; the frame that is to be repeated */
	uint32_t kept_bytes;
	uint32_t qp, op, size, sport; /* whose turn it is */
	uint64_t seen[RG_MAX_FAULTS]; /* packets that each fault has counted */
	uint32_t fired;            /* faults of this packet, bit enum rg_fault_kind */
	uint32_t amount[RG_FAULTS];
	uint32_t due;              /* faults whose own frame comes next */
	uint32_t due_qp;
	struct rg_replay replay;   /* when config->pcap says so */
	struct rg_flow_stats stats;
};

/* smac, dmac: of the ports, for a configuration that says none. 0, -ENOMEM, or what rg_replay_open() says, with msg.
 * rg_flow_fini() is due either way. */
int rg_flow_init(struct rg_flow *flow, const struct rg_flow_config *config, uint32_t index, uint64_t seed,
	const uint8_t smac[6], const uint8_t dmac[6], char *msg, uint32_t n);
void rg_flow_fini(struct rg_flow *flow);

/* Whether its count is reached, or its file at the end. */
bool rg_flow_done(const struct rg_flow *flow);
/* Makes the next frame in RG_FRAME_BYTES of frame, or as much as the port's MTU and flow->room need; now_ns goes into
 * its payload. Its length; 0: lost on purpose. */
uint32_t rg_flow_next(struct rg_flow *flow, uint64_t now_ns, uint8_t *frame);

/* The address of a flow's queue pair: a host of the network, in turn. */
struct wire_addr rg_flow_addr(const struct config_prefix *network, uint32_t qp);
/* PSNs that a READ of so many bytes takes. */
uint32_t rg_flow_read_psns(const struct rg_flow_config *config, uint32_t bytes);

#endif
