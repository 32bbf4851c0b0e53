/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry_ports.h"

#include <errno.h>
#include <string.h>

#include <rte_telemetry.h>

#include "rx_watch.h"
#include "shape.h"

/* ---- main thread ---- */

/* Every worker hears of each pause, and one asks for all. */
static void fill_pauses(const struct roced *roced, uint32_t p, struct told_port *port)
{
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		const struct worker *worker = roced->workers[w];
		const struct rx_pause *pause = worker->watches != NULL ? worker->watches[p].pause : NULL;

		if (w == 0)
			memcpy(port->pauses, worker->shapes[p].pause.frames, sizeof(port->pauses));
		if (pause == NULL)
			continue;
		memcpy(port->xoff_sent, pause->pfc.xoff_sent, sizeof(port->xoff_sent));
		memcpy(port->xon_sent, pause->pfc.xon_sent, sizeof(port->xon_sent));
	}
}

uint32_t telemetry_fill_ports(const struct roced *roced, struct told_port ports[CONFIG_MAX_PORTS])
{
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		const struct port *from = &roced->ports[p];

		memset(&ports[p], 0, sizeof(ports[p]));
		memcpy(ports[p].name, from->config->name, sizeof(ports[p].name));
		ports[p].pfc = port_pfc_name(from);
		ports[p].up = from->up;
		ports[p].speed_mbps = from->speed_mbps;
		fill_pauses(roced, p, &ports[p]);
	}
	return roced->n_ports;
}

/* ---- DPDK's threads ---- */

static int put_numbers(struct rte_tel_data *d, const char *name, const uint64_t *from, uint32_t n)
{
	struct rte_tel_data *array = rte_tel_data_alloc();

	if (array == NULL)
		return -ENOMEM;
	rte_tel_data_start_array(array, RTE_TEL_U64_VAL);
	for (uint32_t i = 0; i < n; i++)
		rte_tel_data_add_array_u64(array, from[i]);
	return rte_tel_data_add_dict_container(d, name, array, 0);
}

static int put_one(struct rte_tel_data *d, const struct told_port *port)
{
	int rc;

	rte_tel_data_add_dict_string(d, "port", port->name);
	rte_tel_data_add_dict_string(d, "pfc", port->pfc);
	rte_tel_data_add_dict_u64(d, "up", port->up);
	rte_tel_data_add_dict_u64(d, "speed_mbps", port->speed_mbps);
	rc = put_numbers(d, "xoff_sent", port->xoff_sent, QOS_PRIORITIES);
	if (rc == 0)
		rc = put_numbers(d, "xon_sent", port->xon_sent, QOS_PRIORITIES);
	if (rc == 0)
		rc = put_numbers(d, "pauses", port->pauses, QOS_PRIORITIES);
	return rc;
}

static int put_texts(struct rte_tel_data *d, const struct told_port *ports, uint32_t n)
{
	struct rte_tel_data *names = rte_tel_data_alloc(), *pfc = rte_tel_data_alloc();

	if (names == NULL || pfc == NULL) {
		rte_tel_data_free(names);
		rte_tel_data_free(pfc);
		return -ENOMEM;
	}
	rte_tel_data_start_array(names, RTE_TEL_STRING_VAL);
	rte_tel_data_start_array(pfc, RTE_TEL_STRING_VAL);
	for (uint32_t i = 0; i < n; i++) {
		rte_tel_data_add_array_string(names, ports[i].name);
		rte_tel_data_add_array_string(pfc, ports[i].pfc);
	}
	rte_tel_data_add_dict_container(d, "port", names, 0);
	rte_tel_data_add_dict_container(d, "pfc", pfc, 0);
	return 0;
}

int telemetry_put_ports(struct rte_tel_data *d, const struct told_port *ports, uint32_t n, const char *name)
{
	uint64_t up[CONFIG_MAX_PORTS], speed_mbps[CONFIG_MAX_PORTS];
	int rc;

	for (uint32_t i = 0; i < n; i++) {
		if (name != NULL && strcmp(ports[i].name, name) == 0)
			return put_one(d, &ports[i]);
		up[i] = ports[i].up;
		speed_mbps[i] = ports[i].speed_mbps;
	}
	if (name != NULL)
		return 0;
	rc = put_texts(d, ports, n);
	if (rc == 0)
		rc = put_numbers(d, "up", up, n);
	if (rc == 0)
		rc = put_numbers(d, "speed_mbps", speed_mbps, n);
	return rc;
}
