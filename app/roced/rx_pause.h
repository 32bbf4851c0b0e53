/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a port's neighbour is asked to pause a priority: by what waits at all workers (rx_fill.h), against the room there
 * is. The worker that polls the port's first queue asks, for all of them. Here a packet counts as a whole buffer, since
 * that is what it takes. lib/qos/qos_pfc.h has the rule.
 */
#ifndef RX_PAUSE_H
#define RX_PAUSE_H

#include "config.h"
#include "qos_pfc.h"
#include "rx_fill.h"

struct rx_pause {
	struct qos_pfc_config config;
	struct qos_pfc pfc;
	uint32_t cell_bytes;       /* a packet counts as */
	uint32_t spare;            /* buffers that are not in the driver's queues */
};

/* What a port has for packets that wait. */
struct rx_room {
	uint32_t queue;            /* packets that one receive queue holds */
	uint32_t ring;             /* and one between two workers */
	uint32_t spare;            /* buffers beyond those in the receive queues */
};

/* What still comes after a pause was decided, of one priority, bytes: as configured, or computed from the cable and how
 * long both ends take. */
uint32_t rx_pause_headroom(const struct config_port *port, uint64_t rate_bps);
/* Sets it up for the priorities that the port's configuration names, at least one. 0; 1: the room holds less than the
 * headroom of all, which has half of it then; -EINVAL: there is no room. */
int rx_pause_init(struct rx_pause *pause, const struct config_port *port, uint64_t rate_bps, const struct rx_room *room);
/* Takes what waits now, at n workers. */
void rx_pause_look(struct rx_pause *pause, const struct rx_fill *const *fills, uint32_t n);

#endif
