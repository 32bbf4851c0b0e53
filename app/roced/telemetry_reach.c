/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/reach: whether a host can be reached. /roced/neighbours: who is known on the ports' links. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "clock.h"
#include "reach.h"
#include "telemetry.h"
#include "wire_addr.h"

#define MAX_TOLD 48 /* neighbours of one answer: DPDK's answers have at most 16 KiB */
#define MAC_TEXT 18

/* ---- one host ---- */

struct ask_reach {
	struct wire_addr addr;
	int rc;
	struct reach reach;
	char device[CONFIG_NAME_BYTES], port[CONFIG_NAME_BYTES];
};

static void fill_reach(struct roced *roced, void *arg)
{
	struct ask_reach *ask = arg;

	ask->rc = reach_look(roced, &ask->addr, clock_now_ns(), &ask->reach);
	if (ask->rc != 0 || ask->reach.route == REACH_NO_ROUTE)
		return;
	memcpy(ask->device, roced->devices[ask->reach.device].name, sizeof(ask->device));
	memcpy(ask->port, roced->ports[ask->reach.port].config->name, sizeof(ask->port));
}

static void put_reach(struct rte_tel_data *d, const struct ask_reach *ask)
{
	static const char *const routes[] = {[REACH_NO_ROUTE] = "none",
		[REACH_OURS] = "ours",
		[REACH_ON_LINK] = "link",
		[REACH_BY_ROUTER] = "router"};
	static const char *const neighbours[] = {
		[REACH_NOT_ASKED] = "", [REACH_ASKING] = "asking", [REACH_KNOWN] = "known", [REACH_SILENT] = "silent"};
	const struct reach *reach = &ask->reach;
	char text[WIRE_ADDR_TEXT_BYTES];

	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "address", wire_addr_print(&reach->addr, text));
	rte_tel_data_add_dict_string(d, "route", routes[reach->route]);
	rte_tel_data_add_dict_string(d, "device", ask->device);
	rte_tel_data_add_dict_string(d, "port", ask->port);
	rte_tel_data_add_dict_string(d, "local", wire_addr_print(&reach->local, text));
	rte_tel_data_add_dict_string(d, "next_hop", wire_addr_print(&reach->next_hop, text));
	rte_tel_data_add_dict_string(d, "neighbour", neighbours[reach->neighbour]);
	rte_tel_data_add_dict_u64(d, "no_echo", reach->no_echo);
	rte_tel_data_add_dict_u64(d, "short_sent", reach->short_sent);
	rte_tel_data_add_dict_u64(d, "short_answered", reach->short_answered);
	rte_tel_data_add_dict_u64(d, "long_bytes", reach->long_bytes);
	rte_tel_data_add_dict_u64(d, "long_sent", reach->long_sent);
	rte_tel_data_add_dict_u64(d, "long_answered", reach->long_answered);
	rte_tel_data_add_dict_u64(d, "rtt_ns", reach->rtt_ns);
	rte_tel_data_add_dict_u64(d, "done", reach->done);
}

static int on_reach(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct ask_reach ask = {0};
	int rc;

	(void)cmd;
	if (params == NULL || !wire_addr_read(params, &ask.addr))
		return -EINVAL;
	rc = telemetry_ask(fill_reach, &ask);
	if (rc == 0)
		rc = ask.rc;
	if (rc == 0)
		put_reach(info, &ask);
	return rc;
}

/* ---- all neighbours ---- */

struct told_neighbour {
	char port[CONFIG_NAME_BYTES];
	struct path_neigh_info info;
};

struct list {
	const struct port *port;
	uint32_t from, seen, n;
	struct told_neighbour told[MAX_TOLD];
};

static void add(void *arg, const struct path_neigh_info *info)
{
	struct list *list = arg;
	struct told_neighbour *to;

	if (list->seen++ < list->from || list->n == MAX_TOLD)
		return;
	to = &list->told[list->n++];
	memcpy(to->port, list->port->config->name, sizeof(to->port));
	to->info = *info;
}

static void fill_list(struct roced *roced, void *arg)
{
	struct list *list = arg;

	for (uint32_t p = 0; p < roced->n_ports; p++) {
		list->port = &roced->ports[p];
		path_neigh_foreach(list->port->neigh, add, list);
	}
}

static void print_mac(const struct path_neigh_info *info, char text[MAC_TEXT])
{
	const uint8_t *mac = info->mac;

	text[0] = '\0';
	if (info->mac_valid)
		(void)snprintf(text, MAC_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
			mac[5]);
}

static int put_list(struct rte_tel_data *d, const struct list *list)
{
	char addrs[MAX_TOLD][WIRE_ADDR_TEXT_BYTES], locals[MAX_TOLD][WIRE_ADDR_TEXT_BYTES], macs[MAX_TOLD][MAC_TEXT];
	const char *texts[5][MAX_TOLD];
	static const char *const names[5] = {"port", "address", "local", "state", "mac"};
	uint64_t refs[MAX_TOLD];
	int rc = 0;

	for (uint32_t i = 0; i < list->n; i++) {
		const struct told_neighbour *told = &list->told[i];

		print_mac(&told->info, macs[i]);
		texts[0][i] = told->port;
		texts[1][i] = wire_addr_print(&told->info.dst, addrs[i]);
		texts[2][i] = wire_addr_print(&told->info.src, locals[i]);
		texts[3][i] = told->info.state;
		texts[4][i] = macs[i];
		refs[i] = told->info.refs;
	}
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_u64(d, "neighbours", list->seen);
	for (uint32_t t = 0; t < RTE_DIM(names) && rc == 0; t++)
		rc = telemetry_put_texts(d, names[t], texts[t], list->n);
	return rc == 0 ? telemetry_put_numbers(d, "users", refs, list->n) : rc;
}

static int on_neighbours(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct list *list = calloc(1, sizeof(*list));
	int rc = list != NULL ? telemetry_read_number(params, UINT16_MAX, &list->from) : -ENOMEM;

	(void)cmd;
	if (rc == 0)
		rc = telemetry_ask(fill_list, list);
	if (rc == 0)
		rc = put_list(info, list);
	free(list);
	return rc;
}

int telemetry_reach_start(void)
{
	int rc = rte_telemetry_register_cmd("/roced/reach", on_reach,
		"Whether a host can be reached, and by how long packets: its address; ask again until done is 1");

	if (rc == 0)
		rc = rte_telemetry_register_cmd("/roced/neighbours", on_neighbours,
			"Hosts on the ports' links; with a number: from that one on");
	return rc;
}
