/* SPDX-License-Identifier: BSD-3-Clause */
/* Pauses for the hosts behind the ports: a port whose host has much in the fabric asks it to pause that priority. */
#ifndef RF_PFC_H
#define RF_PFC_H

#include "rf_net.h"

/* The fabric's lossless priorities are those of its ports, too. */
void rf_pfc_init(struct rf_net *net, struct rf_port *port);
/* Frames of that priority came in, left the fabric. */
static inline void rf_pfc_in(struct rf_port *port, uint8_t priority, uint32_t bytes)
{
	if (port->has_pfc)
		qos_pfc_in(&port->pfc, priority, bytes);
}

static inline void rf_pfc_out(struct rf_port *port, uint8_t priority, uint32_t bytes)
{
	if (port->has_pfc)
		qos_pfc_out(&port->pfc, priority, bytes);
}

/* Sends what the host is to be told. */
void rf_pfc_tell(struct rf_net *net, struct rf_port *port);

#endif
