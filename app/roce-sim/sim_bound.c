/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What cannot be beaten: a flow alone on the fabric; and for a run the longest of its chains of such flows, what each
 * host has to send and to receive at the rate of its link, and what each leaf has at that of all its uplinks. Faults
 * are not counted, so that a degraded fabric is compared with a healthy one.
 */
#include <stdlib.h>

#include "sim_flow.h"

#define HEADER_BYTES 58u /* Ethernet, IPv4, UDP, BTH, ICRC: 14 + 20 + 8 + 12 + 4; some have a RETH or an ImmDt too */
#define ACK_BYTES    62u

static uint64_t wire_bytes(const struct sim_run *run, uint64_t bytes)
{
	uint32_t mtu = run->scenario->transport.mtu;

	return bytes + (bytes + mtu - 1) / mtu * (HEADER_BYTES + FABRIC_WIRE_BYTES);
}

static uint64_t at_rate(uint64_t bytes, uint64_t mbps)
{
	return bytes * 8000 / mbps;
}

/* From its start to the receipt of its last byte; *answer: and to the acknowledgement of that. */
static uint64_t alone_ns(const struct sim_run *run, const struct sim_flow *flow, uint64_t *answer)
{
	const struct sim_scenario *s = run->scenario;
	uint64_t last = (flow->bytes - 1) % s->transport.mtu + 1, before = flow->bytes - last;
	uint64_t ns = at_rate(wire_bytes(run, before), s->fabric.host_mbps) +
		fabric_idle_ns(run->net->fabric, flow->src, flow->dst, (uint32_t)last + HEADER_BYTES);

	*answer = ns;
	if (s->transport.service == TP_QPT_RC)
		*answer += fabric_idle_ns(run->net->fabric, flow->dst, flow->src, ACK_BYTES);
	return ns;
}

static void add_load(const struct sim_run *run, const struct sim_flow *flow, uint64_t *up, uint64_t *down,
	uint64_t *leaf_up, uint64_t *leaf_down)
{
	uint32_t each = run->scenario->fabric.hosts_per_leaf;
	uint64_t bytes = wire_bytes(run, flow->bytes);

	up[flow->src] += bytes;
	down[flow->dst] += bytes;
	if (flow->src / each == flow->dst / each)
		return;
	leaf_up[flow->src / each] += bytes;
	leaf_down[flow->dst / each] += bytes;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t load_bound(const struct sim_run *run)
{
	const struct sim_scenario *s = run->scenario;
	uint32_t n = run->net->n_hosts, each = s->fabric.hosts_per_leaf, n_leaves = n / each;
	uint64_t *load = calloc(2 * ((size_t)n + n_leaves), sizeof(*load)), most = 0, first_ns = UINT64_MAX;
	uint64_t uplinks = s->fabric.leaf_mbps * s->fabric.spines;

	if (load == NULL)
		return 0;
	for (uint32_t i = 0; i < run->n_flows; i++) {
		add_load(run, &run->flows[i], load, load + n, load + 2 * n, load + 2 * n + n_leaves);
		if (run->flows[i].at_ns < first_ns)
			first_ns = run->flows[i].at_ns;
	}
	for (uint32_t i = 0; i < 2 * n; i++)
		most = larger(most, at_rate(load[i], s->fabric.host_mbps));
	for (uint32_t i = 2 * n; i < 2 * (n + n_leaves) && uplinks != 0; i++)
		most = larger(most, at_rate(load[i], uplinks));
	free(load);
	return most + (run->n_flows != 0 ? first_ns : 0);
}

void sim_bound(struct sim_run *run)
{
	uint64_t chain_ns = 0, answer;

	for (uint32_t i = 0; i < run->n_flows; i++) {
		struct sim_flow *flow = &run->flows[i];
		/* start_ns serves as the earliest start until the run begins; a chain's flows come in its order. */
		uint64_t from = flow->follows ? flow->start_ns : flow->at_ns;
		uint64_t arrives = from + alone_ns(run, flow, &answer);

		run->total_bytes += wire_bytes(run, flow->bytes);
		flow->ideal_ns = answer;
		chain_ns = larger(chain_ns, from + answer);
		if (flow->then != SIM_NONE)
			run->flows[flow->then].start_ns = arrives;
	}
	run->bound_ns = larger(chain_ns, load_bound(run));
	for (uint32_t i = 0; i < run->n_flows; i++)
		run->flows[i].start_ns = 0;
}
