/* SPDX-License-Identifier: BSD-3-Clause */
/* Out of tunnels. */
#include <string.h>

#include "gateway.h"
#include "gateway_ecn.h"
#include "wire_addr.h"
#include "wire_ecn.h"
#include "wire_psp.h"

#define ETH_BYTES  14u
#define VLAN_BYTES 4u
#define UDP_BYTES  8u
#define TYPE_VLAN  0x8100

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint8_t version_of(const uint8_t *ip)
{
	return ip[0] >> 4;
}

static uint8_t tos_of(const uint8_t *ip)
{
	return wire_traffic_class(ip, version_of(ip));
}

/* ---- to hosts ---- */

void gateway_dst(const uint8_t *ip, struct wire_addr *dst)
{
	if (version_of(ip) == 4)
		wire_addr_from_v4(dst, ip + 16);
	else
		memcpy(dst, ip + 24, sizeof(*dst));
}

bool gateway_pass_to_host(struct worker *worker, const struct wire_addr *dst, struct rte_mbuf *m)
{
	struct gateway_worker *gw = worker->gateway;
	const uint8_t *ip = rte_pktmbuf_mtod(m, const uint8_t *);
	uint16_t type = ip[0] >> 4 == 4 ? 0x0800 : 0x86dd;
	uint8_t tos = tos_of(ip), *frame;
	struct gateway_host host;
	const struct port *port;

	if (!gateway_recent_find(&gw->recent, gw->shared->hosts, dst, worker->now_ns, &host))
		return false;
	port = &worker->roced->ports[host.port];
	frame = (uint8_t *)rte_pktmbuf_prepend(m, (uint16_t)(ETH_BYTES + (host.has_vlan ? VLAN_BYTES : 0)));
	if (frame == NULL) {
		worker_discard(worker, m, BASE_DROP_NO_ROOM);
		return true;
	}
	memcpy(frame, host.mac, 6);
	memcpy(frame + 6, port->mac, 6);
	if (host.has_vlan) {
		put16(frame + 12, TYPE_VLAN);
		put16(frame + 14, host.vlan_tci);
	}
	put16(frame + (host.has_vlan ? 16 : 12), type);
	TP_PKT(m)->l3_off = (uint16_t)(ETH_BYTES + (host.has_vlan ? VLAN_BYTES : 0));
	TP_PKT(m)->tos = tos;
	m->port = port->id;
	m->ol_flags = 0;
	gw->counters.came++;
	worker_emit(worker, m, ROUTE_TX);
	return true;
}

void gateway_to_host(struct worker *worker, struct rte_mbuf *m)
{
	struct gateway_worker *gw = worker->gateway;
	struct wire_addr dst;

	gateway_dst(rte_pktmbuf_mtod(m, const uint8_t *), &dst);
	/* Who came before goes before. */
	if (gw->n_waiting != 0)
		gateway_wait_retry(worker);
	if (!gateway_pass_to_host(worker, &dst, m))
		gateway_wait_add(worker, m, &dst);
}

/* ---- from tunnels ---- */

static struct gateway_lane *lane_of(const struct gateway_worker *gw, const uint8_t *frame, const struct wire_udp_at *at)
{
	uint32_t n_workers = gw->worker->roced->n_workers, lane = get16(frame + at->l4 + 2) - gw->shared->config->port;
	struct wire_addr src, dst;

	wire_udp_addrs(frame, at, &src, &dst);
	for (uint32_t r = 0; r < gw->shared->n_remotes; r++) {
		const struct gateway_remote *remote = &gw->shared->remotes[r];

		if (memcmp(&remote->addr, &src, sizeof(src)) == 0 && memcmp(&remote->local, &dst, sizeof(dst)) == 0)
			return &gw->lanes[r * gw->lanes_per_remote + lane / n_workers];
	}
	return NULL;
}

/* Of what this worker has sent to that gateway. */
static void take_reports(
	struct gateway_worker *gw, const struct gateway_lane *lane, const struct wire_tunnel *t, const uint8_t *reports)
{
	struct wire_tunnel_report report;

	gw->counters.reports_received++;
	for (uint32_t i = 0; i < t->path; i++) {
		wire_tunnel_read_report(reports + i * WIRE_TUNNEL_REPORT_BYTES, &report);
		gateway_tx_report(&gw->tx[lane->remote], &report, gw->worker->now_ns);
	}
}

/* Something has come by a lane. */
static void note(struct gateway_worker *gw, struct gateway_lane *lane, const struct wire_tunnel *t, uint8_t tos)
{
	gateway_rx_packet(&lane->rx, t, (tos & 3) == GATEWAY_ECN_CE, gw->worker->now_ns);
	lane->tos = tos;
	if (!lane->listed) {
		lane->listed = true;
		gw->news[gw->n_news++] = lane;
	}
}

/* Whether a host's packet is all there, up to @n bytes; what is behind it is cut off. */
static bool is_whole(struct rte_mbuf *m)
{
	const uint8_t *ip = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t bytes;

	if (m->data_len < 20 || (ip[0] >> 4 != 4 && (ip[0] >> 4 != 6 || m->data_len < 40)))
		return false;
	bytes = ip[0] >> 4 == 4 ? get16(ip + 2) : 40u + get16(ip + 4);
	if (bytes < 20 || bytes > m->pkt_len)
		return false;
	return bytes == m->pkt_len || rte_pktmbuf_trim(m, (uint16_t)(m->pkt_len - bytes)) == 0;
}

static void take_packet(struct worker *worker, const struct gateway_lane *lane, const struct wire_tunnel *t,
	uint8_t tos, struct rte_mbuf *m)
{
	const uint32_t number = worker->gateway->shared->remotes[lane->remote].number;
	const struct gateway_place place = {.tunnel = number * GATEWAY_LANES + lane->lane,
		.flow = t->flow,
		.generation = t->generation,
		.seq = t->seq};
	uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *), ecn;

	if (!is_whole(m)) {
		worker_discard(worker, m, BASE_DROP_TUNNEL);
		return;
	}
	ecn = gateway_ecn_leave(tos_of(ip), tos);
	if (ecn == GATEWAY_ECN_DROP) {
		worker_discard(worker, m, BASE_DROP_TUNNEL_ECN);
		return;
	}
	if (worker->gateway->shared->peers != NULL)
		ecn = gateway_cnp_comes(worker, lane->remote, m, ecn);
	if (ecn != (tos_of(ip) & 3))
		wire_set_ecn(ip, version_of(ip), ecn);
	if (t->flow == 0)
		gateway_to_host(worker, m);
	else
		gateway_reorder_put(worker->gateway->reorder, &place, m, worker->now_ns);
}

void gateway_decap(struct worker *worker, struct rte_mbuf *m)
{
	struct gateway_worker *gw = worker->gateway;
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct gateway_lane *lane = NULL;
	struct wire_udp_at at;
	struct wire_tunnel t;
	uint8_t tos;

	if (wire_udp_find(frame, m->data_len, m->pkt_len, &at) == BASE_DROP_NONE)
		lane = lane_of(gw, frame, &at);
	if (lane == NULL || !wire_tunnel_read(frame + at.l4 + UDP_BYTES, (size_t)(at.end - at.l4) - UDP_BYTES, &t)) {
		worker_discard(worker, m, BASE_DROP_TUNNEL);
		return;
	}
	if (gw->shared->remotes[lane->remote].required && *roced_route(m) != ROUTE_OPENED) {
		worker_discard(worker, m, BASE_DROP_PLAIN);
		return;
	}
	tos = tos_of(frame + at.l3);
	if (t.type == WIRE_TUNNEL_REPORT) {
		take_reports(gw, lane, &t, frame + at.l4 + UDP_BYTES + WIRE_TUNNEL_BYTES);
		rte_pktmbuf_free(m);
		return;
	}
	note(gw, lane, &t, tos);
	if (t.type == WIRE_TUNNEL_PROBE) {
		rte_pktmbuf_free(m);
		return;
	}
	rte_pktmbuf_trim(m, (uint16_t)(m->pkt_len - at.end));
	rte_pktmbuf_adj(m, (uint16_t)(at.l4 + UDP_BYTES + WIRE_TUNNEL_BYTES));
	take_packet(worker, lane, &t, tos, m);
	if (lane->rx.n_news >= gw->shared->config->report_packets)
		gateway_send_report(worker, lane);
}
