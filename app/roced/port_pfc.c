/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_pfc.h"

#include <errno.h>
#include <string.h>

#include "log.h"
#include "port.h"

#define PAUSE_QUANTA UINT16_MAX /* ended by XON, as those of the daemon */

static bool any_pfc(const struct config_port *config)
{
	return (config->pfc | config->pfc_send) != 0;
}

/* NULL: the NIC can do all that the configuration asks for; else why not. */
static const char *why_not(const struct port *port, uint32_t n_workers, uint32_t max_tx_queues)
{
	uint64_t follow = port->config->pfc, send = port->config->pfc_send, all = follow | send;
	struct rte_eth_pfc_queue_info info = {0};

	if (rte_eth_dev_priority_flow_ctrl_queue_info_get(port->id, &info) != 0)
		return "its driver has no flow control of queues";
	if (all >> info.tc_max != 0)
		return "it has fewer traffic classes";
	if (follow != 0 && info.mode_capa != RTE_ETH_FC_FULL && info.mode_capa != RTE_ETH_FC_RX_PAUSE)
		return "it follows no pauses";
	if (send != 0 && info.mode_capa != RTE_ETH_FC_FULL && info.mode_capa != RTE_ETH_FC_TX_PAUSE)
		return "it sends no pauses";
	/* A receive queue stands for one priority, and ours have them all. */
	if ((send & (send - 1)) != 0)
		return "it sends pauses for one priority only";
	if (n_workers * (1 + (uint32_t)__builtin_popcountll(follow)) > max_tx_queues)
		return "it has too few transmit queues, one for each worker and priority";
	return NULL;
}

static void make_lanes(struct port_pfc *pfc, uint64_t follow)
{
	pfc->n_lanes = 1;
	memset(pfc->lane_of, 0, sizeof(pfc->lane_of));
	for (int p = 0; p < QOS_PRIORITIES; p++) {
		if ((follow & 1ull << p) != 0)
			pfc->lane_of[p] = pfc->n_lanes++;
	}
}

int port_pfc_choose(struct port *port, uint32_t n_workers, uint32_t max_tx_queues)
{
	enum config_pfc_mode mode = port->config->pfc_mode;
	const char *why;

	make_lanes(&port->pfc, 0);
	port->pfc.hardware = false;
	if (!any_pfc(port->config) || mode == CONFIG_PFC_SOFTWARE)
		return 0;
	why = why_not(port, n_workers, max_tx_queues);
	if (why == NULL) {
		port->pfc.hardware = true;
		make_lanes(&port->pfc, port->config->pfc);
	} else if (mode == CONFIG_PFC_HARDWARE) {
		log_line(LOG_ERR, "port \"%s\": pfc_mode: the NIC cannot do it, %s: say \"software\" or \"auto\"",
			port->config->name, why);
		return -ENOTSUP;
	}
	return 0;
}

static int set_queue(const struct port *port, struct rte_eth_pfc_queue_conf *conf)
{
	int rc = rte_eth_dev_priority_flow_ctrl_queue_configure(port->id, conf);

	if (rc != 0)
		log_line(LOG_ERR,
			"port \"%s\": the NIC's flow control cannot be set: %s; pfc_mode = \"software\" goes without",
			port->config->name, strerror(-rc));
	return rc;
}

static int follow(const struct port *port, uint32_t n_workers, uint8_t p)
{
	int rc = 0;

	for (uint32_t w = 0; w < n_workers && rc == 0; w++) {
		struct rte_eth_pfc_queue_conf conf = {.mode = RTE_ETH_FC_RX_PAUSE};

		conf.rx_pause.tx_qid = port_pfc_queue(w, n_workers, port->pfc.lane_of[p]);
		conf.rx_pause.tc = p;
		rc = set_queue(port, &conf);
	}
	return rc;
}

static int ask(const struct port *port, uint8_t p)
{
	int rc = 0;

	for (uint32_t q = 0; q < port->config->n_rx_queues && rc == 0; q++) {
		struct rte_eth_pfc_queue_conf conf = {.mode = RTE_ETH_FC_TX_PAUSE};

		conf.tx_pause.pause_time = PAUSE_QUANTA;
		conf.tx_pause.rx_qid = (uint16_t)q;
		conf.tx_pause.tc = p;
		rc = set_queue(port, &conf);
	}
	return rc;
}

int port_pfc_set(const struct port *port, uint32_t n_workers)
{
	int rc = 0;

	for (uint8_t p = 0; port->pfc.hardware && p < QOS_PRIORITIES && rc == 0; p++) {
		if ((port->config->pfc & 1ull << p) != 0)
			rc = follow(port, n_workers, p);
		if (rc == 0 && (port->config->pfc_send & 1ull << p) != 0)
			rc = ask(port, p);
	}
	if (rc == 0 && any_pfc(port->config))
		log_line(LOG_NOTICE, "port \"%s\": priority flow control in %s", port->config->name, port_pfc_name(port));
	return rc;
}

const char *port_pfc_name(const struct port *port)
{
	return !any_pfc(port->config) ? "none" : port->pfc.hardware ? "hardware" : "software";
}
