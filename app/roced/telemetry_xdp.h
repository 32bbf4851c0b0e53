/* SPDX-License-Identifier: BSD-3-Clause */
/* What telemetry tells of XDP programs. */
#ifndef TELEMETRY_XDP_H
#define TELEMETRY_XDP_H

#include "roced.h"

struct rte_tel_data;

struct told_xdp {
	char port[CONFIG_NAME_BYTES];
	const char *mode;          /* port_xdp_name() */
	uint64_t counts[XDP_ROCE_KINDS];
};

/* In the main thread: all ports that have one; how many. */
uint32_t telemetry_fill_xdp(const struct roced *roced, struct told_xdp xdp[CONFIG_MAX_PORTS]);
/* The answer, an array a column. 0 or -ENOMEM. */
int telemetry_put_xdp(struct rte_tel_data *d, const struct told_xdp *xdp, uint32_t n);

#endif
