/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets for the main thread: what the port says for its addresses, and management datagrams. */
#include <string.h>
#include <sys/eventfd.h>

#include "clock.h"
#include "group.h"
#include "protect.h"
#include "reach.h"
#include "wire_arp_nd.h"
#include "wire_cm.h"

#define PKEY_BASE 0x7fff

static void drop(struct roced *roced, enum base_drop reason)
{
	roced->counters.drops[reason]++;
}

static void set_from(const struct port_addr *addr, struct wire_nd_from *from)
{
	memcpy(from->mac, addr->mac, sizeof(from->mac));
	from->has_vlan = addr->has_vlan;
	from->vlan_tci = addr->vlan_tci;
	from->addr = addr->addr;
}

/* A datagram for QP1 (IBTA vol. 1, 9.6.1.4 and 9.6.1.5: P_Key and Q_Key checks). */
static void handle_mad(struct roced *roced, struct port *port, const uint8_t *frame, const struct wire_pkt *pkt)
{
	const struct port_addr *addr;
	struct wire_addr src, dst;

	wire_src(frame, pkt, &src);
	wire_dst(frame, pkt, &dst);
	addr = port_find_addr(port, &dst, pkt->has_vlan, pkt->vlan_tci);
	/* Connections are made by the device's own port; its planes are for what is agreed there. */
	if (addr == NULL || roced->config.devices[addr->device].port_index != port->index) {
		drop(roced, BASE_DROP_NOT_OURS);
	} else if (pkt->opcode != WIRE_UD_SEND_ONLY && pkt->opcode != WIRE_UD_SEND_ONLY_IMM) {
		drop(roced, BASE_DROP_QP_TYPE);
	} else if ((pkt->pkey & PKEY_BASE) != PKEY_BASE) {
		drop(roced, BASE_DROP_PKEY);
	} else if (pkt->qkey != WIRE_GSI_QKEY) {
		drop(roced, BASE_DROP_QKEY);
	} else if (pkt->payload_bytes != VD_MAD_BYTES) {
		drop(roced, BASE_DROP_MALFORMED_MAD);
	} else {
		roced->counters.mads_received++;
		vd_rx_mad(roced->vd, addr->device, &src, &dst, frame + pkt->payload_off, pkt->payload_bytes);
	}
}

static void answer_who_has(struct roced *roced, struct port *port, const struct port_addr *addr,
	const struct wire_nd_msg *msg)
{
	uint8_t frame[WIRE_ND_FRAME_MAX];
	struct wire_nd_from from;

	if (addr == NULL)
		return;
	set_from(addr, &from);
	link_send_frame(roced, port, frame, wire_nd_build_reply(frame, &from, msg));
	if (msg->kind == WIRE_ND_ARP_REQUEST)
		roced->counters.arp_replies++;
	else
		roced->counters.nd_replies++;
}

/* Turns the request around in place; true: the mbuf is on its way. */
static bool answer_echo(struct roced *roced, struct port *port, struct rte_mbuf *m, const struct wire_nd_msg *msg)
{
	const struct port_addr *addr = port_find_addr(port, &msg->dst, msg->has_vlan, msg->vlan_tci);
	struct wire_nd_from from;

	/* to a group: answered by the first address, RFC 4443 4.2 */
	for (uint32_t i = 0; addr == NULL && !msg->unicast && msg->dst.b[0] == 0xff && i < port->n_addrs; i++) {
		if (!wire_addr_is_v4(&port->addrs[i].addr) && port->addrs[i].has_vlan == (msg->has_vlan != 0))
			addr = &port->addrs[i];
	}
	if (addr == NULL) {
		drop(roced, BASE_DROP_NOT_OURS);
		return false;
	}
	set_from(addr, &from);
	wire_nd_echo_reply(rte_pktmbuf_mtod(m, uint8_t *), TP_PKT(m), msg, &from);
	*roced_route(m) = ROUTE_TX;
	link_send_mbuf(roced, m);
	roced->counters.echo_replies++;
	return true;
}

/* ARP and neighbour discovery; false: it is something else. */
static bool handle_neighbour(struct roced *roced, struct port *port, const struct wire_nd_msg *msg)
{
	const struct port_addr *addr = port_find_addr(port, &msg->target, msg->has_vlan, msg->vlan_tci);

	switch (msg->kind) {
	case WIRE_ND_ARP_REQUEST:
	case WIRE_ND_SOLICIT:
		path_neigh_rx(port->neigh, msg, addr != NULL, clock_now_ns());
		answer_who_has(roced, port, addr, msg);
		return true;
	case WIRE_ND_ARP_REPLY:
	case WIRE_ND_ADVERT:
		path_neigh_rx(port->neigh, msg, addr != NULL, clock_now_ns());
		return true;
	default:
		return false;
	}
}

static bool handle_host(struct roced *roced, struct port *port, struct rte_mbuf *m)
{
	struct wire_nd_msg msg;
	enum base_drop reason = wire_nd_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, TP_PKT(m), &msg);

	if (reason != BASE_DROP_NONE) {
		drop(roced, reason);
		return false;
	}
	if (handle_neighbour(roced, port, &msg))
		return false;
	switch (msg.kind) {
	case WIRE_ND_ECHO4:
	case WIRE_ND_ECHO6:
		return answer_echo(roced, port, m, &msg);
	case WIRE_ND_ECHO4_REPLY:
	case WIRE_ND_ECHO6_REPLY:
		if (!reach_rx(roced, port, rte_pktmbuf_mtod(m, const uint8_t *), TP_PKT(m), &msg, clock_now_ns()))
			drop(roced, BASE_DROP_NOT_ROCE);
		return false;
	default:
		drop(roced, BASE_DROP_NOT_ROCE);
		return false;
	}
}

static void handle(struct roced *roced, struct rte_mbuf *m)
{
	struct port *port = roced->port_by_id[m->port];
	bool gone = false;

	roced->counters.punted++;
	if (TP_PKT(m)->kind == WIRE_KIND_ROCE_V2)
		handle_mad(roced, port, rte_pktmbuf_mtod(m, const uint8_t *), TP_PKT(m));
	else if (TP_PKT(m)->kind == WIRE_KIND_KEYS || TP_PKT(m)->kind == WIRE_KIND_PSP)
		protect_rx(roced, m);
	else if (TP_PKT(m)->kind == WIRE_KIND_OTHER)
		group_rx_query(roced, port, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
	else
		gone = handle_host(roced, port, m);
	if (!gone)
		rte_pktmbuf_free(m);
}

void punt_handle_all(struct roced *roced)
{
	void *objs[WORKER_BURST];

	for (uint32_t w = 0; w < roced->n_workers; w++) {
		struct rte_ring *ring = roced->workers[w]->to_main;
		/* bounded, so that a flood does not keep clients waiting */
		uint32_t n = rte_ring_sc_dequeue_burst(ring, objs, WORKER_BURST, NULL);

		for (uint32_t i = 0; i < n; i++)
			handle(roced, objs[i]);
		if (!rte_ring_empty(ring))
			eventfd_write(roced->punt_fd, 1);
	}
}

/* ---- copies of frames that the kernel has (docs/af_xdp.md) ---- */

static bool is_for_us(const struct port *port, const uint8_t *frame)
{
	if ((frame[0] & 1) != 0)
		return true;
	for (uint32_t i = 0; i < port->n_addrs; i++) {
		if (memcmp(frame, port->addrs[i].mac, sizeof(port->addrs[i].mac)) == 0)
			return true;
	}
	return false;
}

static void handle_copy(void *arg, const uint8_t *frame, size_t n)
{
	struct port *port = arg;
	struct roced *roced = port->roced;
	struct wire_pkt pkt = {0};
	struct wire_nd_msg msg;

	roced->counters.punted++;
	if (!is_for_us(port, frame)) {
		drop(roced, BASE_DROP_NOT_OURS);
		return;
	}
	/* What is cut off, or answers nobody's question, is the kernel's alone. */
	if (wire_parse(frame, n, &pkt) == BASE_DROP_NONE && (pkt.kind == WIRE_KIND_ARP || pkt.kind == WIRE_KIND_ICMP6)) {
		if (wire_nd_parse(frame, n, &pkt, &msg) == BASE_DROP_NONE)
			(void)handle_neighbour(roced, port, &msg);
	} else {
		group_rx_query(roced, port, frame, n);
	}
}

bool punt_handle_copies(struct roced *roced, int fd)
{
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		struct port *port = &roced->ports[p];

		if (port->xdp == NULL || xdp_roce_fd(port->xdp) != fd)
			continue;
		/* bounded; what is left wakes us again */
		xdp_roce_serve(port->xdp, WORKER_BURST, handle_copy, port);
		return true;
	}
	return false;
}
