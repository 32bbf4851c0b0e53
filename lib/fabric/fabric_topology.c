/* SPDX-License-Identifier: BSD-3-Clause */
/* Which node is linked to which, and which way packets go. */
#include "fabric_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define RATE_SHIFT   16
#define BYTE_PS_MBPS 8000000u /* picoseconds of a byte at 1 Mb/s */
#define PERCENT      100u

enum { TIER_HOST, TIER_LEAF, TIER_SPINE, TIER_CORE };

/* ---- building ---- */

static void init_port(struct fabric_port *port, struct fabric_node *node, const struct fabric_link_config *link)
{
	port->node = node;
	port->byte_ps = ((uint64_t)BYTE_PS_MBPS << RATE_SHIFT) / link->rate_mbps;
	port->delay_ps = link->delay_ns * FABRIC_PS_PER_NS;
	port->rate_percent = PERCENT;
	for (int p = 0; p < FABRIC_PRIORITIES; p++)
		STAILQ_INIT(&port->queue[p]);
}

/* The next link, from port up_port of the lower node to port down_port of the upper one. */
static void join(struct fabric *fabric, uint32_t *n, uint32_t low, uint32_t up_port, uint32_t high, uint32_t down_port,
	const struct fabric_link_config *link)
{
	struct fabric_port *ports = &fabric->ports[(size_t)*n * 2];
	struct fabric_node *lower = &fabric->nodes[low], *upper = &fabric->nodes[high];

	init_port(&ports[0], lower, link);
	init_port(&ports[1], upper, link);
	ports[0].fabric = ports[1].fabric = fabric->links[*n].fabric = fabric;
	ports[0].peer = &ports[1];
	ports[1].peer = &ports[0];
	lower->ports[lower->n_down + up_port] = &ports[0];
	upper->ports[down_port] = &ports[1];
	(*n)++;
}

static void make_nodes(struct fabric *fabric, uint32_t first, uint32_t n, const struct fabric_node *like,
	uint32_t leaves_apart, uint32_t share, struct fabric_port ***refs)
{
	for (uint32_t i = 0; i < n; i++) {
		struct fabric_node *node = &fabric->nodes[first + i];

		*node = *like;
		node->first_leaf = i / share * leaves_apart;
		node->seed = fabric_random(fabric);
		node->ports = *refs;
		*refs += node->n_down + node->n_up;
	}
}

static void make_all_nodes(struct fabric *fabric)
{
	const struct fabric_config *c = &fabric->config;
	struct fabric_port **refs = fabric->port_refs;
	struct fabric_node host = {.tier = TIER_HOST, .n_up = 1};
	struct fabric_node leaf = {.tier = TIER_LEAF, .n_down = c->hosts_per_leaf, .n_up = c->spines, .n_leaves = 1};
	struct fabric_node spine = {
		.tier = TIER_SPINE, .n_down = c->leaves, .n_up = c->cores_per_spine, .n_leaves = c->leaves};
	struct fabric_node core = {.tier = TIER_CORE, .n_down = c->pods, .n_leaves = fabric->n_leaves};
	uint32_t first = 0;

	make_nodes(fabric, first, fabric->n_hosts, &host, 1, c->hosts_per_leaf, &refs);
	make_nodes(fabric, first += fabric->n_hosts, fabric->n_leaves, &leaf, 1, 1, &refs);
	make_nodes(fabric, first += fabric->n_leaves, fabric->n_spines, &spine, c->leaves, c->spines ? c->spines : 1, &refs);
	make_nodes(fabric, first + fabric->n_spines, fabric->n_cores, &core, 0, 1, &refs);
}

static void join_all(struct fabric *fabric)
{
	const struct fabric_config *c = &fabric->config;
	uint32_t leaves = fabric->n_hosts, spines = leaves + fabric->n_leaves, cores = spines + fabric->n_spines;
	uint32_t n = 0;

	for (uint32_t h = 0; h < fabric->n_hosts; h++)
		join(fabric, &n, h, 0, leaves + h / c->hosts_per_leaf, h % c->hosts_per_leaf, &c->host_link);
	for (uint32_t l = 0; l < fabric->n_leaves; l++) {
		for (uint32_t s = 0; s < c->spines; s++)
			join(fabric, &n, leaves + l, s, spines + l / c->leaves * c->spines + s, l % c->leaves,
				&c->leaf_link);
	}
	for (uint32_t s = 0; s < fabric->n_spines; s++) {
		for (uint32_t k = 0; k < c->cores_per_spine; k++)
			join(fabric, &n, spines + s, k, cores + s % c->spines * c->cores_per_spine + k, s / c->spines,
				&c->core_link);
	}
}

int fabric_build(struct fabric *fabric)
{
	const struct fabric_config *c = &fabric->config;

	fabric->n_leaves = c->pods * c->leaves;
	fabric->n_hosts = fabric->n_leaves * c->hosts_per_leaf;
	fabric->n_spines = c->pods * c->spines;
	fabric->n_cores = c->spines * c->cores_per_spine;
	fabric->n_nodes = fabric->n_hosts + fabric->n_leaves + fabric->n_spines + fabric->n_cores;
	fabric->n_links = fabric->n_hosts + fabric->n_leaves * c->spines + fabric->n_spines * c->cores_per_spine;
	fabric->nodes = calloc(fabric->n_nodes, sizeof(*fabric->nodes));
	fabric->links = calloc(fabric->n_links, sizeof(*fabric->links));
	fabric->ports = calloc((size_t)fabric->n_links * 2, sizeof(*fabric->ports));
	fabric->port_refs = calloc((size_t)fabric->n_links * 2, sizeof(struct fabric_port *));
	if (fabric->nodes == NULL || fabric->links == NULL || fabric->ports == NULL || fabric->port_refs == NULL)
		return -ENOMEM;
	make_all_nodes(fabric);
	join_all(fabric);
	return 0;
}

/* ---- routing ---- */

/* Whether a way on from the switch at the other end of port is known. */
static bool leads_on(const struct fabric_port *port, const struct fabric_packet *packet)
{
	return !port->avoided && (fabric_is_host(port->peer->node) || fabric_route(port->peer->node, packet) != NULL);
}

static struct fabric_port *down(const struct fabric_node *node, const struct fabric_packet *packet, uint32_t leaf)
{
	const struct fabric_config *c = &node->ports[0]->fabric->config;
	uint32_t i = packet->dst % c->hosts_per_leaf;

	if (node->tier == TIER_SPINE)
		i = leaf - node->first_leaf;
	else if (node->tier == TIER_CORE)
		i = leaf / c->leaves;
	return node->ports[i]->fabric->n_avoided == 0 || leads_on(node->ports[i], packet) ? node->ports[i] : NULL;
}

static struct fabric_port *up(const struct fabric_node *node, const struct fabric_packet *packet)
{
	uint32_t hash = (uint32_t)(fabric_mix(node->seed ^ packet->flow) >> 32);
	struct fabric_port **ports = node->ports + node->n_down;
	uint32_t n = 0;

	if (node->n_up == 0)
		return NULL;
	if (ports[0]->fabric->n_avoided == 0)
		return ports[hash % node->n_up];
	for (uint32_t i = 0; i < node->n_up; i++)
		n += leads_on(ports[i], packet);
	if (n == 0)
		return NULL;
	n = hash % n;
	for (uint32_t i = 0;; i++) {
		if (leads_on(ports[i], packet) && n-- == 0)
			return ports[i];
	}
}

struct fabric_port *fabric_route(const struct fabric_node *node, const struct fabric_packet *packet)
{
	uint32_t leaf;

	if (fabric_is_host(node))
		return node->ports[0];
	leaf = packet->dst / node->ports[0]->fabric->config.hosts_per_leaf;
	if (leaf - node->first_leaf < node->n_leaves)
		return down(node, packet, leaf);
	return up(node, packet);
}

/* ---- links by number ---- */

uint32_t fabric_leaf_link(const struct fabric *fabric, uint32_t leaf, uint32_t spine)
{
	if (leaf >= fabric->n_leaves || spine >= fabric->config.spines)
		return UINT32_MAX;
	return fabric->n_hosts + leaf * fabric->config.spines + spine;
}

static void node_name(const struct fabric_node *node, char *out, uint32_t out_bytes)
{
	static const char *const names[] = {"host", "leaf", "spine", "core"};
	const struct fabric *fabric = node->ports[0]->fabric;
	const uint32_t first[] = {0, fabric->n_hosts, fabric->n_hosts + fabric->n_leaves,
		fabric->n_hosts + fabric->n_leaves + fabric->n_spines};

	snprintf(out, out_bytes, "%s %u", names[node->tier], (uint32_t)(node - fabric->nodes) - first[node->tier]);
}

void fabric_link_name(const struct fabric *fabric, uint32_t link, char *out, uint32_t out_bytes)
{
	char low[24], high[24];

	if (link >= fabric->n_links) {
		snprintf(out, out_bytes, "no link %u", link);
		return;
	}
	node_name(fabric->ports[2 * link].node, low, sizeof(low));
	node_name(fabric->ports[2 * link + 1].node, high, sizeof(high));
	snprintf(out, out_bytes, "%s - %s", low, high);
}
