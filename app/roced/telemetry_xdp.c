/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/xdp: what the XDP programs of ports on AF_XDP saw. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "telemetry.h"
#include "xdp_roce.h"

struct told_xdp {
	char port[CONFIG_NAME_BYTES];
	const char *mode;          /* port_xdp_name() */
	uint64_t counts[XDP_ROCE_KINDS];
};

struct answer {
	uint32_t n;
	struct told_xdp xdp[CONFIG_MAX_PORTS];
};

static void fill(struct roced *roced, void *arg)
{
	struct answer *answer = arg;

	for (uint32_t p = 0; p < roced->n_ports; p++) {
		const struct port *port = &roced->ports[p];
		struct told_xdp *to = &answer->xdp[answer->n];

		if (port->xdp == NULL || xdp_roce_counts(port->xdp, to->counts) != 0)
			continue;
		memcpy(to->port, port->config->name, sizeof(to->port));
		to->mode = port_xdp_name(port);
		answer->n++;
	}
}

static int put(struct rte_tel_data *d, const struct answer *answer)
{
	const char *ports[CONFIG_MAX_PORTS], *modes[CONFIG_MAX_PORTS];
	uint64_t counts[CONFIG_MAX_PORTS];
	int rc;

	for (uint32_t i = 0; i < answer->n; i++) {
		ports[i] = answer->xdp[i].port;
		modes[i] = answer->xdp[i].mode;
	}
	rte_tel_data_start_dict(d);
	rc = telemetry_put_texts(d, "port", ports, answer->n);
	if (rc == 0)
		rc = telemetry_put_texts(d, "mode", modes, answer->n);
	for (uint32_t kind = 0; kind < XDP_ROCE_KINDS && rc == 0; kind++) {
		for (uint32_t i = 0; i < answer->n; i++)
			counts[i] = answer->xdp[i].counts[kind];
		rc = telemetry_put_numbers(d, xdp_roce_kind_name(kind), counts, answer->n);
	}
	return rc;
}

static int on_xdp(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	int rc = answer != NULL ? telemetry_ask(fill, answer) : -ENOMEM;

	(void)cmd;
	(void)params;
	if (rc == 0)
		rc = put(info, answer);
	free(answer);
	return rc;
}

int telemetry_xdp_start(void)
{
	return rte_telemetry_register_cmd("/roced/xdp", on_xdp, "Frames that XDP programs saw, by kind, and who got them");
}
