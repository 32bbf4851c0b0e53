/* SPDX-License-Identifier: BSD-3-Clause */
/* Which frames of an interface a port takes: ports[].xdp. */
#include "config_schema.h"
#include "net_driver.h"

void config_check_xdp(struct config_reader *reader)
{
	struct config *config = reader->base;

	for (uint32_t p = 0; p < config->n_ports; p++) {
		struct config_port *port = &config->ports[p];
		const struct net_driver *driver = net_driver_find(port->device);
		bool takes = driver != NULL && driver->xdp;

		if (port->xdp.given && driver != NULL && !takes)
			config_error(reader, &port->at, "ports[%u].xdp: is for net_af_xdp", p);
		if (port->xdp.given && takes && net_driver_has_prog(port->device))
			config_error(reader, &port->at, "ports[%u].xdp: the device has a program of its own", p);
		if (!port->xdp.given && takes)
			port->xdp.mode = CONFIG_XDP_ROCE;
	}
}
