/* SPDX-License-Identifier: BSD-3-Clause */
/* Life, faults by time, and what one look at everything is. */
#include "rf_net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "net_memif.h"
#include "rf_impair.h"
#include "rf_io.h"
#include "rf_pfc.h"

#define US 1000u

/* ---- faults of the configuration ---- */

struct change {
	struct rf_net *net;
	struct fabric_fault fault;
};

static void change_link(void *arg, uint32_t link)
{
	const struct change *change = arg;

	(void)fabric_set_fault(change->net->fabric, link, &change->fault, change->net->now_ns);
}

static void on_fault(void *env, void *arg, uint64_t now_ps)
{
	struct rf_net *net = env;
	const struct fk_fault *fault = arg;
	struct change change = {.net = net};

	(void)now_ps;
	fk_fabric_fault(fault, &change.fault);
	fk_each_link(net->fabric, &net->config->fabric, &fault->place, change_link, &change);
}

static void on_heal(void *env, void *arg, uint64_t now_ps)
{
	struct rf_net *net = env;
	const struct fk_fault *fault = arg;
	struct change change = {.net = net};

	(void)now_ps;
	fk_each_link(net->fabric, &net->config->fabric, &fault->place, change_link, &change);
}

static int plan_faults(struct rf_net *net)
{
	int rc = 0;

	for (uint32_t i = 0; i < net->config->n_faults && rc == 0; i++) {
		/* Not written to; events hand out what they were given. */
		struct fk_fault *fault = (struct fk_fault *)(uintptr_t)&net->config->faults[i];

		rc = fabric_at(net->fabric, fault->at_us * US, on_fault, fault);
		if (rc == 0 && fault->until_us != 0)
			rc = fabric_at(net->fabric, fault->until_us * US, on_heal, fault);
	}
	return rc;
}

/* ---- life ---- */

static int make_fabric(struct rf_net *net)
{
	struct fabric_config fabric;
	int rc;

	fk_fabric_config(&net->config->fabric, net->config->seed, &fabric);
	rc = fabric_create(&fabric, &rf_fabric_ops, net, 0, &net->fabric);
	if (rc == 0)
		rc = plan_faults(net);
	if (rc != 0) {
		log_line(LOG_ERR, "the fabric cannot be made: %s", strerror(-rc));
		return rc;
	}
	net->by_host = calloc(fabric_n_hosts(net->fabric), sizeof(struct rf_port *));
	net->ports = calloc(net->config->n_ports, sizeof(*net->ports));
	return net->by_host != NULL && net->ports != NULL ? 0 : -ENOMEM;
}

static void follow(struct port *port)
{
	if (port_poll_link(port))
		log_line(LOG_NOTICE, "port \"%s\" is %s", port->config->name, port->up ? "up" : "down");
}

static int start_port(struct rf_net *net, uint32_t p)
{
	struct rf_port *port = &net->ports[p];
	int rc;

	port->config = &net->config->ports[p];
	port->port.config = &port->config->port;
	port->port.index = p;
	port->port.n_tx_queues = 1;
	port->port.owner = &net->owner;
	rc = port_open(&port->port);
	if (rc == 0)
		rc = port_start(&port->port);
	if (rc != 0)
		return rc;
	port->max_in_fabric = rte_mempool_avail_count(port->port.rx_pool) / 4 * 3;
	rf_pfc_init(net, port);
	net->by_host[port->config->host] = port;
	return 0;
}

int rf_net_init(struct rf_net *net, const struct rf_config *config)
{
	int rc;

	net->config = config;
	net->owner = (struct port_owner){.run_path = config->control.socket, .follow = follow};
	net->random = net->macs.seed = config->seed;
	for (uint32_t i = 0; i < config->n_impairments; i++)
		(void)rf_filter_add(&net->impair.filter, &config->impairments[i]); /* names and number are checked */
	rc = make_fabric(net);
	while (rc == 0 && net->n_ports < config->n_ports)
		rc = start_port(net, net->n_ports++);
	net->began_ns = clock_now_ns();
	return rc;
}

void rf_net_fini(struct rf_net *net)
{
	/* its packets go back to the ports' buffers */
	fabric_destroy(net->fabric);
	rf_impair_fini(net);
	for (uint32_t p = 0; p < net->n_ports; p++)
		rf_tx_drop(&net->ports[p]);
	for (uint32_t p = 0; p < net->n_ports; p++)
		port_close(&net->ports[p].port);
	net_memif_destroy(net->owner.memif);
	free(net->ports);
	free(net->by_host);
}

/* ---- running ---- */

bool rf_net_step(struct rf_net *net)
{
	bool moved;

	net->now_ns = clock_now_ns() - net->began_ns;
	moved = fabric_next_ns(net->fabric) <= net->now_ns;
	fabric_advance(net->fabric, net->now_ns);
	moved |= rf_impair_step(net);
	for (uint32_t p = 0; p < net->n_ports; p++) {
		struct rf_port *port = &net->ports[p];

		moved |= rf_rx(net, port);
		moved |= rf_tx(net, port);
		rf_pfc_tell(net, port);
		if (port->pause.paused != 0)
			rf_pause_expire(net, port);
	}
	return moved;
}

uint64_t rf_net_next_ns(const struct rf_net *net)
{
	uint64_t next_ns = RTE_MIN(fabric_next_ns(net->fabric), rf_impair_next_ns(net));

	for (uint32_t p = 0; p < net->n_ports; p++) {
		const struct rf_port *port = &net->ports[p];

		next_ns = RTE_MIN(next_ns, qos_pause_next_ns(&port->pause));
		if (port->has_pfc && port->port.up)
			next_ns = RTE_MIN(next_ns, qos_pfc_next_ns(&port->pfc));
	}
	return next_ns;
}

void rf_net_serve(struct rf_net *net)
{
	if (net->owner.memif != NULL)
		net_memif_serve(net->owner.memif);
}

void rf_net_poll_links(struct rf_net *net)
{
	for (uint32_t p = 0; p < net->n_ports; p++)
		follow(&net->ports[p].port);
	if (net->owner.memif != NULL)
		net_memif_tick(net->owner.memif);
}

void rf_net_clear_stats(struct rf_net *net)
{
	fabric_clear_stats(net->fabric);
	net->late = (struct rf_late){0};
	rf_filter_reset(&net->impair.filter);
	for (uint32_t p = 0; p < net->n_ports; p++)
		net->ports[p].stats = (struct rf_port_stats){0};
}
