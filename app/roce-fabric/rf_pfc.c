/* SPDX-License-Identifier: BSD-3-Clause */
#include "rf_pfc.h"

#define MBPS          ((uint64_t)1000000)
#define QUANTA        UINT16_MAX
#define CABLE_NS      0u
#define RESPONSE_NS   1000000u /* a program takes longer to obey than a NIC */
#define ALPHA_SHIFT   0u       /* one host has the buffer for itself */
#define FRAME_BYTES   18u      /* Ethernet and a VLAN tag, beyond the MTU */

void rf_pfc_init(struct rf_net *net, struct rf_port *port)
{
	const struct fk_fabric *fabric = &net->config->fabric;
	uint32_t n = (uint32_t)__builtin_popcount(fabric->pfc_priorities);
	uint64_t most, rate_bps = fabric->host_mbps * MBPS;

	if (n == 0)
		return;
	port->pfc_config = (struct qos_pfc_config){
		.priorities = (uint8_t)fabric->pfc_priorities,
		.alpha_shift = ALPHA_SHIFT,
		.buffer_bytes = port->config->queue_bytes,
		.rate_bps = rate_bps,
		.quanta = QUANTA,
	};
	/* Half of the buffer is shared in any case. */
	most = port->config->queue_bytes / 2 / n;
	port->pfc_config.headroom_bytes = (uint32_t)RTE_MIN(most,
		(uint64_t)qos_pfc_headroom_bytes(rate_bps, CABLE_NS, port->port.config->mtu + FRAME_BYTES, RESPONSE_NS));
	port->has_pfc = qos_pfc_init(&port->pfc, &port->pfc_config) == 0;
}

void rf_pfc_tell(struct rf_net *net, struct rf_port *port)
{
	uint16_t quanta[QOS_PRIORITIES];
	struct rte_mbuf *m;
	uint8_t named;
	char *at;

	/* Who cannot be told now is told when it can. */
	if (!port->has_pfc || !port->port.up || atomic_load_explicit(&port->port.off, memory_order_relaxed) ||
		!qos_pfc_due(&port->pfc, net->now_ns, &named, quanta))
		return;
	m = rte_pktmbuf_alloc(port->port.rx_pool);
	at = m != NULL ? rte_pktmbuf_append(m, WIRE_PAUSE_FRAME_BYTES) : NULL;
	if (at == NULL) {
		rte_pktmbuf_free(m);
		qos_pfc_untold(&port->pfc, named);
		return;
	}
	wire_pause_write((uint8_t *)at, port->port.mac, named, quanta);
	/* Before what waits: it is not the port's queue that is in its way. */
	if (rte_eth_tx_burst(port->port.id, 0, &m, 1) == 0) {
		rte_pktmbuf_free(m);
		qos_pfc_untold(&port->pfc, named);
		return;
	}
	port->stats.pauses_sent++;
}
