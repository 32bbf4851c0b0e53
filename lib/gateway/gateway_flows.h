/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows of hosts, as a gateway tells them apart: what has to stay in order. A table of fixed size; a flow that was
 * silent for long gives its place to a new one. Keys come from the network, so places are by a hash that nobody can
 * foresee, and one host may have only a share of them. Pure; one thread; memory is taken at set-up.
 */
#ifndef GATEWAY_FLOWS_H
#define GATEWAY_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base_siphash.h"
#include "wire_frame.h"

/* 5-tuple (the protocol is UDP, the destination port RoCE's), queue pair and DSCP. No gaps: it is hashed as it is. */
struct gateway_flow_key {
	struct wire_addr src, dst;
	uint32_t dqpn;
	uint32_t sport;          /* and the DSCP from bit 16 on */
};

_Static_assert(sizeof(struct gateway_flow_key) == 40, "no gaps");

struct gateway_flow {
	struct gateway_flow_key key;
	uint64_t seen_ns;
	uint32_t seq;            /* of the next packet */
	uint32_t number;         /* from 1; the same as long as the flow lives */
	uint32_t remote;         /* the caller's: behind which gateway dst is */
	uint8_t generation;      /* counts the flows that had this number */
	bool used;
	uint32_t newer, older;   /* in order of seen_ns; numbers, 0: the end */
};

struct gateway_flows_config {
	uint32_t max;            /* flows, 1 .. 2^20 */
	uint32_t max_per_host;   /* of one source, about: hosts whose hashes meet share it */
	uint64_t idle_ns;        /* a flow that was silent for so long may go */
	struct base_siphash_key key;
};

struct gateway_flows_stats {
	uint32_t flows;
	uint64_t made, aged, at_limit, at_host_limit;
};

struct gateway_flows;

/* NULL: no memory, or a number out of range. */
struct gateway_flows *gateway_flows_new(const struct gateway_flows_config *config);
/* NULL is allowed. */
void gateway_flows_free(struct gateway_flows *flows);

/* Finds the flow, or makes it. NULL: the table is full of flows that live, or the host has its share. */
struct gateway_flow *gateway_flows_get(
	struct gateway_flows *flows, const struct gateway_flow_key *key, uint64_t now_ns);
/* The same, but none is made: NULL: it is not there. */
struct gateway_flow *gateway_flows_find(
	struct gateway_flows *flows, const struct gateway_flow_key *key, uint64_t now_ns);
/* The flow of that number; NULL: there is none. */
const struct gateway_flow *gateway_flows_at(const struct gateway_flows *flows, uint32_t number);
/* Ends at most `most` flows that were silent for too long. */
void gateway_flows_age(struct gateway_flows *flows, uint64_t now_ns, uint32_t most);
void gateway_flows_get_stats(const struct gateway_flows *flows, struct gateway_flows_stats *stats);

#endif
