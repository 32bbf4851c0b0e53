/* SPDX-License-Identifier: BSD-3-Clause */
/* The XDP program of ports on AF_XDP: given to DPDK's driver, and then taken over. See xdp_roce.h and docs/af_xdp.md. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

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
	const char *who = port->config->name;

	if (rc == -EBUSY)
		log_line(LOG_ERR, "port \"%s\": the interface has the XDP program \"%s\" of a process that lives", who, name);
	else if (rc == -EEXIST)
		log_line(LOG_ERR,
			"port \"%s\": the interface has the XDP program \"%s\" of somebody else; if nobody needs it any more: "
			"\"ip link set dev INTERFACE xdp off\"", who, name);
	else
		log_line(LOG_ERR, "port \"%s\": its XDP program: %s%s", who, strerror(-rc),
			rc == -EPERM ? " (needs CAP_SYS_ADMIN)" : "");
	return rc;
}

int port_xdp_open(const struct port *port, char *device, size_t n, int *program_fd)
{
	char path[XDP_ROCE_PATH_BYTES], name[XDP_ROCE_NAME_BYTES] = "";
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
	*program_fd = xdp_roce_file(path);
	if (*program_fd < 0)
		return tell(port, *program_fd, "");
	snprintf(device, n, "%s,xdp_prog=%s", port->config->device, path);
	return 0;
}

int port_xdp_take(struct port *port)
{
	struct xdp_roce_settings settings = port->owner->xdp;
	int rc;

	if (!wants_program(port) || !xdp_roce_built())
		return 0;
	settings.all = port->config->xdp.mode == CONFIG_XDP_ALL;
	rc = xdp_roce_take(ifindex_of(port), &settings, &port->xdp);
	return rc != 0 ? tell(port, rc, "") : 0;
}

void port_xdp_release(struct port *port)
{
	xdp_roce_release(port->xdp);
	port->xdp = NULL;
}

const char *port_xdp_name(const struct port *port)
{
	if (port->xdp == NULL)
		return "none";
	return port->config->xdp.mode == CONFIG_XDP_ALL ? "all" : "roce";
}
