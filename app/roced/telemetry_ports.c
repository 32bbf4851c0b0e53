/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/ports: ports, and who sees to their pauses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "rx_watch.h"
#include "shape.h"
#include "telemetry.h"

struct told_port {
	char name[CONFIG_NAME_BYTES];
	const char *pfc;           /* who sees to pauses: port_pfc_name() */
	bool up;
	uint32_t speed_mbps;
	uint64_t xoff_sent[QOS_PRIORITIES], xon_sent[QOS_PRIORITIES];
	uint64_t pauses[QOS_PRIORITIES]; /* frames that named the priority */
};

struct answer {
	uint32_t n;
	struct told_port ports[CONFIG_MAX_PORTS];
};

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

static void fill(struct roced *roced, void *arg)
{
	struct answer *answer = arg;

	answer->n = roced->n_ports;
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		const struct port *from = &roced->ports[p];
		struct told_port *to = &answer->ports[p];

		memcpy(to->name, from->config->name, sizeof(to->name));
		to->pfc = port_pfc_name(from);
		to->up = from->up;
		to->speed_mbps = from->speed_mbps;
		fill_pauses(roced, p, to);
	}
}

/* ---- DPDK's threads ---- */

static int put_one(struct rte_tel_data *d, const struct told_port *port)
{
	int rc;

	rte_tel_data_add_dict_string(d, "port", port->name);
	rte_tel_data_add_dict_string(d, "pfc", port->pfc);
	rte_tel_data_add_dict_u64(d, "up", port->up);
	rte_tel_data_add_dict_u64(d, "speed_mbps", port->speed_mbps);
	rc = telemetry_put_numbers(d, "xoff_sent", port->xoff_sent, QOS_PRIORITIES);
	if (rc == 0)
		rc = telemetry_put_numbers(d, "xon_sent", port->xon_sent, QOS_PRIORITIES);
	if (rc == 0)
		rc = telemetry_put_numbers(d, "pauses", port->pauses, QOS_PRIORITIES);
	return rc;
}

/* The one of that name, with an array for each counter of priorities. */
static int put(struct rte_tel_data *d, const struct answer *answer, const char *name)
{
	rte_tel_data_start_dict(d);
	for (uint32_t i = 0; i < answer->n; i++) {
		if (strcmp(answer->ports[i].name, name) == 0)
			return put_one(d, &answer->ports[i]);
	}
	return 0;
}

static int on_ports(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct answer *answer;
	int rc;

	(void)cmd;
	if (params == NULL || params[0] == '\0')
		return telemetry_answer_table(WATCH_ID_PORTS, 0, info);
	answer = calloc(1, sizeof(*answer));
	rc = answer != NULL ? telemetry_ask(fill, answer) : -ENOMEM;
	if (rc == 0)
		rc = put(info, answer, params);
	free(answer);
	return rc;
}

int telemetry_ports_start(void)
{
	return rte_telemetry_register_cmd("/roced/ports", on_ports,
		"Table of ports; with a port's name: its pauses by priority");
}
