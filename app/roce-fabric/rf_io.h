/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames between the ports and the fabric. */
#ifndef RF_IO_H
#define RF_IO_H

#include "rf_net.h"

extern const struct fabric_ops rf_fabric_ops;   /* env: struct rf_net */

/* Takes a packet into the fabric, from one port's host to another's. Takes over a reference to the buffer. */
void rf_enter(struct rf_net *net, struct rf_port *from, const struct rf_port *to, const struct rf_frame *frame,
	struct rte_mbuf *m);
/* Drops a packet that came in or should leave at the port. */
void rf_drop(struct rf_port *port, struct rte_mbuf *m, enum rf_drop why);
/* A buffer that may be written to; NULL, and the other is gone, when there is none. */
struct rte_mbuf *rf_own(struct rf_port *from, struct rte_mbuf *m);

/* Takes a burst from a port into the fabric. Whether there was one. */
bool rf_rx(struct rf_net *net, struct rf_port *port);
/* Sends what waits for the port. Whether anything went. */
bool rf_tx(struct rf_net *net, struct rf_port *port);
/* Gives up what waits for the port. */
void rf_tx_drop(struct rf_port *port);
/* Lets go on what a host has paused for a time that is over. */
void rf_pause_expire(struct rf_net *net, struct rf_port *port);

#endif
