/* SPDX-License-Identifier: BSD-3-Clause */
#include "gateway.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "protect.h"
#include "wire_addr.h"
#include "wire_arp_nd.h"
#include "wire_psp.h"

#define NS_PER_US 1000u
#define NS_PER_MS 1000000u
#define ETH_BYTES  14u
#define VLAN_BYTES 4u
#define IP4_BYTES  20u
#define IP6_BYTES  40u
#define UDP_BYTES  8u
#define FIRST_SPORT 0xc000u /* RoCE's convention: the upper quarter */

/* ---- main thread ---- */

const struct port_addr *gateway_own_addr(const struct gateway *gateway, bool v4)
{
	for (uint32_t i = 0; i < gateway->fabric->n_addrs; i++) {
		const struct port_addr *addr = &gateway->fabric->addrs[i];
		bool link_local = addr->addr.b[0] == 0xfe && addr->addr.b[1] == 0x80;

		if (addr->device == gateway->config->device_index && !link_local && wire_addr_is_v4(&addr->addr) == v4)
			return addr;
	}
	return NULL;
}

/* Of an IPv4 header without traffic class, length, identification and checksum. */
static uint32_t fixed_sum(const uint8_t *ip)
{
	const uint8_t version[2] = {ip[0], 0};

	return wire_csum_add(wire_csum_add(wire_csum_add(0, version, 2), ip + 6, 4), ip + 12, 8);
}

/* What does not change from packet to packet. */
static void make_header(const struct gateway *gateway, struct gateway_remote *remote, const struct port_addr *from)
{
	struct wire_l2l3 net = {
		.src = remote->local, .dst = remote->addr, .has_vlan = from->has_vlan, .vlan_tci = from->vlan_tci};

	memcpy(net.smac, from->mac, sizeof(net.smac));
	remote->header_bytes =
		(uint8_t)wire_udp_write(remote->header, &net, 0, (uint16_t)gateway->config->port, remote->header, 0);
	remote->l3_off = (uint8_t)(ETH_BYTES + (from->has_vlan ? VLAN_BYTES : 0));
	remote->l4_off = (uint8_t)(remote->l3_off + (remote->v4 ? IP4_BYTES : IP6_BYTES));
	if (remote->v4)
		remote->ip4_sum = fixed_sum(remote->header + remote->l3_off);
}

static bool has_remote(const struct config_gateway *config, uint32_t r)
{
	return r < config->n_remotes && config->remotes[r].n_networks != 0;
}

/* Of the configuration's far gateway r; the place is free or has that one. */
static void make_remote(const struct roced *roced, struct gateway *gateway, const struct config *config, uint32_t r)
{
	struct gateway_remote *remote = &gateway->remotes[r];
	const struct wire_addr *addr = &config->gateway.remotes[r].address.addr;
	const struct port_addr *from = gateway_own_addr(gateway, wire_addr_is_v4(addr));
	const struct config_protect *policy;
	uint32_t overhead;

	remote->addr = *addr;
	remote->v4 = wire_addr_is_v4(&remote->addr);
	remote->local = from->addr;
	policy = protect_policy(&config->protection, 1u << config->gateway.device_index, &remote->addr);
	remote->required = policy != NULL && policy->policy == CONFIG_PROTECT_REQUIRED;
	make_header(gateway, remote, from);
	overhead = (uint32_t)(remote->l4_off - remote->l3_off) + UDP_BYTES + WIRE_TUNNEL_BYTES +
		(policy != NULL && policy->policy != CONFIG_PROTECT_OFF ? WIRE_PSP_OVERHEAD : 0);
	remote->room = gateway->fabric->config->mtu > overhead ? gateway->fabric->config->mtu - overhead : 0;
	remote->sport = (uint16_t)(FIRST_SPORT + (roced->seed + r * 2654435761u) % (0x4000 - PATH_SCHED_MAX_EVS));
}

static void list_host_vlans(struct gateway *gateway)
{
	for (uint16_t vlan = 1; vlan < CONFIG_VLANS; vlan++) {
		if ((gateway->config->host_vlans[vlan / 64] >> vlan % 64 & 1) != 0)
			gateway->host_vlans[gateway->n_host_vlans++] = vlan;
	}
}

int gateway_init(struct roced *roced)
{
	const struct config_gateway *config = &roced->config.gateway;
	struct gateway *gateway;

	if (config->device[0] == '\0')
		return 0;
	gateway = calloc(1, sizeof(*gateway));
	if (gateway == NULL)
		return -ENOMEM;
	roced->gateway = gateway;
	gateway->config = config;
	gateway->fabric = &roced->ports[roced->config.devices[config->device_index].port_index];
	list_host_vlans(gateway);
	path_sched_config_default(&gateway->sched);
	path_sched_config_base(&gateway->sched, config->base_rtt_us * NS_PER_US);
	gateway->sched.n_evs = (uint8_t)config->paths;
	gateway->sched.kind = config->scheduler.kind;
	gateway->hosts = gateway_hosts_new(roced->seed);
	if (gateway->hosts == NULL)
		return -ENOMEM;
	if (gateway_cnp_init(roced, gateway) != 0)
		return -ENOMEM;
	gateway->n_remotes = config->n_remotes;
	for (uint32_t r = 0; r < gateway->n_remotes; r++) {
		gateway->remotes[r].number = gateway->last_number++;
		make_remote(roced, gateway, &roced->config, r);
	}
	gateway_direct_warn(roced);
	return path_sched_config_check(&gateway->sched);
}

struct link *gateway_hold_remote(struct roced *roced, uint32_t r)
{
	const struct gateway *gateway = roced->gateway;
	const struct gateway_remote *remote = &gateway->remotes[r];
	struct link *link = link_hold_by(roced, gateway->fabric, gateway->config->device_index, &remote->local, &remote->addr);
	char text[WIRE_ADDR_TEXT_BYTES];

	if (link == NULL)
		log_line(LOG_WARNING, "gateway: there is no way to %s: give devices[].gateway4 or gateway6", wire_addr_print(&remote->addr, text));
	log_line(LOG_INFO, "gateway: hosts may send packets of %u bytes to those behind %s", remote->room, wire_addr_print(&remote->addr, text));
	return link;
}

void gateway_find_remotes(struct roced *roced)
{
	for (uint32_t r = 0; roced->gateway != NULL && r < roced->gateway->n_remotes; r++)
		roced->gateway->remotes[r].link = gateway_hold_remote(roced, r);
}

void gateway_fini(struct roced *roced)
{
	struct gateway *gateway = roced->gateway;

	if (gateway == NULL)
		return;
	for (uint32_t r = 0; r < gateway->n_remotes; r++) {
		if (gateway->remotes[r].link != NULL)
			link_release(roced, gateway->remotes[r].link);
	}
	gateway_hosts_free(gateway->hosts);
	gateway_peers_free(gateway->peers);
	free(gateway);
	roced->gateway = NULL;
}

/* ---- workers ---- */

/* Nothing has come from it, and nothing was sent to it. */
static void begin_remote(struct gateway_worker *gw, uint32_t r)
{
	struct gateway_lane *lanes = &gw->lanes[r * gw->lanes_per_remote];
	uint32_t left = 0;

	for (uint32_t i = 0; i < gw->n_news; i++) {
		if (gw->news[i]->remote != r)
			gw->news[left++] = gw->news[i];
	}
	gw->n_news = left;
	memset(lanes, 0, gw->lanes_per_remote * sizeof(lanes[0]));
	for (uint32_t i = 0; i < gw->lanes_per_remote; i++) {
		lanes[i].remote = (uint8_t)r;
		lanes[i].lane = (uint8_t)(i * gw->worker->roced->n_workers + gw->worker->index);
	}
	gateway_tx_init(&gw->tx[r], &gw->shared->sched, (uint64_t)gw->shared->config->silence_us * NS_PER_US,
		gw->worker->roced->seed + r);
	gw->tx_tos[r] = 0;
	gw->too_long[r] = (struct gateway_too_long){0};
}

/* For as many as there can ever be: a reload may add some. */
static int make_lanes(struct gateway_worker *gw)
{
	uint32_t n_workers = gw->worker->roced->n_workers, n = CONFIG_MAX_REMOTES;

	gw->lanes_per_remote = (GATEWAY_LANES + n_workers - 1) / n_workers;
	gw->lanes = calloc((size_t)n * gw->lanes_per_remote, sizeof(gw->lanes[0]));
	gw->news = calloc((size_t)n * gw->lanes_per_remote, sizeof(gw->news[0]));
	gw->tx = calloc(n, sizeof(gw->tx[0]));
	gw->tx_tos = calloc(n, sizeof(gw->tx_tos[0]));
	gw->too_long = calloc(n, sizeof(gw->too_long[0]));
	if (gw->lanes == NULL || gw->news == NULL || gw->tx == NULL || gw->tx_tos == NULL || gw->too_long == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < gw->shared->n_remotes; r++)
		begin_remote(gw, r);
	return 0;
}

void gateway_set_remote(struct roced *roced, const struct config *config, uint32_t r)
{
	struct gateway *gateway = roced->gateway;
	struct gateway_remote *remote = &gateway->remotes[r];
	bool there = has_remote(&config->gateway, r);

	if (!there) {
		*remote = (struct gateway_remote){.number = remote->number};
		return;
	}
	if (r >= gateway->n_remotes)
		gateway->n_remotes = r + 1;
	if (remote->header_bytes == 0) {
		remote->number = gateway->last_number++;
		gateway->watched[r] = (struct gateway_watched){0};
		for (uint32_t w = 0; w < roced->n_workers; w++)
			begin_remote(roced->workers[w]->gateway, r);
	}
	make_remote(roced, gateway, config, r);
}

/* In order again: to the host. */
static void pass(void *ctx, void *packet)
{
	gateway_to_host(ctx, packet);
}

static uint32_t may_be_held(const struct gateway *gateway, uint32_t n_workers)
{
	uint32_t most = gateway->fabric->config->mbufs / 4 / n_workers + 1;

	return RTE_MIN(gateway->config->reorder_packets, most);
}

int gateway_worker_init(struct worker *worker)
{
	struct gateway *shared = worker->roced->gateway;
	struct gateway_worker *gw;
	uint64_t seed = worker->roced->seed + worker->index;

	if (shared == NULL)
		return 0;
	gw = calloc(1, sizeof(*gw));
	if (gw == NULL)
		return -ENOMEM;
	worker->gateway = gw;
	gw->worker = worker;
	gw->shared = shared;
	gw->macs.seed = seed;
	gw->retry_ns = UINT64_MAX;
	gw->flows = gateway_flows_new(&(struct gateway_flows_config){
		.max = shared->config->max_flows,
		.max_per_host = shared->config->max_flows_per_host,
		.idle_ns = (uint64_t)shared->config->flow_idle_ms * NS_PER_MS,
		.key = {{seed, seed * 0x9e3779b97f4a7c15u}},
	});
	gw->reorder = gateway_reorder_new(&(struct gateway_reorder_config){
		.flows = shared->config->max_flows,
		.held = may_be_held(shared, worker->roced->n_workers),
		.window = RTE_MIN(may_be_held(shared, worker->roced->n_workers), 32768u),
		.wait_ns = (uint64_t)shared->config->reorder_us * NS_PER_US,
		.key = {{~seed, seed * 0xbf58476d1ce4e5b9u}},
		.pass = pass,
		.ctx = worker,
	});
	if (gw->flows == NULL || gw->reorder == NULL || gateway_direct_init(gw) != 0)
		return -ENOMEM;
	return make_lanes(gw);
}

static void give_back(void *ctx, void *packet)
{
	(void)ctx;
	rte_pktmbuf_free(packet);
}

void gateway_worker_fini(struct worker *worker)
{
	struct gateway_worker *gw = worker->gateway;

	if (gw == NULL)
		return;
	gateway_wait_fini(gw);
	gateway_flows_free(gw->flows);
	gateway_reorder_free(gw->reorder, give_back);
	gateway_pairs_free(gw->pairs);
	free(gw->lanes);
	free(gw->news);
	free(gw->tx);
	free(gw->tx_tos);
	free(gw->too_long);
	free(gw);
	worker->gateway = NULL;
}
