/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry_xdp.h"

#include <errno.h>
#include <string.h>

#include <rte_telemetry.h>

/* ---- main thread ---- */

uint32_t telemetry_fill_xdp(const struct roced *roced, struct told_xdp xdp[CONFIG_MAX_PORTS])
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < roced->n_ports; p++) {
		const struct port *port = &roced->ports[p];

		if (port->xdp == NULL || xdp_roce_counts(port->xdp, xdp[n].counts) != 0)
			continue;
		memcpy(xdp[n].port, port->config->name, sizeof(xdp[n].port));
		xdp[n++].mode = port_xdp_name(port);
	}
	return n;
}

/* ---- DPDK's threads ---- */

static int put_kind(struct rte_tel_data *d, const struct told_xdp *xdp, uint32_t n, uint32_t kind)
{
	struct rte_tel_data *array = rte_tel_data_alloc();

	if (array == NULL)
		return -ENOMEM;
	rte_tel_data_start_array(array, RTE_TEL_U64_VAL);
	for (uint32_t i = 0; i < n; i++)
		rte_tel_data_add_array_u64(array, xdp[i].counts[kind]);
	return rte_tel_data_add_dict_container(d, xdp_roce_kind_name(kind), array, 0);
}

int telemetry_put_xdp(struct rte_tel_data *d, const struct told_xdp *xdp, uint32_t n)
{
	struct rte_tel_data *ports = rte_tel_data_alloc(), *modes = rte_tel_data_alloc();
	int rc = 0;

	if (ports == NULL || modes == NULL) {
		rte_tel_data_free(ports);
		rte_tel_data_free(modes);
		return -ENOMEM;
	}
	rte_tel_data_start_array(ports, RTE_TEL_STRING_VAL);
	rte_tel_data_start_array(modes, RTE_TEL_STRING_VAL);
	for (uint32_t i = 0; i < n; i++) {
		rte_tel_data_add_array_string(ports, xdp[i].port);
		rte_tel_data_add_array_string(modes, xdp[i].mode);
	}
	rte_tel_data_add_dict_container(d, "port", ports, 0);
	rte_tel_data_add_dict_container(d, "mode", modes, 0);
	for (uint32_t kind = 0; kind < XDP_ROCE_KINDS && rc == 0; kind++)
		rc = put_kind(d, xdp, n, kind);
	return rc;
}
