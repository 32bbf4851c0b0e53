/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A gateway that notifies for its hosts: a packet that has come by a tunnel with a congestion mark makes a notification
 * (CNP: IBTA annex A17, 17.9.3) to the host that sent it, by the same tunnel, and goes on without the mark, so that
 * nobody notifies twice. Whose queue pair that is, lib/gateway finds out of what passes (gateway_peers.h); where it
 * does not know, the mark goes on.
 */
#include <errno.h>
#include <string.h>

#include "gateway.h"
#include "gateway_ecn.h"
#include "wire_addr.h"
#include "wire_ecn.h"

#define UDP_BYTES      8u
#define BTH_BYTES      12u
#define AETH_AT        BTH_BYTES
#define RESERVED_BYTES 16u
#define NEXT_UDP       17
#define DEFAULT_PKEY   0xffff
#define DONT_FRAGMENT  0x4000
#define HOP_LIMIT      64
#define FIRST_SPORT    0xc000u /* RoCE's convention: the upper quarter */

int gateway_cnp_init(struct roced *roced, struct gateway *gateway)
{
	const struct config_gateway *config = gateway->config;

	if (!config->cnp_proxy)
		return 0;
	gateway->peers = gateway_peers_new(&(struct gateway_peers_config){
		.max = config->max_flows,
		.idle_ns = (uint64_t)config->flow_idle_ms * 1000000,
		.gap_ns = (uint64_t)config->cnp_interval_us * 1000,
		.key = {{roced->seed * 0x94d049bb133111ebu, ~roced->seed}},
	});
	return gateway->peers != NULL ? 0 : -ENOMEM;
}

void gateway_cnp_leaves(struct worker *worker, const struct gateway_flow_key *key, const struct wire_pkt *pkt)
{
	const struct gateway_peers_packet p = {.src = key->src, .dst = key->dst, .dqpn = pkt->dqpn, .psn = pkt->psn,
		.opcode = pkt->opcode, .syndrome = pkt->syndrome};

	gateway_peers_see(worker->gateway->shared->peers, &p, worker->now_ns);
}

/* What a packet says whose IP header and length have been looked at; false: it is no RoCE. */
static bool read_packet(const uint8_t *ip, uint32_t n, struct gateway_peers_packet *p)
{
	bool v4 = ip[0] >> 4 == 4;
	uint32_t l4 = v4 ? 20 : 40;
	const uint8_t *bth = ip + l4 + UDP_BYTES;

	if (n < l4 + UDP_BYTES + BTH_BYTES || (v4 ? ip[0] != 0x45 || ip[9] != NEXT_UDP : ip[6] != NEXT_UDP))
		return false;
	if ((ip[l4 + 2] << 8 | ip[l4 + 3]) != WIRE_ROCE_PORT)
		return false;
	if (v4) {
		wire_addr_from_v4(&p->src, ip + 12);
		wire_addr_from_v4(&p->dst, ip + 16);
	} else {
		memcpy(&p->src, ip + 8, sizeof(p->src));
		memcpy(&p->dst, ip + 24, sizeof(p->dst));
	}
	p->opcode = bth[0];
	p->dqpn = (uint32_t)bth[5] << 16 | (uint32_t)bth[6] << 8 | bth[7];
	p->psn = (uint32_t)bth[9] << 16 | (uint32_t)bth[10] << 8 | bth[11];
	p->syndrome = n > l4 + UDP_BYTES + AETH_AT ? bth[AETH_AT] : 0;
	return true;
}

/* To p->src, as p->dst would send it. */
static void notify(struct worker *worker, uint8_t remote, const struct gateway_peers_packet *p, uint32_t qpn)
{
	const struct wire_l2l3 net = {.src = p->dst, .dst = p->src};
	struct rte_mbuf *m = rte_pktmbuf_alloc(worker->roced->tx_pool);
	struct wire_pkt *pkt;
	uint8_t *frame;

	if (m == NULL) {
		worker_drop(worker, BASE_DROP_NO_MBUF);
		return;
	}
	pkt = TP_PKT(m);
	*pkt = (struct wire_pkt){.kind = WIRE_KIND_ROCE_V2,
		.l3_version = wire_addr_is_v4(&p->src) ? 4 : 6,
		.opcode = WIRE_CNP,
		.becn = 1,
		.dqpn = qpn,
		.payload_bytes = RESERVED_BYTES,
		.tos = (uint8_t)(worker->roced->config.congestion.cnp_dscp << 2),
		.ttl = HOP_LIMIT,
		.ip_frag = DONT_FRAGMENT,
		.pkey = DEFAULT_PKEY,
		.udp_sport = (uint16_t)(FIRST_SPORT | (qpn & 0x3fff))};
	frame = rte_pktmbuf_mtod(m, uint8_t *);
	wire_write(frame, &net, pkt);
	memset(frame + pkt->payload_off, 0, RESERVED_BYTES);
	wire_seal(frame, pkt);
	rte_pktmbuf_append(m, pkt->frame_bytes);
	pkt->plane = remote;
	worker->gateway->counters.cnps_sent++;
	gateway_encap(worker, m);
}

static bool is_of_connection(uint8_t opcode)
{
	const struct wire_opinfo *info = wire_opinfo(opcode);

	return info->name != NULL && info->service != WIRE_SERVICE_CNP && info->service != WIRE_SERVICE_UD;
}

uint8_t gateway_cnp_comes(struct worker *worker, uint8_t remote, const struct rte_mbuf *m, uint8_t ecn)
{
	struct gateway_worker *gw = worker->gateway;
	const uint8_t *ip = rte_pktmbuf_mtod(m, const uint8_t *);
	uint8_t inner = wire_traffic_class(ip, ip[0] >> 4) & WIRE_ECN_MASK;
	struct gateway_peers_packet p = {0};
	uint32_t qpn;

	if (!read_packet(ip, m->data_len, &p))
		return ecn;
	gateway_peers_see(gw->shared->peers, &p, worker->now_ns);
	if (ecn != GATEWAY_ECN_CE || !is_of_connection(p.opcode))
		return ecn;
	switch (gateway_peers_mark(gw->shared->peers, &p, worker->now_ns, &qpn)) {
	case GATEWAY_PEERS_UNKNOWN:
		gw->counters.cnps_unknown++;
		return ecn;
	case GATEWAY_PEERS_EARLY:
		gw->counters.cnps_held_back++;
		break;
	case GATEWAY_PEERS_NOTIFY:
		notify(worker, remote, &p, qpn);
		break;
	}
	/* What was marked before the tunnel could be marked; RoCE's is ECT(0). */
	return inner != GATEWAY_ECN_CE ? inner : GATEWAY_ECN_ECT0;
}
