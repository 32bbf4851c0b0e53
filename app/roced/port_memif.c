/* SPDX-License-Identifier: BSD-3-Clause */
/* memif ports: when workers may use them, and when programs learn of it. See net_memif.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "net_memif.h"
#include "port.h"

static int start(void *arg)
{
	struct port *port = arg;
	int rc;

	if (port->started)
		(void)rte_eth_dev_stop(port->id);
	rc = rte_eth_dev_start(port->id);
	port->started = rc == 0;
	return rc;
}

static bool is_up(void *arg)
{
	const struct port *port = arg;
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(port->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

static void up(void *arg)
{
	struct port *port = arg;

	atomic_store(&port->off, false);
	port->owner->follow(port);
}

static void hold(void *arg)
{
	struct port *port = arg;

	if (atomic_exchange(&port->off, true))
		return;
	if (port->owner->quiet != NULL)
		port->owner->quiet(port);
	port->owner->follow(port);
}

static void down(void *arg)
{
	struct port *port = arg;

	port->owner->follow(port);
}

static void ended(void *arg, bool by_peer, const char *reason)
{
	const struct port *port = arg;

	log_line(LOG_NOTICE, "port \"%s\": %s: %s", port->config->name,
		by_peer ? "the peer ends the connection" : "the connection is refused", reason);
}

static const struct net_memif_ops ops = {start, is_up, up, hold, down, ended};

int port_memif_open(struct port *port, char *device, size_t n)
{
	struct port_owner *owner = port->owner;
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path) + sizeof(".memif")];
	int rc = 0;

	if (owner->memif == NULL) {
		snprintf(dir, sizeof(dir), "%s.memif", owner->run_path);
		rc = net_memif_create(dir, &ops, &owner->memif);
		if (rc != 0) {
			log_line(LOG_ERR, "directory %s: %s", dir, strerror(-rc));
			return rc;
		}
	}
	atomic_store(&port->off, true);
	rc = net_memif_add(owner->memif, port->config->device, port->config->n_rx_queues, port->n_tx_queues, port,
		device, n, &port->memif);
	if (rc != 0)
		log_line(LOG_ERR, "port \"%s\": its socket cannot be made: %s%s", port->config->name, strerror(-rc),
			rc == -EADDRINUSE ? " (another program serves it)" : "");
	return rc;
}

void port_memif_dial(struct port *port)
{
	if (net_memif_dial(port->memif) != 0)
		log_line(LOG_NOTICE, "port \"%s\": its peer is not there yet, trying again until it is",
			port->config->name);
}
