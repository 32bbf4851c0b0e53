/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has been seen of flows: which message a packet belongs to, and whether it is sent again. A flow is what goes
 * from one host to a queue pair of another, requests and answers apart, as each has its own PSNs (IBTA vol. 1, 9.7.2).
 * Pure; packets are hostile.
 */
#ifndef RF_FLOWS_H
#define RF_FLOWS_H

#include "wire_frame.h"

#define RF_FLOW_SETS   64u   /* sets of RF_FLOW_WAYS; the one that was silent for longest gives way */
#define RF_FLOW_WAYS   4u
#define RF_FLOW_STARTS 64u   /* messages back, of which packets that are sent again are known to be */

struct rf_flow {
	uint32_t from, to, qpn;
	bool used, answers;
	uint64_t order;          /* of its last packet among all */
	uint32_t last_psn;
	uint32_t messages;       /* that have begun */
	uint32_t starts[RF_FLOW_STARTS]; /* the first PSN of message m is at (m - 1) modulo RF_FLOW_STARTS */
	uint64_t read_va, read_end; /* of the last READ request; 0: none */
};

struct rf_flows {
	uint64_t n_packets;
	struct rf_flow flows[RF_FLOW_SETS][RF_FLOW_WAYS];
};

struct rf_flow_place {
	uint32_t message;        /* from 1 on; 0: of none, as acknowledgements and datagrams are */
	bool again;
};

/*
 * Notes a packet. A first or only packet with a new PSN begins a message. What carries an old PSN is sent again, and
 * so is a READ request for the rest of the last one, which has a PSN of its own (IBTA vol. 1, 9.7.5.1.5). A PSN from
 * far away is of a new queue pair with an old number.
 */
struct rf_flow_place rf_flows_see(struct rf_flows *flows, uint32_t from, uint32_t to, const struct wire_pkt *pkt);

#endif
