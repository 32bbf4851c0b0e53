/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK as the daemon's configuration wants it: environment, buffers, ports. */
#include <rte_errno.h>
#include <rte_mbuf_dyn.h>

#include "crypt_msg.h"
#include "eal.h"
#include "log.h"
#include "roced.h"
#include "wire_frame.h"
#include "worker.h"

size_t roced_route_off;

int dpdk_start(struct roced *roced)
{
	static const struct rte_mbuf_dynfield field = {.name = "roced_route", .size = 1, .align = 1};
	const struct config *config = &roced->config;
	struct eal_config eal = {
		.program = "roced",
		.n_args = config->n_eal_args,
		.args = config->eal_args,
		.main_cpus = config->main_cpus,
		.n_workers = config->n_workers,
		.workers = config->workers,
		.telemetry = config->control.telemetry,
		.n_devices = config->n_ports,
	};
	int rc;

	for (uint32_t p = 0; p < config->n_ports; p++)
		eal.devices[p] = config->ports[p].device;
	rc = eal_start(&eal);
	if (rc != 0)
		return rc;
	roced->eal_started = true;
	rc = rte_mbuf_dynfield_register(&field);
	if (rc < 0)
		return -rte_errno;
	roced_route_off = (size_t)rc;
	return 0;
}

static void nothing(void *arg)
{
	(void)arg;
}

/* Each worker has done a walk since the port was turned off. */
static void quiet(struct port *port)
{
	for (uint32_t w = 0; w < port->roced->n_workers; w++)
		worker_call(port->roced->workers[w], nothing, NULL);
}

static void follow(struct port *port)
{
	main_loop_follow_link(port->roced, port);
}

/* Packets of protection are ours only if it is used, and without it somebody else's. */
static void set_xdp(const struct config *config, struct xdp_roce_settings *settings)
{
	if (config->protection.n_peers == 0)
		return;
	settings->protected_port = (uint16_t)config->protection.port;
	settings->n_protected_ports = CRYPT_MSG_LANES;
	settings->keys_port = (uint16_t)config->protection.control_port;
}

static int open_port(struct roced *roced, uint32_t index)
{
	struct port *port = &roced->ports[index];
	int rc;

	port->roced = roced;
	port->index = index;
	port->config = &roced->config.ports[index];
	port->n_tx_queues = roced->config.n_workers;
	port->owner = &roced->port_owner;
	rc = port_open(port);
	if (rc == 0)
		roced->port_by_id[port->id] = port;
	return rc;
}

int dpdk_start_ports(struct roced *roced)
{
	int rc = 0;

	roced->tx_pool = rte_pktmbuf_pool_create("tx", roced->config.tx_mbufs, 256,
		RTE_ALIGN_CEIL(sizeof(struct wire_pkt), RTE_CACHE_LINE_SIZE),
		RTE_PKTMBUF_HEADROOM + WIRE_MAX_HDR_BYTES + 4096 + 64, SOCKET_ID_ANY);
	if (roced->tx_pool == NULL) {
		log_line(LOG_ERR, "no memory for eal.tx_mbufs = %u: give less, or more with -m in eal.args",
			roced->config.tx_mbufs);
		return -ENOMEM;
	}
	roced->port_owner.run_path = roced->config.control.socket;
	roced->port_owner.quiet = quiet;
	roced->port_owner.follow = follow;
	set_xdp(&roced->config, &roced->port_owner.xdp);
	roced->n_ports = roced->config.n_ports;
	for (uint32_t p = 0; p < roced->n_ports && rc == 0; p++)
		rc = open_port(roced, p);
	for (uint32_t p = 0, base = roced->n_ports; p < roced->n_ports && rc == 0; p++) {
		roced->ports[p].lane_base = base;
		base += roced->ports[p].pfc.n_lanes - 1u;
	}
	if (rc == 0)
		devices_init(roced, NULL);
	for (uint32_t p = 0; p < roced->n_ports && rc == 0; p++)
		rc = port_start(&roced->ports[p]);
	for (uint32_t d = 0; d < roced->n_devices; d++)
		roced->devices[d].speed_mbps = roced->ports[roced->config.devices[d].port_index].speed_mbps;
	return rc;
}
