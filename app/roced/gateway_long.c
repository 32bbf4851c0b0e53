/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts' packets that do not fit into the tunnel: their sender hears how long one may be (RFC 1191; RFC 8201). */
#include <string.h>

#include "gateway.h"
#include "wire_icmp.h"

#define TELL_NS 100000000u

static void tell(struct worker *worker, uint32_t mtu, const struct rte_mbuf *m, const struct wire_pkt *pkt)
{
	const struct gateway *gateway = worker->gateway->shared;
	const struct port_addr *from = gateway_own_addr(gateway, pkt->l3_version == 4);
	const struct port *port = worker->roced->port_by_id[m->port];
	struct rte_mbuf *answer;
	size_t n;

	if (from == NULL)
		return;
	answer = rte_pktmbuf_alloc(worker->roced->tx_pool);
	if (answer == NULL)
		return;
	n = wire_icmp_too_big(rte_pktmbuf_mtod(answer, uint8_t *), rte_pktmbuf_mtod(m, const uint8_t *), pkt,
		&from->addr, port->mac, mtu);
	if (n == 0) {
		rte_pktmbuf_free(answer);
		return;
	}
	rte_pktmbuf_append(answer, (uint16_t)n);
	memset(TP_PKT(answer), 0, sizeof(*TP_PKT(answer)));
	answer->port = port->id;
	worker_emit(worker, answer, ROUTE_TX);
}

void gateway_refuse_long(struct worker *worker, uint32_t remote, struct rte_mbuf *m)
{
	struct gateway_worker *gw = worker->gateway;
	const struct wire_pkt *pkt = TP_PKT(m);

	gw->too_long[remote].bytes = (uint32_t)(pkt->frame_bytes - pkt->l3_off);
	gw->too_long[remote].packets++;
	if (worker->now_ns - gw->told_long_ns >= TELL_NS) {
		gw->told_long_ns = worker->now_ns;
		tell(worker, gw->shared->remotes[remote].room, m, pkt);
	}
	worker_discard(worker, m, BASE_DROP_TUNNEL_MTU);
}
