/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames keep their buffers from the port they come from to the port they leave by; copies share them. */
#include "rf_io.h"
#include "rf_impair.h"
#include "rf_pfc.h"

#include "wire_ecn.h"

#define ETH_OVERHEAD 18u         /* header and one VLAN tag */
#define STUCK_NS     100000000u  /* a port that takes nothing for so long loses what waits for it */
#define MS_NS        1000000u
#define MBPS         1000000u

void rf_drop(struct rf_port *port, struct rte_mbuf *m, enum rf_drop why)
{
	port->stats.dropped[why]++;
	rte_pktmbuf_free(m);
}

static bool too_long(const struct rf_port *port, const struct rte_mbuf *m)
{
	return m->pkt_len > port->port.config->mtu + ETH_OVERHEAD;
}

/* ---- into the fabric ---- */

void rf_enter(struct rf_net *net, struct rf_port *from, const struct rf_port *to, const struct rf_frame *frame,
	struct rte_mbuf *m)
{
	struct fabric_packet packet = {
		.src = from->config->host,
		.dst = to->config->host,
		.flow = frame->flow,
		.bytes = m->pkt_len,
		.priority = net->config->trust_dscp && !frame->tagged ? frame->dscp_priority : frame->priority,
		.ect = frame->ect,
		.ce = frame->ce,
		.user = m,
	};

	if (from->in_fabric >= from->max_in_fabric) {
		rf_drop(from, m, RF_DROP_BUFFERS);
		return;
	}
	if (fabric_queued_bytes(net->fabric, packet.src) + packet.bytes > from->config->queue_bytes) {
		rf_drop(from, m, RF_DROP_QUEUE);
		return;
	}
	from->in_fabric++;
	rf_pfc_in(from, packet.priority, packet.bytes);
	if (fabric_send(net->fabric, &packet, net->now_ns) != 0) {
		from->in_fabric--;
		rf_pfc_out(from, packet.priority, packet.bytes);
		rf_drop(from, m, RF_DROP_BUFFERS);
	}
}

static void flood(struct rf_net *net, struct rf_port *from, const struct rf_frame *frame, struct rte_mbuf *m)
{
	from->stats.flooded++;
	for (uint32_t p = 0; p < net->n_ports; p++) {
		if (&net->ports[p] == from)
			continue;
		rte_pktmbuf_refcnt_update(m, 1);
		rf_impair(net, from, &net->ports[p], frame, m);
	}
	rte_pktmbuf_free(m);
}

static void forward(struct rf_net *net, struct rf_port *from, const struct rf_frame *frame, struct rte_mbuf *m)
{
	const uint8_t *macs = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t to;

	gateway_macs_learn(&net->macs, macs + RF_MAC_BYTES, from->port.index, net->now_ns);
	/* for who has to change the header on the way out */
	m->ol_flags = 0;
	m->l2_len = frame->ip_off & 0x7fu;
	m->packet_type = frame->ip_version == 4 ? RTE_PTYPE_L3_IPV4 : frame->ip_version == 6 ? RTE_PTYPE_L3_IPV6 : 0;
	to = gateway_macs_find(&net->macs, macs, net->now_ns);
	if (to == GATEWAY_NO_PORT)
		flood(net, from, frame, m);
	else if (to == from->port.index)
		rf_drop(from, m, RF_DROP_SAME_PORT);
	else
		rf_impair(net, from, &net->ports[to], frame, m);
}

/* ---- pauses ---- */

static void pause(struct rf_net *net, struct rf_port *port, const struct rf_frame *frame)
{
	port->stats.pauses++;
	if (qos_pause_take(&port->pause, &frame->pause, UINT8_MAX, net->config->fabric.host_mbps * MBPS, net->now_ns))
		(void)fabric_host_pause(net->fabric, port->config->host, port->pause.paused, net->now_ns);
}

void rf_pause_expire(struct rf_net *net, struct rf_port *port)
{
	if (qos_pause_expire(&port->pause, net->now_ns))
		(void)fabric_host_pause(net->fabric, port->config->host, port->pause.paused, net->now_ns);
}

/* ---- receiving ---- */

static void receive(struct rf_net *net, struct rf_port *port, struct rte_mbuf *m)
{
	struct rf_frame frame;

	port->stats.rx_packets++;
	port->stats.rx_bytes += m->pkt_len;
	rf_frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &frame);
	if (frame.kind == RF_SHORT) {
		rf_drop(port, m, RF_DROP_SHORT);
	} else if (frame.kind == RF_PAUSE) {
		pause(net, port, &frame);
		rte_pktmbuf_free(m);
	} else if (frame.kind == RF_LINK_LOCAL) {
		rf_drop(port, m, RF_DROP_LINK_LOCAL);
	} else if (too_long(port, m) || (m->nb_segs > 1 && rte_pktmbuf_linearize(m) != 0)) {
		rf_drop(port, m, RF_DROP_LONG);
	} else {
		forward(net, port, &frame, m);
	}
}

bool rf_rx(struct rf_net *net, struct rf_port *port)
{
	struct rte_mbuf *burst[RF_BURST];
	uint16_t n;

	if (atomic_load_explicit(&port->port.off, memory_order_relaxed))
		return false;
	n = rte_eth_rx_burst(port->port.id, 0, burst, RF_BURST);
	for (uint16_t i = 0; i < n; i++)
		receive(net, port, burst[i]);
	return n != 0;
}

/* ---- out of the fabric ---- */

struct rte_mbuf *rf_own(struct rf_port *from, struct rte_mbuf *m)
{
	struct rte_mbuf *copy;

	if (rte_mbuf_refcnt_read(m) == 1)
		return m;
	copy = rte_pktmbuf_copy(m, from->port.rx_pool, 0, UINT32_MAX);
	rte_pktmbuf_free(m);
	return copy;
}

/* splitmix64 */
static uint64_t draw(struct rf_net *net, uint64_t below)
{
	uint64_t x = net->random += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (x ^ (x >> 31)) % below;
}

/* A wrong bit behind the Ethernet header, as a check of the frame that a switch made anew would not find. */
static void flip_a_bit(struct rf_net *net, struct rte_mbuf *m)
{
	uint64_t bit;

	if (m->data_len <= RF_ETH_BYTES)
		return;
	bit = draw(net, (uint64_t)(m->data_len - RF_ETH_BYTES) * 8);
	rte_pktmbuf_mtod(m, uint8_t *)[RF_ETH_BYTES + bit / 8] ^= (uint8_t)(1u << bit % 8);
}

/* What the fabric did to the frame. NULL: there is no buffer for it. */
static struct rte_mbuf *alter(struct rf_net *net, struct rf_port *from, const struct fabric_packet *packet,
	struct rte_mbuf *m)
{
	uint8_t version = m->packet_type == RTE_PTYPE_L3_IPV4 ? 4 : 6;
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, m->l2_len);
	bool mark = packet->ce && (wire_traffic_class(ip, version) & WIRE_ECN_MASK) != WIRE_ECN_MASK;

	if (!mark && !packet->corrupt)
		return m;
	m = rf_own(from, m);
	if (m == NULL)
		return NULL;
	if (mark)
		wire_set_ce(rte_pktmbuf_mtod_offset(m, uint8_t *, m->l2_len), version);
	if (packet->corrupt)
		flip_a_bit(net, m);
	return m;
}

static void put(struct rf_net *net, struct rf_port *to, struct rte_mbuf *m)
{
	if (too_long(to, m)) {
		rf_drop(to, m, RF_DROP_LONG);
	} else if (!to->port.up) {
		rf_drop(to, m, RF_DROP_PORT_DOWN);
	} else if (to->tx_count == RF_BACKLOG) {
		rf_drop(to, m, RF_DROP_PORT_FULL);
	} else {
		if (to->tx_count == 0)
			to->stuck_ns = net->now_ns;
		to->tx[(to->tx_head + to->tx_count++) & (RF_BACKLOG - 1)] = m;
	}
}

static void on_deliver(void *env, const struct fabric_packet *packet, uint64_t at_ns)
{
	struct rf_net *net = env;
	struct rf_port *from = net->by_host[packet->src], *to = net->by_host[packet->dst];
	uint64_t late_ns = net->now_ns > at_ns ? net->now_ns - at_ns : 0;
	struct rte_mbuf *m;

	from->in_fabric--;
	rf_pfc_out(from, packet->priority, packet->bytes);
	net->late.packets++;
	net->late.sum_ns += late_ns;
	net->late.over_1ms += late_ns > MS_NS;
	if (net->late.max_ns < late_ns)
		net->late.max_ns = late_ns;
	m = alter(net, from, packet, packet->user);
	if (m == NULL)
		from->stats.dropped[RF_DROP_BUFFERS]++;
	else
		put(net, to, m);
}

static void on_lose(void *env, const struct fabric_packet *packet, enum fabric_loss why)
{
	struct rf_net *net = env;

	(void)why;
	net->by_host[packet->src]->in_fabric--;
	rf_pfc_out(net->by_host[packet->src], packet->priority, packet->bytes);
	rte_pktmbuf_free(packet->user);
}

static void *on_copy(void *env, const struct fabric_packet *packet)
{
	struct rf_net *net = env;

	net->by_host[packet->src]->in_fabric++;
	rf_pfc_in(net->by_host[packet->src], packet->priority, packet->bytes);
	rte_pktmbuf_refcnt_update(packet->user, 1);
	return packet->user;
}

const struct fabric_ops rf_fabric_ops = {
	.deliver = on_deliver,
	.lose = on_lose,
	.copy = on_copy,
};

/* ---- sending ---- */

void rf_tx_drop(struct rf_port *port)
{
	for (; port->tx_count != 0; port->tx_count--) {
		rf_drop(port, port->tx[port->tx_head], RF_DROP_PORT_FULL);
		port->tx_head = (port->tx_head + 1) & (RF_BACKLOG - 1);
	}
}

/* Counted before they are sent: a buffer that was taken is no longer ours. */
static uint16_t send_burst(struct rf_port *port, struct rte_mbuf **burst, uint16_t n)
{
	uint64_t bytes = 0, unsent_bytes = 0;
	uint16_t sent;

	for (uint16_t i = 0; i < n; i++)
		bytes += burst[i]->pkt_len;
	sent = rte_eth_tx_burst(port->port.id, 0, burst, n);
	for (uint16_t i = sent; i < n; i++)
		unsent_bytes += burst[i]->pkt_len;
	port->stats.tx_packets += sent;
	port->stats.tx_bytes += bytes - unsent_bytes;
	return sent;
}

bool rf_tx(struct rf_net *net, struct rf_port *port)
{
	bool moved = false;

	while (port->tx_count != 0 && !atomic_load_explicit(&port->port.off, memory_order_relaxed)) {
		uint32_t n = RF_BACKLOG - port->tx_head < port->tx_count ? RF_BACKLOG - port->tx_head : port->tx_count;
		uint16_t want = (uint16_t)(n < RF_BURST ? n : RF_BURST);
		uint16_t sent = send_burst(port, &port->tx[port->tx_head], want);

		port->tx_head = (port->tx_head + sent) & (RF_BACKLOG - 1);
		port->tx_count -= sent;
		moved |= sent != 0;
		if (sent < want)
			break;
	}
	if (moved)
		port->stuck_ns = net->now_ns;
	else if (port->tx_count != 0 && net->now_ns - port->stuck_ns > STUCK_NS)
		rf_tx_drop(port);
	return moved;
}
