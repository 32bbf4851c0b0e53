/* SPDX-License-Identifier: BSD-3-Clause */
/* Into tunnels. */
#include <string.h>

#include "gateway.h"
#include "wire_addr.h"
#include "wire_arp_nd.h"

#define UDP_BYTES 8u
#define IP4_BYTES 20u
#define ECT0      2u

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* What differs from packet to packet. bytes: of UDP. */
static void finish_header(
	struct gateway_worker *gw, const struct gateway_remote *remote, uint8_t *frame, uint32_t bytes, uint8_t tos)
{
	uint8_t *ip = frame + remote->l3_off;

	if (remote->v4) {
		ip[1] = tos;
		put16(ip + 2, IP4_BYTES + bytes);
		put16(ip + 4, gw->ip_id);
		put16(ip + 10, wire_csum_fold(remote->ip4_sum + tos + IP4_BYTES + bytes + gw->ip_id++));
	} else {
		ip[0] = (uint8_t)(0x60 | tos >> 4);
		ip[1] = (uint8_t)(tos << 4);
		put16(ip + 4, bytes);
	}
	/* Tunnels may go without a checksum, over IPv6 too (RFC 6935). */
	put16(frame + remote->l4_off + 4, bytes);
	put16(frame + remote->l4_off + 6, 0);
}

void gateway_send(struct worker *worker, uint32_t remote_index, uint32_t lane, const struct wire_tunnel *t, uint8_t tos,
	struct rte_mbuf *m)
{
	struct gateway_worker *gw = worker->gateway;
	const struct gateway_remote *remote = &gw->shared->remotes[remote_index];
	uint8_t path = (uint8_t)(t->type == WIRE_TUNNEL_REPORT ? gw->report_turn++ % gw->shared->sched.n_evs : t->path);
	uint32_t bytes = UDP_BYTES + WIRE_TUNNEL_BYTES + m->pkt_len;
	struct wire_pkt *pkt = TP_PKT(m);
	char *frame = rte_pktmbuf_prepend(m, (uint16_t)(remote->header_bytes + WIRE_TUNNEL_BYTES));

	if (frame == NULL) {
		worker_discard(worker, m, BASE_DROP_NO_ROOM);
		return;
	}
	memcpy(frame, remote->header, remote->header_bytes);
	if (!gateway_remote_mac(remote, (uint8_t *)frame)) {
		worker_discard(worker, m, BASE_DROP_NO_NEIGHBOUR);
		return;
	}
	finish_header(gw, remote, (uint8_t *)frame, bytes, tos);
	put16((uint8_t *)frame + remote->l4_off, remote->sport + (uint32_t)path);
	put16((uint8_t *)frame + remote->l4_off + 2, gw->shared->config->port + lane);
	wire_tunnel_write((uint8_t *)frame + remote->header_bytes, t);
	/* What channels go by. */
	pkt->kind = WIRE_KIND_TUNNEL;
	pkt->l3_version = remote->v4 ? 4 : 6;
	pkt->l3_off = remote->l3_off;
	pkt->l4_off = remote->l4_off;
	pkt->tos = tos;
	m->port = gw->shared->fabric->id;
	m->ol_flags = 0;
	worker_emit(worker, m, ROUTE_TX);
}

void gateway_encap(struct worker *worker, struct rte_mbuf *m)
{
	struct gateway_worker *gw = worker->gateway;
	const struct wire_pkt *pkt = TP_PKT(m);
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), remote = pkt->plane, tos = pkt->tos;
	uint32_t bytes = (uint32_t)(pkt->frame_bytes - pkt->l3_off);
	struct wire_tunnel t = {.type = WIRE_TUNNEL_PACKET};
	/* What has another DSCP may be of another priority, which a pause does not hold up: a notification does not
	 * wait for acknowledgements. */
	struct gateway_flow_key key = {.dqpn = pkt->dqpn, .sport = pkt->udp_sport | (uint32_t)(tos >> 2) << 16};
	struct gateway_flow *flow;

	if (bytes > gw->shared->remotes[remote].room) {
		gateway_refuse_long(worker, remote, m);
		return;
	}
	wire_src(frame, pkt, &key.src);
	wire_dst(frame, pkt, &key.dst);
	if (gw->shared->peers != NULL)
		gateway_cnp_leaves(worker, &key, pkt);
	flow = gateway_flows_get(gw->flows, &key, worker->now_ns);
	if (flow != NULL) {
		t.flow = flow->number;
		t.generation = flow->generation;
		t.seq = flow->seq++;
		gateway_tx_packet(&gw->tx[remote], worker->now_ns, &t);
	} else {
		gw->counters.unordered++;
		gateway_tx_packet_fixed(&gw->tx[remote],
			base_siphash(&(struct base_siphash_key){{1, 2}}, &key, sizeof(key)), worker->now_ns, &t);
	}
	gw->tx_tos[remote] = tos;
	gw->counters.tunnelled++;
	/* Padding of short frames stays here. */
	rte_pktmbuf_trim(m, (uint16_t)(m->pkt_len - pkt->frame_bytes));
	rte_pktmbuf_adj(m, pkt->l3_off);
	gateway_send(worker, remote, worker->index, &t, tos, m);
	gw->tick_ns = RTE_MIN(gw->tick_ns, worker->now_ns + (uint64_t)gw->shared->config->silence_us * 1000);
}

void gateway_send_report(struct worker *worker, struct gateway_lane *lane)
{
	struct gateway_worker *gw = worker->gateway;
	struct rte_mbuf *m = rte_pktmbuf_alloc(worker->roced->tx_pool);
	struct wire_tunnel t = {.type = WIRE_TUNNEL_REPORT, .sent = (uint32_t)(worker->now_ns / WIRE_TUNNEL_TICK_NS)};
	uint8_t *to, room = PATH_SCHED_MAX_EVS;

	if (m == NULL) {
		worker_drop(worker, BASE_DROP_NO_MBUF);
		return;
	}
	to = (uint8_t *)rte_pktmbuf_append(m, room * WIRE_TUNNEL_REPORT_BYTES);
	t.path = gateway_rx_report(&lane->rx, worker->now_ns, to, room);
	rte_pktmbuf_trim(m, (uint16_t)((room - t.path) * WIRE_TUNNEL_REPORT_BYTES));
	gw->counters.reports_sent++;
	gateway_send(worker, lane->remote, lane->lane, &t, (uint8_t)((lane->tos & ~3u) | ECT0), m);
}
