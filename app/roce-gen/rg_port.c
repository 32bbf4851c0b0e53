/* SPDX-License-Identifier: BSD-3-Clause */
#include "rg_port.h"

#include <string.h>

#include "wire_arp_nd.h"

static bool is_off(struct rg_port *port)
{
	return atomic_load_explicit(&port->port.off, memory_order_relaxed);
}

void rg_port_flush(struct rg_port *port)
{
	uint64_t bytes[RG_BURST];
	uint16_t sent;

	if (port->n_out == 0 || is_off(port))
		return;
	/* counted before: a buffer that was taken is no longer ours */
	for (uint32_t i = 0; i < port->n_out; i++)
		bytes[i] = port->out[i]->pkt_len;
	sent = rte_eth_tx_burst(port->port.id, 0, port->out, (uint16_t)port->n_out);
	for (uint16_t i = 0; i < sent; i++)
		port->stats->bytes += bytes[i];
	port->stats->frames += sent;
	port->stats->full += sent < port->n_out;
	port->n_out -= sent;
	memmove(port->out, port->out + sent, port->n_out * sizeof(port->out[0]));
}

struct rte_mbuf *rg_port_room(struct rg_port *port, struct rte_mempool *pool)
{
	struct rte_mbuf *m;

	if (port->n_out == RG_BURST)
		return NULL;
	m = rte_pktmbuf_alloc(pool);
	port->stats->no_mbuf += m == NULL;
	return m;
}

void rg_port_put(struct rg_port *port, struct rte_mbuf *m, uint32_t bytes)
{
	if (bytes == 0) {
		rte_pktmbuf_free(m);
		return;
	}
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	port->out[port->n_out++] = m;
}

void rg_port_drop(struct rg_port *port)
{
	while (port->n_out != 0)
		rte_pktmbuf_free(port->out[--port->n_out]);
}

static bool is_ours(const struct rg_port *port, const struct wire_addr *addr)
{
	for (uint32_t i = 0; i < port->config->n_addrs; i++) {
		if (memcmp(&port->config->addrs[i].addr, addr, sizeof(*addr)) == 0)
			return true;
	}
	return false;
}

static uint32_t answer(struct rg_port *port, const struct wire_nd_msg *msg, const struct wire_pkt *pkt,
	const uint8_t *frame, uint32_t n, uint8_t *out, uint32_t room)
{
	bool asks = msg->kind == WIRE_ND_ARP_REQUEST || msg->kind == WIRE_ND_SOLICIT;
	bool echo = msg->kind == WIRE_ND_ECHO4 || msg->kind == WIRE_ND_ECHO6;
	const struct wire_addr *addr = asks ? &msg->target : &msg->dst;
	struct wire_nd_from from = {.has_vlan = msg->has_vlan, .vlan_tci = msg->vlan_tci, .addr = *addr};

	if ((!asks && !echo) || !is_ours(port, addr))
		return 0;
	memcpy(from.mac, port->port.mac, sizeof(from.mac));
	if (asks)
		return (uint32_t)wire_nd_build_reply(out, &from, msg);
	if (n > room)
		return 0;
	memcpy(out, frame, n);
	wire_nd_echo_reply(out, pkt, msg, &from);
	return n;
}

void rg_port_answer(struct rg_port *port, struct rte_mempool *pool, const uint8_t *frame, uint32_t n,
	const struct wire_pkt *pkt)
{
	struct wire_nd_msg msg;
	struct rte_mbuf *m;

	if (port->config->n_addrs == 0 || wire_nd_parse(frame, n, pkt, &msg) != BASE_DROP_NONE)
		return;
	m = rg_port_room(port, pool);
	if (m != NULL)
		rg_port_put(port, m, answer(port, &msg, pkt, frame, n, rte_pktmbuf_mtod(m, uint8_t *),
			rte_pktmbuf_tailroom(m)));
}

void rg_port_announce(struct rg_port *port, struct rte_mempool *pool)
{
	for (uint32_t i = 0; i < port->config->n_addrs; i++) {
		struct wire_nd_from from = {.addr = port->config->addrs[i].addr};
		struct rte_mbuf *m = rg_port_room(port, pool);

		if (m == NULL)
			return;
		memcpy(from.mac, port->port.mac, sizeof(from.mac));
		rg_port_put(port, m, (uint32_t)wire_nd_build_announce(rte_pktmbuf_mtod(m, uint8_t *), &from));
	}
}
