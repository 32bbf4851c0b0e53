/* SPDX-License-Identifier: BSD-3-Clause */
/* A switch: admission to its buffer, ECN marking (RFC 3168; RED thresholds as DCQCN uses them) and PFC. */
#include "fabric_internal.h"

static bool has_room(const struct fabric_node *node, const struct fabric_port *port, uint32_t bytes)
{
	const struct fabric_switch_config *sw = &port->fabric->config.sw;

	if (sw->buffer_bytes != 0 && node->buffered_bytes + bytes > sw->buffer_bytes)
		return false;
	return sw->queue_bytes == 0 || port->queued_bytes + bytes <= sw->queue_bytes;
}

static uint32_t mark_ppm(const struct fabric_port *port, uint8_t priority)
{
	const struct fabric_switch_config *sw = &port->fabric->config.sw;

	if ((sw->own_ecn & 1u << priority) != 0)
		return qos_red_ppm(&sw->class_ecn[priority], port->class_bytes[priority]);
	return qos_red_ppm(&sw->ecn, port->queued_bytes);
}

static void mark(struct fabric_port *port, struct fabric_packet *packet)
{
	if (!packet->ect || packet->ce || !fabric_chance(port->fabric, mark_ppm(port, packet->priority)))
		return;
	packet->ce = true;
	port->stats.marked++;
}

/* ---- PFC ---- */

void fabric_pause_arrive(void *env, void *arg, uint64_t now_ps)
{
	struct fabric_carried *frame = arg;
	struct fabric_port *port = frame->via->peer;

	(void)env;
	port->told = frame->packet.priority;
	fabric_give(port->fabric, frame);
	fabric_port_repause(port, now_ps);
}

/* A frame of a few bytes with the set of paused priorities; it does not wait behind data. */
void fabric_tell_peer(struct fabric_port *port, uint8_t priorities, uint64_t now_ps)
{
	struct fabric *fabric = port->fabric;
	struct fabric_carried *frame = fabric_take(fabric);

	port->pause_sent = priorities;
	if (frame == NULL)
		return;
	frame->via = port;
	frame->packet.priority = priorities;
	if (fabric_events_add(&fabric->events, now_ps + port->delay_ps, fabric_pause_arrive, frame) != 0)
		fabric_give(fabric, frame);
}

static bool lossless(const struct fabric *fabric, uint8_t priority)
{
	return (fabric->config.sw.pfc_priorities & 1u << priority) != 0;
}

static void count_in(struct fabric_port *in, const struct fabric_packet *packet, uint64_t now_ps)
{
	uint8_t bit = (uint8_t)(1u << packet->priority);

	in->ingress_bytes[packet->priority] += packet->bytes;
	if (in->ingress_bytes[packet->priority] <= in->fabric->config.sw.pfc_xoff_bytes || (in->pause_sent & bit) != 0)
		return;
	fabric_tell_peer(in, in->pause_sent | bit, now_ps);
}

static void count_out(struct fabric_port *in, const struct fabric_packet *packet, uint64_t now_ps)
{
	uint8_t bit = (uint8_t)(1u << packet->priority);

	in->ingress_bytes[packet->priority] -= packet->bytes;
	if (in->ingress_bytes[packet->priority] > in->fabric->config.sw.pfc_xon_bytes || (in->pause_sent & bit) == 0)
		return;
	fabric_tell_peer(in, (uint8_t)(in->pause_sent & ~bit), now_ps);
}

/* ---- forwarding ---- */

void fabric_switch_rx(struct fabric_node *node, struct fabric_carried *carried, uint64_t now_ps)
{
	struct fabric_port *in = carried->via->peer;
	struct fabric_port *port = fabric_route(node, &carried->packet);

	if (port == NULL) {
		fabric_lose(in, carried, FABRIC_LOSS_ROUTE);
		return;
	}
	if (!has_room(node, port, carried->packet.bytes)) {
		fabric_lose(port, carried, FABRIC_LOSS_BUFFER);
		return;
	}
	carried->via = in;
	node->buffered_bytes += carried->packet.bytes;
	if (lossless(in->fabric, carried->packet.priority))
		count_in(in, &carried->packet, now_ps);
	mark(port, &carried->packet);
	fabric_port_put(port, carried, now_ps);
}

void fabric_switch_left(struct fabric_node *node, const struct fabric_carried *carried, uint64_t now_ps)
{
	struct fabric_port *in = carried->via;

	node->buffered_bytes -= carried->packet.bytes;
	if (lossless(in->fabric, carried->packet.priority))
		count_out(in, &carried->packet, now_ps);
}
