/* SPDX-License-Identifier: BSD-3-Clause */
/* The XDP program of ports on AF_XDP: given to DPDK's driver, and then taken over. See xdp_roce.h and docs/af_xdp.md. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "net_driver.h"
#include "port.h"

static bool wants_program(const struct port *port)
{
	const struct net_driver *driver = net_driver_find(port->config->device);

	return driver->xdp && !net_driver_has_prog(port->config->device);
}

static unsigned int ifindex_of(const struct port *port)
{
	char iface[CONFIG_TEXT_BYTES];

	return net_driver_arg(port->config->device, "iface", iface, sizeof(iface)) ? if_nametoindex(iface) : 0;
}

static int tell(const struct port *port, int rc, const char *name)
{
	const char *owner = rc == -EBUSY ? ", of a process that lives" : "";

	if (rc == -EEXIST || rc == -EBUSY)
		log_line(LOG_ERR,
			"port \"%s\": the interface has an XDP program, \"%s\"%s; \"ip link set dev NAME xdp off\" takes one away "
			"that was left", port->config->name, name, owner);
	else
		log_line(LOG_ERR, "port \"%s\": its XDP program: %s%s", port->config->name, strerror(-rc),
			rc == -EPERM ? " (needs CAP_SYS_ADMIN)" : "");
	return rc;
}

int port_xdp_open(struct port *port, char *device, size_t n)
{
	char path[XDP_ROCE_PATH_BYTES], name[XDP_ROCE_NAME_BYTES];
	int rc;

	snprintf(device, n, "%s", port->config->device);
	if (!wants_program(port))
		return 0;
	if (!xdp_roce_built()) {
		log_line(LOG_NOTICE,
			"port \"%s\": roced was built without an XDP program (libbpf, clang): all frames of the interface come here",
			port->config->name);
		return 0;
	}
	rc = xdp_roce_clear(ifindex_of(port), name);
	if (rc != 0)
		return tell(port, rc, name);
	port->xdp_fd = xdp_roce_file(path);
	if (port->xdp_fd < 0)
		return tell(port, port->xdp_fd, "");
	snprintf(device, n, "%s,xdp_prog=%s", port->config->device, path);
	return 0;
}

int port_xdp_take(struct port *port)
{
	struct xdp_roce_settings settings = port->owner->xdp;
	int rc;

	if (port->xdp_fd < 0)
		return 0;
	close(port->xdp_fd);
	port->xdp_fd = -1;
	settings.all = port->config->xdp.mode == CONFIG_XDP_ALL;
	rc = xdp_roce_take(ifindex_of(port), &settings, &port->xdp);
	return rc != 0 ? tell(port, rc, "") : 0;
}

void port_xdp_release(struct port *port)
{
	xdp_roce_release(port->xdp);
	port->xdp = NULL;
	if (port->xdp_fd >= 0)
		close(port->xdp_fd);
	port->xdp_fd = -1;
}

const char *port_xdp_name(const struct port *port)
{
	if (port->xdp == NULL)
		return "none";
	return port->config->xdp.mode == CONFIG_XDP_ALL ? "all" : "roce";
}
