/* SPDX-License-Identifier: BSD-3-Clause */
/* Which address is the next hop. Looks at the configuration only. */
#ifndef LINK_ROUTE_H
#define LINK_ROUTE_H

#include "roced.h"

/* The device's own address on the port equal to src; NULL when it has none. */
const struct port_addr *link_source(const struct port *port, uint32_t device, const struct wire_addr *src);

/* dst itself when it is on a network that the device has on the port, link-local, a group or our own, else the gateway of its
 * family. 0, or -ENETUNREACH when there is none. */
int link_next_hop(const struct roced *roced, const struct port *port, uint32_t device, const struct wire_addr *dst,
	struct wire_addr *hop);

#endif
