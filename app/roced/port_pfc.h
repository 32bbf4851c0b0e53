/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a port's NIC follows and sends PFC itself, by ethdev's flow control of queues, or the daemon does (shape.h,
 * rx_watch.h). A NIC that does pauses transmit queues, so each priority that is followed has one of its own at each
 * worker: a lane. Lane 0 is for all others, and the only one without such a NIC.
 */
#ifndef PORT_PFC_H
#define PORT_PFC_H

#include "config.h"
#include "qos_pause.h"

struct port;

#define PORT_MAX_LANES (1 + QOS_PRIORITIES)

struct port_pfc {
	bool hardware;
	uint8_t n_lanes;                      /* 1 to PORT_MAX_LANES */
	uint8_t lane_of[QOS_PRIORITIES];
};

/* Asks the device, which is made and not configured yet, and decides. n_workers: of whom each has a queue for each lane, of
 * max_tx_queues. 0; -ENOTSUP, told to the log: "hardware" is asked for and cannot be. */
int port_pfc_choose(struct port *port, uint32_t n_workers, uint32_t max_tx_queues);
/* Sets the device up: it is configured, and has its queues. 0 or what the driver said, told to the log. Nothing to do in
 * software. */
int port_pfc_set(const struct port *port, uint32_t n_workers);
/* "none", "software" or "hardware". */
const char *port_pfc_name(const struct port *port);

static inline uint16_t port_pfc_queue(uint32_t worker, uint32_t n_workers, uint32_t lane)
{
	return (uint16_t)(lane * n_workers + worker);
}

#endif
