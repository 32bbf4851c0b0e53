/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration's channels, as lib/qos takes them. */
#ifndef CHANNELS_H
#define CHANNELS_H

#include "config.h"
#include "qos_class.h"

/* The classes of a port, for one of n_workers workers, each of which has its part of all rates. False: the port needs
 * none. */
bool channels_init(const struct config *config, const struct config_port *port, uint32_t n_workers,
	struct qos_config *qos);

/* Class of a whole frame; frames without IP are as if of DSCP 0. *ip is the IP header, NULL: none. */
uint8_t channels_class(const struct qos_config *qos, const uint8_t *frame, size_t n, const uint8_t **ip,
	uint8_t *version);

/* Gives a frame's VLAN tag, if it has one, the priority code point of its class (IEEE 802.1Q, 6.9.3), if that has one. */
void channels_tag(const struct qos_class *class, uint8_t *frame, size_t n);

#endif
