/* SPDX-License-Identifier: BSD-3-Clause */
/* What telemetry tells of ports. */
#ifndef TELEMETRY_PORTS_H
#define TELEMETRY_PORTS_H

#include "qos_pause.h"
#include "roced.h"

struct rte_tel_data;

struct told_port {
	char name[CONFIG_NAME_BYTES];
	const char *pfc;           /* who sees to pauses: port_pfc_name() */
	bool up;
	uint32_t speed_mbps;
	uint64_t xoff_sent[QOS_PRIORITIES], xon_sent[QOS_PRIORITIES];
	uint64_t pauses[QOS_PRIORITIES]; /* frames that named the priority */
};

/* In the main thread: all ports; how many. */
uint32_t telemetry_fill_ports(const struct roced *roced, struct told_port ports[CONFIG_MAX_PORTS]);
/* The answer: of all, an array a column; or of the one of that name, with an array for each counter of priorities. 0 or
 * -ENOMEM. */
int telemetry_put_ports(struct rte_tel_data *d, const struct told_port *ports, uint32_t n, const char *name);

#endif
