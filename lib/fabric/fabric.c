/* SPDX-License-Identifier: BSD-3-Clause */
/* Life, sending, time and telemetry. */
#include "fabric_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES     (1u << 20)
#define MAX_RATE_MBPS 8000000u
#define MAX_DELAY_NS  1000000000u
#define PERMILLE      1000u

void fabric_config_default(struct fabric_config *config)
{
	*config = (struct fabric_config){
		.pods = 1,
		.leaves = 8,
		.spines = 16,
		.hosts_per_leaf = 16,
		.host_link = {.rate_mbps = 100000, .delay_ns = 1000},
		.leaf_link = {.rate_mbps = 100000, .delay_ns = 1000},
		.core_link = {.rate_mbps = 100000, .delay_ns = 1000},
		.sw = {
			.buffer_bytes = 32u << 20,
			.ecn = {.min_bytes = 100000, .max_bytes = 400000, .max_permille = 200},
		},
		.convergence_ns = 1000000000,
	};
}

/* ---- life ---- */

static bool link_ok(const struct fabric_link_config *link)
{
	return link->rate_mbps != 0 && link->rate_mbps <= MAX_RATE_MBPS && link->delay_ns <= MAX_DELAY_NS;
}

static bool red_ok(const struct qos_red *red)
{
	return red->min_bytes <= red->max_bytes && red->max_permille <= PERMILLE;
}

static bool switch_ok(const struct fabric_switch_config *sw)
{
	for (uint32_t p = 0; p < FABRIC_PRIORITIES; p++) {
		if ((sw->own_ecn & 1u << p) != 0 && !red_ok(&sw->class_ecn[p]))
			return false;
	}
	return red_ok(&sw->ecn) && sw->pfc_xon_bytes <= sw->pfc_xoff_bytes &&
		(sw->pfc_priorities == 0 || sw->pfc_xoff_bytes != 0);
}

bool fabric_config_ok(const struct fabric_config *config)
{
	uint64_t leaves = (uint64_t)config->pods * config->leaves;

	if (config->pods == 0 || config->leaves == 0 || config->hosts_per_leaf == 0)
		return false;
	if (config->pods > MAX_NODES || config->leaves > MAX_NODES || config->spines > MAX_NODES ||
		config->hosts_per_leaf > MAX_NODES || config->cores_per_spine > MAX_NODES)
		return false;
	if (leaves * config->hosts_per_leaf > MAX_NODES || leaves * config->spines > MAX_NODES ||
		(uint64_t)config->pods * config->spines * config->cores_per_spine > MAX_NODES)
		return false;
	if ((config->leaves > 1 && config->spines == 0) || (config->pods > 1) != (config->cores_per_spine != 0) ||
		(config->pods > 1 && config->spines == 0))
		return false;
	if (!link_ok(&config->host_link) || !link_ok(&config->leaf_link) || !link_ok(&config->core_link))
		return false;
	return switch_ok(&config->sw);
}

int fabric_create(const struct fabric_config *config, const struct fabric_ops *ops, void *env, uint64_t now_ns,
	struct fabric **out)
{
	struct fabric *fabric;

	if (!fabric_config_ok(config))
		return -EINVAL;
	fabric = calloc(1, sizeof(*fabric));
	if (fabric == NULL)
		return -ENOMEM;
	fabric->config = *config;
	fabric->ops = ops;
	fabric->env = env;
	fabric->now_ps = now_ns * FABRIC_PS_PER_NS;
	fabric->random = fabric_mix(config->seed);
	STAILQ_INIT(&fabric->free);
	if (fabric_build(fabric) != 0) {
		fabric_destroy(fabric);
		return -ENOMEM;
	}
	*out = fabric;
	return 0;
}

static void lose_queued(struct fabric *fabric)
{
	for (uint32_t i = 0; fabric->ports != NULL && i < 2 * fabric->n_links; i++) {
		for (int p = 0; p < FABRIC_PRIORITIES; p++) {
			struct fabric_queue *queue = &fabric->ports[i].queue[p];

			while (!STAILQ_EMPTY(queue)) {
				struct fabric_carried *carried = STAILQ_FIRST(queue);

				STAILQ_REMOVE_HEAD(queue, link);
				fabric_lose(&fabric->ports[i], carried, FABRIC_LOSS_LINK);
			}
		}
	}
}

static void lose_flying(struct fabric *fabric)
{
	while (fabric->events.n != 0) {
		struct fabric_event event = fabric_events_take(&fabric->events);
		struct fabric_carried *carried = event.arg;

		if (event.fn == fabric_arrive)
			fabric_lose(carried->via, carried, FABRIC_LOSS_LINK);
		else if (event.fn == fabric_pause_arrive)
			STAILQ_INSERT_HEAD(&fabric->free, carried, link);
	}
}

void fabric_destroy(struct fabric *fabric)
{
	if (fabric == NULL)
		return;
	lose_queued(fabric);
	lose_flying(fabric);
	while (!STAILQ_EMPTY(&fabric->free)) {
		struct fabric_carried *carried = STAILQ_FIRST(&fabric->free);

		STAILQ_REMOVE_HEAD(&fabric->free, link);
		free(carried);
	}
	fabric_events_free(&fabric->events);
	free(fabric->port_refs);
	free(fabric->links);
	free(fabric->ports);
	free(fabric->nodes);
	free(fabric);
}

uint32_t fabric_n_hosts(const struct fabric *fabric)
{
	return fabric->n_hosts;
}

uint32_t fabric_n_links(const struct fabric *fabric)
{
	return fabric->n_links;
}

/* ---- packets ---- */

struct fabric_carried *fabric_take(struct fabric *fabric)
{
	struct fabric_carried *carried = STAILQ_FIRST(&fabric->free);

	if (carried == NULL)
		return malloc(sizeof(*carried));
	STAILQ_REMOVE_HEAD(&fabric->free, link);
	return carried;
}

void fabric_give(struct fabric *fabric, struct fabric_carried *carried)
{
	STAILQ_INSERT_HEAD(&fabric->free, carried, link);
}

void fabric_lose(struct fabric_port *port, struct fabric_carried *carried, enum fabric_loss why)
{
	struct fabric *fabric = port->fabric;
	struct fabric_packet packet = carried->packet;

	port->stats.lost[why]++;
	fabric_give(fabric, carried);
	fabric->ops->lose(fabric->env, &packet, why);
}

/* Callers speak in nanoseconds: when one of them answers to what has just been told, that is now, exactly. */
static uint64_t to_ps(const struct fabric *fabric, uint64_t now_ns)
{
	return now_ns <= fabric_ns(fabric->now_ps) ? fabric->now_ps : now_ns * FABRIC_PS_PER_NS;
}

int fabric_send(struct fabric *fabric, const struct fabric_packet *packet, uint64_t now_ns)
{
	struct fabric_carried *carried;

	if (packet->src >= fabric->n_hosts || packet->dst >= fabric->n_hosts || packet->bytes == 0 ||
		packet->priority >= FABRIC_PRIORITIES)
		return -EINVAL;
	carried = fabric_take(fabric);
	if (carried == NULL)
		return -ENOMEM;
	carried->packet = *packet;
	carried->via = NULL;
	fabric_port_put(fabric->nodes[packet->src].ports[0], carried, to_ps(fabric, now_ns));
	return 0;
}

uint64_t fabric_queued_bytes(const struct fabric *fabric, uint32_t host)
{
	return host < fabric->n_hosts ? fabric->nodes[host].ports[0]->queued_bytes : 0;
}

int fabric_host_pause(struct fabric *fabric, uint32_t host, uint8_t priorities, uint64_t now_ns)
{
	if (host >= fabric->n_hosts)
		return -EINVAL;
	fabric_tell_peer(fabric->nodes[host].ports[0], priorities, to_ps(fabric, now_ns));
	return 0;
}

void fabric_arrive(void *env, void *arg, uint64_t now_ps)
{
	struct fabric_carried *carried = arg;
	struct fabric_port *via = carried->via;
	struct fabric_node *node = via->peer->node;
	struct fabric_packet packet;

	if (carried->cuts != via->cuts) {
		fabric_lose(via, carried, FABRIC_LOSS_LINK);
		return;
	}
	if (!fabric_is_host(node)) {
		fabric_switch_rx(node, carried, now_ps);
		return;
	}
	packet = carried->packet;
	fabric_give(via->fabric, carried);
	via->fabric->ops->deliver(env, &packet, fabric_ns(now_ps));
}

/* ---- time ---- */

int fabric_at(struct fabric *fabric, uint64_t at_ns, fabric_event_fn fn, void *arg)
{
	return fabric_events_add(&fabric->events, to_ps(fabric, at_ns), fn, arg);
}

void fabric_advance(struct fabric *fabric, uint64_t now_ns)
{
	uint64_t until_ps = now_ns * FABRIC_PS_PER_NS;

	while (fabric_events_next_ps(&fabric->events) <= until_ps) {
		struct fabric_event event = fabric_events_take(&fabric->events);

		fabric->now_ps = event.at_ps;
		event.fn(fabric->env, event.arg, event.at_ps);
	}
	if (fabric->now_ps < until_ps)
		fabric->now_ps = until_ps;
}

uint64_t fabric_next_ns(const struct fabric *fabric)
{
	uint64_t next_ps = fabric_events_next_ps(&fabric->events);

	return next_ps != UINT64_MAX ? fabric_ns(next_ps) : UINT64_MAX;
}

uint64_t fabric_idle_ns(const struct fabric *fabric, uint32_t src, uint32_t dst, uint32_t bytes)
{
	struct fabric_packet packet = {.src = src, .dst = dst, .bytes = bytes};
	const struct fabric_node *at;
	uint64_t ps = 0;

	if (src >= fabric->n_hosts || dst >= fabric->n_hosts)
		return 0;
	at = &fabric->nodes[src];
	do {
		const struct fabric_port *port = fabric_route(at, &packet);

		if (port == NULL)
			return 0;
		ps += fabric_wire_ps(port, bytes) + port->delay_ps;
		at = port->peer->node;
	} while (!fabric_is_host(at));
	return fabric_ns(ps);
}

/* ---- telemetry ---- */

/* Pauses that last count up to now. */
static void stats_of(const struct fabric_port *port, struct fabric_port_stats *out)
{
	*out = port->stats;
	for (int p = 0; p < FABRIC_PRIORITIES; p++) {
		if ((port->paused & 1u << p) != 0)
			out->pause_ns += (port->fabric->now_ps - port->paused_since_ps[p]) / FABRIC_PS_PER_NS;
	}
}

int fabric_link_stats(const struct fabric *fabric, uint32_t link, int direction, struct fabric_port_stats *out)
{
	if (link >= fabric->n_links || (direction != 0 && direction != 1))
		return -EINVAL;
	stats_of(&fabric->ports[2 * link + (uint32_t)direction], out);
	return 0;
}

void fabric_stats(const struct fabric *fabric, struct fabric_port_stats *out)
{
	*out = (struct fabric_port_stats){0};
	for (uint32_t i = 0; i < 2 * fabric->n_links; i++) {
		struct fabric_port_stats one;

		stats_of(&fabric->ports[i], &one);
		out->tx_packets += one.tx_packets;
		out->tx_bytes += one.tx_bytes;
		out->marked += one.marked;
		out->pause_ns += one.pause_ns;
		out->pauses += one.pauses;
		if (out->max_queue_bytes < one.max_queue_bytes)
			out->max_queue_bytes = one.max_queue_bytes;
		for (int why = 0; why < FABRIC_LOSS_COUNT; why++)
			out->lost[why] += one.lost[why];
	}
}

void fabric_clear_stats(struct fabric *fabric)
{
	memset(fabric->depths, 0, sizeof(fabric->depths));
	for (uint32_t i = 0; i < 2 * fabric->n_links; i++) {
		struct fabric_port *port = &fabric->ports[i];

		port->stats = (struct fabric_port_stats){.max_queue_bytes = port->queued_bytes};
		for (int p = 0; p < FABRIC_PRIORITIES; p++)
			port->paused_since_ps[p] = fabric->now_ps;
	}
}
