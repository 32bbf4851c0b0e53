/* SPDX-License-Identifier: BSD-3-Clause */
/* A port of roce-gen: frames on their way out, and what it answers for its addresses. */
#ifndef RG_PORT_H
#define RG_PORT_H

#include "port.h"
#include "rg_report.h"

#define RG_BURST 32u

struct rg_port {
	struct port port;
	const struct rg_port_config *config;
	uint32_t n_out;
	struct rte_mbuf *out[RG_BURST];  /* that the driver has not taken yet */
	struct rg_tx_stats *stats;
};

/* Hands what is there to the driver; what it does not take stays. */
void rg_port_flush(struct rg_port *port);
/* A buffer at the end of what is to be sent, with room for a frame; NULL: none is free now. */
struct rte_mbuf *rg_port_room(struct rg_port *port, struct rte_mempool *pool);
/* The frame that was written there has so many bytes; 0: none was. */
void rg_port_put(struct rg_port *port, struct rte_mbuf *m, uint32_t bytes);
void rg_port_drop(struct rg_port *port);

/* Answers ARP, neighbour discovery and echo requests for the port's addresses. */
void rg_port_answer(struct rg_port *port, struct rte_mempool *pool, const uint8_t *frame, uint32_t n,
	const struct wire_pkt *pkt);
/* Tells the neighbours of its addresses. */
void rg_port_announce(struct rg_port *port, struct rte_mempool *pool);

#endif
