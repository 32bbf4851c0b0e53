/* SPDX-License-Identifier: BSD-3-Clause */
/* What no single key shows, and what follows from several. */
#include <string.h>
#include <unistd.h>

#include "rg_config.h"
#include "wire_addr.h"
#include "wire_icrc.h"

#define IP4_BYTES  20u
#define IP6_BYTES  40u
#define UDP_BYTES  8u
#define MAX_QPN    0xffffffu
#define MILLION    1000000u
#define DFLT_BYTES 1024u

#define SAY(...) config_error(reader, &flow->at, __VA_ARGS__)

static const struct wire_addr none;

static bool is_none(const struct config_prefix *prefix)
{
	return memcmp(&prefix->addr, &none, sizeof(none)) == 0;
}

static bool has_mac(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return memcmp(mac, zero, sizeof(zero)) != 0;
}

/* ---- what it sends ---- */

static void find_ops(struct config_reader *reader, struct rg_flow_config *flow, uint32_t f)
{
	if (flow->n_opcodes == 0) {
		strcpy(flow->opcodes[0].name, "RC_RDMA_WRITE");
		flow->n_opcodes = 1;
	}
	for (uint32_t i = 0; i < flow->n_opcodes; i++) {
		if (rg_op_find(flow->opcodes[i].name, &flow->ops[i]) != 0)
			SAY("flows[%u].opcodes[%u]: \"%s\" is none: give an opcode like RC_SEND_ONLY or UD_SEND_ONLY, a message "
				"like RC_RDMA_WRITE, or PFC", f, i, flow->opcodes[i].name);
	}
}

static uint32_t largest_size(const struct rg_flow_config *flow)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < flow->n_sizes; i++) {
		uint32_t to = flow->sizes[i].to_bytes != 0 ? flow->sizes[i].to_bytes : flow->sizes[i].bytes;

		most = to > most ? to : most;
	}
	return most;
}

static void check_sizes(struct config_reader *reader, struct rg_flow_config *flow, uint32_t f)
{
	uint32_t most;

	if (flow->n_sizes == 0)
		flow->sizes[flow->n_sizes++] = (struct rg_size){.at = flow->at, .bytes = DFLT_BYTES};
	for (uint32_t i = 0; i < flow->n_sizes; i++) {
		const struct rg_size *size = &flow->sizes[i];

		flow->weighted |= size->weight != 0;
		if (size->to_bytes != 0 && size->to_bytes < size->bytes)
			config_error(reader, &size->at, "flows[%u].sizes[%u]: to %u is less than bytes %u", f, i,
				size->to_bytes,
				size->bytes);
	}
	most = largest_size(flow);
	for (uint32_t i = 0; i < flow->n_opcodes; i++) {
		if (flow->ops[i].kind == RG_OP_PACKET && rg_op_sized(&flow->ops[i]) && most > flow->mtu)
			SAY("flows[%u].opcodes[%u]: %s is one packet, and a size of %u does not fit the mtu of %u", f,
				i,
				flow->opcodes[i].name, most, flow->mtu);
	}
}

static void check_fits(struct config_reader *reader, const struct rg_flow_config *flow, uint32_t f,
	const struct config_port *port)
{
	uint32_t ip_bytes = wire_addr_is_v4(&flow->dst.addr) ? IP4_BYTES : IP6_BYTES;

	for (uint32_t i = 0; i < flow->n_opcodes; i++) {
		const struct rg_op *op = &flow->ops[i];
		uint32_t bytes;

		if (op->kind == RG_OP_PFC)
			continue;
		bytes = ip_bytes + UDP_BYTES + wire_opinfo(op->first)->hdr_bytes + WIRE_ICRC_BYTES;
		if (rg_op_sized(op))
			bytes += largest_size(flow) < flow->mtu ? largest_size(flow) : flow->mtu;
		if (bytes <= port->mtu)
			continue;
		SAY("flows[%u].mtu: %s makes packets of %u bytes, port \"%s\" has an mtu of %u", f,
			flow->opcodes[i].name, bytes,
			port->name, port->mtu);
		return;
	}
}

static bool sends_roce(const struct rg_flow_config *flow)
{
	for (uint32_t i = 0; i < flow->n_opcodes; i++) {
		if (flow->ops[i].kind != RG_OP_PFC)
			return true;
	}
	return false;
}

static bool sends_pfc(const struct rg_flow_config *flow)
{
	for (uint32_t i = 0; i < flow->n_opcodes; i++) {
		if (flow->ops[i].kind == RG_OP_PFC)
			return true;
	}
	for (uint32_t i = 0; i < flow->n_faults; i++) {
		if (flow->faults[i].kind == RG_FAULT_PFC)
			return true;
	}
	return false;
}

static void check_addrs(struct config_reader *reader, const struct rg_flow_config *flow, uint32_t f)
{
	if (is_none(&flow->src) || is_none(&flow->dst))
		SAY("flows[%u]: needs src and dst, the IP addresses", f);
	else if (wire_addr_is_v4(&flow->src.addr) != wire_addr_is_v4(&flow->dst.addr))
		SAY("flows[%u]: src and dst must be of one IP version", f);
	if (flow->first_qpn + (uint64_t)flow->qps - 1 > MAX_QPN)
		SAY("flows[%u].qps: %u queue pairs from %u on are more than there are QPNs", f, flow->qps,
			flow->first_qpn);
	if (flow->sport_first + flow->sport_count > UINT16_MAX + 1u)
		SAY("flows[%u].sport_count: %u ports from %u on are more than there are", f, flow->sport_count,
			flow->sport_first);
	if (flow->vlan == 0 && flow->pcp != 0)
		SAY("flows[%u].pcp: needs a vlan, untagged frames have none", f);
}

/* ---- when and where ---- */

static void check_faults(struct config_reader *reader, const struct rg_flow_config *flow, uint32_t f)
{
	for (uint32_t i = 0; i < flow->n_faults; i++) {
		const struct rg_fault_config *fault = &flow->faults[i];
		bool all = fault->every == 1 || fault->ppm == MILLION;

		if ((fault->every != 0) == (fault->ppm != 0))
			config_error(reader, &fault->at, "flows[%u].faults[%u]: give one of every and ppm", f, i);
		if (fault->kind == RG_FAULT_LOSS && all)
			config_error(reader, &fault->at, "flows[%u].faults[%u]: all packets lost is no flow", f, i);
		if (fault->kind == RG_FAULT_BAD_OPCODE &&
			(fault->amount > UINT8_MAX || wire_opinfo((uint8_t)fault->amount)->name != NULL) &&
				fault->amount != 0)
			config_error(reader, &fault->at, "flows[%u].faults[%u]: %u is no undefined opcode", f, i,
			fault->amount);
	}
}

static void check_port_of(struct config_reader *reader, struct rg_config *config, uint32_t f)
{
	struct rg_flow_config *flow = &config->flows[f];
	uint32_t p = 0;

	while (flow->port[0] != '\0' && p < config->n_ports && strcmp(flow->port, config->ports[p].port.name) != 0)
		p++;
	if (p >= config->n_ports) {
		SAY("flows[%u].port: there is no port \"%s\"", f, flow->port);
		return;
	}
	flow->port_index = p;
	if (flow->pcap[0] == '\0' && !is_none(&flow->dst))
		check_fits(reader, flow, f, &config->ports[p].port);
	if (flow->pcap[0] == '\0' && config->role != RG_RX && !has_mac(flow->dmac) && config->n_ports != 2 &&
		sends_roce(flow))
		SAY("flows[%u].dmac: is missing, and there is no other port whose link address it could be", f);
}

static void check_replay(struct config_reader *reader, const struct rg_flow_config *flow, uint32_t f)
{
	if (flow->n_opcodes != 0 || flow->n_sizes != 0)
		SAY("flows[%u].pcap: what is replayed has neither opcodes nor sizes", f);
	for (uint32_t i = 0; i < flow->n_faults; i++) {
		const struct rg_fault_config *fault = &flow->faults[i];

		if (fault->kind != RG_FAULT_LOSS && fault->kind != RG_FAULT_REPEAT && fault->kind != RG_FAULT_TRUNCATE)
			config_error(reader, &fault->at,
				"flows[%u].faults[%u]: with pcap only loss, repeat and truncate can be", f,
				i);
	}
	if (access(flow->pcap, R_OK) != 0)
		SAY("flows[%u].pcap: %s cannot be read", f, flow->pcap);
}

static void check_flow(struct config_reader *reader, struct rg_config *config, uint32_t f)
{
	struct rg_flow_config *flow = &config->flows[f];

	for (uint32_t e = 0; e < f; e++) {
		if (strcmp(flow->name, config->flows[e].name) == 0)
			SAY("flows[%u].name: \"%s\" is used by flows[%u] too", f, flow->name, e);
	}
	if (flow->rate_mbps != 0 && flow->rate_pps != 0)
		SAY("flows[%u]: give one of rate_mbps and rate_pps", f);
	check_faults(reader, flow, f);
	if (flow->pcap[0] != '\0') {
		check_replay(reader, flow, f);
	} else {
		find_ops(reader, flow, f);
		check_sizes(reader, flow, f);
		if (sends_roce(flow))
			check_addrs(reader, flow, f);
		if (sends_pfc(flow) && flow->pfc_priorities == 0)
			SAY("flows[%u].pfc_priorities: is missing, its PFC frames would pause nothing", f);
	}
	check_port_of(reader, config, f);
}

/* ---- the whole ---- */

static bool meet(const struct config_prefix *a, const struct config_prefix *b)
{
	uint32_t la = wire_addr_prefix(&a->addr, a->len), lb = wire_addr_prefix(&b->addr, b->len);

	return wire_addr_same_network(&a->addr, &b->addr, la < lb ? la : lb);
}

/* Two flows to one queue pair would be one stream of PSNs to the sink. */
static void check_overlap(struct config_reader *reader, const struct rg_config *config, uint32_t f, uint32_t e)
{
	const struct rg_flow_config *flow = &config->flows[f], *other = &config->flows[e];

	if (flow->pcap[0] != '\0' || other->pcap[0] != '\0' || !sends_roce(flow) || !sends_roce(other))
		return;
	if (flow->first_qpn < other->first_qpn + other->qps && other->first_qpn < flow->first_qpn + flow->qps &&
		meet(&flow->src, &other->src) && meet(&flow->dst, &other->dst))
		SAY("flows[%u].first_qpn: flows[%u] sends to the same queue pairs", f, e);
}

void rg_check(struct config_reader *reader, struct rg_config *config)
{
	const struct config_port *ports[RG_MAX_PORTS];
	const struct config_at at = {0};

	for (uint32_t p = 0; p < config->n_ports; p++) {
		struct config_port *port = &config->ports[p].port;

		ports[p] = port;
		port->n_rx_queues = 1;
		port->promiscuous = true;
		config_check_port(reader, ports, p, 1);
	}
	if (config->n_flows == 0 && config->role != RG_RX && config->n_ports != 0)
		config_error(reader, &at, "flows: none is there, and the role is to send");
	for (uint32_t f = 0; f < config->n_flows; f++)
		check_flow(reader, config, f);
	for (uint32_t f = 0; reader->n_errors == 0 && f < config->n_flows; f++) {
		for (uint32_t e = 0; e < f; e++)
			check_overlap(reader, config, f, e);
	}
}
