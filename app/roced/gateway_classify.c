/* SPDX-License-Identifier: BSD-3-Clause */
/* What is the gateway's of the frames that arrive. */
#include <string.h>

#include "gateway.h"
#include "wire_addr.h"
#include "wire_arp_nd.h"
#include "wire_psp.h"

#define ETH_BYTES  14u
#define VLAN_BYTES 4u
#define TYPE_IP4   0x0800
#define TYPE_ARP   0x0806
#define TYPE_IP6   0x86dd
#define TYPE_VLAN  0x8100
#define ARP_SENDER 8u   /* link address, then IP address */
#define NEXT_UDP   17
#define FRAGMENT   0x3fff

static enum gateway_verdict drop(struct worker *worker, enum base_drop reason)
{
	worker_drop(worker, reason);
	return GATEWAY_DROP;
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static enum gateway_verdict bridge(struct worker *worker)
{
	return worker->gateway->shared->config->bridge ? GATEWAY_BRIDGE : drop(worker, BASE_DROP_NOT_ROCE);
}

/* ---- at a hosts' port, or of their VLAN at the fabric's ---- */

/* Any frame with an address of its sender says where that host is. */
static void learn(struct gateway_worker *gw, const struct port *port, const uint8_t *frame, size_t n)
{
	static const struct wire_addr none, none4 = {.b = {[10] = 0xff, [11] = 0xff}};
	struct gateway_host host = {.port = (uint8_t)port->index};
	uint16_t type = get16(frame + 12);
	size_t at = ETH_BYTES;

	if (type == TYPE_VLAN && n >= ETH_BYTES + VLAN_BYTES) {
		host.has_vlan = true;
		host.vlan_tci = get16(frame + 14);
		type = get16(frame + 16);
		at += VLAN_BYTES;
	}
	if (type == TYPE_IP4 && n >= at + 20)
		wire_addr_from_v4(&host.addr, frame + at + 12);
	else if (type == TYPE_ARP && n >= at + 28)
		wire_addr_from_v4(&host.addr, frame + at + ARP_SENDER + 6);
	else if (type == TYPE_IP6 && n >= at + 40)
		memcpy(&host.addr, frame + at + 8, sizeof(host.addr));
	else
		return;
	if (memcmp(&host.addr, &none, sizeof(none)) == 0 || memcmp(&host.addr, &none4, sizeof(none4)) == 0)
		return;
	memcpy(host.mac, frame + 6, sizeof(host.mac));
	gateway_recent_learn(&gw->recent, gw->shared->hosts, &host, gw->worker->now_ns);
}

/* The far gateway that a host is behind; false: none. */
static bool look_for_remote(const struct gateway *gateway, const struct wire_addr *dst, uint8_t *remote)
{
	int most = -1;

	for (uint32_t r = 0; r < gateway->n_remotes; r++) {
		const struct config_remote *config = &gateway->config->remotes[r];

		for (uint32_t i = 0; i < config->n_networks; i++) {
			uint32_t bits = wire_addr_prefix(&config->networks[i].addr, config->networks[i].len);

			if ((int)bits <= most || !wire_addr_same_network(&config->networks[i].addr, dst, bits))
				continue;
			most = (int)bits;
			*remote = (uint8_t)r;
		}
	}
	return most >= 0;
}

/* The same; what was found stays, until networks are others. */
static bool find_remote(struct gateway_worker *gw, const struct wire_addr *dst, uint8_t *remote)
{
	struct gateway_recent_way *way = gateway_recent_way(&gw->recent, dst);

	if (!way->known) {
		way->far = look_for_remote(gw->shared, dst, &way->remote);
		way->known = true;
	}
	*remote = way->remote;
	return way->far;
}

/* The first fragment of a RoCE packet; the others do not say what they are of. */
static bool is_fragment(const uint8_t *frame, size_t n, const struct wire_pkt *pkt)
{
	const uint8_t *ip = frame + pkt->l3_off;

	return pkt->l3_version == 4 && n >= pkt->l3_off + 28u && (get16(ip + 6) & FRAGMENT) == 0x2000 &&
	       ip[9] == NEXT_UDP && (ip[0] & 15) == 5 && get16(ip + 22) == WIRE_ROCE_PORT;
}

static enum gateway_verdict of_host(
	struct worker *worker, const struct port *port, struct rte_mbuf *m, const uint8_t *frame)
{
	struct gateway_worker *gw = worker->gateway;
	struct wire_pkt *pkt = TP_PKT(m);
	enum base_drop reason;
	struct wire_addr dst;
	uint8_t remote;

	if (m->data_len < ETH_BYTES)
		return drop(worker, BASE_DROP_TRUNCATED);
	reason = wire_parse(frame, m->data_len, pkt);
	if (pkt->kind == WIRE_KIND_PFC)
		return GATEWAY_NOT;
	learn(gw, port, frame, m->data_len);
	if (reason != BASE_DROP_NONE && is_fragment(frame, m->data_len, pkt))
		return drop(worker, BASE_DROP_FRAGMENT);
	if (pkt->kind != WIRE_KIND_ROCE_V2)
		return bridge(worker);
	if (reason != BASE_DROP_NONE)
		return drop(worker, reason);
	wire_dst(frame, pkt, &dst);
	if (!find_remote(gw, &dst, &remote))
		return gateway_direct_reaches(gw->shared, &dst) ? gateway_direct(worker, m) : bridge(worker);
	pkt->plane = remote;
	return GATEWAY_ENCAP;
}

/* ---- at the fabric's port ---- */

static bool is_own(const struct port *port, const uint8_t mac[6])
{
	for (uint32_t i = 0; i < port->n_addrs; i++) {
		if (memcmp(port->addrs[i].mac, mac, 6) == 0)
			return true;
	}
	return false;
}

/* A tunnel's packet, plain or opened already. */
static bool of_tunnel(struct worker *worker, struct rte_mbuf *m, const uint8_t *frame, enum gateway_verdict *verdict)
{
	const struct gateway *gateway = worker->gateway->shared;
	uint32_t lane = (uint32_t)wire_udp_dport(frame, m->data_len) - gateway->config->port, owner;
	struct wire_pkt *pkt = TP_PKT(m);

	if (lane >= GATEWAY_LANES)
		return false;
	owner = lane % worker->roced->n_workers;
	pkt->kind = WIRE_KIND_TUNNEL;
	pkt->dqpn = owner << WORKER_QPN_SHIFT;
	*verdict = owner == worker->index ? GATEWAY_DECAP : GATEWAY_HANDOFF;
	return true;
}

enum gateway_verdict gateway_classify(struct worker *worker, struct rte_mbuf *m)
{
	const struct gateway *gateway = worker->gateway->shared;
	const struct port *port = worker->roced->port_by_id[m->port];
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	enum gateway_verdict verdict;

	if (*roced_route(m) == ROUTE_LOOP)
		return GATEWAY_NOT;
	if (gateway_is_of_hosts(gateway, port, frame, m->data_len))
		return of_host(worker, port, m, frame);
	if (port != gateway->fabric || m->data_len < ETH_BYTES)
		return GATEWAY_NOT;
	if (is_own(port, frame))
		return of_tunnel(worker, m, frame, &verdict) ? verdict : GATEWAY_NOT;
	/* Others' frames; the groups' ones may be for us as well. */
	if (!gateway->config->bridge || get16(frame + 12) == 0x8808)
		return GATEWAY_NOT;
	return gateway_direct_came(worker, m);
}
